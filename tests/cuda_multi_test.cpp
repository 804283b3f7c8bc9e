// SPDX-License-Identifier: MIT
// Compares several emulated CUDA devices, equal and unequal ones, with a single one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "cuda/chunks.h"
#include "cuda/cuda_executor.h"
#include "cuda/emulated/control.h"
#include "probust/estimators/estimator.h"
#include "support/networks.h"

namespace probust::cuda {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t kUnlimited = std::int64_t{1} << 32;

// ---- chunks

TEST(CudaChunks, CoverAllUnitsOnceAndDifferInSizeByAtMostOne) {
  for (const std::int64_t units : {0, 1, 2, 7, 128, 1000}) {
    for (const std::int64_t count : {1, 2, 7, 24, 129}) {
      const std::vector<Chunk> chunks = divided(units, count);
      ASSERT_EQ(static_cast<std::int64_t>(chunks.size()), std::min(units, count));
      std::int64_t next = 0;
      for (const Chunk& chunk : chunks) {
        EXPECT_EQ(chunk.first, next);
        EXPECT_GE(chunk.count, units / count);
        EXPECT_LE(chunk.count, units / count + 1);
        EXPECT_GT(chunk.count, 0);
        next += chunk.count;
      }
      EXPECT_EQ(next, units);
    }
  }
}

TEST(CudaChunks, AreWholeBatchesInLargeCallsEightPerDeviceInUsualOnesAndEqualSharesInSmallOnes) {
  EXPECT_EQ(chunk_count(1000 * 4096, 2, 4096), 1000);
  EXPECT_EQ(chunk_count(1000 * 4096 + 1, 2, 4096), 1002);  // the same number for each device
  EXPECT_EQ(chunk_count(128 * 100, 2, 4096), 16);
  EXPECT_EQ(chunk_count(8 * 3 * 256, 8, 4096), 24);  // not below 1/16 of a batch
  EXPECT_EQ(chunk_count(2 * 255, 2, 4096), 2);
  EXPECT_EQ(chunk_count(0, 5, 4096), 5);
  EXPECT_EQ(chunk_count(64, 2, 1), 64);
}

// The record of a take_turns call: the chunks of each device, by their first units, and the devices that were left out.
struct Turns {
  std::map<std::size_t, std::vector<std::int64_t>> taken;
  std::vector<std::size_t> left_out;
  std::optional<Error> error;

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> chunks;
    for (const auto& [device, own] : taken) chunks.insert(chunks.end(), own.begin(), own.end());
    std::sort(chunks.begin(), chunks.end());
    return chunks;
  }
};

Turns turns_of(std::int64_t chunks, std::size_t devices, const std::function<void(std::size_t, std::int64_t)>& work) {
  Turns turns;
  std::mutex mutex;
  const auto take = [&](std::size_t device, const Chunk& chunk) {
    work(device, chunk.first);
    const std::lock_guard lock(mutex);
    turns.taken[device].push_back(chunk.first);
  };
  try {
    take_turns(divided(chunks, chunks), devices, take,
               [&](std::size_t device, const Error&) { turns.left_out.push_back(device); });
  } catch (const Error& error) {
    turns.error = error;
  }
  return turns;
}

std::vector<std::int64_t> numbers_to(std::int64_t end) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Waits until `true_at_last` holds, but not forever.
template <class Condition>
void wait_until(const Condition& true_at_last) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!true_at_last() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
}

TEST(CudaChunks, ADeviceThatEndsLastTakesOneAndTheOthersTakeTheRest) {
  constexpr std::int64_t kChunks = 40;
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> slow{true};
  const Turns turns = turns_of(kChunks, 3, [&](std::size_t device, std::int64_t) {
    if (device == 1 && slow.exchange(false)) wait_until([&] { return done == kChunks - 1; });
    ++done;
  });
  EXPECT_EQ(turns.all(), numbers_to(kChunks));
  EXPECT_EQ(turns.taken.at(1), std::vector<std::int64_t>{1});
  EXPECT_EQ(turns.taken.at(0).front(), 0);  // each device begins with the chunk of its number
  EXPECT_EQ(turns.taken.at(2).front(), 2);
}

TEST(CudaChunks, OfADeviceWithoutMemoryAreDoneByTheOthers) {
  for (const std::set<std::size_t>& without : {std::set<std::size_t>{0}, {2}, {0, 1, 2, 4}}) {
    std::mutex mutex;
    std::map<std::size_t, int> asked;
    const Turns turns = turns_of(40, 5, [&](std::size_t device, std::int64_t) {
      const std::lock_guard lock(mutex);
      ++asked[device];
      if (without.count(device) != 0) throw out_of_memory("full");
    });
    EXPECT_FALSE(turns.error);
    EXPECT_EQ(turns.all(), numbers_to(40));
    EXPECT_EQ(turns.left_out, std::vector<std::size_t>(without.begin(), without.end()));
    for (const std::size_t device : without) EXPECT_EQ(asked[device], 1) << "a device without memory was asked again";
  }
  // With fewer chunks than devices, the devices that had none take over.
  const Turns few = turns_of(2, 5, [&](std::size_t device, std::int64_t) {
    if (device < 4) throw out_of_memory("full");
  });
  EXPECT_EQ(few.taken, (std::map<std::size_t, std::vector<std::int64_t>>{{4, {0, 1}}}));
  EXPECT_EQ(few.left_out, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(CudaChunks, IfNoDeviceHasMemoryThatIsTheError) {
  const Turns turns = turns_of(40, 3, [](std::size_t, std::int64_t) { throw out_of_memory("full"); });
  ASSERT_TRUE(turns.error);
  EXPECT_EQ(turns.error->problem, "full");
  EXPECT_TRUE(turns.taken.empty());
}

TEST(CudaChunks, AnyOtherErrorOfADeviceEndsTheCall) {
  std::atomic<bool> thrown{false};
  std::atomic<int> others{0};
  const Turns turns = turns_of(200, 3, [&](std::size_t device, std::int64_t) {
    if (device == 1) {
      thrown = true;
      throw Error{ErrorCode::numerical, "device", "is broken", ""};
    }
    wait_until([&] { return thrown.load(); });
    std::this_thread::sleep_for(milliseconds(5));
    ++others;
  });
  ASSERT_TRUE(turns.error);
  EXPECT_EQ(turns.error->problem, "is broken");
  EXPECT_LT(others, 150) << "the other devices went on";
  EXPECT_TRUE(turns.left_out.empty());
}

// ---- executors

// An emulated device.
struct Card {
  microseconds delay{0};
  std::int64_t memory = kUnlimited;
};

// During the lifetime of this object, these are the emulated devices.
class Cards {
 public:
  explicit Cards(const std::vector<Card>& cards) : count_(static_cast<int>(cards.size())) {
    have_devices(count_);
    for (int k = 0; k < count_; ++k) {
      slow_down(k, cards[k].delay);
      leave_memory(k, cards[k].memory);
      before_.push_back(work_of(k));
    }
  }
  ~Cards() {
    have_devices(2);
    for (int k = 0; k < count_; ++k) {
      slow_down(k, microseconds(0));
      leave_memory(k, kUnlimited);
    }
  }
  Cards(const Cards&) = delete;
  Cards& operator=(const Cards&) = delete;

  // The number of pieces of work that each device has received since the last call.
  std::vector<std::int64_t> work() {
    std::vector<std::int64_t> each;
    for (int k = 0; k < count_; ++k) {
      each.push_back(work_of(k) - before_[k]);
      before_[k] += each.back();
    }
    return each;
  }

 private:
  int count_;
  std::vector<std::int64_t> before_;
};

std::vector<Card> equal_cards(int count) { return std::vector<Card>(static_cast<std::size_t>(count)); }

// Some devices are slower than others, and some have memory for only a few lanes.
std::vector<Card> unequal_cards(int count) {
  std::vector<Card> cards = equal_cards(count);
  for (int k = 0; k < count; ++k) {
    cards[k].delay = microseconds(k % 3 * 40);
    if (k % 2 == 0) cards[k].memory = std::int64_t{30 + 5 * k} << 10;
  }
  return cards;
}

std::unique_ptr<Executor> on_all(const Graph& graph, std::vector<std::string>* told = nullptr, std::int64_t batch = 0) {
  CudaOptions options;
  options.ordinal = CudaOptions::kAll;
  if (told != nullptr) options.warn = [told](const std::string& text) { told->push_back(text); };
  ExecutorOptions limits;
  limits.batch = batch;
  return make_cuda_executor(graph, limits, options).value();
}

std::unique_ptr<Executor> on_one(const Graph& graph, std::int64_t batch = 0) {
  ExecutorOptions limits;
  limits.batch = batch;
  return make_cuda_executor(graph, limits, {}).value();
}

Points dense_points(std::int64_t count) {
  std::mt19937 random(8);
  Points points;
  points.x = test::random_tensor({count, 6}, random);
  points.seed = 5;
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(2 * i);
    points.target.push_back(i % 4);
  }
  return points;
}

const Noise kGaussian{isotropic_gaussian(), 0.3};

void expect_equal(const Linearization& a, const Linearization& b, const std::string& what) {
  EXPECT_EQ(a.margins, b.margins) << what;
  EXPECT_EQ(a.gram, b.gram) << what;
  EXPECT_EQ(a.sampled, b.sampled) << what;
  EXPECT_EQ(a.along_mean, b.along_mean) << what;
  EXPECT_EQ(a.along_own, b.along_own) << what;
}

void expect_equal(const Pairs& a, const Pairs& b, const std::string& what) {
  EXPECT_EQ(a.plus, b.plus) << what;
  EXPECT_EQ(a.minus, b.minus) << what;
}

void expect_equal(const Projection& a, const Projection& b, const std::string& what) {
  EXPECT_EQ(a.margins, b.margins) << what;
  EXPECT_EQ(a.gram, b.gram) << what;
  EXPECT_EQ(a.along, b.along) << what;
  expect_equal(a.pairs, b.pairs, what);
}

// The results of every call.
struct Answers {
  Tensor logits;
  std::vector<std::vector<std::int64_t>> counts, no_counts;
  std::vector<Pairs> pairs;
  std::vector<Linearization> at_points, smoothed, averaged;
  std::vector<Projection> projected;
};

Answers answers_of(Executor& executor, const Points& points) {
  std::vector<std::vector<std::int64_t>> rivals;
  for (const std::int64_t target : points.target) rivals.push_back({(target + 1) % 4, (target + 2) % 4});
  return {executor.logits(points.x).value(),
          executor.sample(points, kGaussian, 61, 5).value(),
          executor.sample(points, kGaussian, 0).value(),
          executor.pairs(points, kGaussian, 19, 2).value(),
          executor.linearize(points, *kGaussian.shape).value(),
          executor.linearize_smoothed(points, kGaussian).value(),
          executor.linearize_averaged(points, kGaussian, 7).value(),
          executor.project(points, rivals, kGaussian, 9, 2, LinearizeAt::noise_mean).value()};
}

template <class T>
void expect_all_equal(const std::vector<T>& a, const std::vector<T>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < b.size(); ++i) expect_equal(a[i], b[i], what + ", point " + std::to_string(i));
}

void expect_equal(const Answers& a, const Answers& b, const std::string& what) {
  EXPECT_EQ(a.logits.data, b.logits.data) << what;
  EXPECT_EQ(a.counts, b.counts) << what;
  EXPECT_EQ(a.no_counts, b.no_counts) << what;
  expect_all_equal(a.pairs, b.pairs, what + ", pairs");
  expect_all_equal(a.at_points, b.at_points, what + ", linearize");
  expect_all_equal(a.smoothed, b.smoothed, what + ", smoothed");
  expect_all_equal(a.averaged, b.averaged, what + ", averaged");
  expect_all_equal(a.projected, b.projected, what + ", project");
}

// Also tests more devices than points. With batches of 16 lanes, each device has several chunks.
TEST(CudaSeveral, EveryCallGivesTheBitsOfOneDevice) {
  const Graph graph = test::small_smooth_network(4);
  std::map<std::int64_t, Answers> expected;
  for (const std::int64_t points : {1, 3, 29, 70}) expected[points] = answers_of(*on_one(graph), dense_points(points));
  for (const int count : {2, 3, 5, 8}) {
    for (const auto& cards : {equal_cards(count), unequal_cards(count)}) {
      Cards devices(cards);
      std::vector<std::string> told;
      const auto all = on_all(graph, &told, 16);
      for (const auto& [points, answers] : expected) {
        expect_equal(answers_of(*all, dense_points(points)), answers,
                     std::to_string(count) + " devices, " + std::to_string(points) + " points");
      }
      EXPECT_EQ(all->sample(dense_points(0), kGaussian, 10)->size(), 0U);
      for (const std::int64_t work : devices.work()) EXPECT_GT(work, 0) << "a device did nothing";
      EXPECT_TRUE(told.empty()) << told[0];
    }
  }
}

std::vector<Estimate> estimates(Executor& executor, const Points& points, const std::string& name) {
  Evaluation evaluation(executor, points, executor.logits(points.x).value());
  return estimate(evaluation, {isotropic_gaussian(), 0.4}, parse_estimator(name)).value();
}

TEST(CudaSeveral, RowsAreThoseOfOneDevice) {
  const Graph graph = test::small_smooth_network(4);
  const Points points = dense_points(21);
  const auto one = on_one(graph);
  for (const std::string name : {"mc:200", "probit:24", "regression:40", "taylor", "mmse:5"}) {
    const std::vector<Estimate> expected = estimates(*one, points, name);
    for (const int count : {2, 3, 5, 8}) {
      for (const auto& cards : {equal_cards(count), unequal_cards(count)}) {
        const Cards devices(cards);
        const std::vector<Estimate> rows = estimates(*on_all(graph, nullptr, 16), points, name);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const std::string what = name + ", " + std::to_string(count) + " devices, point " + std::to_string(i);
          EXPECT_EQ(rows[i].p, expected[i].p) << what;
          EXPECT_EQ(rows[i].p_fail, expected[i].p_fail) << what;
          EXPECT_EQ(rows[i].std_error, expected[i].std_error) << what;
          EXPECT_EQ(rows[i].ci_low, expected[i].ci_low) << what;
          EXPECT_EQ(rows[i].ci_high, expected[i].ci_high) << what;
          EXPECT_EQ(rows[i].forwards, expected[i].forwards) << what;
          EXPECT_EQ(rows[i].backwards, expected[i].backwards) << what;
          EXPECT_EQ(rows[i].status, expected[i].status) << what;
        }
      }
    }
  }
}

// With at least 24 rivals, normal probabilities are also computed on the devices.
TEST(CudaSeveral, ShareNormalProbabilities) {
  std::mt19937 random(3);
  const Graph graph = test::linear_classifier(test::random_tensor({26, 64}, random), test::random_tensor({26}, random));
  Points points{test::random_tensor({9, 64}, random), {}, {}, 5};
  for (std::int64_t i = 0; i < 9; ++i) points.index.push_back(i);
  const auto one = on_one(graph);
  const Tensor logits = one->logits(points.x).value();
  for (std::int64_t i = 0; i < 9; ++i) points.target.push_back(argmax(logits.row(i)));
  const std::vector<Estimate> expected = estimates(*one, points, "taylor");
  Cards devices(equal_cards(3));
  const std::vector<Estimate> rows = estimates(*on_all(graph, nullptr, 16), points, "taylor");
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].p, expected[i].p) << i;
}

TEST(CudaSeveral, ASlowerDeviceTakesFewerChunks) {
  const Graph graph = test::small_smooth_network(4);
  for (const std::int64_t points : {1, 88}) {  // chunks of samples, and of points
    Cards devices({{microseconds(3000)}, {microseconds(300)}});
    const auto all = on_all(graph, nullptr, 16);
    (void)devices.work();
    EXPECT_TRUE(all->sample(dense_points(points), kGaussian, 88 * 16 / points));
    const std::vector<std::int64_t> slow_first = devices.work();
    EXPECT_GT(slow_first[0], 0);
    EXPECT_GT(slow_first[1], 4 * slow_first[0]) << points << " points: the slow device held up the other";
  }
}

TEST(CudaSeveral, EqualDevicesTakeEqualNumbersOfChunks) {
  const Graph graph = test::small_smooth_network(4);
  Cards devices(std::vector<Card>(4, Card{microseconds(1000)}));
  const auto all = on_all(graph, nullptr, 16);
  (void)devices.work();
  EXPECT_TRUE(all->sample(dense_points(64), kGaussian, 16));
  const std::vector<std::int64_t> each = devices.work();
  const auto [least, most] = std::minmax_element(each.begin(), each.end());
  EXPECT_LT(*most, 2 * *least);
}

TEST(CudaSeveral, ADeviceWithoutMemoryIsNamedOnceAndTriedAgainInTheNextCall) {
  const Graph graph = test::small_smooth_network(4);
  const Points points = dense_points(40);
  const auto one = on_one(graph);
  const auto counts = one->sample(points, kGaussian, 50).value();
  Cards devices(equal_cards(3));
  std::vector<std::string> told;
  const auto all = on_all(graph, &told, 16);
  leave_memory(1, 0);
  for (int call = 0; call < 2; ++call) {
    (void)devices.work();
    EXPECT_EQ(all->sample(points, kGaussian, 50).value(), counts);
    EXPECT_EQ(devices.work()[1], 0);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0], "cuda:1 has too little memory, so the other devices compute its share: " + option("memory") +
                           " is too large for the device");
  }
  expect_equal(answers_of(*all, points), answers_of(*one, points), "without cuda:1");
  leave_memory(1, kUnlimited);
  (void)devices.work();
  EXPECT_EQ(all->sample(points, kGaussian, 50).value(), counts);
  EXPECT_GT(devices.work()[1], 0);
  for (int k = 0; k < 3; ++k) leave_memory(k, 0);
  EXPECT_EQ(all->sample(points, kGaussian, 50).error().code, ErrorCode::resources);
}

TEST(CudaSeveral, ADeviceTooSmallForTheModelIsNotUsedAndNamed) {
  const Graph graph = test::small_smooth_network(4);
  const Points points = dense_points(5);
  const auto counts = on_one(graph)->sample(points, kGaussian, 50).value();
  Cards devices({{microseconds(0), 0}, {}, {}});
  std::vector<std::string> told;
  const auto all = on_all(graph, &told);
  EXPECT_EQ(all->sample(points, kGaussian, 50).value(), counts);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].find("cuda:0 is not used: "), 0U) << told[0];
  EXPECT_EQ(devices.work()[0], 0);

  for (int k = 0; k < 3; ++k) leave_memory(k, 0);
  CudaOptions options;
  options.ordinal = CudaOptions::kAll;
  options.warn = [&](const std::string& text) { told.push_back(text); };
  EXPECT_EQ(make_cuda_executor(graph, {}, options).error().code, ErrorCode::resources);
  EXPECT_EQ(told.size(), 1U) << "an error and warnings of the same";
}

TEST(CudaSeveral, PlanTheirOwnBatches) {
  const Graph graph = test::small_smooth_network(4);
  const Cards devices(unequal_cards(2));
  const auto first = on_one(graph, 16);
  EXPECT_TRUE(first->linearize_smoothed(dense_points(16), kGaussian));
  EXPECT_LT(first->gradient_batch().examples, 16) << "the other tests have no device with little memory";
}

TEST(CudaSeveral, HaveTheFactsOfOneDevice) {
  const Graph graph = test::small_smooth_network(4);
  const Cards devices(equal_cards(3));
  const auto one = on_one(graph), all = on_all(graph);
  EXPECT_EQ(all->name(), "cuda:all");
  EXPECT_EQ(all->point_shape(), one->point_shape());
  EXPECT_EQ(all->classes(), one->classes());
  EXPECT_EQ(all->differentiable(), one->differentiable());
  EXPECT_EQ(all->handles_missing(), one->handles_missing());
  EXPECT_EQ(all->piecewise_constant(), one->piecewise_constant());
  EXPECT_EQ(all->backwards_to_linearize(), one->backwards_to_linearize());
  EXPECT_EQ(all->forward_batch().examples, one->forward_batch().examples);
  all->release();
  EXPECT_EQ(all->averages(dense_points(2), kGaussian, 5).value()->planned(), 5);
}

// The caller plans for the device with the most memory; the other devices split what does not fit into their memory.
TEST(CudaSeveral, ASmallDeviceDoesNotLimitTheOthers) {
  const Cards devices(unequal_cards(2));
  const auto all = on_all(test::small_smooth_network(4));
  EXPECT_EQ(all->forward_batch().examples, 4096);
  EXPECT_GT(all->options().memory, 1 << 20);
}

TEST(CudaSeveral, AStopRequestEndsTheCallOnAllDevices) {
  Cards devices(std::vector<Card>(3, Card{microseconds(200)}));
  const auto all = on_all(test::small_smooth_network(4), nullptr, 16);
  std::thread stopper([&] {
    wait_until([&] { return all->progress.passes > 0; });
    all->progress.stop = true;
  });
  constexpr std::int64_t kMany = 1 << 20;
  const auto stopped = all->sample(dense_points(2), kGaussian, kMany);
  stopper.join();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::interrupted);
  EXPECT_LT(all->progress.passes, kMany);
  all->progress.stop = false;
  EXPECT_TRUE(all->sample(dense_points(2), kGaussian, 10));
}

TEST(CudaSeveral, ProgressCountsThePassesOfAllDevicesAndMayBeTheCallers) {
  const Graph graph = test::small_smooth_network(4);
  const auto one = on_one(graph);
  (void)answers_of(*one, dense_points(29));
  Cards devices(unequal_cards(5));
  Progress progress;
  CudaOptions options;
  options.ordinal = CudaOptions::kAll;
  options.progress = &progress;
  const auto all = make_cuda_executor(graph, {}, options).value();
  (void)answers_of(*all, dense_points(29));
  EXPECT_EQ(progress.passes, one->progress.passes);
}

}  // namespace
}  // namespace probust::cuda
