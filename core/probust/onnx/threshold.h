// SPDX-License-Identifier: MIT
// A number that is compared with a threshold, traced back through monotone operators.
#pragma once

#include <optional>
#include <string>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// The rule that the class is 1 if the value is above (or below) `at`, and 0 otherwise. An infinite `at` means that the class
/// does not depend on the value.
struct Threshold {
  ValueId value = kNoValue;
  double at = 0;
  bool above = true;
  std::string before{};   // name of the last removed operator that users know
  bool compared = false;  // whether a comparison was removed; the original output then has only two values
  bool odds = false;      // whether the value is the logarithm of the odds of a probability
  bool level = false;     // whether these log-odds level off: see LogOdds
};

/// Whether a number is one entry of a Softmax over two classes: softmax([a, b])[1] = sigmoid(b - a).
bool is_half_of_softmax(const Graph& graph, ValueId id, ValueId& softmax, bool& second);

/// Moves the threshold back through all operators that are monotone functions of one number.
void go_back(const Graph& graph, Threshold& t);

/// Finds a product, a mean or a choice of probabilities of which the number is a monotone function, and compares its log-odds.
/// Empty if there is none.
std::optional<Threshold> odds_threshold(Graph& graph, const Threshold& own);

/// The operand of a Sigmoid, compared with 0, if the number is a monotone function of that Sigmoid alone; otherwise kNoValue.
/// Sets `found` to the threshold.
ValueId behind_sigmoid(const Graph& graph, ValueId id, Threshold& found);

/// The logits [0, s - at], or [0, at - s] if class 1 is below.
ValueId two_logits(Graph& graph, const Threshold& t);

}  // namespace probust::onnx
