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

constexpr std::int64_t kFewPoints = 8;  // per device: with fewer points, chunks of points would differ too much in size

class MultiGpuExecutor final : public Executor, public normal::ProblemSolver {
 public:
  MultiGpuExecutor(const Graph& classifier, const ExecutorOptions& options, const CudaOptions& cuda)
      : Executor(cuda.progress), warn_(cuda.warn) {
    make_parts(classifier, options, cuda);
    const auto size = [](const auto& part) { return std::pair(part->options().memory, part->forward_batch().examples); };
    largest_ =
        std::max_element(parts_.begin(), parts_.end(), [&](const auto& a, const auto& b) { return size(a) < size(b); })->get();
    facts_ = largest_->facts();  // options().memory is the memory of the host
    facts_.name = "cuda:all";
  }

  const ExecutorFacts& facts() const override { return facts_; }
  bool piecewise_constant() override { return largest_->piecewise_constant(); }
  Batch gradient_batch() const override { return largest_->gradient_batch(); }

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override {
    auto result =
        answer_by_type(question, [this](const auto& asked) { return guarded("the model", [&] { return divide(asked); }); });
    facts_.forward_batch = largest_->forward_batch();  // a device that has compiled gradients has less memory for batches
    facts_.options.memory = largest_->options().memory;
    return result;
  }

  // One step does all the work, because after each step the devices would have to wait for each other.
  Result<std::unique_ptr<AverageJob>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return averages_at_once(*this, points, noise, samples);
  }

  Result<std::vector<KindTime>> profile(const Points& points, bool gradients) override {
    return largest_->profile(points, gradients);
  }

  Result<Executor*> after(const std::shared_ptr<const NoiseMap>&) override { return nullptr; }  // see composable_executor.h

  void release() override {
    for (const auto& part : parts_) part->release();
  }

  normal::ProblemSolver* normal_solver() override { return this; }

  // Each problem counts as one lane, because a device solves many problems at the same time.
  void solve(std::span<const normal::Problem> problems, std::span<normal::Probability> answers,
             const normal::Options& options) override {
    const auto count = static_cast<std::int64_t>(problems.size());
    in_turns(divided(count, chunks_of(count)), [&](Executor& part, const Chunk& chunk) {
      part.normal_solver()->solve(problems.subspan(chunk.first, chunk.count), answers.subspan(chunk.first, chunk.count), options);
    });
  }

 private:
  Tensor divide(const LogitsAt& asked) {
    if (asked.x.shape.empty()) return largest_->logits(asked.x).value();  // throws an error
    const std::int64_t n = asked.x.shape[0];
    Tensor all({n, classes()});
    in_turns(divided(n, chunks_of(n)), [&](Executor& part, const Chunk& chunk) {
      const Tensor own = part.logits(rows(asked.x, chunk.first, chunk.count)).value();
      std::copy(own.data.begin(), own.data.end(), all.data.begin() + chunk.first * classes());
    });
    return all;
  }

  // Runs on one device: results are needed in the order of the points, so using several devices has no advantage.
  std::monostate divide(const JacobianAt& asked) { return largest_->jacobian(asked.x, asked.take).value(); }

  std::vector<Linearization> divide(const LinearizeAtPoint& asked) {
    return by_points<Linearization>(asked.points, classes() - 1, [&](Executor& part, const Points& own, std::int64_t) {
      return part.linearize(own, asked.shape);
    });
  }

  std::vector<Linearization> divide(const LinearizeAtMean& asked) {
    return by_points<Linearization>(asked.points, classes() - 1, [&](Executor& part, const Points& own, std::int64_t) {
      return part.linearize_smoothed(own, asked.noise);
    });
  }

  // All samples of a point stay on one device, so that sums over them are rounded in the same way as on a single device.
  std::vector<Linearization> divide(const LinearizeAveraged& asked) {
    return by_points<Linearization>(asked.points, asked.samples * (classes() - 1),
                                    [&](Executor& part, const Points& own, std::int64_t) {
                                      return part.linearize_averaged(own, asked.noise, asked.samples);
                                    });
  }

  std::vector<LogitMoments> divide(const PropagateMoments& asked) {
    return by_points<LogitMoments>(asked.points, kPropagationPasses, [&](Executor& part, const Points& own, std::int64_t) {
      return part.moments(own, asked.noise);
    });
  }

  PredictionCounts divide(const CountPredictions& asked) {
    using Counts = std::vector<std::int64_t>;
    const Points& points = asked.points;
    if (!few(points, asked.samples)) {
      return by_points<Counts>(points, asked.samples, [&](Executor& part, const Points& own, std::int64_t) {
        return part.sample(own, asked.noise, asked.samples, asked.first);
      });
    }
    check(*this, points);
    PredictionCounts counts(static_cast<std::size_t>(points.size()), Counts(static_cast<std::size_t>(classes()), 0));
    std::mutex mutex;
    in_turns(divided(asked.samples, chunks_of(points.size() * asked.samples)), [&](Executor& part, const Chunk& chunk) {
      const PredictionCounts own = part.sample(points, asked.noise, chunk.count, asked.first + chunk.first).value();
      const std::lock_guard lock(mutex);
      add_counts(own, counts);
    });
    return counts;
  }

  std::vector<Pairs> divide(const PairMargins& asked) {
    const Points& points = asked.points;
    if (!few(points, asked.count)) {
      return by_points<Pairs>(points, asked.count, [&](Executor& part, const Points& own, std::int64_t) {
        return part.pairs(own, asked.noise, asked.count, asked.first);
      });
    }
    check(*this, points);
    std::vector<Pairs> all = room_for_pairs(points.size(), classes() - 1, asked.count);
    in_turns(divided(asked.count, chunks_of(points.size() * asked.count)), [&](Executor& part, const Chunk& chunk) {
      const std::vector<Pairs> own = part.pairs(points, asked.noise, chunk.count, asked.first + chunk.first).value();
      for (std::size_t i = 0; i < own.size(); ++i) put_pairs(own[i], chunk.first, all[i]);
    });
    return all;
  }

  std::vector<Projection> divide(const ProjectNoise& asked) {
    const auto& rivals = asked.rivals;
    const std::int64_t rows = rivals.empty() ? 0 : static_cast<std::int64_t>(rivals[0].size());
    const auto call = [&](Executor& part, const Points& own, std::int64_t begin) {
      const std::vector<std::vector<std::int64_t>> some(rivals.begin() + begin, rivals.begin() + begin + own.size());
      return part.project(own, some, asked.noise, asked.count, asked.known, asked.at);
    };
    return by_points<Projection>(asked.points, rows + asked.count - asked.known, call);
  }

  // Creates an executor for each device. Devices with too little memory for the model are omitted, unless all devices have too
  // little.
  void make_parts(const Graph& classifier, const ExecutorOptions& options, CudaOptions cuda) {
    cuda.progress = &progress;
    std::map<int, Error> left_out;
    for (int ordinal = 0; ordinal < std::max(1, count_devices().count); ++ordinal) {  // no devices: 0 throws the error
      cuda.ordinal = ordinal;
      auto part = make_cuda_executor(classifier, options, cuda);
      if (!part && !is_out_of_memory(part.error())) throw Error(part.error());
      if (!part) {
        left_out.emplace(ordinal, part.error());
        continue;
      }
      parts_.push_back(std::move(part).value());
      cuda.warn = [](const std::string&) {};  // the other devices would repeat the same warnings
    }
    if (parts_.empty()) throw Error(left_out.begin()->second);
    for (const auto& [ordinal, error] : left_out) warn_("cuda:" + std::to_string(ordinal) + " is not used: " + error.sentence());
  }

  std::int64_t devices() const { return static_cast<std::int64_t>(parts_.size()); }
  std::int64_t chunks_of(std::int64_t lanes) const { return chunk_count(lanes, devices(), forward_batch().examples); }

  // Whether there are so few points that their samples are divided among the devices instead of the points.
  bool few(const Points& points, std::int64_t samples) const {
    return points.size() < std::min(chunks_of(points.size() * samples), kFewPoints * devices());
  }

  // Calls work(device, chunk) for all chunks. If a device runs out of memory, another device computes its chunk.
  template <class Work>
  void in_turns(std::vector<Chunk> chunks, Work work) {
    take_turns(
        std::move(chunks), parts_.size(), [&](std::size_t k, const Chunk& chunk) { work(*parts_[k], chunk); },
        [&](std::size_t k, const Error& error) {
          if (!told_.insert(k).second) return;
          warn_(std::string(parts_[k]->name()) +
                " has too little memory, so the other devices compute its share: " + error.sentence());
        });
  }

  // Calls call(device, points of a chunk, position of the first) for chunks of points, and returns the results in the order of
  // the points. A point counts as `lanes` lanes.
  template <class T, class Call>
  std::vector<T> by_points(const Points& points, std::int64_t lanes, Call call) {
    check(*this, points);
    std::vector<T> all(static_cast<std::size_t>(points.size()));
    in_turns(divided(points.size(), chunks_of(points.size() * lanes)), [&](Executor& part, const Chunk& chunk) {
      std::vector<T> own = call(part, slice(points, chunk.first, chunk.count), chunk.first).value();
      std::move(own.begin(), own.end(), all.begin() + chunk.first);
    });
    return all;
  }

  std::function<void(const std::string&)> warn_;
  std::vector<std::unique_ptr<Executor>> parts_;
  Executor* largest_ = nullptr;  // the part with the most memory
  ExecutorFacts facts_;
  std::set<std::size_t> told_;  // the parts whose lack of memory has been reported
};

}  // namespace

std::unique_ptr<Executor> make_multi_gpu_executor(const Graph& classifier, const ExecutorOptions& options,
                                                  const CudaOptions& cuda) {
  return std::make_unique<MultiGpuExecutor>(classifier, options, cuda);
}

}  // namespace probust::cuda
