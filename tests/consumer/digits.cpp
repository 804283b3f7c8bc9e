// SPDX-License-Identifier: MIT
// p_robust of twenty digits at three sizes of noise, in C++: digits MODEL.onnx POINTS.npz. The points are read with the C
// interface.
#include <probust.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "probust/model.h"

namespace {

probust::Tensor read_points(const char* path) {
  probust_data_options options{};
  options.size = sizeof options;
  options.limit = 20;
  probust_points points{};
  points.size = sizeof points;
  probust_data* data = nullptr;
  if (probust_read_data(path, &options, &data) != PROBUST_OK || probust_get_points(data, &points) != PROBUST_OK)
    throw probust::Error{probust::ErrorCode::unreadable, path, probust_error(), ""};
  probust::Shape shape(points.shape, points.shape + points.rank);
  shape.insert(shape.begin(), points.count);
  probust::Tensor x(shape);
  x.data.assign(points.x, points.x + x.size());
  probust_free_data(data);
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: digits MODEL.onnx POINTS.npz\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  try {
    probust::LoadedModel model = probust::load_model(std::as_bytes(std::span(bytes)));
    const std::vector<std::string> noises = {"gaussian:0.1", "gaussian:0.2", "gaussian:0.4"};
    std::printf("point predicted noise estimator p\n");
    for (const probust::Row& row : model.estimate(read_points(argv[2]), noises, {"auto", "taylor", "mc:10000"}))
      std::printf("%lld %lld %s %s %.4f\n", static_cast<long long>(row.index), static_cast<long long>(row.predicted),
                  row.noise.c_str(), row.estimator.c_str(), row.estimate.p);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "digits: %s\n", error.what()), 1;
  }
}
