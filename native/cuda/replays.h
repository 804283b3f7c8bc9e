// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"

namespace probust::cuda {

/// Told what runs slower than it could.
using Warn = std::function<void(const std::string&)>;

/// Work that repeats with the same addresses: done directly the first time, recorded the second, and replayed from then on, which
/// avoids launching every kernel. If a device cannot record it, all work is done directly from then on, and `warn` is told.
class Replays {
 public:
  /// Everything the work depends on: sizes and addresses.
  using Key = std::vector<std::uintptr_t>;

  explicit Replays(Warn warn) : warn_(std::move(warn)) {}

  void run(Device& device, Key key, const std::function<void()>& work);

 private:
  static constexpr std::size_t kMost = 8;  // recordings take device memory

  struct Entry {
    Key key;
    std::shared_ptr<const Recording> recording;
  };
  std::vector<Entry> entries_;  // most recently used first
  std::uint64_t epoch_ = 0;
  bool refused_ = false;
  Warn warn_;
};

}  // namespace probust::cuda
