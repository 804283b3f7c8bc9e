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

/// Writes a .npz file, as numpy.savez_compressed does, one array at a time. A file named `path` is always complete (PartialFile).
/// Throws Error{resources} if it cannot be written, or beyond 2 GB: larger zip files need other records.
class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : file_(path) {}

  /// An array of a type as NumPy writes it ("<f8", "<U5"): `bytes` has the elements of `shape` in row-major order.
  void add(const std::string& name, std::string_view type, const Shape& shape, std::span<const std::byte> bytes);

  void add(const std::string& name, const Shape& shape, std::span<const double> values);
  void add(const std::string& name, const Shape& shape, std::span<const float> values);
  void add(const std::string& name, const Shape& shape, std::span<const std::int32_t> values);
  void add(const std::string& name, const Shape& shape, std::span<const std::int64_t> values);

  /// One array of texts (UTF-8), as wide as the longest of them.
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

/// Writes labelled points as arrays x and y, as read_dataset reads them. Throws as NpzWriter does.
void write_npz(const std::string& path, const Tensor& x, std::span<const std::int64_t> labels);

}  // namespace probust
