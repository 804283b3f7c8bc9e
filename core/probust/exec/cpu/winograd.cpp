// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/winograd.h"

#include <algorithm>
#include <optional>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/direct_tile.h"
#include "probust/exec/cpu/fusion.h"
#include "probust/exec/cpu/packed_forms.h"

namespace probust::cpu {
namespace {

// The number of rows of a product to transform at once. A row is one lane of a tile.
constexpr std::int64_t kWide = kPacket;
constexpr std::int64_t kLeastRows = 48;  // whole tiles for every instruction set
using Wide = Eigen::Array<float, kWide, 1>;
using Rows = Eigen::Map<Wide>;
using ConstRows = Eigen::Map<const Wide>;

// The transformations along one dimension: a tile's inputs d to coefficients, filters g to coefficients, and sums s of products
// of coefficients to outputs y. They interpolate polynomials at infinity and at the points given below. The points are powers of
// two or sums of two powers of two, so that products with inputs and outputs are exact or nearly so.
template <int Outputs>
struct Transform;

// Points 0, +-1.
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

// Points 0, +-a, +-b. The errors of the outputs are half as large as with the usual points 0, +-1, +-2, and twice as large as for
// a direct product.
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

// The parameters of a convolution. For a transposed convolution, inputs and outputs are exchanged.
struct Convolution {
  std::shared_ptr<const Tensor> filter;  // [out, in, 3, 3]; if transposed, [in, out, 3, 3]
  bool transposed;
  std::int64_t channels_in, channels_out;
  std::array<std::int64_t, 2> in, out;  // heights and widths
  std::array<std::int64_t, 2> pad;      // zeros before the inputs; the output at y depends on inputs y - pad .. y - pad + 2
};

// The transformed filters: [coefficient][block of outputs][input][output of the block].
template <int Outputs>
std::shared_ptr<const std::vector<float>> coefficients(const Convolution& c) {
  using T = Transform<Outputs>;
  constexpr int kSide = T::kInputs;
  const std::int64_t ins = c.channels_in, outs = c.channels_out;
  std::vector<float> packed(static_cast<std::size_t>(kSide * kSide * ins * outs));
  std::int64_t first = 0;
  for (const std::int64_t block : output_blocks(outs)) {
    for (std::int64_t in = 0; in < ins; ++in) {
      for (std::int64_t out = first; out < first + block; ++out) {
        const float* const g = c.filter->data.data() + (c.transposed ? in * outs + out : out * ins + in) * 9;
        // A transposed convolution with stride 1 is a convolution with the filter rotated by 180 degrees.
        const auto tap = [&](int y, int x) { return double{c.transposed ? g[8 - 3 * y - x] : g[3 * y + x]}; };
        double along_y[kSide][3];
        for (int i = 0; i < kSide; ++i) {
          for (int x = 0; x < 3; ++x) along_y[i][x] = T::filter(i, tap(0, x), tap(1, x), tap(2, x));
        }
        float* const to = packed.data() + first * ins + in * block + out - first;
        for (int i = 0; i < kSide; ++i) {
          for (int j = 0; j < kSide; ++j)
            to[(i * kSide + j) * ins * outs] = static_cast<float>(T::filter(j, along_y[i][0], along_y[i][1], along_y[i][2]));
        }
      }
    }
    first += block;
  }
  return std::make_shared<const std::vector<float>>(std::move(packed));
}

// The number of rows and columns of tiles in the image.
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
        grid_{(convolution.out[0] + Outputs - 1) / Outputs, (convolution.out[1] + Outputs - 1) / Outputs},
        blocks_(output_blocks(convolution.channels_out)) {
    weights_ =
        shared_form<std::vector<float>>(convolution_.filter, Form::coefficients, {convolution_.transposed ? 1 : 0, Outputs},
                                        [&] { return coefficients<Outputs>(convolution_); });
    convolution_.filter.reset();  // not needed any more; the graph keeps it
  }

  std::int64_t tiles() const { return grid_.count(); }
  std::int64_t scratch_bytes(std::int64_t lanes) const {
    return rows_at_once(tiles() * lanes) * kCoefficients * (convolution_.channels_in + convolution_.channels_out) * kFloat;
  }
  std::int64_t packed_bytes() const { return static_cast<std::int64_t>(weights_->size()) * kFloat; }

  void operator()(const Call& call) const {
    const std::int64_t images = (*call.shape)[0], rows = grid_.count() * call.lanes;
    const std::int64_t ins = convolution_.channels_in, outs = convolution_.channels_out;
    const std::int64_t stride = rows_at_once(rows);
    const auto [transformed, products] = call.scratch(std::array{stride * kCoefficients * ins, stride * kCoefficients * outs});
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(ins));
    for (std::int64_t k = 0; k < ins; ++k) offsets[k] = k * stride;
    for (std::int64_t image = 0; image < images; ++image) {
      const float* in = call.in[0].data + image * ins * pixels(convolution_.in) * call.lanes;
      float* out = call.out + image * outs * pixels(convolution_.out) * call.lanes;
      for (std::int64_t begin = 0; begin < rows; begin += stride) {
        call.stop_if_asked();
        const std::int64_t end = std::min(rows, begin + stride);
        const Part part{begin, end, (end - begin + kWide - 1) / kWide * kWide, stride, call.lanes};
        transform_inputs(part, in, transformed);
        for (std::int64_t c = 0; c < kCoefficients; ++c) {
          multiply(part, offsets, transformed + c * ins * stride, weights_->data() + c * ins * outs,
                   products + c * outs * stride);
        }
        transform_outputs(call, part, products, out);
      }
    }
  }

 private:
  static constexpr std::int64_t kTransformedBytes = 1 << 20;

  // The number of rows to transform at once: as many as stay in the cache, or more if the weights do not fit into it, so that
  // weights are read less often.
  std::int64_t rows_at_once(std::int64_t rows) const {
    const std::int64_t ins = convolution_.channels_in, outs = convolution_.channels_out;
    const std::int64_t fitting = kTransformedBytes / kFloat / (kCoefficients * (ins + outs)) / kLeastRows * kLeastRows;
    const bool large = kCoefficients * ins * outs * kFloat > kTransformedBytes;
    return std::min(std::max(fitting, large ? 3 * kLeastRows : kLeastRows), (rows + kWide - 1) / kWide * kWide);
  }

  // Rows begin .. end - 1, padded to `tall`, a multiple of kWide. Channels are `stride` floats apart.
  struct Part {
    std::int64_t begin, end, tall, stride, lanes;
  };

  // Multiplies the coefficients with one index for all channels.
  void multiply(const Part& part, std::span<const std::int64_t> offsets, const float* x, const float* w, float* out) const {
    for (const std::int64_t block : blocks_) {
      add_outputs(block, {offsets, x, w}, {out, part.stride, nullptr, false}, part.tall);
      w += block * convolution_.channels_in;
      out += block * part.stride;
    }
  }

  static std::int64_t pixels(const std::array<std::int64_t, 2>& extents) { return extents[0] * extents[1]; }

  // Calls use(row, tile, lane, count) for each run of rows of the same tile among the kWide rows that begin with `row`. The
  // row that `use` gets counts from the first of these rows.
  template <class Use>
  static void each_run(const Part& part, std::int64_t row, Use use) {
    const std::int64_t end = std::min(part.end, part.begin + row + kWide);
    for (std::int64_t at = part.begin + row; at < end;) {
      const std::int64_t tile = at / part.lanes, stop = std::min(end, (tile + 1) * part.lanes);
      use(at - part.begin - row, tile, at - tile * part.lanes, stop - at);
      at = stop;
    }
  }

  // The offset of pixel (i, j) of a tile in the input; -1 if it is outside the image.
  std::int64_t source(std::int64_t tile, int i, int j) const {
    const std::int64_t y = tile / grid_.columns * Outputs - convolution_.pad[0] + i,
                       x = tile % grid_.columns * Outputs - convolution_.pad[1] + j;
    const bool inside = y >= 0 && y < convolution_.in[0] && x >= 0 && x < convolution_.in[1];
    return inside ? y * convolution_.in[1] + x : -1;
  }

  // Transforms one channel after another, so that neighbouring lanes of a pixel are read together.
  void transform_inputs(const Part& part, const float* in, float* transformed) const {
    const std::int64_t channels = convolution_.channels_in, plane = pixels(convolution_.in) * part.lanes;
    std::vector<std::vector<Run>> groups;
    for (std::int64_t row = 0; row < part.tall; row += kWide) groups.push_back(find_runs(part, row));
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float* const from = in + channel * plane;
      float* to = transformed + channel * part.stride;
      for (const std::vector<Run>& runs : groups) {
        if (channel + 1 < channels) prefetch(runs[0], from + plane);
        Wide d[kSide][kSide];
        if (runs.size() == 1 && runs[0].count == kWide) {
          load(runs[0], from, d);
        } else {
          gather(runs, from, d);
        }
        transform(d, to, channels * part.stride);
        to += kWide;
      }
    }
  }

  // Writes the coefficients of a tile, `step` floats apart.
  static void transform(Wide (&d)[kSide][kSide], float* to, std::int64_t step) {
    for (int i = 0; i < kSide; ++i) T::inputs(d[i]);
    for (int j = 0; j < kSide; ++j) {
      Wide column[kSide];
      for (int i = 0; i < kSide; ++i) column[i] = d[i][j];
      T::inputs(column);
      for (int i = 0; i < kSide; ++i) Rows{to + (i * kSide + j)* step} = column[i];
    }
  }

  // Consecutive rows of the same tile.
  struct Run {
    std::int64_t row, count;                         // position among the kWide rows
    std::array<std::int64_t, kCoefficients> source;  // offset of each pixel in floats from the start of a plane; -1: zeros
  };

  std::vector<Run> find_runs(const Part& part, std::int64_t row) const {
    std::vector<Run> runs;
    each_run(part, row, [&](std::int64_t first, std::int64_t tile, std::int64_t lane, std::int64_t length) {
      Run& run = runs.emplace_back();
      run.row = first;
      run.count = length;
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j) {
          const std::int64_t pixel = source(tile, i, j);
          run.source[i * kSide + j] = pixel < 0 ? -1 : pixel * part.lanes + lane;
        }
      }
    });
    return runs;
  }

  static void prefetch(const Run& run, const float* plane) {
    for (const std::int64_t at : run.source) {
      if (at >= 0) __builtin_prefetch(plane + at);
    }
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

  void transform_outputs(const Call& call, const Part& part, const float* products, float* out) const {
    const std::int64_t channels = convolution_.channels_out;
    std::vector<std::vector<Target>> groups;
    for (std::int64_t row = 0; row < part.tall; row += kWide) groups.push_back(find_targets(call, part, row));
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float bias = bias_.empty() ? 0.0F : bias_[channel];
      const float* from = products + channel * part.stride;
      for (const std::vector<Target>& targets : groups) {
        Wide y[Outputs][Outputs];
        transform(from, channels * part.stride, y);
        for (auto& line : y) {
          for (Wide& value : line) value += bias;
        }
        const std::int64_t first = (out - call.out) / part.lanes + channel * pixels(convolution_.out);
        for (const Target& target : targets) store(call, y, target, first);
        from += kWide;
      }
    }
  }

  // Computes the outputs of a tile from its coefficients, which are `step` floats apart.
  static void transform(const float* from, std::int64_t step, Wide (&y)[Outputs][Outputs]) {
    Wide columns[kSide][Outputs];  // [coefficient along x][output along y]
    for (int j = 0; j < kSide; ++j) {
      Wide s[kSide];
      for (int i = 0; i < kSide; ++i) s[i] = ConstRows(from + (i * kSide + j) * step);
      T::outputs(s, columns[j]);
    }
    for (int i = 0; i < Outputs; ++i) {
      Wide s[kSide];
      for (int j = 0; j < kSide; ++j) s[j] = columns[j][i];
      T::outputs(s, y[i]);
    }
  }

  // The destination of consecutive rows of the same tile.
  struct Target {
    std::int64_t row, count;            // position among the kWide rows
    std::int64_t pixel, height, width;  // first pixel of the tile, and the number of rows and columns that are in the image
    LaneGroup lanes;
    bool together;
  };

  std::vector<Target> find_targets(const Call& call, const Part& part, std::int64_t row) const {
    std::vector<Target> targets;
    each_run(part, row, [&](std::int64_t first, std::int64_t tile, std::int64_t lane, std::int64_t count) {
      const std::int64_t top = tile / grid_.columns * Outputs, left = tile % grid_.columns * Outputs;
      const LaneGroup lanes(call, lane);
      targets.push_back(
          {first, count, top * convolution_.out[1] + left, std::min<std::int64_t>(Outputs, convolution_.out[0] - top),
           std::min<std::int64_t>(Outputs, convolution_.out[1] - left), lanes, count == kWide && lanes.together(call, count)});
    });
    return targets;
  }

  // Writes the outputs of a tile to the plane whose first pixel is element `first` of the output.
  void store(const Call& call, Wide (&y)[Outputs][Outputs], const Target& target, std::int64_t first) const {
    const std::int64_t next = pixels(convolution_.out) * call.lanes;
    for (std::int64_t i = 0; i < target.height; ++i) {
      for (std::int64_t j = 0; j < target.width; ++j) {
        const std::int64_t element = first + target.pixel + i * convolution_.out[1] + j;
        float* const to = call.out + element * call.lanes + target.lanes.lane;
        __builtin_prefetch(to + next, 1);
        if (target.together) {
          finish_values(call, element, target.lanes, y[i][j]);
          Rows{to} = y[i][j];
        } else {
          std::copy_n(y[i][j].data() + target.row, target.count, to);
          call.finish(to - call.out, target.count);
        }
      }
    }
  }

  Convolution convolution_;
  std::vector<float> bias_;
  Grid grid_;
  std::vector<std::int64_t> blocks_;  // sizes of the blocks of output channels
  std::shared_ptr<const std::vector<float>> weights_;
};

// The parameters of a node to which Winograd's algorithm applies: 3x3 filters, stride 1, one group.
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

// The side of the tiles of outputs with which Winograd's algorithm is fastest, 4 or 2; 0 if the direct product is faster.
// Rounding depends on the tile, so the choice depends only on shapes, not on the number of lanes.
int best_tile(const Convolution& c) {
  const auto in = static_cast<double>(c.channels_in), out = static_cast<double>(c.channels_out);
  // Costs of gathering or transforming one value, relative to a multiplication in a matrix product, estimated from measurements.
  constexpr double kGather = 6, kTransform = 12;
  const auto cost = [&](std::int64_t tile) {
    const std::int64_t tiles = (c.out[0] + tile - 1) / tile * ((c.out[1] + tile - 1) / tile);
    return static_cast<double>(tiles * (tile + 2) * (tile + 2)) * (in * out + kTransform * (in + out));
  };
  const double direct = static_cast<double>(c.out[0] * c.out[1] * 9) * (in * out + kGather * in);
  const int best = cost(4) < cost(2) ? 4 : 2;
  return cost(best) < direct ? best : 0;
}

template <int Outputs>
Product prepare(const Convolution& convolution, const std::vector<float>& bias) {
  const Winograd<Outputs> kernel(convolution, bias);
  return {kernel, kernel.tiles(), kernel.packed_bytes(), [kernel](std::int64_t lanes) { return kernel.scratch_bytes(lanes); }};
}

}  // namespace

Product make_winograd_conv(const Graph& graph, const Node& node, const std::vector<float>& bias) {
  const auto convolution = applicable(graph, node);
  const int tile = convolution ? best_tile(*convolution) : 0;
  if (tile == 2) return prepare<2>(*convolution, bias);
  if (tile == 4) return prepare<4>(*convolution, bias);
  return {};
}

}  // namespace probust::cpu
