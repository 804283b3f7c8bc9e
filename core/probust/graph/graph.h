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

/// What a value varies with, besides its own axes. A graph is a function of one example; executors run it for B examples and S
/// cotangent seeds at once, and shapes do not include these leading axes.
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
  Shape shape;       ///< of the value, for one example (and one seed)
  Extent extent;     ///< the largest among the operands' extents
  std::string name;  ///< its name in the model, for messages; may be empty
};

/// A function of one example as a list of nodes, each after its operands. A plain value: copy it, edit it, print it.
struct Graph {
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;

  const Node& operator[](ValueId id) const { return nodes[static_cast<std::size_t>(id)]; }
  /// The `input` nodes, in order.
  std::vector<ValueId> inputs() const;
};

/// Whether an operator gives missing values, NaN, a meaning: decision trees do, and so does comparing a value with itself, as
/// imputers do. Other operators, such as maxima, may lose a NaN by accident.
bool handles_missing(const Graph& graph);

/// The tensor of a `constant` node.
const Tensor& constant_value(const Graph& graph, ValueId id);

/// How many nodes and graph outputs read each value.
std::vector<int> use_counts(const Graph& graph);

/// [nodes] the node that reads each value, if it is read once and is not an output; otherwise kNoValue.
std::vector<ValueId> only_readers(const Graph& graph);

}  // namespace probust
