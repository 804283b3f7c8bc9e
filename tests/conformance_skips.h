// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

namespace probust::test {

/// A node test of ONNX that is left out, and why.
struct ConformanceSkip {
  std::string_view name;  ///< of the case; a last '*' stands for any ending
  std::string_view reason;
};

/// Every case that is left out by name. Cases whose operator or element type is outside ours skip themselves, naming it.
inline const std::vector<ConformanceSkip>& conformance_skips() {
  static const std::vector<ConformanceSkip> skips = {};
  return skips;
}

}  // namespace probust::test
