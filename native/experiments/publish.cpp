// SPDX-License-Identifier: MIT
#include "experiments/publish.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "cli/output/text_file.h"
#include "report/html.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_of(const Sheet& sheet) {
  std::string text;
  const auto add = [&text](const std::vector<std::string>& cells) {
    for (std::size_t k = 0; k < cells.size(); ++k) text += (k == 0 ? "" : ",") + csv_cell(cells[k]);
    text += "\n";
  };
  std::vector<std::string> titles;
  for (const report::Column& column : sheet.columns) titles.push_back(column.title);
  add(titles);
  for (const std::vector<std::string>& row : sheet.rows) add(row);
  return text;
}

std::string svg_of(const Figure& figure, report::Surroundings surroundings) {
  return std::visit([&](const auto& content) { return report::svg(content, surroundings); }, figure.content);
}

std::string words_of(const Experiment& experiment, const Findings& findings) {
  std::string text = fmt::format("{}\n{}\n\n", experiment.title, experiment.paper);
  for (const std::string& paragraph : findings.method) text += paragraph + "\n\n";
  for (const Claim& claim : findings.claims)
    text += fmt::format("The paper ({}): {}\nFound: {}\n{}.\n\n", claim.where, claim.paper, claim.found, text_of(claim.verdict));
  return text;
}

std::string html_of(const Claim& claim) {
  return fmt::format("<li><p><b>{}.</b> The paper ({}): {}</p>\n<p>Found: {}</p></li>\n",
                     report::html_text(text_of(claim.verdict)), report::html_text(claim.where), report::html_text(claim.paper),
                     report::html_text(claim.found));
}

std::string html_of(const Figure& figure) {
  if (const auto* chart = std::get_if<report::Chart>(&figure.content)) return report::figure(*chart, figure.caption);
  return fmt::format(
      "<figure>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n{1}</div>\n"
      "<figcaption>{0}</figcaption>\n</figure>\n",
      report::html_text(figure.caption), svg_of(figure, report::Surroundings::page));
}

std::string section_of(const Done& done) {
  std::string html;
  html += fmt::format("<p class=\"quiet\">{}</p>\n", report::html_text(done.experiment->paper));
  for (const std::string& paragraph : done.findings.method) html += report::paragraph(paragraph);
  html += "<ul>\n";
  for (const Claim& claim : done.findings.claims) html += html_of(claim);
  html += "</ul>\n";
  for (const Figure& figure : done.findings.figures) html += html_of(figure);
  for (const Sheet& sheet : done.findings.sheets) {
    if (sheet.in_report) html += report::table({sheet.caption, sheet.columns, sheet.rows});
  }
  return report::section(done.experiment->name, done.experiment->title, html);
}

// The verdict on each claim, by experiment, below a link to the experiment's section.
std::string overview(const std::vector<Done>& all) {
  std::string html;
  for (const Done& done : all) {
    html +=
        fmt::format("<h3><a href=\"#{}\">{}</a></h3>\n<ul>\n", done.experiment->name, report::html_text(done.experiment->title));
    for (const Claim& claim : done.findings.claims)
      html += fmt::format("<li><b>{}:</b> {}</li>\n", report::html_text(text_of(claim.verdict)), report::html_text(claim.paper));
    html += "</ul>\n";
  }
  return html;
}

std::string counted_verdicts(const std::vector<Done>& all) {
  std::array<std::int64_t, 3> count{};
  for (const Done& done : all) {
    for (const Claim& claim : done.findings.claims) ++count[static_cast<std::size_t>(claim.verdict)];
  }
  return fmt::format("Of {} claims, {} are confirmed, {} are not, and {} are left to the reader.", count[0] + count[1] + count[2],
                     count[0], count[1], count[2]);
}

}  // namespace

void write_files(const Study& study, const Done& done) {
  const std::string folder = study.path(std::string(done.experiment->name));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto path = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  for (const Figure& figure : done.findings.figures)
    write_text_file(path(figure.name + ".svg"), svg_of(figure, report::Surroundings::file));
  for (const Sheet& sheet : done.findings.sheets) write_text_file(path(sheet.name + ".csv"), csv_of(sheet));
  write_text_file(path("findings.txt"), words_of(*done.experiment, done.findings));
}

std::string report_page(const Study& study, const std::vector<Done>& all) {
  const Subject& subject = study.subject();
  std::string html = fmt::format("<main>\n<h1>{}</h1>\n", report::html_text("The papers’ experiments on " + subject.description));
  html += report::paragraph(fmt::format(
      "{} training points, {} test points, {} classes.{} {}", report::counted(subject.training_points),
      report::counted(subject.test_points), subject.classes,
      study.quick() ? " The run used --quick, so it has fewer epochs, points and samples." : "", counted_verdicts(all)));
  html += report::paragraph(
      "p is the probability that the classifier’s prediction for a point survives Gaussian noise with the standard deviation "
      "sigma. "
      "Verdicts are about these data and these networks.");
  html += report::section("claims", "The papers’ claims", overview(all));
  for (const Done& done : all) html += section_of(done);
  if (!study.commands().empty()) {
    std::string commands;
    for (const std::string& command : study.commands()) commands += report::html_text(command) + "\n";
    html += report::section(
        "commands", "Commands",
        report::paragraph("The rows can be computed again, one run at a time:") + "<pre>" + commands + "</pre>\n");
  }
  return report::document("Experiments on " + subject.description, html + "</main>\n");
}

}  // namespace probust::cli::reproduce
