// SPDX-License-Identifier: MIT
// Follows an output of a model back to the numbers that decide the class: before a Softmax, an ArgMax, a threshold, or any
// other operator that keeps their order and may saturate in float32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// How a value decides.
struct Deciding {
  ValueId logits = kNoValue;  ///< [C] with C >= 2 after `as_logits`: the class is the largest, the first one on a tie
  std::string rule;           ///< "the largest of 10 values", "class 1 if 'score' > 0"
  std::vector<std::string> notes{};
  std::optional<double> threshold{};  ///< of one number, in its own units
  bool classifies = false;            ///< an ArgMax, a Softmax, a Sigmoid or a comparison shows that it is a classifier
};

/// True if at most one extent is not 1: [1, C], [C], [1, C, 1, 1].
bool is_vector(const Shape& shape);

/// True if `id` is the input, moved or scaled by constants: never a classifier.
bool is_copy_of_input(const Graph& graph, ValueId id);

/// True if `id` is the largest entry of a Softmax, the confidence of the top class, which does not tell which class that is.
bool is_largest_value(const Graph& graph, ValueId id);

/// True for sums of squares or their roots, such as distances: the smallest would decide.
bool holds_sums_of_squares(const Graph& graph, ValueId id);

/// The operand that decides if `id` is the position of the largest of several numbers, or a label looked up by that position.
ValueId compared_by_argmax(const Graph& graph, ValueId id);

/// Whether a value ends in an operator that only classifiers have: ArgMax, Softmax or LogSoftmax over all classes.
bool ends_like_a_classifier(const Graph& graph, ValueId id);

/// The logits of a vector: before a final ArgMax, Softmax or LogSoftmax over all classes.
Deciding before_softmax(const Graph& graph, ValueId id);

/// The operand of an ArgMax and of operators that keep the order of a vector's values.
ValueId before_ordering(const Graph& graph, ValueId id);

/// The logits of a vector of two or more values: the operand of everything that keeps their order (clipping, scaling, logarithms
/// and rounding of probabilities, several softmaxes, sigmoids of independent classes). Two values p and 1 - p become [0, s],
/// decided by s > 0; products, sums and choices of probabilities become their logarithms.
Deciding decide_by_largest(Graph& graph, ValueId id, const std::string& name);

/// One number as the logits [0, s - t] of two classes: class 1 if it is above the threshold, given in the output's own units. The
/// default is 0.5 for probabilities, 0 for numbers of both signs, and the middle for a label of two values.
/// `looks_like_probability`: called if the graph does not show the number's range; whether it stays in 0..1 for trial inputs.
/// `integer`: whether it is a label, which must have two values. `crosses_zero`: called if 0 would be the threshold of a number
/// that is not the output of a layer; whether trial inputs give both signs. Empty if nothing determines the threshold between the
/// classes.
std::optional<Deciding> decide_by_threshold(Graph& graph, ValueId id, const std::string& name,
                                            const std::optional<double>& threshold, bool looks_like_probability, bool integer,
                                            const std::function<bool()>& crosses_zero);

/// Whether the range of a number follows from the graph, so that `looks_like_probability` does not matter.
bool shows_range(const Graph& graph, ValueId id);

}  // namespace probust::onnx
