// SPDX-License-Identifier: MIT
// Converts NumPy arrays to tensors, points and numbers per point, and tensors to arrays.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/noise/noise.h"

namespace probust::python {

namespace py = pybind11;

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Whole = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

inline Tensor tensor_of(const Floats& array) {
  return {Shape(array.shape(), array.shape() + array.ndim()), std::vector<float>(array.data(), array.data() + array.size())};
}

// Converts a tensor to an array without copying: the array takes ownership of the tensor's numbers.
inline py::array_t<float> array_of(Tensor tensor) {
  auto kept = std::make_unique<std::vector<float>>(std::move(tensor.data));
  const float* numbers = kept->data();
  const py::capsule owner(kept.release(), [](void* each) { delete static_cast<std::vector<float>*>(each); });
  return py::array_t<float>(std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()), numbers, owner);
}

// Points [N, ...] in the memory of an array. An array with the shape of one point is a batch of one.
class PointsOf {
 public:
  PointsOf(const Floats& array, const Shape& point)
      : shape_(array.shape(), array.shape() + array.ndim()), data_(array.data()), size_(array.size()) {
    if (shape_ == point) shape_.insert(shape_.begin(), 1);
    if (shape_.empty()) throw Error{ErrorCode::usage, "x", "is a single number", "give points [N, ...]"};
  }

  std::int64_t count() const { return shape_[0]; }

  std::span<const float> values() const { return {data_, static_cast<std::size_t>(size_)}; }

  Tensor rows(std::int64_t first, std::int64_t count) const {
    Shape shape = shape_;
    shape[0] = count;
    const std::int64_t each = shape_[0] == 0 ? 0 : size_ / shape_[0];
    return {std::move(shape), std::vector<float>(data_ + first * each, data_ + (first + count) * each)};
  }

  // The points for noise that depends on the data.
  Tensor for_noise() const {
    Shape shape = shape_;
    const std::int64_t each = shape_[0] == 0 ? 0 : size_ / shape_[0];
    const std::vector<std::int64_t> positions = positions_for_noise(shape_[0], each);
    std::vector<float> values;
    for (const std::int64_t i : positions) values.insert(values.end(), data_ + i * each, data_ + (i + 1) * each);
    shape[0] = std::ssize(positions);
    return {std::move(shape), std::move(values)};
  }

 private:
  Shape shape_;
  const float* data_;
  std::int64_t size_;
};

// Numbers such as labels: one per point, or none if the argument was not given.
class NumbersOf {
 public:
  NumbersOf(const char* name, const std::optional<Whole>& array, std::int64_t points) {
    if (!array) return;
    all_.assign(array->data(), array->data() + array->size());
    if (array->size() != points)
      throw Error{
          ErrorCode::usage, option(name),
          "must have one value per point, not " + std::to_string(array->size()) + " for " + std::to_string(points) + " points",
          "give each point a value"};
  }

  const std::vector<std::int64_t>& all() const { return all_; }

  std::vector<std::int64_t> rows(std::int64_t first, std::int64_t count) const {
    return all_.empty() ? all_ : std::vector<std::int64_t>(all_.begin() + first, all_.begin() + first + count);
  }

 private:
  std::vector<std::int64_t> all_;
};

}  // namespace probust::python
