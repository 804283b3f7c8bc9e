// SPDX-License-Identifier: MIT
#include "cuda/program.h"

#include <algorithm>
#include <set>

#include "cuda/trace.h"
#include "probust/base/error.h"

namespace probust::cuda {
namespace {

constexpr int kNoSlot = -1;

constexpr std::int64_t kUnit = 256;  // bytes: the alignment that the libraries prefer

// The size of a slot: `bytes`, rounded up to units, and a guard zone of one unit.
std::int64_t fenced(std::int64_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit + kUnit; }

std::int64_t whole_floats(std::int64_t bytes) { return (bytes + kFloatBytes - 1) / kFloatBytes; }

// The sizes and addresses that determine all addresses of a run.
GraphReplay::Key key_of(const Batch& batch, std::span<const float* const> inputs, const Array<float>& arena) {
  GraphReplay::Key key{static_cast<std::uintptr_t>(batch.examples), static_cast<std::uintptr_t>(batch.seeds),
                       reinterpret_cast<std::uintptr_t>(arena.data())};
  for (const float* input : inputs) key.push_back(reinterpret_cast<std::uintptr_t>(input));
  return key;
}

}  // namespace

DeviceProgram::DeviceProgram(Device& device, const Graph& graph, Warn warn)
    : device_(device), lowered_(DeviceLowering(device, graph).finish()), replays_(std::move(warn)) {
  plan();
}

// Assigns a slot to each storage that a step writes. After the last read of the storage, the slot is free for other storages.
void DeviceProgram::plan() {
  const auto steps = static_cast<int>(lowered_.steps.size());
  std::vector<int> last(lowered_.storages.size(), -1);
  for (int i = 0; i < steps; ++i) {
    for (const int read : lowered_.steps[i].reads) last[read] = i;
  }
  for (const int output : lowered_.outputs) last[output] = steps;
  slot_of_.assign(lowered_.storages.size(), kNoSlot);
  std::vector<int> unused;
  for (int i = 0; i < steps; ++i) {
    const Step& step = lowered_.steps[i];
    const Storage& storage = lowered_.storages[step.writes];
    auto best = unused.end();
    for (auto it = unused.begin(); it != unused.end(); ++it) {
      if (slots_[*it].extent != storage.extent) continue;
      const auto misfit = [&](int slot) { return std::abs(slots_[slot].bytes - storage.bytes()); };
      if (best == unused.end() || misfit(*it) < misfit(*best)) best = it;
    }
    if (best == unused.end()) {
      slot_of_[step.writes] = static_cast<int>(slots_.size());
      slots_.push_back({storage.extent, storage.bytes()});
    } else {
      slot_of_[step.writes] = *best;
      slots_[*best].bytes = std::max(slots_[*best].bytes, storage.bytes());
      unused.erase(best);
    }
    const auto release = [&](int one) {
      const int slot = slot_of_[one];
      if (slot != kNoSlot && std::find(unused.begin(), unused.end(), slot) == unused.end()) unused.push_back(slot);
    };
    for (const int read : step.reads) {
      if (last[read] == i) release(read);
    }
    if (last[step.writes] < i) release(step.writes);  // no step reads it
  }
}

std::int64_t DeviceProgram::workspace_bytes(const Batch& batch) const {
  std::int64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += fenced(slot.bytes * batch.lanes(slot.extent));
  return bytes;
}

std::int64_t DeviceProgram::traffic(const Step& step, const Batch& batch) const {
  std::int64_t bytes = step.kind.bytes;
  std::set<int> storages(step.reads.begin(), step.reads.end());
  storages.insert(step.writes);
  for (const int one : storages) bytes += lowered_.storages[one].bytes() * batch.lanes(lowered_.storages[one].extent);
  return bytes;
}

std::vector<DeviceProgram::Value> DeviceProgram::run(const Batch& batch, std::span<const float* const> inputs,
                                                     Array<float>& arena) const {
  float* next = arena.grown(device_, workspace_bytes(batch) / kFloatBytes);
  std::vector<float*> slots;
  std::vector<Zone> zones;
  slots.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    const std::int64_t bytes = slot.bytes * batch.lanes(slot.extent), floats = whole_floats(bytes),
                       taken = fenced(bytes) / kFloatBytes;
    slots.push_back(next);
    zones.push_back({next - arena.data() + floats, taken - floats});
    next += taken;
  }
  std::vector<void*> addresses(lowered_.storages.size(), nullptr);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Storage& storage = lowered_.storages[i];
    // Inputs and constants are only read, never written.
    const void* fixed = storage.constant != nullptr ? storage.constant : storage.input >= 0 ? inputs[storage.input] : nullptr;
    addresses[i] = slot_of_[i] != kNoSlot ? slots[slot_of_[i]] : const_cast<void*>(fixed);
  }
  const auto all_steps = [&] {
    device_.fence(arena.data(), zones);
    for (const Step& step : lowered_.steps) step.run({device_, batch, lowered_.storages, addresses, step.reads, step.writes});
  };
  if (tracing() && ++traced_runs_[{batch.examples, batch.seeds}] == 2) {  // not during the first run, which plans
    device_.fence(arena.data(), zones);
    trace(batch, addresses);
  } else if (on_the_host().empty()) {
    replays_.run(device_, key_of(batch, inputs, arena), all_steps);
  } else {
    all_steps();
  }
  std::vector<Value> outputs;
  outputs.reserve(lowered_.outputs.size());
  for (const int output : lowered_.outputs)
    outputs.push_back({static_cast<const float*>(addresses[output]), batch.lanes(lowered_.storages[output].extent)});
  return outputs;
}

void DeviceProgram::trace(const Batch& batch, std::span<void* const> addresses) const {
  Trace trace(batch, device_.precision());
  for (const Step& step : lowered_.steps) {
    const std::int64_t before = device_.launches();
    const double seconds = device_.timed([&] {
      step.run({device_, batch, lowered_.storages, addresses, step.reads, step.writes});
    });
    const std::int64_t lanes = batch.lanes(lowered_.storages[step.writes].extent);
    trace.add({step.kind, seconds, step.kind.flops * static_cast<double>(lanes), traffic(step, batch),
               device_.launches() - before, step.kind.by == StepKind::By::library ? device_.algorithm() : ""});
  }
  trace.print();
}

}  // namespace probust::cuda
