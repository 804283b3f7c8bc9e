// SPDX-License-Identifier: MIT
#include "datasets/noise_files.h"

#include <nlohmann/json.hpp>

#include "datasets/bytes.h"
#include "datasets/dataset.h"
#include "probust/base/error.h"

namespace probust::datasets {
namespace {

NoiseArray read_array(const std::string& path) {
  Numbers numbers = read_numbers(path).value();
  return {std::move(numbers.shape), std::move(numbers.values), path};
}

Category category_of(const nlohmann::json& group) {
  Category category;
  group.at("columns").get_to(category.columns);
  for (const auto& row : group.at("transitions")) {
    for (const double probability : row.get<std::vector<double>>()) category.transitions.push_back(probability);
  }
  return category;
}

std::vector<Category> read_categories(const std::string& path) {
  const Buffer file_bytes = map_regular_file(path, "give the path of a file that exists", "give a JSON file");
  const auto text = file_bytes.bytes;
  try {
    const auto file = nlohmann::json::parse(text.begin(), text.end());
    std::vector<Category> categories;
    for (const auto& group : file.at("groups")) categories.push_back(category_of(group));
    return categories;
  } catch (const nlohmann::json::exception&) {
    throw Error{ErrorCode::unreadable, path, "does not hold categorical features",
                R"(write {"groups": [{"columns": [4, 5], "transitions": [[0.9, 0.1], [0.2, 0.8]]}]})"};
  }
}

}  // namespace

NoiseSource noise_files() { return {read_array, read_categories}; }

NoiseSource noise_files(std::vector<std::string>& paths) {
  const auto noting = [&paths](const auto& read) {
    return [&paths, read](const std::string& path) {
      paths.push_back(path);
      return read(path);
    };
  };
  return {noting(read_array), noting(read_categories)};
}

}  // namespace probust::datasets
