// SPDX-License-Identifier: MIT
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

struct SampleImage {
  Grid grid;
  Operand image, at;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const std::int64_t q = e % grid.positions, plane = e / grid.positions;
    const float* const position = at.floats(lane) + plane / grid.channels * 2 * grid.positions + q;
    const float* const x = image.floats(lane) + plane * grid.pixels;
    const GridAxis::Place row = grid.rows.place(position[0]), column = grid.columns.place(position[grid.positions]);
    float sum = 0;
    for (int j = 0; j < grid.columns.taps; ++j) {
      const std::int32_t c = grid.columns.cell(column.first + j);
      float part = 0;
      for (int i = 0; i < grid.rows.taps; ++i) {
        const std::int32_t r = grid.rows.cell(row.first + i);
        part += grid.rows.weight_of(i, row.u) * (r < 0 || c < 0 ? 0.0F : x[r * grid.columns.extent + c]);
      }
      sum += grid.columns.weight_of(j, column.u) * part;
    }
    to.floats(lane)[e] = sum;
  }
};

// One thread adds up all terms of a plane, position by position, so the sums do not depend on the order of threads.
struct SampleTranspose {
  Grid grid;
  Operand values, at;
  Output to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t plane) const {
    const float* const position = at.floats(lane) + plane / grid.channels * 2 * grid.positions;
    const float* const value = values.floats(lane) + plane * grid.positions;
    float* const y = to.floats(lane) + plane * grid.pixels;
    for (std::int64_t pixel = 0; pixel < grid.pixels; ++pixel) y[pixel] = 0;
    for (std::int64_t q = 0; q < grid.positions; ++q) {
      const GridAxis::Place row = grid.rows.place(position[q]), column = grid.columns.place(position[grid.positions + q]);
      for (int j = 0; j < grid.columns.taps; ++j) {
        const std::int32_t c = grid.columns.cell(column.first + j);
        const float part = grid.columns.weight_of(j, column.u) * value[q];
        for (int i = 0; i < grid.rows.taps; ++i) {
          const std::int32_t r = grid.rows.cell(row.first + i);
          if (r >= 0 && c >= 0) y[r * grid.columns.extent + c] += grid.rows.weight_of(i, row.u) * part;
        }
      }
    }
  }
};

}  // namespace

void grid_sample(Device& device, const Grid& grid, Operand image, Operand at, Output to) {
  for_each_element(device, to.lanes, to.elements, SampleImage{grid, image, at, to});
}

void grid_sample_transpose(Device& device, const Grid& grid, Operand values, Operand at, Output to) {
  for_each_element(device, to.lanes, grid.images * grid.channels, SampleTranspose{grid, values, at, to});
}

}  // namespace probust::cuda
