// SPDX-License-Identifier: MIT
// Uses what extend.py has added: an operator, an estimator, a noise model, a data format, a backend, a command and a column.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "cli/command_line.h"
#include "datasets/dataset.h"
#include "probust/ops/append.h"
#include "probust/perturb/noise_text.h"
#include "probust/probust.h"
#include "probust/run/fields.h"
#include "support/networks.h"
#include "support/op_cases.h"

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  failures += holds ? 0 : 1;
}

}  // namespace

int main(int, char** argv) {
  using namespace probust;
  const Graph linear = test::linear_classifier(Tensor({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}), Tensor({2}, {-2.5F, 0}));
  const auto executor = make_executor("plain", linear, {}).value();
  expect(executor->name() == "plain", "the backend runs a classifier");

  const std::string path = std::string(argv[1]) + "/points.ones";
  std::ofstream(path) << "0110\n1111\n";
  const Dataset data = read_dataset(path).value();
  expect(data.x.shape == Shape({2, 4}) && data.x.data[2] == 1 && data.x.data[3] == 0, "the data format is read");
  expect(known_formats().find(".ones") != std::string::npos, "the help names the data format");

  const Points points = points_of(data.x, {1, 0}, 0, 0);
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  const Noise noise = parse_noise("two_point:0.5");
  const auto rows = estimate(evaluation, noise, parse_estimator("hoeffding:4000")).value();
  // The sum of four steps of ±1/2 is -2, -1, 0, 1 or 2 with probabilities 1, 4, 6, 4 and 1 in 16.
  expect(std::fabs(rows[0].p - 11.0 / 16) < 0.03 && std::fabs(rows[1].p - 15.0 / 16) < 0.03,
         "the estimator counts copies with the noise");
  expect(*rows[1].ci_high - *rows[1].ci_low > 0.03, "the estimator has an interval of its own");
  expect(known_additive_noise().find("two_point:0.1") != std::string::npos, "the help names the noise model");
  expect(known_estimators().find("hoeffding:N") != std::string::npos, "the help names the estimator");

  char program[] = "probust", command[] = "hello", times[] = "7";
  char* words[] = {program, command, times};
  expect(cli::run(3, words) == 7, "the command runs");

  Row row{};
  row.estimate = rows[1];
  bool found = false;
  for (const NamedColumn& each : columns_of(std::span(&row, 1))) {
    if (std::string_view(each.column.name) != "passes") continue;
    found = std::get<std::vector<std::int64_t>>(each.values) == std::vector<std::int64_t>{4000};
  }
  expect(found, "the column has its values");

  // Properties that all operators have are tested by the tests of operators, which are linked with the added ones
  // (CMakeLists.txt).
  for (const Op added : {Op::scaled_softplus, Op::bump}) {
    const auto& cases = test::op_cases();
    expect(std::any_of(cases.begin(), cases.end(), [&](const test::OpCase& one) { return one.op == added; }),
           std::string(definition(added).name).c_str());
  }
  Graph bent;
  const ValueId x = append_input(bent, {4}, Extent::example, "x");
  bent.outputs = {append(bent, Op::scaled_softplus, {append(bent, Op::bump, {x})}, ParameterAttribute{2})};
  const auto f = [](double a) { return std::log1p(std::exp(2 * std::exp(-a * a))) / 2; };
  const auto slope = [](double a) { return -2 * a * std::exp(-a * a) / (1 + std::exp(-2 * std::exp(-a * a))); };
  for (const char* name : {"plain", "cpu", "eigen"}) {
    const auto own = make_executor(name, bent, {}).value();
    expect(std::fabs(own->logits(Tensor({1, 4}, {0, 1, 2, 3})).value().data[1] - f(1)) < 1e-6, name);
    const Linearization at =
        own->linearize(points_of(Tensor({1, 4}, {0.5F, 1, 2, 3}), {0}, 0, 0), *isotropic_gaussian()).value()[0];
    expect(std::fabs(at.gram(0, 0) - (std::pow(slope(0.5), 2) + std::pow(slope(1), 2))) < 1e-5, "its derivative");
  }
  return failures == 0 ? 0 : 1;
}
