// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cuda/program.h"
#include "probust/exec/batch_device.h"

namespace probust::cuda {

/// The device memory for runs, reused from call to call. Each buffer is as large as the largest run so far required.
struct Buffers {
  static constexpr std::int64_t kInputs = 2;
  std::array<Array<float>, kInputs> inputs;  ///< noisy samples of the current run, and of the next one, drawn in the meantime
  Array<float> arena, variances, cotangents, repeated_logits, repeated_gradients;
  std::array<Array<float>, 2> kept;  ///< by GradientForm, [examples][rows][elements]
  Array<double> products;
  Array<std::uint32_t> keys;
  Array<std::int32_t> targets, rivals;

  std::int64_t bytes() const;
};

/// The programs of a classifier on a device, with batches that fit into its memory. All functions throw Error.
class Batches {
 public:
  /// Compiles the classifier. `options.memory` limits the memory of the device. Throws Error{resources} if a single example
  /// does not fit.
  Batches(Device& device, const Graph& classifier, const ExecutorOptions& options, Warn warn);

  const DeviceProgram& forward() const { return *forward_; }
  Batch forward_batch() const { return forward_batch_; }
  /// Compiles the gradient program on first use, and reserves the memory for a batch with this number of seeds.
  Sweep prepare(LinearizeAt at, std::int64_t rows);
  /// Like prepare(), for the moment program.
  Batch prepare_moments();
  const DeviceProgram& moments() const { return *moments_; }
  const DeviceProgram& gradient(LinearizeAt at) const { return at == LinearizeAt::input ? *gradient_ : *smoothed_; }

  /// The float32 logits [lanes][classes] of the first few of `points` [lanes][elements], whatever the device's precision. There
  /// are at most most_lanes lanes, and only as many as fit into the memory of forwards; there may be none. They are computed by
  /// a program that is released afterwards.
  std::vector<float> exact_logits(const float* points, std::int64_t most_lanes);

  Buffers buffers;

 private:
  std::unique_ptr<DeviceProgram> compile(const Graph& graph) const;
  bool reserve(std::int64_t workspace, const Batch& batch, std::int64_t rows);
  Batch fit_forward();
  Batch fit_gradient(const DeviceProgram& program, std::int64_t rows);

  Device& device_;
  const Graph& graph_;
  ExecutorOptions options_;
  Warn warn_;
  std::int64_t elements_, classes_, most_lanes_;
  std::unique_ptr<DeviceProgram> forward_, gradient_, smoothed_, moments_;
  Batch forward_batch_, moment_batch_;
  std::map<std::pair<LinearizeAt, std::int64_t>, Batch> gradient_batches_;  // the second key is the number of rows of a sweep
};

}  // namespace probust::cuda
