// SPDX-License-Identifier: MIT
// vjp makes the gradient of the loss with respect to the points; a second vjp makes the gradient of the whole objective with
// respect to the weights.
#include "probust/train/objective.h"

#include "probust/autodiff/vjp.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr float kOne = 1;  // the value of every cotangent

// The network with its weights as inputs, appended after the existing inputs.
struct Network {
  std::vector<ValueId> weights;
  ValueId logits;
};

Network append_network(Graph& g, ValueId x, const Mlp& mlp) {
  Network network;
  network.weights.reserve(mlp.weights.size());
  for (const Tensor& weight : mlp.weights) network.weights.push_back(append_input(g, weight.shape, Extent::example, "weight"));
  network.logits = append_layers(g, x, network.weights, mlp.activation);
  return network;
}

ValueId append_rows(Graph& g, const Mlp& mlp, std::int64_t rows) {
  return append_input(g, {rows, mlp.weights[0].shape[0]}, Extent::example, "x");
}

ValueId sum_all(Graph& g, ValueId matrix) { return build::reshape(g, build::reduce_sum(g, matrix, {0, 1}), {}); }

// Inputs: x, labels, the weights, and if regularised a one and lambda. Output: the objective.
struct ObjectiveGraph {
  Graph graph;
  std::vector<ValueId> weights;
};

ObjectiveGraph objective_graph(const Mlp& mlp, std::int64_t rows, bool regularised) {
  Graph g;
  const ValueId x = append_rows(g, mlp, rows);
  const ValueId wanted = append_input(g, {rows, mlp.classes()}, Extent::example, "labels");
  const Network network = append_network(g, x, mlp);
  const ValueId log_p = append(g, Op::log_softmax, {network.logits}, AxisAttribute{1});
  const ValueId sum = build::negate(g, sum_all(g, build::multiply(g, wanted, log_p)));
  ValueId total = sum;
  if (regularised) {
    // A row of x affects only its own loss, so the gradient of the sum contains the gradient of each loss.
    const ValueId outputs[] = {sum}, inputs[] = {x};
    Vjp sweep = vjp(g, outputs, inputs);
    g = std::move(sweep.graph);
    const ValueId lambda = append_input(g, {}, Extent::example, "lambda");
    const ValueId squares = build::multiply(g, sweep.gradients[0], sweep.gradients[0]);
    total = build::add(g, sum, build::multiply(g, lambda, sum_all(g, squares)));
  }
  g.outputs = {build::multiply(g, total, build::constant(g, 1.0F / static_cast<float>(rows)))};
  return {std::move(g), network.weights};
}

}  // namespace

Objective::Objective(const Mlp& mlp, std::int64_t rows, bool regularised, const StopToken* stop) : regularised_(regularised) {
  const ObjectiveGraph objective = objective_graph(mlp, rows, regularised);
  program_ = compile_eigen(vjp(objective.graph, objective.graph.outputs, objective.weights).graph);
  workspace_.stop = stop;
}

float Objective::run(const Batched& batch, const std::vector<Tensor>& weights, double lambda, std::vector<Tensor>& gradients) {
  const auto strength = static_cast<float>(lambda);
  std::vector<const float*> in = {batch.x.data.data(), batch.wanted.data.data()};
  in.reserve(weights.size() + 5);
  for (const Tensor& weight : weights) in.push_back(weight.data.data());
  if (regularised_) in.insert(in.end(), {&kOne, &strength});
  in.push_back(&kOne);
  float loss = 0;
  std::vector<float*> out = {&loss};
  out.reserve(gradients.size() + 1);
  for (Tensor& gradient : gradients) out.push_back(gradient.data.data());
  program_->run({1, 1}, in, out, workspace_);
  return loss;
}

BatchLogits::BatchLogits(const Mlp& mlp, std::int64_t rows, const StopToken* stop) {
  Graph g;
  const ValueId x = append_rows(g, mlp, rows);
  g.outputs = {append_network(g, x, mlp).logits};
  program_ = compile_eigen(g);
  workspace_.stop = stop;
}

void BatchLogits::run(const Tensor& x, const std::vector<Tensor>& weights, Tensor& logits) {
  std::vector<const float*> in = {x.data.data()};
  in.reserve(weights.size() + 1);
  for (const Tensor& weight : weights) in.push_back(weight.data.data());
  float* const out[] = {logits.data.data()};
  program_->run({1, 1}, in, out, workspace_);
}

}  // namespace probust
