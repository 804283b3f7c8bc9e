// SPDX-License-Identifier: MIT
// A training step is a graph like any other: a function of one "example", which is a whole batch and the weights; vjp makes the
// step's gradient of it.
#include "probust/train/mlp.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/exec/program.h"
#include "probust/noise/noise.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr std::uint32_t kWeights = 0x3e19, kOrder = 0x5011, kNoise = 0x2015;  ///< streams of random numbers

void require(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, const MlpOptions& options) {
  const auto fail = [](const std::string& what, const std::string& hint) -> Error {
    return {ErrorCode::usage, "train_mlp", what, hint};
  };
  if (x.shape.size() != 2 || x.shape[0] < 1 || x.shape[1] < 1) throw fail("x has shape " + to_string(x.shape), "give [N, d]");
  if (static_cast<std::int64_t>(labels.size()) != x.shape[0])
    throw fail(std::to_string(labels.size()) + " labels for " + std::to_string(x.shape[0]) + " points", "give one each");
  if (!std::all_of(x.data.begin(), x.data.end(), [](float value) { return std::isfinite(value); }))
    throw fail("x holds a value that is not finite", "leave such points out");
  if (classes < 2) throw fail("fewer than two classes", "");
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes)
      throw fail("label " + std::to_string(label), "labels are 0.." + std::to_string(classes - 1));
  }
  const bool widths = std::all_of(options.hidden.begin(), options.hidden.end(), [](std::int64_t w) { return w > 0; });
  if (!widths || options.epochs < 0 || options.batch < 1 || !(options.rate > 0) || !std::isfinite(options.rate) ||
      !(options.decay >= 0) || !(options.noise >= 0))
    throw fail("a width, batch or rate that is not positive, or a negative decay or noise", "");
}

/// Weights and biases, one after the other: W [in, out], b [out].
std::vector<Tensor> initial_weights(std::int64_t inputs, std::int64_t classes, const MlpOptions& options) {
  std::vector<std::int64_t> widths = {inputs};
  widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
  widths.push_back(classes);
  std::vector<Tensor> weights;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    Tensor W({widths[layer], widths[layer + 1]});
    NoiseStream random(options.seed, static_cast<std::uint32_t>(layer), 0, kWeights);
    const double deviation = std::sqrt(2.0 / static_cast<double>(widths[layer]));  // He et al., ICCV 2015
    for (float& w : W.data) w = static_cast<float>(deviation * random.normal());
    weights.push_back(std::move(W));
    weights.emplace_back(Shape{widths[layer + 1]});
  }
  return weights;
}

/// Logits [rows, classes] of x [rows, d].
ValueId layers(Graph& g, ValueId x, const std::vector<ValueId>& weights) {
  for (std::size_t k = 0; k < weights.size(); k += 2) {
    x = build::add(g, build::matmul(g, x, weights[k]), weights[k + 1]);
    if (k + 2 < weights.size()) x = append(g, Op::relu, {x});
  }
  return x;
}

/// Mean cross-entropy of a batch and its gradient with respect to every weight.
class Step {
 public:
  Step(std::int64_t batch, std::int64_t inputs, std::int64_t classes, const std::vector<Tensor>& weights) {
    Graph g;
    const ValueId x = append_input(g, {batch, inputs}, Extent::example, "x");
    const ValueId wanted = append_input(g, {batch, classes}, Extent::example, "labels");
    std::vector<ValueId> parameters;
    parameters.reserve(weights.size());
    for (const Tensor& weight : weights) parameters.push_back(append_input(g, weight.shape, Extent::example, "weight"));
    const ValueId log_p = append(g, Op::log_softmax, {layers(g, x, parameters)}, AxisAttribute{1});
    const ValueId sum = build::reduce_sum(g, build::multiply(g, wanted, log_p), {0, 1});
    const ValueId loss = build::multiply(g, build::reshape(g, sum, {}), build::constant(g, -1.0F / static_cast<float>(batch)));
    g.outputs = {loss};
    const ValueId outputs[] = {loss};
    program_ = compile_cpu(vjp(g, outputs, parameters).graph);
    for (const Tensor& weight : weights) gradients_.emplace_back(weight.shape);
  }

  /// Rows and labels as one-hot rows; returns the loss and leaves the gradients.
  float run(const Tensor& x, const Tensor& wanted, const std::vector<Tensor>& weights) {
    const float one = 1;
    std::vector<const float*> in = {x.data.data(), wanted.data.data()};
    for (const Tensor& weight : weights) in.push_back(weight.data.data());
    in.push_back(&one);
    float loss = 0;
    std::vector<float*> out = {&loss};
    for (Tensor& gradient : gradients_) out.push_back(gradient.data.data());
    program_->run({1, 1}, in, out, workspace_);
    return loss;
  }

  const std::vector<Tensor>& gradients() const { return gradients_; }

 private:
  std::unique_ptr<Program> program_;
  std::vector<Tensor> gradients_;
  Workspace workspace_;
};

class Adam {
 public:
  Adam(const std::vector<Tensor>& weights, const MlpOptions& options) : options_(options) {
    for (const Tensor& weight : weights) {
      first_.emplace_back(weight.data.size(), 0.0);
      second_.emplace_back(weight.data.size(), 0.0);
    }
  }

  void move(std::vector<Tensor>& weights, const std::vector<Tensor>& gradients) {
    constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
    ++steps_;
    const double scale1 = 1 / (1 - std::pow(kFirst, steps_)), scale2 = 1 / (1 - std::pow(kSecond, steps_));
    for (std::size_t k = 0; k < weights.size(); ++k) {
      for (std::size_t e = 0; e < weights[k].data.size(); ++e) {
        const double g = gradients[k].data[e];
        double &m = first_[k][e], &v = second_[k][e];
        m += (1 - kFirst) * (g - m);
        v += (1 - kSecond) * (g * g - v);
        const double decay = k % 2 == 0 ? options_.decay * weights[k].data[e] : 0.0;  // biases do not decay
        weights[k].data[e] -= static_cast<float>(options_.rate * (m * scale1 / (std::sqrt(v * scale2) + kEpsilon) + decay));
      }
    }
  }

 private:
  MlpOptions options_;
  std::vector<std::vector<double>> first_, second_;
  int steps_ = 0;
};

Graph as_classifier(std::int64_t inputs, std::int64_t classes, const std::vector<Tensor>& weights) {
  Graph g;
  const ValueId x = append_input(g, {inputs}, Extent::example, "x");
  std::vector<ValueId> constants;
  constants.reserve(weights.size());
  for (const Tensor& weight : weights) constants.push_back(append_constant(g, weight));
  g.outputs = {build::reshape(g, layers(g, build::reshape(g, x, {1, inputs}), constants), {classes})};
  return g;
}

}  // namespace

TrainedMlp train_mlp(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, const MlpOptions& options) {
  require(x, labels, classes, options);
  const std::int64_t n = x.shape[0], d = x.shape[1], batch = std::min(options.batch, n);
  std::vector<Tensor> weights = initial_weights(d, classes, options);
  Step step(batch, d, classes, weights);
  Adam adam(weights, options);
  TrainedMlp trained;
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Tensor rows({batch, d}), wanted({batch, classes});
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    NoiseStream shuffle(options.seed, static_cast<std::uint32_t>(epoch), 0, kOrder),
        noise(options.seed, static_cast<std::uint32_t>(epoch), 0, kNoise);
    for (std::int64_t i = n - 1; i > 0; --i) {
      std::swap(order[i], order[static_cast<std::int64_t>(shuffle.uniform() * static_cast<double>(i + 1))]);
    }
    double sum = 0;
    std::int64_t batches = 0;
    for (std::int64_t first = 0; first + batch <= n; first += batch, ++batches) {
      std::fill(wanted.data.begin(), wanted.data.end(), 0.0F);
      for (std::int64_t k = 0; k < batch; ++k) {
        std::copy_n(x.row(order[first + k]).begin(), d, rows.row(k).begin());
        if (options.noise > 0) {
          for (float& value : rows.row(k)) value += static_cast<float>(options.noise * noise.normal());
        }
        wanted.row(k)[labels[order[first + k]]] = 1;
      }
      sum += step.run(rows, wanted, weights);
      adam.move(weights, step.gradients());
    }
    trained.loss.push_back(sum / static_cast<double>(batches));
  }
  trained.classifier = as_classifier(d, classes, weights);
  return trained;
}

}  // namespace probust
