// SPDX-License-Identifier: MIT
// The shortest complete program: p_robust of one point (a blank image). Usage: one_point MODEL.onnx SIGMA
#include <cstdio>
#include <fstream>
#include <iterator>

#include "probust/probust.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: one_point MODEL.onnx SIGMA\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  try {
    probust::LoadedModel model = probust::load_model(std::as_bytes(std::span(bytes)));
    const probust::Tensor x(model.point_shape());
    for (const probust::Row& row : model.estimate(x, {std::string("gaussian:") + argv[2]}, {"auto", "taylor", "mc:10000"}))
      std::printf("%-10s p = %.4f   1 - p = %.2e\n", row.estimator.c_str(), row.estimate.p, row.estimate.p_fail);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "one_point: %s\n", error.what()), 1;
  }
}
