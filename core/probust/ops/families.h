// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/ops/op.h"

// The functions that each family of operators provides to the list in all_ops.cpp.
namespace probust::ops {

std::span<const OpDefinition> matmul_family();
std::span<const OpDefinition> conv_family();
std::span<const OpDefinition> pool_family();
std::span<const OpDefinition> grid_sample_family();
std::span<const OpDefinition> unary_family();
std::span<const OpDefinition> binary_family();
std::span<const OpDefinition> reduce_family();
std::span<const OpDefinition> arrange_family();
std::span<const OpDefinition> softmax_family();
std::span<const OpDefinition> choice_family();
std::span<const OpDefinition> trees_family();
std::span<const OpDefinition> gaussian_family();

/// The number of elements of a shape, as a double because flops are doubles.
double count(const Shape& shape);

/// One operation per output element.
double flops_elementwise(const Attributes&, std::span<const Shape>, const Shape& y);

/// Zero, for operators that only move data.
double flops_none(const Attributes&, std::span<const Shape>, const Shape& y);

/// A vjp for operators whose derivative is zero almost everywhere, or is never needed.
ValueId vjp_zero(Graph& graph, ValueId y, std::size_t operand, ValueId cotangent);

/// Throws Error{unreadable} unless the shape has this axis.
void require_axis(std::string_view op, std::int64_t axis, const Shape& shape);

/// Throws Error{unreadable} with the operator's name as subject and `what` as problem.
[[noreturn]] void misfit(std::string_view op, const std::string& what);

}  // namespace probust::ops
