// SPDX-License-Identifier: MIT
#include "datasets/array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace probust::datasets {
namespace {

// IEEE 754 binary16.
struct Half {
  std::uint16_t bits;
};

double to_double(Half half) {
  const int exponent = half.bits >> 10 & 0x1f, fraction = half.bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  }
  return half.bits & 0x8000 ? -magnitude : magnitude;
}

template <class T>
double to_double(T value) {
  return static_cast<double>(value);
}

template <class T>
T load(const std::uint8_t* from, bool swapped) {
  std::array<std::uint8_t, sizeof(T)> raw;
  std::memcpy(raw.data(), from, sizeof(T));
  if (swapped) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<T>(raw);
}

// Calls body.template operator()<T>() with the C++ type of the stored numbers.
template <class Body>
void with_type(const ElementType& type, Body&& body) {
  const auto pick = [&]<class One, class Two, class Four, class Eight>() {
    if (type.bytes == 1) return body.template operator()<One>();
    if (type.bytes == 2) return body.template operator()<Two>();
    if (type.bytes == 4) return body.template operator()<Four>();
    return body.template operator()<Eight>();
  };
  switch (type.kind) {
    case NumberKind::unsigned_integer:
      return pick.template operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
    case NumberKind::signed_integer:
      return pick.template operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
    case NumberKind::floating:
      return pick.template operator()<Half, Half, float, double>();
  }
}

// Calls visit(address) for every element in row-major order, starting at `base`.
template <class Visit>
void for_each_element(const Shape& shape, const Shape& strides, const std::uint8_t* base, Visit&& visit) {
  if (shape.empty()) return visit(base);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  const std::size_t last = shape.size() - 1;
  Shape index(last, 0);
  while (true) {
    for (std::int64_t i = 0; i < shape[last]; ++i) visit(base + i * strides[last]);
    std::size_t axis = last;
    while (axis > 0 && index[axis - 1] + 1 == shape[axis - 1]) {
      --axis;
      base -= index[axis] * strides[axis];
      index[axis] = 0;
    }
    if (axis == 0) return;
    ++index[axis - 1];
    base += strides[axis - 1];
  }
}

Shape byte_strides(const Shape& shape, std::int64_t element_bytes, bool column_major) {
  Shape ordered = shape;
  if (column_major) std::reverse(ordered.begin(), ordered.end());
  Shape strides = row_major_strides(ordered);
  if (column_major) std::reverse(strides.begin(), strides.end());
  for (std::int64_t& stride : strides) stride *= element_bytes;
  return strides;
}

// A stored number as an integer, or nothing.
template <class T>
std::optional<std::int64_t> whole(T value) {
  if constexpr (std::is_integral_v<T>) {
    if (!std::in_range<std::int64_t>(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  } else {
    const double number = to_double(value);
    if (!(std::fabs(number) <= 0x1p53) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
}

}  // namespace

std::int64_t byte_count(const Shape& shape, std::int64_t element_bytes, const std::string& path) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  // Even if one extent is zero, the others must be valid: strides are computed from them.
  std::int64_t count = element_bytes, product = element_bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && product > kLimit / extent)) {
      refuse(path, "has an impossible shape " + to_string(shape), "no file holds that many values");
    }
    if (extent > 0) product *= extent;
    count *= extent;
  }
  return count;
}

Array dense_array(ElementType type, Shape shape, bool column_major, Buffer buffer, std::int64_t header, const std::string& path) {
  const std::int64_t needed = byte_count(shape, type.bytes, path), found = std::ssize(buffer.bytes);
  if (found != needed) {
    refuse(path, std::string(found < needed ? "is truncated" : "is too long") + ": it has " + std::to_string(header + found) +
                     " bytes, and its shape " + to_string(shape) + " needs " + std::to_string(header + needed));
  }
  Shape strides = byte_strides(shape, type.bytes, column_major);
  return {type, std::move(shape), std::move(strides), std::move(buffer)};
}

Array reshaped(Array array, Shape shape) {
  array.strides = byte_strides(shape, array.type.bytes, false);
  array.shape = std::move(shape);
  return array;
}

Tensor decode_rows(const Array& array, std::int64_t begin, std::int64_t count, double scale) {
  Shape shape = array.shape;
  const std::uint8_t* base = array.buffer.bytes.data();
  if (!shape.empty()) {
    shape[0] = count;
    base += begin * array.strides[0];
  }
  Tensor tensor(shape);
  const bool swapped = array.type.order != std::endian::native;
  float* out = tensor.data.data();
  with_type(array.type, [&]<class T>() {
    for_each_element(shape, array.strides, base,
                     [&](const std::uint8_t* from) { *out++ = static_cast<float>(to_double(load<T>(from, swapped)) * scale); });
  });
  return tensor;
}

std::vector<double> decode_doubles(const Array& array) {
  std::vector<double> values;
  const bool swapped = array.type.order != std::endian::native;
  with_type(array.type, [&]<class T>() {
    for_each_element(array.shape, array.strides, array.buffer.bytes.data(),
                     [&](const std::uint8_t* from) { values.push_back(to_double(load<T>(from, swapped))); });
  });
  return values;
}

std::vector<std::int64_t> decode_labels(const Array& array, const std::string& path) {
  const std::string hint = "labels are one whole number a row";
  if (array.shape.empty() || std::any_of(array.shape.begin() + 1, array.shape.end(), [](std::int64_t n) { return n != 1; })) {
    refuse(path, "has shape " + to_string(array.shape) + " where labels [N] were expected", hint);
  }
  std::vector<std::int64_t> labels;
  labels.reserve(static_cast<std::size_t>(array.shape[0]));
  with_type(array.type, [&]<class T>() {
    for_each_element(array.shape, array.strides, array.buffer.bytes.data(), [&](const std::uint8_t* from) {
      const auto label = whole(load<T>(from, array.type.order != std::endian::native));
      if (!label) refuse(path, "label " + std::to_string(labels.size()) + " is not a whole number", hint);
      labels.push_back(*label);
    });
  });
  return labels;
}

}  // namespace probust::datasets
