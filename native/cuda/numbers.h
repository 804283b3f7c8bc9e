// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/base/host_device.h"

// The number formats in which a device stores values. Kernels compute in float32 with all of them.
namespace probust::cuda {

/// How the numbers of a value are stored.
enum class Type : std::uint8_t { float32, bf16 };

PROBUST_HOST_DEVICE inline std::int64_t bytes_of(Type type) { return type == Type::bf16 ? 2 : 4; }

/// A bfloat16 number: the first 16 bits of a float32.
struct Bf16 {
  std::uint16_t bits;
};

PROBUST_HOST_DEVICE inline float widened(Bf16 x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16); }

/// Rounds to nearest, ties to even. NaN stays NaN, and numbers that are too large become infinite.
PROBUST_HOST_DEVICE inline Bf16 narrowed(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  if (x != x) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}

/// Read access to numbers of either type.
struct Numbers {
  const void* data = nullptr;
  Type type = Type::float32;

  PROBUST_HOST_DEVICE float operator[](std::int64_t i) const {
    return type == Type::bf16 ? widened(static_cast<const Bf16*>(data)[i]) : static_cast<const float*>(data)[i];
  }
};

/// Write access to numbers of either type.
struct MutableNumbers {
  void* data = nullptr;
  Type type = Type::float32;

  PROBUST_HOST_DEVICE void set(std::int64_t i, float value) const {
    if (type == Type::bf16) {
      static_cast<Bf16*>(data)[i] = narrowed(value);
    } else {
      static_cast<float*>(data)[i] = value;
    }
  }
};

/// Four consecutive numbers of either type, which are read or written in one memory access.
struct alignas(16) Four {
  float of[4];
};
struct alignas(8) NarrowFour {
  Bf16 of[4];
};

/// Elements i to i + 3. i must be a multiple of four, and `data` must be aligned as a Four or NarrowFour.
PROBUST_HOST_DEVICE inline Four four(const Numbers& numbers, std::int64_t i) {
  if (numbers.type == Type::float32) return reinterpret_cast<const Four*>(numbers.data)[i / 4];
  const NarrowFour narrow = reinterpret_cast<const NarrowFour*>(numbers.data)[i / 4];
  return {{widened(narrow.of[0]), widened(narrow.of[1]), widened(narrow.of[2]), widened(narrow.of[3])}};
}

PROBUST_HOST_DEVICE inline void set_four(const MutableNumbers& numbers, std::int64_t i, const Four& values) {
  if (numbers.type == Type::float32) {
    reinterpret_cast<Four*>(numbers.data)[i / 4] = values;
  } else {
    reinterpret_cast<NarrowFour*>(numbers.data)[i / 4] = {
        {narrowed(values.of[0]), narrowed(values.of[1]), narrowed(values.of[2]), narrowed(values.of[3])}};
  }
}

}  // namespace probust::cuda
