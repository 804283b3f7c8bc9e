// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// Products x W with a constant matrix on the right. With few lanes, a row of x and one of its lanes are broadcast against rows
/// of W, so that x is read where it is; with more, elements of W against vectors of lanes. No kernel for other products, nor for
/// one row: then lanes are the rows.
Product make_rows_matmul(const Graph& graph, const Node& node, const std::vector<float>& bias);

}  // namespace probust::cpu
