// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/bytes.h"
#include "probust/base/tensor.h"

namespace probust::datasets {

enum class NumberKind { unsigned_integer, signed_integer, floating };

/// The type of a stored number: 1, 2, 4 or 8 bytes (for floating-point numbers: 2, 4 or 8).
struct ElementType {
  NumberKind kind = NumberKind::unsigned_integer;
  std::int64_t bytes = 1;
  std::endian order = std::endian::native;

  bool is_byte() const { return kind == NumberKind::unsigned_integer && bytes == 1; }
};

/// Numbers of any stored type, in memory or in a file. `strides` are the distances in bytes between adjacent elements along
/// each axis, so that one type covers row-major, column-major and record-wise (CIFAR) files.
struct Array {
  ElementType type;
  Shape shape;
  Shape strides;
  Stored stored;
};

/// The number of elements of `shape` times `element_bytes`. Throws Error{unreadable} if an extent is negative or the product
/// exceeds 2^62.
std::int64_t byte_count(const Shape& shape, std::int64_t element_bytes, const std::string& path);

/// The bytes of `stored` as an array, row-major or column-major. Throws Error{unreadable} unless there are exactly as many
/// bytes as `shape` requires. `header` is the number of bytes that precede `stored` in the file, for the message.
Array dense_array(ElementType type, Shape shape, bool column_major, Stored stored, std::int64_t header, const std::string& path);

/// A row-major array with its elements in a different shape, which must have the same number of elements.
Array reshaped(Array array, Shape shape);

/// Rows [begin, begin + count) as a tensor [count, shape[1:]], each value multiplied by `scale` (in double precision, rounded
/// once). An array without axes becomes a scalar. Only these rows of a file are read. Throws Error{resources} if there are more
/// than kMaxElements elements, and Error{unreadable} if the file has changed.
Tensor decode_rows(const Array& array, std::int64_t begin, std::int64_t count, double scale);

/// All values in row-major order.
std::vector<double> decode_doubles(const Array& array);

/// All values of an array [N] (or [N, 1, ...]) as integers. Throws Error{unreadable} for other shapes, or if a value is not an
/// integer.
std::vector<std::int64_t> decode_labels(const Array& array, const std::string& path);

}  // namespace probust::datasets
