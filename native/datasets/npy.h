// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "datasets/fetch/partial_file.h"
#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/ops/append.h"

namespace probust {

/// The array in a .npy file (format 1 to 3; any integer or floating type except bool, either byte order, C or Fortran order)
/// as float32 values, unscaled. Errors: unreadable (the file is missing, truncated or of a different format), resources.
Result<Tensor> read_npy(const std::string& path);

/// The header of a .npy file (format 1.0, C order). `type` is the type of the elements in NumPy's notation, such as "<f4" or
/// "|u1".
std::string npy_header(std::string_view type, const Shape& shape);

/// Writes a .npy file (format 1.0, C order) of T = float or double in parts, so that a large array need not fit in memory.
///
/// The file gets its name only when it is complete (PartialFile). Throws Error{resources} if it cannot be written.
template <class T>
class BasicNpyWriter {
 public:
  /// `shape` is the shape of the whole array.
  BasicNpyWriter(const std::string& path, const Shape& shape);

  /// Appends values in row-major order, any number of them. Throws Error{usage} beyond the end of the array.
  void append(std::span<const T> values);

  /// Completes the file. Throws Error{usage} if values are still missing.
  void close();

 private:
  void write_header();

  PartialFile file_;
  std::string header_;  // the header, which is written with the first values; then empty
  std::int64_t missing_;
};

using NpyWriter = BasicNpyWriter<float>;
using NpyWriter64 = BasicNpyWriter<double>;

/// Writes a whole array as float32. Throws the same errors as BasicNpyWriter.
void write_npy(const std::string& path, const Tensor& tensor);

/// Writes a whole array as float64; `values` has the elements of `shape` in row-major order. Throws the same errors as
/// BasicNpyWriter.
void write_npy(const std::string& path, const Shape& shape, std::span<const double> values);

}  // namespace probust
