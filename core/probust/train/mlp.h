// SPDX-License-Identifier: MIT
//
// Multilayer perceptrons, which demos, tests and the explorer train and classify with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// The function between two layers. gelu is x Phi(x), by the error function (Hendrycks and Gimpel 2016, arXiv:1606.08415).
enum class Activation : std::uint8_t { relu, tanh, gelu };

/// Reads "relu", "tanh" or "gelu". Throws Error{usage} naming all three.
Activation parse_activation(const std::string& text);

/// A fully connected network.
struct Mlp {
  Shape point;  ///< the shape of one point; its elements are the first layer's inputs
  Activation activation = Activation::relu;
  std::vector<Tensor> weights;  ///< W [in, out] and b [out] of each layer, alternating

  std::int64_t classes() const { return weights.back().shape[0]; }
};

/// The number of weights of a network with these widths, without biases. Throws Error{usage} if a width is not positive,
/// Error{resources} if there are more than kMaxElements.
std::int64_t count_weights(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes);

/// A network with normal weights of variance 2 / in (He et al., ICCV 2015), for tanh 1 / in, and zero biases, keyed by `seed`.
/// Throws as count_weights does.
Mlp initial_mlp(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes, Activation activation,
                std::uint64_t seed);

/// Appends the layers and returns the logits [rows, classes] for x [rows, d]; `weights` are values in the order of Mlp::weights.
ValueId append_layers(Graph& graph, ValueId x, const std::vector<ValueId>& weights, Activation activation);

/// The network as a classifier: x [point] -> logits [classes], with the weights as constants.
Graph classifier_of(const Mlp& mlp);

}  // namespace probust
