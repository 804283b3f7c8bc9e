// SPDX-License-Identifier: MIT
// The coarse calls: the same bits for any number of threads, memory and batch; agreement of backends; errors.
#include "probust/exec/executor.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "probust/base/parallel.h"
#include "probust/exec/devices.h"
#include "probust/exec/forwarding_executor.h"
#include "probust/ops/append.h"
#include "support/networks.h"

namespace probust {
namespace {

Points some_points(std::int64_t count, const Shape& shape, std::int64_t classes) {
  std::mt19937 random(8);
  Points points;
  Shape all = shape;
  all.insert(all.begin(), count);
  points.x = test::random_tensor(all, random);
  points.seed = 99;
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(i);
    points.target.push_back(i % classes);
  }
  return points;
}

struct Everything {
  std::vector<float> logits;
  std::vector<Linearization> taylor, averaged;
  std::vector<std::vector<std::int64_t>> counts;
  std::vector<Pairs> pairs, clipped_pairs;
  std::vector<Projection> smoothed, projections;
};

Everything run_all(std::string_view backend, const ExecutorOptions& options, std::int64_t samples = 37) {
  const auto executor = make_executor(backend, test::small_cnn(), options).value();
  const Points points = some_points(13, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  return {
      executor->logits(points.x)->data,
      executor->linearize(points, *noise.shape).value(),
      executor->linearize_averaged(points, noise, 7).value(),
      executor->sample(points, noise, samples).value(),
      executor->pairs(points, noise, samples).value(),
      executor->pairs(points, {clipped(noise.shape, {0, 1}), noise.scale}, samples).value(),
      executor->project(points, std::vector<std::vector<std::int64_t>>(13, {0, 2}), noise, samples, 5, LinearizeAt::noise_mean)
          .value(),
      executor->project(points, std::vector<std::vector<std::int64_t>>(13, {0, 2}), noise, samples, 5, LinearizeAt::input)
          .value()};
}

void expect_identical(const std::vector<Linearization>& a, const std::vector<Linearization>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE((a[i].margins.array() == b[i].margins.array()).all()) << "margins of point " << i;
    EXPECT_TRUE((a[i].gram.array() == b[i].gram.array()).all()) << "Gram matrix of point " << i;
  }
}

TEST(Executor, AveragesInStepsAreTheSameBits) {
  const Points points = some_points(3, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  for (const int threads : {1, 2}) {
    const auto executor = make_executor("cpu", test::small_cnn(), {threads, std::int64_t{1} << 30, 2}).value();
    const std::int64_t before = executor->progress.passes, passes = executor->classes() * points.size();
    EXPECT_FALSE(executor->averages(points, noise, 7).value()->step(0));
    EXPECT_EQ(executor->progress.passes - before, 2 * passes);  // a batch of two noisy samples
    const std::vector<Linearization> expected = executor->linearize_averaged(points, noise, 7).value();
    for (const int steps : {4, 3, 1, 0}) {
      const auto averages = executor->averages(points, noise, 7).value();
      EXPECT_EQ(averages->planned(), 7);
      std::int64_t others = executor->progress.passes;
      for (int step = 1; step <= steps; ++step) {
        EXPECT_EQ(averages->step(0), step == 4);
        EXPECT_EQ(averages->done(), std::min(2 * step, 7));
        const std::int64_t so_far = executor->progress.passes;
        (void)executor->linearize(points, *noise.shape);  // calls in between have no effect
        others += executor->progress.passes - so_far;
      }
      for (int again = 0; again < 2; ++again) {
        averages->finish();
        const std::vector<Linearization> actual = averages->value();
        EXPECT_EQ(executor->progress.passes - others, 7 * passes);  // no pass is repeated
        expect_identical(actual, expected);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(actual[i].sampled, expected[i].sampled);
          EXPECT_EQ(actual[i].along_mean, expected[i].along_mean);
          EXPECT_EQ(actual[i].along_own, expected[i].along_own);
        }
      }
    }
  }
}

TEST(Executor, AveragesThatFailedStayFailed) {
  const auto executor = make_executor("cpu", test::small_cnn(), {1, std::int64_t{1} << 30, 2}).value();
  const auto averages = executor->averages(some_points(1, {1, 8, 8}, 4), {isotropic_gaussian(), 0.3}, 7).value();
  EXPECT_FALSE(averages->step(0));
  const auto step = [&] { return guarded("averages", [&] { return averages->step(0); }); };
  executor->progress.stop = true;
  EXPECT_EQ(step().error().code, ErrorCode::interrupted);
  executor->progress.stop = false;
  EXPECT_EQ(step().error().code, ErrorCode::interrupted);
}

TEST(Executor, AnExecutorThatCannotDivideAveragesDoesThemAtOnce) {
  const auto inner = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = some_points(3, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  const std::int64_t passes = 3 * 7 * inner->classes();
  const auto averages = averages_at_once(*inner, points, noise, 7);
  EXPECT_EQ(averages->done(), 0);
  EXPECT_TRUE(averages->step(0));
  EXPECT_EQ(averages->done(), averages->planned());
  const std::vector<Linearization> actual = averages->value();
  EXPECT_EQ(inner->progress.passes, passes);
  expect_identical(actual, inner->linearize_averaged(points, noise, 7).value());
  const Points wrong = some_points(2, {5}, 4);
  const auto wrong_ones = averages_at_once(*inner, wrong, noise, 7);
  EXPECT_EQ(guarded("averages", [&] { return wrong_ones->step(0); }).error().code, ErrorCode::unreadable);
  EXPECT_EQ(inner->averages(wrong, noise, 7).error().code, ErrorCode::unreadable);
}

template <class Answering>
concept CanAnswer = requires(const ExecutorQuestion& question, const Answering& answering) {
  answer_by_type(question, answering);
};

struct AnswersAll {
  template <class Asked>
  Result<typename Asked::Answer> operator()(const Asked&) const;
};

// Answers all questions except PairMargins.
struct AnswersAllButOne {
  Result<Tensor> operator()(const LogitsAt&) const;
  Result<std::monostate> operator()(const JacobianAt&) const;
  Result<std::vector<Linearization>> operator()(const LinearizeAtPoint&) const;
  Result<std::vector<Linearization>> operator()(const LinearizeAtMean&) const;
  Result<std::vector<Linearization>> operator()(const LinearizeAveraged&) const;
  Result<std::vector<LogitMoments>> operator()(const PropagateMoments&) const;
  Result<PredictionCounts> operator()(const CountPredictions&) const;
  Result<std::vector<Projection>> operator()(const ProjectNoise&) const;
};

struct AnswersTheWrongType : AnswersAllButOne {
  using AnswersAllButOne::operator();
  Result<Tensor> operator()(const PairMargins&) const;
};

// The compiler refuses an executor that ignores a question. tests/decorator.cpp shows the same with a whole class.
static_assert(CanAnswer<AnswersAll>);
static_assert(!CanAnswer<AnswersAllButOne>);
static_assert(!CanAnswer<AnswersTheWrongType>);

TEST(Executor, ADecoratorHasTheFactsOfItsInnerExecutor) {
  class PassesOn final : public ForwardingExecutor {
   public:
    using ForwardingExecutor::ForwardingExecutor;
    Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override { return inner().answer(question); }
  };
  const auto inner = make_executor("cpu", test::small_cnn(), {1, std::int64_t{1} << 30, 2}).value();
  PassesOn executor(*inner);
  EXPECT_EQ(&executor.facts(), &inner->facts());
  EXPECT_EQ(&executor.progress, &inner->progress);
  EXPECT_EQ(executor.piecewise_constant(), inner->piecewise_constant());
  const Points points = some_points(3, {1, 8, 8}, 4);
  expect_identical(executor.linearize(points, *isotropic_gaussian()).value(),
                   inner->linearize(points, *isotropic_gaussian()).value());
  EXPECT_EQ(executor.gradient_batch().examples, 2);
  EXPECT_FALSE(executor.profile(points, true).value().empty());
  const auto averages = executor.averages(points, {isotropic_gaussian(), 0.3}, 7).value();
  EXPECT_FALSE(averages->step(0)) << "the inner executor divides them";
}

bool same(const Pairs& a, const Pairs& b) { return a.plus == b.plus && a.minus == b.minus; }

Pairs last(const Pairs& pairs, Eigen::Index first) {
  const Eigen::Index count = pairs.size() - first;
  return {pairs.plus.rightCols(count), pairs.minus.rightCols(count)};
}

TEST(Executor, TheSameBitsForAnyThreadsMemoryAndBatch) {
  const Everything expected = run_all("cpu", {1, std::int64_t{1} << 30, 0});
  for (const ExecutorOptions& options :
       {ExecutorOptions{2, std::int64_t{1} << 30, 0}, ExecutorOptions{3, 1 << 20, 0}, ExecutorOptions{1, 1 << 18, 0},
        ExecutorOptions{1, 60 << 10, 0}, ExecutorOptions{1, std::int64_t{1} << 30, 1},
        ExecutorOptions{2, std::int64_t{1} << 30, 5}}) {
    const Everything actual = run_all("cpu", options);
    EXPECT_EQ(actual.logits, expected.logits);
    EXPECT_EQ(actual.counts, expected.counts);
    expect_identical(actual.taylor, expected.taylor);
    expect_identical(actual.averaged, expected.averaged);
    for (std::size_t i = 0; i < expected.pairs.size(); ++i) {
      EXPECT_TRUE(same(actual.pairs[i], expected.pairs[i])) << i;
      EXPECT_TRUE(same(actual.clipped_pairs[i], expected.clipped_pairs[i])) << i;
      EXPECT_TRUE(same(actual.projections[i].pairs, last(expected.pairs[i], 5))) << i;
      EXPECT_TRUE((actual.smoothed[i].margins.array() == expected.smoothed[i].margins.array()).all()) << i;
      EXPECT_TRUE((actual.smoothed[i].gram.array() == expected.smoothed[i].gram.array()).all()) << i;
      EXPECT_TRUE((actual.smoothed[i].along.array() == expected.smoothed[i].along.array()).all()) << i;
      EXPECT_TRUE((actual.projections[i].gram.array() == expected.projections[i].gram.array()).all()) << i;
      EXPECT_TRUE((actual.projections[i].along.array() == expected.projections[i].along.array()).all()) << i;
    }
  }
}

// Products of two varying values: a single lane runs through different code than many lanes.
TEST(Executor, OneLaneOfAProductIsALaneAmongMany) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Graph g;
      const ValueId x = append_input(g, {19 * 37}, Extent::example, "x");
      const ValueId a = build::reshape(g, x, transpose_a ? Shape{37, 19} : Shape{19, 37});
      const ValueId b = build::reshape(g, append(g, Op::sine, {x}), transpose_b ? Shape{19, 37} : Shape{37, 19});
      g.outputs = {build::reshape(g, build::matmul(g, a, b, transpose_a, transpose_b), {19 * 19})};
      std::mt19937 random(3);
      const Tensor x5 = test::random_tensor({5, 19 * 37}, random);
      const auto executor = make_executor("cpu", g, {}).value();
      const Tensor together = executor->logits(x5).value();
      for (std::int64_t i = 0; i < 5; ++i) {
        const auto row = together.row(i);
        EXPECT_EQ(executor->logits(rows(x5, i, 1)).value().data, std::vector<float>(row.begin(), row.end()))
            << transpose_a << transpose_b;
      }
      const Tensor expected = make_executor("reference", g, {}).value()->logits(x5).value();
      for (std::size_t i = 0; i < expected.data.size(); ++i) EXPECT_NEAR(together.data[i], expected.data[i], 1e-5);
    }
  }
}

TEST(Executor, BackendsAgree) {
  for (const std::string_view name : backends()) EXPECT_EQ(make_executor(name, test::small_cnn(), {}).value()->name(), name);
  const Everything cpu = run_all("cpu", {}), reference = run_all("reference", {});
  for (std::size_t i = 0; i < cpu.logits.size(); ++i) EXPECT_NEAR(cpu.logits[i], reference.logits[i], 1e-5);
  EXPECT_EQ(cpu.counts, reference.counts);
  for (std::size_t i = 0; i < cpu.taylor.size(); ++i) {
    EXPECT_TRUE(cpu.taylor[i].gram.isApprox(reference.taylor[i].gram, 1e-5));
    EXPECT_TRUE(cpu.averaged[i].gram.isApprox(reference.averaged[i].gram, 1e-5));
    EXPECT_TRUE(cpu.averaged[i].margins.isApprox(reference.averaged[i].margins, 1e-5));
  }
}

// On a linear model, the margins move with the noise along their gradients, and mirrored noise moves them in the opposite
// direction.
TEST(Executor, MarginsMoveByTheNoiseAlongTheirGradients) {
  std::mt19937 random(2);
  const Graph graph = test::linear_classifier(test::random_tensor({4, 9}, random), test::random_tensor({4}, random));
  const auto executor = make_executor("cpu", graph, {}).value();
  const Points points = some_points(3, {9}, 4);
  const Noise noise{isotropic_gaussian(), 0.4};
  const auto centre = executor->linearize(points, *noise.shape).value();
  const std::vector<Pairs> pairs = executor->pairs(points, noise, 11).value();
  std::vector<std::vector<std::int64_t>> rivals;
  for (const std::int64_t target : points.target) rivals.push_back({target == 0 ? 1 : 0, target == 3 ? 2 : 3});
  const auto projections = executor->project(points, rivals, noise, 11, 0, LinearizeAt::input).value();
  for (std::size_t i = 0; i < 3; ++i) {
    const Eigen::Index rows[] = {0, 2};
    for (const Eigen::Index a : {0, 1}) {
      for (Eigen::Index j = 0; j < 11; ++j) {
        const double moved = projections[i].along(a, j), at_x = centre[i].margins[rows[a]];
        EXPECT_NEAR(pairs[i].plus(rows[a], j), at_x + moved, 1e-5);
        EXPECT_NEAR(pairs[i].minus(rows[a], j), at_x - moved, 1e-5);
      }
      EXPECT_NEAR(projections[i].gram(a, 0), centre[i].gram(rows[a], 0), 1e-5);
    }
  }
}

TEST(Executor, MarginsAndGramMatricesAreWhatTheySay) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = some_points(2, {1, 8, 8}, 4);
  const auto linearizations = executor->linearize(points, *isotropic_gaussian()).value();
  const Tensor logits = executor->logits(points.x).value();
  std::int64_t i = 0;
  (void)executor->jacobian(points.x, [&](std::int64_t n, std::span<const float> jacobian) {
    const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> J(jacobian.data(), 4, 64);
    const std::int64_t t = points.target[n];
    Eigen::MatrixXd U(3, 64);
    for (std::int64_t c = 0, row = 0; c < 4; ++c) {
      if (c == t) continue;
      U.row(row) = (J.row(t) - J.row(c)).cast<double>();
      EXPECT_NEAR(linearizations[n].margins[row], logits.data[n * 4 + t] - logits.data[n * 4 + c], 1e-5);
      ++row;
    }
    EXPECT_TRUE(linearizations[n].gram.isApprox(U * U.transpose(), 1e-5));
    ++i;
  });
  EXPECT_EQ(i, 2);
}

TEST(Executor, SamplesCountEveryCopyOnce) {
  const Everything run = run_all("cpu", {}, 100);
  for (const auto& counts : run.counts) {
    std::int64_t total = 0;
    for (const std::int64_t count : counts) total += count;
    EXPECT_EQ(total, 100);
  }
}

TEST(Executor, MoreSamplesExtendFewer) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = some_points(1, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 1.0};
  const auto few = executor->sample(points, noise, 50).value()[0], more = executor->sample(points, noise, 51).value()[0];
  std::int64_t grown = 0;
  for (std::size_t c = 0; c < few.size(); ++c) {
    EXPECT_GE(more[c], few[c]);
    grown += more[c] - few[c];
  }
  EXPECT_EQ(grown, 1);
}

TEST(Executor, TooLittleMemoryIsRefusedWithANumber) {
  const auto refused = make_executor("cpu", test::small_cnn(), {1, 1000, 0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resources);
  EXPECT_NE(refused.error().message().find('K'), std::string::npos) << refused.error().message();
}

TEST(Executor, ValuesBeyondTheMemoryAreRefusedBeforeTheyAreMade) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  const ValueId huge = build::broadcast(g, append(g, Op::tanh, {build::reshape(g, x, {2, 1})}), {2, std::int64_t{1} << 26});
  g.outputs = {build::reshape(g, build::reduce_sum(g, append(g, Op::tanh, {huge}), {1}), {2})};
  for (const std::string_view backend : backends()) {
    const auto refused = make_executor(backend, g, {1, std::int64_t{1} << 27, 0});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::resources);
  }
}

TEST(Executor, MisfittingDataAreRefused) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  EXPECT_EQ(executor->logits(Tensor({2, 1, 7, 8})).error().code, ErrorCode::unreadable);
  Points points = some_points(2, {1, 8, 8}, 4);
  points.target[1] = 4;
  EXPECT_EQ(executor->sample(points, {isotropic_gaussian(), 1}, 10).error().code, ErrorCode::usage);
  EXPECT_EQ(make_executor("abacus", test::small_cnn(), {}).error().code, ErrorCode::usage);
}

TEST(Executor, ARunCanBeStopped) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  executor->progress.stop = true;
  EXPECT_FALSE(executor->logits(some_points(2, {1, 8, 8}, 4).x));
}

TEST(Executor, TheLowestIndexWinsATie) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3}), 1);
  EXPECT_EQ(argmax(std::vector<float>{2, 2, 2}), 0);
  EXPECT_EQ(argmax(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 3}), -1);
}

TEST(Parallel, EveryTaskRunsOnceAndErrorsPropagate) {
  std::vector<std::atomic<int>> runs(100);
  parallel_for(100, 2, [&](std::int64_t task, int) { ++runs[task]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  EXPECT_THROW(parallel_for(10, 2,
                            [](std::int64_t task, int) {
                              if (task == 3) throw Error{ErrorCode::usage, "", "", ""};
                            }),
               Error);
}

#ifndef __EMSCRIPTEN__  // Each of the tasks waits until both have started.
// Neither task ends before the other has started.
TEST(Parallel, TasksRunAtTheSameTime) {
  std::atomic<int> begun = 0;
  std::atomic<bool> met = true;
  parallel_for(2, 2, [&](std::int64_t, int) {
    ++begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (begun < 2) met = false;
  });
  EXPECT_TRUE(met);
}
#endif

// A worker's index selects its memory, so no two running tasks of a loop may have the same index.
TEST(Parallel, NestedLoopsEndAndShareNoWorker) {
  constexpr int kThreads = 4, kTasks = 20;
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::atomic<int> runs = 0, clashes = 0;
    parallel_for(kTasks, kThreads, [&](std::int64_t, int) {
      std::array<std::atomic<bool>, kThreads> busy{};
      parallel_for(kTasks, kThreads, [&](std::int64_t, int worker) {
        if (busy.at(worker).exchange(true)) ++clashes;
        ++runs;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        busy.at(worker) = false;
      });
    });
    EXPECT_EQ(runs, kTasks * kTasks);
    EXPECT_EQ(clashes, 0);
  }
}

// NaN occurs in full blocks and in the padded last block.
TEST(Executor, RectifiersKeepWhatIsNotANumber) {
  Graph g;
  g.outputs = {append(g, Op::relu, {append_input(g, {19}, Extent::example, "x")})};
  const auto executor = make_executor("cpu", g, {}).value();
  Tensor x({1, 19}, std::vector<float>(19, -1.0F));
  x.data[3] = x.data[18] = std::nanf("");
  x.data[5] = 2;
  const std::vector<float> y = executor->logits(x).value().data;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i == 3 || i == 18) {
      EXPECT_TRUE(std::isnan(y[i])) << i;
    } else {
      EXPECT_EQ(y[i], i == 5 ? 2.0F : 0.0F) << i;
    }
  }
}

// Two devices that are in fact the CPU, and a third one that does not work.
class Pretended final : public DeviceKind {
 public:
  explicit Pretended(std::vector<int>& asked) : asked_(asked) {}
  std::string_view name() const override { return "pretended"; }
  DevicesFound find() const override { return {3}; }
  Result<std::unique_ptr<Executor>> make(int ordinal, const Graph& graph, const ExecutorOptions& options) const override {
    asked_.push_back(ordinal);
    if (options.precision == Precision::tf32) return Error{ErrorCode::resources, "it", "is out of order", ""};
    return make_executor("cpu", graph, {.threads = options.threads, .memory = options.memory});
  }
  Result<DeviceRates> rates(int ordinal, Precision) const override { return DeviceRates{"it", 1.0 + ordinal, 2}; }

 private:
  std::vector<int>& asked_;
};

TEST(Devices, AreFoundByName) {
  static std::vector<int> asked;  // static, because the device kind is never removed
  add_device_kind(std::make_unique<Pretended>(asked));
  const Graph graph = test::small_cnn();
  for (const std::string name : {"pretended", "pretended:2", "pretended:all", "auto"})
    EXPECT_TRUE(make_executor(name, graph, {.precision = Precision::bf16})) << name;
  EXPECT_EQ(asked, (std::vector<int>{0, 2, DeviceKind::kAll, 0}));
  for (const std::string name : {"pretended:", "pretended:x", "pretended:-1", "pretended:1x", "pretende", "", "cpu:0"})
    EXPECT_EQ(make_executor(name, graph, {}).error().code, ErrorCode::usage) << name;
  const std::vector<DeviceStatus> all = devices();
  EXPECT_EQ(all[all.size() - 1].name, "pretended:2");
  EXPECT_EQ(device_rates("pretended:1", Precision::float32)->product, 2);
  EXPECT_FALSE(device_rates("cpu", Precision::float32));
}

TEST(Devices, AutoFallsBackToTheProcessorWithAWarning) {
  static std::vector<int> asked;
  if (device_kinds().empty()) add_device_kind(std::make_unique<Pretended>(asked));
  std::vector<std::string> told;
  ExecutorOptions options{.precision = Precision::tf32};
  options.warn = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(make_executor("auto", test::small_cnn(), options).value()->name(), "cpu");
  EXPECT_EQ(told, std::vector<std::string>{"it is out of order; using the CPU"});
  EXPECT_EQ(make_executor("pretended", test::small_cnn(), options).error().code, ErrorCode::resources);
}

TEST(Devices, TheProcessorRefusesOtherPrecisions) {
  for (const std::string_view name : backends())
    EXPECT_EQ(make_executor(name, test::small_cnn(), {.precision = Precision::bf16}).error().code, ErrorCode::usage) << name;
  EXPECT_EQ(parse_precision("bf16"), Precision::bf16);
  EXPECT_THROW(parse_precision("fp16"), Error);
  EXPECT_EQ(parse_memory("8G"), std::int64_t{8} << 30);
  EXPECT_EQ(parse_memory("1.5k"), 1536);
  for (const std::string text : {"", "G", "-1G", "0", "nan", "8 G", "1e30"}) EXPECT_THROW(parse_memory(text), Error) << text;
  EXPECT_EQ(make_executor("cpu", test::small_cnn(), {}).value()->options().memory, kProcessorMemory);
}

}  // namespace
}  // namespace probust
