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

std::vector<double> numbers_of(const Document& list) {
  std::vector<double> numbers;
  for (const Document& number : list.as<Document::List>()) numbers.push_back(number.as_number());
  return numbers;
}

std::vector<double> matrix_of(const Document& rows) {
  std::vector<double> matrix;
  for (const Document& row : rows.as<Document::List>()) {
    for (const double number : numbers_of(row)) matrix.push_back(number);
  }
  return matrix;
}

Category category_of(const Document& group) {
  Category category;
  for (const double column : numbers_of(group.at("columns"))) category.columns.push_back(static_cast<std::int64_t>(column));
  category.transitions = matrix_of(group.at("transitions"));
  if (const Document* codes = group.find("codes")) category.codes = numbers_of(*codes);
  if (const Document* joint = group.find("joint")) {
    for (const Document& each : joint->as<Document::List>())
      category.joint.push_back({static_cast<std::int64_t>(each.at("column").as_number()), matrix_of(each.at("add"))});
  }
  return category;
}

std::vector<Category> read_categories(const std::string& path) {
  const Buffer file_bytes = map_regular_file(path, "give the path of an existing file", "give a JSON file");
  const auto text = file_bytes.bytes;
  return categories_of({reinterpret_cast<const char*>(text.data()), text.size()}, path);
}

OwnPerturbation read_perturbation(const std::string& path) {
  const Buffer file = map_regular_file(path, "give the path of an existing file", "give an ONNX model of x and z");
  return transform_model(std::as_bytes(file.bytes), path);
}

}  // namespace

std::vector<Category> categories_of(std::string_view json, const std::string& where) {
  try {
    const Document file = parse_json(json).value_or(Document());
    std::vector<Category> categories;
    for (const Document& group : file.at("groups").as<Document::List>()) categories.push_back(category_of(group));
    return categories;
  } catch (const std::out_of_range&) {
    throw Error{ErrorCode::unreadable, where, "does not define categorical features",
                R"(write {"groups": [{"columns": [4, 5], "transitions": [[0.9, 0.1], [0.2, 0.8]]}]})"};
  }
}

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
