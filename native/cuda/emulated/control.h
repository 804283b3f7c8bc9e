// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// What tests ask of emulated devices.
namespace probust::cuda {

/// How much memory all of them have together, from now on: for tests of what happens when it ends.
void limit_memory(std::int64_t bytes);

/// The most that all of them held at a time since they were last asked.
std::int64_t most_memory_held();

/// Which stream dawdles from now on: it does nothing before the other one or the host waits for it. The side does, at first.
enum class Stream { main, side };
void let_dawdle(Stream stream);

/// Whether they cannot record, from now on.
void refuse_recordings(bool refuse);

/// How often recordings were replayed so far.
std::int64_t replays_so_far();

}  // namespace probust::cuda
