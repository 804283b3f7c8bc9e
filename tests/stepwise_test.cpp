// SPDX-License-Identifier: MIT
// Jobs that use an executor: their results are bit-identical to those of uninterrupted work, and steps end in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "probust/analysis/curve.h"
#include "probust/analysis/geometry/jacobian.h"
#include "probust/analysis/geometry/slice.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
#include "probust/train/forest.h"
#include "support/networks.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;

EstimateRequest request_of(std::int64_t count, const std::vector<std::string>& estimators,
                           const std::vector<std::string>& noises) {
  std::mt19937 random(8);
  EstimateRequest request;
  request.x = test::random_tensor({count, 1, 8, 8}, random);
  request.offset = 3;
  request.seed = 5;
  for (const std::string& text : estimators) request.estimators.push_back(parse_estimator(text));
  for (const std::string& text : noises) request.noises.push_back(parse_noise(text));
  return request;
}

// Every estimator once, in a valid form, with the fewest samples that it supports, but at least 24.
std::string small_example(const EstimatorDefinition& definition) {
  using Parameter = EstimatorDefinition::Parameter;
  const std::string variant = definition.variant.empty() ? "" : ":" + std::string(definition.variant);
  const std::string name(definition.name), samples = std::to_string(std::max<std::int64_t>(24, definition.least));
  switch (definition.parameter) {
    case Parameter::samples:
      return name + ":" + samples + variant;
    case Parameter::half_width:
      return name + ":±0.1" + variant;
    case Parameter::threshold:
      return name + ":p>0.5" + variant;
    default:
      return name + variant;
  }
}

std::vector<std::string> every_estimator() {
  std::vector<std::string> texts;
  for (const EstimatorDefinition& definition : all_estimators()) texts.push_back(small_example(definition));
  return texts;
}

// The results of an uninterrupted run, block by block.
std::vector<Row> at_once(Executor& executor, const EstimateRequest& request) {
  const Tensor logits = executor.logits(request.x).value();
  const Points points = points_of(request.x, predicted_classes(logits), request.offset, request.seed);
  std::vector<Row> all;
  const std::int64_t block = block_size(request.estimators);
  for (std::int64_t first = 0; first < points.size(); first += block) {
    const std::int64_t count = std::min(block, points.size() - first);
    Evaluation evaluation(executor, slice(points, first, count), rows(logits, first, count));
    std::vector<std::vector<Estimate>> columns;
    for (const Noise& noise : request.noises) {
      for (const EstimatorSpec& estimator : request.estimators) columns.push_back(estimate(evaluation, noise, estimator).value());
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t column = 0;
      for (const Noise& noise : request.noises) {
        for (const EstimatorSpec& estimator : request.estimators)
          all.push_back(row_of(evaluation.points(), evaluation.logits(), i, noise, estimator.text(), columns[column++][i]));
      }
    }
  }
  return all;
}

// Whether two numbers are equal; NaN equals NaN here.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

void expect_same(const std::vector<Row>& actual, const std::vector<Row>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Estimate &a = actual[i].estimate, &b = expected[i].estimate;
    SCOPED_TRACE(expected[i].estimator + " at " + expected[i].noise + ", point " + std::to_string(expected[i].index));
    EXPECT_EQ(actual[i].index, expected[i].index);
    EXPECT_EQ(actual[i].predicted, expected[i].predicted);
    EXPECT_EQ(actual[i].estimator, expected[i].estimator);
    EXPECT_EQ(actual[i].noise, expected[i].noise);
    EXPECT_TRUE(same(a.p, b.p)) << a.p << " for " << b.p;
    EXPECT_TRUE(same(a.p_fail, b.p_fail));
    EXPECT_TRUE(same(a.std_error, b.std_error));
    EXPECT_TRUE(same(a.ci_low, b.ci_low) && same(a.ci_high, b.ci_high));
    EXPECT_EQ(a.forwards, b.forwards);
    EXPECT_EQ(a.backwards, b.backwards);
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(actual[i].method(), expected[i].method());
    EXPECT_EQ(a.note, b.note);
  }
}

std::vector<Row> in_steps(Executor& executor, const EstimateRequest& request, double milliseconds, int& steps) {
  EstimateRun run(executor, request);
  for (steps = 1; !run.step(milliseconds); ++steps) {
  }
  return run.rows();
}

// Two columns for the noise of estimators that support few normal variables.
std::string columns_for(const std::string& estimator) {
  const std::string name = estimator.substr(0, estimator.find(':'));
  return name == "quadrature" || name == "surrogate" ? "@3,40" : "";
}

// A network, or a forest for the estimator that needs one.
std::unique_ptr<Executor> classifier_for(const std::string& estimator) {
  if (!estimator.starts_with("exact")) return make_executor("cpu", test::small_cnn(), {}).value();
  std::mt19937 random(1);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 40; ++i) labels.push_back(i % 3);
  const Graph forest = random_forest(test::random_tensor({40, 1, 8, 8}, random), labels, 3, {.trees = 12, .depth = 5});
  return make_executor("cpu", forest, {}).value();
}

TEST(Stepwise, EveryEstimatorSaysTheSameWhereverStepsEnd) {
  for (const std::string& estimator : every_estimator()) {
    const auto executor = classifier_for(estimator);
    const std::string columns = columns_for(estimator);
    const EstimateRequest request = request_of(11, {estimator}, {"gaussian:0.1" + columns, "gaussian:0.4" + columns});
    const std::vector<Row> expected = at_once(*executor, request);
    int steps = 0;
    expect_same(in_steps(*executor, request, 0, steps), expected);
    if (estimator != "softmax") {
      EXPECT_GT(steps, 1) << estimator;
    }
    expect_same(in_steps(*executor, request, 1e6, steps), expected);
    EXPECT_EQ(steps, 1);
  }
}

TEST(Stepwise, TheCopiesOfOnePointAreSeveralSteps) {
  for (const std::string estimator : {"mmse:200", "regression:400", "regression:400:adf"}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(estimator + " on threads: " + std::to_string(threads));
      const auto executor = make_executor("cpu", test::small_cnn(), {threads, std::int64_t{1} << 30, 8}).value();
      const EstimateRequest request = request_of(3, {estimator}, {"gaussian:0.2"});
      const std::vector<Row> expected = at_once(*executor, request);
      const std::int64_t passes = executor->progress.passes;
      int most = 0;  // the most of a few tries, because an attempt may take longer if the machine is busy
      for (std::int64_t tries = 1; tries <= 3; ++tries) {
        int steps = 0;
        expect_same(in_steps(*executor, request, 0, steps), expected);
        EXPECT_EQ(executor->progress.passes, (tries + 1) * passes);  // no pass is repeated
        most = std::max(most, steps);
      }
      EXPECT_GE(most, 3 * 120 / (8 * threads));
    }
  }
}

TEST(Stepwise, EstimatorsTogetherSayWhatTheySayAlone) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const EstimateRequest request = request_of(9, {"taylor", "mmse:3", "mc:50"}, {"gaussian:0.2", "uniform:0.3", "gaussian:0.1"});
  int steps = 0;
  expect_same(in_steps(*executor, request, 0, steps), at_once(*executor, request));
}

TEST(Stepwise, EveryEstimatorIsAmongThoseTested) {
  const std::vector<std::string> tested = every_estimator();
  const auto definitions = all_estimators();
  for (std::size_t i = 0; i < tested.size(); ++i) EXPECT_EQ(parse_estimator(tested[i]).definition, &definitions[i]) << tested[i];
}

TEST(Stepwise, AnalysesSayTheSameWhereverStepsEnd) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const EstimateRequest request = request_of(2, {"probit:40"}, {"gaussian:0.2"});
  const Tensor logits = executor->logits(request.x).value();
  const Points points = points_of(request.x, predicted_classes(logits), 0, 1);
  const std::vector<double> sigmas = {0.1, 0.2, 0.4};
  const auto ask = [&](Executor& of) {
    const SlicePlane plane = margin_plane(of, points, 1, 2.0, 20).value();
    const auto curve = estimate_curve(of, points, logits, isotropic_gaussian(), sigmas, request.estimators[0]).value();
    return std::tuple(plane.v, decision_slice(of, points, 1, plane).value().margin, curve[1][1].p, curve[2][0].ci_low);
  };
  const auto expected = ask(*executor);
  Computation<decltype(ask(*executor))> job(*executor, 100, ask);
  int steps = 1;
  while (!job.step(0)) ++steps;
  EXPECT_GT(steps, 1);
  EXPECT_EQ(job.result(), expected);
}

TEST(Stepwise, ErrorsAreNotMistakenForInterruptions) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  Computation<Tensor> job(*executor, 2, [](Executor& of) { return of.logits(Tensor({2, 5})).value(); });
  expect_refusal(ErrorCode::unreadable, [&] { job.step(0); });
  EXPECT_THROW(EstimateRun(*executor, request_of(1, {}, {"gaussian:0.1"})), Error);
  EstimateRequest request = request_of(2, {"mc:10"}, {"gaussian:0.1"});
  request.targets = {1, 9};
  EstimateRun run(*executor, request);
  EXPECT_THROW(run.step(1e6), Error);
}

TEST(Stepwise, WhatIsPlannedIsWhatIsDone) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  EstimateRun run(*executor, request_of(5, {"mc:100", "taylor"}, {"gaussian:0.2", "gaussian:0.3"}));
  const std::int64_t planned = run.planned();
  EXPECT_EQ(planned, 5 * (1 + 2 * (100 + 4)));
  while (!run.step(0)) {
    EXPECT_EQ(run.planned(), planned);
    EXPECT_LT(run.done(), planned);
    (void)executor->logits(Tensor({1, 1, 8, 8}));  // passes of other calls do not count
  }
  EXPECT_EQ(run.planned(), planned);
  EXPECT_EQ(run.done(), planned - 5 * 4);  // the two scales share their gradients
}

TEST(Stepwise, AnAbandonedRunLeavesTheExecutorAsItWas) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const EstimateRequest request = request_of(5, {"mmse:4", "mc:200"}, {"gaussian:0.2"});
  const std::vector<Row> expected = at_once(*executor, request);
  {
    EstimateRun abandoned(*executor, request);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(abandoned.step(0));
  }
  int steps = 0;
  expect_same(in_steps(*executor, request, 0, steps), expected);
}

// For every estimator: finish() keeps no results, and calls the executor like an uninterrupted run.
TEST(Stepwise, ARunMayBeFinishedAtAnyTime) {
  for (const std::string& estimator : every_estimator()) {
    const auto executor = classifier_for(estimator);
    const std::string columns = columns_for(estimator);
    const EstimateRequest request = request_of(9, {estimator}, {"gaussian:0.1" + columns, "gaussian:0.4" + columns});
    const std::vector<Row> expected = at_once(*executor, request);
    for (const int before : {0, 1, 4}) {
      EstimateRun run(*executor, request);
      for (int i = 0; i < before; ++i) run.step(0);
      run.finish();
      expect_same(run.rows(), expected);
    }
  }
}

// auto:100 tries moments first, which this classifier does not support, and then continues without them.
TEST(Stepwise, ARefusalIsAnAnswerThatIsRepeated) {
  Graph graph = test::small_cnn();
  const ValueId logits = graph.outputs[0];
  graph.outputs = {append(graph, Op::add, {logits, append(graph, Op::round, {logits})})};
  const auto executor = make_executor("cpu", graph, {}).value();
  const EstimateRequest request = request_of(3, {"auto:100"}, {"gaussian:0.2"});
  const std::vector<Row> expected = at_once(*executor, request);
  EXPECT_EQ(expected[0].method(), "regression:100:pooled");
  int steps = 0;
  expect_same(in_steps(*executor, request, 0, steps), expected);
  EXPECT_GT(steps, 1);
}

// If a piece of work depended on anything but its results, its repetition would get the results of other questions.
TEST(Stepwise, ARepeatedPieceThatAsksSomethingElseIsAnInternalError) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  std::mt19937 random(8);
  const Points points = points_of(test::random_tensor({100, 1, 8, 8}, random), std::vector<std::int64_t>(100, 0), 0, 1);
  Points others = points;
  ++others.target[99];
  Points moved = points;
  moved.x.data[1235] = std::nextafter(moved.x.data[1235], 2.0F);
  const Noise noise = parse_noise("gaussian:0.2");
  using Question = std::function<void(Executor&)>;
  const Question first = [&](Executor& of) { (void)of.sample(points, noise, 1000).value(); };
  const std::vector<Question> changed = {
      [&](Executor& of) { (void)of.sample(points, noise, 999).value(); },
      [&](Executor& of) { (void)of.sample(points, noise, 1000, 1).value(); },
      [&](Executor& of) { (void)of.sample(points, parse_noise("gaussian:0.3"), 1000).value(); },
      [&](Executor& of) { (void)of.sample(points, parse_noise("uniform:0.2"), 1000).value(); },
      [&](Executor& of) { (void)of.sample(slice(points, 0, 99), noise, 1000).value(); },
      [&](Executor& of) { (void)of.sample(others, noise, 1000).value(); },
      [&](Executor& of) { (void)of.sample(moved, noise, 1000).value(); },
      [&](Executor& of) { (void)of.pairs(points, noise, 1000).value(); },
      [&](Executor& of) { (void)of.linearize_averaged(points, noise, 1000).value(); },
      [&](Executor& of) { (void)of.logits(points.x).value(); },
  };
  const auto after = [&](const Question& next) {
    int attempts = 0;
    Computation<int> job(*executor, 1, [&](Executor& of) {
      ++attempts == 1 ? first(of) : next(of);
      return 0;
    });
    EXPECT_FALSE(job.step(0));
    expect_refusal(ErrorCode::internal, [&] { job.step(0); });
  };
  for (const Question& question : changed) after(question);
}

TEST(Stepwise, NoiseOfTheSameNameAndOtherNumbersIsAnotherQuestion) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  std::mt19937 random(8);
  const Points points = points_of(test::random_tensor({100, 1, 8, 8}, random), std::vector<std::int64_t>(100, 0), 0, 1);
  std::vector<double> deviations(64, 0.2);
  const auto shape = [&] { return diagonal_gaussian({{64}, deviations, "array"}, "gaussian:std=FILE"); };
  const Noise first{shape(), 1};
  deviations[63] = 0.3;
  const Noise second{shape(), 1};
  EXPECT_EQ(first.text(), second.text());
  int attempts = 0;
  Computation<int> job(*executor, 1, [&](Executor& of) {
    (void)of.sample(points, ++attempts == 1 ? first : second, 1000).value();
    return 0;
  });
  EXPECT_FALSE(job.step(0));
  expect_refusal(ErrorCode::internal, [&] { job.step(0); });
}

TEST(Stepwise, APauseCannotBeIgnored) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  // So much work that even on a busy machine, it takes longer than new work may take (see StepTime).
  const Tensor x({20000, 1, 8, 8});
  Computation<bool> job(*executor, 1, [&](Executor& of) { return bool(of.logits(x)); });
  expect_refusal(ErrorCode::internal, [&] { job.step(0); });
}

TEST(Stepwise, AStopRequestEndsAJobForGood) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  for (const std::string estimator : {"mc:1000", "mmse:100", "taylor"}) {
    EstimateRun run(*executor, request_of(20, {estimator}, {"gaussian:0.2"}));
    EXPECT_FALSE(run.step(0));
    executor->progress.stop = true;
    expect_refusal(ErrorCode::interrupted, [&] { run.step(0); });
    expect_refusal(ErrorCode::interrupted, [&] { run.finish(); });
    executor->progress.stop = false;
    expect_refusal(ErrorCode::interrupted, [&] { run.step(0); });
  }
  EXPECT_TRUE(executor->logits(Tensor({1, 1, 8, 8})));
}

// Estimators check the progress of the executor that they are given.
TEST(Stepwise, AStopRequestIsSeenWithinAPiece) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  Computation<int> job(*executor, 1, [&](Executor& of) {
    executor->progress.stop = true;
    stop_if_asked(&of.progress.stop);
    return 0;
  });
  EXPECT_EQ(&job.stop(), &executor->progress.stop);
  expect_refusal(ErrorCode::interrupted, [&] { job.step(0); });
  executor->progress.stop = false;
}

// A job may run other jobs.
TEST(Stepwise, JobsMayBeNested) {
  const auto executor = make_executor("cpu", test::small_cnn(), {1, std::int64_t{1} << 30, 8}).value();
  const EstimateRequest request = request_of(3, {"mmse:200", "mc:100"}, {"gaussian:0.2"});
  const std::vector<Row> expected = at_once(*executor, request);
  Computation<std::vector<Row>> outer(*executor, 1, [&](Executor& of) {
    EstimateRun inner(of, request);
    inner.finish();
    return inner.rows();
  });
  int steps = 1;
  while (!outer.step(0)) ++steps;
  EXPECT_GT(steps, 10);
  expect_same(outer.result(), expected);
}

// The gradients whose Gram matrix a linearization contains, requested one by one.
TEST(MarginGradients, AreThoseOfTheLinearization) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  std::mt19937 random(2);
  const Points points{test::random_tensor({2, 1, 8, 8}, random), {4, 9}, {2, 0}, 7};
  const Noise noise{isotropic_gaussian(), 0.3};
  const auto compare = [&](const LogitJacobian& U, const Eigen::MatrixXd& gram) {
    const Eigen::MatrixXd own = U.cast<double>() * U.cast<double>().transpose();
    EXPECT_LT((own - gram).norm(), 1e-5 * gram.norm());
  };
  compare(margin_gradients(*executor, points, 1, noise, 0), executor->linearize(points, *noise.shape).value()[1].gram);
  compare(margin_gradients(*executor, points, 1, noise, 6), executor->linearize_averaged(points, noise, 6).value()[1].gram);
}

TEST(Rows, ATieIsReportedAndTheLowestIndexPredicted) {
  const Points points{Tensor({1, 2}), {7}, {1}, 0};
  const Noise noise = parse_noise("gaussian:0.1");
  const auto row = [&](std::vector<float> logits) { return row_of(points, Tensor({1, 3}, logits), 0, noise, "mc:9", {}); };
  EXPECT_EQ(row({1, 4, 4}).estimate.status, Status::tie);
  EXPECT_EQ(row({1, 4, 4}).predicted, 1);
  EXPECT_EQ(row({1, 4, 5}).estimate.status, Status::ok);
  EXPECT_EQ(row({1, std::numeric_limits<float>::quiet_NaN(), 5}).predicted, 0);
  EXPECT_EQ(row({1, 4, 5}).index, 7);
}

}  // namespace
}  // namespace probust
