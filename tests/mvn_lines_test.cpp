// SPDX-License-Identifier: MIT
//
// `probust mvn`, line by line: for any bytes as input, the output is one JSON object.
#include "cli/commands/mvn_lines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "probust/normal/multivariate.h"

namespace {

using nlohmann::json;
using probust::cli::answer_mvn_line;

/// The result as JSON. It must have all seven keys and no line break.
json answer(const std::string& line) {
  const std::string text = answer_mvn_line(line).line;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json object = json::parse(text, nullptr, false);
  EXPECT_TRUE(object.is_object()) << text;
  for (const char* key : {"id", "p", "p_fail", "error", "error_fail", "method", "status"})
    EXPECT_TRUE(object.contains(key)) << key << text;
  return object;
}

void expect_refused(const std::string& line, const std::string& word) {
  SCOPED_TRACE(line.substr(0, 80));
  const json object = answer(line);
  for (const char* key : {"p", "p_fail", "error", "error_fail"}) EXPECT_TRUE(object[key].is_null()) << key;
  EXPECT_NE(object["status"], "ok");
  EXPECT_NE(object["status"].get<std::string>().find(word), std::string::npos) << object["status"];
}

TEST(MvnLines, SolvesAndEchoesTheId) {
  const json object = answer(R"({"id": {"row": 7}, "z": [0, 0], "R": [[1, 0.5], [0.5, 1]]})");
  EXPECT_EQ(object["status"], "ok");
  EXPECT_EQ(object["id"], json::parse(R"({"row": 7})"));
  EXPECT_NEAR(object["p"].get<double>(), 1.0 / 3, 1e-14);
  EXPECT_NEAR(object["p_fail"].get<double>(), 2.0 / 3, 1e-14);
  EXPECT_EQ(object["method"], "bivariate");
  EXPECT_TRUE(answer(R"({"z": [0], "R": [[1]]})")["id"].is_null());
}

TEST(MvnLines, NumbersSurviveTheRoundTrip) {
  const std::vector<double> z = {5.3};
  const auto direct = probust::normal::mvn_cdf(z, Eigen::MatrixXd::Identity(1, 1));
  const json object = answer(R"({"z": [5.3], "R": [[1]]})");
  EXPECT_EQ(object["p_fail"].get<double>(), direct.p_fail);
  EXPECT_EQ(object["p"].get<double>(), direct.p);
}

TEST(MvnLines, TakesAFactorAndInfinities) {
  const json factor = answer(R"({"z": [0, 0], "U": [[1, 0], [0.6, 0.8]]})");
  EXPECT_NEAR(factor["p"].get<double>(), 0.25 + std::asin(0.6) / (2 * 3.14159265358979323846), 1e-14);
  EXPECT_EQ(answer(R"({"z": ["inf", "inf"], "R": [[1, 0], [0, 1]]})")["p"], 1.0);
  EXPECT_EQ(answer(R"({"z": ["-inf", 3], "R": [[1, 0], [0, 1]]})")["p_fail"], 1.0);
  EXPECT_EQ(answer(R"({"z": ["inf", 0], "R": [[1, 0.3], [0.3, 1]]})")["p"], 0.5);
}

TEST(MvnLines, NoLimitsAreCertain) {
  for (const char* line : {R"({"z": [], "R": []})", R"({"z": [], "U": []})"}) {
    const json object = answer(line);
    EXPECT_EQ(object["p"], 1.0);
    EXPECT_EQ(object["p_fail"], 0.0);
    EXPECT_EQ(object["status"], "ok");
  }
}

TEST(MvnLines, ReportsErrors) {
  expect_refused("", "empty");
  expect_refused("  \t\r", "empty");
  expect_refused("nonsense", "JSON");
  expect_refused("[1, 2]", "object");
  expect_refused("17", "object");
  expect_refused(R"({"R": [[1]]})", "z is missing");
  expect_refused(R"({"z": [1]})", "missing");
  expect_refused(R"({"z": [1], "R": [[1]], "U": [[1]]})", "both");
  expect_refused(R"({"z": 1, "R": [[1]]})", "array");
  expect_refused(R"({"z": ["nan"], "R": [[1]]})", "z[0]");
  expect_refused(R"({"z": [null], "R": [[1]]})", "z[0]");
  expect_refused(R"({"z": [NaN], "R": [[1]]})", "JSON");
  expect_refused(R"({"z": [1], "R": 1})", "rows");
  expect_refused(R"({"z": [1], "R": [1]})", "rows");
  expect_refused(R"({"z": [1, 1], "R": [[1, 0], [0]]})", "length");
  expect_refused(R"({"z": [1], "R": [["inf"]]})", "R[0][0]");
  expect_refused(R"({"z": [1], "R": [[1, 0], [0, 1]]})", "match");
  expect_refused(R"({"z": [], "R": [[1]]})", "match");
  expect_refused(R"({"z": [1], "R": []})", "match");
  expect_refused(R"({"z": [1, 1], "R": [[1, 0.5], [0.4, 1]]})", "symmetric");
  expect_refused(R"({"z": [1, 1], "R": [[2, 0.5], [0.5, 1]]})", "diagonal");
  expect_refused(R"({"z": [1, 1], "R": [[1, 1.5], [1.5, 1]]})", "indefinite");
  expect_refused(R"({"z": [1, 1], "U": [[1, 0], [0.5, 0.5]]})", "length");
}

TEST(MvnLines, OtherKeysAreRefused) {
  expect_refused(R"({"z": [1], "R": [[1]], "rho": 0.5})", "the key 'rho' is unknown; the keys are id, z, R and U");
  expect_refused(R"({"z": [1], "r": [[1]]})", "'r' is unknown");
  expect_refused(R"({"Z": [1], "R": [[1]]})", "'Z' is unknown");
  expect_refused(R"({"z": [1], "z": [2], "R": [[1]]})", "the key 'z' is given twice");
  EXPECT_EQ(answer(R"({"id": {"z": 1, "rho": 2}, "z": [1], "R": [[1]]})")["status"], "ok") << "an id may be anything";
}

TEST(MvnLines, ReportsWhetherThereIsAProbability) {
  EXPECT_TRUE(answer_mvn_line(R"({"z": [1], "R": [[1]]})").answered);
  EXPECT_FALSE(answer_mvn_line(R"({"z": [1], "R": [[2]]})").answered);
  EXPECT_FALSE(answer_mvn_line("").answered);
}

TEST(MvnLines, ABadProblemKeepsItsId) { EXPECT_EQ(answer(R"({"id": "a", "z": [1]})")["id"], "a"); }

TEST(MvnLines, SurvivesHostileBytes) {
  expect_refused(std::string(1 << 20, '['), "deep");
  expect_refused(R"({"id": )" + std::string(100000, '{'), "deep");
  expect_refused(R"({"z": [1e999], "R": [[1]]})", "JSON");
  expect_refused(std::string("\0\xff\xfe{\"z\"", 7), "JSON");
  expect_refused("{\"id\": \"\xff\", \"z\": []}", "JSON");
  expect_refused(R"({"z": [1], "R": [[1]]} trailing)", "JSON");
  const std::string line = R"({"id": "\u0000[[", "z": [0.5, 1], "R": [[1, 0.2], [0.2, 1]]})";
  EXPECT_EQ(answer(line)["status"], "ok");
  for (std::size_t length = 0; length < line.size(); ++length) expect_refused(line.substr(0, length), "");
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    answer(damaged);
  }
}

}  // namespace
