// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // how vectors are returned depends on the instruction set: these functions are inline
#endif

// Vectors of four, eight and sixteen floats, with the compiler's built-in shuffles. Vectors of four and eight floats work on
// every instruction set.
namespace probust::cpu {

/// Four values, in a vector register of the smallest instruction set.
using Four = float __attribute__((vector_size(4 * sizeof(float))));

/// Eight values, in one register or two.
using Eight = float __attribute__((vector_size(8 * sizeof(float))));

/// Sixteen values in one register, for instruction sets that have registers of this size.
using Sixteen = float __attribute__((vector_size(16 * sizeof(float))));

inline Eight join(const Four& a, const Four& b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }

inline Four low_half(const Eight& x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3); }
inline Four high_half(const Eight& x) { return __builtin_shufflevector(x, x, 4, 5, 6, 7); }

/// a b + c, fused if the processor supports it.
template <class Register = Eigen::internal::find_best_packet<float, 4>::type>
Four multiply_add(const Four& a, const Four& b, const Four& c) {
  if constexpr (sizeof(Register) == sizeof(Four)) {
    return Eigen::internal::pmadd(Register(a), Register(b), Register(c));
  } else {
    return a * b + c;
  }
}

template <class Register = Eigen::internal::find_best_packet<float, 8>::type>
Eight multiply_add(const Eight& a, const Eight& b, const Eight& c) {
  if constexpr (sizeof(Register) == sizeof(Eight)) {
    return Eigen::internal::pmadd(Register(a), Register(b), Register(c));
  } else {
    return join(multiply_add(low_half(a), low_half(b), low_half(c)), multiply_add(high_half(a), high_half(b), high_half(c)));
  }
}

template <class Register = Eigen::internal::find_best_packet<float, 16>::type>
Sixteen multiply_add(const Sixteen& a, const Sixteen& b, const Sixteen& c) {
  static_assert(sizeof(Register) == sizeof(Sixteen));
  return Eigen::internal::pmadd(Register(a), Register(b), Register(c));
}

inline Eight eight_times(float value) { return Eight{value, value, value, value, value, value, value, value}; }

inline Sixteen sixteen_times(float value) {
  const Eight half = eight_times(value);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

inline Four four_times(float value) { return Four{value, value, value, value}; }

/// Four rows of four values become columns.
inline void transpose(Four (&rows)[4]) {
  const Four a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5), b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5), d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

inline Four load_four(const float* from) {
  Four values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

/// a[0], a[1], b[0], b[1].
inline Four load_pairs(const float* a, const float* b) {
  using Pairs = double __attribute__((vector_size(sizeof(Four))));
  double first, second;
  std::memcpy(&first, a, sizeof first);
  std::memcpy(&second, b, sizeof second);
  return Four(Pairs{first, second});
}

inline Eight load_eight(const float* from) {
  Eight values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline Sixteen load_sixteen(const float* from) {
  Sixteen values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

/// from[0], from[1], four times.
inline Eight four_pairs(const float* from) {
  using Pairs = double __attribute__((vector_size(sizeof(Eight))));
  double pair;
  std::memcpy(&pair, from, sizeof pair);
  return Eight(Pairs{pair, pair, pair, pair});
}

inline void store_four(const Four& values, float* to) { std::memcpy(to, &values, sizeof values); }

/// to[j * step_to + i] = from[i * step_from + j] for i < rows, j < columns.
inline void transpose_to(const float* from, std::int64_t step_from, std::int64_t rows, std::int64_t columns, float* to,
                         std::int64_t step_to) {
  const std::int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (std::int64_t i = 0; i < whole_rows; i += 4) {
    for (std::int64_t j = 0; j < whole_columns; j += 4) {
      Four square[4];
      for (int k = 0; k < 4; ++k) square[k] = load_four(from + (i + k) * step_from + j);
      transpose(square);
      for (int k = 0; k < 4; ++k) store_four(square[k], to + (j + k) * step_to + i);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j) to[j * step_to + i] = from[i * step_from + j];
  }
}

}  // namespace probust::cpu
