// SPDX-License-Identifier: MIT
#include "probust/exec/plan/chunked_executor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "probust/autodiff/vjp.h"
#include "probust/exec/checks.h"
#include "probust/exec/host/head_margins.h"
#include "probust/exec/plan/averaged_gradients.h"
#include "probust/exec/plan/pairs.h"
#include "probust/exec/plan/shared_draws.h"

namespace probust {
namespace {

class ChunkedExecutor final : public Executor {
 public:
  explicit ChunkedExecutor(std::unique_ptr<BatchDevice> device, Progress* shared = nullptr)
      : Executor(shared),
        device_(std::move(device)),
        loops_(*device_, progress),
        elements_(element_count(device_->facts().point_shape)),
        rivals_(device_->facts().classes - 1) {
    device_->report_to(progress);
    const DeviceFacts& device_facts = device_->facts();
    const Graph* const classifier = device_facts.classifier;
    if (device_facts.splits_head) split_ = split_head(*classifier);
    facts_ = {.name = device_facts.name,
              .point_shape = device_facts.point_shape,
              .classifier = classifier,
              .classes = device_facts.classes,
              .differentiable = device_facts.differentiable,
              .handles_missing = classifier != nullptr && probust::handles_missing(*classifier),
              .backwards_to_linearize = split_ ? std::int64_t{split_->last->weights.cols()} : rivals_,
              .forward_batch = device_facts.forward_batch,
              .options = device_facts.options};
  }

  const ExecutorFacts& facts() const override { return facts_; }
  bool piecewise_constant() override {
    if (!differentiable()) return true;  // there are no gradients
    if (device_->facts().classifier == nullptr) return false;
    if (!piecewise_constant_) piecewise_constant_ = is_piecewise_constant(*device_->facts().classifier);
    return *piecewise_constant_;
  }
  Batch gradient_batch() const override { return gradient_batch_; }

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override {
    return answer_by_type(question, [this](const auto& asked) { return call([&] { return answer_to(asked); }); });
  }

  Result<std::unique_ptr<AverageJob>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return call([&]() -> std::unique_ptr<AverageJob> {
      check(*this, points, *noise.shape);
      if (without_head() != nullptr) return averages_at_once(*this, points, noise, samples);
      return std::make_unique<ChunkedAverageJob>(*this, points, noise, samples);
    });
  }

  void release() override { device_->release(); }
  Result<Executor*> after(const std::shared_ptr<const NoiseMap>&) override { return nullptr; }  // see composable_executor.h

  normal::ProblemSolver* normal_solver() override { return device_->normal_solver(); }

  Result<std::vector<KindTime>> profile(const Points& points, bool gradients) override {
    return call([&] {
      check(*this, points);
      if (!gradients) return device_->runs().profile(points, nullptr);
      const Sweep which = prepare(rivals_);
      return device_->runs().profile(points, &which);
    });
  }

 private:
  Tensor answer_to(const LogitsAt& asked) {
    const std::int64_t n = checked_rows(*this, asked.x);
    Tensor result({n, classes()});
    loops_.for_chunks(n, forward_batch().examples, [&](std::int64_t first, std::int64_t count, int worker) {
      device_->inputs().load(worker, asked.x.data.data() + first * elements_, count);
      device_->runs().forward(worker, count);
      device_->runs().logits(worker).store(count, classes(), result.data.data() + first * classes());
    });
    return result;
  }

  std::monostate answer_to(const JacobianAt& asked) {
    const std::int64_t n = checked_rows(*this, asked.x), bytes = classes() * elements_ * static_cast<std::int64_t>(sizeof(float));
    if (bytes > options().memory) {
      throw Error{ErrorCode::resources, option("memory"),
                  "is too small: a Jacobian needs " + std::to_string((bytes >> 10) + 1) + "K",
                  "give at least " + std::to_string((bytes >> 10) + 1) + "K"};
    }
    const Sweep which = prepare(classes());
    std::vector<float> rows(static_cast<std::size_t>(classes() * elements_));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t unknown = 0;  // any position, because nothing is whitened
      device_->inputs().load(0, asked.x.data.data() + i * elements_, 1);
      device_->runs().sweep(0, which, std::span(&unknown, 1), {.rows = classes()}, [&](std::int64_t row, std::int64_t) {
        device_->gradients().read_gradients(0, rows.data() + row * elements_);
      });
      asked.take(i, rows);
    }
    return {};
  }

  std::vector<Linearization> answer_to(const LinearizeAtPoint& asked) {
    check(*this, asked.points, asked.shape);
    if (Executor* features = without_head())
      return through(asked.points, features->linearize(for_features(asked.points), asked.shape));
    return linearized(asked.points, asked.shape, prepare(rivals_));
  }

  std::vector<Linearization> answer_to(const LinearizeAtMean& asked) {
    check(*this, asked.points, *asked.noise.shape);
    if (Executor* features = without_head())
      return through(asked.points, features->linearize_smoothed(for_features(asked.points), asked.noise));
    return linearized(asked.points, *asked.noise.shape, prepare(rivals_, LinearizeAt::noise_mean, &asked.noise));
  }

  std::vector<LogitMoments> answer_to(const PropagateMoments& asked) {
    const Points& points = asked.points;
    check(*this, points, *asked.noise.shape);
    if (asked.noise.shape->differs()) {
      throw Error{ErrorCode::unsupported, asked.noise.text(), "differs from point to point, so its moments cannot be propagated",
                  "use an estimator other than adf"};
    }
    const Batch batch = device_->runs().prepare_moments();
    std::vector<LogitMoments> result(static_cast<std::size_t>(points.size()));
    loops_.for_chunks(points.size(), batch.examples, [&](std::int64_t first, std::int64_t count, int worker) {
      device_->inputs().load(worker, points.x.data.data() + first * elements_, count);
      device_->runs().propagate(worker, asked.noise, count);
      const LogitsView means = device_->runs().logits(worker), variances = device_->runs().variances(worker);
      for (std::int64_t b = 0; b < count; ++b) result[first + b] = {means.lane(b, classes()), variances.lane(b, classes())};
    });
    return result;
  }

  std::vector<Linearization> answer_to(const LinearizeAveraged& asked) {
    const Points& points = asked.points;
    check(*this, points, *asked.noise.shape);
    if (Executor* features = without_head())
      return through(points, features->linearize_averaged(for_features(points), asked.noise, asked.samples));
    const Sweep which = prepare_sums();
    std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
    // The samples of several points fill whole batches together. The sums of a group of points take as much memory as the
    // gradients of twice as many examples.
    const std::int64_t fitting = which.batch.examples / 2;
    loops_.for_chunks(points.size(), std::max<std::int64_t>(1, fitting), [&](std::int64_t first, std::int64_t count, int worker) {
      AveragedGradients mean(loops_, slice(points, first, count), asked.noise, asked.samples, which);
      mean.add(asked.samples, worker);
      std::move(mean.results().begin(), mean.results().end(), result.begin() + first);
    });
    return result;
  }

  PredictionCounts answer_to(const CountPredictions& asked) {
    check(*this, asked.points, *asked.noise.shape);
    const auto placed = device_->inputs().place(asked.points, *asked.noise.shape);
    const auto counts = device_->counts().make_counts(asked.points.size());
    const SampleRange all{.first = asked.first, .count = asked.samples, .scale = asked.noise.scale};
    loops_.for_ranges(*placed, all, [&](const SampleRange& range, int worker, const auto& meanwhile) {
      device_->runs().forward(worker, range.lanes);
      meanwhile();
      device_->counts().count_winners(worker, range, *counts);
    });
    return device_->counts().read_counts(*counts);
  }

  std::vector<Pairs> answer_to(const PairMargins& asked) {
    const Points& points = asked.points;
    const NoiseShape& shape = *asked.noise.shape;
    check_pairs(*this, points, shape, asked.first + asked.count);
    const SharedDraws* shared = points.draws.empty() || !shape.additive() ? nullptr : shared_draws();
    if (shared == nullptr) return pairs_of(loops_, points, asked.noise, asked.count, asked.first);
    release();  // the parts of the classifier use the same memory
    std::vector<Pairs> all = shared->pairs(points, asked.noise, asked.count, asked.first, progress.stop);
    shared->release();
    return all;
  }

  std::vector<Projection> answer_to(const ProjectNoise& asked) {
    const Points& points = asked.points;
    const Noise& noise = asked.noise;
    check_pairs(*this, points, *noise.shape, asked.count);
    if (points.size() == 0) return {};
    const std::int64_t rows = std::ssize(asked.rivals[0]);
    const Sweep which = prepare(rows, asked.at, &noise);
    std::vector<Projection> result(static_cast<std::size_t>(points.size()));
    const bool by_draw = asked.known == asked.count && device_->facts().reads_gradients && projects_by_draw(points, noise, rows);
    std::vector<Eigen::MatrixXf> gradients(by_draw ? result.size() : 0);
    loops_.for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t examples, int worker) {
      const auto part = [&](auto& all) { return std::span(all).subspan(first, examples); };
      probust::project(loops_, worker, which, slice(points, first, examples), part(asked.rivals), noise,
                       by_draw ? AskedPairs{0, 0} : AskedPairs{asked.count, asked.known}, part(result),
                       by_draw ? part(gradients) : std::span<Eigen::MatrixXf>());
    });
    if (by_draw) project_by_draw(loops_, points, noise, asked.count, gradients, result);
    return result;
  }

  // Runs a public call, on any thread.
  template <class Body>
  auto call(const Body& body) -> Result<decltype(body())> {
    auto result = guarded("the model", [&] {
      device_->use();
      return body();
    });
    facts_.forward_batch = device_->facts().forward_batch;  // newly compiled programs take memory
    facts_.options.memory = device_->facts().options.memory;
    return result;
  }

  // Prepares sweeps for `rows` margins, at the input or, with LinearizeAt::noise_mean, under the noise.
  Sweep prepare(std::int64_t rows, LinearizeAt at = LinearizeAt::input, const Noise* noise = nullptr) {
    Sweep which = device_->runs().prepare(at, rows);
    if (at == LinearizeAt::noise_mean) which.noise = noise;
    if (rows >= rivals_) gradient_batch_ = which.batch;
    return which;
  }

  Sweep prepare_sums() {
    const Sweep which = device_->runs().prepare_sums(rivals_);
    gradient_batch_ = which.batch;
    return which;
  }

  // The executor for the inputs of the last layer, created on first use; null if the layer is not split off.
  Executor* without_head() {
    if (!split_) return nullptr;
    if (!features_) features_ = std::make_unique<ChunkedExecutor>(device_->without_head(*split_), &progress);
    return features_.get();
  }

  // The evaluator for shared draws, created on first use; null if the classifier does not begin with an affine layer.
  const SharedDraws* shared_draws() {
    if (std::exchange(sought_start_, true) || device_->facts().classifier == nullptr) return shared_draws_.get();
    if (const std::optional<AffinePrefix> start = split_affine_prefix(*device_->facts().classifier))
      shared_draws_ = SharedDraws::of(*device_, *start, progress);
    return shared_draws_.get();
  }

  std::vector<Linearization> through(const Points& points, Result<std::vector<Linearization>> features) const {
    return through_last_layer(split_->last, std::move(features).value(), points, &progress.stop);
  }

  std::vector<Linearization> linearized(const Points& points, const NoiseShape& shape, const Sweep& which) {
    const auto placed = device_->inputs().place(points, shape);
    std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
    loops_.for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t count, int worker) {
      const auto targets = std::span(points.target).subspan(first, count), index = std::span(points.index).subspan(first, count);
      device_->inputs().load(worker, points.x.data.data() + first * elements_, count);
      device_->gradients().make_room(worker, GradientForm::whitened, count, rivals_);
      device_->runs().sweep(worker, which, index, {rivals_, targets}, [&](std::int64_t, std::int64_t) {
        device_->gradients().whiten(worker, *placed);
        device_->gradients().keep(worker, GradientForm::whitened);
      });
      std::vector<Eigen::MatrixXd> grams = device_->gradients().grams(worker, GradientForm::whitened);
      const LogitsView logits = device_->runs().logits(worker);
      for (std::int64_t b = 0; b < count; ++b) {
        Linearization& out = result[first + b];
        out.margins.resize(rivals_);
        logits.store_margins(b, targets[b], out.margins);
        out.gram = std::move(grams[b]);
      }
      device_->gradients().drop_kept(worker);
    });
    return result;
  }

  // LinearizeAveraged as a job, one batch of samples of each point at a time.
  class ChunkedAverageJob final : public AverageJob {
   public:
    ChunkedAverageJob(ChunkedExecutor& executor, const Points& points, const Noise& noise, std::int64_t samples)
        : AverageJob(executor.progress.stop), executor_(executor), samples_(samples) {
      const Sweep which = executor.prepare_sums();
      for (std::int64_t i = 0; i < points.size(); ++i)
        means_.push_back(std::make_unique<AveragedGradients>(executor.loops_, slice(points, i, 1), noise, samples, which));
    }

    std::int64_t planned() const override { return samples_; }
    std::int64_t done() const override { return means_.empty() ? samples_ : means_.front()->added(); }

    std::vector<Linearization> value() const override {
      std::vector<Linearization> all;
      for (const auto& mean : means_) all.push_back(mean->results()[0]);
      return all;
    }

   private:
    bool advance() override {
      const std::int64_t count = done() + 1;
      const auto add = [&](std::int64_t i, std::int64_t, int worker) { means_[i]->add(count, worker); };
      const auto added = executor_.call([&] {
        executor_.loops_.for_chunks(static_cast<std::int64_t>(means_.size()), 1, add);
        return done() < samples_;
      });
      return added.value();
    }

    // A batch of samples is added only after all its passes.
    bool can_repeat(const Error& error) const override {
      return error.code == ErrorCode::interrupted && !executor_.progress.stop;
    }

    ChunkedExecutor& executor_;
    std::int64_t samples_;
    std::vector<std::unique_ptr<AveragedGradients>> means_;
  };

  std::unique_ptr<BatchDevice> device_;
  LaneLoops loops_;
  std::int64_t elements_, rivals_;
  ExecutorFacts facts_;
  std::optional<bool> piecewise_constant_;
  Batch gradient_batch_;
  std::optional<HeadSplit> split_;  // set if there are many classes
  std::unique_ptr<ChunkedExecutor> features_;
  std::unique_ptr<SharedDraws> shared_draws_;
  bool sought_start_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_chunked_executor(std::unique_ptr<BatchDevice> device, Progress* progress) {
  return std::make_unique<ChunkedExecutor>(std::move(device), progress);
}

}  // namespace probust
