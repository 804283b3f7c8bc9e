// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/noise/noise.h"
#include "probust/perturb/image.h"

// Families of perturbations of images: maps T(x, theta) with a few random parameters. One file per group of families;
// families.cpp lists them.
namespace probust::perturb {

/// How an image continues beyond its border: with the nearest pixel, with its reflection about the centres of its outermost
/// pixels, or with a constant.
struct Border {
  enum class Kind : std::uint8_t { nearest, reflect, constant } kind = Kind::nearest;
  float value = 0;  ///< the constant
};

/// How a parameter is computed from a normal variable t with mean 0: as t, exp(t) or |t|.
enum class Link : std::uint8_t { plain, exponential, magnitude };

/// One random parameter of a family.
struct Parameter {
  std::string_view name;
  std::string_view unit;  ///< unit of the parameter: "degrees"; "" if it has none
  double identity;        ///< the value that changes nothing
  Link link = Link::plain;
  double lowest = -1e30, highest = 1e30;  ///< the range of values that a noise text may give
  bool whole = false;                     ///< whether the parameter must be a fixed whole number
};

/// The inputs from which a family builds its map, as values of the graph `g`.
struct MapInputs {
  Graph& g;
  const Image& image;
  ValueId x;                       ///< [channels, rows, columns]
  std::span<const ValueId> theta;  ///< one scalar per parameter
  const Border& border;
  double most = 1e30;  ///< the largest value of the first parameter, if it has a bound
};

/// The image, interpolated by Catmull-Rom's spline, at positions [1, 2, rows, columns] (rows, then columns, in pixels).
ValueId sample_at(const MapInputs& in, ValueId positions);

/// The inputs of a family that is drawn on the CPU, because no graph computes it.
struct DrawInputs {
  const Image& image;
  std::span<const double> theta;
  NoiseStream& random;
};

struct Family {
  std::string_view name;
  std::string_view summary;  ///< for lists: "turns the image about its centre"
  std::vector<Parameter> parameters;
  /// What a single number after the name gives: the scale of the normal variables of all parameters, or the value of the first
  /// parameter, in which case the others keep their default.
  enum class Number : std::uint8_t { scale, value } number = Number::scale;
  bool has_border = false;
  /// The numbers after the name for weak, medium and strong noise in surveys; zeros if the family is not in surveys. If the first
  /// parameter is in pixels, these numbers are for an image whose shorter side has 32 pixels (strengths_for).
  std::array<double, 3> strengths{};
  /// T(x, theta) as values of a graph: [channels, rows, columns]. Differentiable wherever T is.
  ValueId (*map)(const MapInputs&) = nullptr;
  /// T(x, theta) in place, x [channels, rows, columns], for families that are not continuous or draw random numbers for each
  /// pixel.
  void (*draw)(const DrawInputs&, std::span<float> x) = nullptr;
  /// Whether T(x, -t) = T(x, t) for the normal variables t, so that T does not change to first order at t = 0.
  bool even = false;
  bool draws = false;   ///< whether `draw` uses random numbers besides theta
  bool series = false;  ///< whether points of any shape have it: they are one plane whose rows are those of the last axis
  /// If `number` is Number::value: an example of a value and of two bounds, for hints.
  std::string_view example = "0.2", bounds = "0.1,0.3";
};

/// All families, and the family of this name; null if there is none.
std::span<const Family> families();
const Family* family_of(std::string_view name);

/// The strengths of this family for surveys of images of this size, rounded to two digits.
std::array<double, 3> strengths_for(const Family& family, const Image& image);

/// An example of a noise text of this family: "rotate:10".
std::string example_of(const Family& family);

// Families by group, for families.cpp.
std::vector<Family> geometry();      ///< rotate, shift, zoom, shear
std::vector<Family> light();         ///< brightness, exposure, contrast, gamma
std::vector<Family> optics();        ///< blur, motion
std::vector<Family> sensor();        ///< shot, salt-pepper
std::vector<Family> transmission();  ///< jpeg, occlude
std::vector<Family> corruptions();   ///< corruption:gaussian_noise, ..., corruption:jpeg_compression

}  // namespace probust::perturb
