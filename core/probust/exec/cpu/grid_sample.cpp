// SPDX-License-Identifier: MIT
// Sampling of images at positions (ops/grid_sample.cpp). If the positions differ between lanes, a lane's taps are consecutive
// pixels of its own image, but far apart in [elements][lanes]. So the images of a few lanes are copied to one place each, with
// the pixels beyond the border that taps can reach; then every row of taps is one load, without a test for the border. The
// transpose adds to such images and folds the pixels beyond the border back. If the positions are constant, taps are the same for
// all lanes.
#include <algorithm>
#include <array>
#include <vector>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/ops/grid_axis.h"

namespace probust::cpu {
namespace {

// One pixel of as many lanes is a cache line.
constexpr std::int64_t kSampledLanes = kBlock;
// Floats of images in one place: in the second-level cache, if one plane of all lanes fits.
constexpr std::int64_t kSampledFloats = std::int64_t{1} << 17;

// How many positions ahead their cache lines are fetched: those of one group are too far apart for the processor's own guess.
constexpr std::int64_t kAhead = 8;

// The pixels that taps can reach along an axis.
struct ReachedPixels {
  GridAxis axis;
  std::int64_t first, count;  // taps

  explicit ReachedPixels(const GridAxis& of)
      : axis(of),
        first(static_cast<std::int64_t>(axis.lowest) - axis.before),
        count(static_cast<std::int64_t>(axis.highest) - axis.before + axis.taps - first) {}
};

// The plan of one node.
struct Sampling {
  ReachedPixels rows, columns;
  std::int64_t images, channels, pixels, positions;
  std::vector<std::int32_t> source;  // [rows.count][columns.count] the pixel of an image; -1 for a zero

  Sampling(const GridAttributes& grid, const Shape& values, const Shape& at)
      : rows(row_axis(grid)),
        columns(column_axis(grid)),
        images(values[0]),
        channels(values[1]),
        pixels(grid.rows * grid.columns),
        positions(element_count({at.begin() + 2, at.end()})) {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const std::int32_t row = rows.axis.cell(static_cast<std::int32_t>(rows.first + r));
      for (std::int64_t c = 0; c < columns.count; ++c) {
        const std::int32_t column = columns.axis.cell(static_cast<std::int32_t>(columns.first + c));
        source.push_back(row < 0 || column < 0 ? -1 : row * columns.axis.extent + column);
      }
    }
  }

  std::int64_t reached() const { return static_cast<std::int64_t>(source.size()); }
  // How many channels to process at a time.
  std::int64_t channels_together() const {
    return std::clamp<std::int64_t>(kSampledFloats / (kSampledLanes * reached()), 1, std::max<std::int64_t>(1, channels));
  }
};

// Some lanes of the result: examples from `example` on, of one seed.
struct SampledGroup {
  std::int64_t example, seed, count;

  // The first lane of an operand, or of the result, that has `own` lanes.
  std::int64_t first_of(std::int64_t own, const Batch& batch) const { return (seed * batch.examples + example) % own; }
};

// Calls visit(group) for all groups, seed by seed; begin(example, count) before the seeds of the same examples.
template <class Begin, class Visit>
void each_group(const Call& call, const Begin& begin, const Visit& visit) {
  const std::int64_t examples = std::min(call.batch.examples, call.lanes), seeds = call.lanes / examples;
  for (std::int64_t example = 0; example < examples; example += kSampledLanes) {
    const std::int64_t count = std::min(kSampledLanes, examples - example);
    begin(example, count);
    for (std::int64_t seed = 0; seed < seeds; ++seed) {
      call.stop_if_asked();
      visit(SampledGroup{example, seed, count});
    }
  }
}

// Along one axis, for one position of each lane of a group: the first tap and u. Of unused lanes, those at position 0.
struct AxisPlaces {
  Eigen::Array<std::int32_t, kSampledLanes, 1> first;
  Block u;

  // As GridAxis::place, for all lanes at once.
  AxisPlaces(const GridAxis& axis, const float* positions, std::int64_t lanes) {
    Block at = Block::Zero();
    std::copy_n(positions, lanes, at.data());
    Block pixel = axis.taps == 1 ? Block(at.rint()) : Block(at.floor());
    u = at - pixel;
    if (axis.period > 0) {
      const auto length = static_cast<float>(axis.period);
      pixel -= length * (pixel / length).floor();
    }
    const Block lowest = Block::Constant(axis.lowest), highest = Block::Constant(axis.highest);
    pixel = highest.min(lowest.max(pixel));  // as std::max: in this order, NaN becomes a valid pixel
    first = pixel.cast<std::int32_t>() - axis.before;
  }
};

// Where each lane of a group samples its image, for one position.
struct Places {
  AxisPlaces rows, columns;
  Eigen::Array<std::int32_t, kSampledLanes, 1> offset;  // of the first tap in an image with its surroundings

  Places(const Sampling& s, const float* row, const float* column, std::int64_t lanes)
      : rows(s.rows.axis, row, lanes), columns(s.columns.axis, column, lanes) {
    const auto first_row = static_cast<std::int32_t>(s.rows.first), first_column = static_cast<std::int32_t>(s.columns.first);
    offset = (rows.first - first_row) * static_cast<std::int32_t>(s.columns.count) + (columns.first - first_column);
  }
};

// The weights of the taps of an axis for each lane of a group.
template <int taps>
struct LaneWeights {
  std::array<Block, taps> of;

  LaneWeights(const GridAxis& axis, const Block& u) {
    const auto& weight = axis.weight;
    for (int tap = 0; tap < taps; ++tap)
      of[tap] = ((weight[3][tap] * u + weight[2][tap]) * u + weight[1][tap]) * u + weight[0][tap];
  }
};

// The weights of all taps of an axis, and sums over taps.
template <int taps>
struct TapWeights {
  using Row = Eigen::Array<float, taps, 1>;
  Row one, u, square, cube;

  explicit TapWeights(const GridAxis& axis)
      : one(Eigen::Map<const Row>(axis.weight[0])),
        u(Eigen::Map<const Row>(axis.weight[1])),
        square(Eigen::Map<const Row>(axis.weight[2])),
        cube(Eigen::Map<const Row>(axis.weight[3])) {}

  Row at(float x) const { return ((cube * x + square) * x + u) * x + one; }

  static Row load(const float* from) { return Row(Eigen::Map<const Row>(from)); }
};

// Copies planes of images in lanes first .. first + lanes - 1 to images [lane][plane] with their surroundings.
void surround(const Sampling& s, const float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
              float* to) {
  const std::int64_t reached = s.reached(), image = planes * reached;
  for (std::int64_t p = 0; p < planes; ++p) {
    const float* const plane = from + p * s.pixels * own + first;
    for (std::int64_t e = 0; e < reached; ++e) {
      float* const pixel = to + p * reached + e;
      if (s.source[e] < 0) {
        for (std::int64_t l = 0; l < lanes; ++l) pixel[l * image] = 0;
      } else {
        const float* const x = plane + s.source[e] * own;
        for (std::int64_t l = 0; l < lanes; ++l) pixel[l * image] = x[l];
      }
    }
  }
}

// The transpose: sets planes of images in these lanes to the sums of what reads them.
void fold(const Sampling& s, const float* from, std::int64_t own, std::int64_t first, std::int64_t lanes, std::int64_t planes,
          float* to) {
  const std::int64_t reached = s.reached(), image = planes * reached;
  for (std::int64_t p = 0; p < planes; ++p) {
    float* const plane = to + p * s.pixels * own + first;
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel) std::fill_n(plane + pixel * own, lanes, 0.0F);
    for (std::int64_t e = 0; e < reached; ++e) {
      if (s.source[e] < 0) continue;
      float* const y = plane + s.source[e] * own;
      for (std::int64_t l = 0; l < lanes; ++l) y[l] += from[l * image + p * reached + e];
    }
  }
}

// The operands and the result for some channels of an image.
struct ImagePlanes {
  std::int64_t image, channel, count;

  std::int64_t first(const Sampling& s) const { return image * s.channels + channel; }
};

template <class Visit>
void each_planes(const Sampling& s, const Visit& visit) {
  const std::int64_t together = s.channels_together();
  for (std::int64_t image = 0; image < s.images; ++image) {
    for (std::int64_t channel = 0; channel < s.channels; channel += together)
      visit(ImagePlanes{image, channel, std::min(together, s.channels - channel)});
  }
}

Places places_of(const Sampling& s, const Call& call, const ImagePlanes& planes, const SampledGroup& group, std::int64_t q) {
  const std::int64_t own = call.lanes_of(1), first = group.first_of(own, call.batch);
  const float* const at = call.in[1].data + planes.image * 2 * s.positions * own + first;
  const std::int64_t next = std::min(q + kAhead, s.positions - 1);
  __builtin_prefetch(at + next * own);
  __builtin_prefetch(at + (s.positions + next) * own);
  return {s, at + q * own, at + (s.positions + q) * own, group.count};
}

// images [lane or one][plane][reached], `step` apart.
template <int taps>
void sample_group(const Sampling& s, const Call& call, const ImagePlanes& planes, const SampledGroup& group, const float* images,
                  std::int64_t step) {
  const TapWeights<taps> by_column(s.columns.axis);
  const std::int64_t reached = s.reached(), width = s.columns.count, lanes = call.lanes;
  float* const out = call.out + planes.first(s) * s.positions * lanes + group.first_of(lanes, call.batch);
  for (std::int64_t q = 0; q < s.positions; ++q) {
    const Places places = places_of(s, call, planes, group, q);
    const LaneWeights<taps> rows(s.rows.axis, places.rows.u);
    const std::int64_t next = std::min(q + kAhead, s.positions - 1);
    for (std::int64_t p = 0; p < planes.count; ++p) __builtin_prefetch(out + (p * s.positions + next) * lanes, 1);
    for (std::int64_t l = 0; l < group.count; ++l) {
      const auto columns = by_column.at(places.columns.u[l]);
      const float* tap = images + l * step + places.offset[l];
      for (std::int64_t p = 0; p < planes.count; ++p, tap += reached) {
        typename TapWeights<taps>::Row sum = rows.of[0][l] * TapWeights<taps>::load(tap);
        for (int i = 1; i < taps; ++i) sum += rows.of[i][l] * TapWeights<taps>::load(tap + i * width);
        out[(p * s.positions + q) * lanes + l] = (sum * columns).sum();
      }
    }
  }
}

template <int taps>
void add_group(const Sampling& s, const Call& call, const ImagePlanes& planes, const SampledGroup& group, float* images,
               std::int64_t step) {
  using Row = typename TapWeights<taps>::Row;
  const TapWeights<taps> by_column(s.columns.axis);
  const std::int64_t reached = s.reached(), width = s.columns.count, own = call.lanes_of(0);
  const std::int64_t stride = own == 1 ? 0 : 1;
  const float* const values = call.in[0].data + planes.first(s) * s.positions * own + group.first_of(own, call.batch);
  for (std::int64_t q = 0; q < s.positions; ++q) {
    const Places places = places_of(s, call, planes, group, q);
    const LaneWeights<taps> rows(s.rows.axis, places.rows.u);
    const std::int64_t next = std::min(q + kAhead, s.positions - 1);
    for (std::int64_t p = 0; p < planes.count; ++p) __builtin_prefetch(values + (p * s.positions + next) * own);
    for (std::int64_t l = 0; l < group.count; ++l) {
      const Row columns = by_column.at(places.columns.u[l]);
      float* tap = images + l * step + places.offset[l];
      for (std::int64_t p = 0; p < planes.count; ++p, tap += reached) {
        const Row value = columns * values[(p * s.positions + q) * own + l * stride];
        for (int i = 0; i < taps; ++i) Eigen::Map<Row>(tap + i * width) += rows.of[i][l] * value;
      }
    }
  }
}

template <int taps>
void sample(const Sampling& s, const Call& call) {
  const std::int64_t own = call.lanes_of(0);
  const bool one = call.in[0].extent == Extent::constant, seeded = call.in[0].extent == Extent::seeded;
  const std::int64_t most = one ? 1 : kSampledLanes;
  float* const images = call.scratch(most * s.channels_together() * s.reached());
  each_planes(s, [&](const ImagePlanes& planes) {
    const float* const from = call.in[0].data + planes.first(s) * s.pixels * own;
    const auto begin = [&](std::int64_t example, std::int64_t count) {
      if (!one && !seeded) surround(s, from, own, example % own, count, planes.count, images);
    };
    if (one) surround(s, from, 1, 0, 1, planes.count, images);
    each_group(call, begin, [&](const SampledGroup& group) {
      if (seeded) surround(s, from, own, group.first_of(own, call.batch), group.count, planes.count, images);
      sample_group<taps>(s, call, planes, group, images, one ? 0 : planes.count * s.reached());
    });
  });
}

template <int taps>
void sample_transpose(const Sampling& s, const Call& call) {
  float* const images = call.scratch(kSampledLanes * s.channels_together() * s.reached());
  each_planes(s, [&](const ImagePlanes& planes) {
    const std::int64_t step = planes.count * s.reached();
    const auto begin = [](std::int64_t, std::int64_t) {};
    each_group(call, begin, [&](const SampledGroup& group) {
      std::fill_n(images, group.count * step, 0.0F);
      add_group<taps>(s, call, planes, group, images, step);
      fold(s, images, call.lanes, group.first_of(call.lanes, call.batch), group.count, planes.count,
           call.out + planes.first(s) * s.pixels * call.lanes);
    });
  });
}

// Calls visit(position q, pixel or -1, weight) for the taps of all constant positions of an image.
template <class Visit>
void each_tap(const Sampling& s, const float* at, const Visit& visit) {
  for (std::int64_t q = 0; q < s.positions; ++q) {
    const Places places(s, at + q, at + s.positions + q, 1);
    for (int i = 0; i < s.rows.axis.taps; ++i) {
      for (int j = 0; j < s.columns.axis.taps; ++j) {
        const float weight = s.rows.axis.weight_of(i, places.rows.u[0]) * s.columns.axis.weight_of(j, places.columns.u[0]);
        visit(q, s.source[places.offset[0] + i * s.columns.count + j], weight);
      }
    }
  }
}

// With constant positions. The result has the lanes of the first operand.
void sample_alike(const Sampling& s, const Call& call) {
  const std::int64_t lanes = call.lanes;
  std::fill_n(call.out, s.images * s.channels * s.positions * lanes, 0.0F);
  for (std::int64_t n = 0; n < s.images; ++n) {
    call.stop_if_asked();
    each_tap(s, call.in[1].data + n * 2 * s.positions, [&](std::int64_t q, std::int32_t pixel, float weight) {
      for (std::int64_t p = n * s.channels; p < (n + 1) * s.channels; ++p) {
        float* const y = call.out + (p * s.positions + q) * lanes;
        const float* const x = call.in[0].data + (p * s.pixels + std::max(pixel, 0)) * lanes;
        if (pixel < 0) {
          for (std::int64_t l = 0; l < lanes; ++l) y[l] += weight * 0.0F;  // NaN if the position is
        } else {
          for (std::int64_t l = 0; l < lanes; ++l) y[l] += weight * x[l];
        }
      }
    });
  }
}

void add_alike(const Sampling& s, const Call& call) {
  const std::int64_t lanes = call.lanes;
  std::fill_n(call.out, s.images * s.channels * s.pixels * lanes, 0.0F);
  for (std::int64_t n = 0; n < s.images; ++n) {
    call.stop_if_asked();
    each_tap(s, call.in[1].data + n * 2 * s.positions, [&](std::int64_t q, std::int32_t pixel, float weight) {
      if (pixel < 0) return;
      for (std::int64_t p = n * s.channels; p < (n + 1) * s.channels; ++p) {
        const float* const value = call.in[0].data + (p * s.positions + q) * lanes;
        float* const y = call.out + (p * s.pixels + pixel) * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) y[l] += weight * value[l];
      }
    });
  }
}

using RunSampling = void (*)(const Sampling&, const Call&);

RunSampling run_for(Op op, int taps, bool alike) {
  const bool samples = op == Op::grid_sample;
  if (alike) return samples ? sample_alike : add_alike;
  if (taps == 1) return samples ? sample<1> : sample_transpose<1>;
  if (taps == 2) return samples ? sample<2> : sample_transpose<2>;
  return samples ? sample<4> : sample_transpose<4>;
}

}  // namespace

Kernel make_grid_sample(const Graph& graph, const Node& node) {
  const Node &values = graph[node.inputs[0]], &at = graph[node.inputs[1]];
  Sampling sampling(std::get<GridAttributes>(node.attributes), values.shape, at.shape);
  const RunSampling run = run_for(node.op, sampling.rows.axis.taps, at.extent == Extent::constant);
  return [sampling = std::move(sampling), run](const Call& call) { run(sampling, call); };
}

}  // namespace probust::cpu
