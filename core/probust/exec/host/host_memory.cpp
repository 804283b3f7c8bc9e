// SPDX-License-Identifier: MIT
#include "probust/exec/host/host_memory.h"

#include <algorithm>
#include <set>

namespace probust {
namespace {

constexpr std::int64_t kPreferredLanes = 960;  // enough for every kernel to run at full speed
constexpr std::int64_t kScratchBytes = std::int64_t{1} << 20;
constexpr std::int64_t kCacheBytes = std::int64_t{6} << 20;     // a workspace of this size stays in the cache
constexpr std::int64_t kProgramBytes = std::int64_t{14} << 20;  // memory for the program's code and tables
constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

struct WeightBytes {
  std::int64_t constants = 0, packed = 0;
};

// The sizes, in bytes, of the graph's constants and of their packed forms in the programs.
WeightBytes weight_bytes(const Graph& graph, std::span<const Program* const> programs) {
  std::set<const Tensor*> constants;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::constant) constants.insert(std::get<ConstantData>(node.attributes).tensor.get());
  }
  WeightBytes bytes;
  for (const Tensor* constant : constants) bytes.constants += constant->size() * kFloatBytes;
  std::set<PackedConstant> packed;
  for (const Program* program : programs) {
    if (program == nullptr) continue;
    for (const PackedConstant& form : program->packed()) packed.insert(form);
  }
  for (const PackedConstant& form : packed) bytes.packed += form.bytes;
  return bytes;
}

// The next smaller number of lanes to try: at most half as many, and a multiple of 48 (whole groups of any kernel) or, below
// that, of 16 (whole vectors) or 3.
std::int64_t fewer(std::int64_t lanes) {
  const std::int64_t half = lanes / 2, group = half >= 48 ? 48 : half >= 16 ? 16 : half >= 3 ? 3 : 1;
  return half / group * group;
}

// The next smaller number of seeds to try: about half as many, a multiple of 3 if there are enough.
std::int64_t fewer_seeds(std::int64_t seeds) {
  const std::int64_t half = (seeds + 1) / 2;
  return half > 3 ? std::min(seeds - 1, (half + 2) / 3 * 3) : half;
}

}  // namespace

HostMemory::HostMemory(const ExecutorOptions& options, std::int64_t elements, std::int64_t classes)
    : options_(options), given_(options.memory == 0 ? kProcessorMemory : options.memory), elements_(elements), classes_(classes) {
  options_.memory = given_;
  options_.threads = std::max(1, options_.threads);
}

void HostMemory::subtract_weights(const Graph& graph, std::span<const Program* const> programs) {
  if (!options_.weights_included) return;
  const WeightBytes bytes = weight_bytes(graph, programs);
  weights_ = bytes.constants + bytes.packed;
  const std::int64_t taken = weights_ + std::min(kProgramBytes, given_ / 4);
  if (taken >= given_) {
    const bool transformed = bytes.packed > 2 * bytes.constants;  // weights transformed by Winograd's algorithm
    throw Error{ErrorCode::resources, option("memory"),
                "is too small: the model's weights take " + std::to_string((taken >> 10) + 1) + "K",
                transformed ? "give more than that, leave it out, or use " + option("device") + " eigen, which needs less"
                            : "give more than that, or leave it out"};
  }
  options_.memory = given_ - taken;
}

void HostMemory::check_values_fit(const Graph& graph) {
  if (options_.weights_included) weights_ = std::max(weights_, weight_bytes(graph, {}).constants);
  for (const Node& node : graph.nodes) {
    const std::int64_t bytes = element_count(node.shape) * kFloatBytes;
    if (node.op != Op::constant && bytes > options_.memory / options_.threads) too_little(bytes);
  }
}

// The memory that kernels use in addition to the values. A tiny network with a small --memory needs less.
std::int64_t HostMemory::scratch_bytes() const { return options_.weights_included ? std::min(kScratchBytes, given_ / 64) : 0; }

std::int64_t HostMemory::forward_bytes(const Program& forward, std::int64_t lanes) const {
  return scratch_bytes() + forward.scratch_bytes({lanes, 1}) + forward.workspace_bytes({lanes, 1}) +
         (elements_ + classes_) * lanes * kFloatBytes;
}

std::int64_t HostMemory::gradient_bytes(const Program& gradient, const Batch& batch, std::int64_t rows) const {
  const std::int64_t lanes = batch.examples * batch.seeds;
  return scratch_bytes() + gradient.scratch_bytes(batch) + gradient.workspace_bytes(batch) +
         (elements_ + 2 * classes_) * lanes * kFloatBytes + 2 * elements_ * batch.examples * kFloatBytes +
         // whitened gradients in double precision, for the Gram matrix; or raw and whitened sums of half as many points, at
         // least one
         elements_ * std::max<std::int64_t>(2, batch.examples) * rows * static_cast<std::int64_t>(sizeof(double));
}

void HostMemory::too_little(std::int64_t needed) const {
  throw Error{ErrorCode::resources, option("memory"),
              "is too small: one example needs " + std::to_string((needed >> 10) + 1) + "K per thread" +
                  (weights_ > 0 ? " in addition to weights of " + std::to_string((weights_ >> 10) + 1) + "K" : ""),
              "give at least " + std::to_string(((needed * options_.threads + weights_) >> 10) + 1) + "K or use fewer " +
                  option("threads")};
}

Batch HostMemory::forward_batch(const Program& forward) const {
  const std::int64_t budget = options_.memory / options_.threads, busy = std::min<std::int64_t>(48, 16 * forward.least_lanes());
  std::int64_t lanes = options_.batch > 0 ? options_.batch : kPreferredLanes;
  const auto too_large = [&] {
    const std::int64_t bytes = forward_bytes(forward, lanes);
    return bytes > budget || (options_.batch == 0 && lanes > busy && bytes > kCacheBytes);
  };
  while (lanes > 1 && too_large()) lanes = fewer(lanes);
  if (forward_bytes(forward, lanes) > budget) too_little(forward_bytes(forward, lanes));
  return {lanes, 1};
}

Batch HostMemory::gradient_batch(const Program& gradient, std::int64_t rows) const {
  const std::int64_t budget = options_.memory / options_.threads, seeds = std::max<std::int64_t>(1, rows),
                     busy = std::min<std::int64_t>(192, 8 * gradient.least_lanes());
  Batch batch{options_.batch > 0 ? options_.batch : std::max<std::int64_t>(1, kPreferredLanes / seeds), seeds};
  const auto too_large = [&] {
    const std::int64_t bytes = gradient_bytes(gradient, batch, seeds);
    return bytes > budget || (options_.batch == 0 && batch.examples * batch.seeds > busy && bytes > 2 * kCacheBytes);
  };
  while (batch.examples > 1 && too_large()) batch.examples = fewer(batch.examples);
  while (batch.seeds > 1 && too_large()) batch.seeds = fewer_seeds(batch.seeds);
  if (gradient_bytes(gradient, batch, seeds) > budget) too_little(gradient_bytes(gradient, batch, seeds));
  return batch;
}

}  // namespace probust
