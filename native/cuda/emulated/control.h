// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

// Functions with which tests control emulated devices.
namespace probust::cuda {

/// Limits the total memory of all devices from now on, to test what happens when memory runs out.
void limit_memory(std::int64_t bytes);

/// Sets the number of devices, which is at most 8, and initially 2.
void have_devices(int count);

/// Leaves this much of one device's memory free, within the limit for all devices.
void leave_memory(int ordinal, std::int64_t bytes);

/// Delays each piece of work of a device. The delay is initially 0.
void slow_down(int ordinal, std::chrono::microseconds delay);

/// The number of pieces of work, such as kernels, that a device has received so far.
std::int64_t work_of(int ordinal);

/// The peak memory of all devices together since the last call.
std::int64_t most_memory_held();

/// Selects the stream whose work is delayed until the other stream or the host waits for it. It is initially the side stream.
enum class Stream { main, side };
void let_dawdle(Stream stream);

/// Sets whether recording fails from now on.
void refuse_recordings(bool refuse);

/// Sets whether convolutions are refused from now on.
void refuse_convolutions(bool refuse);

/// Sets whether epilogues of convolutions are refused from now on.
void refuse_epilogues(bool refuse);

/// Sets the value that Device::busy_flops returns, which is initially 0.
void be_busy_with(double flops);

/// The number of replays so far.
std::int64_t replays_so_far();

}  // namespace probust::cuda
