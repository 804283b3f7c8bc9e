// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "probust/base/error.h"

// How the devices of a machine share a call. The call is divided into chunks, and each device takes one chunk after another, so
// a slow device computes fewer chunks. The division into chunks depends on the call and on the batch sizes of the devices,
// never on time.
namespace probust::cuda {

/// A range of the units of a call. Units are points, samples or problems.
struct Chunk {
  std::int64_t first = 0, count = 0;
};

/// The number of chunks for a call with `lanes` lanes, on devices that run `batch` of them together. It is a multiple of the
/// number of devices, so that equally fast devices finish at the same time. A chunk has at most as many lanes as a batch. There
/// are at least eight chunks per device, because at the end all devices wait for the last chunk. There are fewer if chunks
/// would otherwise be smaller than 1/16 of a batch, which cannot keep a device busy.
std::int64_t chunk_count(std::int64_t lanes, std::int64_t devices, std::int64_t batch);

/// Divides the units 0 .. units - 1 into `count` chunks of about the same size, or into fewer chunks if there are fewer units.
std::vector<Chunk> divided(std::int64_t units, std::int64_t count);

/// Calls work(device, chunk) for every chunk, on one thread for each device 0 .. devices - 1. Device k begins with chunk k. A
/// device that runs out of memory (is_out_of_memory) takes no more chunks: left_out(device, error) is called on the calling
/// thread, and the other devices compute its chunk. If no device is left, its error is thrown. Any other error of a device ends
/// the call and is thrown.
void take_turns(std::vector<Chunk> chunks, std::size_t devices, const std::function<void(std::size_t, const Chunk&)>& work,
                const std::function<void(std::size_t, const Error&)>& left_out);

}  // namespace probust::cuda
