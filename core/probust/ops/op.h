// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "probust/graph/graph.h"

namespace probust {

/// The machine-independent definition of an operator. What depends on a machine (fast kernels) is in the executor.
struct OpDefinition {
  Op op;
  std::string_view name;
  std::string_view formula;  ///< in terms of the operands a, b (or x, w, c) and the output y
  int min_inputs;
  int max_inputs;

  /// Shape of the output. Throws Error{unreadable} if operands or attributes do not fit.
  Shape (*infer)(const Attributes&, std::span<const Shape> operands);

  /// The reference evaluation for one example: slow, clear, accumulating in double. `y` has the inferred shape.
  void (*eval)(const Attributes&, std::span<const Tensor* const> operands, Tensor& y);

  /// The pulled-back cotangent: appends the nodes of (dy/d operand)ᵀ c and returns their value, which has the operand's shape;
  /// kNoValue if it is zero everywhere. Null if the operator has no operands.
  ValueId (*vjp)(Graph&, ValueId y, std::size_t operand, ValueId c);

  /// Floating-point operations for one example; a multiply-add counts as two.
  double (*flops)(const Attributes&, std::span<const Shape> operands, const Shape& y);
};

/// Every operator, in the order of `Op`. Tests, executors and documentation iterate over this list.
std::span<const OpDefinition> all_ops();

/// The definition of one operator.
const OpDefinition& definition(Op op);

/// Floating-point operations of a graph for one example, without constants.
double flops(const Graph& graph);

}  // namespace probust
