// SPDX-License-Identifier: MIT
// Pooling over windows of an image x [N, C, image] -> [N, C, output].
//
// Maxima: max_pool picks, per window, the first largest cell (a NaN counts as largest). With that choice held fixed, max_scatter
// adds c to the chosen cells and max_gather reads another image v there. The two are transposes of each other, so the family is
// closed. The choice itself is piecewise constant: its derivative is zero. Sums: sum_pool adds up each window (padding counts as
// zero); sum_unpool is its transpose. Averages are sums times a constant.
#include <cmath>

#include "probust/ops/build.h"
#include "probust/ops/families.h"
#include "probust/ops/windows.h"

namespace probust::ops {
namespace {

Shape with_spatial(const Shape& shape, const Shape& spatial) {
  Shape result{shape[0], shape[1]};
  result.insert(result.end(), spatial.begin(), spatial.end());
  return result;
}

void require_spatial(std::string_view op, const Shape& shape, const Shape& spatial) {
  if (shape.size() != spatial.size() + 2 || !std::equal(spatial.begin(), spatial.end(), shape.begin() + 2)) {
    misfit(op, "has an operand of shape " + to_string(shape) + ", which does not end with the window's extents " +
                   to_string(spatial));
  }
}

Shape infer_max_pool(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  require_spatial("max_pool", in[0], window.image);
  return with_spatial(in[0], window.output());
}

Shape infer_max_scatter(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  require_spatial("max_scatter", in[0], window.image);
  if (in[1] != with_spatial(in[0], window.output()))
    misfit("max_scatter", "has a cotangent " + to_string(in[1]) + " whose shape differs from that of the pooled image");
  return in[0];
}

Shape infer_max_gather(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  require_spatial("max_gather", in[0], window.image);
  if (in[0] != in[1])
    misfit("max_gather", "has images " + to_string(in[0]) + " and " + to_string(in[1]) + " of different shapes");
  return with_spatial(in[0], window.output());
}

Shape infer_sum_pool(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  require_spatial("sum_pool", in[0], window.image);
  return with_spatial(in[0], window.output());
}

Shape infer_sum_unpool(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  require_spatial("sum_unpool", in[0], window.output());
  return with_spatial(in[0], window.image);
}

// A window that lies entirely in the padding (dilation can step over an image) has no largest cell. Its maximum is a constant
// with derivative zero, so max_gather, which is a derivative, is 0 there.

// The offset of the chosen cell of x for every output element; -1 if its window lies entirely in the padding.
std::vector<std::int64_t> choose(const Window& window, const Tensor& x) {
  const std::int64_t planes = x.shape[0] * x.shape[1], image = element_count(window.image),
                     output = element_count(window.output());
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(planes * output), -1);
  for_each_tap(window, [&](std::int64_t at, std::int64_t /*tap*/, std::int64_t q) {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      std::int64_t& best = chosen[plane * output + q];
      const std::int64_t candidate = plane * image + at;
      const auto beats_best = [&] {
        return !std::isnan(x.data[best]) && (x.data[candidate] > x.data[best] || std::isnan(x.data[candidate]));
      };
      if (best < 0 || beats_best()) best = candidate;
    }
  });
  return chosen;
}

void eval_max_pool(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto chosen = choose(std::get<Window>(attributes), *in[0]);
  for (std::size_t i = 0; i < chosen.size(); ++i) y.data[i] = chosen[i] < 0 ? kLargestOfNone : in[0]->data[chosen[i]];
}

void eval_max_scatter(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto chosen = choose(std::get<Window>(attributes), *in[0]);
  std::fill(y.data.begin(), y.data.end(), 0.0F);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] >= 0) y.data[chosen[i]] += in[1]->data[i];
  }
}

void eval_max_gather(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto chosen = choose(std::get<Window>(attributes), *in[0]);
  for (std::size_t i = 0; i < chosen.size(); ++i) y.data[i] = chosen[i] < 0 ? 0 : in[1]->data[chosen[i]];
}

void eval_sum_pool(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& window = std::get<Window>(attributes);
  const std::int64_t planes = y.shape[0] * y.shape[1], image = element_count(window.image),
                     output = element_count(window.output());
  std::vector<double> sums(y.data.size());
  for_each_tap(window, [&](std::int64_t at, std::int64_t /*tap*/, std::int64_t q) {
    for (std::int64_t plane = 0; plane < planes; ++plane) sums[plane * output + q] += in[0]->data[plane * image + at];
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

void eval_sum_unpool(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& window = std::get<Window>(attributes);
  const std::int64_t planes = y.shape[0] * y.shape[1], image = element_count(window.image),
                     output = element_count(window.output());
  std::vector<double> sums(y.data.size());
  for_each_tap(window, [&](std::int64_t at, std::int64_t /*tap*/, std::int64_t q) {
    for (std::int64_t plane = 0; plane < planes; ++plane) sums[plane * image + at] += in[0]->data[plane * output + q];
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

ValueId vjp_max_pool(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Node node = g[y];
  return append(g, Op::max_scatter, {node.inputs[0], c}, node.attributes);
}

ValueId vjp_max_scatter(Graph& g, ValueId y, std::size_t operand, ValueId v) {
  const Node node = g[y];
  return operand == 0 ? kNoValue : append(g, Op::max_gather, {node.inputs[0], v}, node.attributes);
}

ValueId vjp_max_gather(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const Node node = g[y];
  return operand == 0 ? kNoValue : append(g, Op::max_scatter, {node.inputs[0], c}, node.attributes);
}

ValueId vjp_sum_pool(Graph& g, ValueId y, std::size_t, ValueId c) {
  return append(g, Op::sum_unpool, {c}, Attributes(g[y].attributes));
}

ValueId vjp_sum_unpool(Graph& g, ValueId y, std::size_t, ValueId c) {
  return append(g, Op::sum_pool, {c}, Attributes(g[y].attributes));
}

double flops_windows(const Attributes& attributes, std::span<const Shape> in, const Shape&) {
  const auto& window = std::get<Window>(attributes);
  return count(window.kernel) * count(window.output()) * static_cast<double>(in[0][0] * in[0][1]);
}

constexpr OpDefinition kPoolFamily[] = {
    {Op::max_pool, "max_pool", "y[q] = max_t a[q stride - pad + t dilation]", 1, 1, infer_max_pool, eval_max_pool, vjp_max_pool,
     flops_windows},
    {Op::max_scatter, "max_scatter", "y[argmax of a's window q] += b[q]", 2, 2, infer_max_scatter, eval_max_scatter,
     vjp_max_scatter, flops_windows, affine(0b10)},
    {Op::max_gather, "max_gather", "y[q] = b[argmax of a's window q]", 2, 2, infer_max_gather, eval_max_gather, vjp_max_gather,
     flops_windows, affine(0b10)},
    {Op::sum_pool, "sum_pool", "y[q] = sum_t a[q stride - pad + t dilation]", 1, 1, infer_sum_pool, eval_sum_pool, vjp_sum_pool,
     flops_windows, kSums},
    {Op::sum_unpool, "sum_unpool", "y[q stride - pad + t dilation] += a[q]", 1, 1, infer_sum_unpool, eval_sum_unpool,
     vjp_sum_unpool, flops_windows, kSums},
};

}  // namespace

std::span<const OpDefinition> pool_family() { return kPoolFamily; }

}  // namespace probust::ops
