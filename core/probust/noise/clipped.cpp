// SPDX-License-Identifier: MIT
// Noisy samples clipped to a range, as for images, and optionally rounded to the values of a byte.
#include <algorithm>
#include <cmath>
#include <set>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/clip_math.h"
#include "probust/noise/columns.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class Clipped final : public NoiseShape {
 public:
  Clipped(std::shared_ptr<const NoiseShape> shape, std::vector<ColumnRange> ranges)
      : shape_(std::move(shape)), ranges_(std::move(ranges)) {}

  std::string name() const override { return shape_->name() + suffix(); }
  std::string text(double scale) const override { return shape_->text(scale) + suffix(); }
  bool one_parameter() const override { return shape_->one_parameter(); }
  bool in_data_units() const override { return shape_->in_data_units(); }
  void fit(std::int64_t elements, std::int64_t points) const override {
    shape_->fit(elements, points);
    std::set<std::int64_t> seen;
    for (const ColumnRange& each : ranges_) {
      for (const std::int64_t column : each.columns.of(elements)) {
        if (column < elements && seen.insert(column).second) continue;
        const bool twice = column < elements;
        throw Error{ErrorCode::usage, option("clip"),
                    "has column " + std::to_string(column) + (twice ? " twice" : ", which does not exist"),
                    twice ? "give each column one range" : "the points have columns 0.." + std::to_string(elements - 1)};
      }
    }
  }
  bool fixed() const override { return shape_->fixed(); }
  bool needs_data() const override { return shape_->needs_data(); }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    auto own = shape_->with_data(points);
    return own == nullptr ? nullptr : std::make_shared<const Clipped>(std::move(own), ranges_);
  }
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    auto own = shape_->bound(point);
    return own == nullptr ? nullptr : std::make_shared<const Clipped>(std::move(own), ranges_);
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    shape_->add(lanes, elements, scale, x);
    clip(elements, static_cast<std::int64_t>(lanes.points.size()), x);
  }

  std::optional<ElementNoise> by_element() const override {
    std::optional<ElementNoise> noise = shape_->by_element();
    if (!noise || noise->range || !everywhere()) return std::nullopt;
    noise->range = ranges_[0].range;
    return noise;
  }

  std::optional<std::vector<ElementLaw>> laws(std::uint32_t point, std::int64_t elements) const override {
    auto laws = shape_->laws(point, elements);
    if (!laws) return std::nullopt;
    for (const ColumnRange& each : ranges_) {
      for (const std::int64_t column : each.columns.of(elements)) {
        if ((*laws)[column].range) return std::nullopt;
        (*laws)[column].range = each.range;
      }
    }
    return laws;
  }

  bool mirrored() const override { return shape_->mirrored(); }
  bool additive() const override { return false; }
  bool differs() const override { return shape_->differs(); }
  std::optional<std::int64_t> normals(std::int64_t elements) const override { return shape_->normals(elements); }
  std::vector<std::int64_t> parameters(std::int64_t elements) const override { return shape_->parameters(elements); }
  bool continuous() const override { return shape_->continuous() && !rounds(); }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    shape_->add_normals(points, elements, scale, w, x);
    clip(elements, static_cast<std::int64_t>(points.size()), x);
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    return shape_->whiten(points, elements, gradients);
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    shape_->variances(points, elements, variance);
  }

  GaussianView gaussian() const override {
    GaussianView view = shape_->gaussian();
    if (view.kind == GaussianView::Kind::absent) return view;
    const std::string own = rounds() ? "clipping and rounding ignored" : "clipping ignored";
    return {GaussianView::Kind::approximate, view.reason.empty() ? own : view.reason + ", " + own};
  }

 private:
  bool everywhere() const { return ranges_.size() == 1 && ranges_[0].columns.all_but && ranges_[0].columns.listed.empty(); }
  bool rounds() const { return ranges_[0].range.levels > 1; }  // all ranges have the same levels

  void clip(std::int64_t elements, std::int64_t lanes, float* x) const {
    for (const ColumnRange& each : ranges_) {
      const ClipMath clip(each.range);
      const auto clip_values = [&](float* values, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) values[i] = clip(values[i]);
      };
      if (everywhere()) return clip_values(x, elements * lanes);
      for (const std::int64_t column : each.columns.of(elements)) clip_values(x + column * lanes, lanes);
    }
  }

  std::string suffix() const {
    std::string text;
    for (const auto& [range, columns] : ranges_) {
      const std::string listed = columns.text();
      text += (text.empty() ? "|clip:" : "+") + shortest_text(range.low) + "," + shortest_text(range.high) +
              (listed.empty() ? "" : "@" + listed);
    }
    return text + (rounds() ? "|levels:" + std::to_string(ranges_[0].range.levels) : "");
  }

  std::shared_ptr<const NoiseShape> shape_;
  std::vector<ColumnRange> ranges_;
};

void check(const Quantization& range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low >= range.high) {
    throw Error{ErrorCode::usage, option("clip"), "cannot be " + shortest_text(range.low) + "," + shortest_text(range.high),
                "give the smaller value first, as in 0,1"};
  }
  if (range.levels < 0 || range.levels == 1 || range.levels > (1 << 24)) {
    throw Error{ErrorCode::usage, option("levels"), "cannot be " + std::to_string(range.levels), "try 256"};
  }
}

}  // namespace

std::string without_clipping(const std::string& noise) { return noise.substr(0, noise.rfind("|clip:")); }

std::shared_ptr<const NoiseShape> clipped(std::shared_ptr<const NoiseShape> shape, Quantization range) {
  check(range);
  if (auto own = shape->clipped_to(range)) return own;
  return std::make_shared<const Clipped>(std::move(shape), std::vector<ColumnRange>{{range, {{}, true}}});
}

std::shared_ptr<const NoiseShape> clipped(std::shared_ptr<const NoiseShape> shape, std::vector<ColumnRange> ranges) {
  for (const ColumnRange& each : ranges) check(each.range);
  const Columns& first = ranges.at(0).columns;
  if (ranges.size() == 1 && first.all_but && first.listed.empty()) return clipped(std::move(shape), ranges[0].range);
  return std::make_shared<const Clipped>(std::move(shape), std::move(ranges));
}

std::vector<ColumnRange> parse_ranges(const std::string& text, std::int64_t levels, const std::string& where) {
  std::vector<ColumnRange> ranges;
  for (std::size_t first = 0, end = 0; first <= text.size(); first = end + 1) {
    end = text.find('+', first);
    while (end != std::string::npos && end > 0 && (text[end - 1] == 'e' || text[end - 1] == 'E')) end = text.find('+', end + 1);
    end = std::min(end, text.size());
    const std::string part = text.substr(first, end - first);
    const std::size_t at = part.find('@');
    const std::vector<std::string> bounds = split(part.substr(0, at), ',');
    const auto low = parse_double(bounds.front()), high = parse_double(bounds.back());
    if (bounds.size() != 2 || !low || !high)
      throw Error{ErrorCode::usage, where, "has '" + part + "', which is not a range", "try 0,1 or 0,1@0..3+0,9@4"};
    Columns columns{{}, true};
    if (at != std::string::npos) columns = parse_columns(part.substr(at + 1), where);
    ranges.push_back({{*low, *high, levels}, std::move(columns)});
  }
  return ranges;
}

}  // namespace probust
