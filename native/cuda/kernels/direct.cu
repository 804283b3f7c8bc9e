// SPDX-License-Identifier: MIT
// Convolutions as derivatives of the trilinear form of ops/conv.cpp: one kernel per derivative, which computes one element of
// the result per call. They are used for three spatial axes, for filters that differ between examples, and for other cases that
// the library does not support. They are correct, but not fast.
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

constexpr int kAxes = DirectWindow::kAxes;

PROBUST_HOST_DEVICE inline std::int64_t cells(const std::int64_t (&extents)[kAxes]) {
  return extents[0] * extents[1] * extents[2];
}

PROBUST_HOST_DEVICE inline void coordinates(std::int64_t index, const std::int64_t (&extents)[kAxes], std::int64_t (&at)[kAxes]) {
  for (int i = kAxes; i-- > 0;) {
    at[i] = index % extents[i];
    index /= extents[i];
  }
}

// The cell of the image that a tap of window q covers; -1 if it is in the padding.
PROBUST_HOST_DEVICE inline std::int64_t image_cell(const DirectWindow& w, const std::int64_t (&q)[kAxes], std::int64_t tap) {
  std::int64_t t[kAxes], cell = 0;
  coordinates(tap, w.kernel, t);
  for (int i = 0; i < kAxes; ++i) {
    const std::int64_t at = q[i] * w.stride[i] - w.pad[i] + t[i] * w.dilation[i];
    if (at < 0 || at >= w.image[i]) return -1;
    cell = cell * w.image[i] + at;
  }
  return cell;
}

// The window whose tap `tap` covers cell p of the image; -1 if there is none.
PROBUST_HOST_DEVICE inline std::int64_t window_of(const DirectWindow& w, const std::int64_t (&p)[kAxes], std::int64_t tap) {
  std::int64_t t[kAxes], cell = 0;
  coordinates(tap, w.kernel, t);
  for (int i = 0; i < kAxes; ++i) {
    const std::int64_t distance = p[i] + w.pad[i] - t[i] * w.dilation[i], q = distance / w.stride[i];
    if (distance < 0 || distance % w.stride[i] != 0 || q >= w.output[i]) return -1;
    cell = cell * w.output[i] + q;
  }
  return cell;
}

struct Convolve {
  DirectWindow w;
  Operand x, filter;
  Output y;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t outputs = cells(w.output), image = cells(w.image), taps = cells(w.kernel),
                       in_group = w.in_channels / w.groups;
    const std::int64_t lane = index / y.elements, e = index % y.elements, o = e / outputs % w.out_channels,
                       n = e / (outputs * w.out_channels), first = o / (w.out_channels / w.groups) * in_group;
    const float *from = x.floats(lane) + (n * w.in_channels + first) * image,
                *weights = filter.floats(lane) + o * in_group * taps;
    std::int64_t q[kAxes];
    coordinates(e % outputs, w.output, q);
    float sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int64_t cell = image_cell(w, q, t);
      if (cell < 0) continue;
      for (std::int64_t i = 0; i < in_group; ++i) sum += weights[i * taps + t] * from[i * image + cell];
    }
    y.floats(0)[index] = sum;
  }
};

struct ConvolveTransposed {
  DirectWindow w;
  Operand c, filter;
  Output x;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t outputs = cells(w.output), image = cells(w.image), taps = cells(w.kernel);
    const std::int64_t in_group = w.in_channels / w.groups, out_group = w.out_channels / w.groups;
    const std::int64_t lane = index / x.elements, e = index % x.elements, channel = e / image % w.in_channels,
                       n = e / (image * w.in_channels), first = channel / in_group * out_group;
    const float *from = c.floats(lane) + (n * w.out_channels + first) * outputs,
                *weights = filter.floats(lane) + (first * in_group + channel % in_group) * taps;
    std::int64_t p[kAxes];
    coordinates(e % image, w.image, p);
    float sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int64_t q = window_of(w, p, t);
      if (q < 0) continue;
      for (std::int64_t o = 0; o < out_group; ++o) sum += weights[o * in_group * taps + t] * from[o * outputs + q];
    }
    x.floats(0)[index] = sum;
  }
};

struct FilterGradient {
  DirectWindow w;
  Operand x, c;
  Output filter;

  PROBUST_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t outputs = cells(w.output), image = cells(w.image), taps = cells(w.kernel),
                       in_group = w.in_channels / w.groups;
    const std::int64_t lane = index / filter.elements, e = index % filter.elements, t = e % taps, i = e / taps % in_group,
                       o = e / (taps * in_group), channel = o / (w.out_channels / w.groups) * in_group + i;
    float sum = 0;
    for (std::int64_t n = 0; n < w.images; ++n) {
      const float *from = x.floats(lane) + (n * w.in_channels + channel) * image,
                  *by = c.floats(lane) + (n * w.out_channels + o) * outputs;
      for (std::int64_t cell = 0; cell < outputs; ++cell) {
        std::int64_t q[kAxes];
        coordinates(cell, w.output, q);
        const std::int64_t at = image_cell(w, q, t);
        if (at >= 0) sum += by[cell] * from[at];
      }
    }
    filter.floats(0)[index] = sum;
  }
};

}  // namespace

void convolve_directly(Device& device, const DirectWindow& window, Operand x, Operand filter, Output y) {
  for_each(device, y.lanes * y.elements, Convolve{window, x, filter, y});
}

void convolve_transposed_directly(Device& device, const DirectWindow& window, Operand c, Operand filter, Output x) {
  for_each(device, x.lanes * x.elements, ConvolveTransposed{window, c, filter, x});
}

void filter_gradient(Device& device, const DirectWindow& window, Operand x, Operand c, Output filter) {
  for_each(device, filter.lanes * filter.elements, FilterGradient{window, x, c, filter});
}

}  // namespace probust::cuda
