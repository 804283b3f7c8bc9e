// SPDX-License-Identifier: MIT
// Decompresses with zlib, into memory whose size is known in advance and plausible for the number of compressed bytes.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "datasets/bytes.h"

namespace probust::datasets {
namespace {

constexpr int kRawDeflate = -MAX_WBITS, kGzip = MAX_WBITS + 16;

// Deflate encodes at most 258 bytes in two bits, so n packed bytes expand to at most about 1032 n bytes.
constexpr std::uint64_t kLargestRatio = 1040;

// A zlib stream that unpacks the bytes `packed`.
class Stream {
 public:
  Stream(Bytes packed, int window_bits, std::string path) : packed_(packed), path_(std::move(path)) {
    if (inflateInit2(&state_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { inflateEnd(&state_); }

  /// Unpacks into `out` until it is full or the stream ends. Returns the number of bytes written.
  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t written = 0;
    while (!ended_) {
      const std::size_t space = std::min(out.size() - written, kChunk), supply = std::min(packed_.size(), kChunk);
      state_.next_out = space > 0 ? out.data() + written : &spare_;
      state_.avail_out = static_cast<uInt>(space);
      state_.next_in = const_cast<Bytef*>(packed_.data());  // zlib only reads
      state_.avail_in = static_cast<uInt>(supply);
      const int status = inflate(&state_, Z_NO_FLUSH);
      const std::size_t used = supply - state_.avail_in, made = space - state_.avail_out;
      packed_ = packed_.subspan(used);
      written += made;
      if (status == Z_STREAM_END) {
        finish_member();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        refuse(path_, "has damaged compressed data", "copy or download it again");
      } else if (used == 0 && made == 0) {
        break;  // `out` is full, or the packed bytes ended early
      }
    }
    return written;
  }

  bool ended() const { return ended_; }

 private:
  // A gzip file may consist of several consecutive members.
  void finish_member() {
    ended_ = !starts_with(packed_, "\x1f\x8b");
    if (!ended_) inflateReset(&state_);
  }

  static constexpr std::size_t kChunk = std::numeric_limits<uInt>::max();
  z_stream state_{};
  Bytes packed_;
  std::string path_;
  std::uint8_t spare_ = 0;
  bool ended_ = false;
};

// Unpacks a stream that must have exactly `count` unpacked bytes.
Buffer unpack(Bytes packed, std::uint64_t count, int window_bits, const std::string& path) {
  if (count / kLargestRatio > packed.size()) {
    refuse(path, "is truncated: " + std::to_string(packed.size()) + " compressed bytes cannot hold " + std::to_string(count));
  }
  std::vector<std::uint8_t> values(count);
  Stream stream(packed, window_bits, path);
  const std::size_t found = stream.read(values);
  if (found < count) {
    refuse(path, "is truncated: it unpacks to " + std::to_string(found) + " bytes instead of " + std::to_string(count));
  }
  std::uint8_t extra = 0;
  if (stream.read(std::span(&extra, 1)) > 0) {
    refuse(path, "unpacks to more than the " + std::to_string(count) + " bytes expected");
  }
  if (!stream.ended()) refuse(path, "is truncated: its compressed data end too early", "copy or download it again");
  return as_buffer(std::move(values));
}

}  // namespace

Buffer inflate_member(Bytes packed, std::uint64_t count, const std::string& path) {
  return unpack(packed, count, kRawDeflate, path);
}

Buffer gunzip_prefix(Bytes packed, std::uint64_t count, const std::string& path) {
  std::vector<std::uint8_t> values(count);
  values.resize(Stream(packed, kGzip, path).read(values));
  return as_buffer(std::move(values));
}

Buffer gunzip(Bytes packed, std::uint64_t count, const std::string& path) { return unpack(packed, count, kGzip, path); }

}  // namespace probust::datasets
