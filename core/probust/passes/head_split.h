// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/graph/graph.h"

// Classifiers with very many classes often end in a linear layer with few inputs, f(x) = W h(x) + b with h(x) in R^w. Their
// margin gradients are combinations of the w gradients of h: u_i = (W_t - W_i) dh/dx. So w backward passes are enough for any
// number of classes. The Gram matrix of the margins is D G Dᵀ, with the Gram matrix G [w, w] of the gradients of h and rows D_i
// = W_t - W_i.
namespace probust {

/// Executors may compute margin gradients from the gradients of the last layer's inputs if there are more rivals than this.
inline constexpr std::int64_t kManyRivals = 256;

/// A linear last layer with inputs h: f = W h + b.
struct LastLayer {
  Eigen::MatrixXf weights;  ///< W [C, w]
  Eigen::VectorXf bias;     ///< b [C]
};

struct HeadSplit {
  /// The layers before the last one, as a classifier with outputs 0, -h_1, ..., -h_w. Its margins for target 0 are h_1, ..., h_w,
  /// so an executor's results for these margins are results for h.
  Graph features;
  std::shared_ptr<const LastLayer> last;
};

/// Splits off the last layer. Empty if it is not linear, or if the split would save nothing: w is at least the number of
/// rivals, or there are at most kManyRivals.
std::optional<HeadSplit> split_head(const Graph& classifier);

}  // namespace probust
