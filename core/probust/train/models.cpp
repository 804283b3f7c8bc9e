// SPDX-License-Identifier: MIT
#include "probust/train/models.h"

namespace probust {

Network mlp(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes, Activation activation,
            const NetworkOptions& options) {
  const double gain = initial_gain(activation);
  std::string name = hidden.empty() ? "linear" : "mlp:";
  Layers layers = {layer::flatten()};
  for (const std::int64_t width : hidden) {
    name += (layers.size() == 1 ? "" : ",") + std::to_string(width);
    layers.insert(layers.end(), {layer::dense(width, gain), layer::activate(activation)});
  }
  layers.push_back(layer::dense(classes, gain));
  return make_network(name, point, classes, std::move(layers), options);
}

Network cnn(const Shape& point, std::int64_t classes, Activation activation, const NetworkOptions& options) {
  const double gain = initial_gain(activation);
  Layers layers;
  for (const std::int64_t filters : {10, 20}) {
    layers.insert(layers.end(),
                  {layer::conv(filters, {.kernel = 5, .gain = gain}), layer::max_pool(2), layer::activate(activation)});
  }
  layers.insert(layers.end(),
                {layer::flatten(), layer::dense(50, gain), layer::activate(activation), layer::dense(classes, gain)});
  return make_network("cnn", point, classes, std::move(layers), options);
}

}  // namespace probust
