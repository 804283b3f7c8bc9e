// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

// The graphs that an executor derives from a classifier f: R^d -> R^C. They throw the Errors of vjp and propagate_moments.
namespace probust {

/// (x, c [C]) -> (f(x), J(x)ᵀ c); c is a seeded input.
Graph gradient_graph(const Graph& classifier);

/// (x, variances v [d] of this extent) -> (E f, Var f), both [C], for x plus noise of variances v, by moment propagation
/// (moments/moments.h).
Graph moment_graph(const Graph& classifier, Extent variances);

/// (x, variances v [d], seed c [C]) -> (E f, the gradient of cᵀ E f with respect to x) for x plus noise of variances v, by moment
/// propagation (moments/moments.h).
Graph smoothed_gradient_graph(const Graph& classifier);

/// (x, seed c [C], seed w [d]) -> (f(x), J(x)ᵀ c, H w), H the Hessian of cᵀ f at x.
Graph hessian_graph(const Graph& classifier);

/// (x, variances v [d], seed c [C], seed w [d]) -> (E f, the gradient of cᵀ E f, H w), H the Hessian of cᵀ E f at x, for the
/// means E f of smoothed_gradient_graph.
Graph smoothed_hessian_graph(const Graph& classifier);

}  // namespace probust
