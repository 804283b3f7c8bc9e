// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// A graph that also computes pulled-back cotangents.
struct Vjp {
  Graph graph;                      ///< the given graph, the sweep appended; outputs: the given ones, then `gradients`
  std::vector<ValueId> cotangents;  ///< one `seeded` input per differentiated output, of that output's shape
  std::vector<ValueId> gradients;   ///< one value per entry of `wrt`, of that value's shape: sum over outputs (dy/dw)ᵀ c
};

/// Reverse-mode differentiation as a transform from graph to graph.
///
/// `outputs` are the values to differentiate, `wrt` the values to differentiate with respect to: inputs, constants (weights) or
/// any value between. The cotangents are seeded: an executor runs the sweep for S of them at once, and whatever does not depend
/// on the seed (the forward pass, its activations) is computed once. The gradients belong to one example each; with respect to a
/// weight, sum them over the examples.
///
/// The result is made of the same operators as the input, so vjp applies to it again. This file names no operator: the rules are
/// the operators' own (ops/).
Vjp vjp(const Graph& graph, std::span<const ValueId> outputs, std::span<const ValueId> wrt);

/// True where no output has a derivative with respect to any input but zero, whatever the weights: sign networks, decision trees,
/// labels. Structure decides, not numbers: a linear classifier with zero weights is not piecewise constant in this sense.
bool is_piecewise_constant(const Graph& graph);

}  // namespace probust
