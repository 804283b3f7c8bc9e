// SPDX-License-Identifier: MIT
//
// The layers of multilayer perceptrons and of small convolutional networks. The layers of deeper networks are in deep_layers.h.
#pragma once

#include <cstdint>
#include <string>

#include "probust/train/network.h"

namespace probust {

/// The function between two layers. gelu is x Phi(x), computed with the error function (Hendrycks and Gimpel 2016,
/// arXiv:1606.08415); silu is x sigmoid(x) (Elfwing, Uchibe and Doya 2018, arXiv:1702.03118).
enum class Activation : std::uint8_t { relu, tanh, gelu, silu };

/// Reads "relu", "tanh", "gelu" or "silu". Throws Error{usage} naming all of them.
Activation parse_activation(const std::string& text);

/// Applies the activation to every element of x.
ValueId append_activation(Graph& graph, ValueId x, Activation activation);

/// The gain g of initial weights, whose variance is g / (number of inputs): 2 for relu and similar activations (He et al., ICCV
/// 2015), 1 for tanh.
double initial_gain(Activation activation);

namespace layer {

using Pointer = std::shared_ptr<const NetworkLayer>;

/// [...] -> [elements].
Pointer flatten();

/// [d] -> [width], or [tokens, d] -> [tokens, width]: x W + b with W of variance gain / d.
Pointer dense(std::int64_t width, double gain);

/// The size of a convolution's filter, and its stride and padding; the same along both axes.
struct ConvOptions {
  std::int64_t kernel = 3, stride = 1, pad = 0;
  double gain = 2;   ///< initial filter values have variance gain / (number of inputs per output)
  bool bias = true;  ///< whether there is a bias; superfluous before a normalization
};

/// [C, H, W] -> [channels, H', W'].
Pointer conv(std::int64_t channels, const ConvOptions& options);

/// Max pooling: [C, H, W] -> [C, H / size, W / size], rounded down.
Pointer max_pool(std::int64_t size);

/// Applies the activation to every element.
Pointer activate(Activation activation);

}  // namespace layer

}  // namespace probust
