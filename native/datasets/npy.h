// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/ops/append.h"

namespace probust {

/// The array in a .npy file (format 1 to 3; any integer or floating type except bool, either byte order, C or Fortran order)
/// as float32 values, unscaled. Errors: unreadable (missing, truncated, another kind of file), resources.
Result<Tensor> read_npy(const std::string& path);

/// The header of a .npy file (format 1.0, C order) for elements of a type as NumPy writes it: "<f4", "|u1".
std::string npy_header(std::string_view type, const Shape& shape);

/// Writes a .npy file (format 1.0, C order) of T = float or double in parts, so that a large array need not fit in memory.
///
/// The values go to "PATH.partial", which is renamed to `path` only in close(), so a file called `path` is always complete.
/// (If `path` is a device or pipe, values go there directly.) Throws Error{usage} if the file cannot be created and
/// Error{resources} if writing fails.
template <class T>
class BasicNpyWriter {
 public:
  /// `shape` is the shape of the whole array.
  BasicNpyWriter(const std::string& path, const Shape& shape);
  /// Removes the partial file unless close() succeeded.
  ~BasicNpyWriter();
  BasicNpyWriter(const BasicNpyWriter&) = delete;
  BasicNpyWriter& operator=(const BasicNpyWriter&) = delete;

  /// Appends values in row-major order, any number of them. Throws Error{usage} beyond the end of the array.
  void append(std::span<const T> values);

  /// Completes the file. Throws Error{usage} if values are still missing.
  void close();

 private:
  void write(const void* from, std::size_t bytes);
  void write_header();

  std::string path_;              // as given
  std::string target_, written_;  // path with links resolved; the file written until close()
  std::string header_;            // until written, with the first values
  std::int64_t missing_;
  std::FILE* file_ = nullptr;
};

using NpyWriter = BasicNpyWriter<float>;
using NpyWriter64 = BasicNpyWriter<double>;

/// Writes a whole array as float32. Throws as BasicNpyWriter does.
void write_npy(const std::string& path, const Tensor& tensor);

/// Writes a whole array as float64; `values` holds the elements of `shape` in row-major order. Throws as BasicNpyWriter does.
void write_npy(const std::string& path, const Shape& shape, std::span<const double> values);

}  // namespace probust
