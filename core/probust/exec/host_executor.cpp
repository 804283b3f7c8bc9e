// SPDX-License-Identifier: MIT
// The Executor for programs that run on this machine's processor: chunks, threads, noise, counting, Gram matrices. Chunking
// never changes a result: lanes do not influence each other (program.h), sums over samples run in the order of the samples, and
// counts are integers.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "probust/autodiff/vjp.h"
#include "probust/base/parallel.h"
#include "probust/base/transpose.h"
#include "probust/exec/checks.h"
#include "probust/exec/executor.h"
#include "probust/exec/gradient_graphs.h"
#include "probust/exec/last_layer.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t kPreferredLanes = 960;  // enough for every kernel to run at full speed
constexpr std::int64_t kScratchBytes = std::int64_t{1} << 20;
constexpr std::int64_t kCacheBytes = std::int64_t{6} << 20;  // a workspace of this size stays in the cache

// Copies row-major points [N, elements], rows first .. first + count - 1, to lanes.
void to_lanes(const Tensor& x, std::int64_t first, std::int64_t count, std::int64_t elements, float* lanes) {
  transpose(x.data.data() + first * elements, count, elements, lanes);
}

// Gram matrix u uᵀ of one example's gradients, u [rows, elements]. The sum runs in fixed blocks of elements, so its rounding does
// not depend on the chunk.
class GramAccumulator {
 public:
  GramAccumulator(std::int64_t rows, const std::atomic<bool>& stop) : stop_(stop), block_(rows, kBlock) {}

  Eigen::MatrixXd gram(const RowMatrix& u) {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(u.rows(), u.rows());
    for (std::int64_t first = 0; first < u.cols(); first += kBlock) add(u, first, sum);
    return sum;
  }

 private:
  static constexpr std::int64_t kBlock = 64;
  void add(const RowMatrix& u, std::int64_t first, Eigen::MatrixXd& sum) {
    stop_if_asked(&stop_);
    const std::int64_t width = std::min<std::int64_t>(kBlock, u.cols() - first);
    block_.setZero();
    block_.leftCols(width) = u.middleCols(first, width);
    sum.noalias() += block_ * block_.transpose();
  }
  const std::atomic<bool>& stop_;
  Eigen::MatrixXd block_;
};

std::vector<KindTime> by_kind(const std::vector<ProgramStep>& steps, const std::vector<double>& seconds, const Batch& batch) {
  std::vector<KindTime> kinds;
  for (std::size_t i = 0; i < steps.size() && i < seconds.size(); ++i) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindTime& known) { return known.kind == steps[i].kind; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {steps[i].kind});
    ++kind->steps;
    kind->seconds += seconds[i];
    kind->flops += steps[i].flops * static_cast<double>(batch.lanes(steps[i].extent));
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindTime& a, const KindTime& b) { return a.seconds > b.seconds; });
  return kinds;
}

class HostExecutor final : public Executor {
 public:
  using Compile = std::unique_ptr<Program> (*)(const Graph&);

  HostExecutor(std::string_view name, Compile compile, const Graph& classifier, const ExecutorOptions& options)
      : name_(name), options_(options), compile_(compile), graph_(simplify(classifier)) {
    check_classifier(graph_);
    point_shape_ = graph_[graph_.inputs()[0]].shape;
    elements_ = element_count(point_shape_);
    classes_ = graph_[graph_.outputs[0]].shape[0];
    options_.threads = std::max(1, options_.threads);
    check_values_fit(graph_);
    forward_ = compile_(graph_);
    forward_batch_ = fit_forward();
    account_for_weights();
    make_workspaces();
    split_ = split_last_layer(graph_);
  }

  // Without a graph, and hence without gradients.
  HostExecutor(std::string_view name, std::unique_ptr<Program> forward, Shape point, std::int64_t classes,
               const ExecutorOptions& options)
      : name_(name),
        options_(options),
        point_shape_(std::move(point)),
        elements_(element_count(point_shape_)),
        classes_(classes),
        forward_(std::move(forward)) {
    options_.threads = std::max(1, options_.threads);
    forward_batch_ = fit_forward();
    make_workspaces();
  }

  // Use the Progress of the executor that this one works for.
  void report_to(Progress& progress_of_all) {
    reported_ = &progress_of_all;
    make_workspaces();
  }

  std::string_view name() const override { return name_; }
  std::int64_t classes() const override { return classes_; }
  const Shape& point_shape() const override { return point_shape_; }
  bool differentiable() const override { return compile_ != nullptr; }
  bool piecewise_constant() override {
    if (!differentiable()) return true;                                             // there are no gradients
    if (!piecewise_constant_) piecewise_constant_ = is_piecewise_constant(graph_);  // only gradient estimators need this
    return *piecewise_constant_;
  }
  Batch forward_batch() const override { return forward_batch_; }
  Batch gradient_batch() const override { return gradient_batch_; }
  std::int64_t backwards_to_linearize() const override { return split_ ? split_->last->weights.cols() : classes_ - 1; }
  const ExecutorOptions& options() const override { return options_; }

  Result<Tensor> logits(const Tensor& x) override {
    return guarded("model", [&] {
      const std::int64_t n = checked_rows(*this, x);
      Tensor result({n, classes_});
      const std::int64_t step = forward_batch_.examples;
      for_chunks(n, step, [&](std::int64_t first, std::int64_t count, int worker) {
        Buffers& buffers = workspaces_[worker];
        to_lanes(x, first, count, elements_, buffers.inputs.take(elements_ * count));
        const float* logits = run_forward(count, buffers);
        for (std::int64_t b = 0; b < count; ++b) {
          for (std::int64_t c = 0; c < classes_; ++c) result.data[(first + b) * classes_ + c] = logits[c * count + b];
        }
      });
      return result;
    });
  }

  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return guarded("model", [&] {
      const std::int64_t n = checked_rows(*this, x);
      if (const std::int64_t bytes = classes_ * elements_ * static_cast<std::int64_t>(sizeof(float)); bytes > options_.memory)
        too_little_memory(bytes);
      prepare_jacobian();
      std::vector<float> rows(static_cast<std::size_t>(classes_ * elements_));
      for (std::int64_t i = 0; i < n; ++i) {
        Buffers& buffers = workspaces_[0];
        to_lanes(x, i, 1, elements_, buffers.inputs.take(elements_));
        sweep(
            1, classes_, buffers, [&](std::int64_t, std::int64_t row, std::int64_t c) { return c == row ? 1.0F : 0.0F; },
            [&](std::int64_t first_seed, std::int64_t seeds, const float* gradients) {
              for (std::int64_t s = 0; s < seeds; ++s) {
                for (std::int64_t e = 0; e < elements_; ++e) rows[(first_seed + s) * elements_ + e] = gradients[e * seeds + s];
              }
            });
        take(i, rows);
      }
      return std::monostate{};
    });
  }

  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return guarded("model", [&] {
      check(*this, points, shape);
      if (split_) return by_features(points, [&](Executor& features, const Points& at) { return features.linearize(at, shape); });
      prepare_jacobian();
      return linearized(points, shape, {gradient_.get(), gradient_batch_});
    });
  }

  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return guarded("model", [&] {
      check(*this, points, *noise.shape);
      if (split_)
        return by_features(points, [&](Executor& features, const Points& at) { return features.linearize_smoothed(at, noise); });
      return linearized(points, *noise.shape, prepared(Around::noise, noise, classes_ - 1));
    });
  }

  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return guarded("model", [&] {
      check(*this, points, *noise.shape);
      if (split_) {
        return by_features(points,
                           [&](Executor& features, const Points& at) { return features.linearize_averaged(at, noise, samples); });
      }
      prepare_jacobian();
      std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
      parallel_for(points.size(), options_.threads, [&](std::int64_t i, int worker) {
        const Copies copies{points, noise, i, samples};
        RunningMean mean(classes_ - 1, elements_, samples);
        add_copies(copies, samples, mean, workspaces_[worker]);
        result[i] = finished(copies, mean, workspaces_[worker]);
      });
      return result;
    });
  }

  Result<std::unique_ptr<Averages>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return guarded("model", [&]() -> std::unique_ptr<Averages> {
      check(*this, points, *noise.shape);
      if (split_) return Executor::averages(points, noise, samples).value();
      prepare_jacobian();
      return std::make_unique<HostAverages>(*this, points, noise, samples);
    });
  }

  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first_sample) override {
    return guarded("model", [&] {
      check(*this, points, *noise.shape);
      const std::int64_t n = points.size();
      std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(n),
                                                    std::vector<std::int64_t>(static_cast<std::size_t>(classes_), 0));
      std::mutex mutex;
      // One lane per pair (point, sample), pairs in lexicographic order.
      for_chunks(n * samples, forward_batch_.examples, [&](std::int64_t first, std::int64_t count, int worker) {
        Buffers& buffers = workspaces_[worker];
        draw({points, noise, first_sample, samples, first, count}, buffers, buffers.inputs.take(elements_ * count));
        const float* logits = run_forward(count, buffers);
        std::vector<float> one(static_cast<std::size_t>(classes_));
        const std::lock_guard lock(mutex);
        for (std::int64_t lane = 0; lane < count; ++lane) {
          for (std::int64_t c = 0; c < classes_; ++c) one[c] = logits[c * count + lane];
          const std::int64_t winner = argmax(one);
          if (winner >= 0) ++counts[(first + lane) / samples][winner];
        }
      });
      return counts;
    });
  }

  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    return guarded("model", [&] {
      check(*this, points, *noise.shape);
      std::vector<Pairs> result(static_cast<std::size_t>(points.size()), pairs_of(count));
      for_chunks(points.size() * count, forward_batch_.examples, [&](std::int64_t begin, std::int64_t lanes, int worker) {
        Buffers& buffers = workspaces_[worker];
        const Draws draws{points, noise, first, count, begin, lanes};
        draw_first_copies(draws, buffers);
        run_pairs(draws, buffers, [&](std::int64_t i) -> Pairs& { return result[i]; });
      });
      return result;
    });
  }

  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    return guarded("model", [&] {
      check(*this, points, *noise.shape);
      if (points.size() == 0) return std::vector<Projection>{};
      const auto rows = static_cast<std::int64_t>(rivals[0].size());
      const Sweep which = prepared(around, noise, rows);
      std::vector<Projection> result(static_cast<std::size_t>(points.size()));
      for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t examples, int worker) {
        const auto chosen = std::span(rivals).subspan(first, examples);
        const auto out = std::span(result).subspan(first, examples);
        project_chunk(slice(points, first, examples), chosen, noise, {count, known}, which, out, workspaces_[worker]);
      });
      return result;
    });
  }

  Result<std::vector<KindTime>> profile(const Points& points, bool gradients) override {
    return guarded("model", [&] {
      check(*this, points);
      if (gradients) prepare_jacobian();
      Buffers& buffers = workspaces_[0];
      const Program& program = gradients ? *gradient_ : *forward_;
      const Batch most = gradients ? gradient_batch_ : forward_batch_;
      const Batch batch{std::min(points.size(), most.examples), gradients ? most.seeds : 1};
      to_lanes(points.x, 0, batch.examples, elements_, buffers.inputs.take(elements_ * batch.examples));
      std::vector<double> seconds;
      const auto run = [&] {
        if (!gradients) return (void)run_forward(batch.examples, buffers);
        const auto seed = [](std::int64_t, std::int64_t row, std::int64_t c) { return c == row ? 1.0F : 0.0F; };
        sweep(batch.examples, batch.seeds, buffers, seed, [](std::int64_t, std::int64_t, const float*) {});
      };
      for (int attempt = 0; attempt < 2; ++attempt) {
        seconds.clear();
        {
          const Timing timing(buffers.workspace, seconds);
          run();
        }
        constexpr double kLong = 1;  // seconds; in a run this long, one-time costs such as allocations do not matter
        if (std::accumulate(seconds.begin(), seconds.end(), 0.0) > kLong) break;
      }
      return by_kind(program.steps(), seconds, batch);
    });
  }

 private:
  // One thread's memory, reused from call to call.
  struct Buffers {
    Workspace workspace;
    Stretch inputs, variances, logits, cotangents, gradients;
    std::vector<std::uint32_t> points, samples;

    bool intact() const {
      return inputs.intact() && variances.intact() && logits.intact() && cotangents.intact() && gradients.intact();
    }
  };

  void make_workspaces() {
    workspaces_.resize(static_cast<std::size_t>(options_.threads));
    for (Buffers& buffers : workspaces_) {
      buffers.workspace.verify = options_.verify;
      buffers.workspace.stop = &reported_->stop;
    }
  }

  // Frees the memory of earlier runs.
  void release_workspaces() {
    workspaces_.clear();
    make_workspaces();
  }

  // Splits 0..total-1 into chunks of `step` and hands them to the threads.
  void for_chunks(std::int64_t total, std::int64_t step, const std::function<void(std::int64_t, std::int64_t, int)>& body) {
    // With fewer chunks than threads, some threads would be idle: make the chunks smaller.
    const std::int64_t even = (total + options_.threads - 1) / options_.threads;
    step = std::max<std::int64_t>(1, std::min(step, even));
    parallel_for((total + step - 1) / step, options_.threads, [&](std::int64_t task, int worker) {
      stop_if_asked();
      body(task * step, std::min(step, total - task * step), worker);
    });
  }

  void stop_if_asked() const { probust::stop_if_asked(&reported_->stop); }

  // Linearizations of the margins, from those of the last layer's inputs that linearize(executor, points) returns.
  template <class Linearize>
  std::vector<Linearization> by_features(const Points& points, Linearize linearize) {
    if (!features_) {
      release_workspaces();  // otherwise both executors would hold the whole memory
      ExecutorOptions rest = options_;
      // The new executor accounts for its own weights. The last layer's exist three times: as constant, packed and as a matrix.
      if (rest.weights_included) rest.memory = std::max<std::int64_t>(1, memory_given_ - 3 * bytes_of(*split_->last));
      auto features = std::make_unique<HostExecutor>(name_, compile_, split_->features, rest);
      features->report_to(*reported_);
      features_ = std::move(features);
    }
    return through_last_layer(split_->last, linearize(*features_, for_features(points)).value(), points, &reported_->stop);
  }

  // Times the steps of programs during its lifetime.
  struct Timing {
    Timing(Workspace& timed, std::vector<double>& seconds) : workspace(timed) { workspace.seconds = &seconds; }
    ~Timing() { workspace.seconds = nullptr; }
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;
    Workspace& workspace;
  };

  void verify(const Buffers& buffers) const {
    if (options_.verify && !buffers.intact()) throw std::logic_error("something wrote beyond the buffers of a run");
  }

  const float* run_forward(std::int64_t count, Buffers& buffers) {
    float* logits = buffers.logits.take(classes_ * count);
    const float* input = buffers.inputs.data();
    forward_->run({count, 1}, std::span(&input, 1), std::span(&logits, 1), buffers.workspace);
    verify(buffers);
    reported_->passes += count;
    return logits;
  }

  // Noisy copies in lanes: lane l is copy (begin + l) % count of point (begin + l) / count. A point's copy 0 has the noise of
  // sample (or pair) `first`.
  struct Draws {
    const Points& points;
    const Noise& noise;
    std::int64_t first, count, begin, lanes;

    std::int64_t point(std::int64_t lane) const { return (begin + lane) / count; }
    std::int64_t copy(std::int64_t lane) const { return (begin + lane) % count; }
  };

  // Calls use(point, first_lane, end_lane) for runs of lanes that share a point.
  template <class Use>
  static void for_points(const Draws& draws, Use use) {
    for (std::int64_t lane = 0; lane < draws.lanes;) {
      const std::int64_t i = draws.point(lane), end = std::min(draws.lanes, (i + 1) * draws.count - draws.begin);
      use(i, lane, end);
      lane = end;
    }
  }

  // Writes x [elements][lanes]: copy j has the noise of sample `stride` (first + j) + `offset`, times `sign`.
  void draw(const Draws& draws, Buffers& buffers, float* x, int stride = 1, int offset = 0, int sign = 1) const {
    buffers.points.resize(static_cast<std::size_t>(draws.lanes));
    buffers.samples.resize(static_cast<std::size_t>(draws.lanes));
    for (std::int64_t lane = 0; lane < draws.lanes; ++lane) {
      buffers.points[lane] = static_cast<std::uint32_t>(draws.points.index[draws.point(lane)]);
      buffers.samples[lane] = static_cast<std::uint32_t>(stride * (draws.first + draws.copy(lane)) + offset);
    }
    for (std::int64_t e = 0; e < elements_; ++e) {
      for_points(draws, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
        std::fill(x + e * draws.lanes + from, x + e * draws.lanes + to, draws.points.x.data[i * elements_ + e]);
      });
    }
    draws.noise.shape->add({draws.points.seed, buffers.points, buffers.samples}, elements_,
                           static_cast<float>(sign * draws.noise.scale), x);
  }

  // ---- pairs

  Pairs pairs_of(std::int64_t count) const {
    return {Eigen::MatrixXd(classes_ - 1, count), Eigen::MatrixXd(classes_ - 1, count)};
  }

  // Writes the first copies of pairs to the input buffer. Pairs that are not mirrored use two samples each.
  void draw_first_copies(const Draws& pairs, Buffers& buffers) const {
    float* input = buffers.inputs.take(elements_ * pairs.lanes + kGroup);
    draw(pairs, buffers, input, pairs.noise.shape->mirrored() ? 1 : 2);
  }

  // Overwrites them with the second copies. Additive noise is reflected at x instead of drawn again.
  void draw_second_copies(const Draws& pairs, Buffers& buffers) const {
    float* const input = buffers.inputs.data();
    if (!pairs.noise.shape->additive()) {
      const bool mirrored = pairs.noise.shape->mirrored();
      return draw(pairs, buffers, input, mirrored ? 1 : 2, mirrored ? 0 : 1, mirrored ? -1 : 1);
    }
    for (std::int64_t e = 0; e < elements_; ++e) {
      float* const line = input + e * pairs.lanes;
      for_points(pairs, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
        const float x = pairs.points.x.data[i * elements_ + e];
        for (std::int64_t lane = from; lane < to; ++lane) line[lane] = x - (line[lane] - x);
      });
    }
  }

  // Computes margins of the pairs whose first copies are in the input buffer. matrices(i) is the Pairs of point i; column j is
  // its copy j.
  template <class Matrices>
  void run_pairs(const Draws& pairs, Buffers& buffers, Matrices matrices) {
    const auto store = [&](const float* logits, Eigen::MatrixXd Pairs::*side) {
      for (std::int64_t lane = 0; lane < pairs.lanes; ++lane) {
        const std::int64_t i = pairs.point(lane);
        store_margins(logits + lane, pairs.lanes, pairs.points.target[i], (matrices(i).*side).col(pairs.copy(lane)));
      }
    };
    store(run_forward(pairs.lanes, buffers), &Pairs::plus);
    draw_second_copies(pairs, buffers);
    store(run_forward(pairs.lanes, buffers), &Pairs::minus);
  }

  void require_gradients() const {
    if (!differentiable())
      throw Error{ErrorCode::unsupported, "gradients", "are not to be had from " + name_, "ask for what needs logits alone"};
  }

  // Compiles another program. Frees the memory of earlier runs first, so that its weights fit.
  std::unique_ptr<Program> compiled(const Graph& graph) {
    release_workspaces();
    return compile_(graph);
  }

  void prepare_gradient() {
    if (gradient_) return;
    require_gradients();
    const Graph gradient = gradient_graph(graph_);
    check_values_fit(gradient);
    gradient_ = compiled(gradient);
    account_for_weights();
  }

  // Prepares for the gradients of all margins at once, which take more memory than a few.
  void prepare_jacobian() {
    prepare_gradient();
    gradient_batch_ = fit_gradient(*gradient_, classes_ - 1);
  }

  void prepare_smoothed() {
    if (smoothed_) return;
    require_gradients();
    const Graph gradient = smoothed_gradient_graph(graph_);
    check_values_fit(gradient);
    smoothed_ = compiled(gradient);
    account_for_weights();
  }

  // A program that returns logits and pulled-back cotangents, of the classifier or of its mean under noise.
  struct Sweep {
    const Program* program;
    Batch batch;
    const Noise* noise = nullptr;  // if set, its variances are an input after x
  };

  // The sweep that linearises at the point or under the noise, with a batch for `rows` seeds.
  Sweep prepared(Around around, const Noise& noise, std::int64_t rows) {
    if (around == Around::point) {
      prepare_gradient();
      return {gradient_.get(), fit_gradient(*gradient_, rows)};
    }
    prepare_smoothed();
    return {smoothed_.get(), fit_gradient(*smoothed_, rows), &noise};
  }

  // Runs the forward and backward sweep for `count` examples in the input buffer and `rows` seeds, in groups that fit.
  // seed(b, row, c) is element c of seed `row` of example b. Calls take(first_row, rows, gradients [elements][rows * count]).
  template <class Seed, class Take>
  void sweep(std::int64_t count, std::int64_t rows, Buffers& buffers, Seed seed, Take take) {
    sweep(Sweep{gradient_.get(), gradient_batch_}, count, rows, buffers, seed, take);
  }

  template <class Seed, class Take>
  void sweep(const Sweep& which, std::int64_t count, std::int64_t rows, Buffers& buffers, Seed seed, Take take) {
    for (std::int64_t first = 0; first < rows; first += which.batch.seeds) {
      stop_if_asked();
      const std::int64_t seeds = std::min(which.batch.seeds, rows - first), lanes = seeds * count;
      float* cotangents = buffers.cotangents.take(classes_ * lanes);
      for (std::int64_t c = 0; c < classes_; ++c) {
        for (std::int64_t s = 0; s < seeds; ++s) {
          for (std::int64_t b = 0; b < count; ++b) cotangents[c * lanes + s * count + b] = seed(b, first + s, c);
        }
      }
      float* outputs[] = {buffers.logits.take(classes_ * lanes), buffers.gradients.take(elements_ * lanes)};
      std::vector<const float*> inputs{buffers.inputs.data()};
      if (which.noise != nullptr) inputs.push_back(buffers.variances.data());
      inputs.push_back(cotangents);
      const Reuse reuse = first == 0 ? Reuse::nothing : Reuse::examples;
      which.program->run({count, seeds}, inputs, outputs, buffers.workspace, reuse);
      verify(buffers);
      take(first, seeds, outputs[1]);
      reported_->passes += lanes + (first == 0 ? count : 0);
      // The logits have one lane per seed and example: keep those of the first seed.
      for (std::int64_t c = 0; c < classes_; ++c) std::copy_n(outputs[0] + c * lanes, count, outputs[0] + c * count);
    }
    if (rows == 0) run_forward(count, buffers);
  }

  // Writes the variances of the noise at the points `index`, an input of smoothed programs.
  void fill_variances(const Noise& noise, std::span<const std::int64_t> index, Buffers& buffers) const {
    const auto count = static_cast<std::int64_t>(index.size());
    float* variances = buffers.variances.take(elements_ * count);
    std::fill_n(variances, elements_ * count, static_cast<float>(noise.scale * noise.scale));
    buffers.points.assign(index.begin(), index.end());
    noise.shape->variances(buffers.points, elements_, variances);
  }

  std::vector<Linearization> linearized(const Points& points, const NoiseShape& shape, const Sweep& which) {
    std::vector<Linearization> result(static_cast<std::size_t>(points.size()));
    for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t count, int worker) {
      Buffers& buffers = workspaces_[worker];
      to_lanes(points.x, first, count, elements_, buffers.inputs.take(elements_ * count));
      std::vector<RowMatrix> u(static_cast<std::size_t>(count), RowMatrix(classes_ - 1, elements_));
      const auto targets = std::span(points.target).subspan(first, count);
      const auto index = std::span(points.index).subspan(first, count);
      if (which.noise != nullptr) fill_variances(*which.noise, index, buffers);
      sweep_margins(
          which, count, targets, index, shape, buffers,
          [&](std::int64_t b, std::int64_t row, std::int64_t e, float value) { u[b](row, e) = value; },
          [](std::int64_t, std::int64_t, const float*) {});
      GramAccumulator accumulator(classes_ - 1, reported_->stop);
      for (std::int64_t b = 0; b < count; ++b) {
        Linearization& out = result[first + b];
        out.margins.resize(classes_ - 1);
        store_margins(buffers.logits.data() + b, count, targets[b], out.margins);
        out.gram = accumulator.gram(u[b]);
      }
    });
    return result;
  }

  // The sweep for all margins of each example's target. `index` are the points that the examples are copies of; their noise
  // whitens the gradients. store(b, row, element, value) gets the whitened gradients, raw(first_row, rows, gradients) those
  // before.
  template <class Store, class Raw>
  void sweep_margins(const Sweep& which, std::int64_t count, std::span<const std::int64_t> targets,
                     std::span<const std::int64_t> index, const NoiseShape& shape, Buffers& buffers, Store store, Raw raw) {
    const auto seed = [&](std::int64_t b, std::int64_t row, std::int64_t c) {
      return c == targets[b] ? 1.0F : c == rival_of(row, targets[b]) ? -1.0F : 0.0F;
    };
    sweep(which, count, classes_ - 1, buffers, seed, [&](std::int64_t first, std::int64_t seeds, float* gradients) {
      raw(first, seeds, gradients);
      whiten_copies(index, seeds, shape, gradients, buffers);
      for (std::int64_t e = 0; e < elements_; ++e) {
        const float* line = gradients + e * seeds * count;
        for (std::int64_t s = 0; s < seeds; ++s) {
          for (std::int64_t b = 0; b < count; ++b) store(b, first + s, e, line[s * count + b]);
        }
      }
    });
  }

  // The number of pairs of a projection, and how many of them the caller already has.
  struct Asked {
    std::int64_t pairs, known;
  };

  void project_chunk(const Points& points, std::span<const std::vector<std::int64_t>> rivals, const Noise& noise, Asked asked,
                     const Sweep& which, std::span<Projection> result, Buffers& buffers) {
    const std::int64_t count = points.size(), rows = static_cast<std::int64_t>(rivals[0].size());
    to_lanes(points.x, 0, count, elements_, buffers.inputs.take(elements_ * count));
    if (which.noise != nullptr) fill_variances(noise, points.index, buffers);
    std::vector<RowMatrix> u(static_cast<std::size_t>(count), RowMatrix(rows, elements_)), whitened = u;
    const auto seed = [&](std::int64_t b, std::int64_t row, std::int64_t c) {
      return c == points.target[b] ? 1.0F : c == rivals[b][row] ? -1.0F : 0.0F;
    };
    sweep(which, count, rows, buffers, seed, [&](std::int64_t first_row, std::int64_t seeds, float* gradients) {
      unpack(gradients, first_row, seeds, u);
      whiten_copies(points.index, seeds, *noise.shape, gradients, buffers);
      unpack(gradients, first_row, seeds, whitened);
    });
    for (std::int64_t b = 0; b < count; ++b) {
      result[b].margins.resize(classes_ - 1);
      store_margins(buffers.logits.data() + b, count, points.target[b], result[b].margins);
      result[b].gram = GramAccumulator(rows, reported_->stop).gram(whitened[b]);
      result[b].along = Eigen::MatrixXd::Zero(rows, asked.pairs);
      result[b].pairs = pairs_of(asked.pairs - asked.known);
    }
    const auto project_pairs = [&](std::int64_t first, std::int64_t of_each, bool run) {
      for (std::int64_t begin = 0; begin < count * of_each; begin += forward_batch_.examples) {
        stop_if_asked();
        const Draws draws{points, noise, first, of_each, begin, std::min(forward_batch_.examples, count * of_each - begin)};
        draw_first_copies(draws, buffers);
        for_points(draws, [&](std::int64_t b, std::int64_t from, std::int64_t to) {
          const auto columns = result[b].along.middleCols(first + draws.copy(from), to - from);
          add_along(u[b], points.x.data.data() + b * elements_, buffers.inputs.data() + from, draws.lanes, columns);
        });
        if (run) run_pairs(draws, buffers, [&](std::int64_t b) -> Pairs& { return result[b].pairs; });
      }
    };
    project_pairs(0, asked.known, false);
    project_pairs(asked.known, asked.pairs - asked.known, true);
  }

  // Copies gradients [elements][seeds][examples] to rows first_row, ... of each example's matrix, a few elements at a time so
  // that both sides stay in the cache.
  static void unpack(const float* gradients, std::int64_t first_row, std::int64_t seeds, std::vector<RowMatrix>& to) {
    constexpr std::int64_t kTogether = 16;
    const auto count = static_cast<std::int64_t>(to.size());
    for (std::int64_t begin = 0; begin < to[0].cols(); begin += kTogether) {
      const std::int64_t end = std::min<std::int64_t>(begin + kTogether, to[0].cols());
      for (std::int64_t s = 0; s < seeds; ++s) {
        for (std::int64_t b = 0; b < count; ++b) {
          for (std::int64_t e = begin; e < end; ++e) to[b](first_row + s, e) = gradients[(e * seeds + s) * count + b];
        }
      }
    }
  }

  // Whitens gradients [elements][seeds][examples] by the noise at the points `index`, one per example.
  void whiten_copies(std::span<const std::int64_t> index, std::int64_t seeds, const NoiseShape& shape, float* gradients,
                     Buffers& buffers) const {
    buffers.points.clear();
    for (std::int64_t s = 0; s < seeds; ++s) buffers.points.insert(buffers.points.end(), index.begin(), index.end());
    shape.whiten(buffers.points, elements_, gradients);
  }

  // along(a, j) += u_a . (copy j - x), for copies in lanes, `stride` floats from element to element. Reads up to kGroup floats
  // past the end. The order of each lane's sum does not depend on the other lanes.
  static void add_along(const RowMatrix& u, const float* x, const float* noisy, std::int64_t stride,
                        Eigen::Ref<Eigen::MatrixXd> along) {
    for (Eigen::Index j = 0; j < along.cols(); j += kGroup) {
      const Eigen::Index lanes = std::min(kGroup, along.cols() - j);
      for (Eigen::Index a = 0; a < u.rows(); a += 3) {
        const Eigen::Index rows = std::min<Eigen::Index>(3, u.rows() - a);
        const auto add = [&](const auto& products) { along.block(a, j, rows, lanes) += products.leftCols(lanes); };
        if (rows == 1) add(products<1>(u, a, x, noisy + j, stride));
        if (rows == 2) add(products<2>(u, a, x, noisy + j, stride));
        if (rows == 3) add(products<3>(u, a, x, noisy + j, stride));
      }
    }
  }

  // The same for few rows and kGroup lanes: the sums stay in registers.
  static constexpr Eigen::Index kGroup = 16;
  template <int Rows>
  static Eigen::Matrix<double, Rows, kGroup> products(const RowMatrix& u, Eigen::Index a, const float* x, const float* noisy,
                                                      std::int64_t stride) {
    using Group = Eigen::Array<double, kGroup, 1>;
    std::array<Group, Rows> sums;
    sums.fill(Group::Zero());
    const double* const row = &u(a, 0);
    for (Eigen::Index e = 0; e < u.cols(); ++e) {
      const Group eps =
          Eigen::Map<const Eigen::Array<float, kGroup, 1>>(noisy + e * stride).template cast<double>() - double{x[e]};
      for (int k = 0; k < Rows; ++k) sums[k] += row[k * u.cols() + e] * eps;
    }
    Eigen::Matrix<double, Rows, kGroup> result;
    for (int k = 0; k < Rows; ++k) result.row(k) = sums[k].matrix().transpose();
    return result;
  }

  // Noisy copies 0 .. samples - 1 of one point.
  struct Copies {
    const Points& points;
    const Noise& noise;
    std::int64_t point, samples;

    const float* x(std::int64_t elements) const { return points.x.data.data() + point * elements; }
    Draws draws(std::int64_t first, std::int64_t count) const {
      return {points, noise, 0, samples, point * samples + first, count};
    }
  };

  // Sums over the first `done` copies, each in the order of the copies.
  struct RunningMean {
    RowMatrix whitened, raw;  // sums of gradients, whitened and not
    Linearization out;        // collects the columns that are kept for every copy
    std::int64_t done = 0;

    RunningMean(std::int64_t rivals, std::int64_t elements, std::int64_t samples)
        : whitened(RowMatrix::Zero(rivals, elements)), raw(whitened) {
      out.sampled.resize(rivals, samples);
      out.along_own = out.along_mean = Eigen::MatrixXd::Zero(rivals, samples);
    }
  };

  // Adds copies until at least `count` are in, in whole batches.
  void add_copies(const Copies& copies, std::int64_t count, RunningMean& mean, Buffers& buffers) {
    const std::int64_t end = std::min(count, copies.samples), target = copies.points.target[copies.point];
    const float* x = copies.x(elements_);
    while (mean.done < end) {
      const std::int64_t first = mean.done, lanes = std::min(gradient_batch_.examples, copies.samples - first);
      draw(copies.draws(first, lanes), buffers, buffers.inputs.take(elements_ * lanes));
      const std::vector<std::int64_t> targets(static_cast<std::size_t>(lanes), target);
      const std::vector<std::int64_t> index(static_cast<std::size_t>(lanes), copies.points.index[copies.point]);
      const float* const inputs = buffers.inputs.data();
      const auto add = [&](std::int64_t, std::int64_t row, std::int64_t e, float value) { mean.whitened(row, e) += value; };
      const auto add_raw = [&](std::int64_t first_row, std::int64_t rows, const float* gradients) {
        for (std::int64_t e = 0; e < elements_; ++e) {
          for (std::int64_t lane = 0; lane < rows * lanes; ++lane) {
            const std::int64_t row = first_row + lane / lanes, b = lane % lanes;
            const double gradient = gradients[e * rows * lanes + lane];
            mean.raw(row, e) += gradient;
            mean.out.along_own(row, first + b) += gradient * (double{inputs[e * lanes + b]} - double{x[e]});
          }
        }
      };
      sweep_margins(Sweep{gradient_.get(), gradient_batch_}, lanes, targets, index, *copies.noise.shape, buffers, add, add_raw);
      for (std::int64_t b = 0; b < lanes; ++b)
        store_margins(buffers.logits.data() + b, lanes, target, mean.out.sampled.col(first + b));
      mean.done += lanes;
    }
  }

  Linearization finished(const Copies& copies, RunningMean& mean, Buffers& buffers) const {
    const std::int64_t samples = copies.samples, rivals = classes_ - 1;
    mean.raw /= static_cast<double>(samples);
    for (std::int64_t first = 0; first < samples; first += gradient_batch_.examples) {
      const std::int64_t count = std::min(gradient_batch_.examples, samples - first);
      draw(copies.draws(first, count), buffers, buffers.inputs.take(elements_ * count + kGroup));
      add_along(mean.raw, copies.x(elements_), buffers.inputs.data(), count, mean.out.along_mean.middleCols(first, count));
    }
    Linearization out = std::move(mean.out);
    out.margins = out.sampled.rowwise().mean();
    out.gram = GramAccumulator(rivals, reported_->stop).gram(mean.whitened / static_cast<double>(samples));
    return out;
  }

  // linearize_averaged in instalments.
  class HostAverages final : public Averages {
   public:
    HostAverages(HostExecutor& executor, Points points, Noise noise, std::int64_t samples)
        : executor_(executor), points_(std::move(points)), noise_(std::move(noise)), samples_(samples) {
      finished_.resize(static_cast<std::size_t>(points_.size()));
      means_.reserve(finished_.size());
      for (std::int64_t i = 0; i < points_.size(); ++i) means_.emplace_back(executor.classes_ - 1, executor.elements_, samples);
    }

    // After the last copies the sums of gradients are freed. All points finish in the same call.
    Result<std::monostate> reach(std::int64_t count) override {
      return attempt([&] {
        each_point([&](std::int64_t i, Buffers& buffers) {
          executor_.add_copies(copies(i), count, means_[i], buffers);
          if (means_[i].done == samples_) finished_[i] = executor_.finished(copies(i), means_[i], buffers);
        });
        if (!means_.empty() && means_.front().done == samples_) means_.clear();
        return std::monostate{};
      });
    }

    Result<std::vector<Linearization>> value() override {
      if (const auto done = reach(samples_); !done) return done.error();
      return finished_;
    }

   private:
    Copies copies(std::int64_t i) const { return {points_, noise_, i, samples_}; }

    // An Error may leave a batch half added, so every later call returns it again.
    template <class Body>
    auto attempt(Body body) -> Result<decltype(body())> {
      if (failed_) return *failed_;
      auto result = guarded("model", body);
      if (!result) failed_ = result.error();
      return result;
    }

    template <class Body>
    void each_point(Body body) {
      parallel_for(static_cast<std::int64_t>(means_.size()), executor_.options_.threads,
                   [&](std::int64_t i, int worker) { body(i, executor_.workspaces_[worker]); });
    }

    HostExecutor& executor_;
    Points points_;
    Noise noise_;
    std::int64_t samples_;
    std::vector<RunningMean> means_;
    std::vector<Linearization> finished_;
    std::optional<Error> failed_;
  };

  // ---- memory and batch sizes

  static std::int64_t bytes_of(const LastLayer& last) {
    return (last.weights.size() + last.bias.size()) * static_cast<std::int64_t>(sizeof(float));
  }

  // Bytes of the graph's constants and of their packed forms in the programs.
  std::int64_t weight_bytes() const {
    std::set<const Tensor*> constants;
    for (const Node& node : graph_.nodes) {
      if (node.op == Op::constant) constants.insert(std::get<ConstantData>(node.attributes).tensor.get());
    }
    std::int64_t bytes = 0;
    for (const Tensor* constant : constants) bytes += constant->size() * static_cast<std::int64_t>(sizeof(float));
    std::set<PackedConstant> packed;
    for (const Program* program : {forward_.get(), gradient_.get(), smoothed_.get()}) {
      if (program == nullptr) continue;
      for (const PackedConstant& form : program->packed()) packed.insert(form);
    }
    for (const PackedConstant& form : packed) bytes += form.bytes;
    return bytes;
  }

  // Subtracts the weights from the memory. Call it after compiling a program.
  void account_for_weights() {
    if (!options_.weights_included) return;
    constexpr std::int64_t kProgram = std::int64_t{11} << 20;  // code and tables
    const std::int64_t weights = weight_bytes() + std::min(kProgram, memory_given_ / 4);
    if (weights >= memory_given_) {
      throw Error{ErrorCode::resources, option("memory"), "the model's weights take " + std::to_string((weights >> 10) + 1) + "K",
                  "give more than that, or leave it out"};
    }
    options_.memory = memory_given_ - weights;
    forward_batch_ = fit_forward();
  }

  // Kernels use about this much in addition to the values; less for the small --memory of a tiny network.
  std::int64_t scratch_bytes() const { return options_.weights_included ? std::min(kScratchBytes, memory_given_ / 64) : 0; }

  std::int64_t forward_bytes(std::int64_t lanes) const {
    return scratch_bytes() + forward_->workspace_bytes({lanes, 1}) +
           (elements_ + classes_) * lanes * static_cast<std::int64_t>(sizeof(float));
  }

  std::int64_t gradient_bytes(const Program& program, const Batch& batch, std::int64_t rows) const {
    const std::int64_t lanes = batch.examples * batch.seeds;
    return scratch_bytes() + program.workspace_bytes(batch) +
           (elements_ + 2 * classes_) * lanes * static_cast<std::int64_t>(sizeof(float)) +
           2 * elements_ * batch.examples * static_cast<std::int64_t>(sizeof(float)) +
           // whitened gradients in double, for the Gram matrix
           elements_ * batch.examples * rows * static_cast<std::int64_t>(sizeof(double));
  }

  // Compiling makes tables as long as a value, and a small file can declare values that fit no machine.
  void check_values_fit(const Graph& graph) const {
    for (const Node& node : graph.nodes) {
      const std::int64_t bytes = element_count(node.shape) * static_cast<std::int64_t>(sizeof(float));
      if (node.op != Op::constant && bytes > options_.memory / options_.threads) too_little_memory(bytes);
    }
  }

  [[noreturn]] void too_little_memory(std::int64_t needed) const {
    const std::int64_t weights = options_.weights_included ? weight_bytes() : 0;
    throw Error{ErrorCode::resources, option("memory"),
                "one example takes " + std::to_string((needed >> 10) + 1) + "K per thread" +
                    (weights > 0 ? " in addition to weights of " + std::to_string((weights >> 10) + 1) + "K" : "") +
                    ", which is more than the given memory",
                "give at least " + std::to_string(((needed * options_.threads + weights) >> 10) + 1) + "K or use fewer " +
                    option("threads")};
  }

  // At most half as many lanes: a multiple of 48 (whole groups of any kernel), or of 3 if that is too many.
  static std::int64_t fewer(std::int64_t lanes) {
    const std::int64_t half = lanes / 2, group = half >= 48 ? 48 : half >= 3 ? 3 : 1;
    return half / group * group;
  }

  // About half as many, a multiple of 3 if there are enough.
  static std::int64_t fewer_seeds(std::int64_t seeds) {
    const std::int64_t half = (seeds + 1) / 2;
    return half > 3 ? std::min(seeds - 1, (half + 2) / 3 * 3) : half;
  }

  // As many lanes as preferred; if their values do not fit the cache, no more than the kernels need to run well.
  Batch fit_forward() const {
    const std::int64_t budget = options_.memory / options_.threads,
                       busy = std::min<std::int64_t>(48, 4 * forward_->least_lanes());
    std::int64_t lanes = options_.batch > 0 ? options_.batch : kPreferredLanes;
    while (lanes > 1 &&
           (forward_bytes(lanes) > budget || (options_.batch == 0 && lanes > busy && forward_bytes(lanes) > kCacheBytes)))
      lanes = fewer(lanes);
    if (forward_bytes(lanes) > budget) too_little_memory(forward_bytes(lanes));
    return {lanes, 1};
  }

  Batch fit_gradient(const Program& program, std::int64_t rows) const {
    const std::int64_t budget = options_.memory / options_.threads, seeds = std::max<std::int64_t>(1, rows),
                       busy = std::min<std::int64_t>(192, 8 * program.least_lanes());
    Batch batch{options_.batch > 0 ? options_.batch : std::max<std::int64_t>(1, kPreferredLanes / seeds), seeds};
    const auto too_large = [&] {
      const std::int64_t bytes = gradient_bytes(program, batch, seeds);
      return bytes > budget || (options_.batch == 0 && batch.examples * batch.seeds > busy && bytes > 2 * kCacheBytes);
    };
    while (batch.examples > 1 && too_large()) batch.examples = fewer(batch.examples);
    while (batch.seeds > 1 && too_large()) batch.seeds = fewer_seeds(batch.seeds);
    if (gradient_bytes(program, batch, seeds) > budget) too_little_memory(gradient_bytes(program, batch, seeds));
    return batch;
  }

  std::string name_;
  ExecutorOptions options_;  // memory: after subtracting the weights
  std::int64_t memory_given_ = options_.memory;
  Progress* reported_ = &progress;  // or that of the executor that this one computes features for
  Compile compile_ = nullptr;
  Graph graph_;
  Shape point_shape_;
  std::int64_t elements_ = 0, classes_ = 0;
  std::optional<bool> piecewise_constant_;
  std::unique_ptr<Program> forward_, gradient_, smoothed_;
  std::optional<SplitClassifier> split_;  // if there are many classes
  std::unique_ptr<Executor> features_;    // of the first part, made when first needed
  Batch forward_batch_, gradient_batch_;
  std::vector<Buffers> workspaces_;
};

struct Backend {
  std::string_view name;
  HostExecutor::Compile compile;
};

// The only list of backends on this machine's processor.
constexpr Backend kBackends[] = {
    {"cpu", compile_cpu},
    {"reference", compile_reference},
};
constexpr std::string_view kBackendNames[] = {"cpu", "reference"};

}  // namespace

namespace {

void require_equal_lengths(const Points& points) {
  if (points.x.shape.empty() || points.x.shape[0] != points.size() || points.target.size() != points.index.size())
    throw Error{ErrorCode::usage, "points", "x, index and target differ in length", ""};
}

}  // namespace

Points slice(const Points& points, std::int64_t first, std::int64_t count) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) {
    return std::vector<std::int64_t>(all.begin() + first, all.begin() + first + count);
  };
  return {rows(points.x, first, count), part(points.index), part(points.target), points.seed};
}

Points select(const Points& points, std::span<const std::int64_t> which) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) {
    std::vector<std::int64_t> chosen;
    chosen.reserve(which.size());
    for (const std::int64_t i : which) chosen.push_back(all[i]);
    return chosen;
  };
  return {rows(points.x, which), part(points.index), part(points.target), points.seed};
}

void check_classifier(const Graph& graph) {
  if (graph.inputs().size() == 1 && graph.outputs.size() == 1 && graph[graph.outputs[0]].shape.size() == 1) return;
  throw Error{ErrorCode::usage, "classifier", "does not map one input to one vector of logits", ""};
}

std::int64_t checked_rows(const Executor& executor, const Tensor& x) {
  const Shape per_point = x.shape.empty() ? Shape{} : Shape(x.shape.begin() + 1, x.shape.end());
  if (x.shape.empty() || element_count(per_point) != element_count(executor.point_shape())) {
    throw Error{ErrorCode::unreadable, "data", "points have shape " + to_string(per_point),
                "the model takes " + to_string(executor.point_shape())};
  }
  return x.shape[0];
}

void check(const Executor& executor, const Points& points, const NoiseShape& shape) {
  check(executor, points);
  const auto last = std::max_element(points.index.begin(), points.index.end());
  shape.fit(element_count(executor.point_shape()), last == points.index.end() ? 0 : *last + 1);
}

void check(const Executor& executor, const Points& points) {
  (void)checked_rows(executor, points.x);
  require_equal_lengths(points);
  for (const std::int64_t target : points.target) {
    if (target < 0 || target >= executor.classes())
      throw Error{ErrorCode::usage, "target", "class " + std::to_string(target) + " does not exist",
                  "the model has " + std::to_string(executor.classes()) + " classes"};
  }
}

namespace {

// For executors that cannot pause: the first instalment does everything.
class AveragesAtOnce final : public Averages {
 public:
  AveragesAtOnce(Executor& executor, Points points, Noise noise, std::int64_t samples)
      : executor_(executor), points_(std::move(points)), noise_(std::move(noise)), samples_(samples) {}

  Result<std::monostate> reach(std::int64_t) override {
    return guarded("model", [&] {
      if (!made_) made_ = executor_.linearize_averaged(points_, noise_, samples_).value();
      return std::monostate{};
    });
  }
  Result<std::vector<Linearization>> value() override {
    if (const auto done = reach(samples_); !done) return done.error();
    return *made_;
  }

 private:
  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t samples_;
  std::optional<std::vector<Linearization>> made_;
};

}  // namespace

Result<std::unique_ptr<Averages>> Executor::averages(const Points& points, const Noise& noise, std::int64_t samples) {
  return std::unique_ptr<Averages>(std::make_unique<AveragesAtOnce>(*this, points, noise, samples));
}

Result<std::vector<KindTime>> Executor::profile(const Points&, bool) { return std::vector<KindTime>{}; }

std::vector<normal::Probability> Executor::normal_probabilities(std::span<const normal::Problem> problems) {
  std::vector<normal::Probability> answers(problems.size());
  normal::BatchSolver(options().threads).solve(problems, answers, {.stop = &progress.stop});
  return answers;
}

std::int64_t argmax(std::span<const float> logits) {
  std::int64_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return -1;
    if (logits[i] > logits[best]) best = static_cast<std::int64_t>(i);
  }
  return best;
}

void store_margins(const float* logits, std::int64_t stride, std::int64_t target, Eigen::Ref<Eigen::VectorXd> margins) {
  const double own = logits[target * stride];
  for (std::int64_t i = 0, row = 0; row < margins.size(); ++i) {
    if (i != target) margins[row++] = own - double{logits[i * stride]};
  }
}

Eigen::VectorXd margins_of(std::span<const float> logits, std::int64_t target) {
  Eigen::VectorXd margins(static_cast<Eigen::Index>(logits.size()) - 1);
  store_margins(logits.data(), 1, target, margins);
  return margins;
}

std::span<const std::string_view> backends() { return kBackendNames; }

Result<std::unique_ptr<Executor>> make_executor(std::string_view backend, const Graph& classifier,
                                                const ExecutorOptions& options) {
  return guarded("model", [&]() -> std::unique_ptr<Executor> {
    for (const Backend& entry : kBackends) {
      if (entry.name == backend) return std::make_unique<HostExecutor>(entry.name, entry.compile, classifier, options);
    }
    throw Error{ErrorCode::usage, option("device"), "'" + std::string(backend) + "' is not a known device", "use cpu"};
  });
}

std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, Shape point,
                                                std::int64_t classes, const ExecutorOptions& options) {
  return std::make_unique<HostExecutor>(name, std::move(forward), std::move(point), classes, options);
}

}  // namespace probust
