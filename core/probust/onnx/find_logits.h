// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// A classifier with its final softmax, sigmoid or argmax removed: the logits, and one sentence for each removal.
struct FoundLogits {
  ValueId logits;
  std::vector<std::string> notes{};
  bool classifies = false;  ///< the last operator was an ArgMax, Softmax or LogSoftmax over all classes
};

/// True if at most one extent is not 1: [1, C], [C], [1, C, 1, 1].
bool is_vector(const Shape& shape);

/// True if `id` is the position of the largest of several numbers, or a label looked up by that position.
bool is_argmax(const Graph& graph, ValueId id);

/// The logits before a final ArgMax, Softmax or LogSoftmax over all classes. With `two_classes`, a single output after a Sigmoid
/// becomes the logits [0, s] of two classes, whose margin is s.
FoundLogits find_logits(Graph& graph, ValueId output, bool two_classes);

}  // namespace probust::onnx
