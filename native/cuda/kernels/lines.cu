// SPDX-License-Identifier: MIT
#include <cmath>

#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

struct Softmax {
  Operand from;
  Lines lines;
  bool logarithm;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t lane = index / lines.count, start = lines.start[index % lines.count];
    const float* x = from.floats(lane) + start;
    float* y = to.floats(lane) + start;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < lines.extent; ++i) best = x[i * lines.stride] > x[best * lines.stride] ? i : best;
    const float largest = x[best * lines.stride];
    float others = 0;  // as in ops/softmax.cpp: the logarithm of a probability near 1 must not be rounded to 0
    for (std::int64_t i = 0; i < lines.extent; ++i) others += i == best ? 0.0F : std::exp(x[i * lines.stride] - largest);
    const float log_sum = std::log1p(others);
    for (std::int64_t i = 0; i < lines.extent; ++i) {
      const float shifted = x[i * lines.stride] - largest;
      y[i * lines.stride] = logarithm ? shifted - log_sum : std::exp(shifted) / (1 + others);
    }
  }
};

// Finds the i-th largest element: the one that exactly i elements precede. This takes quadratic time, but no memory.
struct TopIndex {
  Operand from;
  Lines lines, to_lines;
  Output to;

  PROBUST_HOST_DEVICE bool before(const float* x, std::int64_t i, std::int64_t j) const {
    const float a = x[i * lines.stride], b = x[j * lines.stride];
    const bool nan_a = a != a, nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    return a > b || (!(b > a) && i < j);
  }

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t i = index % lines.extent, line = index / lines.extent % lines.count,
                       lane = index / (lines.extent * lines.count);
    const float* x = from.floats(lane) + lines.start[line];
    std::int64_t rank = 0;
    for (std::int64_t j = 0; j < lines.extent && rank < to_lines.extent; ++j) rank += before(x, j, i) ? 1 : 0;
    if (rank < to_lines.extent) to.floats(lane)[to_lines.start[line] + rank * to_lines.stride] = static_cast<float>(i);
  }
};

// The position that an index refers to, or -1 if it is out of range.
PROBUST_HOST_DEVICE inline std::int64_t position(float index, std::int64_t extent) {
  return index >= 0 && index < static_cast<float>(extent) ? static_cast<std::int64_t>(index) : -1;
}

struct Take {
  Operand from;
  Lines from_lines;
  Operand index_of;
  Lines lines;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t i = index % lines.extent, line = index / lines.extent % lines.count,
                       lane = index / (lines.extent * lines.count);
    const std::int64_t at = lines.start[line] + i * lines.stride, source = position(index_of.floats(lane)[at], from_lines.extent);
    to.floats(lane)[at] = source < 0 ? NAN : from.floats(lane)[from_lines.start[line] + source * from_lines.stride];
  }
};

// Every element of the result gathers its terms in order, so the sum does not depend on the order of threads.
struct PutAdd {
  Operand from, index_of;
  Lines lines, to_lines;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t target = index % to_lines.extent, line = index / to_lines.extent % to_lines.count,
                       lane = index / (to_lines.extent * to_lines.count);
    const float *x = from.floats(lane) + lines.start[line], *where = index_of.floats(lane) + lines.start[line];
    float sum = 0;
    for (std::int64_t i = 0; i < lines.extent; ++i)
      sum += position(where[i * lines.stride], to_lines.extent) == target ? x[i * lines.stride] : 0.0F;
    to.floats(lane)[to_lines.start[line] + target * to_lines.stride] = sum;
  }
};

}  // namespace

void softmax(Device& device, Operand from, Lines lines, bool logarithm, Output to) {
  for_each(device, to.lanes * lines.count, Softmax{from, lines, logarithm, to});
}

void top_index(Device& device, Operand from, Lines lines, Lines to_lines, Output to) {
  for_each(device, to.lanes * lines.count * lines.extent, TopIndex{from, lines, to_lines, to});
}

void take(Device& device, Operand from, Lines from_lines, Operand index, Lines lines, Output to) {
  for_each(device, to.lanes * lines.count * lines.extent, Take{from, from_lines, index, lines, to});
}

void put_add(Device& device, Operand from, Operand index, Lines lines, Lines to_lines, Output to) {
  for_each(device, to.lanes * to_lines.count * to_lines.extent, PutAdd{from, index, lines, to_lines, to});
}

}  // namespace probust::cuda
