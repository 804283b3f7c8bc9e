// SPDX-License-Identifier: MIT
// A convolution or transposed convolution is a gather of pixels followed by a matrix product with the constant filter:
//
//   out[cell, lane, n] = sum over taps t and channels c of  in[c, source(cell, t), lane]  w[(t, c), n].
//
// For conv, cells are output pixels. For conv_transpose, image pixels are split into phases by (y + pad) mod stride. Pixels of a
// phase use the same taps of the filter, so each phase is one product, without work on zeros between pixels.
// The lanes of a pixel are contiguous, so a run of neighbouring pixels is one copy.
#include <algorithm>

#include "probust/exec/cpu/copy_ranges.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/packed_forms.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

using Constant = std::shared_ptr<const Tensor>;

// One product: its cells, where they go, and what each tap reads.
struct Gather {
  std::vector<std::int64_t> cells;                      // destination pixel of each cell
  bool contiguous = true;                               // cells are all pixels in order
  std::vector<std::vector<CopyRange>> taps;             // per tap
  std::vector<std::shared_ptr<const Weights>> filters;  // per group: [(tap, channel), n]
};

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

// filter[o, c, t] of one group as a matrix [(tap, in), out], a block of rows at a time. A transposed convolution reads the
// filter's outputs.
struct FilterOrder {
  const Tensor& filter;
  const std::vector<std::int64_t>& taps;
  std::int64_t group, groups;
  bool transposed;

  std::int64_t outs() const { return filter.shape[0] / groups; }
  std::int64_t channels() const { return filter.shape[1]; }
  std::int64_t read() const { return transposed ? outs() : channels(); }
  std::int64_t written() const { return transposed ? channels() : outs(); }

  Eigen::MatrixXf rows(std::int64_t first, std::int64_t count) const {
    const std::int64_t kernel = filter.size() / (filter.shape[0] * channels());
    Eigen::MatrixXf w(count, written());
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t tap = taps[(first + row) / read()], in = (first + row) % read();
      for (std::int64_t out = 0; out < written(); ++out) {
        const std::int64_t o = transposed ? in : out, c = transposed ? out : in;
        w(row, out) = filter.data[((group * outs() + o) * channels() + c) * kernel + tap];
      }
    }
    return w;
  }
};

void arrange_filters(Gather& gather, const Constant& filter, const std::vector<std::int64_t>& taps, std::int64_t groups,
                     bool transposed) {
  const Weights::Rest rest = rest_for(static_cast<std::int64_t>(gather.cells.size()));
  std::vector<std::int64_t> order{transposed ? 1 : 0, groups, rest == Weights::Rest::padded ? 1 : 0, 0};
  order.insert(order.end(), taps.begin(), taps.end());
  for (std::int64_t group = 0; group < groups; ++group) {
    order[3] = group;
    const FilterOrder own{*filter, taps, group, groups, transposed};
    gather.filters.push_back(shared_form<Weights>(filter, Form::filter, order, [&] {
      const std::int64_t rows = static_cast<std::int64_t>(taps.size()) * own.read();
      return std::make_shared<const Weights>(rows, own.written(), rest,
                                             [&](std::int64_t first, std::int64_t count) { return own.rows(first, count); });
    }));
  }
}

std::vector<Gather> plan_conv(const Window& window, const Constant& filter) {
  Gather gather;
  const Shape output = window.output(), strides = row_major_strides(window.image);
  std::vector<std::int64_t> all_taps;
  for_each_cell(window.kernel, [&](const Shape& tap, std::int64_t index) {
    all_taps.push_back(index);
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
    gather.taps.push_back(copy_ranges(sources));
  });
  gather.cells.resize(static_cast<std::size_t>(element_count(output)));
  arrange_filters(gather, filter, all_taps, window.groups, false);
  return {gather};
}

// The gather for image pixels with (y + pad) mod stride = phase.
Gather plan_phase(const Window& window, const Constant& filter, const Shape& phase) {
  Gather gather;
  const Shape output = window.output(), strides = row_major_strides(output);
  std::vector<Shape> pixels;
  for_each_cell(window.image, [&](const Shape& pixel, std::int64_t index) {
    for (std::size_t i = 0; i < pixel.size(); ++i) {
      if ((pixel[i] + window.pad_low[i]) % window.stride[i] != phase[i]) return;
    }
    gather.contiguous = gather.contiguous && index == static_cast<std::int64_t>(gather.cells.size());
    gather.cells.push_back(index);
    pixels.push_back(pixel);
  });
  std::vector<std::int64_t> taps;
  for_each_cell(window.kernel, [&](const Shape& tap, std::int64_t index) {
    for (std::size_t i = 0; i < tap.size(); ++i) {
      if (tap[i] * window.dilation[i] % window.stride[i] != phase[i]) return;
    }
    taps.push_back(index);
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
    gather.taps.push_back(copy_ranges(sources));
  });
  arrange_filters(gather, filter, taps, window.groups, true);
  return gather;
}

std::vector<Gather> plan_conv_transpose(const Window& window, const Constant& filter) {
  std::vector<Gather> phases;
  for_each_cell(window.stride, [&](const Shape& phase, std::int64_t) {
    Gather gather = plan_phase(window, filter, phase);
    if (!gather.cells.empty()) phases.push_back(std::move(gather));
  });
  if (phases.size() > 1) {
    for (Gather& gather : phases) gather.contiguous = false;
  }
  return phases;
}

// Copies rows begin .. end - 1 of the gather from the product [rows, n] to their pixels.
void scatter_rows(const Gather& gather, const float* product, std::int64_t product_stride, std::int64_t n, std::int64_t lanes,
                  std::int64_t begin, std::int64_t end, std::int64_t pixels, float* out) {
  for (std::int64_t channel = 0; channel < n; ++channel) {
    const float* from = product + channel * product_stride;
    float* plane = out + channel * pixels * lanes;
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t cell = row / lanes, stop = gather.contiguous ? end : std::min(end, (cell + 1) * lanes);
      const std::int64_t pixel = gather.contiguous ? cell : gather.cells[cell];
      std::copy_n(from + (row - begin), stop - row, plane + pixel * lanes + (row - cell * lanes));
      row = stop;
    }
  }
}

// One group of one image: in [channels, in_pixels, lanes], out [n, out_pixels, lanes].
void run_group(const Call& call, const Gather& gather, const Weights& w, const float* bias, const float* in,
               std::int64_t in_pixels, float* out, std::int64_t out_pixels) {
  const std::int64_t lanes = call.lanes, rows = static_cast<std::int64_t>(gather.cells.size()) * lanes, k = w.rows(),
                     n = w.cols();
  const std::int64_t channels = gather.taps.empty() ? 0 : k / static_cast<std::int64_t>(gather.taps.size());
  const std::int64_t fitting = kGatherBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(1, k);
  const std::int64_t block = std::min(std::max(kLeastRows, fitting / kLeastRows * kLeastRows), rows);
  const auto [columns, product] = call.scratch(std::array{block * k, gather.contiguous ? 0 : block * n});
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    call.stop_if_asked();
    const std::int64_t end = std::min(rows, begin + block), count = end - begin;
    for (std::size_t t = 0; t < gather.taps.size(); ++t) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float* column = columns + (static_cast<std::int64_t>(t) * channels + c) * count;
        copy_rows(gather.taps[t], in + c * in_pixels * lanes, lanes, begin, end, column);
      }
    }
    if (gather.contiguous) {
      multiply(count, columns, count, w, bias, out + begin, out_pixels * lanes, call.workspace->packed);
      for (std::int64_t channel = 0; channel < n; ++channel)
        call.finish(out + channel * out_pixels * lanes + begin - call.out, count);
    } else {
      multiply(count, columns, count, w, bias, product, count, call.workspace->packed);
      scatter_rows(gather, product, count, n, lanes, begin, end, out_pixels, out);
    }
  }
}

Kernel gather_kernel(std::vector<Gather> gathers, std::vector<float> bias) {
  return [gathers = std::move(gathers), bias = std::move(bias)](const Call& call) {
    const Shape &from = *call.in[0].shape, &to = *call.shape;
    const std::int64_t in_pixels = element_count({from.begin() + 2, from.end()}),
                       out_pixels = element_count({to.begin() + 2, to.end()});
    for (std::int64_t image = 0; image < from[0]; ++image) {
      for (const Gather& gather : gathers) {
        const auto groups = static_cast<std::int64_t>(gather.filters.size());
        for (std::int64_t group = 0; group < groups; ++group) {
          const float* in = call.in[0].data + (image * from[1] + group * (from[1] / groups)) * in_pixels * call.lanes;
          float* out = call.out + (image * to[1] + group * (to[1] / groups)) * out_pixels * call.lanes;
          const float* added = bias.empty() ? nullptr : bias.data() + group * (to[1] / groups);
          run_group(call, gather, *gather.filters[group], added, in, in_pixels, out, out_pixels);
        }
      }
    }
    if (!gathers.empty() && !gathers[0].contiguous) call.finish(0, element_count(to) * call.lanes);
  };
}

Constant filter_of(const Graph& graph, const Node& node) {
  return std::get<ConstantData>(graph[node.inputs[1]].attributes).tensor;
}

}  // namespace

// Each product of a transposed convolution has the pixels of one phase.
Product make_constant_conv(const Graph& graph, const Node& node, std::vector<float> bias) {
  const auto& window = std::get<Window>(node.attributes);
  const bool transposed = node.op == Op::conv_transpose;
  const Constant filter = filter_of(graph, node);
  const std::int64_t cells = element_count(transposed ? window.image : window.output());
  const std::int64_t rows = std::max<std::int64_t>(1, cells / (transposed ? element_count(window.stride) : 1));
  const auto plan = transposed ? plan_conv_transpose : plan_conv;
  return {gather_kernel(plan(window, filter), std::move(bias)), rows, packed_bytes(filter->size(), rest_for(rows))};
}

}  // namespace probust::cpu
