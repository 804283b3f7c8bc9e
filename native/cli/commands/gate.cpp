// SPDX-License-Identifier: MIT
// probust gate: checks a run against thresholds, for use on build servers. A check also fails if its quantity cannot be
// measured or if points are missing from the run.
#include "probust/analysis/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/clock.h"
#include "cli/command_line.h"
#include "cli/commands/analysis_output.h"
#include "cli/commands/comparable.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/junit.h"
#include "cli/output/text_file.h"
#include "cli/output/text_table.h"
#include "cli/run/results.h"
#include "datasets/json.h"
#include "probust/analysis/comparison.h"
#include "probust/analysis/describe.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

// The options of this command. A text is empty if its option is not given.
struct GateArguments : Arguments {
  std::string min_mean, min_class, max_drop, min_accuracy, min_noisy_accuracy, max_noisy_drop;
  std::vector<std::string> min_quantile;  ///< quantile and least p, such as "0.05=0.8"
  std::string baseline;                   ///< path of the run to compare with
  std::string junit;                      ///< path of the JUnit file to write
  bool confident = false, allow_partial = false, accept_warnings = false;
};

// ---- options

double parse_probability(const std::string& text, const char* option, const char* example) {
  const auto value = parse_double(text);
  if (value && *value >= 0 && *value <= 1) return *value;
  throw Error{ErrorCode::usage, option, "is '" + text + "', which is not a number from 0 to 1", example};
}

Threshold parse_quantile(const std::string& text) {
  constexpr const char *kOption = "--min-quantile",
                       *kExample = "try 0.05=0.8, which means that 95% of the points have p of at least 0.8";
  const std::vector<std::string> parts = split(text, '=');
  if (parts.size() != 2) throw Error{ErrorCode::usage, kOption, "is '" + text + "', which is not of the form Q=P", kExample};
  const double q = parse_probability(parts[0], kOption, kExample);
  return {Threshold::Kind::quantile, parse_probability(parts[1], kOption, kExample), q};
}

std::vector<Threshold> parse_thresholds(const GateArguments& gate) {
  std::vector<Threshold> thresholds;
  const auto add = [&](const std::string& text, const char* option, const char* example, Threshold::Kind kind) {
    if (!text.empty()) thresholds.push_back({kind, parse_probability(text, option, example)});
  };
  add(gate.min_mean, "--min-mean", "try 0.9", Threshold::Kind::mean);
  for (const std::string& text : gate.min_quantile) thresholds.push_back(parse_quantile(text));
  add(gate.min_class, "--min-class", "try 0.8", Threshold::Kind::worst_class);
  add(gate.max_drop, "--max-drop", "try 0.02", Threshold::Kind::drop);
  add(gate.min_accuracy, "--min-accuracy", "try 0.9", Threshold::Kind::accuracy);
  add(gate.min_noisy_accuracy, "--min-noisy-accuracy", "try 0.8", Threshold::Kind::noisy_accuracy);
  add(gate.max_noisy_drop, "--max-noisy-drop", "try 0.02", Threshold::Kind::noisy_drop);
  if (thresholds.empty())
    throw Error{
        ErrorCode::usage, "gate", "has no threshold",
        "give --min-accuracy, --min-noisy-accuracy, --min-mean, --min-quantile, --min-class, --max-drop or --max-noisy-drop"};
  const bool drop = !gate.max_drop.empty() || !gate.max_noisy_drop.empty();
  if (drop == gate.baseline.empty())
    throw Error{ErrorCode::usage,
                !drop                   ? "--baseline"
                : gate.max_drop.empty() ? "--max-noisy-drop"
                                        : "--max-drop",
                drop ? "needs a baseline" : "needs a maximum drop",
                "give --max-drop D or --max-noisy-drop D together with --baseline RUN"};
  return thresholds;
}

void refuse_overwritten_runs(const GateArguments& arguments) {
  for (const std::string& input : {arguments.run, arguments.baseline}) {
    std::error_code unlike;  // keeps equivalent() from throwing if a file does not exist
    if (!input.empty() && !arguments.junit.empty() && std::filesystem::equivalent(input, arguments.junit, unlike))
      throw Error{ErrorCode::usage, "--junit", "is '" + arguments.junit + "', which is the input " + input,
                  "choose another file"};
  }
}

// ---- groups to check

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether --noise and --estimator select a group. An option that is not given selects all groups.
bool selected(const GateArguments& arguments, const GroupKey& key) {
  const std::vector<std::string>& noises = arguments.question.noise;
  const auto names = [&](const std::string& text) { return names_noise(text, key.noise, key.sigma); };
  return (noises.empty() || std::any_of(noises.begin(), noises.end(), names)) &&
         (arguments.question.estimators.empty() || is_among(arguments.question.estimators, key.estimator));
}

[[noreturn]] void refuse_unknown(const char* option, const std::string& name, const std::vector<std::string>& known) {
  throw Error{ErrorCode::usage, option, "is '" + name + "', which is not in the run", "use one of " + join(known)};
}

std::vector<RowGroup> selected_groups(const GateArguments& arguments, const Results& results) {
  std::vector<RowGroup> groups = grouped(results.rows);
  std::vector<std::string> noises, estimators;
  for (const RowGroup& group : groups) {
    if (!is_among(noises, group.key.noise)) noises.push_back(group.key.noise);
    if (!is_among(estimators, group.key.estimator)) estimators.push_back(group.key.estimator);
  }
  for (const std::string& noise : arguments.question.noise) {
    const auto named = [&](const RowGroup& group) { return names_noise(noise, group.key.noise, group.key.sigma); };
    if (std::none_of(groups.begin(), groups.end(), named)) refuse_unknown("--noise", noise, noises);
  }
  for (const std::string& estimator : arguments.question.estimators) {
    if (!is_among(estimators, estimator)) refuse_unknown("--estimator", estimator, estimators);
  }
  std::erase_if(groups, [&](const RowGroup& group) { return !selected(arguments, group.key); });
  if (groups.empty())
    throw Error{ErrorCode::usage, arguments.run, "has no rows for this noise and estimator", "leave out --noise or --estimator"};
  return groups;
}

const char* option_of(Threshold::Kind kind) {
  return kind == Threshold::Kind::accuracy         ? "--min-accuracy"
         : kind == Threshold::Kind::noisy_accuracy ? "--min-noisy-accuracy"
                                                   : "--max-noisy-drop";
}

// Throws if there are thresholds for accuracy but the groups have no labels. `path` is the run that needs labels.
void require_labels(const std::string& path, const std::vector<RowGroup>& groups, const std::vector<Threshold>& thresholds) {
  const auto any = [&](std::vector<double> (RowGroup::*values)() const) {
    return std::any_of(groups.begin(), groups.end(), [&](const RowGroup& group) {
      const std::vector<double> all = (group.*values)();
      return std::any_of(all.begin(), all.end(), [](double value) { return std::isfinite(value); });
    });
  };
  const bool labels = any(&RowGroup::correct), probabilities = any(&RowGroup::p_label);
  for (const Threshold& threshold : thresholds) {
    if (!threshold.labelled()) continue;
    if (!labels)
      throw Error{ErrorCode::usage, option_of(threshold.kind), "needs labels, which " + path + " does not have",
                  "estimate data with labels, or give them with --labels"};
    if (threshold.kind != Threshold::Kind::accuracy && !probabilities)
      throw Error{ErrorCode::usage, option_of(threshold.kind),
                  "needs the probabilities of labels, which " + path + " does not have", "estimate again with this version"};
  }
}

// The groups of the baseline; none if no baseline was given.
class Baseline {
 public:
  Baseline(const GateArguments& arguments, const RunResults& run) {
    const std::string& path = arguments.baseline;
    if (path.empty()) return;
    baseline_ = read_results(path);
    require_comparable(baseline_, run, arguments.run);
    models_ = models_of(baseline_.results);
    groups_ = grouped(baseline_.results.rows);
  }
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;

  // The baseline's group for the same noise and estimator and for the model of the same name or, if the baseline has only one
  // model, for that model. Empty if there is no such group.
  RowGroup partner(const GroupKey& key) const {
    for (const RowGroup& group : groups_) {
      if (is_partner(group.key, key)) return group;
    }
    return {};
  }

  // The baseline's groups that have no partner in `groups`.
  std::vector<RowGroup> without_partner(const std::vector<RowGroup>& groups) const {
    std::vector<RowGroup> lost = groups_;
    std::erase_if(lost, [&](const RowGroup& own) {
      return std::any_of(groups.begin(), groups.end(), [&](const RowGroup& group) { return is_partner(own.key, group.key); });
    });
    return lost;
  }

 private:
  bool is_partner(const GroupKey& own, const GroupKey& key) const {
    return own.model == baseline_model(models_, key.model) && own.noise == key.noise && own.estimator == key.estimator;
  }

  RunResults baseline_;
  std::vector<std::string> models_;
  std::vector<RowGroup> groups_;  // refer to rows in baseline_
};

// A check and its text.
struct NamedCheck {
  std::string name;                 // such as "mean p >= 0.9"; does not depend on the run
  std::string quantity, condition;  // such as "worst class's mean p (Bag)" and ">= 0.9"
  std::string measured, interval;
  std::string details;  // the message if the check fails; if empty, it is composed of the members above
  Check values;
  double seconds = 0;
};

struct CheckedGroup {
  GroupKey key;
  std::vector<NamedCheck> checks;
};

NamedCheck named(const Check& check, const std::vector<std::string>& class_names) {
  NamedCheck result;
  result.values = check;
  result.quantity = check.threshold.quantity();
  result.condition = check.threshold.condition();
  result.name = result.quantity + " " + result.condition;
  result.measured = four_decimals(check.measured);
  result.interval = interval_text(check.low, check.high);
  if (check.worst >= 0) result.quantity += " (" + class_text(check.worst, class_names) + ")";
  if (std::isnan(check.measured))
    result.measured = check.threshold.compares() ? "no pairs" : check.threshold.labelled() ? "no labels" : "no p";
  return result;
}

// The expected number of points with p: the largest of the group's number of rows, the baseline's, and the planned number of
// points minus the unreadable ones.
std::int64_t expected_points(const RunResults& run, const RowGroup& group, const RowGroup& baseline) {
  const std::vector<SkippedPoint>& skipped = run.results.skipped;
  const auto unread =
      std::count_if(skipped.begin(), skipped.end(), [&](const SkippedPoint& s) { return s.model == group.key.model; });
  const std::int64_t planned = parse_integer(store::value_of(run.information, "points")).value_or(0);
  return std::max({std::ssize(group.rows), std::ssize(baseline.rows), planned - unread});
}

// If points have no p, reports this and returns a failed check, unless --allow-partial is given.
std::optional<NamedCheck> missing_points(const GateArguments& arguments, const GroupKey& key, const std::vector<double>& p,
                                         std::int64_t expected) {
  const auto answered = std::count_if(p.begin(), p.end(), [](double value) { return std::isfinite(value); });
  if (answered >= expected) return std::nullopt;
  say("probust: {}: {}: only {} of {} points have p\n", arguments.run, group_text(key), answered, expected);
  if (arguments.allow_partial) return std::nullopt;
  NamedCheck check;
  check.name = "all points have p";
  check.quantity = "points with p";
  check.condition = fmt::format(">= {}", expected);
  check.measured = fmt::format("{}", answered);
  check.interval = "-";
  check.values.threshold.limit = static_cast<double>(expected);
  check.values.measured = static_cast<double>(answered);
  check.values.low = check.values.high = NAN;
  check.values.count = answered;
  return check;
}

CheckedGroup checked(const GateArguments& arguments, const RunResults& run, const RowGroup& group, const RowGroup& baseline,
                     const std::vector<Threshold>& thresholds) {
  const Decision decision = arguments.confident ? Decision::confident : Decision::measured;
  CheckedGroup result{group.key, {}};
  for (const Threshold& threshold : thresholds) {
    const Stopwatch watch;
    const Check measured = comparing(arguments.run, [&] { return check(group, threshold, baseline, decision); });
    result.checks.push_back(named(measured, run.class_names));
    result.checks.back().seconds = watch.seconds();
  }
  const auto missing = missing_points(arguments, group.key, group.p(), expected_points(run, group, baseline));
  if (missing) result.checks.push_back(*missing);
  return result;
}

// A failed check if the run has warnings, because p may then not be what the user intended to measure.
CheckedGroup warning_group(const std::vector<std::string>& warnings) {
  NamedCheck check;
  check.name = "warnings";
  check.quantity = "number of warnings";
  check.condition = "0";
  check.measured = fmt::format("{}", warnings.size());
  check.interval = "-";
  check.details = fmt::format("{}", fmt::join(warnings, "\n"));
  check.values.measured = static_cast<double>(warnings.size());
  check.values.low = check.values.high = NAN;
  return {{}, {check}};
}

std::vector<CheckedGroup> checked_groups(const GateArguments& arguments, const RunResults& run,
                                         const std::vector<Threshold>& thresholds) {
  const Baseline baseline(arguments, run);
  const std::vector<RowGroup> groups = selected_groups(arguments, run.results);
  require_labels(arguments.run, groups, thresholds);
  std::vector<CheckedGroup> result;
  result.reserve(groups.size());
  for (const RowGroup& group : groups) result.push_back(checked(arguments, run, group, baseline.partner(group.key), thresholds));
  for (const RowGroup& lost : baseline.without_partner(groups)) {
    if (!selected(arguments, lost.key)) continue;
    const auto missing = missing_points(arguments, lost.key, {}, std::ssize(lost.rows));
    if (missing) result.push_back({lost.key, {*missing}});
  }
  const bool accepted = arguments.accept_warnings;
  for (const std::string& warning : run.warnings)
    say("probust: {}: warning{}: {}\n", arguments.run, accepted ? " (accepted)" : "", warning);
  if (!run.warnings.empty() && !accepted) result.push_back(warning_group(run.warnings));
  return result;
}

// ---- output

void print_checks(const std::vector<CheckedGroup>& groups) {
  const bool models =
      std::any_of(groups.begin(), groups.end(), [](const CheckedGroup& group) { return !group.key.model.empty(); });
  std::vector<std::string> columns{"<noise", "<estimator", "<check", "measured", "95% interval", "<threshold", "<met"};
  if (models) columns.insert(columns.begin(), "<model");
  TextTable table(columns);
  std::int64_t count = 0, failed = 0;
  for (const CheckedGroup& group : groups) {
    for (const NamedCheck& check : group.checks) {
      std::vector<std::string> cells{group.key.noise,
                                     group.key.estimator,
                                     check.quantity,
                                     check.measured,
                                     check.interval,
                                     check.condition,
                                     check.values.met ? "yes" : "no"};
      if (models) cells.insert(cells.begin(), group.key.model);
      table.add(cells);
      ++count;
      failed += check.values.met ? 0 : 1;
    }
  }
  fmt::print("{}\n{} {}, {} not met\n", table.text(), count, count == 1 ? "check" : "checks", failed);
}

void print_checks_json(const std::vector<CheckedGroup>& groups, bool met) {
  Document json = Document::object();
  json["met"] = met;
  json["checks"] = Document::List{};
  for (const CheckedGroup& group : groups) {
    for (const NamedCheck& check : group.checks) {
      const std::int64_t worst = check.values.worst;
      json["checks"].push_back(Document::Object{{"model", group.key.model},
                                                {"noise", group.key.noise},
                                                {"estimator", group.key.estimator},
                                                {"check", check.name},
                                                {"class", worst < 0 ? Document() : Document(worst)},
                                                {"measured", check.values.measured},
                                                {"ci_low", check.values.low},
                                                {"ci_high", check.values.high},
                                                {"points", check.values.count},
                                                {"threshold", check.values.threshold.limit},
                                                {"met", check.values.met}});
    }
  }
  fmt::print("{}\n", datasets::json_text(json, 2));
}

JunitSuite junit_suite(const CheckedGroup& group) {
  const bool of_run = group.key.noise.empty();
  JunitSuite suite{of_run ? "warnings" : group_text(group.key), {}};
  const std::string model = group.key.model.empty() ? "probust" : "probust." + group.key.model;
  for (const NamedCheck& check : group.checks) {
    JunitCase one{of_run ? model : model + "." + group.key.noise + "." + group.key.estimator, check.name, check.seconds};
    if (!check.values.met) {
      one.failure = check.quantity + " is " + check.measured + ", not " + check.condition;
      one.details = !check.details.empty()
                        ? check.details
                        : fmt::format("{}; 95% interval {}; {} points", one.failure, check.interval, check.values.count);
    }
    suite.cases.push_back(std::move(one));
  }
  return suite;
}

bool all_met(const std::vector<CheckedGroup>& groups) {
  return std::all_of(groups.begin(), groups.end(), [](const CheckedGroup& group) {
    return std::all_of(group.checks.begin(), group.checks.end(), [](const NamedCheck& check) { return check.values.met; });
  });
}

int run_gate(GateArguments arguments) {
  arguments.question.noise = single_noises(arguments.question.noise);
  constexpr int kNotMet = 1;
  const auto started = std::chrono::system_clock::now();
  const std::vector<Threshold> thresholds = parse_thresholds(arguments);
  refuse_overwritten_runs(arguments);
  const RunResults run = read_results(arguments.run);
  const std::vector<CheckedGroup> groups = checked_groups(arguments, run, thresholds);
  const bool met = all_met(groups);
  arguments.json ? print_checks_json(groups, met) : print_checks(groups);
  std::fflush(stdout);
  if (!arguments.junit.empty()) {
    std::vector<JunitSuite> suites;
    suites.reserve(groups.size());
    for (const CheckedGroup& group : groups) suites.push_back(junit_suite(group));
    write_text_file(arguments.junit, junit_xml("probust gate", suites, started));
  }
  return met ? 0 : kNotMet;
}

}  // namespace

void describe_gate(CommandLine& line) {
  auto [command, own] =
      line.add<GateArguments>("gate", "check a run against thresholds: exit status 1 if one is not met", run_gate);
  command.add_option("RUN", own.run, ".sqlite file written by estimate -o").required();
  command.add_option("--min-mean", own.min_mean, "require the mean of p to be at least this value");
  command
      .add_option("--min-quantile", own.min_quantile,
                  "require a quantile of p: 0.05=0.8 means that 95% of the points have p of 0.8 or more")
      .one_argument_each();
  command.add_option("--min-class", own.min_class,
                     "require at least this mean of p for every class (by label; without labels, by prediction)");
  command.add_option("--max-drop", own.max_drop, "allow at most this drop of the mean of p from --baseline, paired by point");
  command.add_option("--min-accuracy", own.min_accuracy, "require at least this accuracy without noise (needs labels)");
  command.add_option("--min-noisy-accuracy", own.min_noisy_accuracy,
                     "require at least this accuracy under noise, which is the mean probability of the label (needs labels)");
  command.add_option("--max-noisy-drop", own.max_noisy_drop,
                     "allow at most this drop of the accuracy under noise from --baseline, paired by point (needs labels)");
  command.add_option("--baseline", own.baseline, "run on the same data, for --max-drop and --max-noisy-drop");
  command.add_option("--noise", own.question.noise, "check only rows of this noise, such as gaussian:0.1 or rotate")
      .one_argument_each();
  command.add_option("--estimator", own.question.estimators, "check only rows of this estimator, such as mc:1000")
      .one_argument_each();
  command.add_flag("--confident", own.confident,
                   "fail only if the whole 95% interval is on the wrong side (default: the measured value decides)");
  command.add_flag("--allow-partial", own.allow_partial, "do not fail if points are missing or have no p");
  command.add_flag("--accept-warnings", own.accept_warnings, "do not fail because of the run's warnings");
  command.add_option("--junit", own.junit, "also write the checks to this file as JUnit XML");
  command.add_flag("--json", own.json, "print one JSON object");
}

}  // namespace probust::cli
