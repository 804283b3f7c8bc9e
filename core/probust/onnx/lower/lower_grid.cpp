// SPDX-License-Identifier: MIT
// Sampling of images at given positions: GridSample becomes arithmetic that converts normalised positions to pixels, followed by
// grid_sample. AffineGrid multiplies the positions of an image's pixels by a matrix.
#include <utility>

#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

bool align_corners(Lowering& l) { return l.attribute("align_corners", std::int64_t{0}) != 0; }

GridAttributes::Interpolation interpolation_of(Lowering& l) {
  const std::string mode = l.attribute("mode", std::string(l.opset < 20 ? "bilinear" : "linear"));
  if (mode == "nearest") return GridAttributes::Interpolation::nearest;
  if (mode == "linear" || mode == "bilinear") return GridAttributes::Interpolation::linear;
  if (mode == "cubic" || mode == "bicubic") return GridAttributes::Interpolation::cubic;
  l.unsupported("has an unknown mode '" + mode + "'");
}

GridAttributes::Padding padding_of(Lowering& l) {
  const std::string mode = l.attribute("padding_mode", std::string("zeros"));
  if (mode == "zeros") return GridAttributes::Padding::zeros;
  if (mode == "border") return GridAttributes::Padding::border;
  if (mode == "reflection")
    return align_corners(l) ? GridAttributes::Padding::reflect_centres : GridAttributes::Padding::reflect_edges;
  l.unsupported("has an unknown padding_mode '" + mode + "'");
}

// From (x, y) [N, H, W, 2] between -1 and 1 to (row, column) [N, 2, H, W] in pixels: (x + 1) (extent - 1) / 2 if -1 and 1 are the
// centres of the outermost pixels, else ((x + 1) extent - 1) / 2.
ValueId pixels_of(Lowering& l, ValueId grid, std::int64_t rows, std::int64_t columns) {
  const bool centres = align_corners(l);
  const ValueId planes = l.add_node(Op::transpose, {grid}, PermutationAttribute{{0, 3, 1, 2}});
  const ValueId rows_first = l.add_node(Op::gather, {planes}, GatherAttributes{1, {1, 0}, 2});
  const auto half = [&](std::int64_t extent) { return static_cast<float>(centres ? extent - 1 : extent) / 2; };
  const ValueId from_low = l.add_node(Op::add, {rows_first, l.scalar(1)});
  const ValueId scaled = l.add_node(Op::multiply, {from_low, l.tensor(Tensor({2, 1, 1}, {half(rows), half(columns)}))});
  return centres ? scaled : l.add_node(Op::subtract, {scaled, l.scalar(0.5F)});
}

void grid_sample(Lowering& l) {
  const Shape image = l.shape(0), grid = l.shape(1);
  if (image.size() == 5) l.unsupported("cannot sample a volume", "only images [N, C, H, W] can be sampled");
  if (image.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != image[0])
    l.malformed("has an image " + to_string(image) + " and a grid " + to_string(grid) + ", which do not fit each other");
  GridAttributes attributes{image[2], image[3], interpolation_of(l), padding_of(l)};
  attributes.cubic = -0.75F;
  l.set(0, l.add_node(Op::grid_sample, {l.in(0), pixels_of(l, l.in(1), image[2], image[3])}, attributes));
}

// The position of a pixel between -1 and 1, on an axis of `extent` pixels.
float normalised(std::int64_t pixel, std::int64_t extent, bool centres) {
  if (centres)
    return extent == 1 ? 0 : static_cast<float>(2.0 * static_cast<double>(pixel) / static_cast<double>(extent - 1) - 1);
  return static_cast<float>((2.0 * static_cast<double>(pixel) + 1) / static_cast<double>(extent) - 1);
}

// theta [N, 2, 3] times (x, y, 1) for every pixel of an image of size [N, C, H, W].
void affine_grid(Lowering& l) {
  const Shape theta = l.shape(0);
  const std::vector<std::int64_t> size = l.integers(1);
  if (size.size() == 5) l.unsupported("cannot compute positions in a volume", "only images [N, C, H, W] can be sampled");
  if (size.size() != 4 || size[2] < 1 || size[3] < 1 || size[2] > kMaxElements || size[3] > kMaxElements)
    l.malformed("has a size " + to_string(size) + ", which is not a shape [N, C, H, W]");
  if (theta.size() != 3 || theta[1] != 2 || theta[2] != 3)
    l.malformed("has a theta " + to_string(theta) + ", which is not [N, 2, 3]");
  if (l.without_batch(size)[0] != theta[0])
    l.malformed("has a size " + to_string(size) + " and a theta " + to_string(theta) + " of different batches");
  const std::int64_t rows = size[2], columns = size[3];
  l.spend(element_count({rows, columns, 3}));
  Tensor base({rows * columns, 3});
  for (std::int64_t e = 0; e < rows * columns; ++e) {
    base.data[3 * e] = normalised(e % columns, columns, align_corners(l));
    base.data[3 * e + 1] = normalised(e / columns, rows, align_corners(l));
    base.data[3 * e + 2] = 1;
  }
  const ValueId grid = l.add_node(Op::matmul, {l.tensor(std::move(base)), l.in(0)}, MatmulAttributes{false, true});
  l.set(0, build::reshape(l.graph, grid, {theta[0], rows, columns, 2}));
}

constexpr OnnxOperator kGridOperators[] = {
    {"AffineGrid", affine_grid, true, 20},
    {"GridSample", grid_sample, true, 16},
};

}  // namespace

std::span<const OnnxOperator> grid_operators() { return kGridOperators; }

}  // namespace probust::onnx
