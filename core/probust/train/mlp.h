// SPDX-License-Identifier: MIT
//
// Multilayer perceptrons: what demos, tests and the explorer train and classify with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// What stands between two layers. gelu is x Phi(x), by the error function (Hendrycks and Gimpel 2016, arXiv:1606.08415).
enum class Activation : std::uint8_t { relu, tanh, gelu };

/// Reads "relu", "tanh" or "gelu". Throws Error{usage} naming them.
Activation parse_activation(const std::string& text);

/// A network of full layers.
struct Mlp {
  Shape point;  ///< the shape of one point; its elements are the first layer's inputs
  Activation activation = Activation::relu;
  std::vector<Tensor> weights;  ///< W [in, out] and b [out] of each layer, in turns

  std::int64_t classes() const { return weights.back().shape[0]; }
};

/// How many weights a network of these widths has, biases not counted. Throws Error{usage} where a width is not positive,
/// Error{resources} where they are more than kMaxElements.
std::int64_t count_weights(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes);

/// A network with normal weights of variance 2 / in (He et al., ICCV 2015), for tanh 1 / in, and zero biases, keyed by `seed`.
/// Throws as count_weights does.
Mlp initial_mlp(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes, Activation activation,
                std::uint64_t seed);

/// Appends the layers: logits [rows, classes] of x [rows, d], with `weights` as values in the order of Mlp::weights.
ValueId append_layers(Graph& graph, ValueId x, const std::vector<ValueId>& weights, Activation activation);

/// The network as a classifier: x [point] -> logits [classes], weights as constants.
Graph classifier_of(const Mlp& mlp);

}  // namespace probust
