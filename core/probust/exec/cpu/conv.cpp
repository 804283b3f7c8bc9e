// SPDX-License-Identifier: MIT
// A convolution or transposed convolution as a gather of pixels, followed by a matrix product with the constant filter:
//
//   out[cell, lane, n] = sum over taps t and channels c of  in[c, source(cell, t), lane]  w[(t, c), n].
//
// The cells are planned in conv_plan.cpp. The lanes of a pixel are contiguous, so a run of neighbouring pixels is one copy.
#include <algorithm>

#include "probust/exec/cpu/conv_plan.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/packed_forms.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

using Constant = std::shared_ptr<const Tensor>;

// One matrix product of a convolution: the pixels to gather, and the filters.
struct Gather {
  Cells cells;
  std::vector<std::shared_ptr<const Weights>> filters;  // per group: [(tap, channel), n]
};

Gather with_filters(Cells cells, const Constant& filter, std::int64_t groups, bool transposed) {
  Gather gather{std::move(cells), {}};
  const std::vector<std::int64_t>& taps = gather.cells.taps;
  const Weights::Rest rest = rest_for(static_cast<std::int64_t>(gather.cells.pixels.size()));
  std::vector<std::int64_t> order{transposed ? 1 : 0, groups, rest == Weights::Rest::padded ? 1 : 0, 0};
  order.insert(order.end(), taps.begin(), taps.end());
  for (std::int64_t group = 0; group < groups; ++group) {
    order[3] = group;
    const FilterOrder own{filter->data.data(), filter->shape, taps, group, groups, transposed};
    gather.filters.push_back(shared_form<Weights>(filter, Form::filter, order, [&] {
      const std::int64_t rows = static_cast<std::int64_t>(taps.size()) * own.read();
      return std::make_shared<const Weights>(rows, own.written(), rest,
                                             [&](std::int64_t first, std::int64_t count) { return own.rows(first, count); });
    }));
  }
  return gather;
}

// Computes one group of one image: `in` is [channels, in_pixels, lanes], `out` is [n, out_pixels, lanes].
void run_group(const Call& call, const Gather& gather, const Weights& w, const float* bias, const float* in,
               std::int64_t in_pixels, float* out, std::int64_t out_pixels) {
  const Cells& cells = gather.cells;
  const std::int64_t lanes = call.lanes, rows = static_cast<std::int64_t>(cells.pixels.size()) * lanes, k = w.rows(),
                     n = w.cols();
  const std::int64_t channels = cells.taps.empty() ? 0 : k / static_cast<std::int64_t>(cells.taps.size());
  const std::int64_t fitting = kGatherBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(1, k);
  const std::int64_t block = std::min(std::max(kLeastRows, fitting / kLeastRows * kLeastRows), rows);
  const auto [columns, product] = call.scratch(std::array{block * k, cells.contiguous ? 0 : block * n});
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    call.stop_if_asked();
    const std::int64_t end = std::min(rows, begin + block), count = end - begin;
    for (std::size_t t = 0; t < cells.taps.size(); ++t) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float* column = columns + (static_cast<std::int64_t>(t) * channels + c) * count;
        copy_rows(cells.sources[t], in + c * in_pixels * lanes, lanes, begin, end, column);
      }
    }
    if (cells.contiguous) {
      multiply(count, columns, count, w, bias, out + begin, out_pixels * lanes, call.workspace->packed);
      for (std::int64_t channel = 0; channel < n; ++channel)
        call.finish(out + channel * out_pixels * lanes + begin - call.out, count);
    } else {
      multiply(count, columns, count, w, bias, product, count, call.workspace->packed);
      scatter_cells(cells, product, count, n, lanes, begin, end, out_pixels, out);
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
    if (!gathers.empty() && !gathers[0].cells.contiguous) call.finish(0, element_count(to) * call.lanes);
  };
}

Constant filter_of(const Graph& graph, const Node& node) {
  return std::get<ConstantData>(graph[node.inputs[1]].attributes).tensor;
}

}  // namespace

// A transposed convolution is one product per phase (plan_conv_transpose).
Product make_constant_conv(const Graph& graph, const Node& node, std::vector<float> bias) {
  const auto& window = std::get<Window>(node.attributes);
  const bool transposed = node.op == Op::conv_transpose;
  const Constant filter = filter_of(graph, node);
  const std::int64_t cells = element_count(transposed ? window.image : window.output());
  const std::int64_t rows = std::max<std::int64_t>(1, cells / (transposed ? element_count(window.stride) : 1));
  std::vector<Gather> gathers;
  for (Cells& own : (transposed ? plan_conv_transpose : plan_conv)(window))
    gathers.push_back(with_filters(std::move(own), filter, window.groups, transposed));
  return {gather_kernel(std::move(gathers), std::move(bias)), rows, packed_bytes(filter->size(), rest_for(rows))};
}

}  // namespace probust::cpu
