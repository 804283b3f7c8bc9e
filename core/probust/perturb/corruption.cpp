// SPDX-License-Identifier: MIT
// The corruptions of Hendrycks and Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and
// Perturbations" (ICLR 2019), without frost, which pastes photographs. The paper does not list its constants. Those below are
// from the scripts with which the authors made CIFAR-10-C (32 x 32), Tiny-ImageNet-C (64 x 64) and ImageNet-C (224 x 224):
// make_cifar_c.py, make_tinyimagenet_c.py and make_imagenet_c.py (github.com/hendrycks/robustness). Each one was checked against
// the scripts. An image gets the constants for the size that is nearest to its shorter side in ratio. Lengths are in pixels, as
// published, except those of elastic_transform, which are proportional to the shorter side.
//
// Results differ from the published images in their random numbers, and in rounding, because the scripts round to bytes after
// each step.
#include <algorithm>
#include <array>
#include <cmath>

#include "probust/perturb/family.h"
#include "probust/perturb/jpeg.h"
#include "probust/perturb/poisson.h"
#include "probust/perturb/raster.h"

namespace probust::perturb::corruption {
namespace {

// The sizes of CIFAR-10-C, Tiny-ImageNet-C and ImageNet-C.
constexpr std::array<std::int64_t, 3> kSizes = {32, 64, 224};

// One constant of a corruption: [size][severity - 1].
template <class T>
using Levels = std::array<std::array<T, 5>, kSizes.size()>;

std::int64_t shorter_side(const Image& image) { return std::min(image.rows, image.columns); }

// The index of the size that is nearest to the image's shorter side in ratio.
std::size_t nearest_size(const Image& image) {
  std::size_t size = 0;
  while (size + 1 < kSizes.size() && shorter_side(image) * shorter_side(image) > kSizes[size] * kSizes[size + 1]) ++size;
  return size;
}

template <class T>
T level_of(const Levels<T>& levels, const DrawInputs& in) {
  return levels[nearest_size(in.image)][static_cast<std::size_t>(in.theta[0]) - 1];
}

double between(NoiseStream& random, double low, double high) { return low + (high - low) * random.uniform(); }

Plane channel(const Image& image, std::span<const float> x, std::int64_t c) {
  Plane plane(image.rows, image.columns);
  std::copy_n(x.begin() + c * image.pixels(), image.pixels(), plane.values.begin());
  return plane;
}

template <class Change>
void change_channels(const Image& image, std::span<float> x, const Change& change) {
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const Plane plane = change(channel(image, x, c));
    std::copy(plane.values.begin(), plane.values.end(), x.begin() + c * image.pixels());
  }
}

void gaussian_noise(const DrawInputs& in, std::span<float> x) {
  const double deviation =
      level_of<double>({{{.04, .06, .08, .09, .10}, {.04, .08, .12, .15, .18}, {.08, .12, .18, .26, .38}}}, in);
  for (float& value : x) value += static_cast<float>(deviation * in.random.normal());
}

void shot_noise(const DrawInputs& in, std::span<float> x) {
  const double photons = level_of<double>({{{500, 250, 100, 75, 50}, {250, 100, 50, 30, 15}, {60, 25, 12, 5, 3}}}, in);
  for (float& value : x) value = static_cast<float>(poisson(double{value} * photons, in.random) / photons);
}

// Salt and pepper, drawn independently for each channel.
void impulse_noise(const DrawInputs& in, std::span<float> x) {
  const double share = level_of<double>({{{.01, .02, .03, .05, .07}, {.01, .02, .05, .08, .14}, {.03, .06, .09, .17, .27}}}, in);
  for (float& value : x) {
    const double u = in.random.uniform();
    if (u < share) value = u < share / 2 ? 0.0F : 1.0F;
  }
}

// A disc whose edge is smoothed. As in the scripts, the weights of discs that reach the edge of their grid sum to a little more
// than 1.
void defocus_blur(const DrawInputs& in, std::span<float> x) {
  struct Lens {
    double radius, smoothing;
  };
  const Lens lens = level_of<Lens>({{{{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}},  //
                                     {{{.5, .6}, {1, .1}, {1.5, .1}, {2.5, .01}, {3, .1}}},
                                     {{{3, .1}, {4, .5}, {6, .5}, {8, .5}, {10, .5}}}}},
                                   in);
  const std::int64_t reach = lens.radius <= 8 ? 8 : 10, smoothed = lens.radius <= 8 ? 1 : 2, size = 2 * reach + 1;
  Plane disc(size, size);
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const auto distance = static_cast<double>((i - reach) * (i - reach) + (j - reach) * (j - reach));
      sum += disc.row(i)[j] = distance <= lens.radius * lens.radius ? 1.0F : 0.0F;
    }
  }
  for (float& weight : disc.values) weight /= sum;
  const Plane kernel = gaussian_blurred(disc, lens.smoothing, smoothed, Edge::about_values);
  change_channels(in.image, x, [&](const Plane& plane) { return correlated(plane, kernel, Edge::about_values); });
}

// Between two blurs, pixels become copies of their neighbours. The scripts are meant to exchange two pixels, but they exchange
// two views of one NumPy array, which copies the second pixel to the first and leaves the second unchanged.
void glass_blur(const DrawInputs& in, std::span<float> x) {
  struct Glass {
    double deviation;
    std::int64_t reach, times;
  };
  const Glass glass = level_of<Glass>({{{{{.05, 1, 1}, {.25, 1, 1}, {.4, 1, 1}, {.25, 1, 2}, {.4, 1, 2}}},
                                        {{{.1, 1, 1}, {.5, 1, 1}, {.6, 1, 2}, {.7, 2, 1}, {.9, 2, 2}}},
                                        {{{.7, 1, 2}, {.9, 2, 1}, {1, 2, 3}, {1.1, 3, 2}, {1.5, 4, 2}}}}},
                                      in);
  const auto blur = [&](const Plane& plane) {
    return gaussian_blurred(plane, glass.deviation, static_cast<std::int64_t>(4 * glass.deviation + 0.5), Edge::nearest);
  };
  change_channels(in.image, x, blur);
  const Image& image = in.image;
  const auto shift = [&] {
    return static_cast<std::int64_t>(in.random.uniform() * static_cast<double>(2 * glass.reach)) - glass.reach;
  };
  for (std::int64_t time = 0; time < glass.times; ++time) {
    for (std::int64_t r = image.rows - glass.reach; r > glass.reach; --r) {
      for (std::int64_t c = image.columns - glass.reach; c > glass.reach; --c) {
        const std::int64_t other_row = r + shift(), other = other_row * image.columns + c + shift();
        for (std::int64_t k = 0; k < image.channels; ++k)
          x[k * image.pixels() + r * image.columns + c] = x[k * image.pixels() + other];
      }
    }
  }
  change_channels(in.image, x, blur);
}

struct Motion {
  std::int64_t radius;
  double deviation;
};

void motion_blur(const DrawInputs& in, std::span<float> x) {
  const Motion motion = level_of<Motion>({{{{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}},  //
                                           {{{10, 1}, {10, 1.5}, {10, 2}, {10, 2.5}, {12, 3}}},
                                           {{{10, 3}, {15, 5}, {15, 8}, {15, 12}, {20, 15}}}}},
                                         in);
  const double degrees = between(in.random, -45, 45);
  change_channels(in.image, x,
                  [&](const Plane& plane) { return motion_blurred(plane, motion.radius, motion.deviation, degrees); });
}

// The mean of the image and of its enlargements by 1, 1 + step, ...
void zoom_blur(const DrawInputs& in, std::span<float> x) {
  struct Zoom {
    std::int64_t count;
    double step;
  };
  const Zoom zoom = level_of<Zoom>({{{{{7, .01}, {12, .01}, {16, .01}, {21, .01}, {26, .01}}},  //
                                     {{{7, .01}, {12, .01}, {16, .01}, {21, .01}, {26, .01}}},
                                     {{{12, .01}, {16, .01}, {11, .02}, {13, .02}, {11, .03}}}}},
                                   in);
  const double step =
      (1 + zoom.step) - 1;  // rounded as by NumPy's arange, because it affects how the size of an enlargement is rounded
  change_channels(in.image, x, [&](const Plane& plane) {
    Plane sum = plane;
    for (std::int64_t i = 0; i < zoom.count; ++i) {
      const Plane larger = enlarged(plane, 1 + step * static_cast<double>(i));
      for (std::size_t e = 0; e < sum.values.size(); ++e) sum.values[e] += larger.values[e];
    }
    for (float& value : sum.values) value /= static_cast<float>(zoom.count + 1);
    return sum;
  });
}

float luminance(const Image& image, std::span<const float> x, std::int64_t i) {
  return 0.299F * x[i] + 0.587F * x[image.pixels() + i] + 0.114F * x[2 * image.pixels() + i];
}

// Adds flakes, blurred along their fall, to a whitened image, and then the same flakes turned by 180 degrees.
void snow(const DrawInputs& in, std::span<float> x) {
  struct Snow {
    double mean, deviation, size, least;
    Motion fall;
    float kept;
  };
  const Snow own = level_of<Snow>({{{{{.1, .2, 1, .6, {8, 3}, .95F},
                                      {.1, .2, 1, .5, {10, 4}, .9F},
                                      {.15, .3, 1.75, .55, {10, 4}, .9F},
                                      {.25, .3, 2.25, .6, {12, 6}, .85F},
                                      {.3, .3, 1.25, .65, {14, 12}, .8F}}},
                                    {{{.1, .2, 1, .6, {8, 3}, .8F},
                                      {.1, .2, 1, .5, {10, 4}, .8F},
                                      {.15, .3, 1.75, .55, {10, 4}, .7F},
                                      {.25, .3, 2.25, .6, {12, 6}, .65F},
                                      {.3, .3, 1.25, .65, {14, 12}, .6F}}},
                                    {{{.1, .3, 3, .5, {10, 4}, .8F},
                                      {.2, .3, 2, .5, {12, 4}, .7F},
                                      {.55, .3, 4, .9, {12, 8}, .7F},
                                      {.55, .3, 4.5, .85, {12, 8}, .65F},
                                      {.55, .3, 2.5, .85, {12, 12}, .55F}}}}},
                                  in);
  Plane flakes(in.image.rows, in.image.columns);
  for (float& value : flakes.values) value = static_cast<float>(own.mean + own.deviation * in.random.normal());
  flakes = enlarged(flakes, own.size);
  for (float& value : flakes.values) value = value < static_cast<float>(own.least) ? 0.0F : std::min(value, 1.0F);
  flakes = motion_blurred(flakes, own.fall.radius, own.fall.deviation, between(in.random, -135, -45));
  const std::int64_t pixels = in.image.pixels();
  const bool colour = in.image.channels == 3;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float light = colour ? luminance(in.image, x, i) : 0.0F, flake = flakes.values[i] + flakes.values[pixels - 1 - i];
    for (std::int64_t c = 0; c < in.image.channels; ++c) {
      float& value = x[c * pixels + i];
      const float white = 1.5F * (colour ? light : value) + 0.5F;
      value = own.kept * value + (1 - own.kept) * std::max(value, white) + flake;
    }
  }
}

void fog(const DrawInputs& in, std::span<float> x) {
  struct Fog {
    float strength;
    double decay;
  };
  const Fog own = level_of<Fog>({{{{{.2F, 3}, {.5F, 3}, {.75F, 2.5}, {1, 2}, {1.5F, 1.75}}},
                                  {{{.4F, 3}, {.7F, 3}, {1, 2.5}, {1.5F, 2}, {2, 1.75}}},
                                  {{{1.5F, 2}, {2, 2}, {2.5F, 1.7}, {2.5F, 1.5}, {3, 1.4}}}}},
                                in);
  const float brightest = *std::max_element(x.begin(), x.end());
  const Plane cloud = fractal(in.image.rows, in.image.columns, own.decay, in.random);
  const float scale = brightest > 0 ? brightest / (brightest + own.strength) : 0.0F;
  for (std::int64_t e = 0; e < in.image.elements(); ++e)
    x[e] = (x[e] + own.strength * cloud.values[e % in.image.pixels()]) * scale;
}

// Increases V = max(R, G, B) in the HSV colour model, which multiplies all three colours by the same factor.
void brightness(const DrawInputs& in, std::span<float> x) {
  const float more = level_of<float>({{{.05F, .1F, .15F, .2F, .3F}, {.1F, .2F, .3F, .4F, .5F}, {.1F, .2F, .3F, .4F, .5F}}}, in);
  const std::int64_t pixels = in.image.pixels();
  if (in.image.channels != 3) {
    for (float& value : x) value += more;
    return;
  }
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float largest = std::max({x[i], x[pixels + i], x[2 * pixels + i]}), aim = std::min(largest + more, 1.0F);
    for (std::int64_t c = 0; c < 3; ++c) x[c * pixels + i] = largest > 0 ? x[c * pixels + i] * (aim / largest) : aim;
  }
}

// Reduces the contrast about the mean of each channel.
void contrast(const DrawInputs& in, std::span<float> x) {
  const float factor =
      level_of<float>({{{.75F, .5F, .4F, .3F, .15F}, {.4F, .3F, .2F, .1F, .05F}, {.4F, .3F, .2F, .1F, .05F}}}, in);
  change_channels(in.image, x, [&](Plane plane) {
    double sum = 0;
    for (const float value : plane.values) sum += double{value};
    const auto mean = static_cast<float>(sum / static_cast<double>(plane.values.size()));
    for (float& value : plane.values) value = mean + factor * (value - mean);
    return plane;
  });
}

// The first part of elastic_transform: three points around the centre move at random, and the image follows by an affine map.
class Elastic {
 public:
  Elastic(const DrawInputs& in, double corner) : image_(in.image) {
    const auto arm = static_cast<double>(shorter_side(image_) / 3);
    centre_row_ = static_cast<double>(image_.rows / 2);
    centre_column_ = static_cast<double>(image_.columns / 2);
    if (arm == 0) return;
    std::array<double, 6> moved = {arm, arm, arm, -arm, -arm, -arm};  // column and row of each point
    for (double& place : moved) place += between(in.random, -corner, corner);
    const double a = (moved[2] - moved[4]) / (2 * arm), c = (moved[3] - moved[5]) / (2 * arm);
    const double b = (moved[0] - moved[2]) / (2 * arm), d = (moved[1] - moved[3]) / (2 * arm);
    const double determinant = a * d - b * c;
    if (determinant == 0) return;
    inverse_ = {d / determinant, -b / determinant, -c / determinant, a / determinant};
    shift_column_ = moved[4] + arm * (a + b);
    shift_row_ = moved[5] + arm * (c + d);
  }

  Plane warped(const Plane& plane) const {
    Plane result(plane.rows, plane.columns);
    for (std::int64_t r = 0; r < plane.rows; ++r) {
      for (std::int64_t c = 0; c < plane.columns; ++c) {
        const double right = static_cast<double>(c) - centre_column_ - shift_column_;
        const double down = static_cast<double>(r) - centre_row_ - shift_row_;
        result.row(r)[c] = interpolated(plane, centre_row_ + inverse_[2] * right + inverse_[3] * down,
                                        centre_column_ + inverse_[0] * right + inverse_[1] * down, Edge::about_values);
      }
    }
    return result;
  }

 private:
  const Image& image_;
  double centre_row_ = 0, centre_column_ = 0, shift_row_ = 0, shift_column_ = 0;
  std::array<double, 4> inverse_ = {1, 0, 0, 1};
};

// The second part of elastic_transform: a smooth random field of displacements along one axis.
Plane displacements(const DrawInputs& in, double deviation, double strength) {
  Plane field(in.image.rows, in.image.columns);
  for (float& value : field.values) value = static_cast<float>(between(in.random, -1, 1));
  field = gaussian_blurred(field, deviation, static_cast<std::int64_t>(3 * deviation + 0.5), Edge::about_border);
  for (float& value : field.values) value *= static_cast<float>(strength);
  return field;
}

void elastic_transform(const DrawInputs& in, std::span<float> x) {
  struct Shares {  // in units of the shorter side
    double strength, deviation, corner;
  };
  const Shares own = level_of<Shares>({{{{{0, 0, .08}, {.05, .2, .07}, {.08, .06, .06}, {.1, .04, .05}, {.1, .03, .03}}},
                                        {{{0, 0, .08}, {.05, .3, .06}, {.1, .08, .06}, {.1, .03, .03}, {.16, .03, .02}}},
                                        {{{2, .7, .1}, {2, .08, .2}, {.05, .01, .02}, {.07, .01, .02}, {.12, .01, .02}}}}},
                                      in);
  // The script for 224 pixels uses 244 as the side here.
  const double side = static_cast<double>(shorter_side(in.image)) * (kSizes[nearest_size(in.image)] == 224 ? 244.0 / 224 : 1.0);
  const Elastic corners(in, own.corner * side);
  const Plane right = displacements(in, own.deviation * side, own.strength * side);
  const Plane down = displacements(in, own.deviation * side, own.strength * side);
  change_channels(in.image, x, [&](const Plane& plane) {
    const Plane warped = corners.warped(plane);
    Plane result(plane.rows, plane.columns);
    for (std::int64_t r = 0; r < plane.rows; ++r) {
      for (std::int64_t c = 0; c < plane.columns; ++c)
        result.row(r)[c] = interpolated(warped, static_cast<double>(r) + double{down.row(r)[c]},
                                        static_cast<double>(c) + double{right.row(r)[c]}, Edge::about_border);
    }
    return result;
  });
}

void pixelate(const DrawInputs& in, std::span<float> x) {
  const double share = level_of<double>({{{.95, .9, .85, .75, .65}, {.9, .8, .7, .6, .5}, {.6, .5, .4, .3, .25}}}, in);
  const auto smaller = [&](std::int64_t n) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) * share));
  };
  change_channels(in.image, x, [&](const Plane& plane) {
    return resized(resized(plane, smaller(plane.rows), smaller(plane.columns)), plane.rows, plane.columns);
  });
}

void jpeg_compression(const DrawInputs& in, std::span<float> x) {
  compress_as_jpeg(in.image, level_of<double>({{{80, 65, 58, 50, 40}, {65, 58, 50, 40, 25}, {25, 18, 15, 10, 7}}}, in), x);
}

void clamp(std::span<float> x) {
  for (float& value : x) value = std::clamp(value, 0.0F, 1.0F);
}

template <void (*apply)(const DrawInputs&, std::span<float>)>
void clamped(const DrawInputs& in, std::span<float> x) {
  clamp(x);
  apply(in, x);
  clamp(x);
}

template <void (*apply)(const DrawInputs&, std::span<float>)>
Family preset(std::string_view name, std::string_view summary, bool draws) {
  return {.name = name,
          .summary = summary,
          .parameters = {{"severity", "", 0, Link::plain, 1, 5, true}},
          .number = Family::Number::value,
          .draw = clamped<apply>,
          .draws = draws,
          .example = "3"};
}

}  // namespace
}  // namespace probust::perturb::corruption

namespace probust::perturb {

std::vector<Family> corruptions() {
  using namespace corruption;
  return {
      preset<gaussian_noise>("corruption:gaussian_noise", "adds Gaussian noise", true),
      preset<shot_noise>("corruption:shot_noise", "adds photon noise", true),
      preset<impulse_noise>("corruption:impulse_noise", "sets a share of the values to 0 or 1", true),
      preset<defocus_blur>("corruption:defocus_blur", "blurs with a disc", false),
      preset<glass_blur>("corruption:glass_blur", "replaces pixels with neighbours between two blurs", true),
      preset<motion_blur>("corruption:motion_blur", "blurs along a random direction", true),
      preset<zoom_blur>("corruption:zoom_blur", "blurs towards the centre", false),
      preset<snow>("corruption:snow", "adds falling snow", true),
      preset<fog>("corruption:fog", "adds fog", true),
      preset<brightness>("corruption:brightness", "brightens the image", false),
      preset<contrast>("corruption:contrast", "reduces the contrast", false),
      preset<elastic_transform>("corruption:elastic_transform", "moves and stretches parts of the image", true),
      preset<pixelate>("corruption:pixelate", "lowers the resolution", false),
      preset<jpeg_compression>("corruption:jpeg_compression", "compresses the image as a JPEG file", false),
  };
}

}  // namespace probust::perturb
