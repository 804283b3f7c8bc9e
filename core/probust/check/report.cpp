// SPDX-License-Identifier: MIT
// The report of a check as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probust/base/text.h"
#include "probust/check/check.h"
#include "probust/check/findings.h"

namespace probust {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string json_value(double value) { return std::isfinite(value) ? shortest_text(value) : "null"; }

std::string json_options(const CheckOptions& options) {
  std::string add, without;
  for (const auto& [field, value] : options.add) add += (add.empty() ? "" : ", ") + quoted(field) + ": " + quoted(value);
  for (const std::string& field : options.leave_out) without += (without.empty() ? "" : ", ") + quoted(field);
  return "{\"add\": {" + add + "}, \"leave_out\": [" + without + "]}";
}

std::string json_alternative(const Alternative& way, OptionSpelling spell) {
  return fmt::format(
      R"({{"name": {}, "options": {}, "text": {}, "points": {}, "correct": {}, "gained": {}, "lost": {}, "p_value": {}, "better": {}}})",
      quoted(way.name), json_options(way.options), quoted(way.options.text(spell)), way.points, way.correct, way.gained, way.lost,
      json_value(way.p_value), way.better);
}

std::string sentence(const Finding& finding, OptionSpelling spell) {
  std::string text = spelled(finding.text, spell);
  if (!finding.remedy.empty()) text += "; " + spelled(finding.remedy, spell);
  if (!finding.options.empty()) text += "; " + finding.options.advice(spell);
  return text;
}

std::string json_finding(const Finding& finding, OptionSpelling spell) {
  return fmt::format(R"({{"severity": "{}", "kind": {}, "text": {}, "options": {}}})",
                     finding.severity == Severity::warning ? "warning" : "note", quoted(finding.kind),
                     quoted(sentence(finding, spell)), json_options(finding.options));
}

std::string names_of(const std::vector<std::string>& fields, OptionSpelling spell) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ", ") + spell(field);
  return text;
}

template <class T, class Write>
std::string json_list(const std::vector<T>& items, Write write) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "\n    " : ",\n    ") + write(item);
  return "[" + text + (items.empty() ? "]" : "\n  ]");
}

// The last lines of a report.
std::string what_to_do(const CheckReport& report, OptionSpelling spell) {
  std::string text;
  if (!report.options.empty()) {
    const bool none = report.options.add.empty();
    text += "options to add: " + (none ? "none; " + report.options.advice(spell) : report.options.text(spell)) + "\n";
  }
  for (const std::string& remedy : report.remedies) text += "what to do: " + spelled(remedy, spell) + "\n";
  return text;
}

}  // namespace

std::string CheckOptions::text(OptionSpelling spell) const {
  std::string text;
  for (const auto& [field, value] : add) text += (text.empty() ? "" : " ") + spell(field) + " " + value;
  if (leave_out.empty()) return text;
  return text + (text.empty() ? "without " : ", without ") + names_of(leave_out, spell);
}

std::string CheckOptions::advice(OptionSpelling spell) const {
  return add.empty() ? "leave out " + names_of(leave_out, spell) : "give " + text(spell);
}

bool CheckReport::suspicious() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::warning; });
}

std::vector<std::string> CheckReport::warnings(OptionSpelling spell) const {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::warning) lines.push_back(printable(sentence(finding, spell)));
  }
  return lines;
}

std::string CheckReport::hint(OptionSpelling spell) const {
  if (!suspicious()) return "";
  std::string what = options.empty() ? "" : options.advice(spell);
  for (const std::string& remedy : remedies) what += (what.empty() ? "" : "; ") + spelled(remedy, spell);
  return kCheckHint + (what.empty() ? "" : ": " + what);
}

std::string check_json(const CheckReport& report, OptionSpelling spell) {
  std::string shape;
  for (const std::int64_t extent : report.point_shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  const std::string accuracy = report.correct && report.points > 0
                                   ? json_value(static_cast<double>(*report.correct) / static_cast<double>(report.points))
                                   : "null";
  return fmt::format(
      "{{\n  \"suspicious\": {},\n  \"complete\": {},\n  \"decision\": {},\n  \"points\": {},\n  \"classes\": {},\n  "
      "\"point_shape\": [{}],\n"
      "  \"stored_low\": {},\n  \"stored_high\": {},\n  \"scale\": {},\n  \"correct\": {},\n  \"accuracy\": {},\n"
      "  \"predicted_classes\": {},\n  \"passes\": {},\n  \"alternatives\": {},\n  \"findings\": {},\n  \"options\": {},\n"
      "  \"text\": {}\n}}",
      report.suspicious(), report.complete, quoted(report.decision), report.points, report.classes, shape, json_value(report.low),
      json_value(report.high), json_value(report.scale), report.correct ? std::to_string(*report.correct) : "null", accuracy,
      report.predicted_classes, report.passes,
      json_list(report.alternatives, [&](const Alternative& way) { return json_alternative(way, spell); }),
      json_list(report.findings, [&](const Finding& finding) { return json_finding(finding, spell); }),
      json_options(report.options), quoted(report.options.text(spell)));
}

std::string check_text(const CheckReport& report, OptionSpelling spell) {
  std::string text = report.decision.empty() ? "" : "decides     " + report.decision + "\n";
  text += fmt::format("points      {} of shape {}\nvalues      {:.6g} to {:.6g} as stored", report.points,
                      to_string(report.point_shape), report.low, report.high);
  if (report.scale != 1)
    text += fmt::format(", {:.6g} to {:.6g} after the scale", std::min(report.low * report.scale, report.high * report.scale),
                        std::max(report.low * report.scale, report.high * report.scale));
  text += "\n";
  if (report.predicted_classes > 0)
    text += fmt::format("classes     {} of {} are predicted\n", report.predicted_classes, report.classes);
  if (report.correct) {
    text += fmt::format("accuracy    {} as given ({} of {})\n",
                        percent(static_cast<double>(*report.correct) / static_cast<double>(report.points)), *report.correct,
                        report.points);
  } else if (report.predicted_classes > 0) {
    text += "accuracy    unknown, there are no labels\n";
  }
  constexpr std::size_t kShown = 16;
  for (std::size_t k = 0; k < std::min(kShown, report.alternatives.size()); ++k) {
    const Alternative& way = report.alternatives[k];
    text += fmt::format("{}{:>6}  {:<36}  {}\n", way.better ? "better " : "       ", percent(way.accuracy()), way.name,
                        way.options.text(spell));
  }
  for (const Finding& finding : report.findings)
    text += (finding.severity == Severity::warning ? "warning: " : "note: ") + sentence(finding, spell) + "\n";
  if (!report.complete) text += "interrupted: not all alternatives were tried\n";
  if (!report.suspicious()) {
    text += report.complete ? "nothing suspicious\n" : "nothing suspicious so far\n";
  } else {
    text += what_to_do(report, spell);
  }
  std::string safe;
  for (const std::string& line : split(text, '\n')) safe += printable(line) + "\n";
  safe.pop_back();
  return safe;
}

}  // namespace probust
