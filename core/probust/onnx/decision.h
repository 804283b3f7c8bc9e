// SPDX-License-Identifier: MIT
// Traces an output of a model back to the numbers that determine the class: the operand of a Softmax, an ArgMax, a threshold, or
// any other operator that preserves the decision and may saturate in float32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// How a value determines the class.
struct Deciding {
  ValueId logits = kNoValue;  ///< [C] with C >= 2 after `as_logits`: the largest determines the class, the first one on a tie
  std::string rule;           ///< "the largest of 10 values", "class 1 if 'score' > 0"
  std::vector<std::string> notes{};
  std::optional<double> threshold{};  ///< threshold for one number, in its own units
  bool classifies = false;  ///< whether an ArgMax, a Softmax, a Sigmoid or a comparison shows that the model is a classifier
};

/// Whether at most one extent is not 1: [1, C], [C], [1, C, 1, 1].
bool is_vector(const Shape& shape);

/// Whether `id` is the input, possibly shifted or scaled by constants, and therefore not the output of a classifier.
bool is_copy_of_input(const Graph& graph, ValueId id);

/// Whether `id` is the largest entry of a Softmax: the confidence of the top class, which does not show which class that is.
bool is_largest_value(const Graph& graph, ValueId id);

/// Whether `id` is a sum of squares or the root of one, such as a distance, for which the smallest value would decide.
bool holds_sums_of_squares(const Graph& graph, ValueId id);

/// The vector whose largest entry decides, if `id` is the position of its largest entry, or a label looked up at that position.
ValueId compared_by_argmax(const Graph& graph, ValueId id);

/// Whether a value ends in an operator that only classifiers have: ArgMax, Softmax or LogSoftmax over all classes.
bool ends_like_a_classifier(const Graph& graph, ValueId id);

/// The logits of a vector: the operand of a final ArgMax, Softmax or LogSoftmax over all classes.
Deciding before_softmax(const Graph& graph, ValueId id);

/// The value before an ArgMax and operators that keep the order of a vector's values.
ValueId before_ordering(const Graph& graph, ValueId id);

/// The logits of a vector of two or more values: the value before all operators that keep their order (clipping, scaling,
/// logarithms and rounding of probabilities, repeated softmaxes, sigmoids of independent classes). Two values p and 1 - p become
/// [0, s], with class 1 if s > 0. Products, sums and choices of probabilities become their logarithms.
Deciding decide_by_largest(Graph& graph, ValueId id, const std::string& name);

/// One number as the logits [0, s - t] of two classes: class 1 if it is above the threshold, which is given in the output's
/// own units. The default threshold is 0.5 for probabilities, 0 for numbers of both signs, and the middle for a label with two
/// values. `looks_like_probability` is whether the number stays in 0..1 for trial inputs; it is used only if the graph does
/// not show the number's range. `integer` is whether the number is a label, which must then have two values. `crosses_zero`
/// returns whether trial inputs give both signs; it is called if 0 would be the threshold of a number that is not the output of a
/// layer. Empty if nothing determines the threshold between the classes.
std::optional<Deciding> decide_by_threshold(Graph& graph, ValueId id, const std::string& name,
                                            const std::optional<double>& threshold, bool looks_like_probability, bool integer,
                                            const std::function<bool()>& crosses_zero);

/// Whether the graph determines the range of a number, so that `looks_like_probability` is not needed.
bool shows_range(const Graph& graph, ValueId id);

}  // namespace probust::onnx
