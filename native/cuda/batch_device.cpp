// SPDX-License-Identifier: MIT
#include "cuda/batch_device.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "cuda/batches.h"
#include "cuda/kernels.h"
#include "cuda/noise_on_device.h"
#include "cuda/normal.h"
#include "probust/exec/checks.h"
#include "probust/passes/simplify.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kHostBytes = std::int64_t{2} << 30;  // host memory that callers assume when planning results to hold

struct CudaCounts final : DeviceBuffer {
  Array<std::uint32_t> counters;  // [points][classes]
};

struct CudaSums final : DeviceBuffer {
  Array<double> sums;  // [points][rows][elements], sums of raw gradients
  std::int64_t points = 0, rows = 0;
};

// The gradients computed last, [seeds * examples][elements]: those of `seeds` of the `rows` seeds, beginning with seed `first`.
struct GradientGroup {
  float* gradients = nullptr;
  std::int64_t first = 0, seeds = 0, examples = 0, rows = 0;
};

const NoiseOnDevice& there(const PlacedPoints& placed) { return static_cast<const NoiseOnDevice&>(placed); }

class CudaBatchDevice final : public BatchDevice, BatchInputs, BatchRuns, BatchCounts, BatchGradients {
 public:
  CudaBatchDevice(const Graph& classifier, const ExecutorOptions& options, const CudaOptions& cuda)
      : options_(options),
        warn_(cuda.warn),
        precision_(cuda.precision),
        device_(cuda.ordinal, cuda.precision),
        graph_(simplify(classifier)),
        solver_(*this) {
    check_classifier(graph_);
    const Shape& point = graph_[graph_.inputs()[0]].shape;
    elements_ = element_count(point);
    classes_ = graph_[graph_.outputs[0]].shape[0];
    options_.threads = std::max(1, options_.threads);
    const std::int64_t most = device_.free_bytes() / 10 * 8;
    options_.memory = options_.memory == 0 ? most : std::min(options_.memory, most);
    batches_.emplace(device_, graph_, options_, warn_);
    facts_ = {.name = "cuda:" + std::to_string(cuda.ordinal),
              .point_shape = point,
              .classes = classes_,
              .classifier = &graph_,
              .forward_batch = batches_->forward_batch(),
              .options = options_};
    facts_.options.memory = std::min(options_.memory, kHostBytes);  // callers regard this as the memory of the host
  }

  const DeviceFacts& facts() const override { return facts_; }
  BatchInputs& inputs() override { return *this; }
  BatchRuns& runs() override { return *this; }
  BatchCounts& counts() override { return *this; }
  BatchGradients& gradients() override { return *this; }
  void release() override {}
  std::unique_ptr<BatchDevice> without_head(const HeadSplit&) override { return nullptr; }
  std::unique_ptr<BatchDevice> of_part(const Graph&, double) override { return nullptr; }

  void report_to(Progress& progress) override { progress_ = &progress; }
  void use() override { device_.use(); }
  normal::ProblemSolver* normal_solver() override { return &solver_; }

  // ---- inputs

  std::unique_ptr<PlacedPoints> place(const Points& points, const NoiseShape& shape) override {
    ahead_.reset();
    auto placed = std::make_unique<NoiseOnDevice>(device_, points, shape, elements_);
    if (placed->drawn_on_the_host() && noises_told_.insert(shape.name()).second)
      warn_("noise " + shape.name() + " is drawn on the CPU, because the device has no kernel for it");
    return placed;
  }

  void load(int, const float* points, std::int64_t count) override {
    device_.upload(input().grown(device_, count * elements_), points, count * elements_ * kFloatBytes);
  }

  void draw(int, const PlacedPoints& placed, const SampleRange& range) override {
    if (ahead_ && ahead_->range == range) {
      device_.await(ahead_->drawn);
      ahead_.reset();
      current_ = (current_ + 1) % Buffers::kInputs;
    } else {
      there(placed).draw(range, input().grown(device_, range.lanes * elements_));
    }
  }

  // Draws the next noisy samples on the side stream, into the buffer that the current run does not use.
  void draw_soon(int, const PlacedPoints& placed, const SampleRange& range) override {
    Array<float>& other = buffers().inputs[static_cast<std::size_t>((current_ + 1) % Buffers::kInputs)];
    other.grown(device_, range.lanes * elements_);
    device_.on_side_stream([&] {
      there(placed).draw(range, other.data());
      ahead_ = {range, device_.mark()};
    });
  }

  void reflect(int, const PlacedPoints& placed, const SampleRange& range) override {
    there(placed).reflect(range, input().data());
  }

  // ---- runs

  void forward(int, std::int64_t lanes) override {
    if (precision_ != Precision::float32 && !error_told_) return forward_and_tell_error(lanes);
    run_forward(lanes);
  }

  Sweep prepare(LinearizeAt at, std::int64_t rows) override { return batches_->prepare(at, rows); }
  Sweep prepare_sums(std::int64_t rows) override { return prepare(LinearizeAt::input, rows); }

  void sweep(int, const Sweep& which, std::span<const std::int64_t> index, const Seeds& seeds,
             const std::function<void(std::int64_t, std::int64_t)>& take) override {
    const auto count = static_cast<std::int64_t>(index.size());
    group_ = {nullptr, 0, 0, count, 0};
    index_.assign(index.begin(), index.end());
    if (seeds.rows == 0) return run_forward(count);
    const std::vector<std::uint32_t> keys(index.begin(), index.end());
    device_.upload(buffers().keys.grown(device_, count), keys.data(), count * static_cast<std::int64_t>(sizeof(std::uint32_t)));
    std::vector<const float*> inputs{input().data()};
    if (which.noise != nullptr) inputs.push_back(place_variances(*which.noise, index));
    inputs.push_back(nullptr);
    place_seeds(seeds, count);
    const DeviceProgram& program = batches_->gradient(which.at);
    std::vector<float> logits;
    for (std::int64_t first = 0; first < seeds.rows; first += which.batch.seeds) {
      stop_if_asked(&progress_->stop);
      const std::int64_t together = std::min(which.batch.seeds, seeds.rows - first), lanes = together * count;
      inputs.back() = cotangents(seeds, first, together, count);
      const std::vector<DeviceProgram::Value> values = program.run({count, together}, inputs, buffers().arena);
      group_ = {full(values[1], elements_, lanes, buffers().repeated_gradients), first, together, count, seeds.rows};
      take(first, together);
      // Downloads last, after all work is submitted, because a download waits for the device.
      if (first == 0) logits = downloaded(full(values[0], classes_, count, buffers().repeated_logits), count * classes_);
      progress_->passes += lanes + (first == 0 ? count : 0);
    }
    host_logits_ = std::move(logits);
    on_device_ = {};
  }

  Batch prepare_moments() override { return batches_->prepare_moments(); }

  void propagate(int, const Noise& noise, std::int64_t lanes) override {
    const std::vector<std::int64_t> any(static_cast<std::size_t>(lanes), 0);
    const float* const inputs[] = {input().data(), place_variances(noise, any)};
    const std::vector<DeviceProgram::Value> moments = batches_->moments().run({lanes, 1}, inputs, buffers().arena);
    const auto read = [&](const DeviceProgram::Value& value) {
      return downloaded(full(value, classes_, lanes, buffers().repeated_logits), lanes * classes_);
    };
    host_logits_ = read(moments[0]);
    host_variances_ = read(moments[1]);
    on_device_ = {};
    progress_->passes += kPropagationPasses * lanes;
  }

  std::vector<KindTime> profile(const Points&, const Sweep*) override { return {}; }

  LogitsView variances(int) override { return {host_variances_.data(), classes_, 1}; }

  LogitsView logits(int) override {
    if (on_device_.data != nullptr) host_logits_ = downloaded(on_device_.data, on_device_.lanes * classes_);
    return {host_logits_.data(), classes_, 1};
  }

  // ---- reductions of logits

  std::unique_ptr<DeviceBuffer> make_counts(std::int64_t points) override {
    auto counts = std::make_unique<CudaCounts>();
    counts->counters = Array<std::uint32_t>(device_, points * classes_);
    device_.clear(counts->counters.data(), points * classes_ * static_cast<std::int64_t>(sizeof(std::uint32_t)));
    return counts;
  }

  // Waits for the device, so that progress counts only finished work and a stop request takes effect soon.
  void count_winners(int, const SampleRange& range, DeviceBuffer& counts) override {
    DeviceRange lanes;
    lanes.count = range.count;
    lanes.begin = range.begin;
    lanes.lanes = range.lanes;
    cuda::count_winners(device_, on_device_.data, classes_, lanes, static_cast<CudaCounts&>(counts).counters.data());
    device_.wait();
  }

  PredictionCounts read_counts(const DeviceBuffer& counts) override {
    const auto& counters = static_cast<const CudaCounts&>(counts).counters;
    std::vector<std::uint32_t> all(static_cast<std::size_t>(counters.size()));
    device_.download(all.data(), counters.data(), static_cast<std::int64_t>(all.size() * sizeof(std::uint32_t)));
    PredictionCounts of_points;
    for (auto first = all.begin(); first != all.end(); first += classes_) of_points.emplace_back(first, first + classes_);
    return of_points;
  }

  // ---- reductions of the gradients of the current group of seeds

  void read_gradients(int, float* rows) override {
    device_.download(rows, group_.gradients, group_.seeds * elements_ * kFloatBytes);
  }

  void whiten(int, const PlacedPoints& placed) override {
    there(placed).whiten(index_, buffers().keys.data(), group_.seeds * group_.examples, group_.gradients);
  }

  void make_room(int, GradientForm form, std::int64_t examples, std::int64_t rows) override {
    kept_as(form).grown(device_, examples * rows * elements_);
    kept_examples_ = examples;
    kept_rows_ = rows;
  }

  void keep(int, GradientForm form) override {
    store_rows(device_, group_.gradients, group_.seeds, group_.examples, elements_, group_.first, group_.rows,
               kept_as(form).data());
  }

  std::unique_ptr<DeviceBuffer> make_sums(const Sweep&, std::int64_t points, std::int64_t rows) override {
    auto sums = std::make_unique<CudaSums>();
    sums->sums = Array<double>(device_, points * rows * elements_);
    device_.clear(sums->sums.data(), points * rows * elements_ * kDoubleBytes);
    sums->points = points;
    sums->rows = rows;
    return sums;
  }

  // Sums only raw gradients; keep_means() whitens their mean.
  void add(int, const PlacedPoints& placed, const SampleRange& range, DeviceBuffer& buffer) override {
    const auto& sums = static_cast<const CudaSums&>(buffer);
    const DeviceRange lanes = there(placed).on_device(range);
    double* own = buffers().products.grown(device_, range.lanes * group_.rows);
    add_gradients(device_, lanes, group_.gradients, group_.seeds, group_.first, group_.rows, sums.points, sums.sums.data());
    cuda::along_own(device_, lanes, group_.gradients, group_.seeds, group_.first, group_.rows, input().data(), own);
  }

  Eigen::MatrixXd along_own(int) override { return downloaded_products(group_.rows, group_.examples); }

  // ---- reductions of kept gradients

  void keep_means(int worker, const PlacedPoints& placed, DeviceBuffer& buffer, std::int64_t samples) override {
    const auto& sums = static_cast<const CudaSums&>(buffer);
    const std::int64_t size = sums.points * sums.rows * elements_;
    for (const GradientForm form : {GradientForm::raw, GradientForm::whitened}) make_room(worker, form, sums.points, sums.rows);
    average(device_, sums.sums.data(), samples, size, kept_as(GradientForm::raw).data());
    device_.copy(kept_as(GradientForm::whitened).data(), kept_as(GradientForm::raw).data(), size * kFloatBytes);
    std::vector<std::int64_t> index;  // the position of each row's point, as if every row were a separate example
    for (const std::int64_t one : placed.points.index) index.insert(index.end(), static_cast<std::size_t>(sums.rows), one);
    const std::vector<std::uint32_t> keys(index.begin(), index.end());
    const Array<std::uint32_t> rows(device_, keys);
    there(placed).whiten(index, rows.data(), rows.size(), kept_as(GradientForm::whitened).data());
  }

  std::vector<Eigen::MatrixXd> grams(int, GradientForm form) override {
    const std::int64_t n = kept_rows_;
    double* on_device = buffers().products.grown(device_, kept_examples_ * n * n);
    gram(device_, kept_as(form).data(), kept_examples_, n, elements_, on_device);
    std::vector<double> all(static_cast<std::size_t>(kept_examples_ * n * n));
    device_.download(all.data(), on_device,
                     static_cast<std::int64_t>(all.size()) * kDoubleBytes);  // a single download, because each waits
    std::vector<Eigen::MatrixXd> result;
    for (std::int64_t b = 0; b < kept_examples_; ++b)
      result.emplace_back(Eigen::Map<Eigen::MatrixXd>(all.data() + b * n * n, n, n));
    return result;
  }

  Eigen::MatrixXd along(int, const PlacedPoints& placed, const SampleRange& range) override {
    double* products = buffers().products.grown(device_, range.lanes * kept_rows_);
    cuda::along(device_, there(placed).on_device(range), kept_as(GradientForm::raw).data(), kept_rows_, input().data(), products);
    return downloaded_products(kept_rows_, range.lanes);
  }

  void read_kept(int, std::span<Eigen::MatrixXf>) override {}  // not called, because facts().reads_gradients is false
  void drop_kept(int) override {}

 private:
  Buffers& buffers() { return batches_->buffers; }
  Array<float>& input() { return buffers().inputs[static_cast<std::size_t>(current_)]; }
  Array<float>& kept_as(GradientForm form) { return buffers().kept[static_cast<std::size_t>(form)]; }

  std::vector<float> downloaded(const float* values, std::int64_t size) {
    std::vector<float> here(static_cast<std::size_t>(size));
    device_.download(here.data(), values, size * kFloatBytes);
    return here;
  }

  // Downloads the products, which the device stores as [lanes][rows], to a matrix [rows, lanes] (in Eigen's column-major
  // order).
  Eigen::MatrixXd downloaded_products(std::int64_t rows, std::int64_t lanes) {
    Eigen::MatrixXd here(rows, lanes);
    device_.download(here.data(), buffers().products.data(), rows * lanes * kDoubleBytes);
    return here;
  }

  // A value with `lanes` lanes, one per example or per pair of seed and example. If it has fewer, its lanes are repeated in
  // `buffer`.
  float* full(const DeviceProgram::Value& value, std::int64_t elements, std::int64_t lanes, Array<float>& buffer) {
    if (value.lanes == lanes) return const_cast<float*>(value.data);  // the value is in the arena, which belongs to this object
    float* to = buffer.grown(device_, elements * lanes);
    repeat(device_, {value.data, elements, value.lanes}, {to, elements, lanes});
    return to;
  }

  void run_forward(std::int64_t lanes) {
    const float* const from = input().data();
    const DeviceProgram::Value value = batches_->forward().run({lanes, 1}, std::span(&from, 1), buffers().arena)[0];
    progress_->passes += lanes;
    on_device_ = {full(value, classes_, lanes, buffers().repeated_logits), lanes};
  }

  // Runs the first forward, which is in a lower precision, and reports its error, measured on the first few points.
  void forward_and_tell_error(std::int64_t lanes) {
    error_told_ = true;
    const std::vector<float> exact = exact_logits(std::min<std::int64_t>(16, lanes));
    const std::int64_t n = static_cast<std::int64_t>(exact.size()) / classes_;
    run_forward(lanes);
    const std::vector<float> rounded = downloaded(on_device_.data, n * classes_);
    float largest = 0, worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      largest = std::max(largest, std::fabs(exact[i]));
      worst = std::max(worst, std::fabs(exact[i] - rounded[i]));
    }
    if (n == 0)
      return warn_(std::string("there is too little memory to measure how much ") + name_of(precision_) + " changes the logits");
    std::ostringstream text;
    text << name_of(precision_) << " changes the logits of the first " << n << " points by up to " << worst
         << " (the largest logit is " << largest << ")";
    warn_(text.str());
  }

  // The float32 logits of the points in the first lanes. Empty if there is too little memory: a run must not fail only because
  // its error cannot be reported.
  std::vector<float> exact_logits(std::int64_t most_lanes) {
    try {
      return batches_->exact_logits(input().data(), most_lanes);
    } catch (const Error& error) {
      if (!is_out_of_memory(error)) throw;
      return {};
    }
  }

  // Uploads the variances of the noise at the points with these positions, [points][elements].
  const float* place_variances(const Noise& noise, std::span<const std::int64_t> index) {
    const std::vector<float> variances = variances_of(noise, index, elements_);
    buffers().variances.grown(device_, std::ssize(variances));
    device_.upload(buffers().variances.data(), variances.data(), std::ssize(variances) * kFloatBytes);
    return buffers().variances.data();
  }

  // Uploads the targets and rivals of margins. Seeds that are logits have none.
  void place_seeds(const Seeds& seeds, std::int64_t examples) {
    if (seeds.targets.empty()) return;
    std::vector<std::int32_t> rivals;
    rivals.reserve(static_cast<std::size_t>(examples * seeds.rows));
    for (std::int64_t b = 0; b < examples; ++b) {
      for (std::int64_t row = 0; row < seeds.rows; ++row) rivals.push_back(static_cast<std::int32_t>(seeds.rival(b, row)));
    }
    buffers().targets = Array<std::int32_t>(device_, std::vector<std::int32_t>(seeds.targets.begin(), seeds.targets.end()));
    buffers().rivals = Array<std::int32_t>(device_, rivals);
  }

  // The cotangents [seeds * examples][classes] of `seeds` seeds, beginning with seed `first`.
  const float* cotangents(const Seeds& all, std::int64_t first, std::int64_t seeds, std::int64_t examples) {
    float* to = buffers().cotangents.grown(device_, seeds * examples * classes_);
    if (!all.targets.empty()) {
      seed_margins(device_, buffers().targets.data(), buffers().rivals.data(), all.rows, first, seeds, examples, classes_, to);
      return to;
    }
    std::vector<float> units(static_cast<std::size_t>(seeds * examples * classes_), 0.0F);
    for (std::int64_t lane = 0; lane < seeds * examples; ++lane) units[lane * classes_ + first + lane / examples] = 1;
    device_.upload(to, units.data(), seeds * examples * classes_ * kFloatBytes);
    return to;
  }

  // Computes normal probabilities in the free memory of the device.
  class NormalSolver final : public normal::ProblemSolver {
   public:
    explicit NormalSolver(CudaBatchDevice& of) : of_(of) {}
    void solve(std::span<const normal::Problem> problems, std::span<normal::Probability> answers,
               const normal::Options& options) override {
      of_.device_.use();
      const std::int64_t bytes = std::min(of_.options_.memory - of_.batches_->buffers.bytes(), of_.device_.free_bytes() / 10 * 9);
      const auto found = cuda::normal_probabilities(of_.device_, problems, of_.options_.threads, bytes, options);
      std::copy(found.begin(), found.end(), answers.begin());
    }

   private:
    CudaBatchDevice& of_;
  };

  // Noisy samples that were drawn in advance, in the buffer that the current run does not use.
  struct Ahead {
    SampleRange range;
    Event drawn;
  };
  // The logits [lanes][classes] of the last forward, on the device.
  struct DeviceLogits {
    const float* data = nullptr;
    std::int64_t lanes = 0;
  };

  DeviceFacts facts_;
  ExecutorOptions options_;
  std::function<void(const std::string&)> warn_;
  Progress* progress_ = nullptr;
  Precision precision_;
  bool error_told_ = false;
  std::set<std::string> noises_told_;
  Device device_;
  Graph graph_;
  std::int64_t elements_ = 0, classes_ = 0;
  std::optional<Batches> batches_;
  NormalSolver solver_;
  std::int64_t current_ = 0;
  std::optional<Ahead> ahead_;
  std::int64_t kept_examples_ = 0, kept_rows_ = 0;
  GradientGroup group_;
  std::vector<std::int64_t> index_;  // the positions, in the data, of a sweep's points
  DeviceLogits on_device_;
  std::vector<float> host_logits_, host_variances_;
};

}  // namespace

std::unique_ptr<BatchDevice> make_cuda_batch_device(const Graph& classifier, const ExecutorOptions& options,
                                                    const CudaOptions& cuda) {
  return std::make_unique<CudaBatchDevice>(classifier, options, cuda);
}

}  // namespace probust::cuda
