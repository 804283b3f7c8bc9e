// SPDX-License-Identifier: MIT
#include "probust/train/network.h"

#include <algorithm>

#include "probust/base/error.h"
#include "probust/noise/noise.h"
#include "probust/ops/build.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

constexpr std::uint32_t kWeights = 0x3e19;  ///< stream of the generator

}  // namespace

void Declaration::begin_layer(const std::string& kind) {
  auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& each) { return each.first == kind; });
  if (known == kinds_.end()) known = kinds_.insert(kinds_.end(), {kind, 0});
  layer_ = kind + std::to_string(++known->second) + ".";
}

Tensor Declaration::taken(const Shape& shape) {
  std::int64_t left = left_;
  for (const std::int64_t extent : shape) left /= std::max<std::int64_t>(1, extent);  // the product could overflow
  if (left < 1)
    throw Error{ErrorCode::resources, "the network", "has weights that exceed the memory limit", "give fewer or narrower layers"};
  left_ -= element_count(shape);
  return Tensor(shape);
}

void Declaration::add_normal(const std::string& role, const Shape& shape, double deviation) {
  Tensor value = taken(shape);
  NoiseStream random(seed_, random_++, 0, kWeights);
  for (float& w : value.data) w = static_cast<float>(deviation * random.normal());
  weights.push_back({layer_ + role, std::move(value), true});
}

void Declaration::add_constant(const std::string& role, const Shape& shape, float value) {
  weights.push_back({layer_ + role, taken(shape), false});
  std::fill(weights.back().value.data.begin(), weights.back().value.data.end(), value);
}

void Declaration::add_statistic(const std::string& role, const Shape& shape, float value) {
  statistics.push_back({layer_ + role, taken(shape), false});
  std::fill(statistics.back().value.data.begin(), statistics.back().value.data.end(), value);
}

Shape declare_all(const Layers& layers, Shape in, Declaration& parameters) {
  for (const auto& layer : layers) in = layer->declare(in, parameters);
  return in;
}

ValueId append_all(const Layers& layers, LayerGraph& g, ValueId x) {
  for (const auto& layer : layers) x = layer->append(g, x);
  return x;
}

Network make_network(std::string name, const Shape& point, std::int64_t classes, Layers layers, const NetworkOptions& options) {
  Declaration parameters(options.seed, std::min(options.memory / kBytesAWeight, kMaxElements));
  const Shape out = declare_all(layers, point, parameters);
  if (out != Shape{classes})
    throw Error{ErrorCode::usage, "model",
                "has outputs of shape " + to_string(out) + " instead of " + std::to_string(classes) + " logits",
                "end it with a dense layer with one output per class"};
  return {std::move(name), point, classes, std::move(layers), std::move(parameters.weights), std::move(parameters.statistics)};
}

ValueId append_network(LayerGraph& g, const Network& network, ValueId x) { return append_all(network.layers, g, x); }

Graph classifier_of(const Network& network) {
  Graph g;
  const ValueId x = append_input(g, network.point, Extent::example, "x");
  const auto constants = [&g](const std::vector<Parameter>& parameters) {
    std::vector<ValueId> ids;
    ids.reserve(parameters.size());
    for (const Parameter& each : parameters) ids.push_back(append_constant(g, each.value, each.name));
    return ids;
  };
  LayerGraph layers(g, constants(network.weights), constants(network.statistics), false);
  Shape row = network.point;
  row.insert(row.begin(), 1);
  g.outputs = {build::reshape(g, append_network(layers, network, build::reshape(g, x, row)), {network.classes})};
  return network.statistics.empty() ? g : simplify(g);
}

}  // namespace probust
