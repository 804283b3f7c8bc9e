// SPDX-License-Identifier: MIT
#include "probust/onnx/find_logits.h"

#include <algorithm>

#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

ValueId before_reshapes(const Graph& graph, ValueId id) {
  while (graph[id].op == Op::reshape) id = graph[id].inputs[0];
  return id;
}

// The top_index over a whole vector that determines the output; kNoValue if there is none.
ValueId argmax_before(const Graph& graph, ValueId id) {
  id = before_reshapes(graph, id);
  if (graph[id].op == Op::take && graph[graph[id].inputs[0]].extent == Extent::constant)
    id = before_reshapes(graph, graph[id].inputs[1]);
  if (graph[id].op != Op::top_index || element_count(graph[id].shape) != 1) return kNoValue;
  const ValueId compared = graph[id].inputs[0];
  const bool whole =
      graph[compared].shape[std::get<AxisExtent>(graph[id].attributes).axis] == element_count(graph[compared].shape);
  return whole && element_count(graph[compared].shape) > 1 ? id : kNoValue;
}

// softmax(f) and log_softmax(f) over all classes have the argmax of f, but saturated margins: use f.
bool strip_softmax(const Graph& graph, FoundLogits& head) {
  const ValueId id = before_reshapes(graph, head.logits);
  const Op op = graph[id].op;
  if (op != Op::softmax && op != Op::log_softmax) return false;
  const std::int64_t axis = std::get<AxisAttribute>(graph[id].attributes).axis;
  if (graph[id].shape[axis] != element_count(graph[id].shape)) return false;
  head.logits = graph[id].inputs[0];
  head.classifies = true;
  head.notes.push_back(std::string("the final ") + (op == Op::softmax ? "Softmax" : "LogSoftmax") +
                       " is left out: margins need logits");
  return true;
}

// P(second class) = sigmoid(s) is the second entry of softmax([0, s]).
void strip_sigmoid(Graph& graph, FoundLogits& head, bool two_classes) {
  const ValueId id = before_reshapes(graph, head.logits);
  if (graph[id].op != Op::sigmoid) return;
  if (element_count(graph[id].shape) > 1) {
    head.notes.push_back("the output passes through a Sigmoid, which saturates: margins are those of its values");
  } else if (!two_classes) {
    head.notes.push_back("the output is one number after a Sigmoid: estimates take it as two classes whose margin is its logit");
  } else {
    const ValueId score = build::reshape(graph, graph[id].inputs[0], {1});
    const ValueId zero = append_constant(graph, Tensor({1}));
    head.logits = append(graph, Op::concat, {zero, score}, AxisAttribute{0});
    head.notes.push_back("the final Sigmoid of one number is left out: two classes, whose margin is the number before it");
  }
}

}  // namespace

bool is_vector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) <= 1 &&
         element_count(shape) >= 1;
}

bool is_argmax(const Graph& graph, ValueId id) { return argmax_before(graph, id) != kNoValue; }

FoundLogits find_logits(Graph& graph, ValueId output, bool two_classes) {
  FoundLogits head{output};
  if (const ValueId argmax = argmax_before(graph, output); argmax != kNoValue) {
    head.logits = graph[argmax].inputs[0];
    head.classifies = true;
    head.notes.emplace_back("the final ArgMax is left out: margins need what it compares");
  }
  if (!strip_softmax(graph, head)) strip_sigmoid(graph, head, two_classes);
  return head;
}

}  // namespace probust::onnx
