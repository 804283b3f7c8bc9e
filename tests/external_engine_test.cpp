// SPDX-License-Identifier: MIT
// Forward passes computed outside: the answers are bit-identical to those of an executor that computes them itself.
#include "probust/exec/external_engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probust/estimators/estimate_run.h"
#include "probust/ops/append.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr std::int64_t kClasses = 4;

Graph identity(const Shape& shape) {
  Graph graph;
  graph.outputs = {append_input(graph, shape, Extent::example, "x")};
  return graph;
}

// A network that another executor calls through ExternalEngine.
struct Asked {
  explicit Asked(std::int64_t batch) {
    ExecutorOptions options;
    options.batch = batch;
    executor = make_forward_executor("elsewhere", external_program(external, identity({1, 8, 8}), kClasses), {1, 8, 8}, kClasses,
                                     options);
  }

  // Answers requests until `step` returns true; a step may also end because its time is up.
  template <class Step>
  void until(Step step) {
    while (!step()) {
      if (external.wanted() == nullptr) continue;
      const Tensor x({external.wanted()->count, 1, 8, 8}, external.wanted()->values);
      external.answer(network->logits(x).value().data, kClasses);
    }
  }

  ExternalEngine external;
  std::unique_ptr<Executor> network = make_executor("cpu", test::small_cnn(kClasses), {}).value();
  std::unique_ptr<Executor> executor;
};

EstimateRequest request_of(const std::vector<std::string>& estimators) {
  std::mt19937 random(8);
  EstimateRequest request;
  request.x = test::random_tensor({11, 1, 8, 8}, random);
  request.offset = 3;
  request.seed = 5;
  for (const std::string& text : estimators) request.estimators.push_back(parse_estimator(text));
  request.noises = {parse_noise("gaussian:0.2"), parse_noise("uniform:0.4")};
  return request;
}

TEST(ExternalEngine, EstimatesAreThoseOfAnExecutorThatRunsTheNetworkItself) {
  const EstimateRequest request = request_of({"mc:300", "probit:40", "probit:40:pooled", "mc:±0.1", "mc:p>0.5", "softmax"});
  for (const std::int64_t batch : {1, 7, 64}) {
    Asked asked(batch);
    EstimateRun expected(*asked.network, request), run(*asked.executor, request, &asked.external);
    while (!expected.step(1e6)) {
    }
    asked.until([&] { return run.step(0); });
    ASSERT_EQ(run.rows().size(), expected.rows().size());
    for (std::size_t i = 0; i < run.rows().size(); ++i) {
      const Row &a = run.rows()[i], &b = expected.rows()[i];
      SCOPED_TRACE(b.estimator + " at " + b.noise + ", batch " + std::to_string(batch));
      EXPECT_EQ(a.predicted, b.predicted);
      EXPECT_EQ(a.estimate.p, b.estimate.p);
      EXPECT_EQ(a.estimate.std_error, b.estimate.std_error);
      EXPECT_EQ(a.estimate.forwards, b.estimate.forwards);
      EXPECT_EQ(a.estimate.status, b.estimate.status);
    }
  }
}

TEST(ExternalEngine, NoPassIsAskedForTwice) {
  const EstimateRequest request = request_of({"mc:100", "probit:40"});
  Asked asked(16);
  EstimateRun run(*asked.executor, request, &asked.external);
  asked.until([&] { return run.step(0); });
  EXPECT_EQ(asked.external.passes(), run.planned());
}

TEST(ExternalEngine, WhatWouldLikeGradientsDoesWithout) {
  const EstimateRequest request = request_of({"auto:60", "subset:400", "mc:60:stratified"});
  EstimateRequest gaussian = request;
  gaussian.noises.pop_back();
  Asked asked(64);
  EstimateRun run(*asked.executor, gaussian, &asked.external);
  asked.until([&] { return run.step(0); });
  for (const Row& row : run.rows()) {
    EXPECT_TRUE(std::isfinite(row.estimate.p)) << row.estimator << ": " << word(row.estimate.status);
    EXPECT_EQ(row.estimate.backwards, 0);
  }
}

TEST(ExternalEngine, WhatNeedsGradientsIsRefusedWithThoseThatDoNot) {
  Asked asked(64);
  for (const EstimatorDefinition& definition : all_estimators()) {
    if (definition.needs != EstimatorDefinition::Needs::gradients) continue;
    const EstimatorSpec estimator{&definition, 20};
    try {
      require_answerable(*asked.executor, estimator);
      ADD_FAILURE() << estimator.text();
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::unsupported);
      EXPECT_NE(error.hint.find("probit:N"), std::string::npos);
      EXPECT_EQ(error.hint.find("taylor"), std::string::npos);
    }
    EXPECT_NO_THROW(require_answerable(*asked.network, estimator));
  }
  Points points{Tensor({1, 1, 8, 8}), {0}, {0}, 0};
  const auto linear = asked.executor->linearize(points, *isotropic_gaussian());
  ASSERT_FALSE(linear);
  EXPECT_EQ(linear.error().code, ErrorCode::unsupported);
}

TEST(ExternalEngine, RefusesAnswersOfAnotherNumber) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  ASSERT_NE(asked.external.wanted(), nullptr);
  EXPECT_THROW(asked.external.answer({1, 2, 3}, kClasses), Error);
  ASSERT_NE(asked.external.wanted(), nullptr);  // still
}

TEST(ExternalEngine, ARunThatNeedsAnswersCannotBeFinishedAtOnce) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  try {
    run.finish();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
  }
}

TEST(ExternalEngine, AnswersAreKeptUntilTheirQuestionIsSettled) {
  Asked asked(4);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  const ExternalEngine::Inputs first = *asked.external.wanted();
  asked.external.answer(asked.network->logits(Tensor({4, 1, 8, 8}, first.values)).value().data, kClasses);
  EXPECT_EQ(asked.external.wanted(), nullptr);
  EXPECT_EQ(asked.external.logits(first).size(), 4 * kClasses);
  asked.until([&] { return run.step(0); });
  EXPECT_THROW((void)asked.external.logits(first), Error);  // dropped
  EXPECT_NE(asked.external.wanted(), nullptr);
}

TEST(ExternalEngine, AnEstimateWithoutAnAnswerAsksAgain) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  const std::vector<float> first = asked.external.wanted()->values;
  EXPECT_FALSE(run.step(0));
  EXPECT_EQ(asked.external.wanted()->values, first);
}

}  // namespace
}  // namespace probust
