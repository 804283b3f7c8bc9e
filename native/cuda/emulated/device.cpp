// SPDX-License-Identifier: MIT
// A device that is this machine's processor: kernels are loops, products and convolutions sums as they are defined. For tests.
#include "cuda/device.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cuda/emulated/limit.h"
#include "probust/base/error.h"

namespace probust::cuda {

struct Device::State {
  Precision precision;
};

namespace {

// What a tensor core keeps of an operand: 11 bits, or 8, rounded to nearest.
float rounded(float value, Precision precision) {
  if (precision == Precision::float32 || !std::isfinite(value)) return value;
  const std::uint32_t unit = precision == Precision::tf32 ? 1U << 13 : 1U << 16;
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  return __builtin_bit_cast(float, (bits + unit / 2) & ~(unit - 1));
}

}  // namespace

int device_count() { return 2; }

Device::Device(int ordinal, Precision precision) : state_(std::make_unique<State>(State{precision})) {
  if (ordinal < 0 || ordinal >= device_count())
    throw Error{ErrorCode::resources, "--device", "there is no device " + std::to_string(ordinal), "use cuda:0"};
}

Device::~Device() = default;

void Device::use() {}

void Device::set_precision(Precision precision) { state_->precision = precision; }

std::string Device::name() const { return "emulated"; }

// Blocks know their size, and all of them together what is left.
constexpr std::size_t kHeader = 64;
std::atomic<std::int64_t> g_in_use{0}, g_limit{std::int64_t{1} << 32};

void limit_memory(std::int64_t bytes) { g_limit = bytes; }

std::int64_t Device::free_bytes() const { return g_limit - g_in_use; }

// Every float is NaN, so that what is read before it was written shows.
void* Device::allocate(std::int64_t bytes) {
  if (g_in_use + bytes > g_limit) throw Error{ErrorCode::resources, "device", "out of memory", "give less with --memory"};
  auto* const block =
      static_cast<char*>(std::aligned_alloc(kHeader, (kHeader + static_cast<std::size_t>(bytes) + kHeader) / kHeader * kHeader));
  if (block == nullptr) throw Error{ErrorCode::resources, "device", "out of memory", "give less with --memory"};
  g_in_use += bytes;
  std::memcpy(block, &bytes, sizeof(bytes));
  std::memset(block + kHeader, 0xff, static_cast<std::size_t>(bytes));
  return block + kHeader;
}

void Device::release(void* memory) noexcept {
  auto* const block = static_cast<char*>(memory) - kHeader;
  std::int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof(bytes));
  g_in_use -= bytes;
  std::free(block);
}

void Device::upload(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void Device::download(void* to, const void* from, std::int64_t bytes) { upload(to, from, bytes); }

void Device::copy(void* to, const void* from, std::int64_t bytes) { upload(to, from, bytes); }

void Device::clear(void* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
}

void Device::wait() {}

void Device::multiply(const Product& p) {
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const float *a = p.a + batch * p.stride_a, *b = p.b + batch * p.stride_b;
    float* c = p.c + batch * p.stride_c;
    for (std::int64_t i = 0; i < p.m; ++i) {
      std::fill_n(c + i * p.n, p.n, 0.0F);
      for (std::int64_t l = 0; l < p.k; ++l) {
        const float factor = rounded(p.transpose_a ? a[l * p.m + i] : a[i * p.k + l], state_->precision);
        for (std::int64_t j = 0; j < p.n; ++j)
          c[i * p.n + j] += factor * rounded(p.transpose_b ? b[j * p.k + l] : b[l * p.n + j], state_->precision);
      }
    }
  }
}

// What cuDNN's descriptors hold.
bool Device::convolves(const Convolution& convolution) const {
  return convolution.window.image.size() == 2 && convolution.window.pad_low == convolution.window.pad_high;
}

// As cuDNN reads them: images [H, W, C], filters [O, kh, kw, C / groups].
void Device::convolve(const Convolution& convolution, std::int64_t images, const float* x, float* y) {
  const Window& w = convolution.window;
  const Shape output = w.output();
  const std::int64_t in = convolution.in_channels, out = convolution.out_channels, in_group = in / w.groups,
                     out_group = out / w.groups;
  const std::int64_t image_size = w.image[0] * w.image[1] * in, output_size = output[0] * output[1] * out;
  const float* image = convolution.transposed ? y : x;
  const float* cotangent = convolution.transposed ? x : y;
  if (convolution.transposed) clear(y, images * image_size * static_cast<std::int64_t>(sizeof(float)));
  if (!convolution.transposed) clear(y, images * output_size * static_cast<std::int64_t>(sizeof(float)));
  // The trilinear form (ops/conv.cpp), one of its three factors being the sum.
  const auto term = [&](std::int64_t at_image, std::int64_t at_filter, std::int64_t at_output) {
    const float weight = rounded(convolution.filter[at_filter], state_->precision);
    if (convolution.transposed) y[at_image] += weight * rounded(cotangent[at_output], state_->precision);
    if (!convolution.transposed) y[at_output] += weight * rounded(image[at_image], state_->precision);
  };
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t q = 0; q < output[0] * output[1]; ++q) {
      for (std::int64_t t = 0; t < w.kernel[0] * w.kernel[1]; ++t) {
        const std::int64_t row = q / output[1] * w.stride[0] - w.pad_low[0] + t / w.kernel[1] * w.dilation[0],
                           column = q % output[1] * w.stride[1] - w.pad_low[1] + t % w.kernel[1] * w.dilation[1];
        if (row < 0 || row >= w.image[0] || column < 0 || column >= w.image[1]) continue;
        for (std::int64_t o = 0; o < out; ++o) {
          for (std::int64_t i = 0; i < in_group; ++i) {
            term(n * image_size + (row * w.image[1] + column) * in + o / out_group * in_group + i,
                 (o * w.kernel[0] * w.kernel[1] + t) * in_group + i, n * output_size + q * out + o);
          }
        }
      }
    }
  }
  if (state_->precision != Precision::bf16) return;
  const std::int64_t written = images * (convolution.transposed ? image_size : output_size);
  for (std::int64_t k = 0; k < written; ++k) y[k] = rounded(y[k], Precision::bf16);
}

}  // namespace probust::cuda
