// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/winograd.h"

#include <algorithm>
#include <optional>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/gemm.h"

namespace probust::cpu {
namespace {

// Rows of a product, a row being a lane of a tile, that are transformed at once: whole vectors, of which a group has several.
constexpr std::int64_t kWide = kGroup % 16 == 0 ? 16 : kGroup % 8 == 0 ? 8 : kGroup % 4 == 0 ? 4 : 1;
using Wide = Eigen::Array<float, kWide, 1>;
using Rows = Eigen::Map<Wide>;
using ConstRows = Eigen::Map<const Wide>;

// The transformations along one dimension: a tile's inputs d to coefficients, sums of products of coefficients s to outputs y, and
// filters g to coefficients. They interpolate polynomials at the points below and at infinity. The points are powers of two and
// sums of two of them, so that inputs and outputs are multiplied exactly or nearly so.
template <int Outputs>
struct Transform;

// 0, +-1
template <>
struct Transform<2> {
  static constexpr int kInputs = 4;

  static void inputs(Wide (&d)[kInputs]) {
    const Wide first = d[0] - d[2], sum = d[1] + d[2], difference = d[2] - d[1];
    d[3] -= d[1];
    d[0] = first;
    d[1] = sum;
    d[2] = difference;
  }

  static void outputs(const Wide (&s)[kInputs], Wide (&y)[2]) {
    y[0] = s[0] + s[1] + s[2];
    y[1] = s[1] - s[2] + s[3];
  }

  static double filter(int coefficient, double g0, double g1, double g2) {
    constexpr double kTaps[kInputs][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    const auto& taps = kTaps[coefficient];
    return taps[0] * g0 + taps[1] * g1 + taps[2] * g2;
  }
};

// 0, +-a, +-b. With these, outputs have half the error of the usual 0, +-1, +-2, and twice that of the direct product.
template <>
struct Transform<4> {
  static constexpr int kInputs = 6;
  static constexpr float a = 0.625F, b = 1.5F;

  static void inputs(Wide (&d)[kInputs]) {
    constexpr float aa = a * a, bb = b * b;
    const Wide first = aa * bb * d[0] - (aa + bb) * d[2] + d[4], last = aa * bb * d[1] - (aa + bb) * d[3] + d[5];
    const Wide even_a = d[4] - bb * d[2], odd_a = a * (d[3] - bb * d[1]);
    const Wide even_b = d[4] - aa * d[2], odd_b = b * (d[3] - aa * d[1]);
    d[0] = first;
    d[1] = even_a + odd_a;
    d[2] = even_a - odd_a;
    d[3] = even_b + odd_b;
    d[4] = even_b - odd_b;
    d[5] = last;
  }

  static void outputs(const Wide (&s)[kInputs], Wide (&y)[4]) {
    constexpr float aa = a * a, bb = b * b;
    const Wide even_a = s[1] + s[2], odd_a = a * (s[1] - s[2]), even_b = s[3] + s[4], odd_b = b * (s[3] - s[4]);
    y[0] = s[0] + even_a + even_b;
    y[1] = odd_a + odd_b;
    y[2] = aa * even_a + bb * even_b;
    y[3] = aa * odd_a + bb * odd_b + s[5];
  }

  static double filter(int coefficient, double g0, double g1, double g2) {
    if (coefficient == 5) return g2;
    constexpr double aa = double{a} * a, bb = double{b} * b;
    constexpr double kPoints[] = {0, a, -a, b, -b};
    constexpr double kScales[] = {aa * bb, 2 * aa * (aa - bb), 2 * aa * (aa - bb), 2 * bb * (bb - aa), 2 * bb * (bb - aa)};
    const double point = kPoints[coefficient];
    return (g0 + point * (g1 + point * g2)) / kScales[coefficient];
  }
};

// A convolution as seen by its filter, with inputs and outputs exchanged for a transposed one.
struct Convolution {
  std::shared_ptr<const Tensor> filter;  // [out, in, 3, 3]; if transposed, [in, out, 3, 3]
  bool transposed;
  std::int64_t channels_in, channels_out;
  std::array<std::int64_t, 2> in, out;  // heights and widths
  std::array<std::int64_t, 2> pad;      // zeros before the inputs; the output at y depends on inputs y - pad .. y - pad + 2
};

// Coefficient (i, j) of all filters: [in, out].
template <int Outputs>
std::shared_ptr<const Weights> coefficient_weights(const Convolution& convolution, int i, int j) {
  const auto rows = [&, i, j](std::int64_t first, std::int64_t count) {
    using T = Transform<Outputs>;
    Eigen::MatrixXf w(count, convolution.channels_out);
    for (std::int64_t out = 0; out < convolution.channels_out; ++out) {
      for (std::int64_t in = 0; in < count; ++in) {
        const std::int64_t pair = convolution.transposed ? (first + in) * convolution.channels_out + out
                                                         : out * convolution.channels_in + first + in;
        const float* const g = convolution.filter->data.data() + pair * 9;
        // A transposed convolution with stride 1 is a convolution with the filter turned by 180 degrees.
        const auto tap = [&](int y, int x) { return double{convolution.transposed ? g[8 - 3 * y - x] : g[3 * y + x]}; };
        const auto along_x = [&](int y) { return T::filter(j, tap(y, 0), tap(y, 1), tap(y, 2)); };
        w(in, out) = static_cast<float>(T::filter(i, along_x(0), along_x(1), along_x(2)));
      }
    }
    return w;
  };
  constexpr std::int64_t kForm = 100;  // apart from other packed forms of the filter
  return shared_weights(convolution.filter, {kForm, convolution.transposed ? 1 : 0, Outputs, i, j}, [&] {
    return std::make_shared<const Weights>(convolution.channels_in, convolution.channels_out, Weights::Rest::padded, rows);
  });
}

// A tile's rows and columns in the image.
struct Grid {
  std::int64_t rows, columns;
  std::int64_t count() const { return rows * columns; }
};

template <int Outputs>
class Winograd {
  using T = Transform<Outputs>;
  static constexpr int kSide = T::kInputs, kCoefficients = kSide * kSide;

 public:
  Winograd(const Convolution& convolution, std::vector<float> bias)
      : convolution_(convolution),
        bias_(std::move(bias)),
        grid_{(convolution.out[0] + Outputs - 1) / Outputs, (convolution.out[1] + Outputs - 1) / Outputs} {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) weights_.push_back(coefficient_weights<Outputs>(convolution_, i, j));
    }
    convolution_.filter.reset();  // held by the graph
  }

  void operator()(const Call& call) const {
    const std::int64_t images = (*call.shape)[0], rows = grid_.count() * call.lanes;
    const std::int64_t channels = convolution_.channels_in + convolution_.channels_out;
    const std::int64_t fitting = kTransformedBytes / kFloat / (kCoefficients * channels) / kGroup * kGroup;
    const std::int64_t whole = (rows + kGroup - 1) / kGroup * kGroup, block = std::clamp(fitting, kGroup, whole);
    const auto [transformed, products] = call.scratch(
        std::array{block * kCoefficients * convolution_.channels_in, block * kCoefficients * convolution_.channels_out});
    for (std::int64_t image = 0; image < images; ++image) {
      const float* in = call.in[0].data + image * convolution_.channels_in * pixels(convolution_.in) * call.lanes;
      float* out = call.out + image * convolution_.channels_out * pixels(convolution_.out) * call.lanes;
      for (std::int64_t begin = 0; begin < rows; begin += block) {
        call.stop_if_asked();
        const Part part{begin, std::min(rows, begin + block), std::min(block, whole - begin), call.lanes};
        transform_inputs(part, in, transformed);
        std::fill_n(products, kCoefficients * convolution_.channels_out * part.tall, 0.0F);
        for (int c = 0; c < kCoefficients; ++c) {
          add_product(part.tall, transformed + c * convolution_.channels_in * part.tall, *weights_[c],
                      products + c * convolution_.channels_out * part.tall, part.tall);
        }
        transform_outputs(part, products, out);
        if (!call.fused.empty()) finish(call, part, out);
      }
    }
  }

 private:
  static constexpr std::int64_t kTransformedBytes = 1 << 20;

  // Rows begin .. end - 1 of all, and whole groups of them.
  struct Part {
    std::int64_t begin, end, tall, lanes;
  };

  static std::int64_t pixels(const std::array<std::int64_t, 2>& extents) { return extents[0] * extents[1]; }

  // Calls use(row, tile, lane, count) for the runs of the kWide rows from `row` that share a tile; `row` counts from 0 within them.
  template <class Use>
  static void each_run(const Part& part, std::int64_t row, Use use) {
    const std::int64_t end = std::min(part.end, part.begin + row + kWide);
    for (std::int64_t at = part.begin + row; at < end;) {
      const std::int64_t tile = at / part.lanes, stop = std::min(end, (tile + 1) * part.lanes);
      use(at - part.begin - row, tile, at - tile * part.lanes, stop - at);
      at = stop;
    }
  }

  // Pixel (i, j) of a tile in the input; -1 if it is outside of it.
  std::int64_t source(std::int64_t tile, int i, int j) const {
    const std::int64_t y = tile / grid_.columns * Outputs - convolution_.pad[0] + i,
                       x = tile % grid_.columns * Outputs - convolution_.pad[1] + j;
    const bool inside = y >= 0 && y < convolution_.in[0] && x >= 0 && x < convolution_.in[1];
    return inside ? y * convolution_.in[1] + x : -1;
  }

  void transform_inputs(const Part& part, const float* in, float* transformed) const {
    const std::int64_t channels = convolution_.channels_in, plane = pixels(convolution_.in) * part.lanes;
    for (std::int64_t row = 0; row < part.tall; row += kWide) {
      std::array<Run, kWide> runs;
      const std::int64_t count = find_runs(part, row, runs);
      const bool together = count == 1 && runs[0].count == kWide;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        Wide d[kSide][kSide];
        const float* const from = in + channel * plane;
        if (together) {
          load(runs[0], from, d);
        } else {
          gather({runs.data(), static_cast<std::size_t>(count)}, from, d);
        }
        for (int i = 0; i < kSide; ++i) T::inputs(d[i]);
        float* const to = transformed + packed_index(*weights_[0], part.tall, row, channel);
        for (int j = 0; j < kSide; ++j) {
          Wide column[kSide];
          for (int i = 0; i < kSide; ++i) column[i] = d[i][j];
          T::inputs(column);
          for (int i = 0; i < kSide; ++i) Rows{to + (i * kSide + j) * channels * part.tall} = column[i];
        }
      }
    }
  }

  // Rows that share a tile.
  struct Run {
    std::int64_t row, count;                         // within kWide rows
    std::array<std::int64_t, kCoefficients> source;  // of each pixel, in floats from a plane's begin; -1: zeros
  };

  std::int64_t find_runs(const Part& part, std::int64_t row, std::array<Run, kWide>& runs) const {
    std::int64_t count = 0;
    each_run(part, row, [&](std::int64_t first, std::int64_t tile, std::int64_t lane, std::int64_t length) {
      Run& run = runs[count++];
      run.row = first;
      run.count = length;
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j) {
          const std::int64_t pixel = source(tile, i, j);
          run.source[i * kSide + j] = pixel < 0 ? -1 : pixel * part.lanes + lane;
        }
      }
    });
    return count;
  }

  static void load(const Run& run, const float* plane, Wide (&d)[kSide][kSide]) {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const std::int64_t at = run.source[i * kSide + j];
        d[i][j] = at < 0 ? Wide(Wide::Zero()) : Wide(ConstRows(plane + at));
      }
    }
  }

  static void gather(std::span<const Run> runs, const float* plane, Wide (&d)[kSide][kSide]) {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) d[i][j].setZero();
    }
    for (const Run& run : runs) {
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j) {
          const std::int64_t at = run.source[i * kSide + j];
          if (at >= 0) std::copy_n(plane + at, run.count, d[i][j].data() + run.row);
        }
      }
    }
  }

  void transform_outputs(const Part& part, const float* products, float* out) const {
    const std::int64_t channels = convolution_.channels_out, plane = pixels(convolution_.out) * part.lanes;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float bias = bias_.empty() ? 0.0F : bias_[channel];
      for (std::int64_t row = 0; row < part.tall; row += kWide) {
        Wide columns[kSide][Outputs];  // [coefficient along x][output along y]
        for (int j = 0; j < kSide; ++j) {
          Wide s[kSide];
          for (int i = 0; i < kSide; ++i)
            s[i] = ConstRows(products + ((i * kSide + j) * channels + channel) * part.tall + row);
          T::outputs(s, columns[j]);
        }
        Wide y[Outputs][Outputs];
        for (int i = 0; i < Outputs; ++i) {
          Wide s[kSide];
          for (int j = 0; j < kSide; ++j) s[j] = columns[j][i];
          T::outputs(s, y[i]);
          for (Wide& value : y[i]) value += bias;
        }
        each_run(part, row, [&](std::int64_t first, std::int64_t tile, std::int64_t lane, std::int64_t count) {
          store(y, first, tile, lane, count, part.lanes, out + channel * plane);
        });
      }
    }
  }

  void store(const Wide (&y)[Outputs][Outputs], std::int64_t first, std::int64_t tile, std::int64_t lane, std::int64_t count,
             std::int64_t lanes, float* plane) const {
    const auto [top, left, height, width] = place(tile);
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        float* const to = plane + ((top + i) * convolution_.out[1] + left + j) * lanes + lane;
        if (count == kWide) {
          Rows{to} = y[i][j];
        } else {
          std::copy_n(y[i][j].data() + first, count, to);
        }
      }
    }
  }

  // Calls Call::finish for the outputs of a part.
  void finish(const Call& call, const Part& part, float* out) const {
    for (std::int64_t channel = 0; channel < convolution_.channels_out; ++channel) {
      float* const plane = out + channel * pixels(convolution_.out) * part.lanes;
      for (std::int64_t row = part.begin; row < part.end;) {
        const std::int64_t tile = row / part.lanes, lane = row % part.lanes, count = std::min(part.end - row, part.lanes - lane);
        const auto [top, left, height, width] = place(tile);
        const bool joined = count == part.lanes;
        for (std::int64_t i = 0; i < height; ++i) {
          const std::int64_t first = plane - call.out + ((top + i) * convolution_.out[1] + left) * part.lanes + lane;
          if (joined) {
            call.finish(first, width * count);
          } else {
            for (std::int64_t j = 0; j < width; ++j) call.finish(first + j * part.lanes, count);
          }
        }
        row += count;
      }
    }
  }

  // The outputs of a tile that are in the image.
  struct Place {
    std::int64_t top, left, height, width;
  };

  Place place(std::int64_t tile) const {
    const std::int64_t top = tile / grid_.columns * Outputs, left = tile % grid_.columns * Outputs;
    return {top, left, std::min<std::int64_t>(Outputs, convolution_.out[0] - top),
            std::min<std::int64_t>(Outputs, convolution_.out[1] - left)};
  }

  Convolution convolution_;
  std::vector<float> bias_;
  Grid grid_;
  std::vector<std::shared_ptr<const Weights>> weights_;  // by coefficient
};

// The convolution if Winograd's algorithm applies: 3x3 filters, stride 1, one group.
std::optional<Convolution> applicable(const Graph& graph, const Node& node) {
  const auto& window = std::get<Window>(node.attributes);
  const Shape ones{1, 1};
  if (window.groups != 1 || window.kernel != Shape{3, 3} || window.stride != ones || window.dilation != ones) return std::nullopt;
  const auto& filter = std::get<ConstantData>(graph[node.inputs[1]].attributes).tensor;
  const auto pair = [](const Shape& extents) { return std::array{extents[0], extents[1]}; };
  const std::array large = pair(window.image), small = pair(window.output()), pad = pair(window.pad_low);
  if (node.op == Op::conv_transpose)
    return Convolution{filter, true, filter->shape[0], filter->shape[1], small, large, {2 - pad[0], 2 - pad[1]}};
  return Convolution{filter, false, filter->shape[1], filter->shape[0], large, small, pad};
}

// The side of a tile of outputs: 4 or 2, or 0 if the direct product is better. Rounding depends on it, so it depends on shapes alone
// and not on the number of lanes.
int best_tile(const Convolution& c) {
  const auto in = static_cast<double>(c.channels_in), out = static_cast<double>(c.channels_out);
  // In units of a product within a matrix product, estimated from measurements.
  constexpr double kGather = 6, kTransform = 12;
  const auto cost = [&](std::int64_t tile) {
    const auto tiles = static_cast<double>((c.out[0] + tile - 1) / tile * ((c.out[1] + tile - 1) / tile));
    return tiles * static_cast<double>((tile + 2) * (tile + 2)) * (in * out + kTransform * (in + out));
  };
  const double direct = static_cast<double>(c.out[0] * c.out[1] * 9) * (in * out + kGather * in);
  const int best = cost(4) < cost(2) ? 4 : 2;
  return cost(best) < direct ? best : 0;
}

}  // namespace

Kernel make_winograd_conv(const Graph& graph, const Node& node, const std::vector<float>& bias) {
  const auto convolution = applicable(graph, node);
  const int tile = convolution ? best_tile(*convolution) : 0;
  if (tile == 2) return Winograd<2>(*convolution, bias);
  if (tile == 4) return Winograd<4>(*convolution, bias);
  return {};
}

}  // namespace probust::cpu
