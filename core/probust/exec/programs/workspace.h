// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "probust/base/stop.h"

namespace probust {

/// Frees memory that was allocated with an alignment.
struct FreeAligned {
  std::size_t alignment = 0;
  void operator()(float* memory) const;
};

/// Memory for floats, reused from call to call. Each part has exactly the requested size, is aligned to 64 bytes and has a
/// guard zone on both sides. AddressSanitizer reports any access to a zone when it happens; without it, `intact` detects
/// writes.
class Stretch {
 public:
  Stretch() = default;
  ~Stretch();
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;
  Stretch(Stretch&& other) noexcept { *this = std::move(other); }
  Stretch& operator=(Stretch&& other) noexcept;

  /// The number of floats that a part of this size takes, including its share of the guard zones.
  static std::int64_t footprint(std::int64_t size);

  /// Takes one part per entry of `sizes`, in order. Earlier parts become invalid; contents are undefined. Throws
  /// std::bad_alloc.
  void take(std::span<const std::int64_t> sizes, std::span<float*> parts);

  float* take(std::int64_t size) {
    float* part = nullptr;
    take(std::span(&size, 1), std::span(&part, 1));
    return part;
  }

  template <std::size_t N>
  std::array<float*, N> take(const std::array<std::int64_t, N>& sizes) {
    std::array<float*, N> parts;
    take(std::span<const std::int64_t>(sizes), std::span<float*>(parts));
    return parts;
  }

  /// The first part.
  float* data() const { return parts_.empty() ? nullptr : parts_.front().begin; }

  /// Shortens a part to `size` floats; its guard zone then begins there. It can grow again up to its original size.
  void limit(float* part, std::int64_t size);

  /// Whether nothing was written to the guard zones.
  bool intact() const;

  /// Drops all parts and fills the memory with NaN.
  void spoil();

 private:
  struct Part {
    float* begin;
    std::int64_t taken, size;
  };
  void unguard();

  void allocate(std::int64_t floats);

  std::unique_ptr<float, FreeAligned> memory_;
  std::int64_t size_ = 0;  // floats
  std::vector<Part> parts_;
};

/// Memory and settings for runs of a program; one per thread.
struct Workspace {
  Stretch values;   ///< for the values of the graph
  Stretch scratch;  ///< for one kernel
  Stretch packed;   ///< for the operands of a matrix product
  /// For tests: fills uninitialized memory with NaN before every kernel, and checks the guard zones after it.
  bool verify = false;
  /// If not null, a run ends with Error{interrupted} soon after this token is set.
  const StopToken* stop = nullptr;
  /// If not null, the time of each step of the program is added here: [steps] seconds.
  std::vector<double>* seconds = nullptr;
};

}  // namespace probust
