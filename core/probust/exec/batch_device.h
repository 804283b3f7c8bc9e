// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/base/transpose.h"
#include "probust/exec/executor.h"

namespace probust {

struct HeadSplit;

/// Noisy samples in lanes: lane l is sample (begin + l) % count of point (begin + l) / count. Sample c of a point has the sample
/// number stride * (first + c) + offset, which is part of the key of its noise.
struct SampleRange {
  std::int64_t first = 0, count = 1, begin = 0, lanes = 0;
  double scale = 1;  ///< scale of the noise; negative for the second sample of each antithetic pair
  int stride = 1, offset = 0;
  bool of_pairs = false;  ///< whether sample c belongs to pair first + c, for which points may share a draw

  std::int64_t point(std::int64_t lane) const { return (begin + lane) / count; }
  std::int64_t column(std::int64_t lane) const { return (begin + lane) % count; }
  std::int64_t sample(std::int64_t lane) const { return stride * (first + column(lane)) + offset; }
  bool operator==(const SampleRange&) const = default;
};

/// The points of a call and the shape of their noise, in a form that a device can read. Both must outlive this object, which
/// refers to them.
struct PlacedPoints {
  PlacedPoints(const Points& all, const NoiseShape& noise) : points(all), shape(noise) {}
  virtual ~PlacedPoints() = default;
  PlacedPoints(const PlacedPoints&) = delete;
  PlacedPoints& operator=(const PlacedPoints&) = delete;

  /// The position that is part of the key of this lane's noise.
  std::int64_t position(const SampleRange& range, std::int64_t lane) const {
    const std::int64_t i = range.point(lane);
    return range.of_pairs && !points.draws.empty() ? points.draws[range.first + range.column(lane)][i] : points.index[i];
  }

  const Points& points;
  const NoiseShape& shape;
};

/// The cotangents of a sweep: for each example, those of `rows` margins f_t - f_i, or of `rows` logits.
struct Seeds {
  std::int64_t rows = 0;
  std::span<const std::int64_t> targets{};              ///< [examples] t; if empty, seed `row` is logit `row`
  std::span<const std::vector<std::int64_t>> rivals{};  ///< [examples][rows] i; if empty, all other classes in order

  std::int64_t rival(std::int64_t example, std::int64_t row) const {
    return rivals.empty() ? rival_of(row, targets[example]) : rivals[example][row];
  }
};

/// A forward and backward pass, compiled for a number of seeds.
struct Sweep {
  LinearizeAt at;
  Batch batch;                   ///< the maximum numbers of examples and seeds in a run
  const Noise* noise = nullptr;  ///< the noise, with LinearizeAt::noise_mean; otherwise null
  bool to_first_layer =
      false;  ///< whether the gradients are those with respect to the outputs of the first layer (passes/first_layer_split.h)
};

/// The form in which a worker keeps gradients after a sweep: unchanged, or whitened (NoiseShape::whiten).
enum class GradientForm { raw, whitened };

/// Logits on the host, valid until the worker's next run.
struct LogitsView {
  const float* data;
  std::int64_t lane_stride, class_stride;

  /// Writes the logits as [lanes][classes].
  void store(std::int64_t lanes, std::int64_t classes, float* rows) const {
    if (lane_stride == 1 && class_stride == lanes) return transpose(data, classes, lanes, rows);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      for (std::int64_t c = 0; c < classes; ++c) rows[lane * classes + c] = data[lane * lane_stride + c * class_stride];
    }
  }

  /// The logits [classes] of one lane.
  Eigen::VectorXd lane(std::int64_t lane, std::int64_t classes) const {
    using Strided = Eigen::Map<const Eigen::VectorXf, 0, Eigen::InnerStride<>>;
    return Strided(data + lane * lane_stride, classes, Eigen::InnerStride<>(class_stride)).cast<double>();
  }

  template <class Column>
  void store_margins(std::int64_t lane, std::int64_t target, Column&& margins) const {
    probust::store_margins(data + lane * lane_stride, class_stride, target, margins);
  }
};

/// An array in device memory.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
};

/// The properties of a device. The batch and the memory change when the device compiles another program; the rest is fixed.
struct DeviceFacts {
  std::string name{};
  Shape point_shape{};
  std::int64_t classes = 0;
  const Graph* classifier = nullptr;  ///< null if unknown
  bool differentiable = true;
  int workers = 1;
  Batch forward_batch{};
  ExecutorOptions options{};
  bool splits_head = false;      ///< whether without_head() returns a device
  bool reads_gradients = false;  ///< whether BatchGradients::read_kept works
};

/// Fills a worker's lanes. Every call replaces the contents of the lanes; `reflect` mirrors those of the last draw.
class BatchInputs {
 public:
  virtual std::unique_ptr<PlacedPoints> place(const Points& points, const NoiseShape& shape) = 0;
  /// Loads points [count, elements] without noise.
  virtual void load(int worker, const float* points, std::int64_t count) = 0;
  virtual void draw(int worker, const PlacedPoints& placed, const SampleRange& range) = 0;
  /// Announces the next draw, for devices that can draw while they run a program.
  virtual void draw_soon(int worker, const PlacedPoints& placed, const SampleRange& range) = 0;
  /// Mirrors each sample in the lanes at its point.
  virtual void reflect(int worker, const PlacedPoints& placed, const SampleRange& range) = 0;

 protected:
  ~BatchInputs() = default;
};

/// Runs programs on the lanes.
class BatchRuns {
 public:
  virtual void forward(int worker, std::int64_t lanes) = 0;
  /// Compiles the programs of a sweep, and chooses a batch for this number of seeds. Error{unsupported} if there are no
  /// gradients.
  virtual Sweep prepare(LinearizeAt at, std::int64_t rows) = 0;
  /// Like prepare, for gradients at the input of which only sums are needed. The device may end such sweeps at the first layer.
  virtual Sweep prepare_sums(std::int64_t rows) = 0;
  /// Runs a sweep for the examples in the lanes, which belong to the points at positions `index` of the data. Calls
  /// take(first_row, rows) for each group of seeds; during this call, the gradients of the group can be reduced.
  virtual void sweep(int worker, const Sweep& which, std::span<const std::int64_t> index, const Seeds& seeds,
                     const std::function<void(std::int64_t, std::int64_t)>& take) = 0;
  /// Compiles the program that propagates moments, and chooses a batch. Error{unsupported} if an operator has no moment rule.
  virtual Batch prepare_moments() = 0;
  /// Computes moments of the logits at the points in the lanes, for noise that is the same at all points. `logits` returns the
  /// means.
  virtual void propagate(int worker, const Noise& noise, std::int64_t lanes) = 0;
  /// The variances from the last propagation.
  virtual LogitsView variances(int worker) = 0;
  /// The logits of the last forward, sweep or propagation.
  virtual LogitsView logits(int worker) = 0;
  /// Executor::profile for this sweep or, if `sweep` is null, for forwards.
  virtual std::vector<KindTime> profile(const Points& points, const Sweep* sweep) = 0;

 protected:
  ~BatchRuns() = default;
};

/// Reduces logits to counts.
class BatchCounts {
 public:
  /// Counters [points][classes], initially zero.
  virtual std::unique_ptr<DeviceBuffer> make_counts(std::int64_t points) = 0;
  /// Counts, for each lane of the last forward, the class with the largest logit.
  virtual void count_winners(int worker, const SampleRange& range, DeviceBuffer& counts) = 0;
  virtual PredictionCounts read_counts(const DeviceBuffer& counts) = 0;

 protected:
  ~BatchCounts() = default;
};

/// Reduces gradients. During a sweep, the gradients of each group of seeds in turn can be read, whitened, kept or added. Kept
/// gradients stay available until the worker's next sweep that keeps gradients.
class BatchGradients {
 public:
  // ---- gradients of the current group of a sweep

  /// The gradients of the only example: [rows of the group, elements].
  virtual void read_gradients(int worker, float* rows) = 0;
  /// Whitens the gradients by the noise at the points of the sweep.
  virtual void whiten(int worker, const PlacedPoints& placed) = 0;
  /// Makes room for the gradients that a sweep will keep: [examples][rows][elements].
  virtual void make_room(int worker, GradientForm form, std::int64_t examples, std::int64_t rows) = 0;
  virtual void keep(int worker, GradientForm form) = 0;
  /// Creates sums [points][rows], initially zero, for the gradients of sweeps `which` over noisy samples.
  virtual std::unique_ptr<DeviceBuffer> make_sums(const Sweep& which, std::int64_t points, std::int64_t rows) = 0;
  /// Adds the gradients at samples to the sums of their points, in the order of the samples.
  virtual void add(int worker, const PlacedPoints& placed, const SampleRange& range, DeviceBuffer& sums) = 0;
  /// [rows, samples] The products of each sample's noise with the gradients at that sample, for the last sweep whose gradients
  /// were added.
  virtual Eigen::MatrixXd along_own(int worker) = 0;

  // ---- kept gradients

  /// Keeps the means, raw and whitened, of sums over `samples` samples. The sums cannot be used afterwards.
  virtual void keep_means(int worker, const PlacedPoints& placed, DeviceBuffer& sums, std::int64_t samples) = 0;
  /// [rows, rows] U Uᵀ for the kept gradients U of each example.
  virtual std::vector<Eigen::MatrixXd> grams(int worker, GradientForm form) = 0;
  /// [rows, samples] The products of each sample's noise with the raw gradients of its point.
  virtual Eigen::MatrixXd along(int worker, const PlacedPoints& placed, const SampleRange& range) = 0;
  /// Reads the kept raw gradients of each example [rows, elements]. Call it only if DeviceFacts::reads_gradients is set.
  virtual void read_kept(int worker, std::span<Eigen::MatrixXf> to) = 0;
  /// Frees the kept gradients early, instead of at the next sweep.
  virtual void drop_kept(int worker) = 0;

 protected:
  ~BatchGradients() = default;
};

/// The device of a ChunkedExecutor. It fills lanes with points or noisy samples, runs programs on them and reduces the results.
/// Each worker has one set of lanes, and different threads may use different workers at once. The executor handles chunks, pairs,
/// progress and stop requests; the device handles batches that fit into its memory. All functions, including those of the four
/// interfaces, throw Error.
class BatchDevice {
 public:
  virtual ~BatchDevice() = default;

  virtual const DeviceFacts& facts() const = 0;
  virtual BatchInputs& inputs() = 0;
  virtual BatchRuns& runs() = 0;
  virtual BatchCounts& counts() = 0;
  virtual BatchGradients& gradients() = 0;

  /// Sets the object that counts passes and carries stop requests.
  virtual void report_to(Progress& progress) = 0;
  /// Must be called at the beginning of each call of the executor, on its thread.
  virtual void use() = 0;
  /// Frees the memory that is kept for reuse.
  virtual void release() = 0;
  /// A device with the same limits for the classifier without its last layer; null unless DeviceFacts::splits_head.
  virtual std::unique_ptr<BatchDevice> without_head(const HeadSplit& split) = 0;
  /// A device for a part of the classifier, with this share of the memory; null if the device cannot run parts.
  /// Error{resources} if a single example does not fit.
  virtual std::unique_ptr<BatchDevice> of_part(const Graph& part, double share) = 0;
  /// Executor::normal_solver.
  virtual normal::ProblemSolver* normal_solver() = 0;
};

}  // namespace probust
