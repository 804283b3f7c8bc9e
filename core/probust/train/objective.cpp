// SPDX-License-Identifier: MIT
// A vjp adds the gradients with respect to the points that the loss contains; a last one adds the gradient of the loss with
// respect to the weights.
#include "probust/train/objective.h"

#include "probust/autodiff/vjp.h"
#include "probust/ops/append.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr float kOne = 1;  // the value of every cotangent

std::vector<ValueId> append_inputs(Graph& g, const std::vector<Parameter>& parameters) {
  std::vector<ValueId> ids;
  ids.reserve(parameters.size());
  for (const Parameter& each : parameters) ids.push_back(append_input(g, each.value.shape, Extent::example, each.name));
  return ids;
}

ValueId append_rows(Graph& g, const Network& network, std::int64_t rows) {
  Shape shape = network.point;
  shape.insert(shape.begin(), rows);
  return append_input(g, shape, Extent::example, "x");
}

ValueId sum_all(Graph& g, ValueId x) {
  const std::int64_t size = element_count(g[x].shape);
  return build::reshape(g, build::reduce_sum(g, build::reshape(g, x, {size}), {0}), {});
}

// The values of a batch from which losses are computed: logits and one-hot labels [rows, classes].
struct BatchValues {
  ValueId x, wanted, logits;
};

// The sum over the rows of the cross-entropy.
ValueId cross_entropy_of(Graph& g, ValueId wanted, ValueId logits) {
  const ValueId log_p = append(g, Op::log_softmax, {logits}, AxisAttribute{1});
  return build::negate(g, sum_all(g, build::multiply(g, wanted, log_p)));
}

// Appends the gradient of `output` with respect to x, with a cotangent as a new input.
ValueId gradient_in(Graph& g, ValueId output, ValueId x) {
  const ValueId outputs[] = {output}, inputs[] = {x};
  Vjp sweep = vjp(g, outputs, inputs);
  g = std::move(sweep.graph);
  return sweep.gradients[0];
}

// Each row of x affects only its own loss, so the rows of the gradient of the sum are the gradients of the losses.
ValueId regularised_loss(Graph& g, const BatchValues& batch) {
  const ValueId sum = cross_entropy_of(g, batch.wanted, batch.logits);
  const ValueId gradient = gradient_in(g, sum, batch.x);
  const ValueId lambda = append_input(g, {}, Extent::example, "lambda");
  return build::add(g, sum, build::multiply(g, lambda, sum_all(g, build::multiply(g, gradient, gradient))));
}

// The gradients of the logits with respect to x, [rows, classes, d].
ValueId logit_gradients(Graph& g, const BatchValues& batch) {
  const std::int64_t rows = g[batch.logits].shape[0], classes = g[batch.logits].shape[1];
  std::vector<ValueId> all;
  for (std::int64_t c = 0; c < classes; ++c) {
    Tensor only({1, classes});
    only.data[static_cast<std::size_t>(c)] = 1;
    const ValueId one = sum_all(g, build::multiply(g, batch.logits, append_constant(g, std::move(only))));
    const ValueId gradient = gradient_in(g, one, batch.x);
    all.push_back(build::reshape(g, gradient, {rows, 1, element_count(g[gradient].shape) / rows}));
  }
  return append(g, Op::concat, all, AxisAttribute{1});
}

// The mv-sigmoid of the label's z is the softmax of -z over all classes, with z = 0 for the label itself: its -log is the
// cross-entropy of -z.
ValueId robust_loss(Graph& g, const BatchValues& batch) {
  constexpr float kLeastSquare = 1e-6F;
  const Shape& shape = g[batch.logits].shape;
  const std::int64_t rows = shape[0], classes = shape[1];
  const ValueId gradients = logit_gradients(g, batch);
  const ValueId own_logit = build::reduce_sum(g, build::multiply(g, batch.wanted, batch.logits), {1});
  const ValueId selected = build::multiply(g, build::reshape(g, batch.wanted, {rows, classes, 1}), gradients);
  const ValueId differences = build::subtract(g, build::reduce_sum(g, selected, {1}), gradients);
  const ValueId squares =
      build::reshape(g, build::reduce_sum(g, build::multiply(g, differences, differences), {2}), {rows, classes});
  // The label's own square is zero, so its derivative of the root needs the constant, too.
  const ValueId lengths = append(g, Op::sqrt, {build::add(g, squares, build::constant(g, kLeastSquare))});
  const ValueId sigma = append_input(g, {}, Extent::example, "sigma");
  const ValueId minus_z = build::divide(g, build::subtract(g, batch.logits, own_logit), build::multiply(g, sigma, lengths));
  return cross_entropy_of(g, batch.wanted, minus_z);
}

ValueId summed_loss(Graph& g, const BatchValues& batch, Loss loss) {
  if (loss == Loss::regularised) return regularised_loss(g, batch);
  if (loss == Loss::p_robust) return robust_loss(g, batch);
  return cross_entropy_of(g, batch.wanted, batch.logits);
}

// The number of calls of gradient_in.
std::int64_t sweeps_of(Loss loss, std::int64_t classes) {
  return loss == Loss::cross_entropy ? 0 : loss == Loss::regularised ? 1 : classes;
}

// Inputs: x, labels, the weights and, for a loss with gradients, a cotangent of one for each, and the strength. Outputs: the
// objective, and the batch's moments.
struct ObjectiveGraph {
  Graph graph;
  std::vector<ValueId> weights;
};

ObjectiveGraph objective_graph(const Network& network, std::int64_t rows, Loss loss) {
  Graph g;
  BatchValues batch{append_rows(g, network, rows), append_input(g, {rows, network.classes}, Extent::example, "labels"), kNoValue};
  const std::vector<ValueId> weights = append_inputs(g, network.weights);
  LayerGraph layers(g, weights, {}, true);
  batch.logits = append_network(layers, network, batch.x);
  const ValueId total = summed_loss(g, batch, loss);
  g.outputs = {build::multiply(g, total, build::constant(g, 1.0F / static_cast<float>(rows)))};
  g.outputs.insert(g.outputs.end(), layers.observed.begin(), layers.observed.end());
  return {std::move(g), weights};
}

}  // namespace

Objective::Objective(const Network& network, std::int64_t rows, Loss loss, const StopToken* stop)
    : loss_(loss), sweeps_(sweeps_of(loss, network.classes)) {
  const ObjectiveGraph objective = objective_graph(network, rows, loss);
  program_ = compile_eigen(vjp(objective.graph, std::span(objective.graph.outputs).first(1), objective.weights).graph);
  workspace_.stop = stop;
}

float Objective::run(const Batched& batch, const std::vector<Parameter>& weights, double strength, std::vector<Tensor>& gradients,
                     std::vector<Tensor>& observed) {
  const auto factor = static_cast<float>(strength);
  std::vector<const float*> in = {batch.x.data.data(), batch.wanted.data.data()};
  in.reserve(weights.size() + static_cast<std::size_t>(sweeps_) + 4);
  for (const Parameter& weight : weights) in.push_back(weight.value.data.data());
  in.insert(in.end(), static_cast<std::size_t>(sweeps_), &kOne);
  if (loss_ != Loss::cross_entropy) in.push_back(&factor);
  in.push_back(&kOne);
  float result = 0;
  std::vector<float*> out = {&result};
  out.reserve(observed.size() + gradients.size() + 1);
  for (Tensor& moment : observed) out.push_back(moment.data.data());
  for (Tensor& gradient : gradients) out.push_back(gradient.data.data());
  program_->run({1, 1}, in, out, workspace_);
  return result;
}

BatchLogits::BatchLogits(const Network& network, std::int64_t rows, const StopToken* stop) {
  Graph g;
  const ValueId x = append_rows(g, network, rows);
  const std::vector<ValueId> weights = append_inputs(g, network.weights);
  LayerGraph layers(g, weights, append_inputs(g, network.statistics), false);
  g.outputs = {append_network(layers, network, x)};
  program_ = compile_eigen(g);
  workspace_.stop = stop;
}

void BatchLogits::run(const Tensor& x, const Network& network, Tensor& logits) {
  std::vector<const float*> in = {x.data.data()};
  in.reserve(network.weights.size() + network.statistics.size() + 1);
  for (const auto* parameters : {&network.weights, &network.statistics}) {
    for (const Parameter& each : *parameters) in.push_back(each.value.data.data());
  }
  float* const out[] = {logits.data.data()};
  program_->run({1, 1}, in, out, workspace_);
}

}  // namespace probust
