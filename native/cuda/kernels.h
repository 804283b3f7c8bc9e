// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cuda/device.h"
#include "cuda/numbers.h"
#include "cuda/scalar_ops.h"
#include "probust/noise/clip_math.h"
#include "probust/noise/noise.h"
#include "probust/ops/grid_axis.h"

// All kernels of our own, as functions. A value is stored as [lanes][elements]. `own` is an operand's number of lanes: lane l
// of a result reads lane l % own of the operand. A constant therefore has one lane, and the lanes of examples repeat for every
// seed. Tables contain offsets of elements.
namespace probust::cuda {

struct Operand {
  const void* data = nullptr;
  std::int64_t elements = 0;
  std::int64_t own = 1;
  Type type = Type::float32;

  PROBUST_HOST_DEVICE Numbers lane(std::int64_t l) const {
    return {static_cast<const char*>(data) + offset(l) * bytes_of(type), type};
  }
  /// The values of lane l, if the operand is always float32.
  PROBUST_HOST_DEVICE const float* floats(std::int64_t l) const { return static_cast<const float*>(data) + offset(l); }

 private:
  PROBUST_HOST_DEVICE std::int64_t offset(std::int64_t l) const {
    // 32 bits suffice for the number of a lane, and make the division faster.
    return (own == 1 ? 0 : static_cast<std::uint32_t>(l) % static_cast<std::uint32_t>(own)) * elements;
  }
};

struct Output {
  void* data = nullptr;
  std::int64_t elements = 0;
  std::int64_t lanes = 0;
  Type type = Type::float32;

  PROBUST_HOST_DEVICE MutableNumbers lane(std::int64_t l) const {
    return {static_cast<char*>(data) + l * elements * bytes_of(type), type};
  }
  /// The values of lane l, if the result is always float32.
  PROBUST_HOST_DEVICE float* floats(std::int64_t l) const { return static_cast<float*>(data) + l * elements; }
};

// ---- arrange.cu

/// to[target[i]] = from[source[i]] for i < count, or 0 if the source is negative. A null target stands for 0, 1, ...
void move(Device& device, Operand from, const std::int32_t* source, const std::int32_t* target, std::int64_t count, Output to);

/// Copies lanes of `from` to all lanes of `to`.
void repeat(Device& device, Operand from, Output to);

/// to[e] = sum of from[source[i]] over begin[e] <= i < begin[e + 1].
void sum_rows(Device& device, Operand from, const std::int32_t* begin, const std::int32_t* source, Output to);

// ---- elementwise.cu

/// A chain of element-wise operators: the result of the first step is an operand of the second, and so on.
struct Chain {
  static constexpr int kSteps = 12, kOperands = 8;
  static constexpr std::int8_t kSoFar = -1;  ///< the operand that is the result of the previous steps

  struct Read {
    Operand from;
    const std::int32_t* source = nullptr;  ///< for each element of the result, the offset that it reads; null: see `period`
    std::int64_t period = 0;               ///< if positive, element e reads element e % period; 0: element e
    bool positive = false;  ///< whether to read 1 if the element is positive and 0 otherwise, as for the mask of a rectifier
  };
  struct Step {
    Op op = Op::add;
    std::int8_t a = kSoFar, b = kSoFar, c = kSoFar;  ///< positions among the operands
    float parameter = 0;
  };
  Read operands[kOperands];
  Step steps[kSteps];
  int operand_count = 0, step_count = 0;
};
void run(Device& device, const Chain& chain, Output to);
/// Whether `run` can process four elements at a time. This is possible if the chain is a sum of full-size operands and channel
/// biases, optionally rectified, and optionally multiplied by the mask of a rectifier.
bool runs_in_fours(const Chain& chain, const Output& to);
/// Applies the bias and activation of a product to its result, if the library cannot.
void finish(Device& device, const Product& product);
/// Applies the epilogue of a convolution to its result.
void finish(Device& device, const Convolution& convolution, std::int64_t images, const void* residual, void* y);

// ---- pool.cu

/// which[q] = the offset of the largest of the cells cells[begin[q]] .. cells[begin[q + 1] - 1], the first of them if there are
/// several (NaN counts as largest); -1 if there are no cells.
void choose(Device& device, Operand image, const std::int32_t* begin, const std::int32_t* cells, std::int32_t* which,
            std::int64_t windows);
/// to[q] = values[which[q]], or `none` if which[q] is -1. `which` has `own` lanes.
void take_chosen(Device& device, Operand values, const std::int32_t* which, std::int64_t own, float none, Output to);
/// to[e] = sum of from[q] over those windows q in windows[begin[e]] .. windows[begin[e + 1] - 1] that chose e.
void put_chosen(Device& device, Operand from, const std::int32_t* which, std::int64_t own, const std::int32_t* begin,
                const std::int32_t* windows, Output to);

// ---- grid.cu: sampling of images [N, C, rows, columns] at positions [N, 2, ..]
struct Grid {
  GridAxis rows, columns;
  std::int64_t images = 1, channels = 1, pixels = 0, positions = 0;  ///< counts; `pixels` is that of one channel of an image
};
void grid_sample(Device& device, const Grid& grid, Operand image, Operand at, Output to);
void grid_sample_transpose(Device& device, const Grid& grid, Operand values, Operand at, Output to);

// ---- lines.cu: operations along an axis of a value. A line starts at start[line], and its elements are `stride` apart.
struct Lines {
  const std::int32_t* start = nullptr;
  std::int64_t count = 0, extent = 0, stride = 1;
};
void softmax(Device& device, Operand from, Lines lines, bool logarithm, Output to);
/// The positions of the largest elements of each line, largest first, and equal elements in order of position. NaN counts as
/// largest.
void top_index(Device& device, Operand from, Lines lines, Lines to_lines, Output to);
/// to[i] = from[index[i]] within each line; NaN if the index is out of range.
void take(Device& device, Operand from, Lines from_lines, Operand index, Lines lines, Output to);
/// to[j] = sum of from[i] over the i with index[i] = j, within each line.
void put_add(Device& device, Operand from, Operand index, Lines lines, Lines to_lines, Output to);

// ---- direct.cu: convolutions of images [N, C, ...] that the library does not support
struct DirectWindow {
  static constexpr int kAxes = 3;
  std::int64_t image[kAxes], kernel[kAxes], output[kAxes], stride[kAxes], dilation[kAxes], pad[kAxes];
  std::int64_t images = 1, in_channels = 1, out_channels = 1, groups = 1;
};
/// The convolution of x with filters [O, C / groups, kernel], its transpose, and the gradient of the filter. c is a value of
/// the size of the convolution's result.
void convolve_directly(Device& device, const DirectWindow& window, Operand x, Operand filter, Output y);
void convolve_transposed_directly(Device& device, const DirectWindow& window, Operand c, Operand filter, Output x);
void filter_gradient(Device& device, const DirectWindow& window, Operand x, Operand c, Output filter);

// ---- noise.cu

/// The noisy samples in a range of lanes: lane l is sample first + (begin + l) % count of point (begin + l) / count. In the
/// random generator, sample k has the number stride * k + offset.
struct DeviceRange {
  const float* x = nullptr;              ///< [points][elements]
  const std::uint32_t* index = nullptr;  ///< [points] positions in the data
  const std::uint32_t* draws = nullptr;  ///< [pairs][points], used instead of `index` if points share draws
  std::int64_t points = 0, elements = 0, first = 0, count = 1, begin = 0, lanes = 0;
  std::uint32_t stride = 1, offset = 0;

  PROBUST_HOST_DEVICE std::int64_t point(std::int64_t lane) const { return (begin + lane) / count; }
  PROBUST_HOST_DEVICE std::uint32_t sample(std::int64_t lane) const {
    return stride * static_cast<std::uint32_t>(first + (begin + lane) % count) + offset;
  }
  PROBUST_HOST_DEVICE std::uint32_t position(std::int64_t lane) const {
    return draws == nullptr ? index[point(lane)] : draws[(first + (begin + lane) % count) * points + point(lane)];
  }
};

/// An ElementNoise (noise.h) with its scale. `deviations` is on the device.
struct DeviceNoise {
  ElementNoise::Draw draw = ElementNoise::Draw::normal;
  const float* deviations = nullptr;
  bool varies = false;
  bool clips = false;
  ClipMath clip;
  float scale = 0;
  std::uint64_t seed = 0;
};
/// Whether the kernel implements draws of this distribution. Other noise is drawn on the host (noise_on_device.h).
constexpr bool has_kernel(ElementNoise::Draw draw) {
  return draw == ElementNoise::Draw::normal || draw == ElementNoise::Draw::uniform || draw == ElementNoise::Draw::laplace;
}
/// Writes noisy samples [lanes][elements], with the same bits as NoiseShape::add.
void draw(Device& device, const DeviceRange& range, const DeviceNoise& noise, float* to);
/// to = x - (to - x): mirrors noisy samples at their points.
void reflect(Device& device, const DeviceRange& range, float* to);
/// gradients [lanes][elements] *= the noise's standard deviations; lane l belongs to the point at index[l % examples].
void scale_by_deviation(Device& device, const ElementNoise& noise, const float* deviations, const std::uint32_t* index,
                        std::int64_t examples, Output gradients);

// ---- statistics.cu

/// counts[point][class] += the number of the point's lanes in logits [lanes][classes] with the largest logit at the class. In a
/// tie, the lowest class wins; a lane with a NaN counts for no class.
void count_winners(Device& device, const float* logits, std::int64_t classes, const DeviceRange& range, std::uint32_t* counts);
/// Writes the cotangents of margins, [seeds * examples][classes]: +1 at the target, -1 at the rival. `rivals` is
/// [examples][all_seeds], of which `seeds` rivals are used, beginning with rival `first`.
void seed_margins(Device& device, const std::int32_t* targets, const std::int32_t* rivals, std::int64_t all_seeds,
                  std::int64_t first, std::int64_t seeds, std::int64_t examples, std::int64_t classes, float* to);
/// Copies gradients [seeds * examples][elements] (lane s examples + b) to rows first + s of `rows`
/// [examples][all_seeds][elements].
void store_rows(Device& device, const float* gradients, std::int64_t seeds, std::int64_t examples, std::int64_t elements,
                std::int64_t first, std::int64_t all_seeds, float* rows);
/// to [examples][n][n] = inner products of the rows [examples][n][elements] of each example.
void gram(Device& device, const float* rows, std::int64_t examples, std::int64_t n, std::int64_t elements, double* to);
/// to [lanes][n] = inner products of (sample - x) with the rows [points][n][elements] of the sample's point.
void along(Device& device, const DeviceRange& range, const float* rows, std::int64_t n, const float* noisy, double* to);
/// to [samples][all_seeds] = inner products of (sample - x) with the gradients [seeds * samples][elements] at the samples
/// themselves, for `seeds` seeds, beginning with seed `first`.
void along_own(Device& device, const DeviceRange& range, const float* gradients, std::int64_t seeds, std::int64_t first,
               std::int64_t all_seeds, const float* noisy, double* to);
/// sums [points][all_seeds][elements] += the gradients [seeds * samples][elements] of all samples of each point, in order, for
/// `seeds` seeds, beginning with seed `first`.
void add_gradients(Device& device, const DeviceRange& range, const float* gradients, std::int64_t seeds, std::int64_t first,
                   std::int64_t all_seeds, std::int64_t points, double* sums);
/// to = sums / count, rounded to float32.
void average(Device& device, const double* sums, std::int64_t count, std::int64_t size, float* to);

// ---- normal.cu: normal probabilities of problems with the same number of variables
struct NormalProblems {
  static constexpr double kSmallest = 0.01;  ///< a problem is nearly singular if a variable's conditional variance is below this
  std::int64_t count = 0, size = 0;
  const double* limits = nullptr;                ///< [count][size]
  const double* correlations = nullptr;          ///< [count][size][size]
  double *residual = nullptr, *slack = nullptr;  ///< [count][size] conditional variances and limits of variables not yet placed
  double *root = nullptr, *mean = nullptr;       ///< [count] conditional deviation and mean of the variable placed last
  double* least = nullptr;                       ///< [count] the smallest conditional variance of any variable
  double* factor = nullptr;                      ///< [count][column][size]
  std::int32_t* order = nullptr;                 ///< [count][size]
  double *rows = nullptr, *bounds = nullptr;     ///< [count][size][size] factor and [count][size] limits, both in `order`
};
/// Orders the variables of every problem, the most restrictive first. If a problem's `least` is below kSmallest, its rows are
/// invalid.
void order_variables(Device& device, const NormalProblems& all);

/// The points of a level of the shifted lattice (normal/lattice.h) at which the integrands of some of the problems are
/// evaluated.
struct NormalPoints {
  const std::int64_t* problems = nullptr;  ///< [count] numbers of the problems
  std::int64_t count = 0;
  std::int64_t first = 0, stride = 1, points = 0, whole = 1;  ///< as in LatticeMean::Level
  const double *generator = nullptr, *shifts = nullptr;       ///< as in ShiftedLattice
  double* y = nullptr;                                        ///< [size][count * points * kShifts]
  double* values = nullptr;                                   ///< [2][count * points * kShifts]
};
/// Writes the sums over the level's points of the integrand and of its complement to `sums` [2][count][kShifts].
void evaluate_level(Device& device, const NormalProblems& all, const NormalPoints& at, double* sums);

}  // namespace probust::cuda
