// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "probust/graph/graph.h"

namespace probust {

/// What is true of an operator everywhere. What is true of one machine (fast kernels) lives with the executor.
struct OpDefinition {
  Op op;
  std::string_view name;
  std::string_view formula;  ///< in terms of the operands a, b (or x, w, c) and the output y
  int min_inputs;
  int max_inputs;

  /// Shape of the output. Throws Error{unreadable} where operands or attributes do not fit.
  Shape (*infer)(const Attributes&, std::span<const Shape> operands);

  /// The reference evaluation for one example: slow, clear, accumulating in double. `y` has the inferred shape.
  void (*eval)(const Attributes&, std::span<const Tensor* const> operands, Tensor& y);

  /// The pulled-back cotangent: appends the nodes of (dy/d operand)ᵀ c and returns their value, which has the operand's shape;
  /// kNoValue where it is zero everywhere. Null where the operator has no operands.
  ValueId (*vjp)(Graph&, ValueId y, std::size_t operand, ValueId c);

  /// Floating-point operations for one example, a multiply-add counted as two.
  double (*flops)(const Attributes&, std::span<const Shape> operands, const Shape& y);
};

/// Every operator, in the order of `Op`. The one list: tests, executors and documentation walk it.
std::span<const OpDefinition> all_ops();

/// The definition of one operator.
const OpDefinition& definition(Op op);

/// Floating-point operations of a graph for one example, constants not counted.
double flops(const Graph& graph);

}  // namespace probust
