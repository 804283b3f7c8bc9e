// SPDX-License-Identifier: MIT
// Operators that keep the order of a vector's elements, and what they read.
#pragma once

#include <optional>
#include <string>

#include "probust/graph/graph.h"

namespace probust::onnx {

bool is_single(const Graph& graph, ValueId id);

/// Whether an operator only moves, picks or repeats elements of its one operand.
bool moves_elements(Op op);

/// The operand of reshapes, transposes and slices that change only the shape.
ValueId before_moves(const Graph& graph, ValueId id);

/// The number that all elements of a constant have.
std::optional<double> uniform(const Graph& graph, ValueId id);

/// A Softmax or LogSoftmax over all elements.
bool is_whole_softmax(const Graph& graph, ValueId id);

/// The operand of a Softsign, x / (1 + |x|); kNoValue if it is not one.
ValueId softsign_operand(const Graph& graph, ValueId id);

/// The operand of an operator that keeps the order of a vector's elements, or kNoValue. `strict`: whether different elements stay
/// different before rounding to float32. Elements that change places (negation) are not handled.
struct Step {
  ValueId operand = kNoValue;
  bool strict = true;
};

Step keeps_order(const Graph& graph, ValueId id);

/// Whether no two entries of a constant table are equal: then a label looked up in it identifies its class.
bool has_distinct_values(const Graph& graph, ValueId id);

/// Whether an operator's values come close to a limit, where float32 cannot tell them apart.
bool saturates(Op op);

/// The ONNX name of an operator that users know as the end of a classifier, or nothing.
std::string onnx_name(Op op);

}  // namespace probust::onnx
