// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "datasets/dataset.h"
#include "datasets/npy.h"
#include "probust/exec/executor.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "support/shared.h"

namespace probust::test {

/// One of the shared models, with the points at which its reference outputs were computed.
struct SharedModel {
  nlohmann::json entry;  ///< its record in models.json
  Tensor x;              ///< in natural units
  Preprocessing preprocessing;
};

inline nlohmann::json shared_model_records() {
  std::ifstream file(shared_folder() / "models" / "models.json");
  return nlohmann::json::parse(file);
}

inline Result<Model> import_shared(const std::string& name) {
  std::ifstream file(shared_folder() / "models" / (name + ".onnx"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return import_onnx(std::as_bytes(std::span(bytes)));
}

inline std::string data_file(const std::string& dataset) {
  if (dataset == "mnist") return "mnist-test-open-images-idx3-ubyte.gz";
  if (dataset == "fashion") return "fashion-test-open-images-idx3-ubyte.gz";
  if (dataset == "cifar10") return "cifar10-lossless-test-open.bin";
  if (dataset == "gtsrb32") return "gtsrb32-test-open-images.npy";
  if (dataset == "gtsrb30") return "gtsrb30-test-open-images.npy";
  return "iris.csv";
}

inline SharedModel shared_model(const nlohmann::json& entry) {
  SharedModel result{entry, {}, {}};
  const std::string dataset = entry.at("dataset");
  const auto& preprocess = entry.at("preprocess");
  const std::int64_t rows = entry.at("oracle_shape").at(0);
  if (dataset.rfind("none", 0) == 0) {
    result.x = read_npy((shared_folder() / "models" / std::string(entry.at("oracle_inputs"))).string()).value();
  } else {
    DatasetOptions options;
    options.limit = rows;
    if (preprocess.contains("divide_by_255") && !preprocess.at("divide_by_255").get<bool>()) options.scale = 1.0;
    result.x = read_dataset((shared_folder() / "data" / data_file(dataset)).string(), options).value().x;
    if (!preprocess.at("mean").is_null()) result.preprocessing.mean = preprocess.at("mean").get<std::vector<double>>();
    if (!preprocess.at("std").is_null()) result.preprocessing.std = preprocess.at("std").get<std::vector<double>>();
    if (preprocess.at("layout") == "whflat") result.preprocessing.layout = Layout::whcn;
  }
  return result;
}

inline Shape shape_of_point(const Tensor& x) { return {x.shape.begin() + 1, x.shape.end()}; }

inline std::unique_ptr<Executor> shared_executor(const Model& model, const SharedModel& shared,
                                                 const ExecutorOptions& options = {}, std::string_view backend = "cpu") {
  return make_executor(backend, with_preprocessing(model, shape_of_point(shared.x), shared.preprocessing).value(), options)
      .value();
}

}  // namespace probust::test
