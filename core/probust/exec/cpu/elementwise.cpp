// SPDX-License-Identifier: MIT
// Element-wise functions, select and softmax. Exponentials and related functions use Eigen's vector functions on whole blocks,
// so that an element's value does not depend on its position in the array. The other functions use the loops of their operator
// definitions.
#include <algorithm>
#include <array>
#include <cmath>
#include <unsupported/Eigen/SpecialFunctions>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/repeat_lanes.h"
#include "probust/exec/programs/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

// Applies a function to whole blocks; the last block is padded.
template <class F>
Kernel block_kernel(F f) {
  return [f](const Call& call) {
    const std::int64_t size = element_count(*call.shape) * call.lanes;
    const float* in = call.in[0].data;
    std::int64_t i = 0;
    for (; i + kBlock <= size; i += kBlock) Eigen::Map<Block>(call.out + i) = f(Block(Eigen::Map<const Block>(in + i)));
    if (i == size) return;
    Block last = Block::Ones();
    std::copy(in + i, in + size, last.data());
    last = f(Block(last));
    std::copy_n(last.data(), size - i, call.out + i);
  };
}

Block sigmoid_block(const Block& x) {
  const Block e = (-x.abs()).exp();
  return (x >= 0.0F).select(Block::Ones(), e) / (1.0F + e);
}

// Gather offsets of an operand that is broadcast to the output; empty if the elements correspond one to one.
std::vector<std::int64_t> element_table(const Shape& operand, const Shape& output) {
  if (element_count(operand) == element_count(output)) return {};
  return broadcast_offsets(operand, output);
}

// Consecutive elements of an output. For these, each operand has either consecutive elements or one element for all.
struct Segment {
  std::int64_t first, count;
  std::int64_t at[2], step[2];  // first element of each operand, and its step to the next one: 0 or 1
};

std::vector<Segment> segments_of(const Shape& a, const Shape& b, const Shape& output) {
  const std::vector<std::int64_t> tables[2] = {element_table(a, output), element_table(b, output)};
  const auto at = [&](int operand, std::int64_t e) { return tables[operand].empty() ? e : tables[operand][e]; };
  std::vector<Segment> segments;
  for (std::int64_t e = 0; e < element_count(output); ++e) {
    const auto continues = [&](Segment& last, int operand) {
      const std::int64_t step = (at(operand, e) - last.at[operand]);
      return last.count == 1 ? step == 0 || step == 1 : step == last.step[operand] * last.count;
    };
    if (!segments.empty() && continues(segments.back(), 0) && continues(segments.back(), 1)) {
      Segment& last = segments.back();
      for (int operand : {0, 1}) last.step[operand] = (at(operand, e) - last.at[operand]) / last.count;
      ++last.count;
    } else {
      segments.push_back({e, 1, {at(0, e), at(1, e)}, {1, 1}});
    }
  }
  return segments;
}

// The number of elements to combine at a time if an operand has fewer lanes than the output: its repeated lanes take up to
// kTogether floats.
std::int64_t elements_together(const Call& call) {
  constexpr std::int64_t kTogether = 1024;  // in floats
  return std::max<std::int64_t>(1, kTogether / call.lanes);
}
std::int64_t repeated_size(const Call& call) { return elements_together(call) * call.lanes + kBlock; }

// An operand for elements first .. first + count - 1 of a segment, with the lanes of the output. If lanes must be repeated,
// they are written to `memory`.
const float* with_all_lanes(const Call& call, const Segment& segment, std::size_t operand, std::int64_t first, std::int64_t count,
                            float* memory) {
  const std::int64_t own = call.lanes_of(operand), step = segment.step[operand];
  const float* const x = call.in[operand].data + (segment.at[operand] + first * step) * own;
  if (own == call.lanes && (step == 1 || count == 1)) return x;
  repeat_lanes(x, step, own, call.lanes, count, memory);
  return memory;
}

void run_segment(BinaryLoop loop, float parameter, const Call& call, const Segment& segment) {
  const auto flat = [&](std::size_t operand) {
    return (segment.step[operand] == 1 || segment.count == 1) && call.lanes_of(operand) == call.lanes;
  };
  const auto scalar = [&](std::size_t operand) {
    return (segment.step[operand] == 0 || segment.count == 1) && call.lanes_of(operand) == 1;
  };
  const bool at_once = (flat(0) && (flat(1) || scalar(1))) || (scalar(0) && flat(1));
  const std::int64_t together = at_once ? segment.count : elements_together(call);
  const std::int64_t size = at_once ? 0 : repeated_size(call);
  const auto memory = call.scratch(std::array{size, size});
  for (std::int64_t first = 0; first < segment.count; first += together) {
    const std::int64_t count = std::min(together, segment.count - first);
    const bool scalars[2] = {at_once && !flat(0), at_once && !flat(1)};
    const float* operands[2];
    for (const std::size_t i : {0U, 1U}) {
      operands[i] = at_once ? call.in[i].data + segment.at[i] * call.lanes_of(i)
                            : with_all_lanes(call, segment, i, first, count, memory[i]);
    }
    loop(parameter, operands[0], scalars[0], operands[1], scalars[1], call.out + (segment.first + first) * call.lanes,
         count * call.lanes);
  }
}

}  // namespace

// Uses Eigen's vector function if there is one, otherwise the loop of the operator's definition.
Kernel make_unary(const Graph&, const Node& node) {
  switch (node.op) {
    case Op::relu:
      // Like std::max(x, 0): NaN stays NaN. (A plain loop would be compiled to WebAssembly's max, whose rules for NaN and zero
      // take several instructions.)
      return block_kernel([](const Block& x) -> Block { return x.max(0.0F); });
    case Op::exp:
      return block_kernel([](const Block& x) -> Block { return x.exp(); });
    case Op::log:
      return block_kernel([](const Block& x) -> Block { return x.log(); });
    case Op::tanh:
      return block_kernel([](const Block& x) -> Block { return x.tanh(); });
    case Op::sigmoid:
      return block_kernel(sigmoid_block);
    case Op::erf:
      return block_kernel([](const Block& x) -> Block { return x.erf(); });
    default:
      return [loop = definition(node.op).traits.unary, parameter = parameter_of(node.attributes)](const Call& call) {
        loop(parameter, call.in[0].data, call.out, element_count(*call.shape) * call.lanes);
      };
  }
}

Kernel make_binary(const Graph& graph, const Node& node) {
  return [loop = definition(node.op).traits.binary, parameter = parameter_of(node.attributes),
          segments = segments_of(graph[node.inputs[0]].shape, graph[node.inputs[1]].shape, node.shape)](const Call& call) {
    for (const Segment& segment : segments) run_segment(loop, parameter, call, segment);
  };
}

// y = b if a > 0, else c, in one pass over the lanes. Operands of smaller extent are broadcast.
Kernel make_select(const Graph& graph, const Node& node) {
  std::array<std::vector<std::int64_t>, 3> tables;
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = element_table(graph[node.inputs[i]].shape, node.shape);
  return [tables = std::move(tables)](const Call& call) {
    const std::int64_t elements = element_count(*call.shape), examples = std::min(call.batch.examples, call.lanes);
    const auto row = [&](std::size_t operand, std::int64_t e, std::int64_t first) {
      const std::int64_t own = call.lanes_of(operand), at = tables[operand].empty() ? e : tables[operand][e];
      return call.in[operand].data + at * own + (own == call.lanes && own > 1 ? first : 0);
    };
    const std::int64_t step_a = call.lanes_of(0) > 1, step_b = call.lanes_of(1) > 1, step_c = call.lanes_of(2) > 1;
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t first = 0; first < call.lanes; first += examples) {
        const float *a = row(0, e, first), *b = row(1, e, first), *c = row(2, e, first);
        float* out = call.out + e * call.lanes + first;
        for (std::int64_t i = 0; i < examples; ++i) out[i] = a[i * step_a] > 0 ? b[i * step_b] : c[i * step_c];
      }
    }
  };
}

// Softmax along an axis, all lanes at once: subtract the largest, exponentiate, normalise.
Kernel make_softmax(const Graph& graph, const Node& node) {
  if (node.op != Op::softmax) return make_reference(graph, node);
  const std::int64_t axis = std::get<AxisAttribute>(node.attributes).axis;
  const std::int64_t extent = node.shape[axis], stride = row_major_strides(node.shape)[axis];
  return [extent, stride, exponential = block_kernel([](const Block& x) -> Block { return x.exp(); })](const Call& call) {
    const std::int64_t lanes = call.lanes, elements = element_count(*call.shape);
    float* extreme = call.scratch(lanes);
    const auto line_start = [&](std::int64_t line) { return line / stride * stride * extent + line % stride; };
    const auto row = [&](auto* base, std::int64_t line, std::int64_t i) {
      return base + (line_start(line) + i * stride) * lanes;
    };
    for (std::int64_t line = 0; line < elements / extent; ++line) {
      std::copy_n(row(call.in[0].data, line, 0), lanes, extreme);
      for (std::int64_t i = 1; i < extent; ++i) {
        const float* a = row(call.in[0].data, line, i);
        for (std::int64_t l = 0; l < lanes; ++l) extreme[l] = std::max(extreme[l], a[l]);
      }
      for (std::int64_t i = 0; i < extent; ++i) {
        const float* a = row(call.in[0].data, line, i);
        float* y = row(call.out, line, i);
        for (std::int64_t l = 0; l < lanes; ++l) y[l] = a[l] - extreme[l];
      }
    }
    const Operand shifted{call.out, call.shape, call.in[0].extent};
    Call inner = call;
    inner.in = std::span(&shifted, 1);
    exponential(inner);
    for (std::int64_t line = 0; line < elements / extent; ++line) {
      std::fill_n(extreme, lanes, 0.0F);
      for (std::int64_t i = 0; i < extent; ++i) {
        const float* y = row(call.out, line, i);
        for (std::int64_t l = 0; l < lanes; ++l) extreme[l] += y[l];
      }
      for (std::int64_t i = 0; i < extent; ++i) {
        float* y = row(call.out, line, i);
        for (std::int64_t l = 0; l < lanes; ++l) y[l] /= extreme[l];
      }
    }
  };
}

}  // namespace probust::cpu
