// SPDX-License-Identifier: MIT
#include "datasets/noise_files.h"

#include "datasets/bytes.h"
#include "datasets/dataset.h"
#include "datasets/json.h"
#include "probust/base/error.h"
#include "probust/perturb/transform_model.h"

namespace probust::datasets {
namespace {

NoiseArray read_array(const std::string& path) {
  Numbers numbers = read_numbers(path).value();
  return {std::move(numbers.shape), std::move(numbers.values), path};
}

Category category_of(const Document& group) {
  Category category;
  for (const Document& column : group.at("columns").as<Document::List>())
    category.columns.push_back(static_cast<std::int64_t>(column.as_number()));
  for (const Document& row : group.at("transitions").as<Document::List>()) {
    for (const Document& probability : row.as<Document::List>()) category.transitions.push_back(probability.as_number());
  }
  return category;
}

std::vector<Category> read_categories(const std::string& path) {
  const Buffer file_bytes = map_regular_file(path, "give the path of an existing file", "give a JSON file");
  const auto text = file_bytes.bytes;
  try {
    const Document file = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}).value_or(Document());
    std::vector<Category> categories;
    for (const Document& group : file.at("groups").as<Document::List>()) categories.push_back(category_of(group));
    return categories;
  } catch (const std::out_of_range&) {
    throw Error{ErrorCode::unreadable, path, "does not define categorical features",
                R"(write {"groups": [{"columns": [4, 5], "transitions": [[0.9, 0.1], [0.2, 0.8]]}]})"};
  }
}

OwnPerturbation read_perturbation(const std::string& path) {
  const Buffer file = map_regular_file(path, "give the path of an existing file", "give an ONNX model of x and z");
  return transform_model(std::as_bytes(file.bytes), path);
}

}  // namespace

NoiseSource noise_files() { return {read_array, read_categories, read_perturbation}; }

NoiseSource noise_files(std::vector<std::string>& paths) {
  const auto noting = [&paths](const auto& read) {
    return [&paths, read](const std::string& path) {
      paths.push_back(path);
      return read(path);
    };
  };
  return {noting(read_array), noting(read_categories), noting(read_perturbation)};
}

}  // namespace probust::datasets
