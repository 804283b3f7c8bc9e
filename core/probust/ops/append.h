// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "probust/graph/graph.h"

// Builds and checks graphs: shapes and extents follow from the operators' definitions.
namespace probust {

/// Appends a node and returns its value; its shape and extent are inferred from the operands. Throws Error{unreadable} if the
/// operands do not fit the operator.
ValueId append(Graph& graph, Op op, std::vector<ValueId> inputs, Attributes attributes = {}, std::string name = {});

/// Appends an input: one tensor of `shape` per example (or per seed and example).
ValueId append_input(Graph& graph, Shape shape, Extent extent, std::string name);

/// Appends a constant.
ValueId append_constant(Graph& graph, Tensor value, std::string name = {});

/// Appends the nodes of a function of one output, with `inputs` as its inputs, and returns its output.
ValueId append_function(Graph& graph, const Graph& function, std::span<const ValueId> inputs);
inline ValueId append_function(Graph& graph, const Graph& function, ValueId x) {
  return append_function(graph, function, std::span(&x, 1));
}
inline ValueId append_function(Graph& graph, const Graph& function, std::initializer_list<ValueId> inputs) {
  return append_function(graph, function, std::span(inputs.begin(), inputs.size()));
}

/// Checks that a graph is valid: operands come before their readers, and arities, attributes, shapes and extents agree with the
/// operators' definitions. Throws Error{unreadable} naming the node. Runs after every pass.
void check(const Graph& graph);

}  // namespace probust
