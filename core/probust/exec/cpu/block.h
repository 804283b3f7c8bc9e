// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace probust::cpu {

inline constexpr std::int64_t kFloat = sizeof(float);

/// The number of values that kernels process at once: whole vector registers on every instruction set.
inline constexpr std::int64_t kBlock = 16;
using Block = Eigen::Array<float, kBlock, 1>;

/// A vector register, and the number of values in it.
using Packet = Eigen::internal::packet_traits<float>::type;
inline constexpr std::int64_t kPacket = Eigen::internal::packet_traits<float>::size;

/// A square of values, one register per row, which Eigen can transpose.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wignored-attributes"  // alignment of vector types as template arguments, which does not matter here
#endif
using Square = Eigen::internal::PacketBlock<Packet, kPacket>;
using FourPackets = Eigen::internal::PacketBlock<Packet, 4>;  // made by Eigen from kPacket consecutive columns of four
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace probust::cpu
