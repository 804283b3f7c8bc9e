// SPDX-License-Identifier: MIT
#include "probust/exec/host/host_device.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "probust/base/transpose.h"
#include "probust/exec/checks.h"
#include "probust/exec/host/host_first_layer.h"
#include "probust/exec/host/host_memory.h"
#include "probust/exec/host/host_rows.h"
#include "probust/exec/host/host_samples.h"
#include "probust/exec/host/host_worker.h"
#include "probust/exec/host/step_times.h"
#include "probust/passes/gradient_graphs.h"
#include "probust/passes/head_split.h"
#include "probust/passes/pool_first.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

class HostDevice final : public BatchDevice, BatchInputs, BatchRuns, BatchCounts, BatchGradients {
 public:
  HostDevice(std::string_view name, Compile compile, const Graph& classifier, const ExecutorOptions& options)
      : compile_(compile),
        graph_(simplified(classifier)),
        elements_(element_count((*graph_)[graph_->inputs()[0]].shape)),
        classes_((*graph_)[graph_->outputs[0]].shape[0]),
        memory_(options, elements_, classes_) {
    find_facts(name, (*graph_)[graph_->inputs()[0]].shape);
    memory_.check_values_fit(*graph_);
    forward_ = compile_(pool_first(*graph_));
    fit();
    make_workers();
  }

  HostDevice(std::string_view name, std::unique_ptr<Program> forward, std::unique_ptr<Program> gradient, const Shape& point,
             std::int64_t classes, const ExecutorOptions& options)
      : elements_(element_count(point)),
        classes_(classes),
        memory_(options, elements_, classes_),
        forward_(std::move(forward)),
        gradient_(std::move(gradient)) {
    find_facts(name, point);
    facts_.forward_batch = memory_.forward_batch(*forward_);
    make_workers();
  }

  const DeviceFacts& facts() const override { return facts_; }
  BatchInputs& inputs() override { return *this; }
  BatchRuns& runs() override { return *this; }
  BatchCounts& counts() override { return *this; }
  BatchGradients& gradients() override { return *this; }
  void use() override {}
  normal::ProblemSolver* normal_solver() override { return nullptr; }

  void report_to(Progress& progress) override {
    progress_ = &progress;
    make_workers();
  }

  void release() override { make_workers(); }

  // Frees memory first, because otherwise both devices would hold the full amount. The weights of the last layer exist three
  // times: as a constant, packed, and as a matrix. The device for the features subtracts its own weights.
  std::unique_ptr<BatchDevice> without_head(const HeadSplit& split) override {
    make_workers();
    ExecutorOptions rest = memory_.options();
    if (rest.weights_included) {
      const std::int64_t last = (split.last->weights.size() + split.last->bias.size()) * static_cast<std::int64_t>(sizeof(float));
      rest.memory = std::max<std::int64_t>(1, memory_.given() - 3 * last);
    }
    return std::make_unique<HostDevice>(facts_.name, compile_, split.features, rest);
  }

  // Frees memory first, as without_head does.
  std::unique_ptr<BatchDevice> of_part(const Graph& part, double share) override {
    make_workers();
    ExecutorOptions own = memory_.options();
    own.memory = static_cast<std::int64_t>(static_cast<double>(own.memory) * share);
    own.weights_included = false;  // the weights are already subtracted from the memory
    return std::make_unique<HostDevice>(facts_.name, compile_, part, own);
  }

  // ---- inputs

  std::unique_ptr<PlacedPoints> place(const Points& points, const NoiseShape& shape) override {
    return std::make_unique<PlacedPoints>(points, shape);
  }

  void load(int worker, const float* points, std::int64_t count) override {
    transpose(points, count, elements_, workers_[worker].inputs.take(elements_ * count));
  }

  void draw(int worker, const PlacedPoints& placed, const SampleRange& range) override {
    HostWorker& own = workers_[worker];
    float* const x = own.inputs.take(elements_ * range.lanes);
    own.points.resize(static_cast<std::size_t>(range.lanes));
    own.samples.resize(static_cast<std::size_t>(range.lanes));
    for (std::int64_t lane = 0; lane < range.lanes; ++lane) {
      own.points[lane] = static_cast<std::uint32_t>(placed.position(range, lane));
      own.samples[lane] = static_cast<std::uint32_t>(range.sample(lane));
    }
    change_lanes(placed, range, elements_, x, [](float, float value) { return value; });
    placed.shape.add({placed.points.seed, own.points, own.samples}, elements_, static_cast<float>(range.scale), x);
  }

  void draw_soon(int, const PlacedPoints&, const SampleRange&) override {}

  void reflect(int worker, const PlacedPoints& placed, const SampleRange& range) override {
    float* const x = workers_[worker].inputs.data();
    change_lanes(placed, range, elements_, x, [](float old, float value) { return value - (old - value); });
  }

  // ---- runs

  void forward(int worker, std::int64_t lanes) override {
    HostWorker& own = workers_[worker];
    float* logits = own.logits.take(classes_ * lanes);
    const float* input = own.inputs.data();
    forward_->run({lanes, 1}, std::span(&input, 1), std::span(&logits, 1), own.workspace);
    verify(own);
    own.lanes = lanes;
    progress_->passes += lanes;
  }

  Sweep prepare(LinearizeAt at, std::int64_t rows) override {
    std::unique_ptr<Program>& program = at == LinearizeAt::input ? gradient_ : smoothed_;
    if (!program) {
      if (!graph_)
        throw gradient_ ? no_moments()
                        : Error{ErrorCode::unsupported, "gradients", "are not available from " + facts_.name,
                                "use an estimator without gradients, such as probit:N"};
      compile_into(program, at == LinearizeAt::input ? gradient_graph(*graph_) : smoothed_gradient_graph(*graph_));
    }
    return {at, memory_.gradient_batch(*program, rows)};
  }

  Sweep prepare_sums(std::int64_t rows) override {
    if (graph_ && !sought_first_layer_) find_first_layer();
    if (!first_layer_) return prepare(LinearizeAt::input, rows);
    return {.at = LinearizeAt::input, .batch = memory_.gradient_batch(first_layer_->rest(), rows), .to_first_layer = true};
  }

  void sweep(int worker, const Sweep& which, std::span<const std::int64_t> index, const Seeds& seeds,
             const std::function<void(std::int64_t, std::int64_t)>& take) override {
    HostWorker& own = workers_[worker];
    const auto count = static_cast<std::int64_t>(index.size());
    own.index.assign(index.begin(), index.end());
    own.along_own = RowMatrix(0, count);
    if (seeds.rows == 0) return forward(worker, count);
    if (which.noise != nullptr) fill_variances(*which.noise, index, own);
    // If the logits come from another engine, a run may end because an answer is missing, and the whole sweep is then repeated.
    // So all answers must be known before the gradients of the first group are used.
    if (program_of(which).answers_later() && seeds.rows > which.batch.seeds) {
      for (std::int64_t first = 0; first < seeds.rows; first += which.batch.seeds) run_group(which, seeds, first, count, own);
    }
    for (std::int64_t first = 0; first < seeds.rows; first += which.batch.seeds) {
      stop_if_asked(&progress_->stop);
      float* const logits = run_group(which, seeds, first, count, own);
      const std::int64_t together = own.group.seeds, lanes = together * count;
      take(first, together);
      progress_->passes += lanes + (first == 0 ? count : 0);
      // Keeps the logits of the first seed.
      for (std::int64_t c = 0; c < classes_; ++c) std::copy_n(logits + c * lanes, count, logits + c * count);
    }
    own.lanes = count;
  }

  Batch prepare_moments() override {
    if (!moments_) {
      if (!graph_) throw no_moments();
      compile_into(moments_, moment_graph(*graph_, Extent::constant));
    }
    return memory_.forward_batch(*moments_);
  }

  void propagate(int worker, const Noise& noise, std::int64_t lanes) override {
    HostWorker& own = workers_[worker];
    const std::int64_t point = 0;  // any point, because the noise is the same at all points
    fill_variances(noise, std::span(&point, 1), own);
    const float* const inputs[] = {own.inputs.data(), own.variances.data()};
    float* outputs[] = {own.logits.take(classes_ * lanes), own.logit_variances.take(classes_ * lanes)};
    moments_->run({lanes, 1}, inputs, outputs, own.workspace);
    verify(own);
    own.lanes = lanes;
    progress_->passes += kPropagationPasses * lanes;
  }

  LogitsView variances(int worker) override { return {workers_[worker].logit_variances.data(), 1, workers_[worker].lanes}; }

  LogitsView logits(int worker) override { return {workers_[worker].logits.data(), 1, workers_[worker].lanes}; }

  std::vector<KindTime> profile(const Points& points, const Sweep* gradients) override {
    HostWorker& own = workers_[0];
    const Program& program = gradients != nullptr ? *gradient_ : *forward_;
    const Batch most = gradients != nullptr ? gradients->batch : facts_.forward_batch;
    const Batch batch{std::min(points.size(), most.examples), most.seeds};
    load(0, points.x.data.data(), batch.examples);
    const std::vector<std::int64_t> index(static_cast<std::size_t>(batch.examples), 0);
    std::vector<double> seconds;
    for (int attempt = 0; attempt < 2; ++attempt) {
      seconds.clear();
      {
        const Timing timing(own.workspace, seconds);
        if (gradients != nullptr) {
          sweep(0, *gradients, index, {.rows = batch.seeds}, [](std::int64_t, std::int64_t) {});
        } else {
          forward(0, batch.examples);
        }
      }
      constexpr double kLong = 6;  // seconds; in a run this long, one-time costs such as new pages of memory do not matter
      if (std::accumulate(seconds.begin(), seconds.end(), 0.0) > kLong) break;
    }
    return by_kind(program.steps(), seconds, batch);
  }

  // ---- reductions of logits

  std::unique_ptr<DeviceBuffer> make_counts(std::int64_t points) override {
    auto counts = std::make_unique<HostCounts>();
    counts->of_points.assign(static_cast<std::size_t>(points), std::vector<std::int64_t>(static_cast<std::size_t>(classes_), 0));
    return counts;
  }

  void count_winners(int worker, const SampleRange& range, DeviceBuffer& buffer) override {
    auto& counts = static_cast<HostCounts&>(buffer);
    const float* logits = workers_[worker].logits.data();
    std::vector<float> one(static_cast<std::size_t>(classes_));
    const std::lock_guard lock(counts.mutex);
    for (std::int64_t lane = 0; lane < range.lanes; ++lane) {
      for (std::int64_t c = 0; c < classes_; ++c) one[c] = logits[c * range.lanes + lane];
      if (const std::int64_t winner = argmax(one); winner >= 0) ++counts.of_points[range.point(lane)][winner];
    }
  }

  PredictionCounts read_counts(const DeviceBuffer& counts) override { return static_cast<const HostCounts&>(counts).of_points; }

  // ---- reductions of the gradients of the current group of seeds

  void read_gradients(int worker, float* rows) override {
    const GradientGroup& group = workers_[worker].group;
    transpose(group.gradients, elements_, group.seeds, rows);
  }

  void whiten(int worker, const PlacedPoints& placed) override {
    HostWorker& own = workers_[worker];
    own.points.clear();
    for (std::int64_t s = 0; s < own.group.seeds; ++s) own.points.insert(own.points.end(), own.index.begin(), own.index.end());
    placed.shape.whiten(own.points, elements_, own.group.gradients);
  }

  void make_room(int worker, GradientForm form, std::int64_t examples, std::int64_t rows) override {
    workers_[worker].kept_as(form).assign(static_cast<std::size_t>(examples), RowMatrix(rows, elements_));
  }

  void keep(int worker, GradientForm form) override {
    HostWorker& own = workers_[worker];
    unpack(own.group.gradients, own.group.first, own.group.seeds, own.kept_as(form));
  }

  std::unique_ptr<DeviceBuffer> make_sums(const Sweep& which, std::int64_t points, std::int64_t rows) override {
    auto sums = std::make_unique<HostSums>(which);
    sums->of_points.assign(static_cast<std::size_t>(points), RowMatrix::Zero(rows, gradient_size(which)));
    return sums;
  }

  void add(int worker, const PlacedPoints& placed, const SampleRange& range, DeviceBuffer& buffer) override {
    HostWorker& own = workers_[worker];
    auto& sums = static_cast<HostSums&>(buffer);
    const GradientGroup& group = own.group;
    if (group.first == 0) {
      fill_noise(placed, range, own, sums.which.to_first_layer);
      own.along_own = RowMatrix::Zero(sums.of_points[0].rows(), group.examples);
    }
    GradientRows rows{group.gradients, group.first, group.seeds, group.examples, group.examples};
    add_products(rows, gradient_size(sums.which), (sums.which.to_first_layer ? own.moved : own.noise).data(), own.along_own);
    for_points(range, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
      rows.data = group.gradients + from;
      rows.lanes = to - from;
      add_rows(rows, sums.of_points[i]);
    });
  }

  Eigen::MatrixXd along_own(int worker) override { return workers_[worker].along_own; }

  // ---- reductions of kept gradients

  void keep_means(int worker, const PlacedPoints& placed, DeviceBuffer& buffer, std::int64_t samples) override {
    HostWorker& own = workers_[worker];
    auto& sums = static_cast<HostSums&>(buffer);
    const auto points = static_cast<std::int64_t>(sums.of_points.size());
    for (RowMatrix& one : sums.of_points) one /= static_cast<double>(samples);
    const std::int64_t most_seeds = sums.which.batch.seeds, rows = sums.of_points[0].rows();
    std::vector<RowMatrix>& raw = own.kept_as(GradientForm::raw);
    raw = sums.which.to_first_layer ? first_layer_->by_inputs(sums.of_points, most_seeds, own.workspace)
                                    : std::move(sums.of_points);
    sums.of_points.clear();
    own.index = placed.points.index;
    make_room(worker, GradientForm::whitened, points, rows);
    for (std::int64_t first = 0; first < rows; first += most_seeds) {
      const std::int64_t seeds = std::min(most_seeds, rows - first);
      own.group = {own.gradients.take(elements_ * seeds * points), first, seeds, points};
      pack(raw, first, seeds, own.group.gradients);
      whiten(worker, placed);
      keep(worker, GradientForm::whitened);
    }
  }

  std::vector<Eigen::MatrixXd> grams(int worker, GradientForm form) override {
    std::vector<Eigen::MatrixXd> all;
    for (const RowMatrix& u : workers_[worker].kept_as(form)) all.push_back(gram_of(u, progress_->stop));
    return all;
  }

  Eigen::MatrixXd along(int worker, const PlacedPoints& placed, const SampleRange& range) override {
    HostWorker& own = workers_[worker];
    const std::vector<RowMatrix>& u = own.kept_as(GradientForm::raw);
    Eigen::MatrixXd all(u[0].rows(), range.lanes);
    for_points(range, [&](std::int64_t i, std::int64_t from, std::int64_t to) {
      all.middleCols(from, to - from) =
          rows_along(u[i], placed.points.x.data.data() + i * elements_, own.inputs.data() + from, to - from, range.lanes);
    });
    return all;
  }

  void read_kept(int worker, std::span<Eigen::MatrixXf> to) override {
    const std::vector<RowMatrix>& raw = workers_[worker].kept_as(GradientForm::raw);
    for (std::size_t b = 0; b < to.size(); ++b) to[b] = raw[b].cast<float>();
  }

  void drop_kept(int worker) override {
    for (std::vector<RowMatrix>& kept : workers_[worker].kept) kept.clear();
  }

 private:
  void find_facts(std::string_view name, const Shape& point) {
    facts_ = {.name = std::string(name),
              .point_shape = point,
              .classes = classes_,
              .classifier = graph_ ? &*graph_ : nullptr,
              .differentiable = graph_ || gradient_,
              .workers = memory_.options().threads,
              .options = memory_.options(),
              .splits_head = compile_ != nullptr,
              .reads_gradients = true};
  }

  static Graph simplified(const Graph& classifier) {
    Graph graph = simplify(classifier);
    check_classifier(graph);
    return graph;
  }

  Error no_moments() const {
    return {ErrorCode::unsupported, "moments", "are not available from " + facts_.name, "use an estimator other than adf"};
  }

  void compile_into(std::unique_ptr<Program>& program, const Graph& derived) {
    memory_.check_values_fit(derived);
    make_workers();  // frees the memory of earlier runs, so that the weights fit
    program = compile_(derived);
    fit();
  }

  // Updates the memory and the batch for the compiled programs. Must be called after compiling a program.
  void fit() {
    std::vector<const Program*> programs{forward_.get(), gradient_.get(), smoothed_.get(), moments_.get()};
    if (first_layer_) {
      const auto more = first_layer_->programs();
      programs.insert(programs.end(), more.begin(), more.end());
    }
    memory_.subtract_weights(*graph_, programs);
    facts_.options = memory_.options();
    facts_.forward_batch = memory_.forward_batch(*forward_);
  }

  // Creates new workers, which also frees the memory of earlier runs.
  void make_workers() {
    workers_.clear();
    workers_.resize(static_cast<std::size_t>(facts_.workers));
    for (HostWorker& worker : workers_) {
      for (Workspace* workspace : {&worker.workspace, &worker.first_layer}) {
        workspace->verify = facts_.options.verify;
        workspace->stop = progress_ != nullptr ? &progress_->stop : nullptr;
      }
    }
  }

  void verify(const HostWorker& worker) const {
    if (facts_.options.verify && !worker.intact()) throw std::logic_error("something wrote beyond the buffers of a run");
  }

  // Called only for sweeps of which only sums are needed.
  void find_first_layer() {
    if (const auto split = split_first_layer(*graph_)) {
      memory_.check_values_fit(split->rest);
      make_workers();  // frees memory, as in compile_into
      first_layer_.emplace(*split, compile_);
      fit();
    }
    sought_first_layer_ = true;
  }

  // Runs a sweep for the group of seeds that begins with `first`. Returns the logits, which have one lane per seed and example.
  float* run_group(const Sweep& which, const Seeds& seeds, std::int64_t first, std::int64_t count, HostWorker& own) const {
    const std::int64_t together = std::min(which.batch.seeds, seeds.rows - first), lanes = together * count;
    std::vector<const float*> inputs{own.inputs.data()};
    if (which.noise != nullptr) inputs.push_back(own.variances.data());
    inputs.push_back(fill_seeds(seeds, first, together, count, own));
    float* outputs[] = {own.logits.take(classes_ * lanes), own.gradients.take(gradient_size(which) * lanes)};
    program_of(which).run({count, together}, inputs, outputs, own.workspace, first == 0 ? Reuse::nothing : Reuse::examples);
    verify(own);
    own.group = {outputs[1], first, together, count};
    return outputs[0];
  }

  const Program& program_of(const Sweep& which) const {
    if (which.to_first_layer) return first_layer_->rest();
    return which.at == LinearizeAt::input ? *gradient_ : *smoothed_;
  }

  // The elements of a gradient of this sweep.
  std::int64_t gradient_size(const Sweep& which) const { return which.to_first_layer ? first_layer_->outputs() : elements_; }

  // Computes the noise of the samples in the lanes and, if requested, the resulting change of the outputs of the first layer.
  // The change is computed in its own workspace, because the other workspace holds values of the sweep.
  void fill_noise(const PlacedPoints& placed, const SampleRange& range, HostWorker& own, bool to_first_layer) const {
    float* const noise = own.noise.take(elements_ * range.lanes);
    std::copy_n(own.inputs.data(), elements_ * range.lanes, noise);
    change_lanes(placed, range, elements_, noise, [](float noisy, float value) { return noisy - value; });
    if (!to_first_layer) return;
    first_layer_->move(noise, range.lanes, own.moved.take(first_layer_->outputs() * range.lanes), own.first_layer);
    verify(own);
  }

  // Writes the variances of the noise at the points `index`, which are an input of smoothed programs.
  void fill_variances(const Noise& noise, std::span<const std::int64_t> index, HostWorker& own) const {
    const auto count = static_cast<std::int64_t>(index.size());
    float* variances = own.variances.take(elements_ * count);
    std::fill_n(variances, elements_ * count, static_cast<float>(noise.scale * noise.scale));
    own.points.assign(index.begin(), index.end());
    noise.shape->variances(own.points, elements_, variances);
  }

  // Writes the cotangents [classes][seeds][examples].
  const float* fill_seeds(const Seeds& all, std::int64_t first, std::int64_t seeds, std::int64_t examples,
                          HostWorker& own) const {
    float* cotangents = own.cotangents.take(classes_ * seeds * examples);
    std::fill_n(cotangents, classes_ * seeds * examples, 0.0F);
    for (std::int64_t s = 0; s < seeds; ++s) {
      for (std::int64_t b = 0; b < examples; ++b) {
        const auto at = [&](std::int64_t c) -> float& { return cotangents[(c * seeds + s) * examples + b]; };
        if (all.targets.empty()) {
          at(first + s) = 1;
        } else {
          at(all.targets[b]) = 1;
          at(all.rival(b, first + s)) = -1;
        }
      }
    }
    return cotangents;
  }

  DeviceFacts facts_;
  Compile compile_ = nullptr;
  std::optional<Graph> graph_;
  std::int64_t elements_ = 0, classes_ = 0;
  HostMemory memory_;
  Progress* progress_ = nullptr;
  std::unique_ptr<Program> forward_, gradient_, smoothed_, moments_;
  std::optional<HostFirstLayer> first_layer_;  // set if sweeps for sums end at the first layer
  bool sought_first_layer_ = false;
  std::vector<HostWorker> workers_;
};

}  // namespace

std::unique_ptr<BatchDevice> make_host_device(std::string_view name, Compile compile, const Graph& classifier,
                                              const ExecutorOptions& options) {
  return std::make_unique<HostDevice>(name, compile, classifier, options);
}

std::unique_ptr<BatchDevice> make_forward_device(std::string_view name, std::unique_ptr<Program> forward,
                                                 std::unique_ptr<Program> gradient, const Shape& point, std::int64_t classes,
                                                 const ExecutorOptions& options) {
  return std::make_unique<HostDevice>(name, std::move(forward), std::move(gradient), point, classes, options);
}

}  // namespace probust
