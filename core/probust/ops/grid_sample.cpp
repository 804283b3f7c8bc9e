// SPDX-License-Identifier: MIT
// Sampling images x [N, C, rows, columns] at positions b [N, 2, ..] -> [N, C, ..]. b[n, 0] is the row and b[n, 1] the column, in
// pixels: pixel 0 has its centre at 0. The interpolating function is a sum over pixels,
//   y[n, c, q] = sum_{i, j} w(b[n, 0, q] - i) w(b[n, 1, q] - j) x[n, c, i, j],
// with w piecewise polynomial: a box, a triangle, or Keys' kernel ("Cubic convolution interpolation for digital image
// processing", 1981, eq. 15). So its derivative with respect to the row or the column is the same sum with the derivative of
// w; an attribute gives the order of derivatives. Together with grid_sample_transpose, the transpose with respect to the
// image, the family is closed. At kinks of w, the derivative is that on the right. Positions that are not finite give NaN.
#include <vector>

#include "probust/ops/build.h"
#include "probust/ops/families.h"
#include "probust/ops/grid_axis.h"

namespace probust {
namespace ops {
namespace {

using Interpolation = GridAttributes::Interpolation;
using Padding = GridAttributes::Padding;

constexpr std::int64_t kMostPixels = std::int64_t{1} << 22;  // along an axis, because positions are float32

int degree(Interpolation interpolation) {
  return interpolation == Interpolation::nearest ? 0 : interpolation == Interpolation::linear ? 1 : 3;
}

// w at the distances of the taps from a position: polynomials in u.
void set_weights(GridAxis& axis, Interpolation interpolation, float a) {
  auto& w = axis.weight;
  const auto set = [&](int tap, float one, float u, float square, float cube) {
    w[0][tap] = one;
    w[1][tap] = u;
    w[2][tap] = square;
    w[3][tap] = cube;
  };
  if (interpolation == Interpolation::nearest) {
    set(0, 1, 0, 0, 0);
  } else if (interpolation == Interpolation::linear) {
    set(0, 1, -1, 0, 0);
    set(1, 0, 1, 0, 0);
  } else {
    set(0, 0, a, -2 * a, a);
    set(1, 1, 0, -(a + 3), a + 2);
    set(2, 0, -a, 2 * a + 3, -(a + 2));
    set(3, 0, 0, a, -a);
  }
}

void differentiate(GridAxis& axis) {
  for (int power = 0; power < GridAxis::kPowers; ++power) {
    for (int tap = 0; tap < GridAxis::kTaps; ++tap) {
      const auto next = static_cast<float>(power + 1);
      axis.weight[power][tap] = power + 1 < GridAxis::kPowers ? next * axis.weight[power + 1][tap] : 0;
    }
  }
}

GridAxis axis_of(const GridAttributes& attributes, std::int64_t extent, std::int32_t derivative) {
  GridAxis axis;
  axis.extent = static_cast<std::int32_t>(extent);
  axis.taps = degree(attributes.interpolation) + 1;
  axis.before = axis.taps == 4 ? 1 : 0;
  axis.zeros = attributes.padding == Padding::zeros;
  axis.twice = attributes.padding == Padding::reflect_edges;
  if (axis.twice) axis.period = 2 * axis.extent;
  // For a single pixel, the period is 0, so the pixel is repeated, as with Padding::border.
  if (attributes.padding == Padding::reflect_centres) axis.period = 2 * (axis.extent - 1);
  const std::int32_t last = axis.period > 0 ? axis.period - 1 : axis.extent + axis.before;
  axis.lowest = static_cast<float>(axis.period > 0 ? 0 : axis.before - axis.taps);
  axis.highest = static_cast<float>(last);
  set_weights(axis, attributes.interpolation, attributes.cubic);
  for (std::int32_t i = 0; i < derivative; ++i) differentiate(axis);
  return axis;
}

Shape planes_of(const Shape& values, const Shape& spatial) {
  Shape shape{values[0], values[1]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

Shape spatial_part(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void require_positions(std::string_view op, const GridAttributes& attributes, const Shape& values, const Shape& positions) {
  if (values.size() < 2 || positions.size() < 2 || positions[0] != values[0] || positions[1] != 2)
    misfit(op, "needs positions [N, 2, ...] for values " + to_string(values) + ", not " + to_string(positions));
  if (attributes.rows < 1 || attributes.columns < 1 || attributes.rows > kMostPixels || attributes.columns > kMostPixels)
    misfit(op, "cannot sample an image of " + std::to_string(attributes.rows) + " x " + std::to_string(attributes.columns) +
                   " pixels");
  if (attributes.row_derivative < 0 || attributes.column_derivative < 0) misfit(op, "has a derivative of negative order");
}

Shape infer_grid_sample(const Attributes& attributes, std::span<const Shape> in) {
  const auto& grid = std::get<GridAttributes>(attributes);
  require_positions("grid_sample", grid, in[0], in[1]);
  if (spatial_part(in[0]) != Shape{grid.rows, grid.columns})
    misfit("grid_sample", "has an image of shape " + to_string(in[0]) + ", but expects " + std::to_string(grid.rows) + " x " +
                              std::to_string(grid.columns) + " pixels");
  return planes_of(in[0], spatial_part(in[1]));
}

Shape infer_grid_sample_transpose(const Attributes& attributes, std::span<const Shape> in) {
  const auto& grid = std::get<GridAttributes>(attributes);
  require_positions("grid_sample_transpose", grid, in[0], in[1]);
  if (spatial_part(in[0]) != spatial_part(in[1]))
    misfit("grid_sample_transpose",
           "has values of shape " + to_string(in[0]) + ", which do not fit positions of shape " + to_string(in[1]));
  return planes_of(in[0], {grid.rows, grid.columns});
}

// Calls visit(image n, position q, pixel, weight) for every pixel that position q reads.
template <class Visit>
void for_each_pixel(const GridAttributes& attributes, const Tensor& positions, const Visit& visit) {
  const GridAxis rows = row_axis(attributes), columns = column_axis(attributes);
  const std::int64_t count = element_count(spatial_part(positions.shape));
  for (std::int64_t n = 0; n < positions.shape[0]; ++n) {
    const float* const at = positions.data.data() + n * 2 * count;
    for (std::int64_t q = 0; q < count; ++q) {
      const GridAxis::Place row = rows.place(at[q]), column = columns.place(at[count + q]);
      for (int i = 0; i < rows.taps; ++i) {
        for (int j = 0; j < columns.taps; ++j) {
          const std::int32_t r = rows.cell(row.first + i), c = columns.cell(column.first + j);
          const double weight = rows.weight_of(i, double{row.u}) * columns.weight_of(j, double{column.u});
          visit(n, q, r < 0 || c < 0 ? -1 : r * attributes.columns + c, weight);
        }
      }
    }
  }
}

void eval_grid_sample(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& grid = std::get<GridAttributes>(attributes);
  const std::int64_t channels = y.shape[1], pixels = grid.rows * grid.columns, count = element_count(spatial_part(y.shape));
  std::vector<double> sums(y.data.size());
  for_each_pixel(grid, *in[1], [&](std::int64_t n, std::int64_t q, std::int64_t pixel, double weight) {
    for (std::int64_t p = n * channels; p < (n + 1) * channels; ++p)
      sums[p * count + q] += weight * (pixel < 0 ? 0.0 : double{in[0]->data[p * pixels + pixel]});
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

void eval_grid_sample_transpose(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& grid = std::get<GridAttributes>(attributes);
  const std::int64_t channels = y.shape[1], pixels = grid.rows * grid.columns, count = element_count(spatial_part(in[0]->shape));
  std::vector<double> sums(y.data.size());
  for_each_pixel(grid, *in[1], [&](std::int64_t n, std::int64_t q, std::int64_t pixel, double weight) {
    if (pixel < 0) return;
    for (std::int64_t p = n * channels; p < (n + 1) * channels; ++p)
      sums[p * pixels + pixel] += weight * in[0]->data[p * count + q];
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

// The derivative of sum_{c, q} values[c, q] (image sampled at the positions)[c, q] with respect to the positions.
ValueId by_position(Graph& g, ValueId image, ValueId values, ValueId positions, const GridAttributes& grid) {
  Shape along = g[positions].shape;
  along[1] = 1;
  std::vector<ValueId> slopes;
  bool flat = true;
  for (const bool row : {true, false}) {
    GridAttributes next = grid;
    const std::int32_t order = ++(row ? next.row_derivative : next.column_derivative);
    if (order > degree(grid.interpolation)) {
      slopes.push_back(build::broadcast(g, build::constant(g, 0), along));
      continue;
    }
    flat = false;
    const ValueId slope = append(g, Op::grid_sample, {image, positions}, next);
    slopes.push_back(build::reduce_sum(g, build::multiply(g, values, slope), {1}));
  }
  return flat ? kNoValue : append(g, Op::concat, slopes, AxisAttribute{1});
}

ValueId vjp_grid_sample(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const ValueId image = g[y].inputs[0], positions = g[y].inputs[1];
  const auto grid = std::get<GridAttributes>(g[y].attributes);
  return operand == 0 ? append(g, Op::grid_sample_transpose, {c, positions}, grid) : by_position(g, image, c, positions, grid);
}

ValueId vjp_grid_sample_transpose(Graph& g, ValueId y, std::size_t operand, ValueId v) {
  const ValueId values = g[y].inputs[0], positions = g[y].inputs[1];
  const auto grid = std::get<GridAttributes>(g[y].attributes);
  return operand == 0 ? append(g, Op::grid_sample, {v, positions}, grid) : by_position(g, v, values, positions, grid);
}

// Counts the weights of each position, and a product for every channel and tap.
double flops_grid(const Attributes& attributes, std::span<const Shape> in, const Shape&) {
  const auto taps = static_cast<double>(degree(std::get<GridAttributes>(attributes).interpolation) + 1);
  const double positions = count(in[1]) / 2;
  return positions * (12 * taps + 2 * taps * taps * static_cast<double>(in[0][1]));
}

constexpr OpDefinition kGridSampleFamily[] = {
    {Op::grid_sample, "grid_sample", "y[n, c, q] = image a[n, c] interpolated at row b[n, 0, q] and column b[n, 1, q]", 2, 2,
     infer_grid_sample, eval_grid_sample, vjp_grid_sample, flops_grid, affine(0b1)},
    {Op::grid_sample_transpose, "grid_sample_transpose", "y[n, c] += a[n, c, q] times the weights of grid_sample at b[n, :, q]",
     2, 2, infer_grid_sample_transpose, eval_grid_sample_transpose, vjp_grid_sample_transpose, flops_grid, affine(0b1)},
};

}  // namespace

std::span<const OpDefinition> grid_sample_family() { return kGridSampleFamily; }

}  // namespace ops

GridAxis row_axis(const GridAttributes& attributes) {
  return ops::axis_of(attributes, attributes.rows, attributes.row_derivative);
}

GridAxis column_axis(const GridAttributes& attributes) {
  return ops::axis_of(attributes, attributes.columns, attributes.column_derivative);
}

}  // namespace probust
