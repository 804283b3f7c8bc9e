// SPDX-License-Identifier: MIT
#include "cli/commands/analysis_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/output/text_file.h"
#include "datasets/unwritable.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Restricts rows to those that --sigma, --noise and --estimator select.
struct Selection {
  std::vector<double> sigmas;
  std::vector<std::string> noises, estimators;

  bool takes(const Row& row) const {
    const bool any_noise = sigmas.empty() && noises.empty();
    const bool scale = row.sigma && std::find(sigmas.begin(), sigmas.end(), *row.sigma) != sigmas.end();
    const bool noise = std::any_of(noises.begin(), noises.end(),
                                   [&](const std::string& text) { return names_noise(text, row.noise, row.sigma); });
    return (any_noise || scale || noise) && (estimators.empty() || contains(estimators, row.estimator));
  }
};

Selection selection_of(const Arguments& arguments) {
  Selection selection{{}, single_noises(arguments.question.noise), {}};
  for (const std::string& list : arguments.question.sigma) {
    for (const double sigma : parse_numbers(list, "--sigma")) selection.sigmas.push_back(sigma);
  }
  for (const std::string& list : arguments.question.estimators) {
    for (std::string& item : split(list, ',')) selection.estimators.push_back(std::move(item));
  }
  return selection;
}

std::string what_there_is(const std::vector<Row>& rows) {
  std::set<std::string> noises, estimators;
  for (const Row& row : rows) {
    noises.insert(row.noise);
    estimators.insert(row.estimator);
  }
  const auto listed = [](const std::set<std::string>& texts) {
    return join(std::vector<std::string>(texts.begin(), texts.end()));
  };
  return "choose among the noise models " + listed(noises) + " and the estimators " + listed(estimators);
}

}  // namespace

void check_plot(const Arguments& arguments) {
  if (arguments.analysis.plot.empty()) return;
  if (!arguments.analysis.plot.ends_with(".svg"))
    throw Error{ErrorCode::usage, "--plot", "is '" + arguments.analysis.plot + "', which does not end in .svg", "try chart.svg"};
  require_writable(arguments.analysis.plot);
}

RunResults selected_results(const Arguments& arguments) {
  check_plot(arguments);
  RunResults results = results_of(arguments);
  if (!is_run(arguments.model)) return results;
  const Selection selection = selection_of(arguments);
  std::vector<Row>& rows = results.results.rows;
  const std::string all = what_there_is(rows);
  std::erase_if(rows, [&](const Row& row) { return !selection.takes(row); });
  if (rows.empty()) throw Error{ErrorCode::usage, arguments.model, "has no rows for this noise and estimator", all};
  if (!arguments.json) {
    for (const std::string& warning : results.warnings) fmt::print("warning: {}\n", warning);
  }
  return results;
}

std::string group_text(const GroupKey& key) {
  return (key.model.empty() ? "" : key.model + ": ") + key.noise + ", " + key.estimator;
}

void write_plot(const Arguments& arguments, const report::Chart& chart) {
  if (arguments.analysis.plot.empty()) return;
  write_text_file(arguments.analysis.plot, report::svg(chart, report::Surroundings::file));
}

}  // namespace probust::cli
