// SPDX-License-Identifier: MIT
// Convolutions whose filter is a value, and the gradients of filters: as in training, where a batch is in the first axis of the
// image and there is one lane. Patches of many images are gathered together, since one small image has too few rows for the
// kernel of the product. Each lane is computed alone, so that its sums do not depend on the number of lanes.
#include <algorithm>
#include <array>

#include "probust/exec/cpu/conv_plan.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {
namespace {

// More rows in one sum of products would only add rounding error.
constexpr std::int64_t kMostRows = 1024;

std::int64_t pixels_of(const Shape& shape) { return element_count({shape.begin() + 2, shape.end()}); }

// How many of `rows` rows of k values to gather at once.
std::int64_t rows_together(std::int64_t k, std::int64_t rows) {
  const std::int64_t fitting = kGatherBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(1, k);
  return std::min({std::max(kLeastRows, fitting / kLeastRows * kLeastRows), kMostRows / kLeastRows * kLeastRows, rows});
}

// Floats that a lane of an operand or of the result takes in scratch memory: none if it is in one piece.
std::int64_t lane_size(const Shape& shape, std::int64_t lanes) { return lanes == 1 ? 0 : element_count(shape); }

// One lane of an operand in one piece; `memory` has lane_size() floats.
const float* lane_of(const Call& call, std::size_t operand, std::int64_t lane, float* memory) {
  const std::int64_t own = call.lanes_of(operand), size = element_count(*call.in[operand].shape);
  const float* const from = call.in[operand].data;
  if (own == 1) return from;
  for (std::int64_t e = 0; e < size; ++e) memory[e] = from[e * own + lane % own];
  return memory;
}

void write_lane(const Call& call, std::int64_t lane, const float* from) {
  if (call.lanes == 1) return;  // it was computed in place
  for (std::int64_t e = 0; e < element_count(*call.shape); ++e) call.out[e * call.lanes + lane] = from[e];
}

// Calls visit(image, first cell, last cell, row) for the rows begin .. end - 1 of all images; `row` counts from `begin`.
template <class Visit>
void each_image(std::int64_t cells, std::int64_t begin, std::int64_t end, Visit visit) {
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t image = row / cells, first = row - image * cells, last = std::min(cells, first + end - row);
    visit(image, first, last, row - begin);
    row += last - first;
  }
}

// Some channels of every image: channel c of image n begins at data + n * step + c * pixels.
struct Planes {
  const float* data;
  std::int64_t step, pixels, channels;
};

// Gathers patches as columns [count] of a matrix: column of(tap, channel) has what the tap reads for rows begin .. end - 1.
template <class ColumnOf>
void gather_patches(const Cells& cells, const Planes& planes, std::int64_t begin, std::int64_t end, float* columns,
                    ColumnOf column_of) {
  const auto size = static_cast<std::int64_t>(cells.pixels.size());
  each_image(size, begin, end, [&](std::int64_t image, std::int64_t first, std::int64_t last, std::int64_t row) {
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(cells.taps.size()); ++t) {
      for (std::int64_t c = 0; c < planes.channels; ++c) {
        copy_rows(cells.sources[t], planes.data + image * planes.step + c * planes.pixels, 1, first, last,
                  columns + column_of(t, c) * (end - begin) + row);
      }
    }
  });
}

// One group of a convolution, or of one phase of a transposed one, for all images. Of `out`, only `step` and `pixels` are used.
struct Group {
  const Cells& cells;
  const Weights& w;
  Planes in, out;

  std::int64_t rows(std::int64_t images) const { return images * static_cast<std::int64_t>(cells.pixels.size()); }
};

void run_group_of_images(const Call& call, const Group& group, std::int64_t images, float* out, float* columns, float* product) {
  const std::int64_t rows = group.rows(images), block = rows_together(group.w.rows(), rows), n = group.w.cols();
  const auto cells = static_cast<std::int64_t>(group.cells.pixels.size());
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    call.stop_if_asked();
    const std::int64_t end = std::min(rows, begin + block), count = end - begin, channels = group.in.channels;
    gather_patches(group.cells, group.in, begin, end, columns,
                   [channels](std::int64_t t, std::int64_t c) { return t * channels + c; });
    multiply(count, columns, count, group.w, nullptr, product, count, call.workspace->packed);
    each_image(cells, begin, end, [&](std::int64_t image, std::int64_t first, std::int64_t last, std::int64_t row) {
      scatter_cells(group.cells, product + row, count, n, 1, first, last, group.out.pixels, out + image * group.out.step);
    });
  }
}

}  // namespace

Kernel make_variable_conv(const Graph&, const Node& node) {
  const auto& window = std::get<Window>(node.attributes);
  const bool transposed = node.op == Op::conv_transpose;
  return [plan = transposed ? plan_conv_transpose(window) : plan_conv(window), groups = window.groups,
          transposed](const Call& call) {
    const Shape &from = *call.in[0].shape, &filter = *call.in[1].shape, &to = *call.shape;
    const std::int64_t in_pixels = pixels_of(from), out_pixels = pixels_of(to), read = from[1] / groups, written = to[1] / groups;
    std::int64_t of_columns = 0, of_product = 0;
    for (const Cells& cells : plan) {
      const auto k = static_cast<std::int64_t>(cells.taps.size()) * read,
                 rows = rows_together(k, from[0] * static_cast<std::int64_t>(cells.pixels.size()));
      of_columns = std::max(of_columns, rows * k);
      of_product = std::max(of_product, rows * written);
    }
    const auto [in_lane, filter_lane, out_lane, columns, product] =
        call.scratch(std::array{lane_size(from, call.lanes_of(0)), lane_size(filter, call.lanes_of(1)), lane_size(to, call.lanes),
                                of_columns, of_product});
    for (std::int64_t lane = 0; lane < call.lanes; ++lane) {
      const float *in = lane_of(call, 0, lane, in_lane), *own_filter = lane_of(call, 1, lane, filter_lane);
      float* const out = call.lanes == 1 ? call.out : out_lane;
      for (const Cells& cells : plan) {
        for (std::int64_t group = 0; group < groups; ++group) {
          const FilterOrder order{own_filter, filter, cells.taps, group, groups, transposed};
          const Weights w(static_cast<std::int64_t>(cells.taps.size()) * read, written, Weights::Rest::padded,
                          [&](std::int64_t first, std::int64_t count) { return order.rows(first, count); });
          const Planes image{in + group * read * in_pixels, from[1] * in_pixels, in_pixels, read},
              result{nullptr, to[1] * out_pixels, out_pixels, written};
          run_group_of_images(call, {cells, w, image, result}, from[0], out + group * written * out_pixels, columns, product);
        }
      }
      write_lane(call, lane, out);
    }
  };
}

// The gradient of a group's filter [out channels, in channels, taps] is cᵀ P: P has a patch per output pixel, c its cotangents.
Kernel make_filter_grad(const Graph&, const Node& node) {
  const auto& window = std::get<Window>(node.attributes);
  return [cells = plan_conv(window)[0], groups = window.groups](const Call& call) {
    const Shape &x = *call.in[0].shape, &c = *call.in[1].shape;
    const auto taps = static_cast<std::int64_t>(cells.taps.size()), pixels = static_cast<std::int64_t>(cells.pixels.size());
    const std::int64_t read = x[1] / groups, written = c[1] / groups, k = read * taps, rows = x[0] * pixels;
    const std::int64_t block = rows_together(k, rows), height = padded_rows(k);
    const auto [x_lane, c_lane, out_lane, columns, cotangents, sums] =
        call.scratch(std::array{lane_size(x, call.lanes_of(0)), lane_size(c, call.lanes_of(1)),
                                lane_size(*call.shape, call.lanes), block * k, block * written, height * written});
    for (std::int64_t lane = 0; lane < call.lanes; ++lane) {
      const float *in = lane_of(call, 0, lane, x_lane), *seed = lane_of(call, 1, lane, c_lane);
      float* const out = call.lanes == 1 ? call.out : out_lane;
      for (std::int64_t group = 0; group < groups; ++group) {
        const Planes image{in + group * read * pixels_of(x), x[1] * pixels_of(x), pixels_of(x), read},
            result{seed + group * written * pixels, c[1] * pixels, pixels, written};
        std::fill_n(sums, height * written, 0.0F);
        for (std::int64_t begin = 0; begin < rows; begin += block) {
          call.stop_if_asked();
          const std::int64_t end = std::min(rows, begin + block), count = end - begin;
          gather_patches(cells, image, begin, end, columns, [taps](std::int64_t t, std::int64_t i) { return i * taps + t; });
          each_image(pixels, begin, end, [&](std::int64_t n, std::int64_t first, std::int64_t last, std::int64_t row) {
            for (std::int64_t o = 0; o < written; ++o)
              std::copy_n(result.data + n * result.step + o * pixels + first, last - first, cotangents + o * count + row);
          });
          add_transposed_product({count, k, written}, columns, cotangents, sums, call.workspace->packed);
        }
        for (std::int64_t o = 0; o < written; ++o) std::copy_n(sums + o * height, k, out + (group * written + o) * k);
      }
      write_lane(call, lane, out);
    }
  };
}

}  // namespace probust::cpu
