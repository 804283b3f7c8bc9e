// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/graph/graph.h"

namespace probust {

/// The mean of a value under noise, and the variance of each of its elements; kNoValue if the value is not random.
struct Moments {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
  bool random() const { return variance != kNoValue; }
};

/// A graph that computes means and variances of another graph's values.
struct MomentGraph {
  Graph graph;  ///< inputs: the mean of x, its variances; outputs: the mean of y, its variances
  Moments input, output;
};

/// Propagates means and variances through a graph of one input and one output, as a transform from graph to graph. Every value is
/// treated as Gaussian, its elements as independent of each other and of other values ("assumed density filtering"). Exact for
/// the mean of a linear graph.
///
/// The result consists of the same operators, so vjp can be applied to it: by Price's theorem the gradient of the mean of y is
/// the mean gradient of y over the noise, a linearisation at the scale of the noise. This file names no operator; rules.h has one
/// rule for each. Throws Error{unsupported} naming an operator without a rule.
///
/// `variances` is the extent of the input's variances: Extent::constant if they are the same for all examples.
MomentGraph propagate_moments(const Graph& graph, Extent variances = Extent::example);

}  // namespace probust
