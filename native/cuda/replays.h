// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cuda/device.h"

namespace probust::cuda {

/// Work that comes again and again with the same addresses: done at first, recorded when it comes again, and replayed from then
/// on, so that a device need not be told of every kernel. What a device cannot record is done directly, for good.
class Replays {
 public:
  /// Everything that the work depends on: sizes and addresses.
  using Key = std::vector<std::uintptr_t>;

  void run(Device& device, Key key, const std::function<void()>& work);

 private:
  static constexpr std::size_t kMost = 8;  // recordings take memory of the device

  struct Entry {
    Key key;
    std::shared_ptr<const Recording> recording;
  };
  std::vector<Entry> entries_;  // the last used first
  std::uint64_t epoch_ = 0;
  bool refused_ = false;
};

}  // namespace probust::cuda
