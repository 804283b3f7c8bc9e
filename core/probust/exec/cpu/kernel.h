// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probust/exec/programs/program.h"
#include "probust/graph/graph.h"

namespace probust::cpu {

/// An operand of a kernel, laid out [elements][lanes] with the lanes of its extent (1 for a constant).
struct Operand {
  const float* data;
  const Shape* shape;
  Extent extent;
};

/// An element-wise operation on the result of a product, applied while the result is in the cache: relu; or add, multiply,
/// maximum or minimum with one of the kernel's operands, which has the shape of the result or is a constant.
struct Fused {
  Op op;
  std::size_t operand = 0;
  std::int64_t inner = 1, size = 0;  ///< element e of the result uses element e / inner % size of a constant
};

/// One call of a kernel. The output has the largest extent among the operands; its lane s * examples + b reads lane b of an
/// example operand and lane 0 of a constant.
struct Call {
  std::span<const Operand> in;
  float* out;
  const Shape* shape;
  Batch batch;
  std::int64_t lanes;  ///< lanes of the output
  Workspace* workspace;
  std::span<const Fused> fused{};

  std::int64_t lanes_of(std::size_t operand) const { return batch.lanes(in[operand].extent); }

  /// Scratch memory of exactly this size, or several parts of these sizes. A call invalidates memory returned earlier.
  float* scratch(std::int64_t size) const { return workspace->scratch.take(size); }
  template <std::size_t N>
  std::array<float*, N> scratch(const std::array<std::int64_t, N>& sizes) const {
    return workspace->scratch.take(sizes);
  }

  /// Applies the fused operations to floats first .. first + count - 1 of the output, whose sums must be complete. Kernels of
  /// products with constants must finish every float of the output exactly once.
  void finish(std::int64_t first, std::int64_t count) const {
    if (!fused.empty()) apply_fused(first, count);
  }
  void apply_fused(std::int64_t first, std::int64_t count) const;
  void combine_constant(const Fused& stage, std::int64_t first, std::int64_t count) const;
  void combine_runs(const Fused& stage, std::int64_t first, std::int64_t count) const;
  bool combine_elements(const Fused& stage, std::int64_t element, std::int64_t count) const;
  void combine_repeated(Op op, const float* x, std::int64_t own, float* y, std::int64_t count) const;

  /// Throws Error{interrupted} if a stop was requested. Kernels that may take long call it regularly.
  void stop_if_asked() const { probust::stop_if_asked(workspace->stop); }
};

using Kernel = std::function<void(const Call&)>;

/// Creates the kernel of one node. All work that depends only on constants and shapes is done here.
using MakeKernel = Kernel (*)(const Graph&, const Node&);

/// How to create an operator's kernel, and how the kernel may use memory.
struct KernelEntry {
  MakeKernel make = nullptr;
  bool in_place = false;  ///< whether the output may overwrite the first operand
};

/// The kernel of an operator. If there is no fast one, it calls the reference evaluation for each lane.
KernelEntry kernel_entry(Op op);

/// The kernel of a product with a constant.
struct Product {
  Kernel kernel;
  std::int64_t rows = 0;          ///< rows that one lane contributes to the matrix product
  std::int64_t packed_bytes = 0;  ///< size of the constant in the order in which the kernel reads it
  /// The bytes of scratch memory for this many lanes. Null if the kernel needs little.
  std::function<std::int64_t(std::int64_t lanes)> scratch_bytes = nullptr;
};

/// Creates the kernel of a product. `bias` has one value per channel, or none; it takes no extra time, because the sums start
/// from it. The Product has no kernel if the algorithm does not apply.
using MakeProduct = Product (*)(const Graph&, const Node&, std::vector<float> bias);

/// Matrix products of gathered operands by Eigen's kernel. The results are the same on every machine, including in browsers.
Product make_product(const Graph&, const Node&, std::vector<float> bias);

/// Creates a kernel with the fastest algorithm for the product's size.
Product make_fast_product(const Graph&, const Node&, std::vector<float> bias);

/// Whether the kernel of this product with a constant can have a bias.
bool can_add_bias(const Graph& graph, const Node& product);

/// The constant matrix or filter of a product with a constant; kNoValue for other nodes.
ValueId constant_factor(const Graph& graph, const Node& node);

/// Whether the operator has a fast kernel.
bool has_fast_kernel(Op op);

// Each of these is defined in the file of its family of operators, named as in ops/.
ValueId constant_factor_of_matmul(const Graph&, const Node&);
bool can_add_bias_to_matmul(const Graph&, const Node&);
Kernel make_matmul(const Graph&, const Node&);
Product make_constant_matmul(const Graph&, const Node&, std::vector<float> bias);
Product make_constant_conv(const Graph&, const Node&, std::vector<float> bias);
Kernel make_variable_conv(const Graph&, const Node&);
/// Whether a convolution, or one of its derivatives, has one channel per group on both sides; and the kernel for this case.
bool has_single_channels(const Graph&, const Node&);
Kernel make_lane_conv(const Graph&, const Node&);
Kernel make_max_pool(const Graph&, const Node&);
Kernel make_max_scatter(const Graph&, const Node&);
Kernel make_max_gather(const Graph&, const Node&);
Kernel make_sum_pool(const Graph&, const Node&);
Kernel make_sum_unpool(const Graph&, const Node&);
Kernel make_grid_sample(const Graph&, const Node&);
Kernel make_unary(const Graph&, const Node&);
Kernel make_binary(const Graph&, const Node&);
Kernel make_select(const Graph&, const Node&);
Kernel make_reduce_sum(const Graph&, const Node&);
Kernel make_broadcast(const Graph&, const Node&);
Kernel make_moves(const Graph&, const Node&);
Kernel make_concat(const Graph&, const Node&);
Kernel make_softmax(const Graph&, const Node&);
Kernel make_gaussian(const Graph&, const Node&);
Kernel make_reference(const Graph&, const Node&);

}  // namespace probust::cpu
