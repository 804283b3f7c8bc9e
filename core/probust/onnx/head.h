// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// What a classifier ends in, taken off: the logits behind it, and a sentence for each thing that was left out.
struct Head {
  ValueId logits;
  std::vector<std::string> notes;
};

/// True where at most one extent is not 1: [1, C], [C], [1, C, 1, 1].
bool is_vector(const Shape& shape);

/// True where `id` is the position, or a label looked up by the position, of the largest of several numbers.
bool is_argmax(const Graph& graph, ValueId id);

/// The logits behind a last ArgMax, Softmax or LogSoftmax over all classes. With `two_classes`, one number behind a Sigmoid
/// becomes the logits [0, s] of two classes, whose margin is s.
Head strip_head(Graph& graph, ValueId output, bool two_classes);

}  // namespace probust::onnx
