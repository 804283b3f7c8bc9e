// SPDX-License-Identifier: MIT
#include "probust/exec/coarse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "probust/autodiff/vjp.h"
#include "probust/exec/checks.h"
#include "probust/exec/group_mean.h"
#include "probust/exec/host/last_layer.h"
#include "probust/exec/pairs.h"
#include "probust/exec/shared_draws.h"

namespace probust {
namespace {

class CoarseExecutor final : public Executor {
 public:
  explicit CoarseExecutor(std::unique_ptr<Lanes> lanes, Progress* shared = nullptr)
      : Executor(shared),
        lanes_(std::move(lanes)),
        loops_(*lanes_, progress),
        elements_(element_count(lanes_->point_shape())),
        rivals_(lanes_->classes() - 1) {
    lanes_->report_to(progress);
    if (lanes_->splits_last_layer()) split_ = split_last_layer(*lanes_->classifier());
  }

  std::string_view name() const override { return lanes_->name(); }
  std::int64_t classes() const override { return lanes_->classes(); }
  const Shape& point_shape() const override { return lanes_->point_shape(); }
  bool differentiable() const override { return lanes_->differentiable(); }
  bool piecewise_constant() override {
    if (!differentiable()) return true;  // there are no gradients
    if (lanes_->classifier() == nullptr) return false;
    if (!piecewise_constant_) piecewise_constant_ = is_piecewise_constant(*lanes_->classifier());
    return *piecewise_constant_;
  }
  bool handles_missing() override { return lanes_->classifier() != nullptr && probust::handles_missing(*lanes_->classifier()); }
  Batch forward_batch() const override { return lanes_->forward_batch(); }
  Batch gradient_batch() const override { return gradient_batch_; }
  std::int64_t backwards_to_linearize() const override { return split_ ? split_->last->weights.cols() : rivals_; }
  const ExecutorOptions& options() const override { return lanes_->options(); }

  Result<Tensor> logits(const Tensor& x) override {
    return call([&] {
      const std::int64_t n = checked_rows(*this, x);
      Tensor result({n, classes()});
      loops_.for_chunks(n, forward_batch().examples, [&](std::int64_t first, std::int64_t count, int worker) {
        lanes_->load(worker, x.data.data() + first * elements_, count);
        lanes_->forward(worker, count);
        lanes_->logits(worker).store(count, classes(), result.data.data() + first * classes());
      });
      return result;
    });
  }

  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return call([&] {
      const std::int64_t n = checked_rows(*this, x), bytes = classes() * elements_ * static_cast<std::int64_t>(sizeof(float));
      if (bytes > options().memory) {
        throw Error{ErrorCode::resources, option("memory"),
                    "is too small: a Jacobian takes " + std::to_string((bytes >> 10) + 1) + "K",
                    "give at least " + std::to_string((bytes >> 10) + 1) + "K"};
      }
      const Sweep which = prepare(classes());
      std::vector<float> rows(static_cast<std::size_t>(classes() * elements_));
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t unknown = 0;  // the place in the data; nothing is whitened
        lanes_->load(0, x.data.data() + i * elements_, 1);
        lanes_->sweep(0, which, std::span(&unknown, 1), {.rows = classes()},
                      [&](std::int64_t row, std::int64_t) { lanes_->read_gradients(0, rows.data() + row * elements_); });
        take(i, rows);
      }
      return std::monostate{};
    });
  }

  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return call([&] {
      check(*this, points, shape);
      if (Executor* features = without_last_layer()) return through(points, features->linearize(for_features(points), shape));
      return linearized(points, shape, prepare(rivals_));
    });
  }

  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return call([&] {
      check(*this, points, *noise.shape);
      if (Executor* features = without_last_layer())
        return through(points, features->linearize_smoothed(for_features(points), noise));
      return linearized(points, *noise.shape, prepare(rivals_, Around::noise, &noise));
    });
  }

  Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise) override {
    return call([&] {
      check(*this, points, *noise.shape);
      if (noise.shape->differs()) {
        throw Error{ErrorCode::unsupported, noise.text(), "differs from point to point", ""};
      }
      const Batch batch = lanes_->prepare_moments();
      std::vector<LogitMoments> result(static_cast<std::size_t>(points.size()));
      loops_.for_chunks(points.size(), batch.examples, [&](std::int64_t first, std::int64_t count, int worker) {
        lanes_->load(worker, points.x.data.data() + first * elements_, count);
        lanes_->propagate(worker, noise, count);
        const LogitsView means = lanes_->logits(worker), variances = lanes_->variances(worker);
        for (std::int64_t b = 0; b < count; ++b) result[first + b] = {means.lane(b, classes()), variances.lane(b, classes())};
      });
      return result;
    });
  }

  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return call([&] {
      check(*this, points, *noise.shape);
      if (Executor* features = without_last_layer())
        return through(points, features->linearize_averaged(for_features(points), noise, samples));
      const Sweep which = prepare_sums();
      std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
      // Copies of several points fill whole batches together. The sums of a group take as much memory as the gradients of twice
      // as many examples.
      const std::int64_t fitting = which.batch.examples / 2;
      loops_.for_chunks(points.size(), std::max<std::int64_t>(1, fitting),
                        [&](std::int64_t first, std::int64_t count, int worker) {
                          GroupMean mean(loops_, slice(points, first, count), noise, samples, which);
                          mean.add(samples, worker);
                          std::move(mean.results().begin(), mean.results().end(), result.begin() + first);
                        });
      return result;
    });
  }

  Result<std::unique_ptr<Averages>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return call([&]() -> std::unique_ptr<Averages> {
      check(*this, points, *noise.shape);
      if (without_last_layer() != nullptr) return Executor::averages(points, noise, samples).value();
      return std::make_unique<CopyByCopy>(*this, points, noise, samples);
    });
  }

  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first_sample) override {
    return call([&] {
      check(*this, points, *noise.shape);
      const auto placed = lanes_->place(points, *noise.shape);
      const auto counts = lanes_->make_counts(points.size());
      const CopyRange all{.first = first_sample, .count = samples, .scale = noise.scale};
      loops_.for_copies(*placed, all, [&](const CopyRange& copies, int worker, const auto& meanwhile) {
        lanes_->forward(worker, copies.lanes);
        meanwhile();
        lanes_->count_winners(worker, copies, *counts);
      });
      return lanes_->read_counts(*counts);
    });
  }

  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    return call([&] {
      check_pairs(*this, points, *noise.shape, first + count);
      const SharedDraws* shared = points.draws.empty() || !noise.shape->additive() ? nullptr : shared_draws();
      if (shared == nullptr) return pairs_of(loops_, points, noise, count, first);
      release();  // the parts of the classifier use the same memory
      std::vector<Pairs> all = shared->pairs(points, noise, count, first, progress.stop);
      shared->release();
      return all;
    });
  }

  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    return call([&] {
      check_pairs(*this, points, *noise.shape, count);
      if (points.size() == 0) return std::vector<Projection>{};
      const std::int64_t rows = std::ssize(rivals[0]);
      const Sweep which = prepare(rows, around, &noise);
      std::vector<Projection> result(static_cast<std::size_t>(points.size()));
      const bool by_draw = known == count && lanes_->reads_kept() && projects_by_draw(points, noise, rows);
      std::vector<Eigen::MatrixXf> gradients(by_draw ? result.size() : 0);
      loops_.for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t examples, int worker) {
        const auto part = [&](auto& all) { return std::span(all).subspan(first, examples); };
        probust::project(loops_, worker, which, slice(points, first, examples), part(rivals), noise,
                         by_draw ? AskedPairs{0, 0} : AskedPairs{count, known}, part(result),
                         by_draw ? part(gradients) : std::span<Eigen::MatrixXf>());
      });
      if (by_draw) project_by_draw(loops_, points, noise, count, gradients, result);
      return result;
    });
  }

  void release() override { lanes_->release(); }

  normal::ProblemSolver* normal_solver() override { return lanes_->normal_solver(); }

  Result<std::vector<KindTime>> profile(const Points& points, bool gradients) override {
    return call([&] {
      check(*this, points);
      if (!gradients) return lanes_->profile(points, nullptr);
      const Sweep which = prepare(rivals_);
      return lanes_->profile(points, &which);
    });
  }

 private:
  // A public call, from any thread.
  template <class Body>
  auto call(const Body& body) -> Result<decltype(body())> {
    return guarded("the model", [&] {
      lanes_->use();
      return body();
    });
  }

  // Sweeps over the margins at the point or, with Around::noise, under the noise.
  Sweep prepare(std::int64_t rows, Around around = Around::point, const Noise* noise = nullptr) {
    Sweep which = lanes_->prepare(around, rows);
    if (around == Around::noise) which.noise = noise;
    if (rows >= rivals_) gradient_batch_ = which.batch;
    return which;
  }

  Sweep prepare_sums() {
    const Sweep which = lanes_->prepare_sums(rivals_);
    gradient_batch_ = which.batch;
    return which;
  }

  // The executor of the last layer's inputs, made when first needed; null if the layer is not split off.
  Executor* without_last_layer() {
    if (!split_) return nullptr;
    if (!features_) features_ = std::make_unique<CoarseExecutor>(lanes_->without_last_layer(*split_), &progress);
    return features_.get();
  }

  // For draws that points share, made when first needed; null if the classifier does not begin with an affine layer.
  const SharedDraws* shared_draws() {
    if (std::exchange(sought_start_, true) || lanes_->classifier() == nullptr) return shared_draws_.get();
    if (const std::optional<AffineStart> start = split_affine_start(*lanes_->classifier()))
      shared_draws_ = SharedDraws::of(*lanes_, *start, progress);
    return shared_draws_.get();
  }

  std::vector<Linearization> through(const Points& points, Result<std::vector<Linearization>> features) const {
    return through_last_layer(split_->last, std::move(features).value(), points, &progress.stop);
  }

  std::vector<Linearization> linearized(const Points& points, const NoiseShape& shape, const Sweep& which) {
    const auto placed = lanes_->place(points, shape);
    std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
    loops_.for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t count, int worker) {
      const auto targets = std::span(points.target).subspan(first, count), index = std::span(points.index).subspan(first, count);
      lanes_->load(worker, points.x.data.data() + first * elements_, count);
      lanes_->make_room(worker, Kept::whitened, count, rivals_);
      lanes_->sweep(worker, which, index, {rivals_, targets}, [&](std::int64_t, std::int64_t) {
        lanes_->whiten(worker, *placed);
        lanes_->keep(worker, Kept::whitened);
      });
      std::vector<Eigen::MatrixXd> grams = lanes_->grams(worker, Kept::whitened);
      const LogitsView logits = lanes_->logits(worker);
      for (std::int64_t b = 0; b < count; ++b) {
        Linearization& out = result[first + b];
        out.margins.resize(rivals_);
        logits.store_margins(b, targets[b], out.margins);
        out.gram = std::move(grams[b]);
      }
      lanes_->drop_kept(worker);
    });
    return result;
  }

  // linearize_averaged, a batch of copies of each point at a time.
  class CopyByCopy final : public Averages {
   public:
    CopyByCopy(CoarseExecutor& executor, const Points& points, const Noise& noise, std::int64_t samples)
        : Averages(executor.progress.stop), executor_(executor), samples_(samples) {
      const Sweep which = executor.prepare_sums();
      for (std::int64_t i = 0; i < points.size(); ++i)
        means_.push_back(std::make_unique<GroupMean>(executor.loops_, slice(points, i, 1), noise, samples, which));
    }

    std::int64_t planned() const override { return samples_; }
    std::int64_t done() const override { return means_.empty() ? samples_ : means_.front()->copies(); }

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

    // A batch of copies is added after all its passes.
    bool can_repeat(const Error& error) const override {
      return error.code == ErrorCode::interrupted && !executor_.progress.stop;
    }

    CoarseExecutor& executor_;
    std::int64_t samples_;
    std::vector<std::unique_ptr<GroupMean>> means_;
  };

  std::unique_ptr<Lanes> lanes_;
  LaneLoops loops_;
  std::int64_t elements_, rivals_;
  std::optional<bool> piecewise_constant_;
  Batch gradient_batch_;
  std::optional<SplitClassifier> split_;  // if there are many classes
  std::unique_ptr<CoarseExecutor> features_;
  std::unique_ptr<SharedDraws> shared_draws_;
  bool sought_start_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_coarse_executor(std::unique_ptr<Lanes> lanes, Progress* progress) {
  return std::make_unique<CoarseExecutor>(std::move(lanes), progress);
}

}  // namespace probust
