// SPDX-License-Identifier: MIT
// The library in a few lines: p_robust of one point (a blank image, as an example). Usage: one_point MODEL.onnx SIGMA
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "probust/probust.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: one_point MODEL.onnx SIGMA\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  try {
    const probust::Model model = probust::import_onnx(std::as_bytes(std::span(bytes))).value();
    const auto executor = probust::make_executor("cpu", model.graph, {}).value();
    probust::Shape shape = executor->point_shape();
    shape.insert(shape.begin(), 1);
    probust::Points points{probust::Tensor(shape), {0}, {0}, 0};  // one point, the first, target class 0, seed 0
    const probust::Tensor logits = executor->logits(points.x).value();
    points.target[0] = probust::argmax(logits.row(0));
    probust::Evaluation evaluation(*executor, points, logits);
    const probust::Noise noise{probust::isotropic_gaussian(), std::atof(argv[2])};
    for (const char* name : {"taylor", "mmse:10", "mc:10000"}) {
      const auto estimates = probust::estimate(evaluation, noise, probust::parse_estimator(name)).value();
      std::printf("%-10s p = %.4f   1 - p = %.2e\n", name, estimates[0].p, estimates[0].p_fail);
    }
  } catch (const probust::Error& error) {
    return std::fprintf(stderr, "one_point: %s\n", error.message().c_str()), 3;
  }
}
