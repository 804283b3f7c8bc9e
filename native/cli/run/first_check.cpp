// SPDX-License-Identifier: MIT
#include "cli/run/first_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/messages.h"
#include "cli/options.h"
#include "probust/base/text.h"
#include "probust/check/of_model.h"

namespace probust::cli {
namespace {

constexpr const char* kUnnamed = "(the model)";  // the model's name if the run has only one

std::string name_in_run(const std::string& model) { return model.empty() ? kUnnamed : model; }

std::vector<std::string> lines_of(const store::Configuration& information, const char* entry) {
  const std::string text = store::value_of(information, entry);
  return text.empty() ? std::vector<std::string>{} : split(text, '\n');
}

std::string joined_lines(std::vector<std::string> lines, const std::vector<std::string>& more) {
  for (const std::string& line : more) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

void append_point(PointBlock& all, const PointBlock& one) {
  if (one.index.empty()) return;
  if (all.x.shape.empty()) {
    all.x.shape = one.x.shape;
    all.x.shape[0] = 0;
  }
  ++all.x.shape[0];
  all.x.data.insert(all.x.data.end(), one.x.data.begin(), one.x.data.end());
  all.index.insert(all.index.end(), one.index.begin(), one.index.end());
  all.labels.insert(all.labels.end(), one.labels.begin(), one.labels.end());
}

PointBlock spread_points(Problem& problem, std::int64_t most) {
  PointBlock all;
  for (const std::int64_t position : spread_positions(problem.data->count(), most)) {
    try {
      append_point(all, problem.data->read(position, 1));
    } catch (const Error& error) {
      if (error.code != ErrorCode::unreadable) throw;  // the command itself reports points that cannot be read
    }
  }
  if (problem.labels.empty()) all.labels.clear();
  return all;
}

}  // namespace

CheckInput check_input(Problem& problem, const std::vector<Noise>& noises, std::int64_t most) {
  PointBlock points = spread_points(problem, most);
  const double scale = problem.data->scale();
  CheckInput input;
  input.x = std::move(points.x);
  input.bytes = problem.data->stored_as_bytes();
  for (float& value : input.x.data) {
    const double stored = value / scale;
    value = static_cast<float>(input.bytes ? std::round(stored) : stored);
  }
  input.scale = scale;
  const DataArguments& data = problem.arguments.data;
  input.preprocessing = {data.mean, data.std, parse_layout(data.layout, option("layout"))};
  input.labels = std::move(points.labels);
  if (!input.labels.empty()) input.all_labels = problem.labels;
  std::erase(input.all_labels, PointSource::kNoLabel);
  input.label_names = problem.class_names;
  if (problem.data->labels_guessed()) input.guessed_classes = problem.data->named_classes();
  for (const Noise& noise : noises) {
    if (const auto sigma = noise.sigma(); sigma && noise.shape->in_data_units()) input.sigmas.push_back(*sigma);
  }
  LoadedModel& model = problem.model;
  input.input_shape = model.imported().input_shape;
  if (model.regression() == nullptr) {
    input.classes = model.classes();
    input.decision = model.imported().decision;
    input.logits = raw_logits(model.executor(), input.input_shape, input.preprocessing);
  }
  return input;
}

FirstCheck first_check(Problem& problem, const std::vector<Noise>& noises, std::int64_t planned) {
  if (problem.arguments.no_check) return {};
  CheckInput input = check_input(problem, noises, kFirstCheckPoints);
  if (input.x.shape.empty()) return {};  // no point can be read
  const CheckReport report = probust::first_check(std::move(input), problem.model.executor(), point_count(problem), planned);
  FirstCheck result{report.warnings(as_flag), {}, report.hint(as_flag)};
  for (const Finding& finding : report.findings) {
    const bool shown = finding.severity == Severity::note && (finding.kind == "layout" || finding.kind == "sigma");
    if (shown) result.notes.push_back(spelled(finding.text, as_flag));
  }
  return result;
}

FirstCheck first_check(Problem& problem, const Plan& plan, const std::string& model, Destination& destination) {
  if (problem.arguments.no_check) return {};
  const store::Configuration known = destination.information();
  const std::vector<std::string> checked = lines_of(known, "checked");
  FirstCheck result;
  if (std::find(checked.begin(), checked.end(), name_in_run(model)) != checked.end()) {
    const std::string own = model.empty() ? "" : model + ": ";
    for (const std::string& line : warnings_in(known)) {
      if (line.starts_with(own)) result.warnings.push_back(line);
    }
    for (const std::string& line : lines_of(known, "hints")) {
      if (line.starts_with(name_in_run(model) + "\t")) result.hint = line.substr(name_in_run(model).size() + 1);
    }
    say_warnings(result.warnings);
    return result;
  }
  result = first_check(problem, plan.noises, plan.passes(point_count(problem), problem.model.classes()) + plan.total);
  if (!model.empty()) {
    for (std::string& warning : result.warnings) warning = fmt::format("{}: {}", model, warning);
  }
  say_warnings(result.warnings);
  if (!problem.arguments.quiet) {
    for (const std::string& note : result.notes) say("probust: {}\n", note);
  }
  store::Configuration entries{{"checked", name_in_run(model)}};
  if (!result.warnings.empty()) {
    entries.emplace_back("warnings", joined_lines({}, result.warnings));
    entries.emplace_back("hints", name_in_run(model) + "\t" + result.hint);
  }
  destination.inform(joined_checks(known, entries));
  return result;
}

FirstCheck warn_of(const Finding& finding, const std::string& model, Destination& destination) {
  const std::string text = spelled(finding.text, as_flag);
  FirstCheck result{{model.empty() ? text : model + ": " + text}, {}, kCheckHint};
  say_warnings(result.warnings);
  destination.inform(joined_checks(destination.information(),
                                   {{"warnings", result.warnings[0]}, {"hints", name_in_run(model) + "\t" + result.hint}}));
  return result;
}

void say_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) say("probust: warning: {}\n", warning);
}

std::vector<std::string> warnings_in(const store::Configuration& information) { return lines_of(information, "warnings"); }

store::Configuration joined_checks(const store::Configuration& information, const store::Configuration& more) {
  store::Configuration joined;
  for (const char* entry : {"warnings", "checked", "hints"}) {
    const std::string text = joined_lines(lines_of(information, entry), lines_of(more, entry));
    if (!text.empty()) joined.emplace_back(entry, text);
  }
  return joined;
}

}  // namespace probust::cli
