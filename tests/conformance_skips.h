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
  static const std::vector<ConformanceSkip> skips = {
      {"test_batchnorm_example_training_mode*", "statistics of the batch: an example's result would depend on the others"},
      {"test_batchnorm_epsilon_training_mode*", "statistics of the batch: an example's result would depend on the others"},
      {"test_resize_downsample_scales_cubic_align_corners",
       "expects corners apart: its length is 4 x 0.6 = 2.4; the operator's text, runtimes and exporters take the 2 cells made"},
      {"test_resize_downsample_scales_linear_align_corners",
       "expects corners apart: its length is 4 x 0.6 = 2.4; the operator's text, runtimes and exporters take the 2 cells made"},
      {"test_training_dropout", "drops elements at random; models are imported for inference"},
      {"test_training_dropout_default*", "drops elements at random; models are imported for inference"},
      {"test_training_dropout_mask", "drops elements at random; models are imported for inference"},
  };
  return skips;
}

}  // namespace probust::test
