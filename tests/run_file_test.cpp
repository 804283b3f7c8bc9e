// SPDX-License-Identifier: MIT
// Runs in SQLite files: rows come back as they were, and a run that is cut goes on.
#include "store/run_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "datasets/npy.h"
#include "probust/base/error.h"
#include "store/database.h"
#include "support/command.h"
#include "support/evaluate.h"

namespace probust {
namespace {

using store::Configuration;
using store::RunFile;
using test::Finished;
using test::Folder;
using test::kDigits;
using test::lines_of;

Row row_with(std::int64_t index, const std::string& estimator) {
  Row row{.index = index,
          .label = 3,
          .predicted = 1,
          .target = 2,
          .noise = "gaussian:0.1",
          .sigma = 0.1,
          .estimator = estimator,
          .estimate = {}};
  row.estimate.p = 1 - 0x1p-40;
  row.estimate.p_fail = 1.0 / 3e300;
  row.estimate.std_error = 0.1;
  row.estimate.forwards = 1LL << 40;
  row.estimate.set(Status::inexact, "a note, with \"quotes\" and ü");
  row.estimate.classes = {0.25, 0.75};
  return row;
}

std::vector<Row> all_rows(const RunFile& run) {
  std::vector<Row> rows;
  run.for_each([&](const Row& row) { rows.push_back(row); });
  return rows;
}

ErrorCode code_of(const std::function<void()>& fails) {
  try {
    fails();
  } catch (const Error& error) {
    return error.code;
  }
  return ErrorCode{};
}

TEST(RunFile, RowsComeBackAsTheyWere) {
  const Folder folder;
  Row plain = row_with(7, "mc:10"), failed = row_with(7, "auto:5");
  plain.label.reset();
  plain.sigma.reset();
  failed.estimate.p = failed.estimate.p_fail = NAN;
  failed.estimate.method = parse_estimator("probit:5");
  failed.estimate.note.clear();
  {
    RunFile run = RunFile::open(folder / "r.sqlite", {{"seed", "0"}}, false);
    run.append(std::vector<Row>{plain, failed});
    run.append(std::vector<Row>{row_with(2, "mc:10"), row_with(2, "auto:5")});
    EXPECT_EQ(run.rows(), 4);
    EXPECT_EQ(run.rows(2, 5), 2);
  }
  const RunFile run = RunFile::read(folder / "r.sqlite");
  const std::vector<Row> rows = all_rows(run);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].index, 2);
  EXPECT_EQ(rows[0].label, 3);
  EXPECT_EQ(rows[2].label, std::nullopt);
  EXPECT_EQ(rows[2].sigma, std::nullopt);
  EXPECT_EQ(rows[2].estimate.p, 1 - 0x1p-40);
  EXPECT_EQ(rows[2].estimate.p_fail, 1.0 / 3e300);
  EXPECT_EQ(rows[2].estimate.forwards, 1LL << 40);
  EXPECT_EQ(rows[2].estimate.status, Status::inexact);
  EXPECT_EQ(rows[2].estimate.note, "a note, with \"quotes\" and ü");
  EXPECT_EQ(rows[2].estimate.classes, plain.estimate.classes);
  EXPECT_EQ(rows[2].method(), "mc:10");
  EXPECT_TRUE(std::isnan(rows[3].estimate.p));
  EXPECT_EQ(rows[3].method(), "probit:5");
  EXPECT_EQ(rows[3].estimate.ci_low, std::nullopt);
}

TEST(RunFile, OneConfigurationAndOneWriter) {
  const Folder folder;
  const std::string path = folder / "r.sqlite";
  const Configuration one{{"seed", "0"}, {"noise", "gaussian:0.1"}}, other{{"seed", "0"}, {"noise", "gaussian:0.2"}};
  {
    RunFile run = RunFile::open(path, one, false);
    run.append(std::vector<Row>{row_with(1, "mc:10")});
    EXPECT_EQ(code_of([&] { RunFile::open(path, one, false); }), ErrorCode::conflict);
    EXPECT_EQ(RunFile::read(path).rows(), 1);  // reading is allowed meanwhile
  }
  EXPECT_EQ(RunFile::open(path, one, false).rows(), 1);
  try {
    RunFile::open(path, other, false);
    ADD_FAILURE() << "another configuration was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::conflict);
    EXPECT_NE(error.problem.find("noise was 'gaussian:0.1', now 'gaussian:0.2'"), std::string::npos) << error.problem;
  }
  EXPECT_EQ(RunFile::open(path, other, true).rows(), 0);
  EXPECT_EQ(code_of([&] { RunFile::open(path, one, false); }), ErrorCode::conflict);
}

TEST(RunFile, OtherFilesAreRefused) {
  const Folder folder;
  const std::string text = folder.write("t.sqlite", std::string(5000, 'x'));
  EXPECT_EQ(code_of([&] { RunFile::open(text, {}, false); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(text); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(folder / "none.sqlite"); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::open(folder / "no/such/folder.sqlite", {}, false); }), ErrorCode::resources);
  EXPECT_EQ(test::read_whole(text), std::string(5000, 'x'));
  const std::string foreign = folder / "foreign.sqlite";
  store::Database(foreign, true).execute("CREATE TABLE contacts (name TEXT)");
  EXPECT_EQ(code_of([&] { RunFile::open(foreign, {}, false); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(foreign); }), ErrorCode::unreadable);
}

// Ends a run at a random moment, again and again, until it is done.
TEST(CliRuns, AKilledRunGoesOnToTheSameRows) {
  const Folder folder;
  const std::string options = kDigits + " --sigma 0.2,0.4 --estimator mc:20000,taylor --threads 1 --quiet";
  const Finished whole = test::probust("estimate " + options + " --format csv");
  ASSERT_EQ(whole.status, 0) << whole.err;
  const std::string run = folder / "run.sqlite";
  std::mt19937 random(1);
  int kills = 0, status = -1;
  while (kills < 20 && status != 0) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command =
          std::string("exec ") + PROBUST_PROGRAM + " estimate " + options + " -o '" + run + "' 2>/dev/null";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    usleep(std::uniform_int_distribution<useconds_t>(1'000, 400'000)(random));
    if (kill(child, SIGKILL) == 0) ++kills;
    int raw = 0;
    waitpid(child, &raw, 0);
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
  }
  EXPECT_GE(kills, 1);
  const Finished last = test::probust("estimate " + options + " -o " + run);
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(test::probust("export " + run + " --format csv").out, whole.out);
}

TEST(CliRuns, AnotherConfigurationIsRefused) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", command = "estimate " + kDigits + " --limit 20 --estimator taylor -o " + run;
  EXPECT_EQ(test::probust(command + " --sigma 0.1").status, 0);
  EXPECT_NE(test::probust(command + " --sigma 0.1").err.find("20 points were done before"), std::string::npos);
  const Finished refused = test::probust(command + " --sigma 0.2");
  EXPECT_EQ(refused.status, 7);
  EXPECT_NE(refused.err.find("noise was 'gaussian:0.1', now 'gaussian:0.2'"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--force-new"), std::string::npos) << refused.err;
  EXPECT_EQ(test::probust(command + " --sigma 0.2 --force-new").status, 0);
  EXPECT_EQ(lines_of(test::probust("export " + run).out).size(), 20U);
  EXPECT_EQ(test::probust("export " + run + " -o " + run).status, 2);
}

// Estimates that borrow from other points are the same wherever a run begins, at multiples of the block.
TEST(CliRuns, BlocksStandAtFixedPositions) {
  const Folder folder;
  std::mt19937 random(1);
  write_npy(folder / "x.npy", test::random_tensor({256, 1, 16, 16}, random, 0, 1));
  const std::string run =
      "estimate '" + test::digits("digits.onnx") + "' " + folder / "x.npy" + " --sigma 0.4 --estimator auto:20 --quiet ";
  const std::vector<std::string> whole = lines_of(test::probust(run + "--limit 256").out);
  const std::vector<std::string> later = lines_of(test::probust(run + "--offset 100 --limit 156").out);
  ASSERT_EQ(whole.size(), 256U);
  ASSERT_EQ(later.size(), 156U);
  EXPECT_TRUE(std::equal(later.begin() + 28, later.end(), whole.begin() + 128));
}

}  // namespace
}  // namespace probust
