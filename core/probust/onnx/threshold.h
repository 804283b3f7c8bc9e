// SPDX-License-Identifier: MIT
// One number against a threshold, followed back through monotone operators.
#pragma once

#include <optional>
#include <string>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// Class 1 if the value is above (or below) `at`. An infinite `at`: always or never.
struct Threshold {
  ValueId value = kNoValue;
  double at = 0;
  bool above = true;
  std::string before{};   // the last operator removed that users know
  bool compared = false;  // a comparison was removed, so that the number has two values
  bool odds = false;      // the value is the logarithm of the odds of a probability
  bool level = false;     // and it levels off: see LogOdds
};

/// Whether a number is one entry of a Softmax over two: softmax([a, b])[1] = sigmoid(b - a).
bool is_half_of_softmax(const Graph& graph, ValueId id, ValueId& softmax, bool& second);

/// Goes back through all operators that are monotone functions of one number.
void go_back(const Graph& graph, Threshold& t);

/// Goes back to a product, a mean or a choice of probabilities that the number is a monotone function of, and compares their
/// log-odds. Empty if there is none.
std::optional<Threshold> odds_threshold(Graph& graph, const Threshold& own);

/// The operand of a Sigmoid, compared with 0, if the number is a monotone function of that Sigmoid alone; otherwise kNoValue.
/// `found`: the threshold.
ValueId behind_sigmoid(const Graph& graph, ValueId id, Threshold& found);

/// [0, s - at], or [0, at - s] if class 1 is below.
ValueId two_logits(Graph& graph, const Threshold& t);

}  // namespace probust::onnx
