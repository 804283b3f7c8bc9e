// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "probust/exec/executor.h"

namespace probust {

/// How the programs of a classifier share the memory of a processor, with batches that fit it. All functions throw
/// Error{resources} if a single example does not fit.
class HostMemory {
 public:
  HostMemory(const ExecutorOptions& options, std::int64_t elements, std::int64_t classes);

  /// The options, with the memory that remains after the weights are subtracted.
  const ExecutorOptions& options() const { return options_; }
  /// The memory as requested, including the weights.
  std::int64_t given() const { return given_; }

  /// Subtracts the weights of these programs of a graph from the memory, if they are included in it. Null programs are skipped.
  void subtract_weights(const Graph& graph, std::span<const Program* const> programs);

  /// Throws if values do not fit: compiling creates tables with one entry per element, and a small file can declare values that
  /// fit no machine.
  void check_values_fit(const Graph& graph);

  /// The preferred number of lanes of the kernels or, if their values do not fit into the cache, the smallest number of lanes
  /// at which the kernels run well.
  Batch forward_batch(const Program& forward) const;
  Batch gradient_batch(const Program& gradient, std::int64_t rows) const;

 private:
  std::int64_t scratch_bytes() const;
  std::int64_t forward_bytes(const Program& forward, std::int64_t lanes) const;
  std::int64_t gradient_bytes(const Program& gradient, const Batch& batch, std::int64_t rows) const;
  [[noreturn]] void too_little(std::int64_t needed) const;

  ExecutorOptions options_;
  std::int64_t given_, elements_, classes_;
  std::int64_t weights_ = 0;  // the weights, if they are included in the memory
};

}  // namespace probust
