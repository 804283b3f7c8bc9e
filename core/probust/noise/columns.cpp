// SPDX-License-Identifier: MIT
// Noise on some columns of a point, and different noise on different columns. All other columns have no noise.
#include "probust/noise/columns.h"

#include <algorithm>
#include <set>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/latent_map.h"

namespace probust {
namespace {

constexpr std::int64_t kMostColumns = 1 << 24;

// Copies the rows `columns` of values [elements][lanes] to contiguous memory, and back.
std::vector<float> gathered(const std::vector<std::int64_t>& columns, std::int64_t lanes, const float* from) {
  std::vector<float> rows(columns.size() * static_cast<std::size_t>(lanes));
  for (std::size_t k = 0; k < columns.size(); ++k)
    std::copy_n(from + columns[k] * lanes, lanes, rows.begin() + static_cast<std::int64_t>(k) * lanes);
  return rows;
}

void scatter(const std::vector<float>& rows, const std::vector<std::int64_t>& columns, std::int64_t lanes, float* to) {
  for (std::size_t k = 0; k < columns.size(); ++k)
    std::copy_n(rows.begin() + static_cast<std::int64_t>(k) * lanes, lanes, to + columns[k] * lanes);
}

std::int64_t width(const std::vector<std::int64_t>& columns) { return static_cast<std::int64_t>(columns.size()); }

// Several shapes, each on its own columns and with its own scale, times a common scale.
class OnColumns : public NoiseShape {
 public:
  OnColumns(std::vector<NoisePart> parts, std::string name, std::shared_ptr<const NoiseMap> map = nullptr)
      : parts_(std::move(parts)), name_(std::move(name)), map_(std::move(map)) {}

  std::string name() const override { return name_.empty() ? text(1) : name_; }

  std::string text(double scale) const override {
    if (!name_.empty()) return name_ + ":" + shortest_text(scale);
    std::string text;
    for (const auto& [noise, columns, parameters] : parts_) {
      const std::string where = columns.text();
      text += (text.empty() ? "" : "+") + noise.shape->text(scale * noise.scale) + (where.empty() ? "" : "@" + where);
    }
    return text;
  }

  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    return bound_.at(point, [&] { return bind(point); });
  }
  std::shared_ptr<const NoiseMap> map() const override { return map_; }

  bool needs_data() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const NoisePart& part) { return part.noise.shape->needs_data(); });
  }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    if (!needs_data()) return nullptr;
    const std::int64_t rows = points.shape[0], elements = rows == 0 ? 0 : points.size() / rows;
    std::vector<NoisePart> parts = parts_;
    for (auto& [noise, listed, parameters] : parts) {
      const auto columns = listed.of(elements);
      if (!noise.shape->needs_data() || (!columns.empty() && columns.back() >= elements)) continue;  // `fit` refuses columns
      Tensor some({rows, width(columns)});
      for (std::int64_t n = 0; n < rows; ++n) {
        for (std::size_t k = 0; k < columns.size(); ++k) some.row(n)[k] = points.row(n)[static_cast<std::size_t>(columns[k])];
      }
      noise.shape = noise.shape->with_data(some);
    }
    return std::make_shared<const OnColumns>(std::move(parts), name_);
  }

  bool fixed() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const NoisePart& part) { return part.noise.shape->fixed(); });
  }

  bool one_parameter() const override { return parts_.size() == 1 && parts_[0].noise.shape->one_parameter(); }

  void fit(std::int64_t elements, std::int64_t points) const override {
    std::set<std::int64_t> seen;
    for (const auto& [noise, columns, parameters] : parts_) {
      if (!columns.listed.empty() && columns.listed.back() >= elements) {
        throw Error{ErrorCode::usage, "noise '" + name() + "'",
                    "has column " + std::to_string(columns.listed.back()) + ", which does not exist",
                    "the points have columns 0.." + std::to_string(elements - 1)};
      }
      const auto given = columns.of(elements);
      noise.shape->fit(width(given), points);
      for (const std::int64_t own : noise.shape->columns(width(given))) {
        if (seen.insert(given[own]).second) continue;
        throw Error{ErrorCode::usage, "noise '" + name() + "'", "has column " + std::to_string(given[own]) + " in two parts",
                    "give each part its own columns, as in gaussian:0.1@0..3+uniform:0.2@4..7"};
      }
    }
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    NoiseLanes own = lanes;
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto columns = listed.of(elements);
      std::vector<float> rows = gathered(columns, count, x);
      noise.shape->add(own, width(columns), scale * static_cast<float>(noise.scale), rows.data());
      scatter(rows, columns, count, x);
      own.stream += kStreams;
    }
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    std::vector<float> all;
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto columns = listed.of(elements);
      std::vector<float> rows = gathered(columns, lanes, gradients);
      rows.resize(static_cast<std::size_t>(noise.shape->whiten(points, width(columns), rows.data()) * lanes));
      for (const float value : rows) all.push_back(value * static_cast<float>(noise.scale));
    }
    std::fill(std::copy(all.begin(), all.end(), gradients), gradients + elements * lanes, 0.0F);
    return static_cast<std::int64_t>(all.size()) / std::max<std::int64_t>(1, lanes);
  }

  bool mirrored() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const NoisePart& part) { return part.noise.shape->mirrored(); });
  }
  bool additive() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const NoisePart& part) { return part.noise.shape->additive(); });
  }
  bool differs() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const NoisePart& part) { return part.noise.shape->differs(); });
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override {
    std::int64_t sum = 0;
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto own = noise.shape->normals(width(listed.of(elements)));
      if (!own) return std::nullopt;
      sum += *own;
    }
    return sum;
  }

  std::vector<std::int64_t> parameters(std::int64_t elements) const override {
    std::vector<std::int64_t> all;
    std::int64_t next = 0;
    for (const NoisePart& part : parts_) {
      const std::int64_t own = part.noise.shape->normals(width(part.columns.of(elements))).value_or(0);
      for (std::int64_t k = 0; k < own && part.parameters; ++k) all.push_back(next + k);
      next += own;
    }
    return all;
  }

  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto columns = listed.of(elements);
      std::vector<float> rows = gathered(columns, lanes, x);
      noise.shape->add_normals(points, width(columns), scale * static_cast<float>(noise.scale), w, rows.data());
      scatter(rows, columns, lanes, x);
      w += *noise.shape->normals(width(columns)) * lanes;
    }
  }

  std::optional<std::vector<ElementLaw>> laws(std::uint32_t point, std::int64_t elements) const override {
    std::vector<ElementLaw> all(static_cast<std::size_t>(elements));
    for (const NoisePart& part : parts_) {
      const auto columns = part.columns.of(elements);
      const auto own = part.noise.shape->laws(point, width(columns));
      if (!own) return std::nullopt;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        all[columns[k]] = (*own)[k];
        all[columns[k]].deviation *= part.noise.scale;
      }
    }
    return all;
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    std::vector<float> all(static_cast<std::size_t>(elements * lanes), 0.0F);
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto columns = listed.of(elements);
      std::vector<float> rows = gathered(columns, lanes, variance);
      noise.shape->variances(points, width(columns), rows.data());
      for (float& value : rows) value *= static_cast<float>(noise.scale * noise.scale);
      // Gradients are added, because a part that names its own columns also receives the columns of other parts.
      for (std::size_t k = 0; k < columns.size(); ++k) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) all[columns[k] * lanes + lane] += rows[k * lanes + lane];
      }
    }
    std::copy(all.begin(), all.end(), variance);
  }

  std::vector<std::int64_t> columns(std::int64_t elements) const override {
    std::set<std::int64_t> all;
    for (const auto& [noise, listed, parameters] : parts_) {
      const auto given = listed.of(elements);
      for (const std::int64_t own : noise.shape->columns(width(given))) all.insert(given[own]);
    }
    return {all.begin(), all.end()};
  }

  GaussianView gaussian() const override {
    GaussianView view;
    for (const NoisePart& part : parts_) {
      const GaussianView other = part.noise.shape->gaussian();
      if (other.kind > view.kind) view = other;
    }
    return view;
  }

 private:
  // Parts get their columns as a list, or the point itself if they have all columns.
  std::shared_ptr<const NoiseShape> bind(const Shape& point) const {
    const std::int64_t elements = element_count(point);
    std::vector<NoisePart> parts = parts_;
    bool changed = false;
    for (NoisePart& part : parts) {
      const auto columns = part.columns.of(elements);
      if (!columns.empty() && columns.back() >= elements) return nullptr;  // which `fit` refuses
      auto own = part.noise.shape->bound(width(columns) == elements ? point : Shape{width(columns)});
      changed = changed || own != nullptr;
      if (own != nullptr) part.noise.shape = std::move(own);
    }
    if (!changed) return nullptr;
    std::shared_ptr<const NoiseMap> map;
    if (parts.size() == 1 && parts[0].noise.scale == 1 && parts[0].noise.shape->map() != nullptr)
      map = map_on_columns(*parts[0].noise.shape, parts[0].columns.of(elements), point, name());
    return std::make_shared<const OnColumns>(std::move(parts), name_, std::move(map));
  }

  static constexpr std::uint32_t kStreams = 1U << 8;  // the streams of parts are multiples of this; other streams are not
  std::vector<NoisePart> parts_;
  std::string name_;  // the given name; empty if the name lists the parts
  std::shared_ptr<const NoiseMap> map_;
  LastBound bound_;
};

}  // namespace

std::string Columns::text() const {
  std::string text;
  for (std::size_t first = 0; first < listed.size();) {
    std::size_t last = first;
    while (last + 1 < listed.size() && listed[last + 1] == listed[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(listed[first]);
    if (last > first) text += ".." + std::to_string(listed[last]);
    first = last + 1;
  }
  return (all_but && !text.empty() ? "!" : "") + text;
}

std::vector<std::int64_t> Columns::of(std::int64_t elements) const {
  if (!all_but) return listed;
  std::vector<std::int64_t> result;
  for (std::int64_t e = 0; e < elements; ++e) {
    if (!std::binary_search(listed.begin(), listed.end(), e)) result.push_back(e);
  }
  return result;
}

Columns parse_columns(const std::string& text, const std::string& where) {
  const auto refuse = [&] {
    throw Error{ErrorCode::usage, where, "has '" + text + "', which is not a list of columns", "try @0..3,7 or @!4 (all but 4)"};
  };
  Columns columns;
  columns.all_but = text.starts_with('!');
  std::set<std::int64_t> listed;
  for (const std::string& part : split(columns.all_but ? text.substr(1) : text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = parse_integer(part.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse_integer(part.substr(dots + 2));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostColumns) refuse();
    for (std::int64_t column = *first; column <= *last; ++column) listed.insert(column);
  }
  columns.listed.assign(listed.begin(), listed.end());
  return columns;
}

std::shared_ptr<const NoiseShape> on_columns(std::shared_ptr<const NoiseShape> shape, Columns columns) {
  return mixture({{{std::move(shape), 1}, std::move(columns)}});
}

std::shared_ptr<const NoiseShape> mixture(std::vector<NoisePart> parts, std::string name) {
  return std::make_shared<const OnColumns>(std::move(parts), std::move(name));
}

}  // namespace probust
