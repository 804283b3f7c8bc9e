// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/ops/op.h"

// What each family file provides to the list in all_ops.cpp.
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

/// Number of elements of a shape, as a double, for flops.
double count(const Shape& shape);

/// One operation per output element.
double flops_elementwise(const Attributes&, std::span<const Shape>, const Shape& y);

/// Data movement only.
double flops_none(const Attributes&, std::span<const Shape>, const Shape& y);

/// A derivative that is zero almost everywhere, or not wanted.
ValueId vjp_zero(Graph& graph, ValueId y, std::size_t operand, ValueId cotangent);

/// Throws Error{unreadable} unless the shape has the axis.
void require_axis(std::string_view op, std::int64_t axis, const Shape& shape);

/// Throws Error{unreadable, operator name, what}.
[[noreturn]] void misfit(std::string_view op, const std::string& what);

}  // namespace probust::ops
