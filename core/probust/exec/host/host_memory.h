// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "probust/exec/executor.h"

namespace probust {

/// Divides host memory among the programs of a classifier, and chooses batches that fit into it. All functions throw
/// Error{resources} if a single example does not fit.
class HostMemory {
 public:
  HostMemory(const ExecutorOptions& options, std::int64_t elements, std::int64_t classes);

  /// The options, with the memory that remains after the weights are subtracted.
  const ExecutorOptions& options() const { return options_; }
  /// The memory as requested, including the weights.
  std::int64_t given() const { return given_; }

  /// Subtracts the weights of the graph and of its programs from the memory, if `weights_included`. Null programs are skipped.
  void subtract_weights(const Graph& graph, std::span<const Program* const> programs);

  /// Throws if values do not fit. Check this before compiling, which creates tables with one entry per element: a small file can
  /// declare values that are too large for any machine.
  void check_values_fit(const Graph& graph);

  /// The preferred number of lanes or, if the values of that many lanes do not fit into the cache, the smallest number of lanes
  /// at which the kernels run at full speed.
  Batch forward_batch(const Program& forward) const;
  Batch gradient_batch(const Program& gradient, std::int64_t rows) const;

 private:
  std::int64_t scratch_bytes() const;
  std::int64_t forward_bytes(const Program& forward, std::int64_t lanes) const;
  std::int64_t gradient_bytes(const Program& gradient, const Batch& batch, std::int64_t rows) const;
  [[noreturn]] void too_little(std::int64_t needed) const;

  ExecutorOptions options_;
  std::int64_t given_, elements_, classes_;
  std::int64_t weights_ = 0;  // size of the weights, if these are included in the memory
};

}  // namespace probust
