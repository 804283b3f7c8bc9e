// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cuda/device.h"
#include "probust/base/host_device.h"

// A kernel is a plain function object whose call operator is marked PROBUST_HOST_DEVICE. It is called once for every number
// below `count`, in any order. No call may write to memory that another call reads or writes. nvcc compiles kernels for the
// GPU; the emulated device calls them in a loop.
namespace probust::cuda {

#ifdef __CUDACC__

void check_launch(Device& device);  // counts a kernel that was launched; throws Error{resources} if it did not start
void* stream_of(Device& device);    // the current stream, a cudaStream_t

constexpr int kThreads = 256;

template <class F>
__global__ void for_each_kernel(std::int64_t count, F f) {
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) f(i);
}

// Lanes are along y and elements along x of the grid, so that threads need no division.
template <class F>
__global__ void for_each_element_kernel(std::int64_t lanes, std::int64_t elements, F f) {
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t lane = blockIdx.y; lane < lanes; lane += gridDim.y) {
    for (std::int64_t e = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; e < elements; e += step) f(lane, e);
  }
}

// Converts one index to a lane and an element. Used if a lane has too few elements for the threads of a block.
template <class F>
struct Flat {
  std::uint32_t elements;
  F f;
  __host__ __device__ void operator()(std::int64_t i) const {
    if (i >> 32 == 0) {
      const auto index = static_cast<std::uint32_t>(i);
      f(index / elements, index % elements);
    } else {
      f(i / elements, i % elements);
    }
  }
};

/// Calls f(i) for all i < count.
template <class F>
void for_each(Device& device, std::int64_t count, F f) {
  if (count <= 0) return;
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;
  for_each_kernel<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0,
                    static_cast<cudaStream_t>(stream_of(device))>>>(count, f);
  check_launch(device);
}

/// Calls f(lane, e) for all lane < lanes, e < elements.
template <class F>
void for_each_element(Device& device, std::int64_t lanes, std::int64_t elements, F f) {
  if (lanes <= 0 || elements <= 0) return;
  if (elements < kThreads) return for_each(device, lanes * elements, Flat<F>{static_cast<std::uint32_t>(elements), f});
  constexpr std::int64_t kMostRows = 65535;
  const dim3 blocks(static_cast<unsigned>((elements + kThreads - 1) / kThreads),
                    static_cast<unsigned>(lanes < kMostRows ? lanes : kMostRows));
  for_each_element_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream_of(device))>>>(lanes, elements, f);
  check_launch(device);
}

// One warp computes each sum: thread l of the warp adds the terms l, l + 32, ... in order; then the threads' sums are added
// pairwise, in a fixed order.
template <class Term, class Store>
__global__ void sum_kernel(std::int64_t count, std::int64_t length, Term term, Store store) {
  const std::int64_t warps = std::int64_t{blockDim.x} * gridDim.x / 32;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < count; i += warps) {
    double sum = 0;
    for (std::int64_t j = threadIdx.x % 32; j < length; j += 32) sum += term(i, j);
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffU, sum, half);
    if (threadIdx.x % 32 == 0) store(i, sum);
  }
}

/// Calls store(i, sum of term(i, j) over j < length) for all i < count.
template <class Term, class Store>
void for_each_sum(Device& device, std::int64_t count, std::int64_t length, Term term, Store store) {
  if (count <= 0) return;
  const std::int64_t blocks = (count * 32 + kThreads - 1) / kThreads;
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;
  sum_kernel<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0,
               static_cast<cudaStream_t>(stream_of(device))>>>(count, length, term, store);
  check_launch(device);
}

#else

/// Visits the numbers below `count` in steps of a large prime, modulo `count`, so that no kernel can rely on their order.
template <class Visit>
void in_no_order(std::int64_t count, Visit visit) {
  constexpr std::int64_t kPrime = 1000003;
  const std::int64_t step = count % kPrime == 0 ? 1 : kPrime % count;
  for (std::int64_t k = 0, i = 0; k < count; ++k) {
    visit(i);
    i += step;
    if (i >= count) i -= count;
  }
}

/// Runs `work` when its stream reaches it, and when a recording of it is replayed.
void submit(Device& device, std::function<void()> work);
/// Submits the work, and counts it as a kernel.
void launch(Device& device, std::function<void()> work);

/// Calls f(i) for all i < count.
template <class F>
void for_each(Device& device, std::int64_t count, F f) {
  if (count > 0) launch(device, [=] { in_no_order(count, f); });
}

/// Calls f(lane, e) for all lane < lanes, e < elements.
template <class F>
void for_each_element(Device& device, std::int64_t lanes, std::int64_t elements, F f) {
  for_each(device, lanes * elements, [=](std::int64_t i) { f(i / elements, i % elements); });
}

/// Calls store(i, sum of term(i, j) over j < length) for all i < count.
template <class Term, class Store>
void for_each_sum(Device& device, std::int64_t count, std::int64_t length, Term term, Store store) {
  for_each(device, count, [=](std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < length; ++j) sum += term(i, j);
    store(i, sum);
  });
}

#endif

}  // namespace probust::cuda
