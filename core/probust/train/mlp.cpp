// SPDX-License-Identifier: MIT
#include "probust/train/mlp.h"

#include <cmath>
#include <numbers>

#include "probust/base/error.h"
#include "probust/noise/noise.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr std::uint32_t kWeights = 0x3e19;  ///< stream of the generator

// x Phi(x) = x (1 + erf(x / sqrt 2)) / 2.
ValueId gelu(Graph& g, ValueId x) {
  const ValueId scaled = build::multiply(g, x, build::constant(g, static_cast<float>(1 / std::numbers::sqrt2)));
  const ValueId both = build::add(g, append(g, Op::erf, {scaled}), build::constant(g, 1));
  return build::multiply(g, build::multiply(g, x, build::constant(g, 0.5F)), both);
}

ValueId activate(Graph& g, ValueId x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return append(g, Op::relu, {x});
    case Activation::tanh:
      return append(g, Op::tanh, {x});
    case Activation::gelu:
      return gelu(g, x);
  }
  return x;
}

// Widths of every layer's input, and of the logits.
std::vector<std::int64_t> widths_of(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes) {
  std::vector<std::int64_t> widths = {element_count(point)};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(classes);
  return widths;
}

}  // namespace

Activation parse_activation(const std::string& text) {
  if (text == "relu") return Activation::relu;
  if (text == "tanh") return Activation::tanh;
  if (text == "gelu") return Activation::gelu;
  throw Error{ErrorCode::usage, "activation", "'" + text + "' is not known", "give relu, tanh or gelu"};
}

std::int64_t count_weights(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes) {
  const std::vector<std::int64_t> widths = widths_of(point, hidden, classes);
  std::int64_t weights = 0;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    if (widths[layer + 1] < 1)
      throw Error{ErrorCode::usage, "hidden", "has a layer of width " + std::to_string(widths[layer + 1]), "give 1 or more"};
    if (widths[layer + 1] > (kMaxElements - weights) / widths[layer])
      throw Error{ErrorCode::resources, "hidden", "the network has too many weights", "give fewer or narrower layers"};
    weights += widths[layer] * widths[layer + 1];
  }
  return weights;
}

Mlp initial_mlp(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes, Activation activation,
                std::uint64_t seed) {
  count_weights(point, hidden, classes);
  const std::vector<std::int64_t> widths = widths_of(point, hidden, classes);
  Mlp mlp{point, activation, {}};
  mlp.weights.reserve(2 * (widths.size() - 1));
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    Tensor W({widths[layer], widths[layer + 1]});
    NoiseStream random(seed, static_cast<std::uint32_t>(layer), 0, kWeights);
    const double gain = activation == Activation::tanh ? 1 : 2;
    const double deviation = std::sqrt(gain / static_cast<double>(widths[layer]));
    for (float& w : W.data) w = static_cast<float>(deviation * random.normal());
    mlp.weights.push_back(std::move(W));
    mlp.weights.emplace_back(Shape{widths[layer + 1]});
  }
  return mlp;
}

ValueId append_layers(Graph& graph, ValueId x, const std::vector<ValueId>& weights, Activation activation) {
  for (std::size_t k = 0; k < weights.size(); k += 2) {
    x = build::add(graph, build::matmul(graph, x, weights[k]), weights[k + 1]);
    if (k + 2 < weights.size()) x = activate(graph, x, activation);
  }
  return x;
}

Graph classifier_of(const Mlp& mlp) {
  Graph g;
  const ValueId x = append_input(g, mlp.point, Extent::example, "x");
  std::vector<ValueId> constants;
  constants.reserve(mlp.weights.size());
  for (const Tensor& weight : mlp.weights) constants.push_back(append_constant(g, weight));
  const ValueId row = build::reshape(g, x, {1, element_count(mlp.point)});
  g.outputs = {build::reshape(g, append_layers(g, row, constants, mlp.activation), {mlp.classes()})};
  return g;
}

}  // namespace probust
