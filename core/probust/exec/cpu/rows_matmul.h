// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// Products x W with a constant matrix W. With few lanes, each element of a row of x is broadcast and multiplied by rows of W,
/// so x needs no packing; with more lanes, elements of W are broadcast and multiplied by vectors of lanes. The result has no
/// kernel for other products, nor if x has one row: other kernels then use the lanes as rows.
Product make_rows_matmul(const Graph& graph, const Node& node, const std::vector<float>& bias);

}  // namespace probust::cpu
