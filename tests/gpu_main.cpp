// SPDX-License-Identifier: MIT
// The main function of the tests on a GPU. If there is no GPU, prints that and exits with the status that ctest counts as
// skipped.
#include <gtest/gtest.h>

#include <cstdio>

#include "cuda/device.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  testing::InitGoogleTest(&argc, argv);
  const auto [count, reason] = probust::cuda::count_devices();
  if (count > 0) return RUN_ALL_TESTS();
  std::printf("skipped: %s\n", reason.c_str());
  return kSkipped;
}
