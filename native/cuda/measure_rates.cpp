// SPDX-License-Identifier: MIT
#include "cuda/measure_rates.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>

namespace probust::cuda {
namespace {

constexpr int kCalls = 5, kRepeats = 3;

// Seconds per call: the minimum over a few repetitions of several calls each, after a first call, which plans the work.
double seconds_of(Device& device, const std::function<void()>& call) {
  call();
  device.wait();
  double best = INFINITY;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    device.wait();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kCalls);
  }
  return best;
}

}  // namespace

DeviceRates measure_rates(int ordinal, Precision precision, std::int64_t n, std::int64_t bytes) {
  Device device(ordinal, precision);
  DeviceRates rates{device.name(), 0, 0};
  {
    std::vector<float> numbers(static_cast<std::size_t>(n * n));  // random, because products of zeros would be faster
    std::mt19937 random(3);
    for (float& value : numbers) value = static_cast<float>(random()) * 0x1p-31F - 1;
    const Array<float> a(device, numbers), b(device, numbers), c(device, n * n);
    Product product;
    product.m = product.n = product.k = n;
    product.a = a.data();
    product.b = b.data();
    product.c = c.data();
    rates.product = 2 * std::pow(static_cast<double>(n), 3) / seconds_of(device, [&] { device.multiply(product); });
  }
  const Array<char> from(device, bytes), to(device, bytes);
  rates.copy = 2 * static_cast<double>(bytes) / seconds_of(device, [&] { device.copy(to.data(), from.data(), bytes); });
  return rates;
}

}  // namespace probust::cuda
