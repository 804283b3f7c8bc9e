// SPDX-License-Identifier: MIT
#include "probust/passes/head_split.h"

#include <utility>
#include <vector>

#include "probust/ops/append.h"
#include "probust/ops/build.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

// The operand of a chain of reshapes that ends at `id`.
ValueId reshaped_from(const Graph& graph, ValueId id) {
  while (graph[id].op == Op::reshape) id = graph[id].inputs[0];
  return id;
}

// The biases of the classes, if the value is a constant with one number per class or one for all classes.
std::optional<Eigen::VectorXf> as_bias(const Graph& graph, ValueId id, std::int64_t classes) {
  if (graph[id].op != Op::constant) return std::nullopt;
  const std::vector<float>& values = constant_value(graph, id).data;
  if (values.size() == 1) return Eigen::VectorXf::Constant(classes, values[0]);
  if (static_cast<std::int64_t>(values.size()) != classes) return std::nullopt;
  return Eigen::Map<const Eigen::VectorXf>(values.data(), classes);
}

struct LinearOutput {
  ValueId features;
  LastLayer last;
};

// Matches f = h W with w elements of h, in any shape. Returns W as [C, w].
std::optional<LinearOutput> as_product(const Graph& graph, ValueId id, std::int64_t classes) {
  const Node& node = graph[id];
  if (node.op != Op::matmul || graph[node.inputs[1]].op != Op::constant) return std::nullopt;
  const auto t = std::get<MatmulAttributes>(node.attributes);
  const Tensor& weights = constant_value(graph, node.inputs[1]);
  const std::int64_t inputs = element_count(graph[node.inputs[0]].shape);
  if (weights.size() != classes * inputs || element_count(node.shape) != classes || node.shape.back() != classes)
    return std::nullopt;
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  LinearOutput result{node.inputs[0], {}};
  if (t.transpose_b) {
    result.last.weights = Eigen::Map<const RowMajor>(weights.data.data(), classes, inputs);
  } else {
    result.last.weights = Eigen::Map<const Eigen::MatrixXf>(weights.data.data(), classes, inputs);  // [w, C] by rows
  }
  result.last.bias = Eigen::VectorXf::Zero(classes);
  return result;
}

std::optional<LinearOutput> linear_output(const Graph& graph) {
  const std::int64_t classes = element_count(graph[graph.outputs[0]].shape);
  const ValueId id = reshaped_from(graph, graph.outputs[0]);
  const Node& node = graph[id];
  if (node.op != Op::add) return as_product(graph, id, classes);
  for (const std::size_t side : {0U, 1U}) {
    const auto bias = as_bias(graph, node.inputs[side], classes);
    auto product = as_product(graph, reshaped_from(graph, node.inputs[1 - side]), classes);
    if (!bias || !product) continue;
    product->last.bias = *bias;
    return product;
  }
  return std::nullopt;
}

}  // namespace

std::optional<HeadSplit> split_head(const Graph& classifier) {
  const std::int64_t rivals = element_count(classifier[classifier.outputs[0]].shape) - 1;
  if (rivals <= kManyRivals) return std::nullopt;
  std::optional<LinearOutput> output = linear_output(classifier);
  if (!output || output->last.weights.cols() >= rivals) return std::nullopt;
  Graph g = classifier;
  const std::int64_t width = output->last.weights.cols();
  const ValueId features = build::reshape(g, output->features, {width});
  const ValueId zero = append_constant(g, Tensor(Shape{1}));
  g.outputs = {append(g, Op::concat, {zero, append(g, Op::negate, {features})}, AxisAttribute{0})};
  return HeadSplit{simplify(g), std::make_shared<const LastLayer>(std::move(output->last))};
}

}  // namespace probust
