// SPDX-License-Identifier: MIT
// Logarithms of probabilities that are products, sums, choices and mixtures of Softmax and Sigmoid values. In float32, the
// probabilities themselves become so close to 0 and 1 that they can no longer be distinguished; their logarithms can.
#pragma once

#include "probust/graph/graph.h"

namespace probust::onnx {

/// log v for every element; kNoValue if `v` is not computed from a Softmax or Sigmoid by operators that have rules for
/// logarithms.
ValueId log_of_probability(Graph& graph, ValueId v);

/// log v - log(1 - v) of one number. The value is kNoValue if log v or log(1 - v) has no rule.
struct LogOdds {
  ValueId value = kNoValue;
  bool level = false;  ///< whether the value changes little because the parts of a mean are near 0 or 1, like votes
};
LogOdds log_odds(Graph& graph, ValueId v);

/// Whether `v` is computed, without a layer in between, from values that level off (Sigmoid, Softmax, Tanh, Erf).
bool levels_off(const Graph& graph, ValueId v);

/// `v` without infinite logarithms. `v` may contain sums, differences and constant multiples of terms log p + c with
/// probabilities p and constants c. Returns `v` itself if it contains no such logarithm.
ValueId with_finite_logs(Graph& graph, ValueId v);

}  // namespace probust::onnx
