// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "probust/onnx/lower.h"
#include "probust/onnx/wire.h"

namespace probust::onnx {

/// What all bodies of one model share: the graph that is made, the model that it is made from, what may still be spent.
struct LoweringTarget {
  Graph& graph;
  const ModelProto& model;
  Budget& budget;
  std::int64_t batch = 1;  ///< a number of examples that the model was exported for and that is taken out of its shapes
};

/// Lowers the nodes of one body: of the model's graph, of a branch, or of a function that the model defines. Each node is lowered
/// once, and only when something asks for what it makes.
class GraphLowering {
 public:
  /// `values` are the names that the body can read from the start. The nodes must outlive this.
  /// Throws Error{unreadable} where two nodes make the same name.
  GraphLowering(LoweringTarget target, const std::vector<NodeProto>& nodes, const Opsets& opsets,
                std::map<std::string, Named> values, int depth = 0);

  /// True where the body has a value of this name, or a node that makes it.
  bool has(const std::string& name) const { return values_.count(name) != 0 || producers_.count(name) != 0; }

  /// The value of that name. Lowers the nodes that it needs, each after those that make its operands; the file need not be sorted
  /// (keras2onnx writes files that are not), and a sorted one keeps its order. The id is kNoValue if the node's lowering leaves
  /// the output out. Throws Error{unreadable} if nothing makes the value or nodes form a cycle, Error{unsupported} if an operator
  /// on the way is not supported.
  Named value(const std::string& name);

  /// The outputs of a graph that stands in a node's attribute and reads this body's names.
  std::vector<Named> branch(const GraphProto& graph);

 private:
  /// Nodes that are still to be lowered, each with those of them that make its operands.
  using Needed = std::map<std::size_t, std::vector<std::size_t>>;

  Lowering at(const NodeProto& node);
  Needed needed_for(const std::string& name) const;
  std::vector<std::size_t> sorted(const Needed& needed);
  [[noreturn]] void refuse_cycle(const std::set<std::size_t>& left);
  void lower_node(const NodeProto& node);
  void lower_operator(Lowering& lowering);
  void call(const FunctionProto& function, Lowering& lowering);

  LoweringTarget target_;
  const std::vector<NodeProto>& nodes_;
  const Opsets& opsets_;
  std::map<std::string, Named> values_;
  std::map<std::string, std::size_t> producers_;  // the node that makes each name
  std::set<std::size_t> lowered_;
  int depth_;
};

/// The names that a node reads, those that graphs in its attributes read from around them among them.
std::vector<std::string> reads_of(const NodeProto& node);

/// The version of ai.onnx that a body is written in; 0 where it does not say.
std::int64_t opset_of(const Opsets& opsets);

/// Adds a graph's weights to `values`, as constants.
void add_initializers(LoweringTarget target, const GraphProto& graph, std::map<std::string, Named>& values);

}  // namespace probust::onnx
