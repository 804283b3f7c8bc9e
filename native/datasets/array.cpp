// SPDX-License-Identifier: MIT
#include "datasets/array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace probust::datasets {
namespace {

// A number in the binary16 format of IEEE 754.
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

// Some rows of an array, loaded into memory.
struct LoadedRows {
  Shape shape, strides;
  Buffer buffer;

  // Calls visit(value) for every number in row-major order.
  template <class T, class Visit>
  void for_each(const ElementType& type, Visit&& visit) const {
    const bool swapped = type.order != std::endian::native;
    for_each_element(shape, strides, buffer.bytes.data(), [&](const std::uint8_t* from) { visit(load<T>(from, swapped)); });
  }
};

// Whether each row begins after the end of the previous one.
bool rows_are_separate(const Array& array) {
  const auto apart = [&](std::int64_t stride) { return stride <= array.strides[0]; };
  return array.shape.size() == 1 || std::all_of(array.strides.begin() + 1, array.strides.end(), apart);
}

// Loads some rows of a column-major array. For each element of a row, the values of all these rows are adjacent in the file.
LoadedRows gather_rows(const Array& array, std::int64_t begin, Shape shape) {
  Shape strides = byte_strides(shape, array.type.bytes, true);
  const std::int64_t bytes = array.type.bytes, piece = shape[0] * bytes;
  std::vector<std::uint8_t> values(static_cast<std::size_t>(element_count(shape) * bytes));
  for (std::int64_t at = 0; at < std::ssize(values); at += piece) {
    const std::int64_t column = at / piece * array.shape[0] * bytes;
    array.stored.read(static_cast<std::uint64_t>(column + begin * bytes),
                      std::span(values).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(piece)));
  }
  return {std::move(shape), std::move(strides), as_buffer(std::move(values))};
}

LoadedRows load_rows(const Array& array, std::int64_t begin, std::int64_t count) {
  Shape shape = array.shape;
  if (shape.empty()) return {shape, {}, array.stored.all()};
  shape[0] = count;
  if (element_count(shape) == 0) return {shape, array.strides, {}};
  if (!array.stored.in_memory() && !rows_are_separate(array)) return gather_rows(array, begin, std::move(shape));
  std::int64_t bytes = array.type.bytes;  // from the first value to the end of the last value
  for (std::size_t axis = 0; axis < shape.size(); ++axis) bytes += (shape[axis] - 1) * array.strides[axis];
  const auto at = static_cast<std::uint64_t>(begin * array.strides[0]);
  return {std::move(shape), array.strides, array.stored.read(at, static_cast<std::uint64_t>(bytes))};
}

// Loads the array in parts of a few megabytes, and calls visit(rows) for each.
template <class Visit>
void for_each_part(const Array& array, Visit&& visit) {
  constexpr std::int64_t kBytes = std::int64_t{4} << 20;
  if (array.shape.empty()) return visit(load_rows(array, 0, 1));
  const std::int64_t n = array.shape[0];
  const std::int64_t step =
      rows_are_separate(array) ? std::max<std::int64_t>(1, kBytes / std::max<std::int64_t>(1, array.strides[0])) : n;
  for (std::int64_t first = 0; first < n; first += step) visit(load_rows(array, first, std::min(step, n - first)));
}

// A stored number as an integer; empty if it is not whole.
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
  // Even if one extent is zero, the others must be valid, because the strides depend on them.
  std::int64_t count = element_bytes, product = element_bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && product > kLimit / extent)) {
      refuse(path, "has an invalid shape " + to_string(shape), "save the data again");
    }
    if (extent > 0) product *= extent;
    count *= extent;
  }
  return count;
}

Array dense_array(ElementType type, Shape shape, bool column_major, Stored stored, std::int64_t header, const std::string& path) {
  const std::int64_t needed = byte_count(shape, type.bytes, path), found = static_cast<std::int64_t>(stored.size());
  if (found != needed) {
    refuse(path, std::string(found < needed ? "is truncated" : "is too long") + ": it has " + std::to_string(header + found) +
                     " bytes, but its shape " + to_string(shape) + " needs " + std::to_string(header + needed));
  }
  Shape strides = byte_strides(shape, type.bytes, column_major);
  return {type, std::move(shape), std::move(strides), std::move(stored)};
}

Array reshaped(Array array, Shape shape) {
  array.strides = byte_strides(shape, array.type.bytes, false);
  array.shape = std::move(shape);
  return array;
}

Tensor decode_rows(const Array& array, std::int64_t begin, std::int64_t count, double scale) {
  const LoadedRows loaded = load_rows(array, begin, count);
  Tensor tensor(loaded.shape);
  float* out = tensor.data.data();
  with_type(array.type, [&]<class T>() {
    loaded.for_each<T>(array.type, [&](T value) { *out++ = static_cast<float>(to_double(value) * scale); });
  });
  return tensor;
}

std::vector<double> decode_doubles(const Array& array) {
  std::vector<double> values;
  for_each_part(array, [&](const LoadedRows& loaded) {
    with_type(array.type,
              [&]<class T>() { loaded.for_each<T>(array.type, [&](T value) { values.push_back(to_double(value)); }); });
  });
  return values;
}

std::vector<std::int64_t> decode_labels(const Array& array, const std::string& path) {
  const std::string hint = "give one whole number per row";
  if (array.shape.empty() || std::any_of(array.shape.begin() + 1, array.shape.end(), [](std::int64_t n) { return n != 1; })) {
    refuse(path, "has shape " + to_string(array.shape) + ", but labels have shape [N]", hint);
  }
  std::vector<std::int64_t> labels;
  for_each_part(array, [&](const LoadedRows& loaded) {
    with_type(array.type, [&]<class T>() {
      loaded.for_each<T>(array.type, [&](T value) {
        const auto label = whole(value);
        if (!label) refuse("label " + std::to_string(labels.size()) + " of " + path, "is not a whole number", hint);
        labels.push_back(*label);
      });
    });
  });
  return labels;
}

}  // namespace probust::datasets
