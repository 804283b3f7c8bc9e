// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace probust {

/// Memory for floats that is reused from call to call. Each part that it gives out is exactly as long as was asked for, begins at
/// a multiple of 64 bytes and has a guard zone on both sides. AddressSanitizer reports any access to a zone when it happens;
/// without it, `intact` finds what was written there.
class Stretch {
 public:
  Stretch() = default;
  ~Stretch();
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;
  Stretch(Stretch&& other) noexcept { *this = std::move(other); }
  Stretch& operator=(Stretch&& other) noexcept;

  /// Floats that a part of `size` takes, its share of the guard zones included.
  static std::int64_t footprint(std::int64_t size);

  /// One part per entry of `sizes`, in order. What was taken before is gone; contents are undefined. Throws std::bad_alloc.
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

  /// Ends a part after fewer floats than were taken, so that its guard zone begins there. A larger `size` than before is allowed
  /// up to what was taken.
  void limit(float* part, std::int64_t size);

  /// Whether nothing was written to the guard zones.
  bool intact() const;

  /// Gives back what was taken, and fills it all with NaN.
  void spoil();

 private:
  struct Part {
    float* begin;
    std::int64_t taken, size;
  };
  void unguard();

  std::vector<float> memory_;
  std::vector<Part> parts_;
};

/// What runs of a program use and reuse; one per thread.
struct Workspace {
  Stretch values;   ///< of the graph
  Stretch scratch;  ///< of one kernel
  Stretch packed;   ///< operands of a matrix product
  /// For tests: look after every kernel whether it wrote to a guard zone, and fill what it may not rely on with NaN before.
  bool verify = false;
  /// Where it is set, a run ends with Error{usage, "interrupted"} soon after.
  const std::atomic<bool>* stop = nullptr;
  /// Where it is set, the time of each of the program's steps is added here: [steps] seconds.
  std::vector<double>* seconds = nullptr;
};

/// Throws Error{usage, "run", "interrupted"} where `stop` is given and set.
void stop_if_asked(const std::atomic<bool>* stop);

}  // namespace probust
