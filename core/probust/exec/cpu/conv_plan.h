// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "probust/exec/cpu/copy_ranges.h"
#include "probust/graph/attributes.h"

namespace probust::cpu {

/// One product of a convolution, for one channel of one image: the pixels of the result that it computes, and the pixel that each
/// tap of the filter reads for each of these. A cell is one pixel of the result.
struct Cells {
  std::vector<std::int64_t> pixels;             ///< pixels of the result, one per cell
  bool contiguous = true;                       ///< whether the cells are all pixels in order
  std::vector<std::int64_t> taps;               ///< positions of the taps in the kernel
  std::vector<std::vector<CopyRange>> sources;  ///< per tap: the pixel of the operand for every cell
};

/// conv: one product, whose cells are the output pixels.
std::vector<Cells> plan_conv(const Window& window);

/// conv_transpose: image pixels are split into phases by (y + pad) mod stride. Pixels of a phase use the same taps, so each
/// phase is one product, which skips the zeros that the stride inserts between pixels. Phases without pixels are omitted.
std::vector<Cells> plan_conv_transpose(const Window& window);

/// A filter w [O, C, taps...] of one group as a matrix [(tap, channel read), channel written], returned in blocks of rows. A
/// convolution reads C channels and writes O; a transposed convolution reads O channels and writes C.
struct FilterOrder {
  const float* filter;
  const Shape& shape;
  const std::vector<std::int64_t>& taps;
  std::int64_t group, groups;
  bool transposed;

  std::int64_t outs() const { return shape[0] / groups; }
  std::int64_t read() const { return transposed ? outs() : shape[1]; }
  std::int64_t written() const { return transposed ? shape[1] : outs(); }
  Eigen::MatrixXf rows(std::int64_t first, std::int64_t count) const;
};

/// Copies rows begin .. end - 1 of a product [rows, n], stored column by column, to the pixels of n planes; row cell * lanes + l
/// is lane l of a cell. Column c begins, with row `begin`, at product + c * product_stride.
void scatter_cells(const Cells& cells, const float* product, std::int64_t product_stride, std::int64_t n, std::int64_t lanes,
                   std::int64_t begin, std::int64_t end, std::int64_t pixels, float* out);

}  // namespace probust::cpu
