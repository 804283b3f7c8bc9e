// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/graph/attributes.h"
#include "probust/graph/operators.h"

namespace probust {

/// What a value depends on. A graph is a function of one example; executors run it for B examples and S cotangent seeds at
/// once, and shapes do not include these leading axes.
enum class Extent : std::uint8_t {
  constant,  ///< the same for all examples
  example,   ///< one per example
  seeded,    ///< one per cotangent seed and example
};

/// A value is identified by the index of the node that computes it.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  Attributes attributes;
  Shape shape;       ///< shape for one example (and one seed)
  Extent extent;     ///< the largest among the operands' extents
  std::string name;  ///< name in the model, for messages; may be empty
};

/// A function of one example as a list of nodes. Operands come before their readers. Graphs can be copied, edited and printed.
struct Graph {
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;

  const Node& operator[](ValueId id) const { return nodes[static_cast<std::size_t>(id)]; }
  /// The `input` nodes, in order.
  std::vector<ValueId> inputs() const;
};

/// Whether an operator interprets NaN as a missing value: a decision tree, or a comparison of a value with itself, as imputers
/// use it. Other operators, such as maxima, may lose a NaN by accident.
bool handles_missing(const Graph& graph);

/// The tensor of a `constant` node.
const Tensor& constant_value(const Graph& graph, ValueId id);

/// The number of nodes and graph outputs that read each value.
std::vector<int> use_counts(const Graph& graph);

/// [nodes] The only reader of each value; kNoValue if no node or several nodes read the value, or if it is an output.
std::vector<ValueId> only_readers(const Graph& graph);

}  // namespace probust
