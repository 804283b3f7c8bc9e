// SPDX-License-Identifier: MIT
#include "probust/exec/gather_offsets.h"

#include <algorithm>

#include "probust/ops/op.h"

namespace probust {
namespace {

constexpr std::int64_t kDigit = std::int64_t{1} << 16;  // float32 holds every digit exactly

// Digits of the element numbers, which start from 1, so that zero means padding.
Tensor digits(const Shape& shape, std::int64_t unit) {
  Tensor numbers(shape);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.data[i] = static_cast<float>((i + 1) / unit % kDigit);
  return numbers;
}

}  // namespace

std::vector<std::int64_t> gather_offsets(Op op, const Attributes& attributes, const Shape& from, const Shape& to) {
  std::vector<std::int64_t> sources(static_cast<std::size_t>(element_count(to)), -1);
  Tensor moved(to);
  for (std::int64_t unit = 1; unit <= element_count(from); unit *= kDigit) {
    const Tensor numbers = digits(from, unit);
    const Tensor* operand = &numbers;
    definition(op).eval(attributes, std::span(&operand, 1), moved);
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i] += static_cast<std::int64_t>(moved.data[i]) * unit;
  }
  return sources;
}

std::vector<std::int64_t> broadcast_offsets(const Shape& from, const Shape& to) {
  return gather_offsets(Op::broadcast, ShapeAttribute{to}, from, to);
}

Windows windows_of(const Window& window) {
  Windows windows;
  const Shape output = window.output();
  windows.image = element_count(window.image);
  windows.begin.push_back(0);
  std::vector<bool> seen(static_cast<std::size_t>(windows.image), false);
  const std::int64_t count = element_count(output), taps = element_count(window.kernel);
  for (std::int64_t q = 0; q < count; ++q) {
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t cell = 0, stride = 1, rest_q = q, rest_t = t;
      bool inside = true;
      for (std::size_t i = output.size(); i-- > 0;) {
        const std::int64_t at =
            rest_q % output[i] * window.stride[i] - window.pad_low[i] + rest_t % window.kernel[i] * window.dilation[i];
        rest_q /= output[i];
        rest_t /= window.kernel[i];
        inside = inside && at >= 0 && at < window.image[i];
        cell += at * stride;
        stride *= window.image[i];
      }
      if (!inside) continue;
      windows.overlap = windows.overlap || seen[cell];
      seen[cell] = true;
      windows.cells.push_back(cell);
    }
    windows.begin.push_back(static_cast<std::int64_t>(windows.cells.size()));
  }
  return windows;
}

}  // namespace probust
