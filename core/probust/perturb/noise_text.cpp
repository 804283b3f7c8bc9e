// SPDX-License-Identifier: MIT
#include "probust/perturb/noise_text.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "probust/base/error.h"
#include "probust/base/similar.h"
#include "probust/base/text.h"
#include "probust/perturb/mapped_noise.h"
#include "probust/perturb/stage.h"

namespace probust {
namespace perturb {
namespace {

// A sequence of stages for points of any shape. It can be drawn only after it is bound to a shape.
class Perturbation final : public NoiseShape {
 public:
  Perturbation(std::vector<Stage> stages, std::optional<Quantization> clip) : stages_(std::move(stages)), clip_(clip) {
    name_.scaled = stages_.size() == 1 && stages_[0].scale;
    for (const Stage& stage : stages_) {
      name_.name += (name_.name.empty() ? "" : "+") + stage.text;
      if (stage.scale && !name_.scaled) name_.name += ":" + shortest_text(*stage.scale);
    }
    if (clip_) name_.suffix = "|clip:" + shortest_text(clip_->low) + "," + shortest_text(clip_->high);
  }

  std::string name() const override { return name_.name + name_.suffix; }
  std::string text(double scale) const override { return name_.text(scale); }
  bool one_parameter() const override { return name_.scaled; }
  bool in_data_units() const override { return false; }
  bool clips_like_data() const override { return !clip_ && std::any_of(stages_.begin(), stages_.end(), perturbs); }
  bool needs_data() const override {
    return std::any_of(stages_.begin(), stages_.end(), [](const Stage& stage) { return needs_data_of(stage); });
  }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    if (!needs_data()) return nullptr;
    std::vector<Stage> stages = stages_;
    for (Stage& stage : stages) {
      if (needs_data_of(stage)) stage.noise.shape = stage.noise.shape->with_data(points);
    }
    return std::make_shared<const Perturbation>(std::move(stages), clip_);
  }

  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    const std::lock_guard lock(mutex_);
    if (bound_ == nullptr || bound_to_ != point) {
      const bool needs_image =
          std::any_of(stages_.begin(), stages_.end(), [](const Stage& stage) { return stage.family && !stage.family->series; });
      bound_ = bind(needs_image ? image_of(point, "noise '" + name_.name + "'") : rows_of(point));
      bound_to_ = point;
    }
    return bound_;
  }

  std::shared_ptr<const NoiseShape> clipped_to(const Quantization& range) const override {
    return range.levels > 1 ? nullptr : std::make_shared<const Perturbation>(stages_, range);
  }

  void add(const NoiseLanes&, std::int64_t, float, float*) const override { unbound(); }
  std::int64_t whiten(std::span<const std::uint32_t>, std::int64_t, float*) const override { unbound(); }
  void variances(std::span<const std::uint32_t>, std::int64_t, float*) const override { unbound(); }

 private:
  static bool perturbs(const Stage& stage) { return stage.family != nullptr || stage.own.latents > 0; }
  static bool needs_data_of(const Stage& stage) { return !perturbs(stage) && stage.noise.shape->needs_data(); }

  // A point as a plane whose rows are those of the last axis.
  static Image rows_of(const Shape& point) {
    const std::int64_t elements = element_count(point), row = point.empty() ? 1 : std::max<std::int64_t>(1, point.back());
    return {1, elements / row, row, point, false};
  }

  [[noreturn]] void unbound() const {
    throw Error{ErrorCode::internal, "noise '" + name_.name + "'", "was drawn before it was bound to a shape",
                "this is a bug in probust; please report it"};
  }

  // The noise of a stage that is neither a map nor additive.
  static std::shared_ptr<const NoiseShape> of_stage(const Stage& stage, const NoiseName& name, const Image& image) {
    return stage.own.latents > 0 ? called_noise(name, stage.own, image) : drawn_noise(name, stage, image);
  }

  // A single map if all stages are maps; otherwise a sequence of noises, in which neighbouring maps are combined.
  std::shared_ptr<const NoiseShape> bind(const Image& image) const {
    std::vector<Stage> stages = stages_;
    for (Stage& stage : stages) {
      if (!perturbs(stage)) stage.noise = probust::bound(stage.noise, image.point);
    }
    if (std::all_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.maps(); }))
      return mapped_noise(name_, stages, image, clip_);
    if (stages.size() == 1 && !clip_) return of_stage(stages[0], name_, image);
    // 1 if the scale of the only stage is already the scale of the whole noise, by which that of each part is multiplied
    const auto own_scale = [this](const Stage& stage) { return name_.scaled ? 1 : stage.scale.value_or(1); };
    std::vector<Noise> parts;
    for (std::size_t first = 0; first < stages.size();) {
      std::size_t end = first;
      while (end < stages.size() && stages[end].maps()) ++end;
      if (end > first) {
        const std::vector<Stage> some(stages.begin() + static_cast<std::ptrdiff_t>(first),
                                      stages.begin() + static_cast<std::ptrdiff_t>(end));
        const double scale = some.size() == 1 ? own_scale(some[0]) : 1;
        parts.push_back({mapped_noise({name_.name}, some, image, {}), scale});
        first = end;
      } else {
        const Stage& stage = stages[first++];
        parts.push_back(!perturbs(stage) ? stage.noise : Noise{of_stage(stage, {stage.text}, image), own_scale(stage)});
      }
    }
    if (clip_) parts.push_back({mapped_noise({name_.name}, {}, image, clip_), 1});
    return noise_sequence(name_, std::move(parts));
  }

  std::vector<Stage> stages_;
  std::optional<Quantization> clip_;
  NoiseName name_;
  mutable std::mutex mutex_;
  mutable Shape bound_to_;
  mutable std::shared_ptr<const NoiseShape> bound_;
};

constexpr std::string_view kCorruption = "corruption:";

[[noreturn]] void refuse_corruption(const std::string& part) {
  std::string names;
  for (const Family& family : families()) {
    if (family.name.starts_with(kCorruption))
      names += (names.empty() ? "" : ", ") + std::string(family.name.substr(kCorruption.size()));
  }
  throw Error{ErrorCode::usage, "noise '" + part + "'", "is not a known corruption",
              "write corruption:NAME:3 with one of the names " + names};
}

constexpr const char* kList = "probust noise list, or use transform:FILE.onnx for your own";

// Examples of the noise models whose names are most similar to the first unknown name in the text.
std::string known_noise_like(const std::string& text) {
  std::vector<std::string> names, examples;
  for (const AdditiveNoise& model : additive_noise_models()) {
    names.emplace_back(model.name);
    examples.emplace_back(model.example);
  }
  for (const Family& family : families()) {
    names.emplace_back(family.name);
    examples.push_back(example_of(family));
  }
  for (const std::string& part : parts_of(text)) {
    const std::string name = part.substr(0, part.find_first_of(":@"));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::vector<std::string> similar = similar_words(name, names);
    for (std::string& each : similar) each = examples[std::find(names.begin(), names.end(), each) - names.begin()];
    return similar.empty() ? "" : join(similar, " or ");
  }
  return {};
}

// Parses additive noise. The hint about an unknown name also lists perturbations.
Noise additive(const std::string& text, const NoiseSource& source) {
  try {
    return parse_additive_noise(text, source);
  } catch (Error& error) {
    if (error.problem != kUnknownNoise) throw;
    const std::string similar = known_noise_like(text);
    error.hint =
        similar.empty() ? "use one of " + known_noise() + ", or see " + kList : "did you mean " + similar + "? See " + kList;
    throw;
  }
}

Noise perturbed(const std::vector<std::string>& parts, const NoiseSource& source) {
  std::vector<Stage> stages;
  for (const std::string& part : parts) {
    if (const Family* family = family_in(part)) {
      stages.push_back(parse_stage(*family, part));
    } else if (is_own(part)) {
      stages.push_back(own_stage(part, source));
    } else {
      Stage stage;
      stage.noise = additive(part, source);
      stage.text = stage.noise.text();
      stages.push_back(std::move(stage));
    }
  }
  return sequence(std::move(stages));
}

}  // namespace

std::vector<std::string> parts_of(const std::string& text) {
  return split_outside_parentheses(text, [&](std::size_t i) {
    const std::string next = text.substr(i + 1, 1);
    return text[i] == '+' && !next.empty() && !parse_double(next) && next != ".";
  });
}

const Family* family_in(const std::string& part) {
  const Family* longest = nullptr;
  for (const Family& family : families()) {
    const std::size_t size = family.name.size();
    const bool begins = part.starts_with(family.name) && (part.size() == size || part[size] == ':');
    if (begins && (longest == nullptr || size > longest->name.size())) longest = &family;
  }
  if (longest == nullptr && (part + ":").starts_with(kCorruption)) refuse_corruption(part);
  return longest;
}

bool is_own(const std::string& part) { return (part + ":").starts_with("transform:"); }

Noise sequence(std::vector<Stage> stages, std::optional<Quantization> clip) {
  const double scale = stages.size() == 1 ? stages[0].scale.value_or(1) : 1;
  return {std::make_shared<const Perturbation>(std::move(stages), clip), scale};
}

}  // namespace perturb

Noise parse_noise(const std::string& text, const NoiseSource& source) {
  // Most noises need none of the code below, which browsers download only when it is needed (wasm/split).
  if (text.find('+') == std::string::npos && begins_with_additive_noise(text)) return parse_additive_noise(text, source);
  const std::vector<std::string> parts = perturb::parts_of(text);
  const auto applied = [&](const std::string& part) {
    return perturb::family_in(part) != nullptr || perturb::is_own(part) || (parts.size() > 1 && is_step(part));
  };
  if (std::any_of(parts.begin(), parts.end(), applied)) return perturb::perturbed(parts, source);
  return perturb::additive(text, source);
}

Noise parse_noise_of_row(const std::string& text, const NoiseSource& source) {
  const std::string unclipped = without_clipping(text);
  if (unclipped.size() == text.size()) return parse_noise(text, source);
  constexpr std::string_view kClip = "clip:", kLevels = "levels:";
  const std::vector<std::string> range = split(text.substr(unclipped.size() + 1), '|');
  const auto levels = range.size() < 2 ? 0 : parse_integer(range[1].substr(std::min(range[1].size(), kLevels.size())));
  const std::string where = "noise '" + text + "'";
  if (!levels || range.size() > 2)
    throw Error{ErrorCode::usage, where, "has a range that cannot be read", "write rotate:10|clip:0,1"};
  Noise noise = parse_noise(unclipped, source);
  noise.shape = clipped(noise.shape, parse_ranges(range[0].substr(kClip.size()), *levels, where));
  return noise;
}

void DataRange::include(std::span<const float> values) {
  for (const float value : values) {
    lowest = value < lowest ? value : lowest;
    highest = value > highest ? value : highest;
  }
}

DataRange range_of(std::span<const float> values) {
  DataRange range;
  range.include(values);
  return range;
}

void clip_like_data(std::span<Noise> noises, const std::function<DataRange()>& range) {
  std::optional<DataRange> of_data;
  std::shared_ptr<const NoiseShape> before, clipped_before;  // consecutive noises with one shape share its clipped form
  for (Noise& noise : noises) {
    if (!noise.shape->clips_like_data()) continue;
    if (!of_data) of_data = range();
    if (of_data->lowest < 0 || of_data->highest > 1) return;
    if (noise.shape != before) clipped_before = clipped(noise.shape, {0, 1, 0});
    before = std::exchange(noise.shape, clipped_before);
  }
}

Noise bound_to(Noise noise, const Tensor& x, const Shape& point) {
  return bound(std::move(noise), x.shape.size() > 2 ? Shape(x.shape.begin() + 1, x.shape.end()) : point);
}

std::string known_noise() {
  std::string text = known_additive_noise();
  for (const perturb::Family& family : perturb::families()) {
    // Corruptions are left out, because there are many.
    if (!family.name.starts_with(perturb::kCorruption)) text += ", " + perturb::example_of(family);
  }
  return text + ", corruption:fog:3";
}

}  // namespace probust
