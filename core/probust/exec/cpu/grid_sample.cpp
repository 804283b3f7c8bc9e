// SPDX-License-Identifier: MIT
// Samples images at positions (ops/grid_sample.cpp). If the positions differ between lanes, a lane's taps are consecutive pixels
// of its own image, but far apart in the layout [elements][lanes]. So the images of a few lanes are copied to contiguous memory,
// including the pixels beyond the border that taps can reach; every row of taps is then one load, without a test for the border.
// Rows are weighted lane by lane. Then four lanes are transposed, so that columns are weighted, and results written, for all four
// at once. If images with cubic interpolation have several channels, each pixel of a copy contains four of them, so that taps are
// loaded, weighted and added for four channels at once, and only the results are transposed. The transpose of sampling adds to
// images of one channel, and then adds the pixels beyond the border to those that they repeat.
// If the positions are constant, taps are the same for all lanes.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "probust/exec/cpu/four.h"
#include "probust/exec/cpu/grid_images.h"
#include "probust/exec/cpu/grid_places.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/lane_block.h"
#include "probust/ops/grid_axis.h"

namespace probust::cpu {
namespace {

// The tap offsets and weights of this many positions are computed before any of them is sampled: more positions than the CPU has
// in flight at once.
constexpr std::int64_t kPositions = 8;

// The transpose divides the positions into this many parts, and processes one position of each part in turn: taps of
// neighbouring positions overlap, and adding to a value that was just written is slow.
constexpr std::int64_t kStreams = 4;

// Cache lines are prefetched this many positions ahead: those of a group's lanes are too far apart for the hardware prefetcher.
constexpr std::int64_t kAhead = 8;

// The operands and the result for some channels of an image.
struct ImagePlanes {
  std::int64_t image, channel, count;

  std::int64_t first(const Sampling& s) const { return image * s.channels + channel; }
};

template <class Visit>
void each_planes(const Sampling& s, std::int64_t together, const Visit& visit) {
  for (std::int64_t image = 0; image < s.images; ++image) {
    for (std::int64_t channel = 0; channel < s.channels; channel += together)
      visit(ImagePlanes{image, channel, std::min(together, s.channels - channel)});
  }
}

// The positions of a group.
struct GroupPositions {
  const float* at;
  std::int64_t own, count, lanes;

  GroupPositions(const Sampling& s, const Call& call, const ImagePlanes& planes, const LaneBlock& group)
      : at(call.in[1].data + planes.image * 2 * s.positions * call.lanes_of(1) + group.first_of(call.lanes_of(1), call.batch)),
        own(call.lanes_of(1)),
        count(s.positions),
        lanes(group.count) {}

  template <int taps>
  void find(const PlaceFinder<taps>& finder, std::int64_t q, Places<taps>& places) const {
    const std::int64_t next = std::min(q + kAhead, count - 1);
    __builtin_prefetch(at + next * own);
    __builtin_prefetch(at + (count + next) * own);
    finder.find(at + q * own, at + (count + q) * own, lanes, places);
  }
};

// The taps that one load reads: those of a row, of two rows (surround_one<2, 1>), or of four channels.
enum class TapLoads : std::uint8_t { row, row_pairs, channels };

// Samples four lanes, beginning with lane `first`. The taps of lane l begin at tap[l], in an image whose rows have `width`
// reached pixels.
template <int taps, TapLoads loads>
[[gnu::always_inline]] inline Four sample_four(const float* const (&tap)[4], std::int64_t width, const Places<taps>& places,
                                               std::int64_t first) {
  const auto row = [&](int i) { return load_four(places.rows[i] + first); };
  const auto column = [&](int i) { return load_four(places.columns[i] + first); };
  if constexpr (taps == 1) {
    return Four{*tap[0], *tap[1], *tap[2], *tap[3]} * (row(0) * column(0));
  } else if constexpr (taps == 2) {
    Four values[4];
    for (int l = 0; l < 4; ++l) values[l] = loads == TapLoads::row_pairs ? load_four(tap[l]) : load_pairs(tap[l], tap[l] + width);
    transpose(values);
    const int right = loads == TapLoads::row_pairs ? 2 : 1, below = 3 - right;
    const Four in_left = multiply_add(row(1), values[below], row(0) * values[0]);
    const Four in_right = multiply_add(row(1), values[3], row(0) * values[right]);
    return multiply_add(column(1), in_right, column(0) * in_left);
  } else if constexpr (loads == TapLoads::row) {
    Four values[4];
    for (int l = 0; l < 4; ++l) {
      const float* const at = tap[l];
      const auto weight = [&](int i) { return four_times(places.rows[i][first + l]); };
      const Four even = multiply_add(weight(2), load_four(at + 2 * width), weight(0) * load_four(at));
      const Four odd = multiply_add(weight(3), load_four(at + 3 * width), weight(1) * load_four(at + width));
      values[l] = even + odd;
    }
    transpose(values);
    const Four even = multiply_add(column(2), values[2], column(0) * values[0]);
    const Four odd = multiply_add(column(3), values[3], column(1) * values[1]);
    return even + odd;
  } else {
    // The same sums as above, in the same order.
    Eight values[4];
    for (int l = 0; l < 4; ++l) {
      const float* const weights = places.rows_of[first + l];
      values[l] = multiply_add(four_pairs(weights + 2), load_eight(tap[l] + 4 * width), four_pairs(weights) * load_eight(tap[l]));
    }
    // For each pair of lanes, the sums over pairs of rows: columns 0 and 1 of each lane, then columns 2 and 3.
    const auto first_of = [](const Eight& a, const Eight& b) { return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14); };
    const auto second_of = [](const Eight& a, const Eight& b) {
      return __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    };
    const Eight low = first_of(values[0], values[1]) + second_of(values[0], values[1]);
    const Eight high = first_of(values[2], values[3]) + second_of(values[2], values[3]);
    const Eight even = first_of(low, high), odd = second_of(low, high);
    return multiply_add(column(2), high_half(even), column(0) * low_half(even)) +
           multiply_add(column(3), high_half(odd), column(1) * low_half(odd));
  }
}

// The weighted sums over the rows of taps, for four columns and up to four channels.
struct RowSums {
  Eight left, right;  // left: columns 0 and 1; right: columns 2 and 3
};

template <int packet = kPacket>
[[gnu::always_inline]] inline RowSums row_sums(const float* tap, std::int64_t width, const Places<4>& places, std::int64_t lane) {
  const std::int64_t row = 4 * width;
  const auto weight = [&](int i) { return places.rows[i][lane]; };
  if constexpr (packet >= 16) {
    const auto taps = [&](int i) { return load_sixteen(tap + i * row); };
    const Sixteen even = multiply_add(sixteen_times(weight(2)), taps(2), sixteen_times(weight(0)) * taps(0));
    const Sixteen odd = multiply_add(sixteen_times(weight(3)), taps(3), sixteen_times(weight(1)) * taps(1));
    const Sixteen sums = even + odd;
    return {__builtin_shufflevector(sums, sums, 0, 1, 2, 3, 4, 5, 6, 7),
            __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15)};
  } else {
    RowSums sums;
    for (Eight* half : {&sums.left, &sums.right}) {
      const Eight even =
          multiply_add(eight_times(weight(2)), load_eight(tap + 2 * row), eight_times(weight(0)) * load_eight(tap));
      const Eight odd =
          multiply_add(eight_times(weight(3)), load_eight(tap + 3 * row), eight_times(weight(1)) * load_eight(tap + row));
      *half = even + odd;
      tap += 8;
    }
    return sums;
  }
}

// Samples up to four channels of a lane, with the same sums as sample_four, in the same order. The taps begin at `tap`.
[[gnu::always_inline]] inline Four sample_channels(const float* tap, std::int64_t width, const Places<4>& places,
                                                   std::int64_t lane) {
  const RowSums sums = row_sums(tap, width, places, lane);
  const auto weight = [&](int i) { return places.columns[i][lane]; };
  const Eight left = join(four_times(weight(0)), four_times(weight(1))),
              right = join(four_times(weight(2)), four_times(weight(3)));
  const Eight both = multiply_add(right, sums.right, left * sums.left);  // the sums of the even columns, and of the odd ones
  return low_half(both) + high_half(both);
}

// Stores the first `used` lanes.
[[gnu::always_inline]] inline void store_lanes(const Four& values, std::int64_t used, float* to) {
  if (used >= 4) {
    store_four(values, to);
  } else {
    float some[4];
    store_four(values, some);
    std::copy_n(some, used, to);
  }
}

// Samples one channel or up to four channels of a group of lanes at one position. The images are `step` floats apart, and the
// planes of the result `plane` floats.
template <int taps, TapLoads loads>
[[gnu::always_inline]] inline void sample_position(const Places<taps>& place, const float* image, std::int64_t step,
                                                   std::int64_t width, std::int64_t used, std::int64_t channels,
                                                   std::int64_t plane, float* to) {
  constexpr int floats = loads == TapLoads::channels ? 4 : loads == TapLoads::row_pairs ? 2 : 1;  // per reached pixel
  for (std::int64_t first = 0; first < used; first += 4) {
    const float* tap[4];
    for (int l = 0; l < 4; ++l) tap[l] = image + (first + l) * step + static_cast<std::int64_t>(place.offset[first + l]) * floats;
    if constexpr (loads == TapLoads::channels) {
      Four values[4];
      for (int l = 0; l < 4; ++l) values[l] = sample_channels(tap[l], width, place, first + l);
      transpose(values);
      for (int k = 0; k < 4; ++k) {
        if (k < channels) store_lanes(values[k], used - first, to + k * plane + first);
      }
    } else {
      store_lanes(sample_four<taps, loads>(tap, width, place, first), used - first, to + first);
    }
  }
}

// Samples a group of lanes. `images` [lanes or 1][plane][reached pixel] are arranged for `loads`, and are `step` floats apart.
// Images of unused lanes may contain any values.
template <int taps, TapLoads loads>
void sample_group(const Sampling& s, const Call& call, const ImagePlanes& planes, const LaneBlock& group, const float* images,
                  std::int64_t step) {
  constexpr std::int64_t together = loads == TapLoads::channels ? 4 : 1, floats = loads == TapLoads::row_pairs ? 2 : together;
  const PlaceFinder<taps> finder(s);
  const GroupPositions positions(s, call, planes, group);
  const std::int64_t reached = s.reached(), width = s.columns.count, lanes = call.lanes, plane = s.positions * lanes;
  float* const out = call.out + planes.first(s) * plane + group.first_of(lanes, call.batch);
  Places<taps> places[kPositions];
  for (std::int64_t begin = 0; begin < positions.count; begin += kPositions) {
    const std::int64_t end = std::min(begin + kPositions, positions.count);
    for (std::int64_t q = begin; q < end; ++q) {
      Places<taps>& place = places[q - begin];
      positions.find(finder, q, place);
      if constexpr (taps == 4 && loads == TapLoads::row_pairs) pair_rows(place);
    }
    for (std::int64_t p = 0; p < planes.count; p += together) {
      const float* const image = images + p / together * reached * floats;
      const std::int64_t channels = std::min(together, planes.count - p);
      for (std::int64_t q = begin; q < end; ++q) {
        float* const to = out + p * plane + q * lanes;
        const std::int64_t ahead = std::min(kAhead, positions.count - 1 - q) * lanes;
        for (std::int64_t k = 0; k < channels; ++k) __builtin_prefetch(to + k * plane + ahead, 1);
        sample_position<taps, loads>(places[q - begin], image, step, width, group.count, channels, plane, to);
      }
    }
  }
}

// Adds the values of four lanes at one position, beginning with lane `first`, to the pixels that their taps read. The taps of
// lane l begin at tap[l]. Only the first `used` lanes have images.
template <int taps>
[[gnu::always_inline]] inline void add_four(const Four& values, float* const (&tap)[4], int used, std::int64_t width,
                                            const Places<taps>& places, std::int64_t first) {
  if constexpr (taps == 4) {
    Four columns[4];
    for (int j = 0; j < 4; ++j) columns[j] = load_four(places.columns[j] + first) * values;
    transpose(columns);
    for (int l = 0; l < used; ++l) {
      float* at = tap[l];
      for (int i = 0; i < 4; ++i, at += width)
        store_four(multiply_add(four_times(places.rows[i][first + l]), columns[l], load_four(at)), at);
    }
  } else {
    for (int i = 0; i < taps; ++i) {
      for (int j = 0; j < taps; ++j) {
        const Four added = load_four(places.rows[i] + first) * load_four(places.columns[j] + first) * values;
        for (int l = 0; l < used; ++l) tap[l][i * width + j] += added[l];
      }
    }
  }
}

template <int taps>
void add_group(const Sampling& s, const Call& call, const ImagePlanes& planes, const LaneBlock& group, float* images,
               std::int64_t step) {
  const PlaceFinder<taps> finder(s);
  const GroupPositions positions(s, call, planes, group);
  const std::int64_t reached = s.reached(), width = s.columns.count, own = call.lanes_of(0), plane = s.positions * own;
  const float* const values = call.in[0].data + planes.first(s) * plane + group.first_of(own, call.batch);
  const std::int64_t apart = (positions.count + kStreams - 1) / kStreams;
  Places<taps> places;
  for (std::int64_t i = 0; i < apart * kStreams; ++i) {
    const std::int64_t q = i / kStreams + i % kStreams * apart;
    if (q >= positions.count) continue;
    positions.find(finder, q, places);
    for (std::int64_t p = 0; p < planes.count; ++p) {
      const float* const from = values + p * plane + q * own;
      for (std::int64_t first = 0; first < group.count; first += 4) {
        const int used = static_cast<int>(std::min<std::int64_t>(4, group.count - first));
        float* tap[4];
        for (int l = 0; l < 4; ++l) tap[l] = images + (first + l) * step + p * reached + places.offset[first + l];
        Four value = four_times(*from);
        if (own != 1 && used == 4) value = load_four(from + first);
        if (own != 1 && used != 4) std::memcpy(&value, from + first, static_cast<std::size_t>(used) * sizeof(float));
        if (used == 4) {
          add_four<taps>(value, tap, 4, width, places, first);
        } else {
          add_four<taps>(value, tap, used, width, places, first);
        }
      }
    }
  }
}

// Whether the images of some lanes are bitwise equal, as they are for noisy samples of one point if the noise changes only the
// positions. If so, copies one of them.
bool copy_if_equal(const float* from, std::int64_t own, std::int64_t lanes, std::int64_t pixels, float* to) {
  using Bits = std::int32_t __attribute__((vector_size(sizeof(Four))));
  constexpr std::int64_t kTogether = 32;  // pixels to compare before looking at the result
  for (std::int64_t begin = 0; begin < pixels; begin += kTogether) {
    Bits differ[kSampledLanes / 4]{};
    bool equal = true;
    for (std::int64_t e = begin; e < std::min(begin + kTogether, pixels); ++e, from += own) {
      if (lanes == kSampledLanes) {
        const auto value = Bits(four_times(*from));
        for (int l = 0; l < kSampledLanes; l += 4) differ[l / 4] |= Bits(load_four(from + l)) ^ value;
      } else {
        for (std::int64_t l = 1; l < lanes; ++l) equal = equal && std::memcmp(from, from + l, sizeof *from) == 0;
      }
      to[e] = *from;
    }
    const Bits any = differ[0] | differ[1] | differ[2] | differ[3];
    if (!equal || (any[0] | any[1] | any[2] | any[3]) != 0) return false;
  }
  return true;
}

// Whether one load reads four channels: yes for cubic interpolation of images with several channels.
template <int taps>
bool has_channel_loads(const ImagePlanes& planes) {
  return taps == 4 && planes.count > 1;
}

// The images of a group of lanes, or one for all of them, and how to sample them.
template <int taps>
struct PreparedImages {
  using Run = void (*)(const Sampling&, const Call&, const ImagePlanes&, const LaneBlock&, const float* images,
                       std::int64_t step);
  Run run = nullptr;
  std::int64_t step = 0;

  static PreparedImages one(const Sampling& s, const ImagePlanes& planes, const float* from, float* to) {
    if constexpr (taps == 1) {
      surround_one<1, 1>(s, from, planes.count, to);
      return {sample_group<1, TapLoads::row>};
    } else {
      if constexpr (taps == 4) {
        if (has_channel_loads<taps>(planes)) {
          surround_one<1, 4>(s, from, planes.count, to);
          return {sample_group<4, TapLoads::channels>};
        }
      }
      surround_one<2, 1>(s, from, planes.count, to);
      return {sample_group<taps, TapLoads::row_pairs>};
    }
  }

  static PreparedImages of_lanes(const Sampling& s, const ImagePlanes& planes, const float* from, std::int64_t own,
                                 std::int64_t first, std::int64_t lanes, float* to) {
    if constexpr (taps == 4) {
      if (has_channel_loads<taps>(planes)) {
        surround<4>(s, from, own, first, lanes, planes.count, to);
        return {sample_group<4, TapLoads::channels>, 4 * s.reached()};
      }
    }
    surround<1>(s, from, own, first, lanes, planes.count, to);
    return {sample_group<taps, TapLoads::row>, planes.count * s.reached()};
  }
};

template <int taps>
void sample(const Sampling& s, const Call& call) {
  const std::int64_t own = call.lanes_of(0), together = s.sampled_together();
  const bool constant = own == 1, seeded = call.in[0].extent == Extent::seeded;
  const auto [images, copy] =
      call.scratch(std::array{(constant ? 2 : kSampledLanes) * together * s.reached(), constant ? 0 : together * s.pixels});
  each_planes(s, together, [&, images = images, copy = copy](const ImagePlanes& planes) {
    const float* const from = call.in[0].data + planes.first(s) * s.pixels * own;
    PreparedImages<taps> prepared;
    const auto prepare = [&](std::int64_t first, std::int64_t count) {
      prepared = copy_if_equal(from + first, own, count, planes.count * s.pixels, copy)
                     ? PreparedImages<taps>::one(s, planes, copy, images)
                     : PreparedImages<taps>::of_lanes(s, planes, from, own, first, count, images);
    };
    const auto begin = [&](std::int64_t example, std::int64_t count) {
      if (!constant && !seeded) prepare(example % own, count);
    };
    if (constant) prepared = PreparedImages<taps>::one(s, planes, from, images);
    each_lane_block(call, begin, [&](const LaneBlock& group) {
      if (!constant && seeded) prepare(group.first_of(own, call.batch), group.count);
      prepared.run(s, call, planes, group, images, prepared.step);
    });
  });
}

template <int taps>
void sample_transpose(const Sampling& s, const Call& call) {
  float* const images = call.scratch(kSampledLanes * s.added_together() * s.reached());
  each_planes(s, s.added_together(), [&](const ImagePlanes& planes) {
    const std::int64_t step = planes.count * s.reached();
    const auto begin = [](std::int64_t, std::int64_t) {};
    each_lane_block(call, begin, [&](const LaneBlock& group) {
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
  const GridAxis &rows = s.rows.axis, &columns = s.columns.axis;
  for (std::int64_t q = 0; q < s.positions; ++q) {
    const GridAxis::Place row = rows.place(at[q]), column = columns.place(at[s.positions + q]);
    for (int i = 0; i < rows.taps; ++i) {
      for (int j = 0; j < columns.taps; ++j) {
        const std::int32_t r = rows.cell(row.first + i), c = columns.cell(column.first + j);
        const float weight = rows.weight_of(i, row.u) * columns.weight_of(j, column.u);
        visit(q, r < 0 || c < 0 ? -1 : r * columns.extent + c, weight);
      }
    }
  }
}

// Samples at constant positions. The result has the lanes of the first operand.
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
  if (sampling.reached() > kMostReached) return make_reference(graph, node);
  const RunSampling run = run_for(node.op, sampling.rows.axis.taps, at.extent == Extent::constant);
  return [sampling = std::move(sampling), run](const Call& call) { run(sampling, call); };
}

}  // namespace probust::cpu
