// SPDX-License-Identifier: MIT
//
// Small networks: multilayer perceptrons, and the convolutional network of Han et al. Deeper ones are in deep_models.h.
#pragma once

#include "probust/train/layers.h"

namespace probust {

/// A multilayer perceptron with these hidden widths, named "mlp:WIDTH,...". Without hidden layers: a linear classifier, named
/// "linear".
/// Throws Error{usage} if a width is not positive, Error{resources} as make_network does.
Network mlp(const Shape& point, const std::vector<std::int64_t>& hidden, std::int64_t classes,
            Activation activation = Activation::relu, const NetworkOptions& options = {});

/// "cnn", the convolutional network of Han, Srinivas and Lakkaraju (UAI 2024) for MNIST and Fashion-MNIST: two 5x5 convolutions
/// with 10 and 20 filters, each followed by 2x2 max pooling, and dense layers of 50 and `classes`. Points are images [C, H, W];
/// Error{usage} if they are smaller than 16x16.
Network cnn(const Shape& point, std::int64_t classes, Activation activation = Activation::relu,
            const NetworkOptions& options = {});

}  // namespace probust
