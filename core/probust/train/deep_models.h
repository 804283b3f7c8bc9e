// SPDX-License-Identifier: MIT
//
// Deeper networks. This file and deep_layers.h are left out of the browser's module.
#pragma once

#include "probust/train/models.h"

namespace probust {

/// "resnet18": ResNet-18 for small images (He et al., CVPR 2016): a 3x3 convolution, eight residual blocks of `width` to 8
/// `width` channels, three of which halve the resolution, and the mean over the pixels. Points are images [C, H, W]; the paper's
/// width is 64.
Network resnet18(const Shape& point, std::int64_t classes, const NetworkOptions& options = {}, std::int64_t width = 64);

/// The size of a vision transformer.
struct TransformerSize {
  std::int64_t patch = 4, width = 64, depth = 4, heads = 4;
};

/// "vit": a vision transformer (Dosovitskiy et al., ICLR 2021) without a class token: the logits are computed from the mean
/// over the tokens. Points are images [C, H, W]; pixels beyond the last whole patch are not used.
Network vit(const Shape& point, std::int64_t classes, const NetworkOptions& options = {}, const TransformerSize& size = {});

/// The network of this name: "linear", "mlp:64,64", "cnn", "resnet18" or "vit". Throws Error{usage} listing the names, and
/// whatever building the network throws.
Network named_network(const std::string& name, const Shape& point, std::int64_t classes, Activation activation,
                      const NetworkOptions& options);

}  // namespace probust
