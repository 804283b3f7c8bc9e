// SPDX-License-Identifier: MIT
// Forward passes computed outside: the results are bit-identical to those of an executor that computes the passes itself.
#include "probust/exec/programs/external_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "probust/ops/append.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
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
  explicit Asked(std::int64_t batch, bool gradients = false, std::int64_t memory = std::int64_t{1} << 30,
                 std::int64_t of = kClasses)
      : classes(of) {
    ExecutorOptions options;
    options.batch = batch;
    options.memory = memory;
    const Graph preparation = identity({1, 8, 8});
    executor = make_forward_executor("elsewhere", external_program(external, preparation, classes), {1, 8, 8}, classes, options,
                                     gradients ? external_gradient_program(external, preparation, classes, batch) : nullptr);
  }

  // Answers requests until `step` returns true. A step may also end because its time is over.
  template <class Step>
  void until(Step step) {
    while (!step()) {
      if (external.wanted() == nullptr) continue;
      const ExternalEngine::Inputs& wanted = *external.wanted();
      most = std::max(most, wanted.count);
      const Tensor x({wanted.count, 1, 8, 8}, wanted.values);
      external.answer(wanted.cotangents.empty() ? network->logits(x).value().data : gradients(x, wanted.cotangents), classes);
    }
  }

  // The gradients of cᵀ logits, [N, d].
  std::vector<float> gradients(const Tensor& x, const std::vector<float>& cotangents) {
    std::vector<float> all(x.data.size(), 0.0F);
    const std::size_t d = all.size() / static_cast<std::size_t>(x.shape[0]);
    const auto add = [&](std::int64_t i, std::span<const float> J) {
      for (std::size_t e = 0; e < J.size(); ++e) all[i * d + e % d] += cotangents[i * classes + e / d] * J[e];
    };
    (void)network->jacobian(x, add).value();
    return all;
  }

  std::int64_t classes;
  ExternalEngine external;
  std::unique_ptr<Executor> network = make_executor("cpu", test::small_cnn(classes), {}).value();
  std::unique_ptr<Executor> executor;
  std::int64_t most = 0;  // the largest number of inputs in one request
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

TEST(ExternalEngine, EstimatesEqualThoseOfAnOrdinaryExecutor) {
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

TEST(ExternalEngine, AsksForNoPassTwice) {
  const EstimateRequest request = request_of({"mc:100", "probit:40"});
  Asked asked(16);
  EstimateRun run(*asked.executor, request, &asked.external);
  asked.until([&] { return run.step(0); });
  EXPECT_EQ(asked.external.passes(), run.planned());
}

TEST(ExternalEngine, EstimatorsWithOptionalGradientsWorkWithout) {
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

TEST(ExternalEngine, EstimatorsThatNeedGradientsAreRejectedWithAlternatives) {
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

// The gradients of margins are differences of rows of a Jacobian here, which rounds differently.
void expect_same_with_gradients(std::int64_t batch) {
  EstimateRequest request = request_of({"taylor", "mmse:30", "mmse:30:loo", "regression:60", "mc:60:stratified", "subset:400"});
  request.noises.pop_back();  // the uniform noise
  Asked asked(batch, true);
  EstimateRun expected(*asked.network, request), run(*asked.executor, request, &asked.external);
  while (!expected.step(1e6)) {
  }
  asked.until([&] { return run.step(0); });
  EXPECT_LE(asked.most, batch);
  ASSERT_EQ(run.rows().size(), expected.rows().size());
  for (std::size_t i = 0; i < run.rows().size(); ++i) {
    const Row &a = run.rows()[i], &b = expected.rows()[i];
    SCOPED_TRACE(b.estimator + " at " + b.noise + ", batch " + std::to_string(batch));
    EXPECT_EQ(a.estimate.forwards, b.estimate.forwards);
    EXPECT_EQ(a.estimate.backwards, b.estimate.backwards);
    EXPECT_EQ(a.estimate.status, b.estimate.status);
    EXPECT_EQ(std::isfinite(a.estimate.p), std::isfinite(b.estimate.p));
    EXPECT_FALSE(std::abs(a.estimate.p - b.estimate.p) > 2e-6);
  }
}

TEST(ExternalEngine, EstimatesFromItsGradientsEqualThoseOfTheNetwork) {
  for (const std::int64_t batch : {1, 7, 64}) expect_same_with_gradients(batch);
}

// Another engine has no first layer that could be computed once for all points. Moments are not used, because the points are
// too few; the engine could not propagate them, either.
TEST(ExternalEngine, PointsShareDrawsWithGradients) {
  EstimateRequest request = request_of({"probit:24:shared", "regression:60:learned"});
  std::mt19937 random(11);
  request.x = test::random_tensor({30, 1, 8, 8}, random);
  request.noises.pop_back();  // the uniform noise
  Asked asked(64, true);
  EstimateRun expected(*asked.network, request), run(*asked.executor, request, &asked.external);
  while (!expected.step(1e6)) {
  }
  asked.until([&] { return run.step(0); });
  ASSERT_EQ(run.rows().size(), expected.rows().size());
  for (std::size_t i = 0; i < run.rows().size(); ++i)
    EXPECT_NEAR(run.rows()[i].estimate.p, expected.rows()[i].estimate.p, 2e-5) << run.rows()[i].estimator;
}

// There is too little memory for all seeds at once, so a sample's gradients arrive in several groups, and none may be added
// twice.
TEST(ExternalEngine, GroupsOfSeedsAreAddedOnce) {
  constexpr std::int64_t kMany = 40, kCopies = 5;
  Asked asked(2, true, 85 << 10, kMany);
  std::mt19937 random(8);
  const Points points{test::random_tensor({1, 1, 8, 8}, random), {0}, {3}, 5};
  const Noise noise = parse_noise("gaussian:0.2");
  Computation<Linearization> run(
      *asked.executor, 1, [&](Executor& of) { return of.linearize_averaged(points, noise, kCopies).value()[0]; },
      &asked.external);
  asked.until([&] { return run.step(0); });
  EXPECT_LT(asked.executor->gradient_batch().seeds, kMany - 1);
  const Linearization expected = asked.network->linearize_averaged(points, noise, kCopies).value()[0];
  EXPECT_LT((run.result().gram - expected.gram).norm(), 1e-5 * expected.gram.norm());
  EXPECT_LT((run.result().margins - expected.margins).norm(), 1e-5 * expected.margins.norm());
}

TEST(ExternalEngine, MomentsAreNotAvailable) {
  Asked asked(64, true);
  EstimateRun run(*asked.executor, request_of({"adf", "taylor"}), &asked.external);
  asked.until([&] { return run.step(0); });
  for (const Row& row : run.rows()) EXPECT_EQ(row.estimate.status == Status::unsupported, row.estimator == "adf");
}

TEST(ExternalEngine, RejectsAWrongNumberOfLogits) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  ASSERT_NE(asked.external.wanted(), nullptr);
  EXPECT_THROW(asked.external.answer({1, 2, 3}, kClasses), Error);
  ASSERT_NE(asked.external.wanted(), nullptr);  // the request is still open
}

TEST(ExternalEngine, ARunThatNeedsLogitsCannotBeFinishedAtOnce) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  try {
    run.finish();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
  }
}

TEST(ExternalEngine, LogitsAreKeptUntilTheirQuestionIsDone) {
  Asked asked(4);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  const ExternalEngine::Inputs first = *asked.external.wanted();
  asked.external.answer(asked.network->logits(Tensor({4, 1, 8, 8}, first.values)).value().data, kClasses);
  EXPECT_EQ(asked.external.wanted(), nullptr);
  EXPECT_EQ(asked.external.ask(first).size(), 4 * kClasses);
  asked.until([&] {
    EXPECT_LE(asked.external.stored(), 2U);
    return run.step(0);
  });
  EXPECT_THROW((void)asked.external.ask(first), Error);  // the request was dropped
  EXPECT_NE(asked.external.wanted(), nullptr);
}

TEST(ExternalEngine, AnEstimateWithoutLogitsAsksAgain) {
  Asked asked(64);
  EstimateRun run(*asked.executor, request_of({"mc:10"}), &asked.external);
  EXPECT_FALSE(run.step(0));
  const std::vector<float> first = asked.external.wanted()->values;
  EXPECT_FALSE(run.step(0));
  EXPECT_EQ(asked.external.wanted()->values, first);
}

// x + z / 2 for each sample, as a function of the caller.
Tensor moved(Tensor x, const Tensor& z) {
  const std::int64_t d = x.size() / z.shape[0];
  for (std::int64_t e = 0; e < x.size(); ++e) x.data[e] += z.data[e / d] / 2;
  return x;
}

// Noise that is defined by this function, called either directly or through `external`.
Noise moving(ExternalEngine* external) {
  NoiseSource source;
  source.perturbation = [external](const std::string& name) {
    OwnPerturbation own{.latents = 1};
    own.function = [external, name](Tensor x, Tensor z) {
      if (external == nullptr) return moved(std::move(x), z);
      Shape shape = x.shape;
      return Tensor(std::move(shape), external->ask({shape[0], std::move(x.data), {}, name, std::move(z.data)}));
    };
    return own;
  };
  return parse_noise("transform:moved", source);
}

// Runs a request with that noise through `external`, and expects the same rows as from direct calls. Returns the number of
// requests.
std::int64_t expect_same_rows(Executor& executor, ExternalEngine& external,
                              const std::function<std::vector<float>(const Tensor&)>& model, std::int64_t classes,
                              std::vector<std::string> estimators, std::int64_t top) {
  EstimateRequest request = request_of(estimators), direct = request;
  request.event.top = direct.event.top = top;
  request.noises = {moving(&external), parse_noise("brightness:0.2")};
  direct.noises = {moving(nullptr), parse_noise("brightness:0.2")};
  const auto network = make_executor("cpu", test::small_cnn(classes), {}).value();
  EstimateRun run(executor, request, &external), expected(*network, direct);
  expected.finish();
  std::int64_t asked = 0;
  while (!run.step(0)) {
    const ExternalEngine::Inputs* wanted = external.wanted();
    if (wanted == nullptr) continue;
    const Tensor x({wanted->count, 1, 8, 8}, wanted->values);
    if (wanted->function.empty()) {
      external.answer(model(x), classes);
      continue;
    }
    EXPECT_EQ(wanted->function, "moved");
    ++asked;
    external.answer(moved(x, Tensor({wanted->count, 1}, wanted->latents)).data, classes);
  }
  EXPECT_EQ(run.rows().size(), expected.rows().size());
  for (std::size_t i = 0; i < run.rows().size(); ++i) {
    const Row &own = run.rows()[i], &other = expected.rows()[i];
    EXPECT_EQ(own.estimate.p, other.estimate.p) << own.estimator << " at " << own.noise;
    EXPECT_EQ(own.estimate.forwards, other.estimate.forwards) << own.estimator;
  }
  return asked;
}

TEST(ExternalEngine, NoiseThatIsAFunctionGivesTheRowsOfDirectCalls) {
  const std::vector<std::string> counting = {"mc:300", "probit:40", "mc:±0.1", "quadrature:64", "subset:400", "mc:60:stratified"};
  for (const int threads : {1, 3}) {
    const auto executor = make_executor("cpu", test::small_cnn(kClasses), {.threads = threads}).value();
    ExternalEngine external;
    EXPECT_GT(expect_same_rows(*executor, external, {}, kClasses, counting, 1), 6);
    EXPECT_GT(expect_same_rows(*executor, external, {}, kClasses, {"mc:300"}, 2), 1) << "drawn between questions";
    EXPECT_EQ(external.passes(), 0) << "the model is not external";
    EXPECT_EQ(external.stored(), 0);
  }
}

TEST(ExternalEngine, RunsAModelAndAFunctionOfOneCall) {
  Asked asked(16);
  const auto model = [&](const Tensor& x) { return asked.network->logits(x).value().data; };
  EXPECT_GT(expect_same_rows(*asked.executor, asked.external, model, kClasses, {"mc:100", "quadrature:16"}, 1), 2);
  EXPECT_GT(asked.external.passes(), 0);
}

TEST(ExternalEngine, AsksForNoSampleTwice) {
  const auto executor = make_executor("cpu", test::small_cnn(kClasses), {.threads = 1, .batch = 16}).value();
  ExternalEngine external;
  EstimateRequest request = request_of({"mc:100", "quadrature:64"});
  request.noises = {moving(&external)};
  EstimateRun run(*executor, request, &external);
  std::set<std::pair<std::vector<float>, std::vector<float>>> seen;
  while (!run.step(0)) {
    const ExternalEngine::Inputs* wanted = external.wanted();
    if (wanted == nullptr) continue;
    EXPECT_TRUE(seen.emplace(wanted->values, wanted->latents).second);
    external.answer(moved(Tensor({wanted->count, 1, 8, 8}, wanted->values), Tensor({wanted->count, 1}, wanted->latents)).data,
                    kClasses);
  }
}

}  // namespace
}  // namespace probust
