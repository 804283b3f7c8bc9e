// SPDX-License-Identifier: MIT
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

struct Move {
  Operand from;
  const std::int32_t *source, *target;
  std::int64_t count;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t i) const {
    const std::int32_t at = source[i];
    to.lane(lane).set(target == nullptr ? i : target[i], at < 0 ? 0.0F : from.lane(lane)[at]);
  }
};

struct Repeat {
  Operand from;
  Output to;
  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const { to.lane(lane).set(e, from.lane(lane)[e]); }
};

struct SumRows {
  Operand from;
  const std::int32_t *begin, *source;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const Numbers x = from.lane(lane);
    float sum = 0;
    for (std::int32_t i = begin[e]; i < begin[e + 1]; ++i) sum += x[source[i]];
    to.lane(lane).set(e, sum);
  }
};

}  // namespace

void move(Device& device, Operand from, const std::int32_t* source, const std::int32_t* target, std::int64_t count, Output to) {
  for_each_element(device, to.lanes, count, Move{from, source, target, count, to});
}

void repeat(Device& device, Operand from, Output to) { for_each_element(device, to.lanes, to.elements, Repeat{from, to}); }

void sum_rows(Device& device, Operand from, const std::int32_t* begin, const std::int32_t* source, Output to) {
  for_each_element(device, to.lanes, to.elements, SumRows{from, begin, source, to});
}

}  // namespace probust::cuda
