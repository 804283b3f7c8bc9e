// SPDX-License-Identifier: MIT
// Several processes for one run: their messages, what happens if one of them ends, and mpirun itself.
#include "cli/run/ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "probust/perturb/noise_text.h"
#include "support/command.h"

namespace probust::cli {
namespace {

using test::Finished;
using test::Folder;
using test::kDigits;

// ---- Messages.

Results results_with_all_fields() {
  Row row{.index = 1LL << 40,
          .label = 3,
          .predicted = 4,
          .target = 5,
          .noise = "gaussian:0.1",
          .sigma = 0.1,
          .estimator = "auto:20",
          .estimate = {},
          .model = "ü.onnx"};
  row.estimate.p = 1 - 0x1p-53;
  row.estimate.p_fail = 1.0 / 3e300;
  row.estimate.p_label = 0.3;
  row.estimate.p_label_low = 0.1;
  row.estimate.ci_low = 0.25;
  row.estimate.forwards = 1LL << 50;
  row.estimate.model_samples = 9;
  row.estimate.survivors = 8;
  row.estimate.status = Status::inexact;
  row.estimate.method = parse_estimator("probit:5");
  row.estimate.note = "a note";
  row.estimate.classes = {0.5, std::nextafter(0.5, 1.0)};
  Row unanswered = row;
  unanswered.label.reset();
  unanswered.sigma.reset();
  unanswered.estimate = {};
  unanswered.estimate.p = unanswered.estimate.p_fail = NAN;
  return {{row, unanswered}, {{"ü.onnx", 7, std::nullopt, 2, {0.1F, -INFINITY, NAN}}}, {{"ü.onnx", 8, "a.png is not an image"}}};
}

TEST(Ranks, ResultsArriveAsTheyWereSent) {
  const Results sent = results_with_all_fields(), arrived = unpacked(packed(sent));
  ASSERT_EQ(arrived.rows.size(), 2U);
  const Row &a = sent.rows[0], &b = arrived.rows[0];
  EXPECT_EQ(std::tie(a.model, a.index, a.label, a.predicted, a.target, a.noise, a.sigma, a.estimator),
            std::tie(b.model, b.index, b.label, b.predicted, b.target, b.noise, b.sigma, b.estimator));
  const Estimate &e = a.estimate, &f = b.estimate;
  EXPECT_EQ(std::tie(e.p_label, e.p_label_low, e.p_label_high), std::tie(f.p_label, f.p_label_low, f.p_label_high));
  EXPECT_EQ(std::tie(e.p, e.p_fail, e.std_error, e.ci_low, e.ci_high, e.forwards, e.backwards, e.status, e.note, e.classes),
            std::tie(f.p, f.p_fail, f.std_error, f.ci_low, f.ci_high, f.forwards, f.backwards, f.status, f.note, f.classes));
  EXPECT_EQ(std::tie(e.model_samples, e.survivors), std::tie(f.model_samples, f.survivors));
  EXPECT_EQ(b.method(), "probit:5");
  EXPECT_TRUE(std::isnan(arrived.rows[1].estimate.p));
  EXPECT_EQ(arrived.rows[1].label, std::nullopt);
  EXPECT_EQ(arrived.rows[1].method(), "auto:20");
  ASSERT_EQ(arrived.points.size(), 1U);
  EXPECT_EQ(arrived.points[0].logits[0], 0.1F);
  EXPECT_EQ(arrived.points[0].logits[1], -INFINITY);
  EXPECT_TRUE(std::isnan(arrived.points[0].logits[2]));
  ASSERT_EQ(arrived.skipped.size(), 1U);
  EXPECT_EQ(arrived.skipped[0].reason, "a.png is not an image");
}

TEST(Ranks, OtherBytesAreRefused) {
  std::vector<std::byte> bytes = packed(results_with_all_fields());
  bytes.resize(bytes.size() / 2);
  EXPECT_THROW(unpacked(bytes), Error);
  EXPECT_THROW(unpacked({}), Error);
}

// ---- Rank 0 and the others, as threads.

// The messages that were sent to each rank.
struct Mail {
  std::mutex mutex;
  std::map<int, std::deque<cluster::Message>> of_rank;
};

class ThreadCluster final : public cluster::Cluster {
 public:
  ThreadCluster(Mail& mail, int rank, int size) : mail_(mail) {
    rank_ = rank;
    size_ = size;
  }
  void send(int to, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(mail_.mutex);
    mail_.of_rank[to].push_back({rank_, {bytes.begin(), bytes.end()}});
  }
  bool receive(cluster::Message& message) override {
    const std::lock_guard lock(mail_.mutex);
    auto& mine = mail_.of_rank[rank_];
    if (mine.empty()) return false;
    message = std::move(mine.front());
    mine.pop_front();
    return true;
  }

 private:
  Mail& mail_;
};

Results results_of(const Assignment& assignment) {
  Results results;
  for (std::int64_t k = 0; k < assignment.block.count; ++k)
    results.points.push_back({assignment.block.model, assignment.block.first + k});
  return results;
}

// Estimates blocks. `before_it_ends`: the number of blocks after which the rank ends, leaving one unfinished. `pause`: the
// pause before each result.
void answer(Assignments& assignments, int before_it_ends, std::chrono::milliseconds pause = {}) {
  for (int blocks = 0; const auto next = assignments.next(10); ++blocks) {
    if (blocks == before_it_ends) return;
    std::this_thread::sleep_for(pause);
    assignments.deliver(*next, results_of(*next));
  }
}

Plan plan_of_one_question() {
  Plan plan;
  plan.noises.push_back(parse_noise("gaussian:0.1"));
  plan.estimators.push_back(parse_estimator("mc:10"));
  return plan;
}

TEST(Ranks, BlocksOfARankThatEndsAreEstimatedByOthers) {
  const Plan plan = plan_of_one_question();
  Mail mail;
  ThreadCluster zero(mail, 0, 4);
  Ranks ranks{zero, 1};
  Collected collected;
  Ledger ledger(plan, "", {0, 500}, collected, {});
  StopToken stop = false;
  std::vector<std::thread> others;
  for (int rank = 1; rank < 4; ++rank) {
    others.emplace_back([&mail, rank] {
      ThreadCluster cluster(mail, rank, 4);
      RemoteAssignments assignments(cluster, 0);
      answer(assignments, rank == 2 ? 3 : 1000);
    });
  }
  testing::internal::CaptureStderr();
  {
    RankServer server(ranks, ledger, 0, stop);
    for (std::thread& other : others) other.join();
    server.finish();
  }
  answer(ledger, 1000);  // a block that was returned after the others had finished
  EXPECT_TRUE(test::mentions(testing::internal::GetCapturedStderr(), "rank 2 has ended"));
  EXPECT_EQ(ranks.gone, std::set<int>{2});
  EXPECT_TRUE(ledger.complete());
  ASSERT_EQ(collected.results.points.size(), 500U);
  for (std::int64_t i = 0; i < 500; ++i) EXPECT_EQ(collected.results.points[i].index, i);
}

// A rank that finds no more blocks of one model asks for blocks of the next one while slower ranks are still working.
TEST(Ranks, FastRanksStartTheNextModel) {
  const Plan plan = plan_of_one_question();
  Mail mail;
  ThreadCluster zero(mail, 0, 4);
  constexpr int kModels = 3;
  Ranks ranks{zero, kModels};
  Collected collected;
  StopToken stop = false;
  std::vector<std::thread> others;
  for (int rank = 1; rank < 4; ++rank) {
    others.emplace_back([&mail, rank] {
      ThreadCluster cluster(mail, rank, 4);
      for (int round = 0; round < kModels; ++round) {
        RemoteAssignments assignments(cluster, round);
        answer(assignments, 1000, std::chrono::milliseconds(rank == 1 ? 30 : 0));
      }
    });
  }
  for (int round = 0; round < kModels; ++round) {
    Ledger ledger(plan, std::to_string(round), {0, 60}, collected, {});
    RankServer server(ranks, ledger, round, stop);
    server.finish();
    EXPECT_TRUE(ledger.complete());
  }
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(ranks.early.empty());
  EXPECT_EQ(collected.results.points.size(), 60U * kModels);
}

// Rank 0 fails after the first of two models.
TEST(Ranks, RanksAreDismissedIfRankZeroEnds) {
  const Plan plan = plan_of_one_question();
  Mail mail;
  ThreadCluster zero(mail, 0, 3);
  Ranks ranks{zero, 2};
  Collected collected;
  StopToken stop = false;
  std::atomic<int> dismissed = 0;
  std::vector<std::thread> others;
  for (int rank = 1; rank < 3; ++rank) {
    others.emplace_back([&mail, &dismissed, rank] {
      ThreadCluster cluster(mail, rank, 3);
      for (int round = 0; round < 2; ++round) {
        RemoteAssignments assignments(cluster, round);
        answer(assignments, 1000);
        dismissed += assignments.dismissed() ? 1 : 0;
      }
    });
  }
  Ledger ledger(plan, "", {0, 60}, collected, {});
  RankServer(ranks, ledger, 0, stop).finish();
  dismiss(ranks);
  for (std::thread& other : others) other.join();
  EXPECT_EQ(dismissed, 2);
  dismiss(ranks);  // calling it again is allowed: no rank is left to wait for
}

// ---- mpirun.

#ifdef PROBUST_HAS_MPI
// Runs `mpirun -n 2`, on any machine and as any user.
const std::string kMpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 exec mpirun --oversubscribe --bind-to none -n 2 " +
    std::string(PROBUST_PROGRAM) + " ";

std::string estimate_command(const Folder& folder, const std::string& file) {
  return "estimate " + kDigits + " --sigma 0.2,0.4 --estimator mc:5000,taylor --threads 1 --quiet -o '" + folder / file + "'";
}

TEST(Ranks, AllRanksEndIfTheRunIsWrittenByAnotherProcess) {
  const Folder folder;
  const int lock = open((folder / "two.csv-lock").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_EQ(WEXITSTATUS(std::system((kMpirun + estimate_command(folder, "two.csv") + " 2>'" + folder / "err" + "'").c_str())), 7);
  EXPECT_TRUE(test::mentions(test::read_whole(folder / "err"), "is being written by another process"));
  close(lock);
}

TEST(Ranks, MpirunGivesTheRowsOfOneProcess) {
  const Folder folder;
  ASSERT_EQ(test::probust(estimate_command(folder, "one.csv")).status, 0);
  ASSERT_EQ(std::system((kMpirun + estimate_command(folder, "two.csv")).c_str()), 0);
  EXPECT_EQ(test::read_whole(folder / "two.csv"), test::read_whole(folder / "one.csv"));
}

// The processes that run this program with `argument`, without mpirun itself.
std::vector<pid_t> processes_with(const std::string& argument) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string command = test::read_whole(entry.path() / "cmdline");
    if (command.starts_with(PROBUST_PROGRAM) && test::mentions(command, argument)) found.push_back(std::stoi(name));
  }
  return found;
}

TEST(Ranks, ARunSurvivesAKilledRank) {
  const Folder folder;
  ASSERT_EQ(test::probust(estimate_command(folder, "one.sqlite")).status, 0);
  const std::string run = folder / "two.sqlite", command = estimate_command(folder, "two.sqlite");
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", (kMpirun + command + " 2>'" + folder / "err" + "'").c_str(), nullptr);
    _exit(127);
  }
  std::vector<pid_t> ranks;
  while (ranks.size() < 2) {
    usleep(1000);
    ranks = processes_with(run);
  }
  usleep(300'000);
  kill(ranks.back(), SIGKILL);
  int raw = 0;
  waitpid(child, &raw, 0);
  EXPECT_NE(raw, 0);
  EXPECT_TRUE(test::mentions(test::read_whole(folder / "err"), "on signal 9")) << test::read_whole(folder / "err");
  ASSERT_EQ(test::probust(command).status, 0);
  EXPECT_EQ(test::probust("export " + run + " --format csv").out,
            test::probust("export '" + folder / "one.sqlite" + "' --format csv").out);
}
#endif

}  // namespace
}  // namespace probust::cli
