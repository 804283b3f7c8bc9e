// SPDX-License-Identifier: MIT
// Digits drawn from strokes: lines and arcs in the unit square (x right, y down), which are bent, turned and inked on square
// pixels. A pixel's brightness falls with its distance from the nearest stroke.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "probust/data/datasets.h"

namespace probust {
namespace {

struct Place {
  double x, y;
};
using Stroke = std::vector<Place>;

double between(NoiseStream& random, double low, double high) { return low + (high - low) * random.uniform(); }

// Centre and radii of an arc, and its first and last angle in degrees clockwise from the right.
struct Arc {
  double x, y, rx, ry, begin, end;
};

// Adds part of an ellipse to a stroke; its centre, radii and ends vary a little.
void add(Stroke& stroke, NoiseStream& random, const Arc& arc) {
  constexpr int kPlaces = 14;
  const double x = arc.x + 0.015 * random.normal(), y = arc.y + 0.015 * random.normal();
  const double rx = arc.rx * between(random, 0.85, 1.12), ry = arc.ry * between(random, 0.85, 1.12);
  const double begin = arc.begin + 8 * random.normal(), end = arc.end + 8 * random.normal();
  for (int k = 0; k < kPlaces; ++k) {
    const Direction at = direction((begin + (end - begin) * k / (kPlaces - 1)) / 360);
    stroke.push_back({x + rx * at.x, y + ry * at.y});
  }
}

void add(Stroke& stroke, std::initializer_list<Place> line) { stroke.insert(stroke.end(), line.begin(), line.end()); }

std::vector<Stroke> one(NoiseStream& random, bool plain) {
  if (plain) return {{{0.5, 0.1}, {0.5, 0.9}}};
  std::vector<Stroke> strokes = {{{0.34, 0.3}, {0.52, 0.1}, {0.52, 0.9}}};
  if (random.uniform() < 0.4) strokes.push_back({{0.36, 0.9}, {0.68, 0.9}});
  return strokes;
}

std::vector<Stroke> four(bool open) {
  if (open) return {{{0.3, 0.12}, {0.24, 0.58}, {0.8, 0.56}}, {{0.64, 0.25}, {0.62, 0.92}}};
  return {{{0.62, 0.92}, {0.62, 0.1}, {0.2, 0.64}, {0.82, 0.64}}};
}

std::vector<Stroke> seven(bool crossed) {
  std::vector<Stroke> strokes = {{{0.23, 0.13}, {0.77, 0.13}, {0.42, 0.92}}};
  if (crossed) strokes.push_back({{0.36, 0.52}, {0.68, 0.5}});
  return strokes;
}

std::vector<Stroke> eight(NoiseStream& random) {
  std::vector<Stroke> strokes(2);
  add(strokes[0], random, {0.5, 0.3, 0.2, 0.19, 90, 450});
  add(strokes[1], random, {0.5, 0.7, 0.24, 0.21, -90, 270});
  return strokes;
}

// The digits drawn as a single stroke that contains arcs.
Stroke one_stroke(NoiseStream& random, std::int64_t digit) {
  Stroke stroke;
  switch (digit) {
    case 0:
      add(stroke, random, {0.5, 0.5, 0.25, 0.39, -90, 270});
      break;
    case 2:
      add(stroke, random, {0.5, 0.33, 0.24, 0.22, -165, 25});
      add(stroke, {{0.25, 0.88}, {0.78, 0.88}});
      break;
    case 3:
      add(stroke, random, {0.46, 0.3, 0.23, 0.2, -150, 80});
      add(stroke, random, {0.46, 0.69, 0.27, 0.21, -80, 150});
      break;
    case 5:
      add(stroke, {{0.76, 0.12}, {0.34, 0.13}, {0.3, 0.46}});
      add(stroke, random, {0.47, 0.65, 0.27, 0.24, -125, 145});
      break;
    case 6:
      add(stroke, {{0.66, 0.1}, {0.42, 0.3}, {0.3, 0.56}});
      add(stroke, random, {0.51, 0.68, 0.22, 0.22, -170, 200});
      break;
    default:
      add(stroke, random, {0.48, 0.34, 0.22, 0.23, 5, 365});
      add(stroke, {{0.7, 0.36}, {0.68, 0.6}, {0.58, 0.92}});
  }
  return stroke;
}

// The strokes of a digit. The digits 1, 4 and 7 are written in two ways.
std::vector<Stroke> strokes_of(NoiseStream& random, std::int64_t digit) {
  const bool other_way = random.uniform() < 0.5;
  if (digit == 1) return one(random, !other_way);
  if (digit == 4) return four(other_way);
  if (digit == 7) return seven(other_way);
  if (digit == 8) return eight(random);
  return {one_stroke(random, digit)};
}

// A smooth wobble, then a turn, slant, stretch and shift around the middle.
class Pose {
 public:
  explicit Pose(NoiseStream& random) {
    for (int axis = 0; axis < 2; ++axis) {
      for (int wave = 0; wave < 2; ++wave) {
        wobble_[axis][wave] = 0.03 * random.normal();
        phase_[axis][wave] = random.uniform();
      }
    }
    const Direction turn = direction(11.0 / 360 * random.normal());
    const double slant = -(0.1 + 0.18 * random.normal());
    const double stretch[2] = {between(random, 0.6, 1.05), between(random, 0.6, 1.05)};
    matrix_[0][0] = turn.x * stretch[0];
    matrix_[0][1] = (turn.x * slant - turn.y) * stretch[0];
    matrix_[1][0] = turn.y * stretch[1];
    matrix_[1][1] = (turn.y * slant + turn.x) * stretch[1];
    shift_ = {0.045 * random.normal(), 0.045 * random.normal()};
  }

  Place operator()(const Place& p) const {
    const double x = p.x + wave(0, p.y) - 0.5, y = p.y + wave(1, p.x) - 0.5;
    return {matrix_[0][0] * x + matrix_[0][1] * y + 0.5 + shift_.x, matrix_[1][0] * x + matrix_[1][1] * y + 0.5 + shift_.y};
  }

 private:
  // A sum of waves with 3 and 6 radians per unit of length.
  double wave(int axis, double at) const {
    constexpr double kTurns = 3 * 0.15915494309189535;
    return wobble_[axis][0] * direction(kTurns * at + phase_[axis][0]).y +
           wobble_[axis][1] * direction(2 * kTurns * at + phase_[axis][1]).y;
  }

  double wobble_[2][2], phase_[2][2], matrix_[2][2];
  Place shift_;
};

// The squared distance from p to the line segment from a to b.
double squared_distance(const Place& p, const Place& a, const Place& b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / std::max(dx * dx + dy * dy, 1e-12);
  const double t = std::clamp(along, 0.0, 1.0), x = p.x - a.x - t * dx, y = p.y - a.y - t * dy;
  return x * x + y * y;
}

double distance_to(const std::vector<Stroke>& strokes, const Place& p) {
  double least = std::numeric_limits<double>::infinity();
  for (const Stroke& stroke : strokes) {
    for (std::size_t k = 0; k + 1 < stroke.size(); ++k) least = std::min(least, squared_distance(p, stroke[k], stroke[k + 1]));
  }
  return std::sqrt(least);
}

}  // namespace

void draw_digit(NoiseStream& random, std::int64_t digit, std::span<float> pixels) {
  std::vector<Stroke> strokes = strokes_of(random, digit);
  const Pose pose(random);
  for (Stroke& stroke : strokes) {
    for (Place& place : stroke) place = pose(place);
  }
  // In units of the square's side.
  const double half_width = between(random, 0.025, 0.065), blur = between(random, 0.05, 0.1), ink = between(random, 0.6, 1.0);
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(pixels.size())));
  const auto at = [side](std::int64_t pixel) { return (static_cast<double>(pixel) + 0.5) / static_cast<double>(side); };
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column) {
      const double distance = distance_to(strokes, {at(column), at(row)});
      pixels[row * side + column] = static_cast<float>(ink * std::clamp((half_width - distance) / blur + 0.5, 0.0, 1.0));
    }
  }
}

}  // namespace probust
