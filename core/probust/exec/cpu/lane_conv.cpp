// SPDX-License-Identifier: MIT
// Convolutions with one channel per group and a filter that is not constant, such as a blur whose width differs between lanes.
// Each sum has only one term per tap, so vector registers hold lanes instead of channels. The sums of a few neighbouring pixels
// are in registers at the same time and share the filter's values. Taps at which the filter is zero in all lanes of a group are
// left out if the image is finite, so a narrow blur in a wide filter takes less time.
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/lane_block.h"
#include "probust/ops/windows.h"

namespace probust::cpu {
namespace {

constexpr int kBlockPackets = kBlock / kPacket;
// The number of pixels whose sums are in registers at the same time. They take half of the 16 registers.
constexpr int kTilePixels = 8 / kBlockPackets;

// A term of a pixel's sum: a tap of the filter, and an element of the other operand, counted from the run's `source`.
struct LaneTerm {
  std::int32_t tap, source;
  auto operator<=>(const LaneTerm&) const = default;
};

// Consecutive pixels first .. first + length - 1 of the result with the same terms, except that pixel first + i counts elements
// from source + i.
struct PixelRun {
  std::int64_t first, length, source;
  std::int64_t begin, end;  // range of the run's terms
};

// The terms of all pixels of the result, for one channel. For conv and conv_filter_grad, outputs read from the image; for
// conv_transpose, pixels of the image read from the outputs.
struct LanePlan {
  std::vector<LaneTerm> terms;
  std::vector<PixelRun> runs;
  std::int64_t results = 0, sources = 0, taps = 0;

  LanePlan(const Window& window, bool transposed) : taps(element_count(window.kernel)) {
    const std::int64_t image = element_count(window.image), output = element_count(window.output());
    results = transposed ? image : output;
    sources = transposed ? output : image;
    std::vector<std::vector<LaneTerm>> read(static_cast<std::size_t>(results));
    ops::for_each_tap(window, [&](std::int64_t at, std::int64_t tap, std::int64_t q) {
      read[transposed ? at : q].push_back({static_cast<std::int32_t>(tap), static_cast<std::int32_t>(transposed ? q : at)});
    });
    std::map<std::vector<LaneTerm>, std::pair<std::int64_t, std::int64_t>> known;
    for (std::int64_t pixel = 0; pixel < results; ++pixel) add(pixel, read[pixel], known);
  }

  std::span<const LaneTerm> terms_of(const PixelRun& run) const {
    return std::span(terms).subspan(run.begin, run.end - run.begin);
  }

 private:
  void add(std::int64_t pixel, std::vector<LaneTerm>& read,
           std::map<std::vector<LaneTerm>, std::pair<std::int64_t, std::int64_t>>& known) {
    const std::int32_t source = read.empty() ? 0 : read.front().source;
    for (LaneTerm& term : read) term.source -= source;
    const auto begin = static_cast<std::int64_t>(terms.size()), end = begin + static_cast<std::int64_t>(read.size());
    const auto [found, is_new] = known.try_emplace(read, begin, end);
    if (is_new) terms.insert(terms.end(), read.begin(), read.end());
    const auto [from, to] = found->second;
    const bool continues = !runs.empty() && runs.back().begin == from && runs.back().end == to &&
                           (read.empty() || runs.back().source + runs.back().length == source);
    if (continues) {
      ++runs.back().length;
    } else {
      runs.push_back({pixel, 1, source, from, to});
    }
  }
};

// Elements of an operand in the lanes of a group, `step` floats apart.
struct LaneElements {
  const float* data;
  std::int64_t step;
};

// Elements first .. first + count - 1 of an operand: in place if the group is a whole block of its lanes, otherwise copied to
// `copy`.
LaneElements elements_of(const Call& call, std::size_t operand, const LaneBlock& group, std::int64_t first, std::int64_t count,
                         float* copy) {
  const std::int64_t own = call.lanes_of(operand);
  const float* const from = call.in[operand].data + first * own + group.first_of(own, call.batch);
  if (own != 1 && group.count == kBlock) return {from, own};
  for (std::int64_t e = 0; e < count; ++e) {
    float* const to = copy + e * kBlock;
    std::fill_n(to, kBlock, own == 1 ? from[e] : 0.0F);
    if (own != 1) std::copy_n(from + e * own, group.count, to);
  }
  return {copy, kBlock};
}

bool is_zero(const float* lanes) {
  return std::all_of(lanes, lanes + kBlock, [](float value) { return value == 0; });
}

bool is_finite(const LaneElements& elements, std::int64_t count) {
  Block zeros = Block::Zero();
  for (std::int64_t e = 0; e < count; ++e) zeros += Eigen::Map<const Block>(elements.data + e * elements.step) * 0.0F;
  return (zeros == 0.0F).all();  // infinity and NaN times 0 are NaN
}

// The sums of `pixels` neighbouring pixels over the terms whose tap is used. A sum of zero is +0, whether or not taps are left
// out.
template <int pixels>
void sum_pixels(std::span<const LaneTerm> terms, const std::uint8_t* used, const LaneElements& filter, const float* x,
                std::int64_t step, float* y, std::int64_t step_y) {
  using namespace Eigen::internal;
  Packet sums[pixels][kBlockPackets];
  for (int p = 0; p < pixels; ++p) {
    for (int v = 0; v < kBlockPackets; ++v) sums[p][v] = pset1<Packet>(0.0F);
  }
  for (const LaneTerm& term : terms) {
    if (used[term.tap] == 0) continue;
    const float* const from = x + term.source * step;
    const float* const weights = filter.data + term.tap * filter.step;
    for (int v = 0; v < kBlockPackets; ++v) {
      const Packet weight = ploadu<Packet>(weights + v * kPacket);
      for (int p = 0; p < pixels; ++p) sums[p][v] = pmadd(weight, ploadu<Packet>(from + p * step + v * kPacket), sums[p][v]);
    }
  }
  for (int p = 0; p < pixels; ++p) {
    for (int v = 0; v < kBlockPackets; ++v) pstoreu(y + p * step_y + v * kPacket, padd(sums[p][v], pset1<Packet>(0.0F)));
  }
}

// Adds to the gradient of every tap, [taps][kBlock], the products of `pixels` cotangents c with the elements that their pixels
// read.
template <int pixels>
void add_products(std::span<const LaneTerm> terms, const float* c, std::int64_t step_c, const float* x, std::int64_t step,
                  float* gradient) {
  using namespace Eigen::internal;
  for (int v = 0; v < kBlockPackets; ++v) {
    Packet cotangents[pixels];
    for (int p = 0; p < pixels; ++p) cotangents[p] = ploadu<Packet>(c + p * step_c + v * kPacket);
    for (const LaneTerm& term : terms) {
      const float* const from = x + term.source * step + v * kPacket;
      Packet sum = pmul(cotangents[0], ploadu<Packet>(from));
      for (int p = 1; p < pixels; ++p) sum = pmadd(cotangents[p], ploadu<Packet>(from + p * step), sum);
      float* const to = gradient + term.tap * kBlock + v * kPacket;
      pstoreu(to, padd(ploadu<Packet>(to), sum));
    }
  }
}

// Calls whole(pixel) for each tile of kTilePixels pixels of a run, and one(pixel) for each remaining pixel; `pixel` counts from
// the run's first one.
template <class Whole, class One>
void each_tile(const PixelRun& run, const Whole& whole, const One& one) {
  std::int64_t pixel = 0;
  for (; pixel + kTilePixels <= run.length; pixel += kTilePixels) whole(pixel);
  for (; pixel < run.length; ++pixel) one(pixel);
}

struct LaneConv {
  LanePlan plan;
  std::int64_t images, groups;

  void convolve(const Call& call) const;
  void filter_gradient(const Call& call) const;
};

// Writes the results of a group, [count][kBlock], beginning with element `first`.
void write_group(const Call& call, const LaneBlock& group, std::int64_t first, std::int64_t count, const float* from) {
  float* const to = call.out + first * call.lanes + group.first_of(call.lanes, call.batch);
  for (std::int64_t e = 0; e < count; ++e) std::copy_n(from + e * kBlock, group.count, to + e * call.lanes);
}

void LaneConv::convolve(const Call& call) const {
  const std::int64_t taps = groups * plan.taps, sources = images * groups * plan.sources;
  std::vector<std::uint8_t> used(static_cast<std::size_t>(taps));
  const auto [filter_copy, source_copy, result_copy] =
      call.scratch(std::array{taps * kBlock, sources * kBlock, plan.results * kBlock});
  each_lane_block(
      call, [](std::int64_t, std::int64_t) {},
      [&, filter_copy = filter_copy, source_copy = source_copy, result_copy = result_copy](const LaneBlock& group) {
        const LaneElements filter = elements_of(call, 1, group, 0, taps, filter_copy);
        const LaneElements source = elements_of(call, 0, group, 0, sources, source_copy);
        bool all = true;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          used[tap] = is_zero(filter.data + tap * filter.step) ? 0 : 1;
          all = all && used[tap] != 0;
        }
        if (!all && !is_finite(source, sources)) std::fill(used.begin(), used.end(), std::uint8_t{1});  // 0 times infinity is NaN
        for (std::int64_t plane = 0; plane < images * groups; ++plane) {
          const std::int64_t tap = plane % groups * plan.taps, first = plane * plan.results;
          const LaneElements own_filter{filter.data + tap * filter.step, filter.step};
          const bool whole = group.count == kBlock;
          float* const y = whole ? call.out + first * call.lanes + group.first_of(call.lanes, call.batch) : result_copy;
          const std::int64_t step = source.step, step_y = whole ? call.lanes : kBlock;
          for (const PixelRun& run : plan.runs) {
            const auto terms = plan.terms_of(run);
            const float* const x = source.data + (plane * plan.sources + run.source) * step;
            const auto sum = [&](auto sums, std::int64_t pixel) {
              sums(terms, used.data() + tap, own_filter, x + pixel * step, step, y + (run.first + pixel) * step_y, step_y);
            };
            each_tile(
                run, [&](std::int64_t pixel) { sum(sum_pixels<kTilePixels>, pixel); },
                [&](std::int64_t pixel) { sum(sum_pixels<1>, pixel); });
          }
          if (!whole) write_group(call, group, first, plan.results, y);
        }
      });
}

void LaneConv::filter_gradient(const Call& call) const {
  const std::int64_t planes = images * groups, taps = plan.taps;
  const auto [source_copy, cotangent_copy, gradient] =
      call.scratch(std::array{plan.sources * kBlock, plan.results * kBlock, groups * taps * kBlock});
  each_lane_block(
      call, [](std::int64_t, std::int64_t) {},
      [&, source_copy = source_copy, cotangent_copy = cotangent_copy, gradient = gradient](const LaneBlock& group) {
        std::fill_n(gradient, groups * taps * kBlock, 0.0F);
        for (std::int64_t plane = 0; plane < planes; ++plane) {
          const LaneElements source = elements_of(call, 0, group, plane * plan.sources, plan.sources, source_copy);
          const LaneElements c = elements_of(call, 1, group, plane * plan.results, plan.results, cotangent_copy);
          float* const to = gradient + plane % groups * taps * kBlock;
          for (const PixelRun& run : plan.runs) {
            const auto add = [&](auto products, std::int64_t pixel) {
              products(plan.terms_of(run), c.data + (run.first + pixel) * c.step, c.step,
                       source.data + (run.source + pixel) * source.step, source.step, to);
            };
            each_tile(
                run, [&](std::int64_t pixel) { add(add_products<kTilePixels>, pixel); },
                [&](std::int64_t pixel) { add(add_products<1>, pixel); });
          }
        }
        write_group(call, group, 0, groups * taps, gradient);
      });
}

}  // namespace

bool has_single_channels(const Graph& graph, const Node& node) {
  const std::int64_t groups = std::get<Window>(node.attributes).groups;
  const Shape& other = node.op == Op::conv_filter_grad ? graph[node.inputs[1]].shape : node.shape;
  return graph[node.inputs[0]].shape[1] == groups && other[1] == groups;
}

Kernel make_lane_conv(const Graph& graph, const Node& node) {
  const auto& window = std::get<Window>(node.attributes);
  const Shape& first = graph[node.inputs[0]].shape;
  LaneConv conv{LanePlan(window, node.op == Op::conv_transpose), first[0], window.groups};
  if (node.op == Op::conv_filter_grad) return [conv = std::move(conv)](const Call& call) { conv.filter_gradient(call); };
  return [conv = std::move(conv)](const Call& call) { conv.convolve(call); };
}

}  // namespace probust::cpu
