// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/error.h"
#include "probust/graph/graph.h"
#include "probust/onnx/wire.h"
#include "probust/ops/append.h"

// Lowering: each ONNX operator becomes nodes of the core's closed set.
namespace probust::onnx {

/// A named value of the ONNX graph. Values that depend only on weights and shapes become constants as soon as they are known.
struct Named {
  ValueId id = kNoValue;  ///< kNoValue if the node's lowering does not compute this output
  bool integer = false;
  std::int32_t type = 0;  ///< ONNX's number for the element type, if known: for weights, constants, casts and texts
};

/// A limit on the cost of computing constants at import. A small file must not take much memory or time, so the budget grows with
/// the size of the file; real models compute constants only from weights that they contain.
class Budget {
 public:
  explicit Budget(std::size_t file_bytes);
  /// Must be called before allocating. Throws Error{resources} if the budget is exceeded.
  void spend(std::int64_t elements, double flops = 0);

 private:
  double elements_, flops_;
};

/// The value as a constant node if it depends only on constants, otherwise the value itself. Throws like Budget::spend.
ValueId fold(Graph& graph, ValueId id, Budget& budget, const std::string& name);

class GraphLowering;

/// The supported versions of ai.onnx and ai.onnx.ml.
inline constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 28, kNewestMlOpset = 5;

/// One node being lowered: its operands, attributes and results.
class Lowering {
 public:
  Lowering(Graph& graph, const NodeProto& node, std::int64_t opset, const std::map<std::string, Named>& values, Budget& budget,
           GraphLowering& body, std::int64_t batch = 1);

  Graph& graph;
  const NodeProto& node;
  std::int64_t opset;

  // Operands.
  std::size_t inputs() const { return node.inputs.size(); }
  bool has(std::size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  ValueId in(std::size_t i) const { return named(i).id; }
  bool integer(std::size_t i) const { return named(i).integer; }
  std::int32_t type(std::size_t i) const { return named(i).type; }
  Shape shape(std::size_t i) const { return graph[in(i)].shape; }
  bool is_constant(std::size_t i) const { return is_constant_value(in(i)); }
  const Tensor& constant(std::size_t i) const;              ///< throws unless operand i is a constant
  std::vector<std::int64_t> integers(std::size_t i) const;  ///< a constant operand as integers; huge values saturate

  // Attributes.
  bool has_attribute(const std::string& name) const { return node.attributes.count(name) != 0; }
  std::int64_t attribute(const std::string& name, std::int64_t otherwise) const;
  float attribute(const std::string& name, float otherwise) const;
  std::string attribute(const std::string& name, const std::string& otherwise) const;
  std::vector<std::int64_t> attribute(const std::string& name, const std::vector<std::int64_t>& otherwise) const;
  std::vector<float> attribute(const std::string& name, const std::vector<float>& otherwise) const;
  std::vector<std::string> attribute(const std::string& name, const std::vector<std::string>& otherwise) const;
  /// Lowers the graph in an attribute and returns its outputs. Throws if the attribute has no graph.
  std::vector<Named> branch(const std::string& name) const;
  /// Integers that are an attribute in older opsets and operand i in newer ones; empty if neither is present.
  std::optional<std::vector<std::int64_t>> attribute_or_input(const std::string& name, std::size_t i) const;

  // Results.
  void set(std::size_t output, ValueId value, bool is_integer = false, std::int32_t type = 0);
  /// Sets output 0, which is an integer if all operands are.
  void set(ValueId value);
  const std::map<std::string, Named>& results() const { return results_; }

  // Appends a node, or, if all operands are constants, a constant with its value.
  ValueId add_node(Op op, std::vector<ValueId> operands, Attributes attributes = {});
  ValueId scalar(float value);
  ValueId tensor(Tensor value) { return append_constant(graph, std::move(value), label()); }

  /// Must be called before creating lists or tensors whose size the file determines.
  void spend(std::int64_t elements) { budget_.spend(elements); }

  /// The node's name in messages: "node 'conv1' (Conv, opset 17)".
  std::string where() const;
  Error error(ErrorCode code, const std::string& what, const std::string& hint) const;         ///< about this node
  [[noreturn]] void malformed(const std::string& what) const;                                  ///< Error{unreadable}
  [[noreturn]] void unsupported(const std::string& what, const std::string& hint = "") const;  ///< Error{unsupported}

  /// A target shape without the batch of the exported model: the first extent is divided by the batch, if it is a multiple of the
  /// batch.
  Shape without_batch(Shape shape) const;

  /// Converts a possibly negative axis to one of 0..rank-1.
  std::int64_t axis(std::int64_t value, std::int64_t rank) const;

 private:
  const Named& named(std::size_t i) const;
  bool is_constant_value(ValueId id) const { return graph[id].op == Op::constant; }
  std::string label() const { return node.name.empty() ? node.op_type : node.name; }
  const std::map<std::string, Named>& values_;
  const AttributeProto* find_attribute(const std::string& name, AttributeType type) const;
  Budget& budget_;
  GraphLowering& body_;
  std::int64_t batch_;
  std::map<std::string, Named> results_;
};

/// One-hot encoding of an index, which has extent 1 along `axis`: 1 at that position of an axis of `extent`, 0 elsewhere.
ValueId one_hot(Lowering& l, ValueId index, std::int64_t axis, std::int64_t extent);

/// sum^(1/p) for a norm, with derivative 0 at 0, where the root is not differentiable: a uniform patch of an image must not give
/// NaN.
ValueId norm_root(Lowering& l, ValueId sum, std::int64_t p = 2);

/// A row of a table of ONNX operators.
struct OnnxOperator {
  std::string_view op_type;
  void (*lower)(Lowering&);
  bool differentiable;     ///< false if the derivative is zero almost everywhere
  std::int64_t since = 1;  ///< the first version of its domain that contains it
  /// The core operator that gives the same values for floats, element by element; it is exported under this ONNX name.
  std::optional<Op> exported = {};
  std::string_view parameter = {};  ///< the name of the attribute with the operator's parameter, if it has one
};

/// A table of operators of one kind.
struct OperatorFamily {
  std::string_view title;
  std::string_view domain;
  std::span<const OnnxOperator> operators;
};

// One table per file.
std::span<const OnnxOperator> elementwise_operators();
std::span<const OnnxOperator> reduce_operators();
std::span<const OnnxOperator> window_operators();
std::span<const OnnxOperator> normalize_operators();
std::span<const OnnxOperator> attention_operators();
std::span<const OnnxOperator> einsum_operators();
std::span<const OnnxOperator> arrange_operators();
std::span<const OnnxOperator> index_operators();
std::span<const OnnxOperator> resize_operators();
std::span<const OnnxOperator> grid_operators();
std::span<const OnnxOperator> quantize_operators();
std::span<const OnnxOperator> ml_operators();
std::span<const OnnxOperator> tree_operators();

/// All tables: the only list of ONNX operators.
std::span<const OperatorFamily> operator_families();

/// The operator's entry in the table; null if there is none.
const OnnxOperator* find_operator(const std::string& op_type, const std::string& domain);

}  // namespace probust::onnx
