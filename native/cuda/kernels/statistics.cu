// SPDX-License-Identifier: MIT
// Kernels for statistics of many noisy samples, which are computed on the device so that the samples are never copied to the
// host.
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

PROBUST_HOST_DEVICE inline void count_one(std::uint32_t* counter) {
#ifdef __CUDA_ARCH__
  atomicAdd(counter, 1U);
#else
  ++*counter;
#endif
}

struct CountWinners {
  const float* logits;
  std::int64_t classes;
  DeviceRange range;
  std::uint32_t* counts;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane) const {
    const float* f = logits + lane * classes;
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      if (f[c] != f[c]) return;
      if (f[c] > f[best]) best = c;
    }
    count_one(counts + range.point(lane) * classes + best);
  }
};

struct SeedMargins {
  const std::int32_t *targets, *rivals;
  std::int64_t all_seeds, first, examples, classes;
  float* to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t c) const {
    const std::int64_t b = lane % examples, s = first + lane / examples;
    to[lane * classes + c] = c == targets[b] ? 1.0F : c == rivals[b * all_seeds + s] ? -1.0F : 0.0F;
  }
};

struct StoreRows {
  const float* gradients;
  std::int64_t examples, elements, first, all_seeds;
  float* rows;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const std::int64_t b = lane % examples, s = first + lane / examples;
    rows[(b * all_seeds + s) * elements + e] = gradients[lane * elements + e];
  }
};

// Pairs row i with itself and with the rows after it, cyclically, up to the opposite row. Every pair then occurs once, except
// that a pair of opposite rows occurs twice.
struct GramPairs {
  std::int64_t n;
  PROBUST_HOST_DEVICE std::int64_t reach() const { return n / 2 + 1; }
  PROBUST_HOST_DEVICE std::int64_t i(std::int64_t entry) const { return entry / reach() % n; }
  PROBUST_HOST_DEVICE std::int64_t j(std::int64_t entry) const { return (i(entry) + entry % reach()) % n; }
  PROBUST_HOST_DEVICE std::int64_t example(std::int64_t entry) const { return entry / (reach() * n); }
};

struct GramTerm {
  const float* rows;
  GramPairs pairs;
  std::int64_t elements;

  PROBUST_HOST_DEVICE double operator()(std::int64_t entry, std::int64_t e) const {
    const float* own = rows + pairs.example(entry) * pairs.n * elements;
    return double{own[pairs.i(entry) * elements + e]} * double{own[pairs.j(entry) * elements + e]};
  }
};

struct StoreGram {
  GramPairs pairs;
  double* to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t entry, double sum) const {
    const std::int64_t i = pairs.i(entry), j = pairs.j(entry), opposite = (j - i + pairs.n) % pairs.n * 2;
    if (opposite == pairs.n && i > j) return;  // this pair occurs twice
    double* own = to + pairs.example(entry) * pairs.n * pairs.n;
    own[i * pairs.n + j] = own[j * pairs.n + i] = sum;
  }
};

struct StoreSum {
  double* to;
  PROBUST_HOST_DEVICE void operator()(std::int64_t i, double sum) const { to[i] = sum; }
};

struct AlongTerm {
  DeviceRange range;
  const float* rows;
  std::int64_t n;
  const float* noisy;

  PROBUST_HOST_DEVICE double operator()(std::int64_t entry, std::int64_t e) const {
    const std::int64_t a = entry % n, lane = entry / n, point = range.point(lane);
    const double eps = double{noisy[lane * range.elements + e]} - double{range.x[point * range.elements + e]};
    return double{rows[(point * n + a) * range.elements + e]} * eps;
  }
};

struct AlongOwnTerm {
  DeviceRange range;
  const float *gradients, *noisy;

  PROBUST_HOST_DEVICE double operator()(std::int64_t entry, std::int64_t e) const {
    const std::int64_t lane = entry % range.lanes, point = range.point(lane);
    const double eps = double{noisy[lane * range.elements + e]} - double{range.x[point * range.elements + e]};
    return double{gradients[entry * range.elements + e]} * eps;
  }
};

struct StoreAlongOwn {
  std::int64_t lanes, first, all_seeds;
  double* to;
  PROBUST_HOST_DEVICE void operator()(std::int64_t entry, double sum) const {
    to[entry % lanes * all_seeds + first + entry / lanes] = sum;
  }
};

struct AddGradients {
  DeviceRange range;
  const float* gradients;
  std::int64_t seeds, first, all_seeds;
  double* sums;

  PROBUST_HOST_DEVICE void operator()(std::int64_t row, std::int64_t e) const {
    const std::int64_t point = row / seeds, s = row % seeds;
    // The range of lanes that are samples of the point.
    const std::int64_t begin = point * range.count - range.begin, end = begin + range.count;
    double& sum = sums[(point * all_seeds + first + s) * range.elements + e];
    for (std::int64_t lane = begin < 0 ? 0 : begin; lane < (end < range.lanes ? end : range.lanes); ++lane)
      sum += gradients[(s * range.lanes + lane) * range.elements + e];
  }
};

struct Average {
  const double* sums;
  double count;
  float* to;
  PROBUST_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = static_cast<float>(sums[i] / count); }
};

}  // namespace

void count_winners(Device& device, const float* logits, std::int64_t classes, const DeviceRange& range, std::uint32_t* counts) {
  for_each(device, range.lanes, CountWinners{logits, classes, range, counts});
}

void seed_margins(Device& device, const std::int32_t* targets, const std::int32_t* rivals, std::int64_t all_seeds,
                  std::int64_t first, std::int64_t seeds, std::int64_t examples, std::int64_t classes, float* to) {
  for_each_element(device, seeds * examples, classes, SeedMargins{targets, rivals, all_seeds, first, examples, classes, to});
}

void store_rows(Device& device, const float* gradients, std::int64_t seeds, std::int64_t examples, std::int64_t elements,
                std::int64_t first, std::int64_t all_seeds, float* rows) {
  for_each_element(device, seeds * examples, elements, StoreRows{gradients, examples, elements, first, all_seeds, rows});
}

void gram(Device& device, const float* rows, std::int64_t examples, std::int64_t n, std::int64_t elements, double* to) {
  const GramPairs pairs{n};
  for_each_sum(device, examples * n * pairs.reach(), elements, GramTerm{rows, pairs, elements}, StoreGram{pairs, to});
}

void along(Device& device, const DeviceRange& range, const float* rows, std::int64_t n, const float* noisy, double* to) {
  for_each_sum(device, range.lanes * n, range.elements, AlongTerm{range, rows, n, noisy}, StoreSum{to});
}

void along_own(Device& device, const DeviceRange& range, const float* gradients, std::int64_t seeds, std::int64_t first,
               std::int64_t all_seeds, const float* noisy, double* to) {
  for_each_sum(device, seeds * range.lanes, range.elements, AlongOwnTerm{range, gradients, noisy},
               StoreAlongOwn{range.lanes, first, all_seeds, to});
}

void add_gradients(Device& device, const DeviceRange& range, const float* gradients, std::int64_t seeds, std::int64_t first,
                   std::int64_t all_seeds, std::int64_t points, double* sums) {
  for_each_element(device, points * seeds, range.elements, AddGradients{range, gradients, seeds, first, all_seeds, sums});
}

void average(Device& device, const double* sums, std::int64_t count, std::int64_t size, float* to) {
  for_each(device, size, Average{sums, static_cast<double>(count), to});
}

}  // namespace probust::cuda
