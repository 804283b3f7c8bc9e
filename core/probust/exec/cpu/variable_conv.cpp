// SPDX-License-Identifier: MIT
// Convolutions whose filter is not constant, and the gradients of filters, as in training, where the batch is the first axis of
// the image and there is one lane. Patches of many images are gathered together, because a small image alone has too few rows for
// the matrix-product kernel. Each lane is computed separately, so its sums do not depend on the number of lanes.
#include <algorithm>
#include <array>

#include "probust/exec/cpu/conv_plan.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {
namespace {

// The maximum number of rows in one sum of products: longer sums only add rounding error.
constexpr std::int64_t kMostRows = 1024;

std::int64_t pixels_of(const Shape& shape) { return element_count({shape.begin() + 2, shape.end()}); }

// The number of rows, out of `rows` with k values each, to gather at once.
std::int64_t rows_together(std::int64_t k, std::int64_t rows) {
  const std::int64_t fitting = kGatherBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(1, k);
  return std::min({std::max(kLeastRows, fitting / kLeastRows * kLeastRows), kMostRows / kLeastRows * kLeastRows, rows});
}

// The number of scratch floats for one lane of an operand or of the result; none if there is one lane, which is contiguous.
std::int64_t lane_size(const Shape& shape, std::int64_t lanes) { return lanes == 1 ? 0 : element_count(shape); }

// One lane of an operand as contiguous values. If they must be copied, `memory` has room for lane_size() floats.
const float* lane_of(const Call& call, std::size_t operand, std::int64_t lane, float* memory) {
  const std::int64_t own = call.lanes_of(operand), size = element_count(*call.in[operand].shape);
  const float* const from = call.in[operand].data;
  if (own == 1) return from;
  for (std::int64_t e = 0; e < size; ++e) memory[e] = from[e * own + lane % own];
  return memory;
}

void write_lane(const Call& call, std::int64_t lane, const float* from) {
  if (call.lanes == 1) return;  // the result was computed in place
  for (std::int64_t e = 0; e < element_count(*call.shape); ++e) call.out[e * call.lanes + lane] = from[e];
}

// Calls visit(image, first cell, last cell, row) for rows begin .. end - 1 of all images; `row` is relative to `begin`.
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

// Gathers patches as columns of a matrix: column (channel, tap) contains the pixels that the tap reads for rows begin .. end - 1.
void gather_patches(const Cells& cells, const Planes& planes, std::int64_t begin, std::int64_t end, float* columns) {
  const auto size = static_cast<std::int64_t>(cells.pixels.size()), taps = static_cast<std::int64_t>(cells.taps.size());
  each_image(size, begin, end, [&](std::int64_t image, std::int64_t first, std::int64_t last, std::int64_t row) {
    for (std::int64_t c = 0; c < planes.channels; ++c) {
      for (std::int64_t t = 0; t < taps; ++t) {
        copy_rows(cells.sources[t], planes.data + image * planes.step + c * planes.pixels, 1, first, last,
                  columns + (c * taps + t) * (end - begin) + row);
      }
    }
  });
}

// Adds rows first .. last - 1 of a column to the pixels from which copy_rows would copy: its transpose.
void add_rows(const std::vector<CopyRange>& ranges, const float* column, std::int64_t first, std::int64_t last, float* plane) {
  auto range =
      std::partition_point(ranges.begin(), ranges.end(), [&](const CopyRange& r) { return r.first + r.length <= first; });
  for (std::int64_t row = first; row < last; ++range) {
    const std::int64_t stop = std::min(last, range->first + range->length);
    if (range->source >= 0) {
      float* const to = plane + range->source + (row - range->first);
      for (std::int64_t i = 0; i < stop - row; ++i) to[i] += column[row - first + i];
    }
    row = stop;
  }
}

// The transpose of gather_patches: adds every column to the pixels that the tap reads.
void scatter_patches(const Cells& cells, const float* columns, std::int64_t begin, std::int64_t end, const Planes& planes,
                     float* out) {
  const auto size = static_cast<std::int64_t>(cells.pixels.size()), taps = static_cast<std::int64_t>(cells.taps.size());
  each_image(size, begin, end, [&](std::int64_t image, std::int64_t first, std::int64_t last, std::int64_t row) {
    for (std::int64_t c = 0; c < planes.channels; ++c) {
      for (std::int64_t t = 0; t < taps; ++t)
        add_rows(cells.sources[t], columns + (c * taps + t) * (end - begin) + row, first, last,
                 out + image * planes.step + c * planes.pixels);
    }
  });
}

// Copies rows begin .. end - 1 of the planes as columns.
void gather_planes(const Planes& planes, std::int64_t begin, std::int64_t end, float* columns) {
  each_image(planes.pixels, begin, end, [&](std::int64_t image, std::int64_t first, std::int64_t last, std::int64_t row) {
    for (std::int64_t c = 0; c < planes.channels; ++c)
      std::copy_n(planes.data + image * planes.step + c * planes.pixels + first, last - first, columns + c * (end - begin) + row);
  });
}

// The extents that the three operators share: those of a filter [O, C / groups, taps], of images and of output pixels.
struct Sizes {
  Sizes(const Cells& cells, const Shape& image, const Shape& output, std::int64_t group_count)
      : images(image[0]),
        groups(group_count),
        channels(image[1] / groups),
        filters(output[1] / groups),
        image_pixels(pixels_of(image)),
        pixels(static_cast<std::int64_t>(cells.pixels.size())),
        taps(static_cast<std::int64_t>(cells.taps.size())),
        k(channels * taps),
        rows(images * pixels),
        block(rows_together(k, rows)) {}

  std::int64_t images, groups, channels, filters;  // `filters` per group
  std::int64_t image_pixels, pixels, taps, k, rows, block;

  Planes image_planes(const float* image, std::int64_t group) const {
    return {image + group * channels * image_pixels, groups * channels * image_pixels, image_pixels, channels};
  }
  Planes output_planes(const float* output, std::int64_t group) const {
    return {output + group * filters * pixels, groups * filters * pixels, pixels, filters};
  }

  // Calls visit(begin, end) for blocks of output pixels.
  template <class Visit>
  void each_block(const Call& call, Visit visit) const {
    for (std::int64_t begin = 0; begin < rows; begin += block) {
      call.stop_if_asked();
      visit(begin, std::min(rows, begin + block));
    }
  }
};

// The filters of a group as a right-hand side [k, O], or transposed [O, k], with k = (channel, tap).
Weights filter_weights(const Sizes& size, const float* filter, std::int64_t group, bool transposed) {
  const float* const own = filter + group * size.filters * size.k;
  const std::int64_t rows = transposed ? size.filters : size.k, columns = transposed ? size.k : size.filters;
  return {rows, columns, Weights::Rest::padded, [=](std::int64_t first, std::int64_t count) {
            Eigen::MatrixXf w(count, columns);
            for (std::int64_t column = 0; column < columns; ++column) {
              for (std::int64_t row = first; row < first + count; ++row)
                w(row - first, column) = own[transposed ? row * columns + column : column * rows + row];
            }
            return w;
          }};
}

// One lane of the operands and of the result, and memory for the products.
struct LaneCall {
  const float *a, *b;
  float* out;
  float *columns, *planes, *sums;
};

void run_conv(const Call& call, const Cells& cells, const Sizes& size, const LaneCall& lane) {
  for (std::int64_t group = 0; group < size.groups; ++group) {
    const Weights w = filter_weights(size, lane.b, group, false);
    const Planes image = size.image_planes(lane.a, group), result = size.output_planes(lane.out, group);
    size.each_block(call, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t count = end - begin;
      gather_patches(cells, image, begin, end, lane.columns);
      multiply(count, lane.columns, count, w, nullptr, lane.planes, count, call.workspace->packed);
      each_image(size.pixels, begin, end, [&](std::int64_t n, std::int64_t first, std::int64_t last, std::int64_t row) {
        scatter_cells(cells, lane.planes + row, count, size.filters, 1, first, last, size.pixels,
                      lane.out + group * size.filters * size.pixels + n * result.step);
      });
    });
  }
}

// Computes patches of the result and adds them up, which takes fewer multiplications than a convolution of the zero-padded
// cotangent.
void run_conv_transpose(const Call& call, const Cells& cells, const Sizes& size, const LaneCall& lane) {
  std::fill_n(lane.out, element_count(*call.shape), 0.0F);
  for (std::int64_t group = 0; group < size.groups; ++group) {
    const Weights w = filter_weights(size, lane.b, group, true);
    const Planes cotangent = size.output_planes(lane.a, group), image = size.image_planes(lane.out, group);
    size.each_block(call, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t count = end - begin;
      gather_planes(cotangent, begin, end, lane.planes);
      multiply(count, lane.planes, count, w, nullptr, lane.columns, count, call.workspace->packed);
      scatter_patches(cells, lane.columns, begin, end, image, lane.out + group * size.channels * size.image_pixels);
    });
  }
}

// The gradient of a group's filter [O, (channel, tap)] is cᵀ P: P has one patch per output pixel, and c contains the cotangents.
void run_filter_grad(const Call& call, const Cells& cells, const Sizes& size, const LaneCall& lane) {
  const std::int64_t height = padded_rows(size.k);
  for (std::int64_t group = 0; group < size.groups; ++group) {
    const Planes image = size.image_planes(lane.a, group), cotangent = size.output_planes(lane.b, group);
    std::fill_n(lane.sums, height * size.filters, 0.0F);
    size.each_block(call, [&](std::int64_t begin, std::int64_t end) {
      gather_patches(cells, image, begin, end, lane.columns);
      gather_planes(cotangent, begin, end, lane.planes);
      add_transposed_product({end - begin, size.k, size.filters}, lane.columns, lane.planes, lane.sums, call.workspace->packed);
    });
    for (std::int64_t o = 0; o < size.filters; ++o)
      std::copy_n(lane.sums + o * height, size.k, lane.out + (group * size.filters + o) * size.k);
  }
}

}  // namespace

Kernel make_variable_conv(const Graph& graph, const Node& node) {
  if (has_single_channels(graph, node)) return make_lane_conv(graph, node);
  const auto& window = std::get<Window>(node.attributes);
  const Op op = node.op;
  return [cells = plan_conv(window)[0], groups = window.groups, op](const Call& call) {
    const Shape &a = *call.in[0].shape, &b = *call.in[1].shape, &y = *call.shape;
    const Sizes size(cells, op == Op::conv_transpose ? y : a, op == Op::conv ? y : op == Op::conv_transpose ? a : b, groups);
    const auto [a_lane, b_lane, out_lane, columns, planes, sums] = call.scratch(
        std::array{lane_size(a, call.lanes_of(0)), lane_size(b, call.lanes_of(1)), lane_size(y, call.lanes), size.block * size.k,
                   size.block * size.filters, op == Op::conv_filter_grad ? padded_rows(size.k) * size.filters : 0});
    for (std::int64_t lane = 0; lane < call.lanes; ++lane) {
      float* const out = call.lanes == 1 ? call.out : out_lane;
      const auto run = op == Op::conv ? run_conv : op == Op::conv_transpose ? run_conv_transpose : run_filter_grad;
      run(call, cells, size, {lane_of(call, 0, lane, a_lane), lane_of(call, 1, lane, b_lane), out, columns, planes, sums});
      write_lane(call, lane, out);
    }
  };
}

}  // namespace probust::cpu
