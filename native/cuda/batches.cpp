// SPDX-License-Identifier: MIT
#include "cuda/batches.h"

#include <algorithm>

#include "probust/ops/op.h"
#include "probust/passes/gradient_graphs.h"

namespace probust::cuda {
namespace {

// The numbers of lanes of a run: the usual one, which keeps any device busy with networks of realistic size, and the largest,
// for small networks.
constexpr std::int64_t kUsualLanes = 4096, kMostLanes = 65536;
constexpr std::int64_t kSweepValues = 4;  // for each lane of a sweep, the number of values that are as large as a point

[[noreturn]] void too_little_memory(std::int64_t needed) {
  throw Error{ErrorCode::resources, option("memory"),
              "is too small: one example needs " + std::to_string((needed >> 10) + 1) + "K",
              "give at least " + std::to_string((needed >> 10) + 1) + "K"};
}

std::string several(const std::vector<std::string>& convolutions) {
  std::string text = "convolution " + convolutions[0];
  if (convolutions.size() > 1) text += " and " + std::to_string(convolutions.size() - 1) + " more";
  return text;
}

// The number of lanes that keeps a device busy: a power of two, so that it can be halved.
std::int64_t lanes_to_fill(const Device& device, const Graph& graph) {
  const double wanted = device.busy_flops() / std::max(1.0, flops(graph));
  std::int64_t lanes = kUsualLanes;
  while (lanes < kMostLanes && static_cast<double>(lanes) < wanted) lanes *= 2;
  return lanes;
}

}  // namespace

std::int64_t Buffers::bytes() const {
  std::int64_t elements = 0;
  for (const Array<float>* held :
       {&arena, &inputs[0], &inputs[1], &variances, &cotangents, &kept[0], &kept[1], &repeated_logits, &repeated_gradients})
    elements += held->size();
  return elements * kFloatBytes + products.size() * kDoubleBytes;
}

Batches::Batches(Device& device, const Graph& classifier, const ExecutorOptions& options, Warn warn)
    : device_(device),
      graph_(classifier),
      options_(options),
      warn_(std::move(warn)),
      elements_(element_count(classifier[classifier.inputs()[0]].shape)),
      classes_(classifier[classifier.outputs[0]].shape[0]),
      most_lanes_(lanes_to_fill(device, classifier)),
      forward_(compile(classifier)),
      forward_batch_(fit_forward()) {}

Sweep Batches::prepare(LinearizeAt at, std::int64_t rows) {
  auto& program = at == LinearizeAt::input ? gradient_ : smoothed_;
  if (!program) program = compile(at == LinearizeAt::input ? gradient_graph(graph_) : smoothed_gradient_graph(graph_));
  const auto known = gradient_batches_.find({at, rows});
  if (known != gradient_batches_.end()) return {at, known->second};
  const Batch batch = fit_gradient(*program, rows);
  gradient_batches_[{at, rows}] = batch;
  return {at, batch};
}

Batch Batches::prepare_moments() {
  if (!moments_) {
    moments_ = compile(moment_graph(graph_, Extent::example));
    moment_batch_ = fit_gradient(*moments_, 1);
  }
  return moment_batch_;
}

std::unique_ptr<DeviceProgram> Batches::compile(const Graph& graph) const {
  // Checked before compiling, because tables have as many entries as values have elements, and a small file may declare values
  // that are too large for any machine.
  for (const Node& node : graph.nodes) {
    const std::int64_t bytes = element_count(node.shape) * kFloatBytes;
    if (node.op != Op::constant && bytes > options_.memory) too_little_memory(bytes);
  }
  auto program = std::make_unique<DeviceProgram>(device_, graph, warn_);
  for (const std::string& op : program->on_the_host())
    warn_("operator " + op + " has no kernel for this device and runs on the CPU");
  for (const auto& [reason, nodes] : program->slow())
    warn_("a slower kernel of probust computes " + several(nodes) + ": " + reason);
  for (const auto& [reason, nodes] : program->unfused())
    warn_("a separate kernel adds the bias, residual and ReLU of " + several(nodes) + ": " + reason);
  return program;
}

std::vector<float> Batches::exact_logits(const float* points, std::int64_t most_lanes) {
  struct Exactly {
    explicit Exactly(Device& of) : device(of), usual(of.precision()) { device.set_precision(Precision::float32); }
    ~Exactly() { device.set_precision(usual); }
    Device& device;
    Precision usual;
  } const exactly(device_);
  const DeviceProgram program(device_, graph_);
  std::int64_t lanes = most_lanes;
  while (lanes > 0 && program.workspace_bytes({lanes, 1}) > buffers.arena.size() * kFloatBytes) lanes /= 2;
  if (lanes == 0) return {};
  const DeviceProgram::Value value = program.run({lanes, 1}, std::span(&points, 1), buffers.arena)[0];
  std::vector<float> own(static_cast<std::size_t>(value.lanes * classes_)), all;
  device_.download(own.data(), value.data, value.lanes * classes_ * kFloatBytes);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {  // the logits of a constant network have only one lane
    const auto first = own.begin() + lane % value.lanes * classes_;
    all.insert(all.end(), first, first + classes_);
  }
  return all;
}

// Allocates everything needed to run a batch. If the device has too little free memory, releases everything and returns false.
bool Batches::reserve(std::int64_t workspace, const Batch& batch, std::int64_t rows) {
  const std::int64_t lanes = batch.examples * batch.seeds;
  const std::int64_t copies = rows == 0 ? batch.examples : forward_batch_.examples;
  try {
    buffers.arena.grown(device_, workspace / kFloatBytes);
    for (Array<float>& each : buffers.inputs) each.grown(device_, std::max(copies, batch.examples) * elements_);
    if (rows == 0) return true;
    buffers.cotangents.grown(device_, lanes * classes_);
    for (Array<float>& held : buffers.kept) held.grown(device_, batch.examples * rows * elements_);
    buffers.products.grown(device_, batch.examples * rows * rows);
    return true;
  } catch (const Error& error) {
    if (error.code != ErrorCode::resources) throw;
    for (Array<float>* held :
         {&buffers.arena, &buffers.inputs[0], &buffers.inputs[1], &buffers.cotangents, &buffers.kept[0], &buffers.kept[1]})
      *held = {};
    buffers.products = {};
    return false;
  }
}

// Chooses the batch for forwards. Leaves memory for the gradients of a sweep, too: a sweep reuses the memory of forwards, and
// needs a few more values that are as large as a point.
Batch Batches::fit_forward() {
  Batch batch{options_.batch > 0 ? options_.batch : most_lanes_, 1};
  const auto bytes = [&] {
    return forward_->workspace_bytes(batch) +
           ((Buffers::kInputs + kSweepValues) * elements_ + classes_) * batch.examples * kFloatBytes;
  };
  while (bytes() > options_.memory || !reserve(forward_->workspace_bytes(batch), batch, 0)) {
    if (batch.examples == 1) too_little_memory(bytes());
    batch.examples /= 2;
  }
  return batch;
}

Batch Batches::fit_gradient(const DeviceProgram& program, std::int64_t rows) {
  const std::int64_t seeds = std::max<std::int64_t>(1, rows);
  Batch batch{options_.batch > 0 ? options_.batch : std::max<std::int64_t>(1, most_lanes_ / seeds), seeds};
  // Forwards run between sweeps and use the same arena.
  const auto workspace = [&] { return std::max(program.workspace_bytes(batch), forward_->workspace_bytes(forward_batch_)); };
  const auto bytes = [&] {
    const std::int64_t lanes = batch.examples * batch.seeds;
    const std::int64_t inputs = Buffers::kInputs * std::max(batch.examples, forward_batch_.examples);
    return workspace() + (elements_ * inputs + (elements_ + classes_) * lanes) * kFloatBytes +
           (2 * elements_ * kFloatBytes + 8 * seeds) * batch.examples * seeds;
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

}  // namespace probust::cuda
