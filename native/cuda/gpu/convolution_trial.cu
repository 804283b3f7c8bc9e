// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "cuda/gpu/convolution_trial.h"
#include "cuda/kernels.h"

namespace probust::cuda {
namespace {

// More than one image, because cuDNN 9.19 has kernels that, for results of one pixel, are correct only for a single image.
constexpr std::int64_t kImages = 3;
// The largest allowed difference, relative to the largest result. Without fusion, bf16 results are rounded twice.
constexpr float kTolerance = 1.0F / 64;

class Trial {
 public:
  Trial(Device& device, cudnnHandle_t handle, const Convolution& c)
      : device_(device),
        handle_(handle),
        c_(c),
        x_(random(kImages * c.elements_read(), c.type)),
        residual_(random(c.has_residual ? kImages * c.elements_written() : 0, c.type)),
        filter_(random(c.elements_of_filter(), c.type)),
        bias_(random(c.out_channels, Type::float32)),
        y_(device, kImages * c.elements_written() * bytes_of(c.type)) {
    c_.filter = filter_.data();
    if (c.bias != nullptr) c_.bias = reinterpret_cast<const float*>(bias_.data());
  }

  std::vector<float> results(const PlannedConvolution& planned) {
    const Array<char> workspace(device_, static_cast<std::int64_t>(planned.workspace()));
    device_.clear(y_.data(), y_.size());
    planned.run(handle_, c_, x_.data(), c_.has_residual ? residual_.data() : nullptr, y_.data(), workspace.data());
    if (!planned.finishes()) finish(device_, c_, kImages, residual_.data(), y_.data());
    std::vector<char> bytes(static_cast<std::size_t>(y_.size()));
    device_.download(bytes.data(), y_.data(), y_.size());
    std::vector<float> values(static_cast<std::size_t>(kImages * c_.elements_written()));
    const Numbers numbers{bytes.data(), c_.type};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = numbers[static_cast<std::int64_t>(i)];
    return values;
  }

  // A number with all bits set is a NaN in either type.
  void fill_with_nan() {
    const std::vector<char> ones(static_cast<std::size_t>(x_.size()), static_cast<char>(0xff));
    device_.upload(x_.data(), ones.data(), x_.size());
  }

 private:
  Array<char> random(std::int64_t count, Type type) {
    std::vector<char> bytes(static_cast<std::size_t>(count * bytes_of(type)));
    const MutableNumbers numbers{bytes.data(), type};
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) numbers.set(i, uniform(random_));
    return Array<char>(device_, bytes);
  }

  Device& device_;
  cudnnHandle_t handle_;
  Convolution c_;
  std::minstd_rand random_{1};
  Array<char> x_, residual_, filter_, bias_, y_;
};

bool agree(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0, error = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return false;
    largest = std::max(largest, std::fabs(b[i]));
    error = std::max(error, std::fabs(a[i] - b[i]));
  }
  return error <= kTolerance * largest;
}

}  // namespace

std::string refusal_of(Device& device, cudnnHandle_t handle, ConvolutionGraphs& graphs, const Convolution& c) {
  try {
    const auto whole = graphs.plan(c, kImages);
    Trial trial(device, handle, c);
    if (!agree(trial.results(*whole), trial.results(*plan_alone(handle, c, kImages, lower_precision(c.type)))))
      return "cuDNN's fused algorithm gives wrong results";
    trial.fill_with_nan();
    const std::vector<float> results = trial.results(*whole);
    const bool keeps = std::any_of(results.begin(), results.end(), [](float one) { return std::isnan(one); });
    return keeps ? "" : "cuDNN's fused algorithm turns NaN into numbers";
  } catch (const Error& error) {
    (void)cudaGetLastError();  // otherwise the next launch would report it
    return error.sentence();
  }
}

}  // namespace probust::cuda
