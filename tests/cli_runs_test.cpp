// SPDX-License-Identifier: MIT
// Long runs: interrupted runs resume, and shards together have the rows of the whole run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "datasets/npy.h"
#include "store/run_file.h"
#include "support/command.h"
#include "support/evaluate.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::kDigits;
using test::lines_of;

// Programs with sanitizers take longer to start, once per process.
#ifdef PROBUST_SANITIZED
constexpr useconds_t kLongestLife = 500'000;
const std::string kCopies = "mc:600";
#else
constexpr useconds_t kLongestLife = 100'000;
const std::string kCopies = "mc:4000";
#endif

// Starts `probust ARGUMENTS` and kills it at a random moment, repeatedly, until it finishes. Returns how often it was killed.
int killed_again_and_again(const std::string& arguments, int most) {
  std::mt19937 random(1);
  for (int kills = 0;; ++kills) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command = std::string("exec ") + PROBUST_PROGRAM + " " + arguments + " 2>/dev/null";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    if (kills < most) {
      usleep(std::uniform_int_distribution<useconds_t>(1'000, kLongestLife)(random));
      kill(child, SIGKILL);
    }
    int raw = 0;
    waitpid(child, &raw, 0);
    if (WIFEXITED(raw)) return kills;
  }
}

// Starts `probust ARGUMENTS`, which writes the text `file`, and kills it after it has finished some of its points.
void kill_at_its_first_points(const std::string& arguments, const std::string& file) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", (std::string("exec ") + PROBUST_PROGRAM + " " + arguments).c_str(), nullptr);
    _exit(127);
  }
  while (!test::mentions(test::read_whole(file + "-unfinished"), "\ndone ")) usleep(1000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

const std::string kLong = kDigits + " --sigma 0.2,0.4 --estimator " + kCopies + ",taylor --threads 1 --quiet";

TEST(CliRuns, AKilledRunResumesToTheSameRows) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", command = "estimate " + kLong + " -o " + run;
  const Finished whole = test::probust("estimate " + kLong + " --format csv");
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_GE(killed_again_and_again(command, 20), 1);
  EXPECT_EQ(test::probust(command).status, 0);
  EXPECT_EQ(test::probust("export " + run + " --format csv").out, whole.out);
  EXPECT_FALSE(std::filesystem::exists(run + "-wal"));
}

TEST(CliRuns, AKilledTextOutputResumesToTheSameRows) {
  const Folder folder;
  for (const std::string ending : {"csv", "jsonl"}) {
    const std::string file = folder / "rows." + ending;
    const Finished whole = test::probust("estimate " + kLong + " --format " + ending);
    EXPECT_GE(killed_again_and_again("estimate " + kLong + " -o " + file, 20), 1);
    EXPECT_EQ(test::read_whole(file), whole.out);
    EXPECT_FALSE(std::filesystem::exists(file + "-unfinished"));
    EXPECT_FALSE(std::filesystem::exists(file + "-lock"));
  }
}

TEST(CliRuns, AnUnfinishedTextOutputIsOnlyContinuedByItsCommand) {
  const Folder folder;
  const std::string file = folder / "rows.csv", command = "estimate " + kLong + " -o " + file;
  kill_at_its_first_points(command, file);
  ASSERT_TRUE(std::filesystem::exists(file + "-unfinished"));
  const Finished refused = test::probust(command + " --seed 1");
  EXPECT_EQ(refused.status, 7);
  EXPECT_NE(refused.err.find("seed was '0' and is now '1'"), std::string::npos) << refused.err;
  EXPECT_EQ(test::probust(command + " --seed 1 --force-new").status, 0);
  EXPECT_EQ(test::probust(command).status, 0) << "a finished output is replaced";
  EXPECT_EQ(test::read_whole(file), test::probust("estimate " + kLong + " --format csv").out);
}

// One journal whose last line was cut off while it was written, and one whose output no longer exists.
TEST(CliRuns, ADamagedTextOutputResumesAfterItsLastIntactPart) {
  const Folder folder;
  const std::string file = folder / "rows.csv", journal = file + "-unfinished", command = "estimate " + kLong + " -o " + file;
  const std::string whole = test::probust("estimate " + kLong + " --format csv").out;
  kill_at_its_first_points(command, file);
  std::ofstream(journal, std::ios::app) << "done 40 63";
  killed_again_and_again(command, 20);
  EXPECT_EQ(test::read_whole(file), whole);
  kill_at_its_first_points(command, file);
  std::filesystem::remove(file);
  killed_again_and_again(command, 20);
  EXPECT_EQ(test::read_whole(file), whole);
}

TEST(CliRuns, OneProcessWritesAnOutput) {
  const Folder folder;
  for (const std::string name : {"r.sqlite", "r.csv"}) {
    const int lock = open((folder / name + "-lock").c_str(), O_RDWR | O_CREAT, 0644);
    ASSERT_EQ(flock(lock, LOCK_EX), 0);
    const std::string link = folder / "link-" + name;
    std::ofstream(folder / name).close();
    std::filesystem::create_symlink(folder / name, link);
    for (const std::string& path : {folder / name, link}) {
      const Finished refused = test::probust("estimate " + kDigits + " --sigma 0.1 --estimator taylor -o " + path);
      EXPECT_EQ(refused.status, 7);
      EXPECT_NE(refused.err.find("another process"), std::string::npos) << refused.err;
    }
    close(lock);
  }
}

TEST(CliRuns, OutputsMustBeOutsideTheDataFolder) {
  const Folder folder;
  std::filesystem::create_directory(folder / "images");
  for (const std::string name : {"images/r.sqlite", "images/sub/../r.csv"}) {
    const Finished refused =
        test::probust("estimate '" + test::digits("digits.onnx") + "' " + folder / "images" + " --sigma 0.1 -o " + folder / name);
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("which is inside the data folder"), std::string::npos) << refused.err;
  }
}

TEST(CliRuns, ReplacingNeedsARun) {
  const Folder folder;
  const std::string other = folder / "other.sqlite";
  { store::RunFile::open(other, {{"seed", "0"}}, store::RunFile::Mode::resume); }
  const std::string command = "estimate " + kDigits + " --sigma 0.1 --estimator taylor --quiet --force-new -o ";
  EXPECT_EQ(test::probust(command + other).status, 0);
  const std::string text = folder.write("text.sqlite", std::string(5000, 'x'));
  EXPECT_EQ(test::probust(command + text).status, 3);
  EXPECT_EQ(test::read_whole(text).size(), 5000U);
}

TEST(CliRuns, AnotherConfigurationIsRefused) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", command = "estimate " + kDigits + " --limit 20 --estimator taylor -o " + run;
  EXPECT_EQ(test::probust(command + " --sigma 0.1").status, 0);
  EXPECT_NE(test::probust(command + " --sigma 0.1").err.find("20 points were already done"), std::string::npos);
  const Finished refused = test::probust(command + " --sigma 0.2");
  EXPECT_EQ(refused.status, 7);
  EXPECT_NE(refused.err.find("noise was 'gaussian:0.1' and is now 'gaussian:0.2'"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--force-new"), std::string::npos) << refused.err;
  EXPECT_EQ(test::probust(command + " --sigma 0.2 --force-new").status, 0);
  EXPECT_EQ(lines_of(test::probust("export " + run).out).size(), 20U);
  EXPECT_EQ(test::probust("export " + run + " -o " + run).status, 2);
}

// Pooled estimates do not depend on where a run starts, because blocks begin at fixed multiples.
TEST(CliRuns, BlocksHaveFixedPositions) {
  const Folder folder;
  std::mt19937 random(1);
  write_npy(folder / "x.npy", test::random_tensor({512, 1, 16, 16}, random, 0, 1));
  for (const char* options : {"--sigma 0.4 --estimator auto:20", "--noise rotate:15+shift:1 --estimator surrogate:12"}) {
    const std::string run =
        "estimate '" + test::digits("digits.onnx") + "' " + folder / "x.npy" + " --quiet " + std::string(options);
    const std::vector<std::string> whole = lines_of(test::probust(run + " --limit 512").out);
    const std::vector<std::string> later = lines_of(test::probust(run + " --offset 100 --limit 412 --threads 1").out);
    ASSERT_EQ(whole.size(), 512U);
    ASSERT_EQ(later.size(), 412U);
    EXPECT_TRUE(std::equal(later.begin() + 156, later.end(), whole.begin() + 256)) << options;
  }
}

// All rows of a run, in an order that does not depend on its history.
std::vector<std::string> sorted_rows(const std::string& run) {
  std::vector<std::string> rows = lines_of(test::probust("export " + run).out);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(CliRuns, ExtendingGivesTheRowsOfOneRun) {
  const Folder folder;
  const std::string part = folder / "part.sqlite", whole = folder / "whole.sqlite", command = "estimate " + kDigits + " -o ";
  ASSERT_EQ(test::probust(command + whole + " --sigma 0.2,0.4 --estimator auto:20,mc:50").status, 0);
  ASSERT_EQ(test::probust(command + part + " --sigma 0.4 --estimator auto:20 --limit 30").status, 0);
  EXPECT_EQ(test::probust(command + part + " --sigma 0.2,0.4 --estimator auto:20,mc:50").status, 7);
  ASSERT_EQ(test::probust(command + part + " --sigma 0.2,0.4 --estimator auto:20,mc:50 --extend").status, 0);
  EXPECT_EQ(sorted_rows(part), sorted_rows(whole));
  EXPECT_EQ(sorted_rows(part).size(), 160U);
  EXPECT_EQ(test::probust(command + part + " --sigma 0.2,0.4 --estimator auto:20,mc:50 --seed 1 --extend").status, 7);
  EXPECT_EQ(test::probust(command + part + " --sigma 0.2 --estimator auto:20 --smooth --extend").status, 2);
}

TEST(CliRuns, MergedShardsAreTheWholeRun) {
  const Folder folder;
  std::mt19937 random(1);
  write_npy(folder / "x.npy", test::random_tensor({1200, 1, 16, 16}, random, 0, 1));
  const std::string command =
      "estimate '" + test::digits("digits.onnx") + "' " + folder / "x.npy" + " --sigma 0.4 --budget 20 --quiet";
  std::string shards;
  for (int i = 1; i <= 4; ++i) {
    const std::string shard = folder / ("s" + std::to_string(i) + ".sqlite");
    ASSERT_EQ(test::probust(command + " --shard " + std::to_string(i) + "/4 -o " + shard).status, 0);
    shards += " " + shard;
  }
  const std::string merged = folder / "merged.sqlite";
  ASSERT_EQ(test::probust("merge" + shards + " -o " + merged).status, 0);
  EXPECT_EQ(test::probust("export " + merged).out, test::probust(command).out);
  EXPECT_NE(test::probust(command.substr(0, command.size() - 8) + " -o " + merged).err.find("1200 points were already done"),
            std::string::npos);
  const std::string first = folder / "s1.sqlite", out = " -o " + folder / "m.sqlite";
  EXPECT_EQ(test::probust("merge " + first + " " + first + out).status, 2);
  EXPECT_EQ(test::probust("merge " + first + out).status, 2);
  EXPECT_EQ(test::probust("merge " + merged + out).status, 2);

  store::RunFile::open(first, store::RunFile::read(first).configuration(), store::RunFile::Mode::resume)
      .set_information({{"finished", ""}});
  const Finished cut = test::probust("merge" + shards + out);
  EXPECT_EQ(cut.status, 2);
  EXPECT_NE(cut.err.find("is incomplete: it has 256 of 256 points"), std::string::npos) << cut.err;
  EXPECT_EQ(test::probust("merge" + shards + " --force-new -o " + merged).status, 2);
  EXPECT_EQ(lines_of(test::probust("export " + merged).out).size(), 1200U) << "a merge that fails leaves what was there";
  ASSERT_EQ(test::probust(command + " --shard 1/4 -o " + first).status, 0);
  EXPECT_EQ(test::probust("merge" + shards + " --force-new -o " + first).status, 2) << "it would remove a shard";
  EXPECT_EQ(test::probust("merge" + shards + out).status, 0);
  const store::Configuration information = store::RunFile::read(folder / "m.sqlite").information();
  EXPECT_EQ(store::value_of(information, "points"), "1200");
  for (const std::string part : {"--shard 1/4", "--shard 4/4", "merge"})
    EXPECT_NE(store::value_of(information, "command").find(part), std::string::npos) << part;
  const Finished grown = test::probust(command + " --limit 1000 --shard 1/4 --extend -o " + first);
  EXPECT_EQ(grown.status, 7) << "shards of more points begin elsewhere";
  EXPECT_EQ(grown.err.find("--extend"), std::string::npos) << grown.err;
}

// The numbers of points of shards 1 to `parts`, and the messages about them; their runs are s1.sqlite and so on.
std::vector<std::size_t> points_of_shards(const Folder& folder, const std::string& command, int parts, std::string& said) {
  std::vector<std::size_t> points;
  for (int i = 1; i <= parts; ++i) {
    const std::string part = std::to_string(i), run = folder / ("s" + part + ".sqlite");
    const Finished finished = test::probust(command + " --shard " + part + "/" + std::to_string(parts) + " -o " + run);
    EXPECT_EQ(finished.status, 0) << finished.err;
    said = finished.err;
    points.push_back(store::RunFile::read(run).results().points.size());
  }
  return points;
}

TEST(CliRuns, ShardsAreEquallyLongIfNoEstimatorPoolsPoints) {
  const Folder folder;
  const std::string command = "estimate " + kDigits + " --sigma 0.2 --limit 38 --offset 1 --estimator mc:20,taylor";
  std::string said;
  EXPECT_EQ(points_of_shards(folder, command, 4, said), (std::vector<std::size_t>{9, 10, 9, 10}));
  EXPECT_FALSE(test::mentions(said, "--shard")) << said;
  std::string shards;
  for (const char* part : {"s1", "s2", "s3", "s4"}) shards += " " + folder / (part + std::string(".sqlite"));
  const std::string merged = folder / "merged.sqlite";
  ASSERT_EQ(test::probust("merge" + shards + " -o " + merged).status, 0);
  EXPECT_EQ(test::probust("export " + merged).out, test::probust(command + " --quiet").out);
  EXPECT_TRUE(test::mentions(test::probust(command + " -o " + merged).err, "38 points were already done"));
}

TEST(CliRuns, ShardsWithoutABlockAreReported) {
  const Folder folder;
  const std::string command = "estimate " + kDigits + " --sigma 0.2 --estimator mc:20,auto:20";
  std::string said;
  EXPECT_EQ(points_of_shards(folder, command, 3, said), (std::vector<std::size_t>{0, 0, 40}));
  EXPECT_TRUE(test::mentions(said, "whole blocks of 256 points") && test::mentions(said, "shards 1, 2 of 3 are empty")) << said;
  EXPECT_TRUE(test::mentions(test::probust(command + " --plan --shard 1/3").err, "shards 1, 2 of 3 are empty"));
  EXPECT_FALSE(test::mentions(test::probust(command + " --quiet --shard 1/3").err, "empty"));
  EXPECT_TRUE(
      test::mentions(test::probust("summary " + folder / "s1.sqlite").err, "give the run that merge writes from all shards"));
}

// If it could be added, the shards of a run would overlap or omit points.
TEST(CliRuns, AnEstimatorThatChangesTheShardsCannotBeAdded) {
  const Folder folder;
  const std::string run = folder / "s.sqlite", command = "estimate " + kDigits + " --sigma 0.2 --shard 1/2 -o " + run;
  ASSERT_EQ(test::probust(command + " --estimator mc:20").status, 0);
  EXPECT_EQ(test::probust(command + " --extend --estimator mc:20,taylor").status, 0);
  const Finished refused = test::probust(command + " --extend --estimator mc:20,taylor,auto:20");
  EXPECT_EQ(refused.status, 7);
  EXPECT_TRUE(test::mentions(refused.err, "shard_unit was 'points' and is now 'blocks'")) << refused.err;
}

// ---- rejected options, and remains of other processes

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CliRuns, AFailedCommandDoesNotChangeTheRun) {
  const Folder folder;
  const std::string run = folder / "r.sqlite",
                    command = "estimate " + kDigits + " --limit 5 --sigma 0.2 --estimator taylor --quiet -o " + run;
  ASSERT_EQ(test::probust(command).status, 0);
  const std::string before = test::read_whole(run);
  const std::pair<const char*, int> refusals[] = {{" --seed 5", 7},
                                                  {" --extend --seed 5", 7},
                                                  {" --force-new --groups 0,99", 2},
                                                  {" --force-new --target label --top 99", 2}};
  for (const auto& [options, status] : refusals) {
    EXPECT_EQ(test::probust(command + options).status, status) << options;
    EXPECT_EQ(test::read_whole(run), before) << options;
    EXPECT_EQ(names_in(folder / "."), std::vector<std::string>{"r.sqlite"}) << options;
  }
  const std::string other = "estimate " + kDigits + " --sigma 0.2 --groups 0,99 -o " + folder / "new.sqlite";
  EXPECT_EQ(test::probust(other).status, 2);
  EXPECT_EQ(names_in(folder / "."), std::vector<std::string>{"r.sqlite"}) << "no run is begun";
  const std::string rows = folder.write("rows.csv", "what was there");
  EXPECT_EQ(test::probust("estimate " + kDigits + " --sigma 0.2 --groups 0,99 -o " + rows).status, 2);
  EXPECT_EQ(test::read_whole(rows), "what was there");
  EXPECT_EQ(names_in(folder / "."), (std::vector<std::string>{"r.sqlite", "rows.csv"}));
}

// Starts a command that writes the run, and kills it after it has written some rows.
void kill_at_its_first_rows(const std::string& arguments, const std::string& run) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", (std::string("exec ") + PROBUST_PROGRAM + " " + arguments).c_str(), nullptr);
    _exit(127);
  }
  const auto rows = [&] {
    try {
      return std::filesystem::exists(run) ? store::RunFile::read(run).rows() : 0;
    } catch (const Error&) {  // it is being created
      return std::int64_t{0};
    }
  };
  while (rows() == 0) usleep(1000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(CliRuns, ACopyOfARunThatWasKilledHasItsRows) {
  const Folder folder;
  const std::string run = folder / "r.sqlite", copy = folder / "copy.sqlite";
  kill_at_its_first_rows("estimate " + kLong + " -o " + run, run);
  std::filesystem::copy_file(run, copy);
  const std::vector<std::string> rows = lines_of(test::probust("export " + copy).out);
  EXPECT_GE(rows.size(), 16U);
  EXPECT_EQ(rows, lines_of(test::probust("export " + run).out));
  EXPECT_EQ(test::probust("summary " + copy).status, 0);
}

// Runs a command as another user if this process runs as root, who may write everything.
Finished as_stranger(const std::string& arguments) {
  const Folder folder;
  std::filesystem::permissions(folder / ".", std::filesystem::perms::all);
  const std::string command = std::string(PROBUST_PROGRAM) + " " + arguments + " >" + folder / "out" + " 2>" + folder / "err";
  const std::string whole = geteuid() == 0 ? "su nobody -s /bin/sh -c '" + command + "' </dev/null" : command;
  const int raw = std::system(whole.c_str());
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, test::read_whole(folder / "out"), test::read_whole(folder / "err")};
}

TEST(CliRuns, RunsInAFolderThatCannotBeWrittenAreRead) {
  const Folder folder;
  if (geteuid() == 0 && as_stranger("version").status != 0) GTEST_SKIP() << "another user cannot start the program";
  const std::string done = folder / "done.sqlite", killed = folder / "killed.sqlite";
  const std::string command = "estimate " + kDigits + " --sigma 0.2 --estimator taylor --quiet -o " + done;
  ASSERT_EQ(test::probust(command).status, 0);
  ASSERT_EQ(test::probust(command + " --seed 5").status, 7);
  kill_at_its_first_rows("estimate " + kLong + " -o " + killed, killed);
  std::filesystem::create_directory(folder / "pages");
  std::filesystem::permissions(folder / "pages", std::filesystem::perms::all);
  std::filesystem::permissions(folder / ".", std::filesystem::perms(0555));
  for (const std::string& run : {done, killed}) {
    for (const std::string& reading :
         {"summary " + run, "export " + run, "compare " + run + " " + run, "gate " + run + " --min-mean 0 --allow-partial",
          "report " + run + " -o " + folder / "pages/" + (run == done ? "done.html" : "killed.html")}) {
      const Finished finished = as_stranger(reading);
      EXPECT_EQ(finished.status, 0) << reading << ": " << finished.err;
    }
  }
  EXPECT_EQ(as_stranger("estimate " + test::digits("digits.onnx") + " " + test::digits("points.npz") +
                        " --sigma 0.2 --estimator taylor --quiet -o " + done)
                .status,
            5);
  std::filesystem::permissions(folder / ".", std::filesystem::perms(0755));
}

TEST(CliRuns, ShardsOptionIsChecked) {
  for (const std::string wrong : {"0/4", "5/4", "1", "1/2/3", "a/b", "1/0"})
    EXPECT_EQ(test::probust("estimate " + kDigits + " --sigma 0.2 --shard " + wrong).status, 2) << wrong;
  EXPECT_EQ(test::probust("estimate " + kDigits + " --sigma 0.2 --shard 1/2 --calibrate --estimator probit:20").status, 2);
}

TEST(CliRuns, SeveralModels) {
  const Folder folder;
  const std::string other = folder / "other.onnx";
  std::filesystem::copy_file(test::digits("digits.onnx"), other);
  const std::string command = "estimate " + kDigits + " --sigma 0.2 --estimator taylor --limit 3 --model ";
  const std::vector<nlohmann::json> rows = test::rows(test::probust(command + other).out);
  ASSERT_EQ(rows.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(rows[i]["model"], i < 3 ? "digits.onnx" : "other.onnx");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i]["p_fail"], rows[i + 3]["p_fail"]);
  const std::string run = folder / "r.sqlite";
  ASSERT_EQ(test::probust(command + other + " -o " + run).status, 0);
  EXPECT_EQ(test::rows(test::probust("export " + run).out), rows);
  EXPECT_NE(lines_of(test::probust("export " + run + " --format csv").out)[0].find(",p_label_high,model"), std::string::npos);
  EXPECT_EQ(test::probust(command + "'" + test::digits("digits.onnx") + "'").status, 2) << "two models of one name";
}

TEST(CliRuns, PlanEstimatesNothing) {
  const Folder folder;
  const Finished plan =
      test::probust("estimate " + kDigits + " --sigma 0.2 --estimator taylor,mc:300 --plan -o " + folder / "r.sqlite");
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("40 points, 80 rows"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find(" 300 "), std::string::npos) << plan.out;
  EXPECT_FALSE(std::filesystem::exists(folder / "r.sqlite"));
  const std::string shard = " --limit 40 --offset 0 --sigma 0.2 --estimator probit:20:pooled --threads 1 --plan --shard ";
  EXPECT_NE(test::probust("estimate " + kDigits + shard + "1/2").out.find("0 points, 0 rows"), std::string::npos);
  const Finished second = test::probust("estimate " + kDigits + shard + "2/2");
  EXPECT_NE(second.out.find("40 points, 40 rows"), std::string::npos) << second.out;
  EXPECT_NE(second.out.find("with 1 thread;"), std::string::npos) << second.out;
}

TEST(CliRuns, AFullDiskLosesNothing) {
  const Folder folder;
  const std::string disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (std::system(("mount -t tmpfs -o size=64k tmpfs '" + disk + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "needs the right to mount";
  const std::string run = disk + "/r.sqlite";
  const std::string command =
      "estimate " + kDigits + " --sigma 0.01..1:40 --estimator mc:20,taylor --threads 1 --quiet -o " + run;
  const Finished full = test::probust(command);
  EXPECT_EQ(full.status, 5) << full.err;
  EXPECT_NE(full.err.find("disk is full"), std::string::npos) << full.err;
  ASSERT_EQ(std::system(("mount -o remount,size=8m '" + disk + "'").c_str()), 0);
  EXPECT_EQ(test::probust(command).status, 0);
  EXPECT_EQ(lines_of(test::probust("export " + run).out).size(), 40U * 80U);
  EXPECT_EQ(std::system(("umount '" + disk + "'").c_str()), 0);
}

}  // namespace
}  // namespace probust
