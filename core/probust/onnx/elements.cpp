// SPDX-License-Identifier: MIT
#include "probust/onnx/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "probust/base/error.h"

namespace probust::onnx {
namespace {

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace

float widen_float16(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31)
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

float widen_bfloat16(std::uint16_t bits) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16); }

std::string type_name(std::int32_t type) {
  switch (type) {
    case kFloat:
      return "float32";
    case kUint8:
      return "uint8";
    case kInt8:
      return "int8";
    case kUint16:
      return "uint16";
    case kInt16:
      return "int16";
    case kInt32:
      return "int32";
    case kInt64:
      return "int64";
    case kString:
      return "string";
    case kBool:
      return "bool";
    case kFloat16:
      return "float16";
    case kDouble:
      return "float64";
    case kUint32:
      return "uint32";
    case kUint64:
      return "uint64";
    case kBfloat16:
      return "bfloat16";
    default:
      return "type " + std::to_string(type);
  }
}

std::size_t type_size(std::int32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
    case kFloat16:
    case kBfloat16:
      return 2;
    case kFloat:
    case kInt32:
    case kUint32:
      return 4;
    case kInt64:
    case kDouble:
    case kUint64:
      return 8;
    default:
      return 0;
  }
}

bool is_integer(std::int32_t type) { return type != kFloat && type != kDouble && type != kFloat16 && type != kBfloat16; }

float exact_integer(std::int64_t value, const std::string& where) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24, kSentinel = std::int64_t{1} << 30;
  if ((value > kExact && value < kSentinel) || (value < -kExact && value > -kSentinel)) {
    throw Error{ErrorCode::unsupported, where,
                "has the integer " + std::to_string(value) + ", which float32 might not represent exactly",
                "keep integers within ±2^24"};
  }
  return static_cast<float>(value);
}

std::int64_t from_unsigned(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

float element_from_raw(const char* at, std::int32_t type, const std::string& where) {
  switch (type) {
    case kFloat:
      return load<float>(at);
    case kDouble:
      return static_cast<float>(load<double>(at));
    case kFloat16:
      return widen_float16(load<std::uint16_t>(at));
    case kBfloat16:
      return widen_bfloat16(load<std::uint16_t>(at));
    case kUint8:
    case kBool:
      return load<std::uint8_t>(at);
    case kInt8:
      return load<std::int8_t>(at);
    case kUint16:
      return load<std::uint16_t>(at);
    case kInt16:
      return load<std::int16_t>(at);
    case kInt32:
      return exact_integer(load<std::int32_t>(at), where);
    case kUint32:
      return exact_integer(load<std::uint32_t>(at), where);
    case kUint64:
      return exact_integer(from_unsigned(load<std::uint64_t>(at)), where);
    default:
      return exact_integer(load<std::int64_t>(at), where);
  }
}

}  // namespace probust::onnx
