// SPDX-License-Identifier: MIT
// probust survey: the standard perturbations at three strengths each, in one run and on one page.
#include "probust/analysis/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/command_line.h"
#include "cli/commands/estimate.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/noisy_pictures.h"
#include "cli/output/survey_pictures.h"
#include "cli/output/text_file.h"
#include "cli/output/text_table.h"
#include "cli/run/load.h"
#include "cli/run/results.h"
#include "datasets/json.h"
#include "datasets/unwritable.h"
#include "probust/analysis/describe.h"
#include "probust/base/similar.h"
#include "probust/base/text.h"
#include "probust/perturb/noise_list.h"
#include "report/survey_page.h"

namespace probust::cli {
namespace {

struct SurveyArguments : Arguments {
  std::int64_t samples = 100;
  std::vector<std::string> families;  ///< comma-separated names; empty: all
  std::string rows;                   ///< path of the run in which to store the rows; empty: none
};

constexpr std::int64_t kImages = 300;  // the default of --limit

// The kinds of noise to survey, all unless --families names some.
std::vector<SurveyedNoise> chosen_noises(const SurveyArguments& arguments, const Image& image) {
  std::vector<SurveyedNoise> all = surveyed_noises(image);
  std::vector<std::string> names, wanted;
  for (const SurveyedNoise& noise : all) names.push_back(noise.entry.name);
  for (const std::string& texts : arguments.families) {
    for (std::string& name : split(texts, ',')) wanted.push_back(std::move(name));
  }
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::vector<std::string> similar = similar_words(name, names);
    throw Error{ErrorCode::usage, "--families", "has '" + name + "', which is not a perturbation of the survey",
                similar.empty() ? "use some of " + join(names) : "did you mean " + join(similar, " or ") + "?"};
  }
  if (!wanted.empty()) {
    std::erase_if(all, [&](const SurveyedNoise& noise) {
      return std::find(wanted.begin(), wanted.end(), noise.entry.name) == wanted.end();
    });
  }
  return all;
}

// Whether the noises have one shape and differ only in scale. One --noise text then covers all of them, and the work that
// depends only on the shape is shared.
bool sweeps(const SurveyedNoise& noise) {
  const perturb::Family* family = noise.entry.family;
  return family == nullptr || family->number == perturb::Family::Number::scale;
}

// The options of `estimate` that compute the survey.
Arguments to_estimate(const SurveyArguments& arguments, const std::vector<SurveyedNoise>& noises) {
  Arguments estimating = arguments;
  for (const SurveyedNoise& noise : noises) {
    if (sweeps(noise)) {
      estimating.question.noise.push_back(fmt::format("{}:{}", noise.entry.name, fmt::join(noise.numbers, ",")));
    } else {
      for (const std::string& text : noise.noises) estimating.question.noise.push_back(text);
    }
  }
  estimating.question.estimators = {"mc:" + std::to_string(arguments.samples)};
  estimating.output = arguments.rows;
  return estimating;
}

std::vector<SurveyedKind> kinds_of(const std::vector<SurveyedNoise>& noises, const Plan& plan) {
  std::vector<SurveyedKind> kinds;
  for (std::size_t i = 0; i < noises.size(); ++i) {
    const NoiseEntry& entry = noises[i].entry;
    SurveyedKind kind{entry.name, entry.summary, entry.parameter, entry.number, noises[i].numbers, {}, entry.family == nullptr};
    for (std::size_t k = 0; k < kind.noises.size(); ++k) kind.noises[k] = plan.noises[kind.noises.size() * i + k].text();
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

// The rows, which are stored in the run of --run, or kept in memory if there is none. An existing run is resumed. Empty if
// interrupted.
std::optional<report::Run> estimated_rows(const Arguments& estimating, const Plan& plan) {
  Collected collected;
  std::unique_ptr<Destination> stored;
  const store::Configuration configuration = configuration_of(estimating, plan);
  const int status = estimate_into(estimating, plan, [&](const Problem&) -> Destination* {
    if (estimating.output.empty()) return &collected;
    stored = run_destination(estimating, configuration);
    return stored.get();
  });
  if (status == kInterrupted) return std::nullopt;
  if (status != 0)
    throw Error{ErrorCode{status}, estimating.data.path, "has no image for which p could be computed",
                "check the points for NaN and infinite values"};
  if (estimating.output.empty()) {
    const std::string names = store::value_of(collected.entries, "class_names");
    return report::Run{"not saved", std::move(collected.results), configuration, collected.entries,
                       names.empty() ? std::vector<std::string>{} : split(names, '\n')};
  }
  stored.reset();  // writes the remaining rows
  RunResults read = read_results(estimating.output);
  return report::Run{std::filesystem::path(estimating.output).filename().string(), std::move(read.results),
                     std::move(read.configuration), std::move(read.information), std::move(read.class_names)};
}

void print_survey(const Survey& survey) {
  const bool labelled = survey.entries[0].strengths[kMedium].noisy.count > 0;
  std::vector<std::string> columns{"<perturbation", "<strength", "<noise", "mean p", "s.e."};
  if (labelled) columns.emplace_back("accuracy under noise");
  TextTable table(columns);
  for (const SurveyEntry& entry : survey.entries) {
    for (std::size_t k = 0; k < entry.strengths.size(); ++k) {
      const SurveyedStrength& strength = entry.strengths[k];
      std::vector<std::string> cells{k == 0 ? entry.kind.name : "", kStrengthNames[k],
                                     entry.kind.name + ":" + entry.kind.numbers[k], probability_text(strength.p.mean),
                                     four_decimals(strength.p.std_error)};
      if (labelled) cells.push_back(fmt::format("{:.2f}%", 100 * strength.noisy.mean));
      table.add(std::move(cells));
    }
  }
  fmt::print("{}\n{}", report::headline(survey), table.text());
}

// The survey's data. The point source is opened only once, for the shape, number and range of the points.
struct Surveyed {
  Image image;
  std::int64_t all = 0;  ///< number of images after the offset; only the first of them are used
  DataRange range;
};

Surveyed look_at(SurveyArguments& arguments) {
  const std::unique_ptr<PointSource> data = open_data(arguments);
  const Surveyed found{image_of(data->point_shape(), arguments.data.path), data->count(), {}};
  if (found.all == 0)
    throw Error{ErrorCode::usage, arguments.data.path, "has no points to survey",
                "give at least one image, with --limit 1 or more"};
  if (arguments.data.limit < 0) arguments.data.limit = std::min(kImages, found.all);
  return {found.image, found.all, range_of_points(*data, arguments.data.limit)};
}

// Sentences about the data that readers of the page should know.
std::string notes_on(const Surveyed& data, std::int64_t used) {
  std::string notes;
  if (data.all > used) notes = fmt::format("The survey uses the first {} of {} images.", used, data.all);
  if (data.range.lowest < 0 || data.range.highest > 1)
    notes += fmt::format("{}Strengths are for pixels from 0 to 1, but the data have values from {:.4g} to {:.4g}.",
                         notes.empty() ? "" : " ", data.range.lowest, data.range.highest);
  return notes;
}

void check_files(const SurveyArguments& arguments) {
  if (arguments.output.empty())
    throw Error{ErrorCode::usage, "--output", "is missing", "name the page to write with -o PAGE.html"};
  require_ending("--output", arguments.output, ".html");
  require_writable(arguments.output);
  if (arguments.rows.empty() && arguments.force_new)
    throw Error{ErrorCode::usage, "--force-new", "needs a run to replace", "name it with --run FILE.sqlite"};
  if (!arguments.rows.empty()) require_ending("--run", arguments.rows, ".sqlite");
}

int run_survey(SurveyArguments arguments) {
  check_files(arguments);
  const Surveyed data = look_at(arguments);
  const std::vector<SurveyedNoise> chosen = chosen_noises(arguments, data.image);
  const Arguments estimating = to_estimate(arguments, chosen);
  const Plan plan = parse_plan(estimating);
  const std::string notes = notes_on(data, arguments.data.limit);
  if (!notes.empty() && !arguments.quiet) say("{}\n", notes);
  std::optional<report::Run> run = estimated_rows(estimating, plan);
  if (!run) return kInterrupted;
  report::SurveyPage page{.run = std::move(*run),
                          .survey = {},
                          .pictures = {},
                          .samples = arguments.samples,
                          .notes = notes,
                          .clipped = data.range.lowest >= 0 && data.range.highest <= 1};
  page.survey = survey_of(page.run.results.rows, kinds_of(chosen, plan));
  Arguments quiet = estimating;
  quiet.quiet = true;
  Problem problem = load_problem(quiet, plan.noises);
  page.pictures = pictures_of_survey(problem, page.survey, plan.noises, arguments.samples);
  write_text_file(arguments.output, report::page(page));
  if (arguments.json) {
    fmt::print("{}\n", datasets::json_text(describe(page.survey), 2));
  } else {
    print_survey(page.survey);
  }
  return 0;
}

}  // namespace

void describe_survey(CommandLine& line) {
  auto [command, own] = line.add<SurveyArguments>(
      "survey", "standard perturbations of images at three strengths each, as one HTML page with pictures", run_survey);
  add_model(command, own);
  add_decision_options(command, own);
  add_data(command, own);
  command.option("--limit").describe("use the first images, at most this many (default: 300)");
  add_device_options(command, own);
  command.add_option("-o,--output", own.output, ".html file to write");
  command.add_option("--families", own.families, "perturbations to survey, e.g. blur,rotate (default: all)").one_argument_each();
  command.add_option("--samples", own.samples, "samples of each image at each strength").at_least(10).show_default();
  command.add_option("--run", own.rows, "keep the rows in this .sqlite file, and resume it if it is incomplete");
  command.add_flag("--force-new", own.force_new, "replace the file that --run names");
  command.add_option("--seed", own.question.seed, "random seed for the noise").show_default();
  command.add_flag("--no-check", own.no_check, "skip the check of data, preprocessing and labels");
  command.add_flag("--json", own.json, "print one JSON list instead of a table");
  command.add_flag("--quiet", own.quiet, "do not print accuracy and progress on stderr");
  command.set_footer(
      "probust noise list shows the perturbations and their strengths. The rows of --run are those that estimate writes with\n"
      "--estimator mc:SAMPLES, so report, summary, rank and export apply to them.");
}

}  // namespace probust::cli
