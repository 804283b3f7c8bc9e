// SPDX-License-Identifier: MIT
// probust compare: compares several models on the same points, each with the first model. The models can be in several runs or
// in a single run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command_line.h"
#include "cli/commands/analysis_output.h"
#include "cli/commands/comparable.h"
#include "cli/options.h"
#include "cli/output/text_table.h"
#include "cli/run/first_check.h"
#include "cli/run/results.h"
#include "datasets/json.h"
#include "probust/analysis/comparison.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

struct CompareArguments : Arguments {
  std::string against;  ///< the baseline's estimator to compare with; if empty, each estimator is compared with the same one
};

// The comparison of one model of a run with a model of the baseline.
struct ComparedRun {
  std::string baseline_path, path;
  std::string baseline_model, model;
  std::vector<PairedComparison> groups;
};

std::vector<PairedComparison> compared_groups(const CompareArguments& arguments, const Results& baseline,
                                              const std::string& before, const Results& run, const std::string& model,
                                              const std::string& path) {
  const auto against = arguments.against.empty() ? std::nullopt : std::optional(arguments.against);
  auto groups =
      comparing(path, [&] { return compare_rows(rows_of_model(baseline, before), rows_of_model(run, model), against); });
  for (const PairedComparison& group : groups) {
    if (group.pairs > 0 || group.unanswered > 0) return groups;
  }
  throw Error{ErrorCode::unreadable, run_text(path, model), "has no row with the same point, noise and estimator as the baseline",
              "repeat the baseline's command with the other model, or choose one of the baseline's estimators with --against"};
}

// Compares the models of one run, each with the first.
std::vector<ComparedRun> compare_models(const CompareArguments& arguments) {
  const std::string& path = arguments.runs[0];
  const Results results = read_results(path).results;
  const std::vector<std::string> models = models_of(results);
  std::vector<ComparedRun> compared;
  for (const std::string& model : models) {
    const bool itself = model == models[0] && (models.size() > 1 || arguments.against.empty());
    if (!itself)
      compared.push_back({path, path, models[0], model, compared_groups(arguments, results, models[0], results, model, path)});
  }
  if (compared.empty())
    throw Error{ErrorCode::usage, path, "has one model, which cannot be compared with itself",
                "give two runs, or one with several models"};
  return compared;
}

std::vector<ComparedRun> compare_runs(const CompareArguments& arguments) {
  const std::string& first = arguments.runs[0];
  const RunResults baseline = read_results(first);
  const std::vector<std::string> known = models_of(baseline.results);
  std::vector<ComparedRun> compared;
  for (std::size_t k = 1; k < arguments.runs.size(); ++k) {
    const std::string& path = arguments.runs[k];
    const RunResults run = read_results(path);
    require_comparable(baseline, run, path);
    const std::vector<std::string> models = models_of(run.results);
    for (const std::string& model : models) {
      const auto partner = baseline_model(known, model);
      // There is no partner if the baseline has several models and none of them has this name.
      if (!partner)
        throw Error{ErrorCode::unreadable, run_text(path, model), "is not among the models of " + first,
                    "give a baseline with a model of this name, or with a single model"};
      compared.push_back(
          {first, path, *partner, model, compared_groups(arguments, baseline.results, *partner, run.results, model, path)});
    }
  }
  return compared;
}

// The comparison in one sentence. If there are several noise models, the sentence begins with the noise to which it applies.
std::string sentence_of(const ComparedRun& compared) {
  const PairedComparison* lead = leading(compared.groups);
  if (lead == nullptr) return "";
  const auto paired = std::count_if(compared.groups.begin(), compared.groups.end(),
                                    [](const PairedComparison& group) { return group.pairs > 0; });
  return (paired > 1 ? "At " + lead->run.noise + ", " : "") + in_one_sentence(*lead);
}

// ---- JSON

Document comparison_json(const PairedComparison& group) {
  const GroupKey& key = group.run.noise.empty() ? group.baseline : group.run;
  Document json = Document::object();
  json["noise"] = key.noise;
  json["estimator"] = key.estimator;
  json["baseline_estimator"] = group.baseline.estimator.empty() ? key.estimator : group.baseline.estimator;
  json["points"] = group.pairs;
  json["unanswered"] = group.unanswered;
  json["baseline_mean_p"] = group.baseline_p.mean;
  json["mean_p"] = group.run_p.mean;
  json["difference"] = group.difference.mean;
  json["ci_low"] = group.difference.low;
  json["ci_high"] = group.difference.high;
  json["labelled"] = group.noisy_difference.count;
  json["baseline_clean_accuracy"] = group.baseline_clean.share;
  json["clean_accuracy"] = group.run_clean.share;
  json["baseline_noisy_accuracy"] = group.baseline_noisy.mean;
  json["noisy_accuracy"] = group.run_noisy.mean;
  json["noisy_difference"] = group.noisy_difference.mean;
  json["noisy_ci_low"] = group.noisy_difference.low;
  json["noisy_ci_high"] = group.noisy_difference.high;
  json["higher"] = group.higher;
  json["lower"] = group.lower;
  json["sign_test"] = group.sign_test;
  json["with_intervals"] = group.with_intervals;
  json["beyond_intervals"] = group.beyond;
  json["pearson"] = group.pearson;
  json["spearman"] = group.spearman;
  json["only_baseline"] = group.only_baseline;
  json["only_run"] = group.only_run;
  return json;
}

Document compared_json(const ComparedRun& compared) {
  Document json = Document::object();
  json["baseline"] = Document::Object{{"run", compared.baseline_path}, {"model", compared.baseline_model}};
  json["run"] = Document::Object{{"run", compared.path}, {"model", compared.model}};
  json["sentence"] = sentence_of(compared);
  json["groups"] = Document::list(compared.groups, comparison_json);
  return json;
}

// ---- table

std::string estimators_text(const PairedComparison& group) {
  const std::string &before = group.baseline.estimator, &now = group.run.estimator;
  if (before.empty() || now.empty() || before == now) return before.empty() ? now : before;
  return now + " - " + before;
}

std::string beyond_text(const PairedComparison& group) {
  return group.with_intervals == 0 ? "-" : fmt::format("{}", group.beyond);
}

std::string sign_test_text(double p) { return p < 1e-3 ? fmt::format("{:.0e}", p) : fmt::format("{:.3f}", p); }

std::string signed_text(double value) { return (value > 0 ? "+" : "") + four_decimals(value); }

// Notes on points that the table omits, because they are in only one of the runs or have no p.
std::string notes_on(const PairedComparison& group) {
  const GroupKey& key = group.run.noise.empty() ? group.baseline : group.run;
  std::string notes;
  const auto add = [&](std::size_t count, const std::string& what, const std::string& which) {
    if (count == 0) return;
    notes += fmt::format("{}, {}: {} {} {}{}\n", key.noise, estimators_text(group), count, count == 1 ? "point" : "points", what,
                         which);
  };
  add(group.only_baseline.size(), "only in A: ", points_text(group.only_baseline));
  add(group.only_run.size(), "only in B: ", points_text(group.only_run));
  add(static_cast<std::size_t>(group.unanswered), "without p in A or B", "");
  return notes;
}

std::string share_text(double share) { return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-"; }

std::string points_interval_text(const MeanInterval& difference) {
  if (!std::isfinite(difference.low) || !std::isfinite(difference.high)) return "-";
  return fmt::format("{:.1f}..{:.1f}", 100 * difference.low, 100 * difference.high);
}

// Prints the accuracies if there are labels.
void print_accuracies(const ComparedRun& compared) {
  TextTable table(
      {"<noise", "<estimator", "labelled", "clean A", "clean B", "under noise A", "under noise B", "B - A", "95% interval"});
  bool any = false;
  for (const PairedComparison& group : compared.groups) {
    if (group.noisy_difference.count == 0) continue;
    any = true;
    table.add({group.run.noise, estimators_text(group), fmt::format("{}", group.noisy_difference.count),
               share_text(group.baseline_clean.share), share_text(group.run_clean.share), share_text(group.baseline_noisy.mean),
               share_text(group.run_noisy.mean), fmt::format("{:+.1f}", 100 * group.noisy_difference.mean),
               points_interval_text(group.noisy_difference)});
  }
  if (any) fmt::print("accuracy\n{}\nmean p, of each model's own prediction\n", table.text());
}

void print_comparison(const ComparedRun& compared) {
  TextTable table({"<noise", "<estimator", "points", "p of A", "p of B", "B - A", "95% interval", "higher", "lower", "sign test",
                   "beyond", "r"});
  std::string notes;
  for (const PairedComparison& group : compared.groups) {
    notes += notes_on(group);
    if (group.pairs == 0) continue;
    table.add({group.run.noise, estimators_text(group), fmt::format("{}", group.pairs), four_decimals(group.baseline_p.mean),
               four_decimals(group.run_p.mean), signed_text(group.difference.mean),
               interval_text(group.difference.low, group.difference.high), fmt::format("{}", group.higher),
               fmt::format("{}", group.lower), sign_test_text(group.sign_test), beyond_text(group),
               std::isfinite(group.pearson) ? fmt::format("{:.3f}", group.pearson) : "-"});
  }
  fmt::print("{}\n\nA  {}\nB  {}\n\n", sentence_of(compared), run_text(compared.baseline_path, compared.baseline_model),
             run_text(compared.path, compared.model));
  print_accuracies(compared);
  fmt::print("{}", table.text());
  if (!notes.empty()) fmt::print("\n{}", notes);
}

// The warnings of all runs, each after the name of its file.
std::vector<std::string> warnings_of(const std::vector<std::string>& runs) {
  std::vector<std::string> all;
  for (const std::string& path : runs) {
    for (const std::string& warning : warnings_in(store::RunFile::read(path).information()))
      all.push_back(fmt::format("{}: {}", path, warning));
  }
  return all;
}

int run_compare(const CompareArguments& arguments) {
  const std::vector<ComparedRun> compared = arguments.runs.size() == 1 ? compare_models(arguments) : compare_runs(arguments);
  if (arguments.json) {
    Document json = Document::object();
    json["warnings"] = warnings_of(arguments.runs);
    json["comparisons"] = Document::list(compared, compared_json);
    fmt::print("{}\n", datasets::json_text(json, 2));
    return 0;
  }
  for (const std::string& warning : warnings_of(arguments.runs)) fmt::print("warning: {}\n", warning);
  for (std::size_t k = 0; k < compared.size(); ++k) {
    if (k > 0) fmt::print("\n");
    print_comparison(compared[k]);
  }
  return 0;
}

}  // namespace

void describe_compare(CommandLine& line) {
  auto [command, own] =
      line.add<CompareArguments>("compare", "compare accuracy under noise and p of runs on the same points", run_compare);
  command.add_option("RUN", own.runs, ".sqlite files written by estimate -o, the baseline first; or one run of several models")
      .required();
  command.add_option("--against", own.against,
                     "compare every estimator with this one of the baseline (default: with the same estimator)");
  command.add_flag("--json", own.json, "print one JSON object");
  command.set_footer(
      "accuracy, with labels: without noise (clean), and under noise, which is the mean probability of the label.\n"
      "p of A, p of B: mean p over the points that both have. B - A has a paired 95% interval.\n"
      "higher, lower: points with a higher and a lower p in B. sign test: probability of so uneven a split by chance.\n"
      "beyond: points whose own 95% intervals do not overlap. r: Pearson's correlation.");
}

}  // namespace probust::cli
