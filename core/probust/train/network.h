// SPDX-License-Identifier: MIT
//
// Trainable networks: layers, which append their operators to a graph, and their weights. The trainer depends on nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

/// A weight, which training changes, or a running statistic of a normalization, which follows the batches.
struct Parameter {
  std::string name;  ///< layer and role: "conv1.filter"
  Tensor value;
  bool decays = true;  ///< whether weight decay applies: to matrices and filters, not to biases and scales
};

/// Collects the parameters that layers declare, with their initial values.
class Declaration {
 public:
  /// Random values are keyed by `seed` and the number of random parameters declared before. Throws Error{resources}, before
  /// memory is allocated, if the parameters have more than `most` elements in all.
  Declaration(std::uint64_t seed, std::int64_t most) : seed_(seed), left_(most) {}

  /// Prefixes the names of the following parameters: "conv" becomes "conv1", "conv2", ...
  void begin_layer(const std::string& kind);

  /// A weight with normally distributed values of this standard deviation.
  void add_normal(const std::string& role, const Shape& shape, double deviation);
  /// A weight without weight decay, with the same initial value everywhere.
  void add_constant(const std::string& role, const Shape& shape, float value);
  void add_statistic(const std::string& role, const Shape& shape, float value);

  std::vector<Parameter> weights, statistics;

 private:
  Tensor taken(const Shape& shape);

  std::uint64_t seed_;
  std::int64_t left_;
  std::uint32_t random_ = 0;
  std::string layer_;
  std::vector<std::pair<std::string, int>> kinds_;  ///< number of layers of each kind so far
};

/// The graph to which layers append, with the values of their parameters in the order of declaration.
class LayerGraph {
 public:
  /// If `in_training`, normalizations use the moments of the batch instead of `statistics`.
  LayerGraph(Graph& g, std::vector<ValueId> weights, std::vector<ValueId> statistics, bool in_training)
      : graph(g), training(in_training), weights_(std::move(weights)), statistics_(std::move(statistics)) {}

  ValueId next_weight() { return weights_[weight_++]; }
  ValueId next_statistic() { return statistics_[statistic_++]; }

  Graph& graph;
  const bool training;
  std::vector<ValueId> observed;  ///< in training, the value of each statistic for this batch

 private:
  std::vector<ValueId> weights_, statistics_;
  std::size_t weight_ = 0, statistic_ = 0;
};

/// A layer maps a batch [rows, ...] to a batch with as many rows. It is immutable, so copies of a network share their layers.
class NetworkLayer {
 public:
  virtual ~NetworkLayer() = default;
  /// Declares the parameters for one row of shape `in` and returns the shape of one row of the result. Throws Error{usage} if
  /// `in` does not fit.
  virtual Shape declare(const Shape& in, Declaration& parameters) const = 0;
  /// Appends the layer, applied to x [rows, in...].
  virtual ValueId append(LayerGraph& g, ValueId x) const = 0;
};

using Layers = std::vector<std::shared_ptr<const NetworkLayer>>;

/// Declares, and appends, one layer after the other.
Shape declare_all(const Layers& layers, Shape in, Declaration& parameters);
ValueId append_all(const Layers& layers, LayerGraph& g, ValueId x);

/// A network with its parameters, as a plain value.
struct Network {
  std::string name;  ///< such as "mlp:64,64" or "cnn"
  Shape point;       ///< the shape of one point
  std::int64_t classes = 0;
  Layers layers;
  std::vector<Parameter> weights, statistics;
};

/// How initial weights are drawn.
struct NetworkOptions {
  std::uint64_t seed = 0;                       ///< seed of the random weights
  std::int64_t memory = std::int64_t{1} << 30;  ///< bytes for weights, their gradients and the optimizer's moments
};

/// Bytes for a weight, its gradient and Adam's moments.
inline constexpr std::int64_t kBytesAWeight = 2 * sizeof(float) + 2 * sizeof(double);

/// A network with initial weights. Throws Error{usage} if the layers do not fit each other or `classes`, Error{resources} if
/// weights take more than options.memory.
Network make_network(std::string name, const Shape& point, std::int64_t classes, Layers layers, const NetworkOptions& options);

/// Appends the network as a function of x [rows, point...] and returns the logits [rows, classes].
ValueId append_network(LayerGraph& g, const Network& network, ValueId x);

/// The network as a classifier: x [point] -> logits [classes], with its parameters as constants and its normalizations folded
/// into the neighbouring filters.
Graph classifier_of(const Network& network);

}  // namespace probust
