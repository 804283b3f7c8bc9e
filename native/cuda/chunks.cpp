// SPDX-License-Identifier: MIT
#include "cuda/chunks.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <span>
#include <variant>

#include "cuda/device.h"
#include "probust/base/parallel.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kChunksADevice = 8;
constexpr std::int64_t kSmallestPart = 16;  // chunks have at least 1/16 of a batch

// A chunk that was not computed because the device was out of memory.
struct Undone {
  std::size_t device;
  Chunk chunk;
  Error error;
};

// Calls work(device, chunk) for all chunks, on one thread per device. Returns the chunks for which a device had too little
// memory.
std::vector<Undone> take_all(std::span<const Chunk> chunks, std::span<const std::size_t> devices,
                             const std::function<void(std::size_t, const Chunk&)>& work) {
  const auto total = static_cast<std::int64_t>(chunks.size());
  const std::int64_t takers = std::min(static_cast<std::int64_t>(devices.size()), total);
  std::atomic<std::int64_t> next{takers};
  std::vector<std::optional<Undone>> undone(static_cast<std::size_t>(takers));
  parallel_for(takers, static_cast<int>(takers), [&](std::int64_t k, int) {
    for (std::int64_t i = k; i < total; i = next++) {
      const auto done = guarded("the model", [&] {
        work(devices[k], chunks[i]);
        return std::monostate{};
      });
      if (done) continue;
      if (!is_out_of_memory(done.error())) {
        next = total;  // the other devices take no more chunks
        throw Error(done.error());
      }
      undone[k] = {devices[k], chunks[i], done.error()};
      return;
    }
  });
  std::vector<Undone> all;
  for (const auto& one : undone) {
    if (one) all.push_back(*one);
  }
  return all;
}

}  // namespace

std::int64_t chunk_count(std::int64_t lanes, std::int64_t devices, std::int64_t batch) {
  const std::int64_t share = (lanes + devices - 1) / devices, smallest = std::max<std::int64_t>(1, batch / kSmallestPart);
  const std::int64_t batches = (share + batch - 1) / batch;
  return devices * std::max({std::int64_t{1}, batches, std::min(kChunksADevice, share / smallest)});
}

std::vector<Chunk> divided(std::int64_t units, std::int64_t count) {
  count = std::min(units, count);
  std::vector<Chunk> chunks;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t first = units * k / count;
    chunks.push_back({first, units * (k + 1) / count - first});
  }
  return chunks;
}

void take_turns(std::vector<Chunk> chunks, std::size_t devices, const std::function<void(std::size_t, const Chunk&)>& work,
                const std::function<void(std::size_t, const Error&)>& left_out) {
  std::vector<std::size_t> able(devices);
  std::iota(able.begin(), able.end(), std::size_t{0});
  while (!chunks.empty()) {
    const std::vector<Undone> undone = take_all(chunks, able, work);
    if (undone.size() == able.size()) throw Error(undone.front().error);
    chunks.clear();
    for (const Undone& one : undone) {
      std::erase(able, one.device);
      chunks.push_back(one.chunk);
      left_out(one.device, one.error);
    }
  }
}

}  // namespace probust::cuda
