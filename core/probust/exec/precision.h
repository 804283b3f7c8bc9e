// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace probust {

/// The precision to which matrix products and convolutions round their operands. The CPU supports only float32.
enum class Precision : std::uint8_t {
  float32,  ///< no rounding: 24 bits
  tf32,     ///< 11 bits, sums in float32
  bf16,     ///< 8 bits, sums in float32; images between convolutions are stored in 16 bits
};

/// The name of a precision: "float32", "tf32" or "bf16".
constexpr const char* name_of(Precision precision) {
  return precision == Precision::tf32 ? "tf32" : precision == Precision::bf16 ? "bf16" : "float32";
}

}  // namespace probust
