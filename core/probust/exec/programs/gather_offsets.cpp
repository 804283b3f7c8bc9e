// SPDX-License-Identifier: MIT
#include "probust/exec/programs/gather_offsets.h"

#include <numeric>

#include "probust/ops/op.h"
#include "probust/ops/windows.h"

namespace probust {
namespace {

constexpr std::int64_t kDigit = std::int64_t{1} << 16;  // float32 represents every digit exactly

// Digits of the element numbers, which start from 1, so that 0 means padding.
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
  windows.image = element_count(window.image);
  windows.begin.assign(static_cast<std::size_t>(element_count(window.output())) + 1, 0);
  std::vector<bool> seen(static_cast<std::size_t>(windows.image), false);
  ops::for_each_tap(window, [&](std::int64_t cell, std::int64_t /*tap*/, std::int64_t q) {
    ++windows.begin[q + 1];
    windows.overlap = windows.overlap || seen[cell];
    seen[cell] = true;
    windows.cells.push_back(cell);
  });
  std::partial_sum(windows.begin.begin(), windows.begin.end(), windows.begin.begin());
  return windows;
}

}  // namespace probust
