// SPDX-License-Identifier: MIT
#include "probust/exec/host/host_first_layer.h"

#include <algorithm>
#include <span>

namespace probust {

HostFirstLayer::HostFirstLayer(const FirstLayerSplit& layer, Compile compile)
    : inputs_(element_count(layer.backward[layer.backward.outputs[0]].shape)),
      outputs_(layer.outputs),
      rest_(compile(layer.rest)),
      forward_(compile(layer.forward)),
      backward_(compile(layer.backward)) {}

void HostFirstLayer::move(const float* e, std::int64_t lanes, float* moved, Workspace& workspace) const {
  forward_->run({lanes, 1}, std::span(&e, 1), std::span(&moved, 1), workspace);
}

std::vector<RowMatrix> HostFirstLayer::by_inputs(const std::vector<RowMatrix>& by_outputs, std::int64_t together,
                                                 Workspace& workspace) const {
  const auto points = static_cast<std::int64_t>(by_outputs.size()), rows = std::int64_t{by_outputs[0].rows()};
  std::vector<RowMatrix> result(by_outputs.size(), RowMatrix(rows, inputs_));
  for (std::int64_t first = 0; first < rows; first += together) {
    const std::int64_t seeds = std::min(together, rows - first), lanes = seeds * points;
    std::vector<float> cotangents(static_cast<std::size_t>(outputs_ * lanes)),
        gradients(static_cast<std::size_t>(inputs_ * lanes));
    pack(by_outputs, first, seeds, cotangents.data());
    const float* const in = cotangents.data();
    float* const out = gradients.data();
    backward_->run({points, seeds}, std::span(&in, 1), std::span(&out, 1), workspace);
    unpack(gradients.data(), first, seeds, result);
  }
  return result;
}

}  // namespace probust
