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

constexpr std::uint32_t kOrder = 0x5011;  ///< stream of the generator
// The weight of the current batch in running statistics (Ioffe and Szegedy, ICML 2015, keep a moving average; 0.1 is usual).
constexpr float kFollow = 0.1F;
constexpr double kLeastFactor = 1e-6;  // smallest factor of a schedule, because rates must be positive

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& hint) {
  throw Error{ErrorCode::usage, where, what, hint};
}

void require_points(const Tensor& x) {
  if (x.shape.size() < 2 || x.size() == 0) refuse("x", "has shape " + to_string(x.shape), "give points [N, ...]");
  if (!std::all_of(x.data.begin(), x.data.end(), [](float value) { return std::isfinite(value); }))
    refuse("x", "contains a non-finite value", "remove such points");
}

void require_labels(const std::vector<std::int64_t>& labels, std::int64_t points, std::int64_t classes) {
  if (classes < 2) refuse("the number of classes", "is " + std::to_string(classes), "give at least two");
  if (static_cast<std::int64_t>(labels.size()) != points)
    refuse("labels",
           "must have one label per point, not " + std::to_string(labels.size()) + " for " + std::to_string(points) + " points",
           "give each point a label");
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes)
      refuse("labels", "cannot have the label " + std::to_string(label), "give labels from 0 to " + std::to_string(classes - 1));
  }
}

void require_memory(std::int64_t bytes, std::int64_t allowed) {
  if (bytes <= allowed) return;
  throw Error{ErrorCode::resources, "training", "needs " + std::to_string(bytes >> 20) + " MiB, which exceeds the memory limit",
              "give fewer or narrower layers, or a smaller batch"};
}

std::int64_t count_weights(const Network& network) {
  std::int64_t count = 0;
  for (const Parameter& weight : network.weights) count += weight.value.size();
  return count;
}

Shape with_rows(std::int64_t rows, const Shape& point) {
  Shape shape = point;
  shape.insert(shape.begin(), rows);
  return shape;
}

void require_data(const Network& network, const Tensor& x, const std::vector<std::int64_t>& labels) {
  require_points(x);
  require_labels(labels, x.shape[0], network.classes);
  if (x.shape != with_rows(x.shape[0], network.point))
    refuse("x", "has shape " + to_string(x.shape),
           "give points of shape " + to_string(network.point) + ", as the network expects");
}

// Checks the arguments and returns the number of rows of a batch.
std::int64_t checked_rows(const Network& network, const Tensor& x, const std::vector<std::int64_t>& labels,
                          const TrainerOptions& options) {
  require_data(network, x, labels);
  if (options.batch < 1) refuse("batch", "is " + std::to_string(options.batch), "give 1 or more");
  const std::int64_t rows = std::min(options.batch, x.shape[0]);
  require_memory(kBytesAWeight * count_weights(network) +
                     static_cast<std::int64_t>(sizeof(float)) * rows * (element_count(network.point) + network.classes),
                 options.memory);
  return rows;
}

std::vector<Tensor> shaped_like(const std::vector<Parameter>& parameters) {
  std::vector<Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const Parameter& each : parameters) tensors.emplace_back(each.value.shape);
  return tensors;
}

void require_number(const std::string& name, double value, bool positive) {
  if (!std::isfinite(value) || value < 0 || (positive && value == 0))
    refuse(name, "is " + std::to_string(value), positive ? "give a positive number" : "give zero or a positive number");
}

std::int64_t checked_epochs(std::int64_t epochs) {
  constexpr std::int64_t kMost = 1 << 30;
  if (epochs < 0 || epochs > kMost) refuse("epochs", "is " + std::to_string(epochs), "give a number from 0 to 2^30");
  return epochs;
}

// -log softmax(logits)[label].
double cross_entropy(std::span<const float> logits, std::int64_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) - (logits[label] - largest);
}

// The inputs of scoring: the compiled network, the points, and memory for a batch.
struct Scorer {
  BatchLogits& logits;
  const Network& network;
  const Tensor& x;
  const std::vector<std::int64_t>& labels;
  Tensor &batch, &results;
};

// Sums of loss and accuracy over the points first .. first + count - 1, cut off at the last point.
Score sums_of(const Scorer& scorer, std::int64_t first, std::int64_t count) {
  const std::int64_t last = std::min(scorer.x.shape[0], first + count), most = scorer.batch.shape[0];
  Score sum;
  for (; first < last; first += most) {
    const std::int64_t rows = std::min(most, last - first);  // further rows keep old values, which are ignored
    std::copy_n(scorer.x.row(first).begin(), rows * element_count(scorer.network.point), scorer.batch.data.begin());
    scorer.logits.run(scorer.batch, scorer.network, scorer.results);
    for (std::int64_t k = 0; k < rows; ++k) {
      const std::span<const float> row = std::as_const(scorer.results).row(k);
      sum.loss += cross_entropy(row, scorer.labels[first + k]);
      sum.accuracy += argmax(row) == scorer.labels[first + k] ? 1 : 0;
    }
  }
  return sum;
}

Loss loss_of(const TrainingOptions& options) {
  return options.robust_sigma > 0 ? Loss::p_robust : options.lambda > 0 ? Loss::regularised : Loss::cross_entropy;
}

double strength_of(const TrainingOptions& options) { return options.robust_sigma > 0 ? options.robust_sigma : options.lambda; }

}  // namespace

Score evaluate(const Network& network, const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t rows,
               const StopToken* stop) {
  require_data(network, x, labels);
  const std::int64_t together = std::min(rows, x.shape[0]);
  BatchLogits logits(network, together, stop);
  Tensor batch(with_rows(together, network.point)), results({together, network.classes});
  const Score sum = sums_of({logits, network, x, labels, batch, results}, 0, x.shape[0]);
  const auto points = static_cast<double>(x.shape[0]);
  return {sum.loss / points, sum.accuracy / points};
}

void check(const TrainingOptions& options) {
  require_number("rate", options.rate, true);
  require_number("sigma", options.sigma, false);
  require_number("lambda", options.lambda, false);
  require_number(option("robust_sigma"), options.robust_sigma, false);
  require_number("decay", options.decay, false);
  if (options.robust_sigma > 0 && options.lambda > 0) refuse("lambda", "has no effect if p is maximised", "leave it out");
  require_number("momentum", options.momentum, false);
  if (options.momentum >= 1) refuse("momentum", "is " + std::to_string(options.momentum), "give less than 1");
  if (options.crop < 0) refuse("crop", "is " + std::to_string(options.crop), "give 0 or more pixels");
}

Trainer::Trainer(Network network, Tensor x, std::vector<std::int64_t> labels, const TrainerOptions& options)
    : network_(std::move(network)),
      x_(std::move(x)),
      labels_(std::move(labels)),
      options_(options),
      rows_(checked_rows(network_, x_, labels_, options_)),
      logits_(network_, rows_, &stop),
      batch_{Tensor(with_rows(rows_, network_.point)), Tensor({rows_, network_.classes})},
      batch_logits_({rows_, network_.classes}),
      gradients_(shaped_like(network_.weights)),
      observed_(shaped_like(network_.statistics)),
      moments_(no_moments(options_.optimizer, network_.weights)),
      order_(labels_.size()) {}

Objective& Trainer::objective(Loss loss) {
  std::unique_ptr<Objective>& wanted = objectives_[static_cast<std::size_t>(loss)];
  if (wanted == nullptr) {
    auto made = std::make_unique<Objective>(network_, rows_, loss, &stop);
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
  order_is_old_ = false;
}

// Fills the next batch with augmented points and their labels.
void Trainer::fill(const TrainingOptions& options) {
  const auto epoch = static_cast<std::uint32_t>(steps_ / steps_an_epoch());
  const std::int64_t first = steps_ % steps_an_epoch() * rows_;
  std::fill(batch_.wanted.data.begin(), batch_.wanted.data.end(), 0.0F);
  for (std::int64_t k = 0; k < rows_; ++k) {
    const std::int64_t i = order_[first + k];
    const std::span<float> row = batch_.x.row(k);
    std::copy_n(x_.row(i).begin(), row.size(), row.begin());
    augment({options.sigma, options.flip, options.crop}, options_.seed, static_cast<std::uint32_t>(i), epoch, network_.point,
            row);
    batch_.wanted.row(k)[labels_[i]] = 1;
  }
}

// Moves the running statistics towards those of the batch. At first, they are the mean over all batches so far; otherwise the
// initial values would have an effect for dozens of steps.
void Trainer::follow_batch() {
  const float share = std::max(kFollow, 1 / static_cast<float>(steps_ + 1));
  for (std::size_t k = 0; k < observed_.size(); ++k) {
    std::vector<float>& running = network_.statistics[k].value.data;
    for (std::size_t e = 0; e < running.size(); ++e) running[e] += share * (observed_[k].data[e] - running[e]);
  }
}

bool Trainer::gradients_are_finite() const {
  return std::all_of(gradients_.begin(), gradients_.end(), [](const Tensor& gradient) {
    return std::all_of(gradient.data.begin(), gradient.data.end(), [](float slope) { return std::isfinite(slope); });
  });
}

double Trainer::step(const TrainingOptions& options) {
  check(options);
  if ((options.flip || options.crop > 0) && network_.point.size() != 3)
    refuse(options.flip ? "flip" : "crop", "needs images [C, H, W], not points " + to_string(network_.point), "leave it out");
  Objective& minimised = objective(loss_of(options));
  if (steps_ % steps_an_epoch() == 0 || order_is_old_) begin_epoch();
  fill(options);
  const double loss = minimised.run(batch_, network_.weights, strength_of(options), gradients_, observed_);
  if (!std::isfinite(loss) || !gradients_are_finite())
    throw Error{ErrorCode::numerical, "training", "diverged: the loss is not finite",
                "train again with a smaller learning rate or lambda"};
  move(options_.optimizer, {options.rate, options.decay, options.momentum}, gradients_, moments_, network_.weights);
  follow_batch();
  ++steps_;
  return loss;
}

void Trainer::resume(State state) {
  const auto fits = [](const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Parameter& one, const Parameter& other) {
      return one.name == other.name && one.value.shape == other.value.shape;
    });
  };
  if (!fits(state.weights, network_.weights) || !fits(state.statistics, network_.statistics) ||
      state.moments.second.size() != moments_.second.size())
    refuse("checkpoint", "belongs to a different network or optimizer",
           "give the model and optimizer that the training was started with");
  network_.weights = std::move(state.weights);
  network_.statistics = std::move(state.statistics);
  moments_ = std::move(state.moments);
  steps_ = state.steps;
  order_is_old_ = true;
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
  return sums_of({logits_, network_, x_, labels_, batch_.x, batch_logits_}, first, count);
}

Score Trainer::score() {
  TrainingRun run(*this, 0, {});
  run.finish();
  return run.score();
}

TrainingRun::TrainingRun(Trainer& trainer, const TrainingOptions& options, std::int64_t steps)
    : Job(trainer.stop),
      trainer_(trainer),
      options_(options),
      steps_(steps),
      last_(trainer.steps() + steps),
      scores_((trainer.points() + trainer.batch() - 1) / trainer.batch()) {
  check(options);
}

TrainingRun::TrainingRun(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options)
    : TrainingRun(trainer, options, checked_epochs(epochs) * trainer.steps_an_epoch()) {}

TrainingRun TrainingRun::up_to(Trainer& trainer, std::int64_t epochs, const TrainingOptions& options) {
  return {trainer, options, std::max<std::int64_t>(0, checked_epochs(epochs) * trainer.steps_an_epoch() - trainer.steps())};
}

bool TrainingRun::advance() {
  if (done_ < steps_) {
    TrainingOptions now = options_;
    now.rate *= std::max(schedule_factor(options_.schedule, trainer_.steps(), last_), kLeastFactor);
    loss_ = trainer_.step(now);
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
