// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/fetch/partial_file.h"
#include "probust/base/tensor.h"

namespace probust {

/// Writes a .npz file like numpy.savez_compressed, one array at a time. The file gets its name only when it is complete
/// (PartialFile). Throws Error{resources} if it cannot be written or would be larger than 2 GB, because larger zip files need
/// different records.
class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : file_(path) {}

  /// Adds an array with a type in NumPy's notation ("<f8", "<U5"); `bytes` has the elements of `shape` in row-major order.
  void add(const std::string& name, std::string_view type, const Shape& shape, std::span<const std::byte> bytes);

  void add(const std::string& name, const Shape& shape, std::span<const double> values);
  void add(const std::string& name, const Shape& shape, std::span<const float> values);
  void add(const std::string& name, const Shape& shape, std::span<const std::int32_t> values);
  void add(const std::string& name, const Shape& shape, std::span<const std::int64_t> values);

  /// Adds an array of texts (UTF-8), with the width of the longest one.
  void add(const std::string& name, const std::vector<std::string>& texts);

  /// Completes the file.
  void close();

 private:
  void write(const std::string& bytes);

  PartialFile file_;
  std::uint64_t position_ = 0;
  std::string directory_;  // the directory after the last member
  std::int64_t members_ = 0;
};

/// Writes labelled points as arrays x and y, which read_dataset can read. Throws the same errors as NpzWriter.
void write_npz(const std::string& path, const Tensor& x, std::span<const std::int64_t> labels);

}  // namespace probust
