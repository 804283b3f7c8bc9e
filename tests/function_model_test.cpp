// SPDX-License-Identifier: MIT
// Classifiers that are functions: the same rows as from an executor with the corresponding graph, and defined errors if they
// fail.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "probust/model.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr std::int64_t kFour = 4;

// A network that is called through functions.
struct Behind {
  std::unique_ptr<Executor> executor = make_executor("reference", test::small_cnn(kFour), {}).value();
  std::int64_t calls = 0, most = 0;

  Tensor logits(const Tensor& x) {
    ++calls;
    most = std::max(most, x.shape[0]);
    return executor->logits(x).value();
  }
  Tensor vjp(const Tensor& x, const Tensor& cotangents) {
    Tensor result(x.shape);
    (void)executor->jacobian(x, [&](std::int64_t i, std::span<const float> jacobian) {
      const std::span<float> gradient = result.row(i);
      for (std::size_t e = 0; e < jacobian.size(); ++e)
        gradient[e % gradient.size()] += cotangents.row(i)[e / gradient.size()] * jacobian[e];
    });
    return result;
  }
  ClassifierFunctions functions(bool gradients) {
    ClassifierFunctions both{[this](const Tensor& x) { return logits(x); }};
    if (gradients) both.vjp = [this](const Tensor& x, const Tensor& c) { return vjp(x, c); };
    return both;
  }
};

Tensor five_points(std::int64_t count) {
  std::mt19937 random(5);
  return test::random_tensor({count, 1, 8, 8}, random);
}

LoadedModel behind_functions(Behind& network, bool gradients = false, std::int64_t batch = 0) {
  ExecutorOptions options;
  options.batch = batch;
  return model_from_function(network.functions(gradients), {1, 8, 8}, kFour, options);
}

std::vector<Row> rows_behind(LoadedModel model, const std::vector<std::string>& estimators) {
  return model.estimate(five_points(5), {"gaussian:0.2", "laplace:0.1"}, estimators);
}

void expect_same(const std::vector<Row>& a, const std::vector<Row>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].predicted, b[i].predicted);
    EXPECT_EQ(a[i].method(), b[i].method());
    EXPECT_EQ(a[i].estimate.status, b[i].estimate.status);
    EXPECT_NEAR(a[i].estimate.p, b[i].estimate.p, tolerance) << a[i].estimator;
    EXPECT_EQ(a[i].estimate.forwards, b[i].estimate.forwards);
    EXPECT_EQ(a[i].estimate.backwards, b[i].estimate.backwards);
  }
}

TEST(FunctionModel, HasTheRowsOfItsGraph) {
  Behind network;
  const std::vector<std::string> estimators = {"mc:300",     "probit:40", "probit:24:shared", "regression:60", "auto:60",
                                               "subset:200", "taylor",    "mmse:4",           "softmax:1"};
  LoadedModel graph(Model{}, make_executor("cpu", test::small_cnn(kFour), {}).value());
  // Moments need a graph, so regression is compared without them.
  expect_same(rows_behind(behind_functions(network, true), estimators), rows_behind(std::move(graph), estimators), 2e-5);
}

TEST(FunctionModel, DoesNotDependOnTheBatch) {
  Behind network;
  const std::vector<std::string> estimators = {"mc:300", "auto:60", "taylor", "mmse:4"};
  const std::vector<Row> rows = rows_behind(behind_functions(network, true), estimators);
  expect_same(rows_behind(behind_functions(network, true, 1), estimators), rows, 0);
  network.most = 0;
  expect_same(rows_behind(behind_functions(network, true, 7), estimators), rows, 0);
  EXPECT_LE(network.most, 7);
}

// 19 margins whose gradients do not fit into memory together: each is requested once, and the logits once for all groups of
// seeds.
TEST(FunctionModel, AsksForNoPassTwiceIfGradientsDoNotFit) {
  constexpr std::int64_t kTwenty = 20;
  std::int64_t logits = 0, gradients = 0, most = 0;
  ClassifierFunctions functions;
  functions.logits = [&](const Tensor& x) {
    logits += x.shape[0];
    Tensor result({x.shape[0], kTwenty});
    for (std::int64_t i = 0; i < x.shape[0]; ++i) {
      for (std::int64_t c = 0; c < kTwenty; ++c) result.row(i)[c] = static_cast<float>(c + 1) * x.row(i)[c];
    }
    return result;
  };
  functions.vjp = [&](Tensor x, const Tensor& cotangents) {
    gradients += x.shape[0];
    most = std::max(most, x.shape[0]);
    for (std::int64_t i = 0; i < x.shape[0]; ++i) {
      for (std::int64_t c = 0; c < kTwenty; ++c) x.row(i)[c] = static_cast<float>(c + 1) * cotangents.row(i)[c];
    }
    return x;
  };
  const auto p = [&](const ExecutorOptions& options) {
    logits = gradients = most = 0;
    LoadedModel model = model_from_function(functions, {kTwenty}, kTwenty, options);
    return model.estimate(Tensor({1, kTwenty}, std::vector<float>(kTwenty, 1.0F)), {"gaussian:0.3"}, {"taylor"})[0].estimate.p;
  };
  const double whole = p({});
  EXPECT_EQ(most, kTwenty - 1);
  EXPECT_EQ(p({.memory = 14 << 10}), whole);
  EXPECT_LT(most, kTwenty - 1);
  EXPECT_EQ(gradients, kTwenty - 1);
  EXPECT_EQ(logits, 2);  // the prediction, and the margins
  EXPECT_EQ(p({.batch = 3}), whole);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(gradients, kTwenty - 1);
}

TEST(FunctionModel, WithoutGradientsRejectsEstimatorsThatNeedThem) {
  Behind network;
  EXPECT_THROW(rows_behind(behind_functions(network), {"taylor"}), Error);
  for (const Row& row : rows_behind(behind_functions(network), {"auto", "mc:50", "probit:30"}))
    EXPECT_FALSE(std::isnan(row.estimate.p));
}

void expect_failure(const ClassifierFunctions& functions, ErrorCode code, const std::string& text) {
  LoadedModel model = model_from_function(functions, {2}, 3);
  try {
    model.estimate(Tensor({2}), {"gaussian:1"}, {"mc:10", "probit:10"});
    FAIL() << "should fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, code);
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
}

TEST(FunctionModel, ReportsErrorsOfAFunction) {
  expect_failure({[](const Tensor& x) {
                   return Tensor({x.shape[0], 2});
                 }},
                 ErrorCode::usage, "logits returned an array of shape [1, 2] with 2 numbers; return [1, 3]");
  expect_failure({[](const Tensor& x) {
                   Tensor lacking({x.shape[0], 3});
                   lacking.data.pop_back();
                   return lacking;
                 }},
                 ErrorCode::usage, "logits returned an array of shape [1, 3] with 2 numbers");
  expect_failure({[](const Tensor&) -> Tensor { throw std::runtime_error("no connection"); }}, ErrorCode::internal,
                 "no connection");
  expect_failure({[](const Tensor&) -> Tensor {
                   throw Error{ErrorCode::resources, "service", "is busy", ""};
                 }},
                 ErrorCode::internal, "service is busy");
  EXPECT_THROW(model_from_function({}, {2}, 3), Error);
  const ClassifierFunctions constant{[](const Tensor& x) { return Tensor({x.shape[0], 1}); }};
  EXPECT_THROW(model_from_function(constant, {2}, 1), Error);
  EXPECT_THROW(model_from_function(constant, {0}, 3), Error);
}

TEST(FunctionModel, CountsNaNAsNoClass) {
  LoadedModel model = model_from_function({[](const Tensor& x) {
                                            Tensor logits({x.shape[0], 2});
                                            for (std::int64_t i = 0; i < x.shape[0]; ++i)
                                              logits.row(i)[0] = x.row(i)[0] > 1 ? NAN : 1.0F;
                                            return logits;
                                          }},
                                          {1}, 2);
  const std::vector<Row> rows = model.estimate(Tensor({1}), {"gaussian:1"}, {"mc:2000"});
  EXPECT_NEAR(rows[0].estimate.p, 0.841, 0.03);
}

TEST(FunctionModel, Stops) {
  LoadedModel* asked = nullptr;
  std::int64_t calls = 0;
  LoadedModel model = model_from_function({[&](const Tensor& x) {
                                            if (++calls == 3) asked->progress().stop = true;
                                            return Tensor({x.shape[0], 2});
                                          }},
                                          {1}, 2);
  asked = &model;
  EXPECT_THROW(model.estimate(Tensor({1}), {"gaussian:1"}, {"mc:1000000"}), Error);
  EXPECT_LE(calls, 5);
  model.progress().stop = false;
  EXPECT_EQ(model.estimate(Tensor({1}), {"gaussian:1"}, {"mc:10"}).size(), 1U);
}

}  // namespace
}  // namespace probust
