// SPDX-License-Identifier: MIT
// Convolution as one trilinear form. With an image x [N, C, image], a filter w [O, C / groups, kernel], a cotangent c [N, O,
// output] and the window's map (output position q, tap t) -> image position q stride - pad + t dilation,
//
//   T(x, w, c) = sum over n, o, i, q, t of  c[n, o, q]  w[o, i, t]  x[n, group(o) C / groups + i, q stride - pad + t dilation],
//
// the three operators are its partial derivatives: conv = dT/dc, conv_transpose = dT/dx, conv_filter_grad = dT/dw. So the
// cotangent of each with respect to either operand is one of the other two. Any number of spatial axes.
#include <functional>

#include "probust/ops/build.h"
#include "probust/ops/families.h"
#include "probust/ops/windows.h"

namespace probust::ops {
namespace {

// The extents that all three operators use.
struct Sizes {
  std::int64_t batch, in_channels, out_channels;
};

void check_spatial(std::string_view op, const Shape& shape, const Shape& spatial) {
  if (shape.size() != spatial.size() + 2)
    misfit(op, "has an operand of shape " + to_string(shape) + ", which has the wrong rank");
  if (!std::equal(spatial.begin(), spatial.end(), shape.begin() + 2)) {
    misfit(op, "has an operand of shape " + to_string(shape) + ", which does not end with the window's extents " +
                   to_string(spatial));
  }
}

Shape join(std::int64_t first, std::int64_t second, const Shape& spatial) {
  Shape shape{first, second};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

void check_channels(std::string_view op, std::int64_t channels, std::int64_t groups) {
  if (groups < 1 || channels % groups != 0) {
    misfit(op, "cannot divide " + std::to_string(channels) + " channels into " + std::to_string(groups) + " groups");
  }
}

Shape infer_conv(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  check_spatial("conv", in[0], window.image);
  check_spatial("conv", in[1], window.kernel);
  check_channels("conv", in[1][0], window.groups);
  if (in[0][1] != in[1][1] * window.groups) {
    misfit("conv",
           "has an image of " + std::to_string(in[0][1]) + " channels, which does not fit the filter " + to_string(in[1]));
  }
  return join(in[0][0], in[1][0], window.output());
}

Shape infer_conv_transpose(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  check_spatial("conv_transpose", in[0], window.output());
  check_spatial("conv_transpose", in[1], window.kernel);
  check_channels("conv_transpose", in[1][0], window.groups);
  if (in[0][1] != in[1][0])
    misfit("conv_transpose",
           "has a cotangent of " + std::to_string(in[0][1]) + " channels and a filter of " + std::to_string(in[1][0]));
  return join(in[0][0], in[1][1] * window.groups, window.image);
}

Shape infer_conv_filter_grad(const Attributes& attributes, std::span<const Shape> in) {
  const auto& window = std::get<Window>(attributes);
  check_spatial("conv_filter_grad", in[0], window.image);
  check_spatial("conv_filter_grad", in[1], window.output());
  check_channels("conv_filter_grad", in[0][1], window.groups);
  check_channels("conv_filter_grad", in[1][1], window.groups);
  if (in[0][0] != in[1][0])
    misfit("conv_filter_grad",
           "has an image and a cotangent of batch sizes " + std::to_string(in[0][0]) + " and " + std::to_string(in[1][0]));
  return join(in[1][1], in[0][1] / window.groups, window.kernel);
}

// Visits every term of the trilinear form: offsets into x, w and c.
void for_each_term(const Window& window, const Sizes& s,
                   const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  const std::int64_t image = element_count(window.image), kernel = element_count(window.kernel),
                     output = element_count(window.output());
  const std::int64_t in_group = s.in_channels / window.groups, out_group = s.out_channels / window.groups;
  for_each_tap(window, [&](std::int64_t at, std::int64_t t, std::int64_t q) {
    for (std::int64_t n = 0; n < s.batch; ++n) {
      for (std::int64_t o = 0; o < s.out_channels; ++o) {
        for (std::int64_t i = 0; i < in_group; ++i) {
          const std::int64_t channel = o / out_group * in_group + i;
          visit((n * s.in_channels + channel) * image + at, (o * in_group + i) * kernel + t,
                (n * s.out_channels + o) * output + q);
        }
      }
    }
  });
}

void store(const std::vector<double>& sums, Tensor& y) {
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

void eval_conv(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const Tensor &x = *in[0], &w = *in[1];
  std::vector<double> sums(y.data.size());
  for_each_term(std::get<Window>(attributes), {x.shape[0], x.shape[1], w.shape[0]},
                [&](std::int64_t ix, std::int64_t iw, std::int64_t ic) { sums[ic] += double{x.data[ix]} * double{w.data[iw]}; });
  store(sums, y);
}

void eval_conv_transpose(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const Tensor &c = *in[0], &w = *in[1];
  std::vector<double> sums(y.data.size());
  for_each_term(std::get<Window>(attributes), {c.shape[0], y.shape[1], w.shape[0]},
                [&](std::int64_t ix, std::int64_t iw, std::int64_t ic) { sums[ix] += double{c.data[ic]} * double{w.data[iw]}; });
  store(sums, y);
}

void eval_conv_filter_grad(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const Tensor &x = *in[0], &c = *in[1];
  std::vector<double> sums(y.data.size());
  for_each_term(std::get<Window>(attributes), {x.shape[0], x.shape[1], c.shape[1]},
                [&](std::int64_t ix, std::int64_t iw, std::int64_t ic) { sums[iw] += double{x.data[ix]} * double{c.data[ic]}; });
  store(sums, y);
}

// conv(x, w) with cotangent c: dT/dx = conv_transpose(c, w), dT/dw = conv_filter_grad(x, c).
ValueId vjp_conv(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const Node node = g[y];
  return operand == 0 ? append(g, Op::conv_transpose, {c, node.inputs[1]}, node.attributes)
                      : append(g, Op::conv_filter_grad, {node.inputs[0], c}, node.attributes);
}

// conv_transpose(c, w) with cotangent x: dT/dc = conv(x, w), dT/dw = conv_filter_grad(x, c).
ValueId vjp_conv_transpose(Graph& g, ValueId y, std::size_t operand, ValueId x) {
  const Node node = g[y];
  return operand == 0 ? append(g, Op::conv, {x, node.inputs[1]}, node.attributes)
                      : append(g, Op::conv_filter_grad, {x, node.inputs[0]}, node.attributes);
}

// conv_filter_grad(x, c) with cotangent w: dT/dx = conv_transpose(c, w), dT/dc = conv(x, w).
ValueId vjp_conv_filter_grad(Graph& g, ValueId y, std::size_t operand, ValueId w) {
  const Node node = g[y];
  return operand == 0 ? append(g, Op::conv_transpose, {node.inputs[1], w}, node.attributes)
                      : append(g, Op::conv, {node.inputs[0], w}, node.attributes);
}

// Counts all terms of the trilinear form, including those in the padding.
double flops_of(const Window& window, std::int64_t batch, std::int64_t in_channels, std::int64_t out_channels) {
  const std::int64_t channel_pairs = in_channels / window.groups * out_channels;
  return 2.0 * static_cast<double>(batch * channel_pairs) * count(window.kernel) * count(window.output());
}
double flops_conv(const Attributes& a, std::span<const Shape> in, const Shape& y) {
  return flops_of(std::get<Window>(a), in[0][0], in[0][1], y[1]);
}
double flops_conv_transpose(const Attributes& a, std::span<const Shape> in, const Shape& y) {
  return flops_of(std::get<Window>(a), in[0][0], y[1], in[0][1]);
}
double flops_conv_filter_grad(const Attributes& a, std::span<const Shape> in, const Shape&) {
  return flops_of(std::get<Window>(a), in[0][0], in[0][1], in[1][1]);
}

constexpr OpDefinition kConvFamily[] = {
    {Op::conv, "conv", "y[n, o, q] = sum_{i, t} w[o, i, t] x[n, i, q stride - pad + t dilation]", 2, 2, infer_conv, eval_conv,
     vjp_conv, flops_conv, affine(0b11)},
    {Op::conv_transpose, "conv_transpose", "y[n, i, q stride - pad + t dilation] = sum_{o, q, t} w[o, i, t] c[n, o, q]", 2, 2,
     infer_conv_transpose, eval_conv_transpose, vjp_conv_transpose, flops_conv_transpose, affine(0b11)},
    {Op::conv_filter_grad, "conv_filter_grad", "y[o, i, t] = sum_{n, q} c[n, o, q] x[n, i, q stride - pad + t dilation]", 2, 2,
     infer_conv_filter_grad, eval_conv_filter_grad, vjp_conv_filter_grad, flops_conv_filter_grad, affine(0b11)},
};

}  // namespace

std::span<const OpDefinition> conv_family() { return kConvFamily; }

}  // namespace probust::ops
