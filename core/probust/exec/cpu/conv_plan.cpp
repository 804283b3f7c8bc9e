// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/conv_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace probust::cpu {
namespace {

// Calls visit(coordinates, index) for every cell of a grid.
template <class Visit>
void for_each_cell(const Shape& extents, Visit visit) {
  Shape at(extents.size(), 0);
  const std::int64_t total = element_count(extents);
  for (std::int64_t index = 0; index < total; ++index) {
    visit(at, index);
    for (std::size_t i = extents.size(); i-- > 0;) {
      if (++at[i] < extents[i]) break;
      at[i] = 0;
    }
  }
}

// Plans the image pixels with (y + pad) mod stride = phase.
Cells plan_phase(const Window& window, const Shape& phase) {
  Cells cells;
  const Shape output = window.output(), strides = row_major_strides(output);
  std::vector<Shape> pixels;
  for_each_cell(window.image, [&](const Shape& pixel, std::int64_t index) {
    for (std::size_t i = 0; i < pixel.size(); ++i) {
      if ((pixel[i] + window.pad_low[i]) % window.stride[i] != phase[i]) return;
    }
    cells.contiguous = cells.contiguous && index == static_cast<std::int64_t>(cells.pixels.size());
    cells.pixels.push_back(index);
    pixels.push_back(pixel);
  });
  for_each_cell(window.kernel, [&](const Shape& tap, std::int64_t index) {
    for (std::size_t i = 0; i < tap.size(); ++i) {
      if (tap[i] * window.dilation[i] % window.stride[i] != phase[i]) return;
    }
    cells.taps.push_back(index);
    std::vector<std::int64_t> sources;
    for (const Shape& pixel : pixels) {
      std::int64_t source = 0;
      bool inside = true;
      for (std::size_t i = 0; i < pixel.size(); ++i) {
        const std::int64_t distance = pixel[i] + window.pad_low[i] - tap[i] * window.dilation[i];
        const std::int64_t at = distance / window.stride[i];
        inside = inside && distance >= 0 && at < output[i];
        source += at * strides[i];
      }
      sources.push_back(inside ? source : -1);
    }
    cells.sources.push_back(copy_ranges(sources));
  });
  return cells;
}

}  // namespace

std::vector<Cells> plan_conv(const Window& window) {
  Cells cells;
  const Shape output = window.output(), strides = row_major_strides(window.image);
  for_each_cell(window.kernel, [&](const Shape& tap, std::int64_t index) {
    cells.taps.push_back(index);
    std::vector<std::int64_t> sources;
    for_each_cell(output, [&](const Shape& cell, std::int64_t) {
      std::int64_t source = 0;
      bool inside = true;
      for (std::size_t i = 0; i < cell.size(); ++i) {
        const std::int64_t at = cell[i] * window.stride[i] - window.pad_low[i] + tap[i] * window.dilation[i];
        inside = inside && at >= 0 && at < window.image[i];
        source += at * strides[i];
      }
      sources.push_back(inside ? source : -1);
    });
    cells.sources.push_back(copy_ranges(sources));
  });
  cells.pixels.resize(static_cast<std::size_t>(element_count(output)));
  std::iota(cells.pixels.begin(), cells.pixels.end(), std::int64_t{0});
  return {cells};
}

std::vector<Cells> plan_conv_transpose(const Window& window) {
  std::vector<Cells> phases;
  for_each_cell(window.stride, [&](const Shape& phase, std::int64_t) {
    Cells cells = plan_phase(window, phase);
    if (!cells.pixels.empty()) phases.push_back(std::move(cells));
  });
  if (phases.size() > 1) {
    for (Cells& cells : phases) cells.contiguous = false;
  }
  return phases;
}

Eigen::MatrixXf FilterOrder::rows(std::int64_t first, std::int64_t count) const {
  const std::int64_t channels = shape[1], kernel = element_count({shape.begin() + 2, shape.end()});
  Eigen::MatrixXf w(count, written());
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t tap = taps[(first + row) / read()], in = (first + row) % read();
    for (std::int64_t out = 0; out < written(); ++out) {
      const std::int64_t o = transposed ? in : out, c = transposed ? out : in;
      w(row, out) = filter[((group * outs() + o) * channels + c) * kernel + tap];
    }
  }
  return w;
}

void scatter_cells(const Cells& cells, const float* product, std::int64_t product_stride, std::int64_t n, std::int64_t lanes,
                   std::int64_t begin, std::int64_t end, std::int64_t pixels, float* out) {
  for (std::int64_t channel = 0; channel < n; ++channel) {
    const float* from = product + channel * product_stride;
    float* plane = out + channel * pixels * lanes;
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t cell = row / lanes, stop = cells.contiguous ? end : std::min(end, (cell + 1) * lanes);
      const std::int64_t pixel = cells.contiguous ? cell : cells.pixels[cell];
      std::copy_n(from + (row - begin), stop - row, plane + pixel * lanes + (row - cell * lanes));
      row = stop;
    }
  }
}

}  // namespace probust::cpu
