// SPDX-License-Identifier: MIT
#include "cuda/multi_gpu.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "cuda/chunks.h"
#include "probust/normal/batch.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kFewPoints = 8;  // per device: with fewer, chunks of points would differ too much in size

class MultiGpuExecutor final : public Executor, public normal::ProblemSolver {
 public:
  MultiGpuExecutor(const Graph& classifier, const ExecutorOptions& options, const CudaOptions& cuda)
      : Executor(cuda.progress), warn_(cuda.warn) {
    make_parts(classifier, options, cuda);
    const auto size = [](const auto& part) { return std::pair(part->options().memory, part->forward_batch().examples); };
    largest_ =
        std::max_element(parts_.begin(), parts_.end(), [&](const auto& a, const auto& b) { return size(a) < size(b); })->get();
  }

  std::string_view name() const override { return "cuda:all"; }
  std::int64_t classes() const override { return largest_->classes(); }
  const Shape& point_shape() const override { return largest_->point_shape(); }
  bool piecewise_constant() override { return largest_->piecewise_constant(); }
  bool handles_missing() override { return largest_->handles_missing(); }
  Batch forward_batch() const override { return largest_->forward_batch(); }
  Batch gradient_batch() const override { return largest_->gradient_batch(); }
  const ExecutorOptions& options() const override { return largest_->options(); }  // memory is the host's

  Result<Tensor> logits(const Tensor& x) override {
    if (x.shape.empty()) return largest_->logits(x);  // which throws the error
    return guarded("the model", [&] {
      const std::int64_t n = x.shape[0];
      Tensor all({n, classes()});
      in_turns(divided(n, chunks_of(n)), [&](Executor& part, const Chunk& chunk) {
        const Tensor own = part.logits(rows(x, chunk.first, chunk.count)).value();
        std::copy(own.data.begin(), own.data.end(), all.data.begin() + chunk.first * classes());
      });
      return all;
    });
  }

  // Results are needed in the order of the points, so several devices have no advantage.
  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return largest_->jacobian(x, take);
  }

  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return by_points<Linearization>(points, classes() - 1,
                                    [&](Executor& part, const Points& own, std::int64_t) { return part.linearize(own, shape); });
  }

  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return by_points<Linearization>(points, classes() - 1, [&](Executor& part, const Points& own, std::int64_t) {
      return part.linearize_smoothed(own, noise);
    });
  }

  Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise) override {
    return by_points<LogitMoments>(points, kPropagationPasses,
                                   [&](Executor& part, const Points& own, std::int64_t) { return part.moments(own, noise); });
  }

  // Sums over samples are rounded, so a point's samples stay on one device.
  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return by_points<Linearization>(points, samples * (classes() - 1), [&](Executor& part, const Points& own, std::int64_t) {
      return part.linearize_averaged(own, noise, samples);
    });
  }

  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first) override {
    using Counts = std::vector<std::int64_t>;
    if (!few(points, samples)) {
      return by_points<Counts>(points, samples, [&](Executor& part, const Points& own, std::int64_t) {
        return part.sample(own, noise, samples, first);
      });
    }
    return guarded("the model", [&] {
      check(*this, points);
      std::vector<Counts> counts(static_cast<std::size_t>(points.size()), Counts(static_cast<std::size_t>(classes()), 0));
      std::mutex mutex;
      in_turns(divided(samples, chunks_of(points.size() * samples)), [&](Executor& part, const Chunk& chunk) {
        const std::vector<Counts> own = part.sample(points, noise, chunk.count, first + chunk.first).value();
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < own.size(); ++i)
          std::transform(own[i].begin(), own[i].end(), counts[i].begin(), counts[i].begin(), std::plus<>());
      });
      return counts;
    });
  }

  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    if (!few(points, count)) {
      return by_points<Pairs>(
          points, count, [&](Executor& part, const Points& own, std::int64_t) { return part.pairs(own, noise, count, first); });
    }
    return guarded("the model", [&] {
      check(*this, points);
      std::vector<Pairs> all = room_for_pairs(points.size(), classes() - 1, count);
      in_turns(divided(count, chunks_of(points.size() * count)), [&](Executor& part, const Chunk& chunk) {
        const std::vector<Pairs> own = part.pairs(points, noise, chunk.count, first + chunk.first).value();
        for (std::size_t i = 0; i < own.size(); ++i) put_pairs(own[i], chunk.first, all[i]);
      });
      return all;
    });
  }

  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    const std::int64_t rows = rivals.empty() ? 0 : static_cast<std::int64_t>(rivals[0].size());
    return by_points<Projection>(points, rows + count - known, [&](Executor& part, const Points& own, std::int64_t begin) {
      const std::vector<std::vector<std::int64_t>> some(rivals.begin() + begin, rivals.begin() + begin + own.size());
      return part.project(own, some, noise, count, known, around);
    });
  }

  normal::ProblemSolver* normal_solver() override { return this; }

  // A device solves its problems at the same time, and needs many to be busy, so each counts as no more than a lane.
  void solve(std::span<const normal::Problem> problems, std::span<normal::Probability> answers,
             const normal::Options& options) override {
    const auto count = static_cast<std::int64_t>(problems.size());
    in_turns(divided(count, chunks_of(count)), [&](Executor& part, const Chunk& chunk) {
      part.normal_solver()->solve(problems.subspan(chunk.first, chunk.count), answers.subspan(chunk.first, chunk.count), options);
    });
  }

 private:
  // Leaves out devices with too little memory for the model, unless all have.
  void make_parts(const Graph& classifier, const ExecutorOptions& options, CudaOptions cuda) {
    cuda.progress = &progress;
    std::map<int, Error> left_out;
    for (int ordinal = 0; ordinal < std::max(1, count_devices().count); ++ordinal) {  // without devices, 0 throws the error
      cuda.ordinal = ordinal;
      auto part = make_cuda_executor(classifier, options, cuda);
      if (!part && !is_out_of_memory(part.error())) throw Error(part.error());
      if (!part) {
        left_out.emplace(ordinal, part.error());
        continue;
      }
      parts_.push_back(std::move(part).value());
      cuda.warn = [](const std::string&) {};  // the others would warn of the same
    }
    if (parts_.empty()) throw Error(left_out.begin()->second);
    for (const auto& [ordinal, error] : left_out)
      warn_("cuda:" + std::to_string(ordinal) + " is not used: " + error.where + " " + error.problem);
  }

  std::int64_t devices() const { return static_cast<std::int64_t>(parts_.size()); }
  std::int64_t chunks_of(std::int64_t lanes) const { return chunk_count(lanes, devices(), forward_batch().examples); }

  // Whether to divide the samples rather than the points.
  bool few(const Points& points, std::int64_t samples) const {
    return points.size() < std::min(chunks_of(points.size() * samples), kFewPoints * devices());
  }

  // Calls work(device, chunk) for all chunks. Work that did not end is done again, by another device.
  template <class Work>
  void in_turns(std::vector<Chunk> chunks, Work work) {
    take_turns(
        std::move(chunks), parts_.size(), [&](std::size_t k, const Chunk& chunk) { work(*parts_[k], chunk); },
        [&](std::size_t k, const Error& error) {
          if (!told_.insert(k).second) return;
          warn_(std::string(parts_[k]->name()) + " has too little memory, so the other devices do its part: " + error.where +
                " " + error.problem);
        });
  }

  // The results of call(device, points, index of the first) for chunks of points, in the order of the points. A point takes
  // `lanes` lanes.
  template <class T, class Call>
  Result<std::vector<T>> by_points(const Points& points, std::int64_t lanes, Call call) {
    return guarded("the model", [&] {
      check(*this, points);
      std::vector<T> all(static_cast<std::size_t>(points.size()));
      in_turns(divided(points.size(), chunks_of(points.size() * lanes)), [&](Executor& part, const Chunk& chunk) {
        std::vector<T> own = call(part, slice(points, chunk.first, chunk.count), chunk.first).value();
        std::move(own.begin(), own.end(), all.begin() + chunk.first);
      });
      return all;
    });
  }

  std::function<void(const std::string&)> warn_;
  std::vector<std::unique_ptr<Executor>> parts_;
  Executor* largest_ = nullptr;  // the part with the most memory
  std::set<std::size_t> told_;   // the parts whose lack of memory was reported
};

}  // namespace

std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda) {
  return std::make_unique<MultiGpuExecutor>(classifier, options, cuda);
}

}  // namespace probust::cuda
