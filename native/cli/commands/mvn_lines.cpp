// SPDX-License-Identifier: MIT
#include "cli/commands/mvn_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/output/json_text.h"
#include "probust/base/text.h"
#include "probust/normal/multivariate.h"

namespace probust::cli {
namespace {

/// Why a line is invalid, in a few words.
struct BadLine {
  std::string what;
};

/// The largest number of open brackets, outside strings: limits the JSON parser's recursion on untrusted input.
int nesting(std::string_view line) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

nlohmann::json parse(std::string_view line) {
  constexpr int kDeepest = 64;
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) throw BadLine{"the line is empty"};
  if (nesting(line) > kDeepest) throw BadLine{"nested too deeply"};
  std::set<std::string> keys;
  std::string twice;
  const auto note_key = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  nlohmann::json object = nlohmann::json::parse(line.begin(), line.end(), note_key, false);
  if (object.is_discarded()) throw BadLine{"not valid JSON"};
  if (!object.is_object()) throw BadLine{"not a JSON object with z and R or U"};
  if (!twice.empty()) throw BadLine{"the key '" + printable(twice) + "' is given twice"};
  return object;
}

/// A number, or "inf" or "-inf".
double read_limit(const nlohmann::json& value, std::size_t index) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "inf" || value == "+inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  throw BadLine{"z[" + std::to_string(index) + "] is neither a number nor \"inf\" or \"-inf\""};
}

std::vector<double> read_limits(const nlohmann::json& object) {
  if (!object.contains("z")) throw BadLine{"z is missing"};
  const nlohmann::json& values = object["z"];
  if (!values.is_array()) throw BadLine{"z is not an array"};
  std::vector<double> z;
  for (std::size_t i = 0; i < values.size(); ++i) z.push_back(read_limit(values[i], i));
  return z;
}

Eigen::MatrixXd read_matrix(const nlohmann::json& rows, const std::string& name) {
  if (!rows.is_array()) throw BadLine{name + " is not an array of rows"};
  if (rows.empty()) return {};
  for (const nlohmann::json& row : rows) {
    if (!row.is_array()) throw BadLine{name + " is not an array of rows"};
    if (row.size() != rows[0].size()) throw BadLine{"rows of " + name + " differ in length"};
  }
  Eigen::MatrixXd matrix(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (!rows[i][j].is_number()) throw BadLine{name + "[" + std::to_string(i) + "][" + std::to_string(j) + "] is not a number"};
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j].get<double>();
    }
  }
  return matrix;
}

// A key that is misspelt or means something elsewhere must not be ignored.
void refuse_unknown_keys(const nlohmann::json& object) {
  for (const auto& [key, value] : object.items()) {
    if (key != "id" && key != "z" && key != "R" && key != "U")
      throw BadLine{"the key '" + printable(key) + "' is unknown; the keys are id, z, R and U"};
  }
}

normal::Probability solve(const nlohmann::json& object) {
  refuse_unknown_keys(object);
  const bool has_R = object.contains("R"), has_U = object.contains("U");
  const std::vector<double> z = read_limits(object);
  if (has_R == has_U) throw BadLine{has_R ? "both R and U are given; one is wanted" : "R or U is missing"};
  if (has_R) return normal::mvn_cdf(z, read_matrix(object["R"], "R"));
  return normal::mvn_cdf_factor(z, read_matrix(object["U"], "U"));
}

/// JSON has no NaN and no infinity.
nlohmann::json number_or_null(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

std::string write(const nlohmann::json& id, const normal::Probability& answer, std::string_view status) {
  nlohmann::ordered_json line;
  line["id"] = id;
  line["p"] = number_or_null(answer.p);
  line["p_fail"] = number_or_null(answer.p_fail);
  line["error"] = number_or_null(answer.error);
  line["error_fail"] = number_or_null(answer.error_fail);
  line["method"] = answer.method;
  line["status"] = status;
  return json_text(line);
}

std::string refuse(const nlohmann::json& id, std::string_view what) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return write(id, {kNan, kNan, kNan, kNan, "none", 0, normal::Status::ok}, what);
}

}  // namespace

MvnAnswer answer_mvn_line(std::string_view line) try {
  nlohmann::json id;
  try {
    const nlohmann::json object = parse(line);
    if (object.contains("id")) id = object["id"];
    const normal::Probability answer = solve(object);
    return {write(id, answer, normal::describe(answer.status)), std::isfinite(answer.p)};
  } catch (const BadLine& bad) {
    return {refuse(id, bad.what), false};
  } catch (const std::exception& error) {
    return {refuse(id, error.what()), false};
  }
} catch (...) {
  return {R"({"id":null,"p":null,"p_fail":null,"error":null,"error_fail":null,"method":"none","status":"out of memory"})", false};
}

}  // namespace probust::cli
