// SPDX-License-Identifier: MIT
// probust noise: lists noise models and perturbations, and draws pictures of noisy samples.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command_line.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/noisy_pictures.h"
#include "cli/output/text_file.h"
#include "cli/output/text_table.h"
#include "cli/run/load.h"
#include "datasets/json.h"
#include "datasets/noise_files.h"
#include "datasets/unwritable.h"
#include "probust/analysis/describe.h"
#include "probust/base/text.h"
#include "probust/perturb/noise_list.h"
#include "probust/perturb/noise_text.h"
#include "report/html.h"
#include "report/picture_grid.h"
#include "report/words.h"

namespace probust::cli {
namespace {

struct NoiseArguments : Arguments {
  std::string what;
  std::int64_t draws = 0;  ///< noisy samples per image; 0: as many as fit on a page
};

// ---- list

constexpr const char* kNumberAfterName =
    "rotate:uniform(-30,30) and rotate:fixed(10) give the parameter itself; A+B applies A, then B.\n";

std::string strengths_text(const NoiseEntry& entry) {
  if (entry.family == nullptr || entry.family->strengths[1] == 0) return "";
  std::vector<std::string> texts;
  for (const double strength : entry.family->strengths) texts.push_back(shortest_text(strength));
  return join(texts);
}

Document json_of(const NoiseEntry& entry) {
  return Document::Object{
      {"name", entry.name},
      {"kind", entry.family != nullptr ? "perturbation"
               : entry.step            ? "step"
                                       : "additive"},
      {"summary", entry.summary},
      {"parameter", entry.parameter},
      {"identity", parse_double(entry.identity)},
      {"number", entry.number},
      {"deviation", Document::text_or_null(entry.deviation)},
      {"example", entry.example},
      {"strengths", strengths_text(entry).empty()
                        ? Document()
                        : Document(std::vector<double>(entry.family->strengths.begin(), entry.family->strengths.end()))}};
}

// The tables in docs/noise.md: noise on values, then perturbations.
std::string markdown_list() {
  std::string values =
      "| noise | what it does | a number S or P after the name | standard deviation of a value x |\n"
      "|---|---|---|---|\n";
  std::string perturbations =
      "| perturbation | what it does | parameter | changes nothing | a number after the name | weak, medium, strong |\n"
      "|---|---|---|---|---|---|\n";
  for (const NoiseEntry& entry : noise_list()) {
    if (entry.family == nullptr)
      values += fmt::format("| `{}` | {} | {} | {} |\n", entry.example, entry.summary, entry.number, entry.deviation);
    else
      perturbations += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", entry.example, entry.summary, entry.parameter,
                                   entry.identity, entry.number, strengths_text(entry));
  }
  return values + "\n" + perturbations;
}

std::string text_list() {
  std::string text;
  for (const bool perturbations : {false, true}) {
    TextTable table({"<name", "<what it does", "<parameter", "changes nothing", "<a number after the name", "<example"});
    for (const NoiseEntry& entry : noise_list()) {
      if ((entry.family != nullptr) != perturbations) continue;
      table.add({entry.name, entry.summary, entry.parameter, entry.identity.empty() ? "-" : entry.identity, entry.number,
                 entry.example});
    }
    text += (perturbations ? "\nPerturbations of images\n" : "Noise on the values of a point\n") + table.text();
  }
  return text + "\n" + kNumberAfterName;
}

int list(const NoiseArguments& arguments) {
  if (arguments.json) {
    fmt::print("{}\n", datasets::json_text(Document::list(noise_list(), json_of), 2));
  } else {
    fmt::print("{}", arguments.format == "markdown" ? markdown_list() : text_list());
  }
  return 0;
}

// ---- show

constexpr std::int64_t kRows = 6, kCells = 8;  // the default numbers of images, one per row, and of cells in a row

void check_sheet(const std::string& path) {
  if (path.empty()) throw Error{ErrorCode::usage, "--output", "is missing", "name the file to write with -o SHEET.png"};
  const bool known = path.ends_with(".png") || path.ends_with(".svg") || path.ends_with(".html");
  if (!known)
    throw Error{ErrorCode::usage, "--output", "is '" + path + "', which does not end in .png, .svg or .html", "try sheet.png"};
  require_writable(path);
}

report::GridRow row_of_point(const Image& image, const PointBlock& block, const std::vector<std::string>& names,
                             const std::vector<Noise>& noises, std::int64_t draws, std::uint64_t seed) {
  const report::Brightness brightness = report::brightness_of(block.x);
  report::GridRow row{std::to_string(block.index[0]), {}};
  if (!block.labels.empty() && block.labels[0] >= 0)
    row.name += block.labels[0] < std::ssize(names) ? " " + class_text(block.labels[0], names)
                                                    : fmt::format(" class {}", block.labels[0]);
  row.cells.push_back({picture_of(image, block.x.row(0), brightness), ""});
  for (const Noise& noise : noises) {
    const Tensor samples = noisy_samples(noise, block.x, block.index[0], draws, seed).x;
    for (std::int64_t k = 0; k < draws; ++k) row.cells.push_back({picture_of(image, samples.row(k), brightness), ""});
  }
  return row;
}

report::PictureGrid sheet_of(PointSource& data, const Image& image, const std::vector<Noise>& parsed,
                             const NoiseArguments& arguments) {
  std::vector<Noise> noises = parsed;
  clip_like_data(noises, [&] { return range_of_points(data, data.count()); });
  const std::int64_t each = std::max<std::int64_t>(2, kCells / std::ssize(noises));
  const std::int64_t draws = arguments.draws > 0 ? arguments.draws : each;
  report::PictureGrid grid{.columns = {"original"}, .side = 96};
  for (const Noise& noise : parsed) {
    grid.columns.push_back(noise.text());
    grid.columns.resize(grid.columns.size() + static_cast<std::size_t>(draws) - 1);
  }
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const PointBlock block = data.read(i, 1);
    if (!block.index.empty())  // empty if the point cannot be read
      grid.rows.push_back(row_of_point(image, block, data.class_names(), noises, draws, arguments.question.seed));
  }
  report_bad(skipped_points(data.bad()));
  return grid;
}

void write_sheet(const std::string& path, const report::PictureGrid& grid) {
  if (path.ends_with(".png")) {
    const std::vector<std::uint8_t> bytes = report::png(report::raster(grid));
    write_text_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } else if (path.ends_with(".svg")) {
    write_text_file(path, report::svg(grid, report::Surroundings::file));
  } else {
    const std::string title = "Noisy samples";
    write_text_file(path, report::document(title, "<main>\n<h1>" + title + "</h1>\n<div class=\"scroll\">\n" +
                                                      report::svg(grid, report::Surroundings::page) + "</div>\n</main>\n"));
  }
}

int show(NoiseArguments arguments) {
  if (arguments.data.path.empty())
    throw Error{ErrorCode::usage, "DATA", "is missing",
                "name the images to show, as in probust noise show DATA --noise exposure:1"};
  check_sheet(arguments.output);
  if (arguments.question.noise.empty() && arguments.question.sigma.empty())
    throw Error{ErrorCode::usage, "--noise", "is missing", "name what to show, as in --noise exposure:1; see probust noise list"};
  const std::vector<Noise> noises = noises_of_data(arguments, datasets::noise_files());
  if (arguments.data.limit < 0) arguments.data.limit = kRows;
  const std::unique_ptr<PointSource> data = open_data(arguments);
  const Image image = image_of(data->point_shape(), arguments.data.path);
  if (data->count() == 0)
    throw Error{ErrorCode::usage, arguments.data.path, "has no points to show",
                "give at least one image, with --limit 1 or more"};
  for (const Noise& noise : noises) noise.shape->fit(image.elements(), arguments.data.offset + data->count());
  report_notes(data->notes(), arguments.quiet);
  const report::PictureGrid grid = sheet_of(*data, image, noises, arguments);
  if (grid.rows.empty()) throw data->bad().front().error;
  write_sheet(arguments.output, grid);
  if (!arguments.quiet) say("{}: {} images, {} columns\n", arguments.output, grid.rows.size(), grid.columns.size());
  return 0;
}

int run_noise(const NoiseArguments& arguments) {
  if (arguments.what == "show") return show(arguments);
  if (arguments.what != "list") throw Error{ErrorCode::usage, "noise", "cannot do '" + arguments.what + "'", "use list or show"};
  const std::pair<const char*, bool> of_show[] = {{"DATA", !arguments.data.path.empty()},
                                                  {"--noise", !arguments.question.noise.empty()},
                                                  {"--sigma", !arguments.question.sigma.empty()},
                                                  {"--draws", arguments.draws > 0},
                                                  {"--output", !arguments.output.empty()}};
  for (const auto& [option, given] : of_show) {
    if (given) throw Error{ErrorCode::usage, option, "applies to noise show only", "leave it out"};
  }
  return list(arguments);
}

}  // namespace

void describe_noise(CommandLine& line) {
  auto [command, own] =
      line.add<NoiseArguments>("noise", "list noise models and perturbations, or show them in pictures", run_noise);
  command.add_option("WHAT", own.what, "list or show").required();
  command.add_option("DATA", own.data.path, "with show: images, " + known_formats() + ", or a folder of PNG or JPEG images");
  add_data_options(command, own);
  command
      .add_option("--noise", own.question.noise, "with show: a noise model or perturbation, repeatable; see probust noise list")
      .one_argument_each();
  command.add_option("--sigma", own.question.sigma, "with show: scales of Gaussian noise").one_argument_each();
  command.add_option("--clip", own.question.clip, "clip noisy samples to this range, e.g. 0,1")
      .separated_by_commas()
      .count(2, 1000);
  command.add_option("--levels", own.question.levels, "round noisy samples to this many values of the --clip range, e.g. 256");
  command.add_option("--draws", own.draws, "with show: noisy samples of each image and noise (default: 8 columns, or 2 each)")
      .at_least(1);
  command.add_option("-o,--output", own.output, "with show: the .png, .svg or .html file to write");
  command.add_option("--seed", own.question.seed, "random seed for the noise").show_default();
  command.add_option("--format", own.format, "with list: table or markdown").one_of({"table", "markdown"});
  command.add_flag("--json", own.json, "with list: print one JSON list");
  command.add_flag("--quiet", own.quiet, "do not print the summary of the written file on stderr");
  command.set_footer(
      "A sheet has a row for each image (--limit; default: 6), with the original on the left. The samples are the first that mc "
      "draws "
      "with\nthe same seed. Samples of perturbations are clipped to 0..1 if the data are within it.");
}

}  // namespace probust::cli
