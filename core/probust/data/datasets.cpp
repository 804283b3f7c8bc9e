// SPDX-License-Identifier: MIT
#include "probust/data/datasets.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/draw_math.h"

namespace probust {
namespace {

constexpr std::uint32_t kStream = 0xda7a;
constexpr std::int64_t kLeastSide = 8, kMostSide = 256;

Shape shape_of_point(std::int64_t side) { return side == 0 ? Shape{2} : Shape{1, side, side}; }

void put(std::span<float> point, double x, double y) {
  point[0] = static_cast<float>(x);
  point[1] = static_cast<float>(y);
}

// Two half circles around the origin; each has one end inside the other.
void moons(NoiseStream& random, std::int64_t label, std::int64_t, std::span<float> point) {
  const auto [c, s] = direction(0.5 * random.uniform());
  if (label == 0) put(point, c - 0.5, s - 0.25);
  if (label == 1) put(point, 0.5 - c, 0.25 - s);
}

// Centres on the unit circle, to which noise is added.
void blobs(NoiseStream&, std::int64_t label, std::int64_t classes, std::span<float> point) {
  const auto [c, s] = direction(static_cast<double>(label) / static_cast<double>(classes));
  put(point, c, s);
}

// Arms that make one turn, outwards to the unit circle.
void spirals(NoiseStream& random, std::int64_t label, std::int64_t classes, std::span<float> point) {
  const double radius = 0.1 + 0.9 * std::sqrt(random.uniform());  // roughly uniform along the arm
  const auto [c, s] = direction(radius + static_cast<double>(label) / static_cast<double>(classes));
  put(point, radius * c, radius * s);
}

// The quadrants of a square; one class has x and y of the same sign.
void exclusive_or(NoiseStream& random, std::int64_t label, std::int64_t, std::span<float> point) {
  const double x = 0.1 + 0.9 * random.uniform(), y = 0.1 + 0.9 * random.uniform(), side = random.uniform() < 0.5 ? -1 : 1;
  put(point, side * x, (label == 0 ? side : -side) * y);
}

// Circles around the origin, the outermost of radius 1.
void rings(NoiseStream& random, std::int64_t label, std::int64_t classes, std::span<float> point) {
  const auto [c, s] = direction(random.uniform());
  const double radius = static_cast<double>(label + 1) / static_cast<double>(classes);
  put(point, radius * c, radius * s);
}

void digits(NoiseStream& random, std::int64_t label, std::int64_t, std::span<float> point) { draw_digit(random, label, point); }

constexpr MadeDataKind kKinds[] = {
    {"moons", "two interlocking half circles", 2, 2, 2, 0.1, moons},
    {"blobs", "Gaussian clusters around a circle", 2, 6, 3, 0.25, blobs},
    {"spirals", "spiral arms around the origin", 2, 6, 2, 0.03, spirals},
    {"xor", "a square whose opposite quadrants share a class", 2, 2, 2, 0.05, exclusive_or},
    {"rings", "circles around the origin", 2, 6, 2, 0.05, rings},
    {"digits", "handwriting-like strokes, 28 x 28 pixels", 10, 10, 10, 0.05, digits, 28},
};

std::string range_of(const MadeDataKind& kind) {
  return std::to_string(kind.least) + (kind.most > kind.least ? " to " + std::to_string(kind.most) : "");
}

void require(const MadeDataKind& kind, std::int64_t count, std::int64_t classes, double noise, std::int64_t side) {
  const std::string where(kind.name);
  if (count < 1) throw Error{ErrorCode::usage, where, "cannot have " + std::to_string(count) + " points", "give 1 or more"};
  if (classes < kind.least || classes > kind.most)
    throw Error{ErrorCode::usage, where, "cannot have " + std::to_string(classes) + " classes", "give " + range_of(kind)};
  if (!std::isfinite(noise) || noise < 0)
    throw Error{ErrorCode::usage, where, "cannot have noise of " + std::to_string(noise), "give zero or a positive number"};
  if (kind.side == 0 && side != 0)
    throw Error{ErrorCode::usage, where, "have no side in pixels, because they are not images", "leave out the side"};
  if (kind.side != 0 && (side < kLeastSide || side > kMostSide))
    throw Error{ErrorCode::usage, where, "cannot have a side of " + std::to_string(side) + " pixels",
                "give " + std::to_string(kLeastSide) + " to " + std::to_string(kMostSide)};
  if (count > kMaxElements / element_count(shape_of_point(side)))
    throw Error{ErrorCode::resources, where,
                "cannot have " + std::to_string(count) + " points, because they need too much memory", "use fewer points"};
}

}  // namespace

Direction direction(double turns) {
  // uniform_direction maps a word to an angle that starts at -1/8 turn.
  const double shifted = turns + 0.125, part = shifted - std::floor(shifted);
  Direction result{};
  draws::uniform_direction(static_cast<std::uint32_t>(std::min(part * 4294967296.0, 4294967295.0)), result.x, result.y);
  return result;
}

std::span<const MadeDataKind> made_data_kinds() { return kKinds; }

const MadeDataKind& made_data_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const MadeDataKind& kind : kKinds) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  throw Error{ErrorCode::usage, "the kind of data", "cannot be '" + std::string(name) + "'", "use one of " + join(names)};
}

DataMaker::DataMaker(const MadeDataKind& kind, const MadeDataOptions& options)
    : kind_(kind), options_(options), noise_(options.noise.value_or(kind.noise)) {
  data_.classes = options.classes.value_or(kind.classes);
  const std::int64_t side = options.side.value_or(kind.side);
  require(kind, options.count, data_.classes, noise_, side);
  Shape shape = shape_of_point(side);
  shape.insert(shape.begin(), options.count);
  data_.x = Tensor(shape);
  data_.labels.reserve(static_cast<std::size_t>(options.count));
}

bool DataMaker::advance() {
  const std::int64_t i = done(), label = i % data_.classes;
  NoiseStream random(options_.seed, static_cast<std::uint32_t>(i), 0, kStream);
  const std::span<float> point = data_.x.row(i);
  kind_.draw(random, label, data_.classes, point);
  for (float& value : point) {
    value += static_cast<float>(noise_ * random.normal());
    if (kind_.side != 0) value = std::clamp(value, 0.0F, 1.0F);
  }
  data_.labels.push_back(label);
  return done() < planned();
}

MadeData make_data(const MadeDataKind& kind, const MadeDataOptions& options) {
  DataMaker maker(kind, options);
  maker.finish();
  return maker.data();
}

}  // namespace probust
