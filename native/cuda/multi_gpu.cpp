// SPDX-License-Identifier: MIT
#include "cuda/multi_gpu.h"

#include <algorithm>

#include "probust/base/parallel.h"
#include "probust/normal/batch.h"

namespace probust::cuda {
namespace {

class MultiGpuExecutor final : public Executor, public normal::ProblemSolver {
 public:
  MultiGpuExecutor(const Graph& classifier, const ExecutorOptions& options, CudaOptions cuda) : options_(options) {
    const int count = std::max(1, count_devices().count);  // without devices, the first one throws the error
    cuda.progress = &progress;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      cuda.ordinal = ordinal;
      parts_.push_back(make_cuda_executor(classifier, options, cuda).value());
      cuda.warn = [](const std::string&) {};  // the others would warn of the same
    }
    options_ = parts_[0]->options();  // memory is the host's
  }

  std::string_view name() const override { return "cuda:all"; }
  std::int64_t classes() const override { return parts_[0]->classes(); }
  const Shape& point_shape() const override { return parts_[0]->point_shape(); }
  bool piecewise_constant() override { return parts_[0]->piecewise_constant(); }
  Batch forward_batch() const override { return parts_[0]->forward_batch(); }
  Batch gradient_batch() const override { return parts_[0]->gradient_batch(); }
  const ExecutorOptions& options() const override { return options_; }

  Result<Tensor> logits(const Tensor& x) override {
    if (x.shape.empty()) return parts_[0]->logits(x);  // which throws the error
    return guarded("model", [&] {
      const std::int64_t n = x.shape[0];
      Tensor all({n, classes()});
      each_share(n, [&](Executor& part, std::int64_t first, std::int64_t count) {
        const Tensor own = part.logits(rows(x, first, count)).value();
        std::copy(own.data.begin(), own.data.end(), all.data.begin() + first * classes());
      });
      return all;
    });
  }

  // Results are needed in the order of the points, so several devices have no advantage.
  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return parts_[0]->jacobian(x, take);
  }

  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return shared<Linearization>(points,
                                 [&](Executor& part, const Points& own, std::int64_t) { return part.linearize(own, shape); });
  }

  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return shared<Linearization>(
        points, [&](Executor& part, const Points& own, std::int64_t) { return part.linearize_smoothed(own, noise); });
  }

  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return shared<Linearization>(
        points, [&](Executor& part, const Points& own, std::int64_t) { return part.linearize_averaged(own, noise, samples); });
  }

  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first) override {
    using Counts = std::vector<std::int64_t>;
    if (points.size() >= static_cast<std::int64_t>(parts_.size())) {
      return shared<Counts>(
          points, [&](Executor& part, const Points& own, std::int64_t) { return part.sample(own, noise, samples, first); });
    }
    return guarded("model", [&] {
      check(*this, points);
      std::vector<std::vector<Counts>> found(parts_.size());
      each_share(samples, [&](Executor& part, std::int64_t begin, std::int64_t count) {
        found[number_of(part)] = part.sample(points, noise, count, first + begin).value();
      });
      std::vector<Counts> counts(static_cast<std::size_t>(points.size()), Counts(static_cast<std::size_t>(classes()), 0));
      for (const auto& own : found) {
        for (std::size_t i = 0; i < own.size(); ++i)
          std::transform(own[i].begin(), own[i].end(), counts[i].begin(), counts[i].begin(), std::plus<>());
      }
      return counts;
    });
  }

  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    return shared<Pairs>(points,
                         [&](Executor& part, const Points& own, std::int64_t) { return part.pairs(own, noise, count, first); });
  }

  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    return shared<Projection>(points, [&](Executor& part, const Points& own, std::int64_t begin) {
      const std::vector<std::vector<std::int64_t>> some(rivals.begin() + begin, rivals.begin() + begin + own.size());
      return part.project(own, some, noise, count, known, around);
    });
  }

  normal::ProblemSolver* normal_solver() override { return this; }

  void solve(std::span<const normal::Problem> problems, std::span<normal::Probability> answers,
             const normal::Options& options) override {
    each_share(static_cast<std::int64_t>(problems.size()), [&](Executor& part, std::int64_t first, std::int64_t count) {
      part.normal_solver()->solve(problems.subspan(first, count), answers.subspan(first, count), options);
    });
  }

 private:
  std::size_t number_of(const Executor& part) const {
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const auto& one) { return one.get() == &part; });
    return static_cast<std::size_t>(found - parts_.begin());
  }

  // Calls work(device, first, count) for every device with a share of 0 .. total - 1, concurrently.
  template <class Work>
  void each_share(std::int64_t total, Work work) {
    const auto devices = static_cast<std::int64_t>(parts_.size());
    parallel_for(devices, static_cast<int>(devices), [&](std::int64_t k, int) {
      const std::int64_t first = total * k / devices, end = total * (k + 1) / devices;
      if (end > first) work(*parts_[k], first, end - first);
    });
  }

  // The results of call(device, points, index of the first) for all shares, in the order of the points.
  template <class T, class Call>
  Result<std::vector<T>> shared(const Points& points, Call call) {
    return guarded("model", [&] {
      check(*this, points);
      std::vector<T> all(static_cast<std::size_t>(points.size()));
      each_share(points.size(), [&](Executor& part, std::int64_t first, std::int64_t count) {
        std::vector<T> own = call(part, slice(points, first, count), first).value();
        std::move(own.begin(), own.end(), all.begin() + first);
      });
      return all;
    });
  }

  ExecutorOptions options_;
  std::vector<std::unique_ptr<Executor>> parts_;
};

}  // namespace

std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda) {
  return std::make_unique<MultiGpuExecutor>(classifier, options, cuda);
}

}  // namespace probust::cuda
