// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "probust/onnx/lower/lower.h"
#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The data that all bodies of a model share: the graph under construction, the source model, and the remaining budget.
struct LoweringTarget {
  Graph& graph;
  const ModelProto& model;
  Budget& budget;
  std::int64_t batch = 1;  ///< number of examples that the model was exported for, which is removed from its shapes
};

/// Lowers the nodes of one body: the model's graph, a branch, or a function that the model defines. Each node is lowered once,
/// and only when one of its outputs is needed.
class GraphLowering {
 public:
  /// `values` are the names that the body can read at the start. The nodes must outlive this object. Throws Error{unreadable}
  /// if two nodes compute the same name.
  GraphLowering(LoweringTarget target, const std::vector<NodeProto>& nodes, const Opsets& opsets,
                std::map<std::string, Named> values, int depth = 0);

  /// Whether the body has a value of this name, or a node that computes it.
  bool has(const std::string& name) const { return values_.count(name) != 0 || producers_.count(name) != 0; }

  /// The value with this name. Lowers the nodes that it depends on, each after the nodes that compute its operands. The file need
  /// not be sorted (keras2onnx writes unsorted files); a sorted file keeps its order. The id is kNoValue if the lowering of the
  /// node does not compute the output. Throws Error{unreadable} if no node computes the value or nodes form a cycle,
  /// Error{unsupported} if a needed operator is not supported.
  Named value(const std::string& name);

  /// The names of all values lowered so far.
  std::vector<std::string> lowered_names() const;

  /// A value that has been lowered.
  const Named& known(const std::string& name) const { return values_.at(name); }

  /// The outputs of a graph in an attribute of a node, which can read the names of this body.
  std::vector<Named> branch(const GraphProto& graph);

 private:
  /// The nodes that remain to be lowered; for each of them, the remaining nodes that compute its operands.
  using Needed = std::map<std::size_t, std::vector<std::size_t>>;

  Lowering at(const NodeProto& node);
  Needed needed_for(const std::string& name) const;
  std::vector<std::size_t> sorted(const Needed& needed);
  [[noreturn]] void refuse_cycle(const std::set<std::size_t>& left);
  bool makes_text(const NodeProto& node) const;
  void lower_node(const NodeProto& node);
  void lower_operator(Lowering& lowering);
  void call(const FunctionProto& function, Lowering& lowering);

  LoweringTarget target_;
  const std::vector<NodeProto>& nodes_;
  const Opsets& opsets_;
  std::map<std::string, Named> values_;
  std::map<std::string, std::size_t> producers_;  // the node that computes each name
  std::set<std::size_t> lowered_;
  int depth_;
};

/// The names that a node reads, including outer names read by graphs in its attributes.
std::vector<std::string> reads_of(const NodeProto& node);

/// The version of ai.onnx that a body uses; 0 if not declared.
std::int64_t opset_of(const Opsets& opsets);

/// Adds a graph's weights to `values`, as constants.
void add_initializers(LoweringTarget target, const GraphProto& graph, std::map<std::string, Named>& values);

}  // namespace probust::onnx
