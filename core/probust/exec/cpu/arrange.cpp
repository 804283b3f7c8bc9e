// SPDX-License-Identifier: MIT
// Operators that copy elements to other positions, or sum them.
#include <algorithm>
#include <cstring>

#include "probust/exec/cpu/copy_ranges.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/programs/gather_offsets.h"

namespace probust::cpu {
namespace {

// Consecutive elements that are added to a single element of a result (`same`) or to consecutive elements.
struct SumRange {
  std::int64_t first, length, target;
  bool same;
};

std::vector<SumRange> sum_ranges(const std::vector<std::int64_t>& targets) {
  std::vector<SumRange> ranges;
  for (std::size_t e = 0; e < targets.size(); ++e) {
    const auto continues = [&](SumRange& last) {
      if (last.length == 1) last.same = targets[e] == last.target;
      return targets[e] == last.target + (last.same ? 0 : last.length);
    };
    if (!ranges.empty() && continues(ranges.back())) {
      ++ranges.back().length;
    } else {
      ranges.push_back({static_cast<std::int64_t>(e), 1, targets[e], false});
    }
  }
  return ranges;
}

// out[targets[e]] += in[e], in the order of e in every lane. With one lane, the sum is kept in a register: in memory, every
// addition would wait for the previous one to be stored.
Kernel accumulate(const std::vector<std::int64_t>& targets) {
  return [ranges = sum_ranges(targets)](const Call& call) {
    const std::int64_t lanes = call.lanes;
    std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    for (const SumRange& range : ranges) {
      const float* from = call.in[0].data + range.first * lanes;
      float* to = call.out + range.target * lanes;
      if (range.same && lanes == 1) {
        float sum = *to;
        for (std::int64_t e = 0; e < range.length; ++e) sum += from[e];
        *to = sum;
        continue;
      }
      const std::int64_t times = range.same ? range.length : 1, count = range.same ? lanes : range.length * lanes;
      for (std::int64_t e = 0; e < times; ++e, from += count) {
        for (std::int64_t l = 0; l < count; ++l) to[l] += from[l];
      }
    }
  };
}

// Copies `elements` elements of an operand to the output and repeats them for lanes that the operand does not have.
void expand(const Call& call, std::size_t operand, const float* from, std::int64_t elements, float* to) {
  const std::int64_t own = call.lanes_of(operand);
  if (elements == 0) return;  // an empty value has no address to copy from
  if (own == call.lanes) {
    std::memcpy(to, from, static_cast<std::size_t>(elements * own) * sizeof(float));
    return;
  }
  for (std::int64_t e = 0; e < elements; ++e) {
    for (std::int64_t lane = 0; lane < call.lanes; ++lane) to[e * call.lanes + lane] = from[e * own + lane % own];
  }
}

}  // namespace

Kernel make_moves(const Graph& graph, const Node& node) {
  const Shape& from = graph[node.inputs[0]].shape;
  return [runs = copy_ranges(gather_offsets(node.op, node.attributes, from, node.shape))](const Call& call) {
    copy_rows(runs, call.in[0].data, call.lanes, 0, element_count(*call.shape) * call.lanes, call.out);
  };
}

// reduce_sum is the transpose of broadcast, and scatter_add that of gather: the gather offsets of broadcast and gather are the
// targets of the sums.
Kernel make_reduce_sum(const Graph& graph, const Node& node) {
  const Shape& from = graph[node.inputs[0]].shape;
  if (node.op == Op::scatter_add) return accumulate(gather_offsets(Op::gather, node.attributes, node.shape, from));
  return accumulate(broadcast_offsets(node.shape, from));
}

Kernel make_broadcast(const Graph& graph, const Node& node) { return make_moves(graph, node); }

Kernel make_concat(const Graph&, const Node& node) {
  const std::int64_t axis = std::get<AxisAttribute>(node.attributes).axis;
  return [axis](const Call& call) {
    std::int64_t outer = 1, inner = 1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(call.shape->size()); ++i)
      (i < axis ? outer : inner) *= i == axis ? 1 : (*call.shape)[i];
    const std::int64_t row = (*call.shape)[axis] * inner;
    std::int64_t before = 0;
    for (std::size_t operand = 0; operand < call.in.size(); ++operand) {
      const std::int64_t block = (*call.in[operand].shape)[axis] * inner;
      for (std::int64_t o = 0; o < outer; ++o) {
        expand(call, operand, call.in[operand].data + o * block * call.lanes_of(operand), block,
               call.out + (o * row + before) * call.lanes);
      }
      before += block;
    }
  };
}

}  // namespace probust::cpu
