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

/// A function that is called with a message if something runs slower than necessary.
using Warn = std::function<void(const std::string&)>;

/// Replays work that repeats with the same addresses, so that its kernels need not be launched separately. The first time, the
/// work is done directly; the second time, it is recorded; from then on, it is replayed. If the device cannot record it, `warn`
/// is called, and all work is done directly from then on.
class GraphReplay {
 public:
  /// Everything that the work depends on: sizes and addresses.
  using Key = std::vector<std::uintptr_t>;

  explicit GraphReplay(Warn warn) : warn_(std::move(warn)) {}

  void run(Device& device, Key key, const std::function<void()>& work);

 private:
  static constexpr std::size_t kMost = 8;  // limited, because recordings take device memory

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
