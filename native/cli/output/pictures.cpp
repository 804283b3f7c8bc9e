// SPDX-License-Identifier: MIT
#include "cli/output/pictures.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/sample_painter.h"
#include "cli/run/load.h"
#include "datasets/noise_files.h"
#include "probust/base/text.h"
#include "probust/perturb/noise_family.h"
#include "probust/perturb/noise_text.h"
#include "report/page.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kOnSheet = 3;         // number of samples to show for a noise that is the only one of its family
constexpr std::int64_t kSheetSamples = 100;  // number of samples to draw, from which those to show are chosen

// The reason why there are no pictures, as a sentence.
std::string reason_of(const std::string& what, const Error& error) {
  return "There are no " + what + ": " + error.message(as_flag) + ".";
}

class RunPainter {
 public:
  RunPainter(const PastRun& run, const WantedPictures& wanted, PointSource& data)
      : run_(run),
        wanted_(wanted),
        data_(data),
        seed_(static_cast<std::uint64_t>(parse_integer(store::value_of(run.configuration, "seed")).value_or(0))) {}

  // Throws Error.
  report::Pictures draw() {
    report::Pictures pictures;
    const report::Brightness brightness = common_brightness();
    SamplePainter painter(data_, "the run", kSheetSamples, seed_, brightness);
    for (const Row* row : wanted_.rows) pictures.of_point.try_emplace(row->index, painter.original(row->index));
    try {
      if (!wanted_.sheet_noises.empty()) pictures.sheet = sheet(painter);
      const bool classifies = store::value_of(run_.configuration, "tolerance").empty();
      if (wanted_.samples > 0 && classifies) add_wrong_versions({data_, "the run", wanted_.samples, seed_, brightness}, pictures);
    } catch (const Error& error) {
      pictures.wrong_missing = reason_of("wrong versions", error);
    }
    return pictures;
  }

 private:
  report::Brightness common_brightness() {
    Tensor all;
    for (const Row* row : wanted_.rows) {
      const Tensor x = data_.read(row->index, 1).x;
      all.data.insert(all.data.end(), x.data.begin(), x.data.end());
    }
    return report::brightness_of(all);
  }

  Noise noise(const std::string& of_rows) {
    const auto known = noises_.find(of_rows);
    if (known != noises_.end()) return known->second;
    const auto full = wanted_.noises.find(of_rows);
    const std::string& text = full == wanted_.noises.end() ? of_rows : full->second;
    Noise parsed = parse_noise_of_row(text, datasets::noise_files());
    use_data(std::span(&parsed, 1), [&] { return points_for_noise(data_); });
    parsed.shape->fit(element_count(data_.point_shape()), data_.count());
    return noises_.emplace(of_rows, std::move(parsed)).first->second;
  }

  report::SampleSheet sheet(SamplePainter& painter) {
    std::map<std::string, std::int64_t> strengths;
    for (const std::string& text : wanted_.sheet_noises) ++strengths[family_of_noise(text).name];
    report::SampleSheet drawn{wanted_.sheet_point, painter.original(wanted_.sheet_point), {}};
    for (const std::string& text : wanted_.sheet_noises)
      drawn.of_noise[text] =
          painter.typical(wanted_.sheet_point, noise(text), strengths[family_of_noise(text).name] == 1 ? kOnSheet : 1);
    return drawn;
  }

  void add_wrong_versions(SamplePainter painter, report::Pictures& pictures) {
    std::map<std::string, std::vector<const Row*>> rows;  // by model
    for (const Row* row : wanted_.rows) rows[row->model].push_back(row);
    for (const auto& [model, own] : rows) {
      Problem problem = reopen_problem(run_, model);
      const Event event = parse_event(problem.arguments, wanted_.class_names, problem.model.classes());
      for (const Row* row : own)
        pictures.wrong.try_emplace(report::noisy_point_of(*row),
                                   painter.wrong_version(*row, noise(row->noise), problem.model, event));
    }
  }

  const PastRun& run_;
  const WantedPictures& wanted_;
  PointSource& data_;
  std::uint64_t seed_;
  std::map<std::string, Noise> noises_;
};

// Perturbations apply only to images, so if a run has perturbations, its data are images, whatever their layout.
bool are_images(const Shape& point, const WantedPictures& wanted) {
  return report::is_image(point) ||
         std::any_of(wanted.rows.begin(), wanted.rows.end(), [](const Row* row) { return family_of_noise(row->noise).perturbs; });
}

}  // namespace

report::Pictures pictures_of(const PastRun& run, const WantedPictures& wanted) {
  report::Pictures none;
  try {
    const std::unique_ptr<PointSource> data = open_points(run);
    if (are_images(data->point_shape(), wanted)) return RunPainter(run, wanted, *data).draw();
    none.missing = "There are no images: points of shape " + to_string(data->point_shape()) + " are not images.";
  } catch (const Error& error) {
    none.missing = reason_of("images", error);
  }
  return none;
}

}  // namespace probust::cli
