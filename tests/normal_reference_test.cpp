// SPDX-License-Identifier: MIT
//
// The multivariate normal probability compared with reference values with known error bounds, if these are available.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "probust/normal/multivariate.h"
#include "support/shared.h"

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using nlohmann::json;
using probust::normal::Probability;
using probust::normal::Status;

std::filesystem::path reference_file() { return probust::test::shared_folder() / "reference" / "normal" / "cases.json"; }

std::vector<double> read_limits(const json& values) {
  std::vector<double> z;
  for (const auto& value : values) {
    const double infinity = std::numeric_limits<double>::infinity();
    z.push_back(value.is_string() ? (value == "-inf" ? -infinity : infinity) : value.get<double>());
  }
  return z;
}

MatrixXd read_matrix(const json& rows) {
  MatrixXd matrix(rows.size(), rows.empty() ? 0 : rows[0].size());
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) matrix(i, j) = rows[i][j].get<double>();
  }
  return matrix;
}

/// The correlation matrix described by a generator.
MatrixXd generate(const json& structure, Index m) {
  const std::string type = structure["type"];
  const auto entry = [&](Index i, Index j) -> double {
    if (type == "identity") return 0.0;
    if (type == "equicorrelated") return structure["rho"].get<double>();
    if (type == "one_factor") return structure["a"][i].get<double>() * structure["a"][j].get<double>();
    if (type == "ar1") return std::pow(structure["rho"].get<double>(), static_cast<double>(std::abs(i - j)));
    if (type == "rank2_angles") return std::cos(structure["theta"][i].get<double>() - structure["theta"][j].get<double>());
    if (type == "two_level_factor") {
      const double within = structure["cluster"][i] == structure["cluster"][j]
                                ? structure["h"][i].get<double>() * structure["h"][j].get<double>()
                                : 0.0;
      return structure["g"][i].get<double>() * structure["g"][j].get<double>() + within;
    }
    ADD_FAILURE() << "unknown structure " << type;
    return 0.0;
  };
  MatrixXd R = MatrixXd::Identity(m, m);
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < j; ++i) R(i, j) = R(j, i) = entry(i, j);
  }
  return R;
}

/// Prefers the structure, which is exact, then U, then R, which is rounded.
Probability solve(const json& reference) {
  const auto z = read_limits(reference["z"]);
  if (reference.contains("structure") && !reference["structure"].is_null()) {
    return probust::normal::mvn_cdf(z, generate(reference["structure"], static_cast<Index>(z.size())));
  }
  if (reference.contains("U")) return probust::normal::mvn_cdf_factor(z, read_matrix(reference["U"]));
  return probust::normal::mvn_cdf(z, read_matrix(reference["R"]));
}

void expect_agreement(const Probability& answer, const json& reference) {
  const double p = reference["p"], q = reference["q"], err_p = reference["err_p"], err_q = reference["err_q"];
  EXPECT_EQ(answer.status, Status::ok) << answer.method;
  EXPECT_LE(std::abs(answer.p - p), 1e-4 + err_p) << answer.method << ", error " << answer.error;
  EXPECT_LE(std::abs(answer.p_fail - q), 1e-2 * q + err_q) << answer.method << ", error " << answer.error_fail;
  // The reported error must cover the true error.
  EXPECT_LE(std::abs(answer.p - p), answer.error + err_p) << answer.method;
  EXPECT_LE(std::abs(answer.p_fail - q), answer.error_fail + err_q) << answer.method;
}

TEST(NormalReference, EveryCaseAgrees) {
  const auto path = reference_file();
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no reference values at " << path << "; set PROBUST_SHARED to the folder that has reference/normal/";
  const json set = json::parse(file);
  ASSERT_FALSE(set["cases"].empty());
  for (const auto& reference : set["cases"]) {
    SCOPED_TRACE(reference["id"].get<std::string>());
    const Probability answer = solve(reference);
    expect_agreement(answer, reference);
    // The same problem in the other forms in which it is given.
    if (reference.contains("U")) {
      const auto z = read_limits(reference["z"]);
      expect_agreement(probust::normal::mvn_cdf_factor(z, read_matrix(reference["U"])), reference);
    }
  }
}

}  // namespace
