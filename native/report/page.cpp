// SPDX-License-Identifier: MIT
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "probust/base/text.h"
#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

// A title such as "Robustness of lenet.onnx on t10k-images.gz", if the model and the data are known.
std::string title_of(const Run& run) {
  const std::string model = file_name(entry_of(run.information, "model_path"));
  const std::string data = file_name(entry_of(run.information, "data_path"));
  if (model.empty()) return "Robustness: " + run.file;
  return "Robustness of " + model + (data.empty() ? "" : " on " + data);
}

// The event whose probability is p, from the options of the run.
std::string surviving(const Run& run) {
  const auto entry = [&](const char* name) { return entry_of(run.configuration, name); };
  if (!entry("tolerance").empty()) return "that no output of the model changes by " + entry("tolerance") + " or more";
  const std::string target = entry("target");
  std::string what = "that the classifier's prediction for a point stays the same";
  if (target == "label") what = "that the classifier predicts the true label of a point";
  if (!target.empty() && target != "predicted" && target != "label") what = "that the classifier predicts class " + target;
  if (!entry("groups").empty()) what += " (classes that count as one: " + entry("groups") + ")";
  if (const std::string top = entry("top"); !top.empty() && top != "1") what += " (among the " + top + " largest logits)";
  return what;
}

// The introduction of the page. `html` follows the title.
std::string header(const Run& run, const std::string& title, const std::string& html) {
  const bool perturbed = !noises_on_sheet(run).empty();
  return fmt::format("<header>\n<h1>{}</h1>\n", html_text(title)) + html +
         paragraph(
             "p is the probability " + surviving(run) +
             (perturbed ? " when the point is perturbed at random" : " when random noise is added to the point") +
             ": at 1 this is certain, at 0 impossible. Sigma is the scale of the noise" +
             (perturbed
                  ? ": for a perturbation, such as rotate:10, the number after its name."
                  : ", in the units of the data: for pixels from 0 to 1, sigma = 0.1 changes a pixel by about a tenth of the "
                    "range.")) +
         "</header>\n";
}

// The position at which a value that may be a path begins: after "cov=" and "transform:".
std::size_t beginning_of_value(const std::string& noise, std::size_t from) {
  constexpr std::string_view kOwn = "transform:";
  const std::size_t own = noise.find(kOwn, from);
  return std::min(noise.find('=', from), own == std::string::npos ? own : own + kOwn.size() - 1);
}

// The noise without the folders of its files: "gaussian:cov=/data/cov.npy" becomes "gaussian:cov=cov.npy".
std::string without_folders(const std::string& noise) {
  std::string text;
  for (std::size_t at = 0; at < noise.size();) {
    const std::size_t value = beginning_of_value(noise, at);
    if (value == std::string::npos) return text + noise.substr(at);
    const std::size_t end = std::min(noise.find_first_of(",:@|", value + 1), noise.size());
    const std::size_t folder = noise.rfind('/', end - 1);
    text += noise.substr(at, value + 1 - at);
    const bool path = folder != std::string::npos && folder > value;
    text += noise.substr(path ? folder + 1 : value + 1, end - (path ? folder + 1 : value + 1));
    at = end;
  }
  return text;
}

struct Part {
  const char *id, *title;
  std::string html;
};

}  // namespace

std::string entry_of(const Entries& entries, const std::string& name) {
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.first == name; });
  return entry == entries.end() ? "" : entry->second;
}

std::string warnings_box(const Run& run, const Run* other) {
  std::string html;
  for (const Run* each : {&run, other}) {
    const std::string text = each == nullptr ? "" : entry_of(each->information, "warnings");
    if (text.empty()) continue;
    for (const std::string& warning : split(text, '\n'))
      html += paragraph("Warning" + (other == nullptr ? "" : " about " + each->file) + ": " + warning);
  }
  if (html.empty()) return "";
  return "<div class=\"warnings\" role=\"alert\">\n" + html + "</div>\n";
}

Material::Material(const Run& about)
    : run(about),
      summary(summarize(about.results)),
      groups(grouped(about.results.rows)),
      focuses(focuses_of(groups)),
      sweeps(sweeps_of(about.results.rows)) {}

std::vector<Column> Material::key_columns() const {
  std::vector<Column> columns{{"noise", false}, {"estimator", false}};
  if (several_models()) columns.insert(columns.begin(), {"model", false});
  return columns;
}

std::vector<std::string> Material::key_cells(const GroupKey& key) const {
  std::vector<std::string> cells{key.noise, key.estimator};
  if (several_models()) cells.insert(cells.begin(), key.model);
  return cells;
}

const RowSweep* Material::sweep_of(const Focus& focus) const {
  const GroupKey& key = focus.at_widest().key;
  const std::string shape = noise_shape(key.noise, key.sigma);
  for (const RowSweep& sweep : sweeps) {
    if (sweep.model == focus.model && sweep.estimator == focus.estimator && sweep.shape == shape && sweep.scales.size() > 1)
      return &sweep;
  }
  return nullptr;
}

std::string Material::of_model(const std::string& model) const { return several_models() ? "of " + model + " " : ""; }

std::vector<const Row*> pictured_rows(const Run& run) {
  const std::vector<RowGroup> groups = grouped(run.results.rows);
  return ranked_rows(rankings_of(focuses_of(groups)));
}

std::map<std::string, std::string> shorten_noises(Results& results) {
  std::map<std::string, std::string> names, full, unchanged;
  bool unique = true;
  for (const Row& row : results.rows) {
    const auto [entry, added] = names.try_emplace(row.noise, without_folders(row.noise));
    if (!added) continue;
    unique = full.try_emplace(entry->second, row.noise).second && unique;
    unchanged[row.noise] = row.noise;
  }
  if (!unique) return unchanged;
  for (Row& row : results.rows) row.noise = names.at(row.noise);
  return full;
}

std::string page(const Run& run, const Pictures& pictures, const Run* other) {
  const Material material(run);
  const Part parts[] = {{"pictures", "Pictures", pictures_section(material, pictures)},
                        {"comparison", "Comparison", other == nullptr ? "" : comparison_section(run, *other)},
                        {"summary", "Summary", summary_section(material)},
                        {"perturbations", "Perturbations", perturbation_section(material, pictures)},
                        {"sigma", "p against sigma", sigma_section(material)},
                        {"classes", "Classes", bias_section(material)},
                        {"points", "Least and most robust points", points_section(material, pictures)},
                        {"agreement", "Agreement of estimators", agreement_section(material)},
                        {"certificates", "Certified radii", certificate_section(material)},
                        {"statuses", "Estimates that need attention", status_section(material)},
                        {"origin", "How this was made", origin_section(material)}};
  std::string links, sections;
  for (const Part& part : parts) {
    const std::string_view id = part.id;
    if (part.html.empty() && (id == "pictures" || id == "comparison" || id == "perturbations")) continue;
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, part.title);
    sections += section(part.id, part.title, part.html);
  }
  const std::string title = title_of(run);
  return document(title, "<main>\n" + warnings_box(run, other) +
                             header(run, title, other == nullptr ? "" : verdict(run, *other)) +
                             "<nav aria-label=\"Sections\">\n<ul>\n" + links + "</ul>\n</nav>\n" + sections + "</main>\n");
}

}  // namespace probust::report
