// SPDX-License-Identifier: MIT
//
// Scratch memory. A problem takes what it needs and releases everything at once, and the next problem reuses the memory. After a
// few problems, no new memory is allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace probust::normal {

class Arena {
 public:
  /// `count` uninitialised elements, aligned for vector instructions, valid until the end of the Scope in which they were taken.
  /// Throws std::bad_alloc.
  template <class T>
  std::span<T> take(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "nobody calls destructors here");
    if (count > kLargest / sizeof(T)) throw std::bad_alloc();
    return {reinterpret_cast<T*>(take_bytes(count * sizeof(T))), count};
  }

  template <class T>
  std::span<T> take(std::size_t count, T value) {
    const std::span<T> all = take<T>(count);
    std::uninitialized_fill(all.begin(), all.end(), value);
    return all;
  }

  /// Its destructor releases everything taken since it was created.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_) {}
    ~Scope() { arena_.release(block_, used_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t block_, used_;
  };

 private:
  static constexpr std::size_t kAlignment = 64, kFirst = std::size_t{1} << 14, kLargest = static_cast<std::size_t>(-1) / 4;

  struct alignas(kAlignment) Line {
    std::byte bytes[kAlignment];
  };
  struct Block {
    std::unique_ptr<Line[]> lines;
    std::size_t size;  // bytes
  };

  std::byte* take_bytes(std::size_t bytes) {
    const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (block_ < blocks_.size() && used_ + size > blocks_[block_].size) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) grow(size);
    std::byte* const start = reinterpret_cast<std::byte*>(blocks_[block_].lines.get()) + used_;
    used_ += size;
    return start;
  }

  // Each block is as large as all earlier blocks together, so there are few blocks.
  void grow(std::size_t least) {
    std::size_t size = kFirst;
    for (const Block& block : blocks_) size += block.size;
    if (size < least) size = least;
    blocks_.push_back({std::unique_ptr<Line[]>(new Line[size / kAlignment]), size});
    used_ = 0;
  }

  void release(std::size_t block, std::size_t used) {
    block_ = block;
    used_ = used;
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;  // all blocks before block_ are taken, as are the first used_ bytes of block_
};

}  // namespace probust::normal
