// SPDX-License-Identifier: MIT
// One vjp adds the gradients of the losses with respect to the points; a second one adds the gradient of the objective with
// respect to the weights.
#include "probust/train/objective.h"

#include "probust/autodiff/vjp.h"
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

// Inputs: x, labels, the weights and, if regularised, a cotangent of one and lambda. Outputs: the objective, and the batch's
// moments.
struct ObjectiveGraph {
  Graph graph;
  std::vector<ValueId> weights;
};

ObjectiveGraph objective_graph(const Network& network, std::int64_t rows, bool regularised) {
  Graph g;
  const ValueId x = append_rows(g, network, rows);
  const ValueId wanted = append_input(g, {rows, network.classes}, Extent::example, "labels");
  const std::vector<ValueId> weights = append_inputs(g, network.weights);
  LayerGraph layers(g, weights, {}, true);
  const ValueId logits = append_network(layers, network, x);
  const ValueId log_p = append(g, Op::log_softmax, {logits}, AxisAttribute{1});
  const ValueId sum = build::negate(g, sum_all(g, build::multiply(g, wanted, log_p)));
  ValueId total = sum;
  if (regularised) {
    // Each row of x affects only its own loss, so the rows of the gradient of the sum are the gradients of the losses.
    const ValueId outputs[] = {sum}, inputs[] = {x};
    Vjp sweep = vjp(g, outputs, inputs);
    g = std::move(sweep.graph);
    const ValueId lambda = append_input(g, {}, Extent::example, "lambda");
    const ValueId squares = build::multiply(g, sweep.gradients[0], sweep.gradients[0]);
    total = build::add(g, sum, build::multiply(g, lambda, sum_all(g, squares)));
  }
  g.outputs = {build::multiply(g, total, build::constant(g, 1.0F / static_cast<float>(rows)))};
  g.outputs.insert(g.outputs.end(), layers.observed.begin(), layers.observed.end());
  return {std::move(g), weights};
}

}  // namespace

Objective::Objective(const Network& network, std::int64_t rows, bool regularised, const StopToken* stop)
    : regularised_(regularised) {
  const ObjectiveGraph objective = objective_graph(network, rows, regularised);
  program_ = compile_eigen(vjp(objective.graph, std::span(objective.graph.outputs).first(1), objective.weights).graph);
  workspace_.stop = stop;
}

float Objective::run(const Batched& batch, const std::vector<Parameter>& weights, double lambda, std::vector<Tensor>& gradients,
                     std::vector<Tensor>& observed) {
  const auto strength = static_cast<float>(lambda);
  std::vector<const float*> in = {batch.x.data.data(), batch.wanted.data.data()};
  in.reserve(weights.size() + 5);
  for (const Parameter& weight : weights) in.push_back(weight.value.data.data());
  if (regularised_) in.insert(in.end(), {&kOne, &strength});
  in.push_back(&kOne);
  float loss = 0;
  std::vector<float*> out = {&loss};
  out.reserve(observed.size() + gradients.size() + 1);
  for (Tensor& moment : observed) out.push_back(moment.data.data());
  for (Tensor& gradient : gradients) out.push_back(gradient.data.data());
  program_->run({1, 1}, in, out, workspace_);
  return loss;
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
