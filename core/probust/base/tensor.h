// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace probust {

/// Extents of a tensor, outermost first. An empty shape is a scalar.
using Shape = std::vector<std::int64_t>;

/// Largest number of elements of a tensor: 16 GiB of float32, or 1 GiB if pointers have 32 bits. Untrusted sizes are checked
/// against it.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << (sizeof(void*) == 8 ? 32 : 28);

/// Number of elements, the product of the extents (1 for a scalar).
/// Throws Error{unreadable} on a negative extent and Error{resources} above kMaxElements.
std::int64_t element_count(const Shape& shape);

/// The shape as text: "[1, 3, 32, 32]".
std::string to_string(const Shape& shape);

/// Distance in elements between neighbours along each axis of a row-major tensor.
Shape row_major_strides(const Shape& shape);

/// The shape after numpy broadcasting; throws Error{unreadable} about `where` if the shapes are incompatible.
Shape broadcast_shapes(const Shape& a, const Shape& b, const std::string& where);

/// A dense row-major float32 array that owns its elements.
struct Tensor {
  Shape shape;
  std::vector<float> data;

  Tensor() = default;
  /// All zeros. Throws as element_count does.
  explicit Tensor(Shape extents);
  /// Throws Error{unreadable} unless values.size() is the number of elements of `extents`.
  Tensor(Shape extents, std::vector<float> values);

  static Tensor scalar(float value) { return Tensor({}, {value}); }

  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
  std::span<const float> row(std::int64_t i) const;  ///< elements of data[i, ...]
  std::span<float> row(std::int64_t i);
};

/// Rows first .. first + count - 1 of a tensor [N, ...], as a tensor [count, ...].
Tensor rows(const Tensor& tensor, std::int64_t first, std::int64_t count);

/// The rows `which` of a tensor [N, ...], in that order.
Tensor rows(const Tensor& tensor, std::span<const std::int64_t> which);

}  // namespace probust
