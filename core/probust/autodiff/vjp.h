// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// A graph that also computes vector-Jacobian products.
struct Vjp {
  Graph graph;                      ///< the given graph plus the backward sweep; outputs: the given ones, then `gradients`
  std::vector<ValueId> cotangents;  ///< one `seeded` input per differentiated output, of that output's shape
  std::vector<ValueId> gradients;   ///< one value per entry of `wrt`, of that value's shape: sum over outputs (dy/dw)ᵀ c
};

/// Reverse-mode differentiation as a transform from graph to graph.
///
/// `outputs` are the values to differentiate, `wrt` the values to differentiate with respect to: inputs, constants (weights) or
/// any intermediate value. The cotangents are seeded: an executor runs the sweep for S of them at once, and computes whatever
/// does not depend on the seed (the forward pass, its activations) once. The gradients are per example; for a weight, sum them
/// over the examples.
///
/// The result consists of the same operators, so vjp can be applied to it again. This file names no operator: the rules are in
/// ops/.
Vjp vjp(const Graph& graph, std::span<const ValueId> outputs, std::span<const ValueId> wrt);

/// True if every derivative of every output with respect to every input is zero for any weights: sign networks, decision trees,
/// labels. This depends on structure, not on numbers: a linear classifier with zero weights is not piecewise constant in this
/// sense.
bool is_piecewise_constant(const Graph& graph);

/// True if every second derivative is zero almost everywhere for any weights, in the same sense: linear classifiers, and networks
/// of linear layers, rectifiers and maxima.
bool is_piecewise_linear(const Graph& graph);

}  // namespace probust
