// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace probust::cpu {

inline constexpr std::int64_t kFloat = sizeof(float);

/// As many values as kernels process at once: whole vector registers on every instruction set.
inline constexpr std::int64_t kBlock = 16;
using Block = Eigen::Array<float, kBlock, 1>;

/// A vector register, and how many values it has.
using Packet = Eigen::internal::packet_traits<float>::type;
inline constexpr std::int64_t kPacket = Eigen::internal::packet_traits<float>::size;

/// As many registers as each has values, which Eigen transposes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wignored-attributes"  // of vector types as template arguments: alignment, which does not matter here
#endif
using Square = Eigen::internal::PacketBlock<Packet, kPacket>;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace probust::cpu
