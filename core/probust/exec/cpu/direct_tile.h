// SPDX-License-Identifier: MIT
// The innermost loops of a direct convolution: sums over terms k of w[k, n] x[k, i] for a tile of outputs n and positions i,
// which stays in registers. Every sum adds its terms in the order of k, with fused multiply-adds if the CPU has them, so results
// depend neither on the tile nor on the position.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "probust/exec/cpu/block.h"

namespace probust::cpu {

/// The maximum number of sums in a tile, in packets, and the maximum number of outputs. The remaining registers hold operands.
inline constexpr int kTileSums = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 24 : 12;
inline constexpr int kTileOutputs = kTileSums / 3;
/// The maximum number of packets of positions in a tile.
inline constexpr int kTilePackets = 12;

/// The terms of a sum: x[k, i] is x[offsets[k] + i], and w[k, n] is w[k * N + n].
struct TileTerms {
  std::span<const std::int64_t> offsets;
  const float* x;
  const float* w;
};

/// The memory for sums. Sums start from `bias` (nullptr: from zero) or, if they continue earlier sums, from the values in memory.
struct TileSums {
  float* out;
  std::int64_t stride;  ///< distance between outputs
  const float* bias;
  bool continues;
};

template <int N, int V>
void add_tile(const TileTerms& terms, const TileSums& to) {
  using namespace Eigen::internal;
  Packet sums[N][V];
  for (int n = 0; n < N; ++n) {
    for (int v = 0; v < V; ++v) {
      sums[n][v] = to.continues ? ploadu<Packet>(to.out + n * to.stride + v * kPacket)
                                : pset1<Packet>(to.bias == nullptr ? 0.0F : to.bias[n]);
    }
  }
  const float* w = terms.w;
  for (const std::int64_t offset : terms.offsets) {
    const float* const from = terms.x + offset;
    Packet x[V];
    for (int v = 0; v < V; ++v) x[v] = ploadu<Packet>(from + v * kPacket);
    for (int n = 0; n < N; ++n) {
      const Packet weight = pset1<Packet>(w[n]);
      for (int v = 0; v < V; ++v) sums[n][v] = pmadd(weight, x[v], sums[n][v]);
    }
    w += N;
  }
  for (int n = 0; n < N; ++n) {
    for (int v = 0; v < V; ++v) pstoreu(to.out + n * to.stride + v * kPacket, sums[n][v]);
  }
}

/// Adds terms for the last `count` positions, fewer than a packet. Reads a whole packet of x.
template <int N>
void add_rest(const TileTerms& terms, const TileSums& to, std::int64_t count) {
  float sums[N * kPacket];
  if (to.continues) {
    std::fill_n(sums, N * kPacket, 0.0F);
    for (int n = 0; n < N; ++n) std::copy_n(to.out + n * to.stride, count, sums + n * kPacket);
  }
  add_tile<N, 1>(terms, {sums, kPacket, to.bias, to.continues});
  for (int n = 0; n < N; ++n) std::copy_n(sums + n * kPacket, count, to.out + n * to.stride);
}

/// Adds terms for `length` positions of N outputs.
template <int N, int V = std::min(kTilePackets, kTileSums / N)>
void add_strip(TileTerms terms, TileSums to, std::int64_t length) {
  for (; length >= V * kPacket; length -= V * kPacket) {
    add_tile<N, V>(terms, to);
    terms.x += V * kPacket;
    to.out += V * kPacket;
  }
  if (length == 0) return;
  if constexpr (V > 1) {
    add_strip<N, (V + 1) / 2>(terms, to, length);
  } else {
    add_rest<N>(terms, to, length);
  }
}

/// Splits `count` outputs into blocks whose sizes add_outputs supports.
inline std::vector<std::int64_t> output_blocks(std::int64_t count) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = kTileOutputs; count > 0; block /= 2) {
    for (; count >= block; count -= block) blocks.push_back(block);
  }
  return blocks;
}

/// Adds terms for `length` positions of a block of outputs.
inline void add_outputs(std::int64_t block, const TileTerms& terms, const TileSums& to, std::int64_t length) {
  if (block == kTileOutputs) return add_strip<kTileOutputs>(terms, to, length);
  if (block == 4) return add_strip<4>(terms, to, length);
  if (block == 2) return add_strip<2>(terms, to, length);
  add_strip<1>(terms, to, length);
}

}  // namespace probust::cpu
