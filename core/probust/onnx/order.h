// SPDX-License-Identifier: MIT
// Operators that keep the order of a vector's elements, and their operands.
#pragma once

#include <optional>
#include <string>

#include "probust/graph/graph.h"

namespace probust::onnx {

bool is_single(const Graph& graph, ValueId id);

/// Whether an operator only moves, selects or repeats the elements of its only operand.
bool moves_elements(Op op);

/// The value before all reshapes, transposes and slices that change only the shape.
ValueId before_moves(const Graph& graph, ValueId id);

/// The value that all elements of a constant share; empty if they differ.
std::optional<double> uniform(const Graph& graph, ValueId id);

/// Whether a value is a Softmax or LogSoftmax over all elements.
bool is_whole_softmax(const Graph& graph, ValueId id);

/// The operand of a Softsign, x / (1 + |x|); kNoValue if the value is not a Softsign.
ValueId softsign_operand(const Graph& graph, ValueId id);

/// The operand of an operator that keeps the order of a vector's elements; kNoValue for other operators. `strict` is whether
/// different elements stay different, apart from rounding to float32. Operators that reverse the order (negation) are not
/// handled.
struct Step {
  ValueId operand = kNoValue;
  bool strict = true;
};

Step keeps_order(const Graph& graph, ValueId id);

/// Whether all entries of a constant table are different, so that a label looked up in it identifies its class.
bool has_distinct_values(const Graph& graph, ValueId id);

/// Whether an operator's values approach a limit, near which float32 cannot distinguish them.
bool saturates(Op op);

/// The ONNX name of an operator that users know as the end of a classifier; empty for other operators.
std::string onnx_name(Op op);

}  // namespace probust::onnx
