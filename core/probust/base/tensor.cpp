// SPDX-License-Identifier: MIT
#include "probust/base/tensor.h"

#include <algorithm>

#include "probust/base/error.h"

namespace probust {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error{ErrorCode::unreadable, "shape " + to_string(shape), "has a negative extent", ""};
    if (extent > 0 && count > kMaxElements / extent) {
      throw Error{ErrorCode::resources, "shape " + to_string(shape),
                  "has more than " + std::to_string(kMaxElements) + " elements", ""};
    }
    count *= extent;
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const std::string& where) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t from_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t from_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      throw Error{ErrorCode::unreadable, where, "cannot broadcast operands of shapes " + to_string(a) + " and " + to_string(b),
                  ""};
    }
    result[i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

Tensor::Tensor(Shape extents) : shape(std::move(extents)), data(static_cast<std::size_t>(element_count(shape)), 0.0F) {}

Tensor::Tensor(Shape extents, std::vector<float> values) : shape(std::move(extents)), data(std::move(values)) {
  if (element_count(shape) != size()) {
    throw Error{ErrorCode::unreadable, "a tensor of shape " + to_string(shape),
                "cannot have " + std::to_string(size()) + " values", ""};
  }
}

std::span<const float> Tensor::row(std::int64_t i) const {
  const auto width = static_cast<std::size_t>(size() / shape.at(0));
  return std::span(data).subspan(static_cast<std::size_t>(i) * width, width);
}

std::span<float> Tensor::row(std::int64_t i) {
  const auto width = static_cast<std::size_t>(size() / shape.at(0));
  return std::span(data).subspan(static_cast<std::size_t>(i) * width, width);
}

Tensor rows(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  Shape shape = tensor.shape;
  const std::int64_t width = shape.at(0) == 0 ? 0 : tensor.size() / shape[0];
  shape[0] = count;
  const auto begin = tensor.data.begin() + first * width;
  return Tensor(std::move(shape), std::vector<float>(begin, begin + count * width));
}

Tensor rows(const Tensor& tensor, std::span<const std::int64_t> which) {
  Shape shape = tensor.shape;
  shape.at(0) = static_cast<std::int64_t>(which.size());
  Tensor result(std::move(shape));
  for (std::size_t k = 0; k < which.size(); ++k) {
    const auto row = tensor.row(which[k]);
    std::copy(row.begin(), row.end(), result.row(static_cast<std::int64_t>(k)).begin());
  }
  return result;
}

}  // namespace probust
