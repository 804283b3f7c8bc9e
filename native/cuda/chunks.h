// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "probust/base/error.h"

// How the devices of a machine share a call: it is divided into chunks, and each device takes one after the other, so that a slow
// device takes fewer. The chunks depend on the call and on the devices' batches, never on time.
namespace probust::cuda {

/// Some of the units of a call, which are its points, samples or problems.
struct Chunk {
  std::int64_t first = 0, count = 0;
};

/// The number of chunks of a call that takes `lanes` lanes, on devices that run `batch` of them together: a multiple of the
/// number of devices, so that equally fast ones end together. A chunk has at most as many lanes as a batch. If that gives fewer
/// than eight chunks per device, there are eight, because at the end all wait for the last chunk; but chunks of less than 1/16 of
/// a batch would not fill a device.
std::int64_t chunk_count(std::int64_t lanes, std::int64_t devices, std::int64_t batch);

/// Units 0 .. units - 1 in `count` chunks of about the same size; in fewer if there are fewer units.
std::vector<Chunk> divided(std::int64_t units, std::int64_t count);

/// Calls work(device, chunk) for every chunk, on one thread for each device 0 .. devices - 1. Device k begins with chunk k.
/// A device that runs out of memory (is_out_of_memory) takes no more chunks. It is reported to left_out(device, error) on this
/// thread, and the others do its chunk. Throws the error if no device is left. Any other error of a device ends the call.
void take_turns(std::vector<Chunk> chunks, std::size_t devices, const std::function<void(std::size_t, const Chunk&)>& work,
                const std::function<void(std::size_t, const Error&)>& left_out);

}  // namespace probust::cuda
