// SPDX-License-Identifier: MIT
#include "cuda/graph_replay.h"

#include <algorithm>
#include <utility>

namespace probust::cuda {

void GraphReplay::run(Device& device, Key key, const std::function<void()>& work) {
  if (refused_) return work();
  if (device.epoch() != epoch_) entries_.clear();
  epoch_ = device.epoch();
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.key == key; });
  if (found == entries_.end()) {
    work();  // called before the entry is added, because it may throw
    if (entries_.size() == kMost) entries_.pop_back();
    entries_.insert(entries_.begin(), {std::move(key), nullptr});
    return;
  }
  std::rotate(entries_.begin(), found, found + 1);
  Entry& entry = entries_.front();
  if (entry.recording == nullptr) {
    Recorded recorded = device.record(work);
    entry.recording = std::move(recorded.recording);
    refused_ = entry.recording == nullptr;
    if (refused_) {
      warn_("the device cannot record kernels to launch them together, so each is launched separately: " + recorded.refusal);
      return work();
    }
  }
  device.replay(*entry.recording);
}

}  // namespace probust::cuda
