// SPDX-License-Identifier: MIT
#include "probust/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/error.h"
#include "probust/exec/executor.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

constexpr std::uint32_t kOrder = 0x5011, kNoise = 0x2015;         ///< streams of the generator
constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;  // Adam's constants, as its authors recommend

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& hint) {
  throw Error{ErrorCode::usage, where, what, hint};
}

void require_points(const Tensor& x) {
  if (x.shape.size() < 2 || x.size() == 0) refuse("x", "has shape " + to_string(x.shape), "give [N, ...] with points in it");
  if (!std::all_of(x.data.begin(), x.data.end(), [](float value) { return std::isfinite(value); }))
    refuse("x", "holds a value that is not finite", "leave such points out");
}

void require_labels(const std::vector<std::int64_t>& labels, std::int64_t points, std::int64_t classes) {
  if (classes < 2) refuse("classes", std::to_string(classes) + " are too few", "give two or more");
  if (static_cast<std::int64_t>(labels.size()) != points)
    refuse("labels", std::to_string(labels.size()) + " for " + std::to_string(points) + " points", "give one each");
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes)
      refuse("labels", "hold " + std::to_string(label), "they are 0.." + std::to_string(classes - 1));
  }
}

// Bytes for a weight, its gradient and Adam's moments.
constexpr std::int64_t kBytesAWeight = 2 * sizeof(float) + 2 * sizeof(double);

void require_memory(std::int64_t bytes, std::int64_t allowed) {
  if (bytes <= allowed) return;
  throw Error{ErrorCode::resources, "train", "takes " + std::to_string(bytes >> 20) + " MiB, more than the memory allowed",
              "give fewer or narrower layers, or a smaller batch"};
}

// Checks the arguments and returns the number of rows of a batch.
std::int64_t checked_rows(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes,
                          const TrainerOptions& options) {
  require_points(x);
  require_labels(labels, x.shape[0], classes);
  if (options.batch < 1) refuse("batch", "is " + std::to_string(options.batch), "give 1 or more");
  const std::int64_t rows = std::min(options.batch, x.shape[0]);
  const Shape point(x.shape.begin() + 1, x.shape.end());
  const std::int64_t weights = count_weights(point, options.hidden, classes);
  require_memory(kBytesAWeight * weights + static_cast<std::int64_t>(sizeof(float)) * rows * (element_count(point) + classes),
                 options.memory);
  return rows;
}

void require_number(const char* name, double value, bool positive) {
  if (!std::isfinite(value) || value < 0 || (positive && value == 0))
    refuse(name, "is " + std::to_string(value), positive ? "give a positive number" : "give zero or a positive number");
}

// -log softmax(logits)[label].
double cross_entropy(std::span<const float> logits, std::int64_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) - (logits[label] - largest);
}

}  // namespace

void check(const TrainingOptions& options) {
  require_number("rate", options.rate, true);
  require_number("sigma", options.sigma, false);
  require_number("lambda", options.lambda, false);
  require_number("decay", options.decay, false);
}

Optimizer parse_optimizer(const std::string& text) {
  if (text == "adam") return Optimizer::adam;
  if (text == "sgd") return Optimizer::sgd;
  refuse("optimizer", "'" + text + "' is not known", "give adam or sgd");
}

Trainer::Trainer(Tensor x, std::vector<std::int64_t> labels, std::int64_t classes, TrainerOptions options)
    : x_(std::move(x)),
      labels_(std::move(labels)),
      options_(std::move(options)),
      rows_(checked_rows(x_, labels_, classes, options_)),
      mlp_(initial_mlp({x_.shape.begin() + 1, x_.shape.end()}, options_.hidden, classes, options_.activation, options_.seed)),
      logits_(mlp_, rows_, &stop),
      batch_{Tensor({rows_, mlp_.weights[0].shape[0]}), Tensor({rows_, classes})},
      batch_logits_({rows_, classes}),
      order_(labels_.size()) {
  for (const Tensor& weight : mlp_.weights) {
    gradients_.emplace_back(weight.shape);
    if (options_.optimizer != Optimizer::adam) continue;
    first_.emplace_back(weight.data.size(), 0.0);
    second_.emplace_back(weight.data.size(), 0.0);
  }
}

Objective& Trainer::objective(bool regularised) {
  std::unique_ptr<Objective>& wanted = regularised ? regularised_ : plain_;
  if (wanted == nullptr) {
    auto made = std::make_unique<Objective>(mlp_, rows_, regularised, &stop);
    require_memory(made->workspace_bytes(), options_.memory);
    wanted = std::move(made);
  }
  return *wanted;
}

// Shuffles the points (Fisher and Yates).
void Trainer::begin_epoch() {
  std::iota(order_.begin(), order_.end(), 0);
  NoiseStream shuffle(options_.seed, static_cast<std::uint32_t>(steps_ / steps_an_epoch()), 0, kOrder);
  for (std::int64_t i = points() - 1; i > 0; --i)
    std::swap(order_[i], order_[static_cast<std::int64_t>(shuffle.uniform() * static_cast<double>(i + 1))]);
}

// Fills the next batch: rows with noise, and labels.
void Trainer::fill(const TrainingOptions& options) {
  const auto epoch = static_cast<std::uint32_t>(steps_ / steps_an_epoch());
  const std::int64_t first = steps_ % steps_an_epoch() * rows_;
  std::fill(batch_.wanted.data.begin(), batch_.wanted.data.end(), 0.0F);
  for (std::int64_t k = 0; k < rows_; ++k) {
    const std::int64_t i = order_[first + k];
    const std::span<float> row = batch_.x.row(k);
    std::copy_n(x_.row(i).begin(), row.size(), row.begin());
    if (options.sigma > 0) {
      const auto point = static_cast<std::uint32_t>(i);
      isotropic_gaussian()->add({options_.seed, {&point, 1}, {&epoch, 1}, kNoise}, static_cast<std::int64_t>(row.size()),
                                static_cast<float>(options.sigma), row.data());
    }
    batch_.wanted.row(k)[labels_[i]] = 1;
  }
}

void Trainer::move(const TrainingOptions& options) {
  const bool adam = options_.optimizer == Optimizer::adam;
  first_power_ *= kFirst;
  second_power_ *= kSecond;
  const double scale1 = 1 / (1 - first_power_), scale2 = 1 / (1 - second_power_);
  for (std::size_t k = 0; k < mlp_.weights.size(); ++k) {
    std::vector<float>& weights = mlp_.weights[k].data;
    const double decay = k % 2 == 0 ? options.decay : 0.0;  // biases do not decay
    for (std::size_t e = 0; e < weights.size(); ++e) {
      double direction = gradients_[k].data[e];
      if (adam) {
        double &m = first_[k][e], &v = second_[k][e];
        m += (1 - kFirst) * (direction - m);
        v += (1 - kSecond) * (direction * direction - v);
        direction = m * scale1 / (std::sqrt(v * scale2) + kEpsilon);
      }
      weights[e] -= static_cast<float>(options.rate * (direction + decay * weights[e]));
    }
  }
}

double Trainer::step(const TrainingOptions& options) {
  check(options);
  Objective& minimised = objective(options.lambda > 0);
  if (steps_ % steps_an_epoch() == 0) begin_epoch();
  fill(options);
  const double loss = minimised.run(batch_, mlp_.weights, options.lambda, gradients_);
  if (!std::isfinite(loss))
    throw Error{ErrorCode::numerical, "train", "the loss is no longer finite", "begin again with a smaller rate or lambda"};
  move(options);
  ++steps_;
  return loss;
}

std::vector<double> Trainer::epochs(std::int64_t count, const TrainingOptions& options) {
  std::vector<double> losses;
  losses.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
  for (std::int64_t epoch = 0; epoch < count; ++epoch) {
    double sum = 0;
    for (std::int64_t k = 0; k < steps_an_epoch(); ++k) sum += step(options);
    losses.push_back(sum / static_cast<double>(steps_an_epoch()));
  }
  return losses;
}

Score Trainer::sums(std::int64_t first, std::int64_t count) {
  const std::int64_t last = std::min(points(), first + count);
  Score sum;
  for (; first < last; first += rows_) {
    const std::int64_t rows = std::min(rows_, last - first);  // further rows keep old values, which are ignored
    std::copy_n(x_.row(first).begin(), rows * batch_.x.shape[1], batch_.x.data.begin());
    logits_.run(batch_.x, mlp_.weights, batch_logits_);
    for (std::int64_t k = 0; k < rows; ++k) {
      sum.loss += cross_entropy(batch_logits_.row(k), labels_[first + k]);
      sum.accuracy += argmax(batch_logits_.row(k)) == labels_[first + k] ? 1 : 0;
    }
  }
  return sum;
}

Score Trainer::score() {
  TrainingRun run(*this, 0, {});
  run.finish();
  return run.score();
}

TrainingRun::TrainingRun(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options)
    : Job(trainer.stop),
      trainer_(trainer),
      options_(options),
      scores_((trainer.points() + trainer.batch() - 1) / trainer.batch()) {
  constexpr std::int64_t kMost = 1 << 30;
  check(options);
  if (epochs < 0 || epochs > kMost) refuse("epochs", "are " + std::to_string(epochs), "give 0 or more, below 2^30");
  steps_ = epochs * trainer.steps_an_epoch();
}

bool TrainingRun::advance() {
  if (done_ < steps_) {
    trainer_.step(options_);
  } else {
    const Score part = trainer_.sums((done_ - steps_) * trainer_.batch(), trainer_.batch());
    sums_.loss += part.loss;
    sums_.accuracy += part.accuracy;
  }
  return ++done_ < planned();
}

Score TrainingRun::score() const {
  const auto points = static_cast<double>(trainer_.points());
  return {sums_.loss / points, sums_.accuracy / points};
}

}  // namespace probust
