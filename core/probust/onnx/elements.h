// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// The elements of tensors in a file, which become float32 (TensorProto in onnx.proto).
namespace probust::onnx {

enum DataType : std::int32_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16
};

/// The name of a type: "float32", "int64", ...
std::string type_name(std::int32_t type);

/// Bytes of one element in raw_data; 0 for types without numbers.
std::size_t type_size(std::int32_t type);

bool is_integer(std::int32_t type);

/// Throws Error{unsupported, where} for integers beyond 2^24, which float32 may not represent exactly, unless they are so large
/// that they only stand for "no limit".
float exact_integer(std::int64_t value, const std::string& where);

/// Unsigned integers beyond the largest int64 also stand for "no limit".
std::int64_t from_unsigned(std::uint64_t value);

/// The element of raw_data that begins at `at`. Throws like exact_integer.
float element_from_raw(const char* at, std::int32_t type, const std::string& where);

/// Converts a 16-bit float.
float widen_float16(std::uint16_t bits);
float widen_bfloat16(std::uint16_t bits);

}  // namespace probust::onnx
