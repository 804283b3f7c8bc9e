// SPDX-License-Identifier: MIT
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

struct Choose {
  Operand image;
  const std::int32_t *begin, *cells;
  std::int32_t* which;
  std::int64_t windows;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t q) const {
    const Numbers x = image.lane(lane);
    std::int32_t best = begin[q] < begin[q + 1] ? cells[begin[q]] : -1;
    for (std::int32_t i = begin[q] + 1; i < begin[q + 1]; ++i) {
      const float candidate = x[cells[i]], largest = x[best];
      // NaN counts as larger than all numbers. The first NaN is never replaced, because comparisons with it are false.
      if (candidate > largest || (candidate != candidate && largest == largest)) best = cells[i];
    }
    which[lane * windows + q] = best;
  }
};

struct TakeChosen {
  Operand values;
  const std::int32_t* which;
  std::int64_t own;
  float none;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t q) const {
    const std::int32_t chosen = which[lane % own * to.elements + q];
    to.lane(lane).set(q, chosen < 0 ? none : values.lane(lane)[chosen]);
  }
};

struct PutChosen {
  Operand from;
  const std::int32_t* which;
  std::int64_t own;
  const std::int32_t *begin, *windows;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const std::int32_t* chosen = which + lane % own * from.elements;
    const Numbers c = from.lane(lane);
    float sum = 0;
    for (std::int32_t i = begin[e]; i < begin[e + 1]; ++i) sum += chosen[windows[i]] == e ? c[windows[i]] : 0.0F;
    to.lane(lane).set(e, sum);
  }
};

}  // namespace

void choose(Device& device, Operand image, const std::int32_t* begin, const std::int32_t* cells, std::int32_t* which,
            std::int64_t windows) {
  for_each_element(device, image.own, windows, Choose{image, begin, cells, which, windows});
}

void take_chosen(Device& device, Operand values, const std::int32_t* which, std::int64_t own, float none, Output to) {
  for_each_element(device, to.lanes, to.elements, TakeChosen{values, which, own, none, to});
}

void put_chosen(Device& device, Operand from, const std::int32_t* which, std::int64_t own, const std::int32_t* begin,
                const std::int32_t* windows, Output to) {
  for_each_element(device, to.lanes, to.elements, PutChosen{from, which, own, begin, windows, to});
}

}  // namespace probust::cuda
