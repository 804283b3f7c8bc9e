// SPDX-License-Identifier: MIT
//
// The layers of residual networks and of transformers.
#pragma once

#include "probust/train/layers.h"

namespace probust::layer {

/// [C, ...] -> [C, ...] with mean 0 and variance 1 over the batch and all pixels of a channel, then scaled and shifted (Ioffe
/// and Szegedy, ICML 2015). Outside training, it uses running statistics.
Pointer batch_norm();

/// branch(x) + shortcut(x). If `shortcut` has no layers, it is x (He et al., CVPR 2016).
Pointer residual(Layers branch, Layers shortcut = {});

/// [C, H, W] -> [C]: the mean over the pixels.
Pointer average_pixels();

/// [d, H, W] -> [H W, d]: one token per pixel, to which a learned position embedding is added.
Pointer tokens();

/// [tokens, d] -> [d]: the mean over the tokens.
Pointer average_tokens();

/// [tokens, d] -> [tokens, d], every token with mean 0 and variance 1, then scaled and shifted (Ba, Kiros and Hinton 2016,
/// arXiv:1607.06450).
Pointer layer_norm();

/// [tokens, d] -> [tokens, d]: attention of every token to all tokens, softmax(Q Kᵀ / sqrt(d / heads)) V, with d split into
/// `heads` parts (Vaswani et al., NeurIPS 2017). `heads` must divide d.
Pointer attention(std::int64_t heads);

}  // namespace probust::layer
