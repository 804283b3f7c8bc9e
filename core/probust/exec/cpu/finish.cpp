// SPDX-License-Identifier: MIT
// Applies fused operations to a part of a product's result while it is in the cache.
#include <algorithm>

#include "probust/exec/cpu/fusion.h"
#include "probust/exec/cpu/repeat_lanes.h"

namespace probust::cpu {
namespace {

constexpr std::int64_t kRepeated = 1024;  // floats of repeated lanes

// y[i] = f(y[i], x[i])
void combine_with(Op op, const float* x, float* y, std::int64_t count) {
  const Eigen::Map<const Eigen::ArrayXf> operand(x, count);
  Eigen::Map<Eigen::ArrayXf> to(y, count);
  with_fused_function(op, [&](auto f) { to = to.binaryExpr(operand, f); });
}

// y[e * lanes + l] = f(y[e * lanes + l], x[e * own + l % own]) for `count` elements. Returns false unless N divides `own`.
template <int N>
bool combine_packets(Op op, const float* x, std::int64_t own, float* y, std::int64_t lanes, std::int64_t count) {
  using namespace Eigen::internal;
  using P = typename find_best_packet<float, N>::type;
  constexpr std::int64_t size = unpacket_traits<P>::size;
  if (own % size != 0) return false;
  with_fused_function(op, [&](auto f) {
    for (const float* const end = x + count * own; x < end; x += own) {
      for (const float* const next = y + lanes; y < next; y += own) {
        for (std::int64_t l = 0; l < own; l += size) pstoreu(y + l, f.packetOp(ploadu<P>(y + l), ploadu<P>(x + l)));
      }
    }
  });
  return true;
}

// Combines y with an operand x that has one lane.
void combine_single_lanes(Op op, const float* x, float* y, std::int64_t lanes, std::int64_t count) {
  using namespace Eigen::internal;
  with_fused_function(op, [&](auto f) {
    for (std::int64_t e = 0; e < count; ++e, y += lanes) {
      std::int64_t l = 0;
      for (; l + kPacket <= lanes; l += kPacket) pstoreu(y + l, f.packetOp(ploadu<Packet>(y + l), pset1<Packet>(x[e])));
      for (; l < lanes; ++l) y[l] = f(y[l], x[e]);
    }
  });
}

}  // namespace

void Call::apply_fused(std::int64_t first, std::int64_t count) const {
  float* const y = out + first;
  for (const Fused& stage : fused) {
    if (stage.op == Op::relu) {
      Eigen::Map<Eigen::ArrayXf> to(y, count);
      to = to.max(0.0F);  // NaN stays NaN, as in elementwise.cpp
      continue;
    }
    if (in[stage.operand].extent == Extent::constant) {
      combine_constant(stage, first, count);
    } else if (lanes_of(stage.operand) == lanes) {
      combine_with(stage.op, in[stage.operand].data + first, y, count);
    } else {
      combine_runs(stage, first, count);
    }
  }
}

// Combines runs of floats with the element of the constant that each run uses.
void Call::combine_constant(const Fused& stage, std::int64_t first, std::int64_t count) const {
  const std::int64_t together = stage.size == 1 ? first + count : stage.inner * lanes;
  for (std::int64_t at = first, end = first + count; at < end;) {
    const std::int64_t run = std::min(end, (at / together + 1) * together) - at;
    combine_single_lanes(stage.op, in[stage.operand].data + at / lanes / stage.inner % stage.size, out + at, run, 1);
    at += run;
  }
}

// Combines an operand with fewer lanes, in runs that read consecutive lanes of the operand, or always the same lane.
void Call::combine_runs(const Fused& stage, std::int64_t first, std::int64_t count) const {
  const std::int64_t own = lanes_of(stage.operand);
  if (first % lanes == 0 && count % lanes == 0 && combine_elements(stage, first / lanes, count / lanes)) return;
  const float* x = in[stage.operand].data + first / lanes * own;
  std::int64_t lane = first % lanes;
  for (float *y = out + first, *const end = y + count; y < end;) {
    const std::int64_t begin = own == 1 ? 0 : lane % own, left = own == 1 ? lanes - lane : own - begin;
    const std::int64_t run = std::min<std::int64_t>(end - y, left);
    if (own == 1) {
      combine_single_lanes(stage.op, x, y, run, 1);
    } else {
      combine_with(stage.op, x + begin, y, run);
    }
    y += run;
    lane += run;
    if (lane == lanes) {
      lane = 0;
      x += own;
    }
  }
}

// combine_runs for whole elements. Returns false if this is not faster than combine_runs.
bool Call::combine_elements(const Fused& stage, std::int64_t element, std::int64_t count) const {
  const std::int64_t own = lanes_of(stage.operand);
  const float* const x = in[stage.operand].data + element * own;
  float* const y = out + element * lanes;
  if (own == 1) {
    combine_single_lanes(stage.op, x, y, lanes, count);
    return true;
  }
  const auto by = [&](auto combine) { return combine(stage.op, x, own, y, lanes, count); };
  if (by(combine_packets<kPacket>) || (kPacket > 4 && by(combine_packets<kPacket / 2>)) ||
      (kPacket > 8 && by(combine_packets<kPacket / 4>))) {
    return true;
  }
  if (own >= kBlock || lanes > kRepeated) return false;
  combine_repeated(stage.op, x, own, y, count);
  return true;
}

// Repeats the operand's lanes for some elements, then combines them as one run.
void Call::combine_repeated(Op op, const float* x, std::int64_t own, float* y, std::int64_t count) const {
  const std::int64_t most = kRepeated / lanes;
  float repeated[kRepeated + kBlock];
  for (std::int64_t e = 0; e < count; e += most) {
    const std::int64_t some = std::min(most, count - e);
    repeat_lanes(x + e * own, 1, own, lanes, some, repeated);
    combine_with(op, repeated, y + e * lanes, some * lanes);
  }
}

}  // namespace probust::cpu
