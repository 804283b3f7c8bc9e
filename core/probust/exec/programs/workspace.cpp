// SPDX-License-Identifier: MIT
#include "probust/exec/programs/workspace.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define PROBUST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PROBUST_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef PROBUST_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace probust {
namespace {

constexpr std::int64_t kZone = 16;  // floats: one cache line
constexpr std::size_t kAlignment = kZone * sizeof(float);
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::uint32_t kMark = 0x7fb5c0de;  // a NaN that no computation produces

std::int64_t padded(std::int64_t floats) { return (floats + kZone - 1) / kZone * kZone; }

std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

void forbid([[maybe_unused]] const float* first, [[maybe_unused]] std::int64_t count) {
#ifdef PROBUST_ADDRESS_SANITIZER
  __asan_poison_memory_region(first, bytes_of(count));
#endif
}

void guard(float* first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(first + i, &kMark, sizeof(kMark));
  forbid(first, count);
}

void allow([[maybe_unused]] const float* first, [[maybe_unused]] std::int64_t count) {
#ifdef PROBUST_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(first, bytes_of(count));
#endif
}

// Under AddressSanitizer, the zone must not be read, and a write would already have been reported.
bool guarded([[maybe_unused]] const float* first, [[maybe_unused]] std::int64_t count) {
#ifndef PROBUST_ADDRESS_SANITIZER
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, first + i, sizeof(bits));
    if (bits != kMark) return false;
  }
#endif
  return true;
}

// The size of the zone between a part and the next one: at least kZone.
std::int64_t zone_after(std::int64_t size) { return padded(size) + kZone - size; }

}  // namespace

Stretch::~Stretch() { unguard(); }

Stretch& Stretch::operator=(Stretch&& other) noexcept {
  if (this == &other) return *this;
  unguard();
  memory_ = std::move(other.memory_);
  size_ = std::exchange(other.size_, 0);
  parts_ = std::move(other.parts_);
  other.parts_.clear();
  return *this;
}

// Memory must be accessible again before it is freed or reallocated.
void Stretch::unguard() { allow(memory_.get(), size_); }

void FreeAligned::operator()(float* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }

// Puts large allocations in large pages if the system has them: kernels read from many places at once, and first touching small
// pages takes as long as a few forwards.
void Stretch::allocate(std::int64_t floats) {
  memory_.reset();  // first, so that old and new memory do not exist at once
  size_ = 0;
  const bool large = bytes_of(floats) >= 8 * kLargePage;  // the end may be in small pages
  const std::size_t alignment = large ? kLargePage : kAlignment;
  memory_ = {static_cast<float*>(::operator new(bytes_of(floats), std::align_val_t(alignment))), FreeAligned{alignment}};
  size_ = floats;
#ifdef __linux__
  if (large) madvise(memory_.get(), bytes_of(floats) / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

std::int64_t Stretch::footprint(std::int64_t size) { return padded(size) + kZone; }

void Stretch::take(std::span<const std::int64_t> sizes, std::span<float*> parts) {
  const auto as_before = [](const Part& part, std::int64_t size) { return part.taken == size && part.size == size; };
  if (std::equal(parts_.begin(), parts_.end(), sizes.begin(), sizes.end(), as_before)) {
    std::transform(parts_.begin(), parts_.end(), parts.begin(), [](const Part& part) { return part.begin; });
    return;
  }
  unguard();
  std::int64_t total = kZone;  // the first zone
  for (const std::int64_t size : sizes) total += footprint(size);
  if (size_ < total) allocate(total);
  float* next = memory_.get();
  guard(next, kZone);
  next += kZone;
  parts_.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts[i] = next;
    parts_.push_back({next, sizes[i], sizes[i]});
    guard(next + sizes[i], zone_after(sizes[i]));
    next += footprint(sizes[i]);
  }
  forbid(next, memory_.get() + size_ - next);
}

void Stretch::limit(float* part, std::int64_t size) {
  const auto found = std::find_if(parts_.begin(), parts_.end(), [part](const Part& p) { return p.begin == part; });
  allow(part, found->taken + zone_after(found->taken));
  found->size = size;
  guard(part + size, found->taken - size + zone_after(found->taken));
}

bool Stretch::intact() const {
  if (parts_.empty()) return true;
  if (!guarded(parts_.front().begin - kZone, kZone)) return false;
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return guarded(part.begin + part.size, part.taken - part.size + zone_after(part.taken));
  });
}

void Stretch::spoil() {
  unguard();
  parts_.clear();
  std::fill_n(memory_.get(), size_, std::numeric_limits<float>::quiet_NaN());
}

}  // namespace probust
