// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "probust/graph/graph.h"

namespace probust {

/// y[i] = f(a[i]) for i < count. y may be a.
using UnaryLoop = void (*)(float parameter, const float* a, float* y, std::int64_t count);

/// y[i] = f(a[i], b[i]) for i < count. y may be a. A scalar operand has one value for all i.
using BinaryLoop = void (*)(float parameter, const float* a, bool scalar_a, const float* b, bool scalar_b, float* y,
                            std::int64_t count);

/// Properties from which kernels, moment rules and passes are derived. Tests compare them with the reference evaluation.
struct Traits {
  std::uint32_t affine = 0;  ///< bit k: affine in operand k if the others are fixed; the last bit stands for all further operands
  bool sums = false;         ///< every element of y is a sum of different elements of a, or 0
  bool moves = false;        ///< every element of y is an element of a, or 0
  UnaryLoop unary = nullptr;    ///< set if y is a function of a, element by element
  BinaryLoop binary = nullptr;  ///< set if y is a function of a and b, element by element, with broadcasting

  bool affine_in(std::size_t operand) const { return (affine >> std::min<std::size_t>(operand, 31) & 1) != 0; }
};

inline constexpr Traits kSums{.affine = 0b1, .sums = true};
inline constexpr Traits kMoves{.affine = 0b1, .sums = true, .moves = true};
constexpr Traits affine(std::uint32_t operands) { return {.affine = operands}; }

/// The machine-independent definition of an operator. Executors have the machine-dependent part, such as fast kernels.
struct OpDefinition {
  Op op;
  std::string_view name;
  std::string_view formula;  ///< in terms of the operands a, b (or x, w, c) and the output y
  int min_inputs;
  int max_inputs;

  /// The shape of the output. Throws Error{unreadable} if operands or attributes do not fit.
  Shape (*infer)(const Attributes&, std::span<const Shape> operands);

  /// The reference evaluation for one example: slow but simple, with sums in double precision. `y` has the inferred shape.
  void (*eval)(const Attributes&, std::span<const Tensor* const> operands, Tensor& y);

  /// Vector-Jacobian product: appends the nodes of (dy/d operand)ᵀ c and returns their value, which has the operand's shape;
  /// kNoValue if it is zero everywhere. Null if the operator has no operands.
  ValueId (*vjp)(Graph&, ValueId y, std::size_t operand, ValueId c);

  /// Floating-point operations for one example; a multiply-add counts as two.
  double (*flops)(const Attributes&, std::span<const Shape> operands, const Shape& y);

  Traits traits = {};
};

/// Every operator, in the order of `Op`. Tests, executors and documentation iterate over this list.
std::span<const OpDefinition> all_ops();

/// The definition of one operator.
const OpDefinition& definition(Op op);

/// The kernel, rule or other function that a table has for an operator; null if none.
template <class Function, std::size_t n>
Function* function_for(const std::pair<Op, Function*> (&table)[n], Op op) {
  for (const auto& [own, function] : table) {
    if (own == op) return function;
  }
  return nullptr;
}

/// Floating-point operations of a graph for one example. Constants are not counted.
double flops(const Graph& graph);

}  // namespace probust
