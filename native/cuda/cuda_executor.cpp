// SPDX-License-Identifier: MIT
// An Executor on a GPU. Points are uploaded once; noise, copies, counts of the largest logits, gradients and their Gram matrices
// are computed there; counts, logits and matrices come back. As on the host, results do not depend on the division into chunks,
// except through the algorithms that the libraries choose for a chunk's size.
#include "cuda/cuda_executor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "cuda/kernels.h"
#include "cuda/multi_gpu.h"
#include "cuda/normal.h"
#include "cuda/program.h"
#include "probust/autodiff/vjp.h"
#include "probust/base/transpose.h"
#include "probust/exec/checks.h"
#include "probust/exec/gradient_graphs.h"
#include "probust/passes/simplify.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kMostLanes = 4096;                   // per run: enough to fill any device
constexpr std::int64_t kHostBytes = std::int64_t{2} << 30;  // limit on results that callers may hold at once
constexpr std::int64_t kInputs = 2;                         // buffers of copies
constexpr std::int64_t kSweepValues = 4;                    // as many as a point has, for each lane of a sweep
constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

// Points of a call, on the device.
struct PlacedPoints {
  Array<float> x;              // [points][elements]
  Array<std::uint32_t> index;  // [points]
};

// A noise model at a scale: drawn on the device, or on the host if its elements depend on each other.
struct PlacedNoise {
  std::optional<ElementNoise> by_element;
  Array<float> deviations;
};

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(const Graph& classifier, const ExecutorOptions& options, const CudaOptions& cuda)
      : name_("cuda:" + std::to_string(cuda.ordinal)),
        options_(options),
        warn_(cuda.warn),
        reported_(cuda.progress == nullptr ? &progress : cuda.progress),
        precision_(cuda.precision),
        device_(cuda.ordinal, cuda.precision),
        graph_(simplify(classifier)) {
    check_classifier(graph_);
    point_shape_ = graph_[graph_.inputs()[0]].shape;
    elements_ = element_count(point_shape_);
    classes_ = graph_[graph_.outputs[0]].shape[0];
    options_.threads = std::max(1, options_.threads);
    options_.memory = std::min(options_.memory, device_.free_bytes() / 10 * 9);
    host_options_ = options_;
    host_options_.memory = std::min(options_.memory, kHostBytes);
    forward_ = compile(graph_);
    forward_batch_ = fit_forward();
  }

  std::string_view name() const override { return name_; }
  std::int64_t classes() const override { return classes_; }
  const Shape& point_shape() const override { return point_shape_; }
  bool piecewise_constant() override {
    if (!piecewise_constant_) piecewise_constant_ = is_piecewise_constant(graph_);
    return *piecewise_constant_;
  }
  Batch forward_batch() const override { return forward_batch_; }
  Batch gradient_batch() const override { return gradient_batch_; }
  /// Callers plan with host memory.
  const ExecutorOptions& options() const override { return host_options_; }

  Result<Tensor> logits(const Tensor& x) override {
    return on_device([&] {
      const std::int64_t n = checked_rows(*this, x);
      Tensor result = logits_of(x, n);
      if (precision_ != Precision::float32 && !error_told_ && n > 0) tell_error(x, result);
      return result;
    });
  }

  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return on_device([&] {
      const std::int64_t n = checked_rows(*this, x);
      const Sweep which = prepared(classes_);
      const Array<float> points(device_, x.data);
      std::vector<float> rows(static_cast<std::size_t>(classes_ * elements_));
      for (std::int64_t i = 0; i < n; ++i) {
        sweep(
            which, points.data() + i * elements_, nullptr, 1, classes_,
            [&](std::int64_t first, std::int64_t seeds, float* cotangents) {
              std::vector<float> units(static_cast<std::size_t>(seeds * classes_), 0.0F);
              for (std::int64_t s = 0; s < seeds; ++s) units[s * classes_ + first + s] = 1;
              device_.upload(cotangents, units.data(), seeds * classes_ * kFloat);
            },
            [&](std::int64_t first, std::int64_t seeds, float* gradients) {
              device_.download(rows.data() + first * elements_, gradients, seeds * elements_ * kFloat);
            });
        take(i, rows);
      }
      return std::monostate{};
    });
  }

  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return on_device([&] {
      check(*this, points, shape);
      return linearized(points, shape, prepared(classes_ - 1));
    });
  }

  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return on_device([&] {
      check(*this, points, *noise.shape);
      return linearized(points, *noise.shape, prepared(classes_ - 1, Around::noise, &noise));
    });
  }

  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return on_device([&] {
      check(*this, points, *noise.shape);
      const Sweep which = prepared(classes_ - 1);
      std::vector<Linearization> result;
      result.reserve(static_cast<std::size_t>(points.size()));
      const std::int64_t together = std::max<std::int64_t>(1, which.batch.examples / std::max<std::int64_t>(1, samples));
      for_chunks(points.size(), together, [&](std::int64_t first, std::int64_t count) {
        for (Linearization& one : averaged(slice(points, first, count), noise, samples, which)) result.push_back(std::move(one));
      });
      return result;
    });
  }

  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first_sample) override {
    return on_device([&] {
      check(*this, points, *noise.shape);
      const std::int64_t n = points.size();
      const PlacedPoints placed = place(points);
      const PlacedNoise drawn = place(*noise.shape);
      const Array<std::uint32_t> counters(device_, n * classes_);
      device_.clear(counters.data(), n * classes_ * static_cast<std::int64_t>(sizeof(std::uint32_t)));
      const auto copies_at = [&](std::int64_t begin, std::int64_t lanes) {
        return copies_of(placed, 0, first_sample, samples, begin, lanes);
      };
      const auto draw_copies = [&](const Copies& copies, float* to) { draw(copies, points, noise, drawn, 1, to); };
      for_drawn_chunks(n * samples, copies_at, draw_copies, [&](const Copies& copies, float* input, const auto& meanwhile) {
        count_winners(device_, run_forward(input, copies.lanes), classes_, copies, counters.data());
        meanwhile();
        device_.wait();  // so that progress counts finished work, and a stop request takes effect soon
      });
      std::vector<std::uint32_t> counted(static_cast<std::size_t>(n * classes_));
      device_.download(counted.data(), counters.data(), static_cast<std::int64_t>(counted.size() * sizeof(std::uint32_t)));
      std::vector<std::vector<std::int64_t>> counts;
      counts.reserve(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i)
        counts.emplace_back(counted.begin() + i * classes_, counted.begin() + (i + 1) * classes_);
      return counts;
    });
  }

  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    return on_device([&] {
      check(*this, points, *noise.shape);
      const PlacedPoints placed = place(points);
      const PlacedNoise drawn = place(*noise.shape);
      std::vector<Pairs> result(static_cast<std::size_t>(points.size()), pairs_of(count));
      const auto copies_at = [&](std::int64_t begin, std::int64_t lanes) {
        return copies_of(placed, 0, first, count, begin, lanes);
      };
      const auto draw_copies = [&](const Copies& copies, float* to) { draw_first_copies(copies, points, noise, drawn, to); };
      for_drawn_chunks(
          points.size() * count, copies_at, draw_copies, [&](const Copies& copies, float* input, const auto& meanwhile) {
            run_pairs(copies, points, noise, drawn, input, meanwhile, [&](std::int64_t i) -> Pairs& { return result[i]; });
          });
      return result;
    });
  }

  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    return on_device([&] {
      check(*this, points, *noise.shape);
      if (points.size() == 0) return std::vector<Projection>{};
      const auto rows = static_cast<std::int64_t>(rivals[0].size());
      const Sweep which = prepared(rows, around, &noise);
      std::vector<Projection> result(static_cast<std::size_t>(points.size()));
      for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t examples) {
        const auto chosen = std::span(rivals).subspan(first, examples);
        project_chunk(slice(points, first, examples), chosen, noise, {count, known}, which,
                      std::span(result).subspan(first, examples));
      });
      return result;
    });
  }

  std::vector<normal::Probability> normal_probabilities(std::span<const normal::Problem> problems) override {
    device_.use();
    const std::int64_t bytes = std::min(options_.memory - held_bytes(), device_.free_bytes() / 10 * 9);
    return cuda::normal_probabilities(device_, problems, options_.threads, bytes);
  }

 private:
  // A public call, from any thread.
  template <class Body>
  auto on_device(const Body& body) -> Result<decltype(body())> {
    return guarded("model", [&] {
      device_.use();
      return body();
    });
  }

  // ---- logits

  Tensor logits_of(const Tensor& x, std::int64_t n) {
    Tensor result({n, classes_});
    for_chunks(n, forward_batch_.examples, [&](std::int64_t first, std::int64_t count) {
      float* input = inputs_[0].grown(device_, count * elements_);
      device_.upload(input, x.data.data() + first * elements_, count * elements_ * kFloat);
      const std::vector<float> rows = host_logits(run_forward(input, count), count);
      std::copy(rows.begin(), rows.end(), result.data.begin() + first * classes_);
    });
    return result;
  }

  // Reports the error of a lower precision, measured on the first points.
  void tell_error(const Tensor& x, const Tensor& logits) {
    error_told_ = true;
    const std::int64_t n = std::min<std::int64_t>(16, x.shape[0]);
    device_.set_precision(Precision::float32);
    const Tensor exact = logits_of(rows(x, 0, n), n);
    device_.set_precision(precision_);
    float largest = 0, worst = 0;
    for (std::size_t i = 0; i < exact.data.size(); ++i) {
      largest = std::max(largest, std::fabs(exact.data[i]));
      worst = std::max(worst, std::fabs(exact.data[i] - logits.data[i]));
    }
    std::ostringstream text;
    text << name_of(precision_) << " changes the logits of the first " << n << " points by up to " << worst << " (the largest is "
         << largest << ")";
    warn_(text.str());
  }

  // ---- programs and batch sizes

  struct Sweep {
    const DeviceProgram* program;
    Batch batch;
    const Noise* noise = nullptr;  // its variances are an input after x
  };

  std::unique_ptr<DeviceProgram> compile(const Graph& graph) {
    // Tables are as long as values, and a small file may declare values too large for any machine.
    for (const Node& node : graph.nodes) {
      const std::int64_t bytes = element_count(node.shape) * kFloat;
      if (node.op != Op::constant && bytes > options_.memory) too_little_memory(bytes);
    }
    auto program = std::make_unique<DeviceProgram>(device_, graph);
    for (const std::string& op : program->on_the_host())
      warn_("operator " + op + " has no kernel for this device and runs on the processor");
    return program;
  }

  Sweep prepared(std::int64_t rows, Around around = Around::point, const Noise* noise = nullptr) {
    auto& program = around == Around::point ? gradient_ : smoothed_;
    if (!program) program = compile(around == Around::point ? gradient_graph(graph_) : smoothed_gradient_graph(graph_));
    const auto known = gradient_batches_.find({program.get(), rows});
    gradient_batch_ = known != gradient_batches_.end() ? known->second : fit_gradient(*program, rows);
    gradient_batches_[{program.get(), rows}] = gradient_batch_;
    return {program.get(), gradient_batch_, around == Around::point ? nullptr : noise};
  }

  [[noreturn]] void too_little_memory(std::int64_t needed) const {
    throw Error{ErrorCode::resources, option("memory"),
                "one example takes " + std::to_string((needed >> 10) + 1) + "K, which is more than the given memory",
                "give at least " + std::to_string((needed >> 10) + 1) + "K"};
  }

  // Allocates everything that runs of a batch need. False, with nothing held, if the device has too little memory at the moment.
  bool reserve(std::int64_t workspace, const Batch& batch, std::int64_t rows) {
    const std::int64_t lanes = batch.examples * batch.seeds;
    const std::int64_t copies = rows == 0 ? batch.examples : forward_batch_.examples;
    try {
      arena_.grown(device_, workspace / kFloat);
      inputs_[0].grown(device_, std::max(copies, batch.examples) * elements_);
      inputs_[1].grown(device_, copies * elements_);
      if (rows == 0) return true;
      cotangents_.grown(device_, lanes * classes_);
      for (Array<float>* held : {&rows_, &whitened_}) held->grown(device_, batch.examples * rows * elements_);
      sums_.grown(device_, batch.examples * rows * rows);
      return true;
    } catch (const Error& error) {
      if (error.code != ErrorCode::resources) throw;
      for (Array<float>* held : {&arena_, &inputs_[0], &inputs_[1], &cotangents_, &rows_, &whitened_}) *held = {};
      sums_ = {};
      return false;
    }
  }

  std::int64_t held_bytes() const {
    std::int64_t elements = 0;
    for (const Array<float>* held : {&arena_, &inputs_[0], &inputs_[1], &variances_, &cotangents_, &rows_, &whitened_,
                                     &repeated_logits_, &repeated_gradients_})
      elements += held->size();
    return elements * kFloat + (sums_.size() + gradient_sums_.size()) * static_cast<std::int64_t>(sizeof(double));
  }

  // Leaves room for the gradients of a sweep, which reuses the memory of forwards and needs a few more values of a point's size.
  Batch fit_forward() {
    Batch batch{options_.batch > 0 ? options_.batch : kMostLanes, 1};
    const auto bytes = [&] {
      return forward_->workspace_bytes(batch) + ((kInputs + kSweepValues) * elements_ + classes_) * batch.examples * kFloat;
    };
    while (bytes() > options_.memory || !reserve(forward_->workspace_bytes(batch), batch, 0)) {
      if (batch.examples == 1) too_little_memory(bytes());
      batch.examples /= 2;
    }
    return batch;
  }

  Batch fit_gradient(const DeviceProgram& program, std::int64_t rows) {
    const std::int64_t seeds = std::max<std::int64_t>(1, rows);
    Batch batch{options_.batch > 0 ? options_.batch : std::max<std::int64_t>(1, kMostLanes / seeds), seeds};
    // Forwards run between sweeps, in the same arena.
    const auto workspace = [&] { return std::max(program.workspace_bytes(batch), forward_->workspace_bytes(forward_batch_)); };
    const auto bytes = [&] {
      const std::int64_t lanes = batch.examples * batch.seeds;
      const std::int64_t inputs = std::max(batch.examples, forward_batch_.examples) + forward_batch_.examples;
      return workspace() + (elements_ * inputs + (elements_ + classes_) * lanes) * kFloat +
             (2 * elements_ * kFloat + 8 * seeds) * batch.examples * seeds;
    };
    while (bytes() > options_.memory || !reserve(workspace(), batch, seeds)) {
      if (batch.examples > 1) {
        batch.examples /= 2;
      } else if (batch.seeds > 1) {
        batch.seeds = (batch.seeds + 1) / 2;
      } else {
        too_little_memory(bytes());
      }
    }
    return batch;
  }

  // ---- points and noise

  PlacedPoints place(const Points& points) {
    const std::vector<std::uint32_t> index(points.index.begin(), points.index.end());
    return {Array<float>(device_, points.x.data), Array<std::uint32_t>(device_, index)};
  }

  PlacedNoise place(const NoiseShape& shape) {
    PlacedNoise placed{shape.by_element(), {}};
    if (placed.by_element && !placed.by_element->deviations.empty())
      placed.deviations = Array<float>(device_, placed.by_element->deviations);
    return placed;
  }

  // Lanes `begin` onwards of the copies first .. first + count - 1 of every point from `point` on.
  Copies copies_of(const PlacedPoints& placed, std::int64_t point, std::int64_t first, std::int64_t count, std::int64_t begin,
                   std::int64_t lanes) const {
    Copies copies;
    copies.x = placed.x.data() + point * elements_;
    copies.index = placed.index.data() + point;
    copies.elements = elements_;
    copies.first = first;
    copies.count = count;
    copies.begin = begin;
    copies.lanes = lanes;
    return copies;
  }

  // Writes noisy copies [lanes][elements], with the noise at `sign` times its scale. `copies` index into `points`.
  void draw(const Copies& copies, const Points& points, const Noise& noise, const PlacedNoise& drawn, int sign, float* to) {
    const auto scale = static_cast<float>(sign * noise.scale);
    if (!drawn.by_element) return draw_on_the_host(copies, points, *noise.shape, scale, to);
    DeviceNoise recipe;
    recipe.draw = drawn.by_element->draw;
    recipe.deviations = drawn.deviations.data();
    recipe.varies = drawn.by_element->varies;
    recipe.clips = drawn.by_element->range.has_value();
    if (recipe.clips) recipe.clip = ClipMath(*drawn.by_element->range);
    recipe.scale = scale;
    recipe.seed = points.seed;
    cuda::draw(device_, copies, recipe, to);
  }

  void draw_on_the_host(const Copies& copies, const Points& points, const NoiseShape& shape, float scale, float* to) {
    const std::int64_t lanes = copies.lanes;
    std::vector<std::uint32_t> index(static_cast<std::size_t>(lanes)), sample(index.size());
    std::vector<float> by_element(static_cast<std::size_t>(lanes * elements_)), by_lane(by_element.size());
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t point = copies.point(lane);
      index[lane] = static_cast<std::uint32_t>(points.index[point]);
      sample[lane] = copies.sample(lane);
      for (std::int64_t e = 0; e < elements_; ++e) by_element[e * lanes + lane] = points.x.data[point * elements_ + e];
    }
    shape.add({points.seed, index, sample}, elements_, scale, by_element.data());
    transpose(by_element.data(), elements_, lanes, by_lane.data());
    device_.upload(to, by_lane.data(), lanes * elements_ * kFloat);
  }

  // The variances of the noise at the points `index`: [points][elements].
  const float* place_variances(const Noise& noise, std::span<const std::int64_t> index) {
    const auto count = static_cast<std::int64_t>(index.size());
    const std::vector<std::uint32_t> points(index.begin(), index.end());
    std::vector<float> by_element(static_cast<std::size_t>(count * elements_), static_cast<float>(noise.scale * noise.scale)),
        by_lane(by_element.size());
    noise.shape->variances(points, elements_, by_element.data());
    transpose(by_element.data(), elements_, count, by_lane.data());
    float* to = variances_.grown(device_, count * elements_);
    device_.upload(to, by_lane.data(), count * elements_ * kFloat);
    return to;
  }

  // Whitens gradients [seeds * examples][elements] by the noise at the examples' points.
  void whiten(const PlacedNoise& drawn, const NoiseShape& shape, const std::uint32_t* placed_index,
              std::span<const std::int64_t> index, std::int64_t seeds, float* gradients) {
    const auto examples = static_cast<std::int64_t>(index.size());
    const Output out{gradients, elements_, seeds * examples};
    if (drawn.by_element)
      return scale_by_deviation(device_, *drawn.by_element, drawn.deviations.data(), placed_index, examples, out);
    std::vector<float> by_lane(static_cast<std::size_t>(out.lanes * elements_)), by_element(by_lane.size());
    device_.download(by_lane.data(), gradients, out.lanes * elements_ * kFloat);
    transpose(by_lane.data(), out.lanes, elements_, by_element.data());
    std::vector<std::uint32_t> points;
    points.reserve(static_cast<std::size_t>(out.lanes));
    for (std::int64_t s = 0; s < seeds; ++s) points.insert(points.end(), index.begin(), index.end());
    shape.whiten(points, elements_, by_element.data());
    transpose(by_element.data(), elements_, out.lanes, by_lane.data());
    device_.upload(gradients, by_lane.data(), out.lanes * elements_ * kFloat);
  }

  // ---- runs

  void for_chunks(std::int64_t total, std::int64_t step, const std::function<void(std::int64_t, std::int64_t)>& body) {
    for (std::int64_t first = 0; first < total; first += step) {
      stop_if_asked();
      body(first, std::min(step, total - first));
    }
  }

  // Runs chunks of copies; while one runs, the noise of the next is drawn on the side stream into the other input buffer.
  // copies_at(begin, lanes) gives their numbers; draw_copies(copies, to) draws them; body(copies, input, meanwhile) calls
  // meanwhile() once the device is busy with them, because drawing may take host time, and then waits until the device is done
  // with the input.
  template <class CopiesAt, class Draw, class Body>
  void for_drawn_chunks(std::int64_t total, const CopiesAt& copies_at, const Draw& draw_copies, const Body& body) {
    const std::int64_t step = forward_batch_.examples;
    for (Array<float>& input : inputs_) input.grown(device_, std::min(step, total) * elements_);
    std::array<Event, kInputs> drawn;
    const auto prepare = [&](std::int64_t begin) {
      if (begin >= total) return;
      const auto k = static_cast<std::size_t>(begin / step % kInputs);
      device_.beside([&] {
        draw_copies(copies_at(begin, std::min(step, total - begin)), inputs_[k].data());
        drawn[k] = device_.mark();
      });
    };
    prepare(0);
    for_chunks(total, step, [&](std::int64_t begin, std::int64_t lanes) {
      const auto k = static_cast<std::size_t>(begin / step % kInputs);
      device_.await(drawn[k]);
      body(copies_at(begin, lanes), inputs_[k].data(), [&] { prepare(begin + step); });
    });
  }

  void stop_if_asked() const {
    if (reported_->stop.load(std::memory_order_relaxed)) throw interruption();
  }

  // A value expanded to `lanes`, one per example or per seed and example.
  float* full(const DeviceProgram::Value& value, std::int64_t elements, std::int64_t lanes, Array<float>& buffer) {
    if (value.lanes == lanes) return const_cast<float*>(value.data);  // in the arena, which we own
    float* to = buffer.grown(device_, elements * lanes);
    repeat(device_, {value.data, elements, value.lanes}, {to, elements, lanes});
    return to;
  }

  // Logits [lanes][classes] of the copies in an input buffer, on the device.
  const float* run_forward(const float* input, std::int64_t lanes) {
    const DeviceProgram::Value value = forward_->run({lanes, 1}, std::span(&input, 1), arena_)[0];
    reported_->passes += lanes;
    return full(value, classes_, lanes, repeated_logits_);
  }

  std::vector<float> host_logits(const float* logits, std::int64_t lanes) {
    std::vector<float> rows(static_cast<std::size_t>(lanes * classes_));
    device_.download(rows.data(), logits, lanes * classes_ * kFloat);
    return rows;
  }

  // Runs the forward and the backward sweep at x [count][elements], for `rows` seeds in groups that fit the memory: seed(first,
  // seeds, cotangents [seeds * count][classes]) fills them; take(first, seeds, gradients [seeds * count][elements]) reads them,
  // all on the device. Returns the logits.
  template <class Seed, class Take>
  std::vector<float> sweep(const Sweep& which, const float* x, const float* variances, std::int64_t count, std::int64_t rows,
                           Seed seed, Take take) {
    std::vector<float> logits;
    for (std::int64_t first = 0; first < rows; first += which.batch.seeds) {
      stop_if_asked();
      const std::int64_t seeds = std::min(which.batch.seeds, rows - first), lanes = seeds * count;
      float* cotangents = cotangents_.grown(device_, lanes * classes_);
      seed(first, seeds, cotangents);
      std::vector<const float*> inputs{x};
      if (variances != nullptr) inputs.push_back(variances);
      inputs.push_back(cotangents);
      const std::vector<DeviceProgram::Value> values = which.program->run({count, seeds}, inputs, arena_);
      if (first == 0) logits = host_logits(full(values[0], classes_, count, repeated_logits_), count);
      take(first, seeds, full(values[1], elements_, lanes, repeated_gradients_));
      reported_->passes += lanes + (first == 0 ? count : 0);
    }
    if (rows == 0) {
      logits = host_logits(run_forward(x, count), count);
    }
    return logits;
  }

  // The seeds of margins: [examples][rows] rivals of each example's target.
  struct PlacedMargins {
    Array<std::int32_t> targets, rivals;
    std::int64_t rows;
  };

  PlacedMargins place_margins(std::span<const std::int64_t> targets, std::span<const std::vector<std::int64_t>> rivals) {
    const std::vector<std::int32_t> own(targets.begin(), targets.end());
    std::vector<std::int32_t> all;
    for (const auto& some : rivals) all.insert(all.end(), some.begin(), some.end());
    return {Array<std::int32_t>(device_, own), Array<std::int32_t>(device_, all),
            rivals.empty() ? 0 : static_cast<std::int64_t>(rivals[0].size())};
  }

  std::vector<std::vector<std::int64_t>> all_rivals(std::span<const std::int64_t> targets) const {
    std::vector<std::vector<std::int64_t>> rivals(targets.size());
    for (std::size_t b = 0; b < targets.size(); ++b) {
      for (std::int64_t c = 0; c < classes_; ++c) {
        if (c != targets[b]) rivals[b].push_back(c);
      }
    }
    return rivals;
  }

  auto margin_seeds(const PlacedMargins& margins, std::int64_t examples) {
    return [this, &margins, examples](std::int64_t first, std::int64_t seeds, float* cotangents) {
      seed_margins(device_, margins.targets.data(), margins.rivals.data(), margins.rows, first, seeds, examples, classes_,
                   cotangents);
    };
  }

  std::vector<Eigen::MatrixXd> grams(const float* rows, std::int64_t examples, std::int64_t n) {
    double* on_device = sums_.grown(device_, examples * n * n);
    gram(device_, rows, examples, n, elements_, on_device);
    std::vector<Eigen::MatrixXd> result(static_cast<std::size_t>(examples), Eigen::MatrixXd(n, n));
    for (std::int64_t b = 0; b < examples; ++b)
      device_.download(result[b].data(), on_device + b * n * n, n * n * static_cast<std::int64_t>(sizeof(double)));
    return result;
  }

  Eigen::VectorXd margins_at(const std::vector<float>& logits, std::int64_t lane, std::int64_t target) const {
    return margins_of(std::span(logits).subspan(lane * classes_, classes_), target);
  }

  std::vector<Linearization> linearized(const Points& points, const NoiseShape& shape, const Sweep& which) {
    std::vector<Linearization> result;
    const PlacedPoints placed = place(points);
    const PlacedNoise drawn = place(shape);
    const std::int64_t n = classes_ - 1;
    for_chunks(points.size(), which.batch.examples, [&](std::int64_t first, std::int64_t count) {
      const auto targets = std::span(points.target).subspan(first, count);
      const auto index = std::span(points.index).subspan(first, count);
      const PlacedMargins margins = place_margins(targets, all_rivals(targets));
      const float* variances = which.noise == nullptr ? nullptr : place_variances(*which.noise, index);
      float* rows = rows_.grown(device_, count * n * elements_);
      const std::vector<float> logits =
          sweep(which, placed.x.data() + first * elements_, variances, count, n, margin_seeds(margins, count),
                [&](std::int64_t row, std::int64_t seeds, float* gradients) {
                  whiten(drawn, shape, placed.index.data() + first, index, seeds, gradients);
                  store_rows(device_, gradients, seeds, count, elements_, row, n, rows);
                });
      std::vector<Eigen::MatrixXd> gram = grams(rows, count, n);
      for (std::int64_t b = 0; b < count; ++b) {
        Linearization& out = result.emplace_back();
        out.margins = margins_at(logits, b, targets[b]);
        out.gram = std::move(gram[b]);
      }
    });
    return result;
  }

  // ---- pairs

  Pairs pairs_of(std::int64_t count) const {
    return {Eigen::MatrixXd(classes_ - 1, count), Eigen::MatrixXd(classes_ - 1, count)};
  }

  // The first copies of pairs. If the noise cannot be mirrored, each pair takes two samples.
  void draw_first_copies(Copies copies, const Points& points, const Noise& noise, const PlacedNoise& drawn, float* to) {
    copies.stride = noise.shape->mirrored() ? 1 : 2;
    draw(copies, points, noise, drawn, 1, to);
  }

  // The second copies overwrite the first: reflected if that gives what the noise would draw.
  void draw_second_copies(Copies copies, const Points& points, const Noise& noise, const PlacedNoise& drawn, float* to) {
    if (noise.shape->additive()) return reflect(device_, copies, to);
    const bool mirrored = noise.shape->mirrored();
    copies.stride = mirrored ? 1 : 2;
    copies.offset = mirrored ? 0 : 1;
    draw(copies, points, noise, drawn, mirrored ? -1 : 1, to);
  }

  // Margins of pairs whose first copies are in an input buffer: `matrices` gives a point's destination, one column per copy.
  // Calls meanwhile() when the device is busy with them.
  template <class Meanwhile, class Matrices>
  void run_pairs(const Copies& copies, const Points& points, const Noise& noise, const PlacedNoise& drawn, float* input,
                 const Meanwhile& meanwhile, Matrices matrices) {
    const auto store = [&](Eigen::MatrixXd Pairs::*side, const float* on_device) {
      const std::vector<float> logits = host_logits(on_device, copies.lanes);
      for (std::int64_t lane = 0; lane < copies.lanes; ++lane) {
        const std::int64_t i = copies.point(lane);
        store_margins(logits.data() + lane * classes_, 1, points.target[i],
                      (matrices(i).*side).col((copies.begin + lane) % copies.count));
      }
    };
    const float* first = run_forward(input, copies.lanes);
    meanwhile();
    store(&Pairs::plus, first);
    draw_second_copies(copies, points, noise, drawn, input);
    store(&Pairs::minus, run_forward(input, copies.lanes));
  }

  // The pairs of a projection, and how many of them the caller already has.
  struct Asked {
    std::int64_t pairs, known;
  };

  void project_chunk(const Points& points, std::span<const std::vector<std::int64_t>> rivals, const Noise& noise, Asked asked,
                     const Sweep& which, std::span<Projection> result) {
    const std::int64_t count = points.size();
    const PlacedPoints placed = place(points);
    const PlacedNoise drawn = place(*noise.shape);
    const PlacedMargins margins = place_margins(points.target, rivals);
    const std::int64_t n = margins.rows;
    const float* variances = which.noise == nullptr ? nullptr : place_variances(noise, points.index);
    float *rows = rows_.grown(device_, count * n * elements_), *whitened = whitened_.grown(device_, count * n * elements_);
    const std::vector<float> logits = sweep(which, placed.x.data(), variances, count, n, margin_seeds(margins, count),
                                            [&](std::int64_t row, std::int64_t seeds, float* gradients) {
                                              store_rows(device_, gradients, seeds, count, elements_, row, n, rows);
                                              whiten(drawn, *noise.shape, placed.index.data(), points.index, seeds, gradients);
                                              store_rows(device_, gradients, seeds, count, elements_, row, n, whitened);
                                            });
    std::vector<Eigen::MatrixXd> gram = grams(whitened, count, n);
    for (std::int64_t b = 0; b < count; ++b) {
      result[b].margins = margins_at(logits, b, points.target[b]);
      result[b].gram = std::move(gram[b]);
      result[b].along = Eigen::MatrixXd::Zero(n, asked.pairs);
      result[b].pairs = pairs_of(asked.pairs - asked.known);
    }
    const auto project_pairs = [&](std::int64_t first, std::int64_t of_each, bool run) {
      const auto copies_at = [&](std::int64_t begin, std::int64_t lanes) {
        return copies_of(placed, 0, first, of_each, begin, lanes);
      };
      const auto draw_copies = [&](const Copies& copies, float* to) { draw_first_copies(copies, points, noise, drawn, to); };
      for_drawn_chunks(count * of_each, copies_at, draw_copies, [&](const Copies& copies, float* input, const auto& meanwhile) {
        const std::vector<double> products = along_rows(copies, rows, n, input);
        for (std::int64_t lane = 0; lane < copies.lanes; ++lane) {
          const std::int64_t copy = first + (copies.begin + lane) % of_each;
          for (std::int64_t a = 0; a < n; ++a) result[copies.point(lane)].along(a, copy) = products[lane * n + a];
        }
        if (!run) return meanwhile();
        run_pairs(copies, points, noise, drawn, input, meanwhile, [&](std::int64_t b) -> Pairs& { return result[b].pairs; });
      });
    };
    project_pairs(0, asked.known, false);
    project_pairs(asked.known, asked.pairs - asked.known, true);
  }

  std::vector<double> host_products(const double* products, std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    device_.download(values.data(), products, count * static_cast<std::int64_t>(sizeof(double)));
    return values;
  }

  // [lanes][n]: products of the noise of copies in an input buffer with the n rows of their points.
  std::vector<double> along_rows(const Copies& copies, const float* rows, std::int64_t n, const float* input) {
    double* products = sums_.grown(device_, copies.lanes * n);
    along(device_, copies, rows, n, input, products);
    return host_products(products, copies.lanes * n);
  }

  // Copies of all points are stored consecutively; gradients are summed per point, in the order of the copies.
  std::vector<Linearization> averaged(const Points& points, const Noise& noise, std::int64_t samples, const Sweep& which) {
    const std::int64_t n = classes_ - 1, count = points.size();
    const PlacedPoints placed = place(points);
    const PlacedNoise drawn = place(*noise.shape);
    std::vector<Linearization> result(static_cast<std::size_t>(count));
    for (Linearization& out : result) out.sampled = out.along_own = out.along_mean = Eigen::MatrixXd(n, samples);
    double* sums = gradient_sums_.grown(device_, count * n * elements_);
    device_.clear(sums, count * n * elements_ * static_cast<std::int64_t>(sizeof(double)));
    for_chunks(count * samples, which.batch.examples, [&](std::int64_t begin, std::int64_t lanes) {
      const Copies copies = copies_of(placed, 0, 0, samples, begin, lanes);
      float* input = inputs_[0].grown(device_, lanes * elements_);
      draw(copies, points, noise, drawn, 1, input);
      std::vector<std::int64_t> targets;
      targets.reserve(static_cast<std::size_t>(lanes));
      for (std::int64_t lane = 0; lane < lanes; ++lane) targets.push_back(points.target[copies.point(lane)]);
      const PlacedMargins margins = place_margins(targets, all_rivals(targets));
      double* own = sums_.grown(device_, lanes * n);
      const std::vector<float> logits = sweep(which, input, nullptr, lanes, n, margin_seeds(margins, lanes),
                                              [&](std::int64_t row, std::int64_t seeds, float* gradients) {
                                                add_gradients(device_, copies, gradients, seeds, row, n, count, sums);
                                                along_own(device_, copies, gradients, seeds, row, n, input, own);
                                              });
      const std::vector<double> products = host_products(own, lanes * n);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        Linearization& out = result[copies.point(lane)];
        const std::int64_t copy = (begin + lane) % samples;
        out.along_own.col(copy) = Eigen::Map<const Eigen::VectorXd>(products.data() + lane * n, n);
        out.sampled.col(copy) = margins_at(logits, lane, targets[lane]);
      }
    });
    float* means = rows_.grown(device_, count * n * elements_);
    average(device_, sums, samples, count * n * elements_, means);
    for_chunks(count * samples, which.batch.examples, [&](std::int64_t begin, std::int64_t lanes) {
      const Copies copies = copies_of(placed, 0, 0, samples, begin, lanes);
      float* input = inputs_[0].grown(device_, lanes * elements_);
      draw(copies, points, noise, drawn, 1, input);
      const std::vector<double> products = along_rows(copies, means, n, input);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        result[copies.point(lane)].along_mean.col((begin + lane) % samples) =
            Eigen::Map<const Eigen::VectorXd>(products.data() + lane * n, n);
      }
    });
    // Whitens each row as if it were a separate example.
    std::vector<std::int64_t> owner;
    owner.reserve(static_cast<std::size_t>(count * n));
    for (const std::int64_t index : points.index) owner.insert(owner.end(), static_cast<std::size_t>(n), index);
    const Array<std::uint32_t> placed_owner(device_, std::vector<std::uint32_t>(owner.begin(), owner.end()));
    whiten(drawn, *noise.shape, placed_owner.data(), owner, 1, means);
    std::vector<Eigen::MatrixXd> gram = grams(means, count, n);
    for (std::int64_t b = 0; b < count; ++b) {
      Linearization& out = result[b];
      out.margins = out.sampled.rowwise().mean();
      out.gram = std::move(gram[b]);
    }
    return result;
  }

  std::string name_;
  ExecutorOptions options_, host_options_;
  std::function<void(const std::string&)> warn_;
  Progress* reported_;
  Precision precision_;
  bool error_told_ = false;
  Device device_;
  Graph graph_;
  Shape point_shape_;
  std::int64_t elements_ = 0, classes_ = 0;
  std::optional<bool> piecewise_constant_;
  std::unique_ptr<DeviceProgram> forward_, gradient_, smoothed_;
  Batch forward_batch_, gradient_batch_;
  std::map<std::pair<const DeviceProgram*, std::int64_t>, Batch> gradient_batches_;  // by the number of rows of a sweep
  // Reused between calls.
  std::array<Array<float>, kInputs> inputs_;  // copies that run, and the next ones, which are drawn at the same time
  Array<float> arena_, variances_, cotangents_, rows_, whitened_, repeated_logits_, repeated_gradients_;
  Array<double> sums_, gradient_sums_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_cuda_executor(const Graph& classifier, const ExecutorOptions& options,
                                                     const CudaOptions& cuda) {
  return guarded("model", [&]() -> std::unique_ptr<Executor> {
    if (cuda.ordinal == CudaOptions::kAll) return make_multi_gpu_executor(classifier, options, cuda);
    return std::make_unique<CudaExecutor>(classifier, options, cuda);
  });
}

}  // namespace probust::cuda
