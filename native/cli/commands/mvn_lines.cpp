// SPDX-License-Identifier: MIT
#include "cli/commands/mvn_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datasets/json.h"
#include "probust/base/text.h"
#include "probust/normal/multivariate.h"

namespace probust::cli {
namespace {

/// Thrown for an invalid line. `what` gives the reason in a few words.
struct BadLine {
  std::string what;
};

/// The maximum depth of nested brackets outside strings. It is limited, so that untrusted input cannot make the JSON parser
/// recurse too deeply.
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

Document parse(std::string_view line) {
  constexpr int kDeepest = 64;
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) throw BadLine{"the line is empty"};
  if (nesting(line) > kDeepest) throw BadLine{"the JSON is nested too deeply"};
  std::optional<Document> document = datasets::parse_json(line);
  if (!document) throw BadLine{"the line is not valid JSON"};
  const auto* object = document->get_if<Document::Object>();
  if (object == nullptr) throw BadLine{"the line is not a JSON object with z and R or U"};
  std::set<std::string> keys;
  for (const auto& [key, value] : *object) {
    if (!keys.insert(key).second) throw BadLine{"the key '" + printable(key) + "' is given twice"};
  }
  return *std::move(document);
}

/// Parses a number, "inf" or "-inf".
double read_limit(const Document& value, std::size_t index) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (const auto number = value.number()) return *number;
  if (const auto* text = value.get_if<std::string>()) {
    if (*text == "inf" || *text == "+inf") return kInfinity;
    if (*text == "-inf") return -kInfinity;
  }
  throw BadLine{"z[" + std::to_string(index) + "] is neither a number nor \"inf\" or \"-inf\""};
}

std::vector<double> read_limits(const Document& object) {
  const Document* z = object.find("z");
  if (z == nullptr) throw BadLine{"z is missing"};
  const auto* values = z->get_if<Document::List>();
  if (values == nullptr) throw BadLine{"z is not an array"};
  std::vector<double> limits;
  for (const Document& value : *values) limits.push_back(read_limit(value, limits.size()));
  return limits;
}

Eigen::MatrixXd read_matrix(const Document& document, const std::string& name) {
  const auto* rows = document.get_if<Document::List>();
  if (rows == nullptr) throw BadLine{name + " is not an array of rows"};
  if (rows->empty()) return {};
  std::vector<const Document::List*> lists;
  for (const Document& row : *rows) {
    lists.push_back(row.get_if<Document::List>());
    if (lists.back() == nullptr) throw BadLine{name + " is not an array of rows"};
    if (lists.back()->size() != lists.front()->size()) throw BadLine{"rows of " + name + " differ in length"};
  }
  Eigen::MatrixXd matrix(lists.size(), lists.front()->size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = 0; j < lists[i]->size(); ++j) {
      const std::optional<double> number = lists[i]->at(j).number();
      if (!number) throw BadLine{name + "[" + std::to_string(i) + "][" + std::to_string(j) + "] is not a number"};
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = *number;
    }
  }
  return matrix;
}

// Rejects unknown keys, because a misspelt key must not be silently ignored.
void refuse_unknown_keys(const Document& document) {
  for (const auto& [key, value] : document.as<Document::Object>()) {
    if (key != "id" && key != "z" && key != "R" && key != "U")
      throw BadLine{"the key '" + printable(key) + "' is unknown; the keys are id, z, R and U"};
  }
}

normal::Probability solve(const Document& object) {
  refuse_unknown_keys(object);
  const Document *R = object.find("R"), *U = object.find("U");
  const std::vector<double> z = read_limits(object);
  if ((R != nullptr) == (U != nullptr))
    throw BadLine{R != nullptr ? "both R and U are given; give only one" : "R or U is missing"};
  if (R != nullptr) return normal::mvn_cdf(z, read_matrix(*R, "R"));
  return normal::mvn_cdf_factor(z, read_matrix(*U, "U"));
}

std::string write(const Document& id, const normal::Probability& answer, std::string_view status) {
  return datasets::json_text(Document::Object{{"id", id},
                                              {"p", answer.p},
                                              {"p_fail", answer.p_fail},
                                              {"error", answer.error},
                                              {"error_fail", answer.error_fail},
                                              {"method", answer.method},
                                              {"status", status}});
}

std::string refuse(const Document& id, std::string_view what) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return write(id, {kNan, kNan, kNan, kNan, "none", 0, normal::Status::ok}, what);
}

}  // namespace

MvnAnswer answer_mvn_line(std::string_view line) try {
  Document id;
  try {
    const Document object = parse(line);
    if (const Document* given = object.find("id")) id = *given;
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
