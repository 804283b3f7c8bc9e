// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>

#include "probust/exec/cpu/block.h"

namespace probust::cpu {

/// to[e * lanes + l] = x[e * step * own + l % own] for `count` elements e: repeats the lanes of an operand that has `own`
/// lanes. `to` must have room for one more block, because whole blocks are written, whose ends the next ones overwrite.
inline void repeat_lanes(const float* x, std::int64_t step, std::int64_t own, std::int64_t lanes, std::int64_t count, float* to) {
  using namespace Eigen::internal;
  for (std::int64_t e = 0; e < count; ++e, x += step * own) {
    const bool readable = own <= kPacket && step == 1 && (count - e) * own >= kPacket;
    if (own == 1) {
      const Packet value = pset1<Packet>(*x);
      for (std::int64_t l = 0; l < lanes; l += kPacket) pstoreu(to + l, value);
      to += lanes;
    } else if (readable) {
      const Packet values = ploadu<Packet>(x);
      for (std::int64_t l = 0; l < lanes; l += own, to += own) pstoreu(to, values);
    } else {
      for (std::int64_t l = 0; l < lanes; l += own, to += own) std::copy_n(x, own, to);
    }
  }
}

}  // namespace probust::cpu
