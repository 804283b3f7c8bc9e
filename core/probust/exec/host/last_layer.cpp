// SPDX-License-Identifier: MIT
#include "probust/exec/host/last_layer.h"

#include <algorithm>

#include "probust/base/linear_algebra.h"
#include "probust/ops/build.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

constexpr Eigen::Index kRowsAtOnce = 256;  // of D, so that all of D is never in memory

// The value before any reshapes.
ValueId reshaped_from(const Graph& graph, ValueId id) {
  while (graph[id].op == Op::reshape) id = graph[id].inputs[0];
  return id;
}

// The biases of the classes, if the value is a constant with one number per class, or one for all.
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

// Matches f = h W, with h of w elements in any shape. Returns W as [C, w].
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

// Rows first .. first + count - 1 of D: W_t - W_i for these margins of `target`.
Eigen::MatrixXd differences(const LastLayer& last, std::int64_t target, Eigen::Index first, Eigen::Index count) {
  Eigen::MatrixXd rows(count, last.weights.cols());
  const Eigen::RowVectorXd own = last.weights.row(target).cast<double>();
  for (Eigen::Index k = 0; k < count; ++k) rows.row(k) = own - last.weights.row(rival_of(first + k, target)).cast<double>();
  return rows;
}

// Calls use(first, rows of D from `first` on) for blocks that cover D.
template <class Use>
void for_differences(const LastLayer& last, std::int64_t target, const StopToken* stop, Use use) {
  const Eigen::Index m = last.weights.rows() - 1;
  for (Eigen::Index first = 0; first < m; first += kRowsAtOnce) {
    stop_if_asked(stop);
    use(first, differences(last, target, first, std::min(kRowsAtOnce, m - first)));
  }
}

Linearization margins_from(const std::shared_ptr<const LastLayer>& last, Linearization features, std::int64_t target,
                           const StopToken* stop) {
  const Eigen::Index m = last->weights.rows() - 1;
  Linearization result;
  result.last = last;
  result.target = target;
  result.margins.resize(m);
  result.margin_variances = margin_variances(*last, features.gram, target, stop);
  const bool samples = features.sampled.size() > 0;
  for (Eigen::MatrixXd* each : {&result.sampled, &result.along_mean, &result.along_own})
    each->resize(samples ? m : 0, samples ? features.sampled.cols() : 0);
  for_differences(*last, target, stop, [&](Eigen::Index first, const Eigen::MatrixXd& D) {
    const Eigen::Index count = D.rows();
    Eigen::VectorXd shift(count);
    for (Eigen::Index k = 0; k < count; ++k)
      shift[k] = double{last->bias[target]} - double{last->bias[rival_of(first + k, target)]};
    result.margins.segment(first, count) = times(D, features.margins) + shift;
    if (!samples) return;
    result.sampled.middleRows(first, count) = product(D, features.sampled).colwise() + shift;
    result.along_mean.middleRows(first, count) = product(D, features.along_mean);
    result.along_own.middleRows(first, count) = product(D, features.along_own);
  });
  result.gram = std::move(features.gram);
  return result;
}

}  // namespace

Eigen::MatrixXd Linearization::covariance(std::span<const std::int64_t> rows) const {
  const std::vector<std::int64_t> chosen(rows.begin(), rows.end());
  if (!last) return gram(chosen, chosen);
  Eigen::MatrixXd D(static_cast<Eigen::Index>(rows.size()), gram.cols());
  for (std::size_t k = 0; k < rows.size(); ++k) D.row(static_cast<Eigen::Index>(k)) = differences(*last, target, rows[k], 1);
  return congruent(D, gram);
}

Eigen::VectorXd margin_variances(const LastLayer& last, const Eigen::MatrixXd& gram, std::int64_t target, const StopToken* stop) {
  Eigen::VectorXd variances(last.weights.rows() - 1);
  for_differences(last, target, stop, [&](Eigen::Index first, const Eigen::MatrixXd& D) {
    variances.segment(first, D.rows()) = product(D, gram).cwiseProduct(D).rowwise().sum();
  });
  return variances;
}

std::optional<SplitClassifier> split_last_layer(const Graph& classifier) {
  const std::int64_t rivals = element_count(classifier[classifier.outputs[0]].shape) - 1;
  if (rivals <= kManyRivals) return std::nullopt;
  std::optional<LinearOutput> output = linear_output(classifier);
  if (!output || output->last.weights.cols() >= rivals) return std::nullopt;
  Graph g = classifier;
  const std::int64_t width = output->last.weights.cols();
  const ValueId features = build::reshape(g, output->features, {width});
  const ValueId zero = append_constant(g, Tensor(Shape{1}));
  g.outputs = {append(g, Op::concat, {zero, append(g, Op::negate, {features})}, AxisAttribute{0})};
  return SplitClassifier{simplify(g), std::make_shared<const LastLayer>(std::move(output->last))};
}

Points for_features(const Points& points) {
  Points result = points;
  std::fill(result.target.begin(), result.target.end(), 0);
  return result;
}

std::vector<Linearization> through_last_layer(const std::shared_ptr<const LastLayer>& last, std::vector<Linearization> features,
                                              const Points& points, const StopToken* stop) {
  std::vector<Linearization> result;
  result.reserve(features.size());
  for (std::size_t i = 0; i < features.size(); ++i)
    result.push_back(margins_from(last, std::move(features[i]), points.target[i], stop));
  return result;
}

}  // namespace probust
