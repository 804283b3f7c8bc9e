// SPDX-License-Identifier: MIT
// Runs in SQLite files: data are read back exactly as they were stored.
#include "store/run_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "probust/base/error.h"
#include "store/database.h"
#include "support/command.h"

namespace probust {
namespace {

using store::Configuration;
using store::RunFile;
using Mode = RunFile::Mode;
using test::Folder;

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
    RunFile run = RunFile::open(folder / "r.sqlite", {{"seed", "0"}}, Mode::resume);
    run.append({.rows = {plain, failed}});
    run.append({.rows = {row_with(2, "mc:10"), row_with(2, "auto:5")}});
    EXPECT_EQ(run.rows(), 4);
    const auto rows = [&](const std::string& model, const std::string& estimator, std::int64_t first, std::int64_t count) {
      return run.done({.model = model, .noise = "gaussian:0.1", .estimator = estimator, .first = first, .count = count});
    };
    EXPECT_EQ(rows("", "mc:10", 2, 5), 1);
    EXPECT_EQ(rows("", "mc:10", 2, 6), 2);
    EXPECT_EQ(rows("", "mc:11", 2, 6), 0);
    EXPECT_EQ(rows("other", "mc:10", 2, 6), 0);
    run.append({.skipped = {{"", 3, "a.png is not an image"}}});
    EXPECT_EQ(rows("", "mc:10", 2, 6), 3) << "a skipped point is done";
    EXPECT_EQ(rows("", "mc:11", 2, 6), 1);
    EXPECT_EQ(rows("", "mc:10", 4, 4), 1);
  }
  const RunFile run = RunFile::read(folder / "r.sqlite");
  const std::vector<Row> rows = all_rows(run);
  ASSERT_EQ(rows.size(), 4U);
  ASSERT_EQ(run.results().skipped.size(), 1U);
  EXPECT_EQ(run.results().skipped[0].index, 3);
  EXPECT_EQ(run.results().skipped[0].reason, "a.png is not an image");
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
    RunFile run = RunFile::open(path, one, Mode::resume);
    run.append({.rows = {row_with(1, "mc:10")}});
    EXPECT_EQ(code_of([&] { RunFile::open(path, one, Mode::resume); }), ErrorCode::conflict);
    EXPECT_EQ(RunFile::read(path).rows(), 1);  // reading is allowed at the same time
  }
  EXPECT_EQ(RunFile::open(path, one, Mode::resume).rows(), 1);
  try {
    RunFile::open(path, other, Mode::resume);
    ADD_FAILURE() << "another configuration was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::conflict);
    EXPECT_NE(error.problem.find("noise was 'gaussian:0.1' and is now 'gaussian:0.2'"), std::string::npos) << error.problem;
  }
  EXPECT_EQ(RunFile::open(path, other, Mode::replace).rows(), 0);
  EXPECT_EQ(code_of([&] { RunFile::open(path, one, Mode::resume); }), ErrorCode::conflict);
}

TEST(RunFile, AClaimedRunIsNotChangedBeforeTheFirstRow) {
  const Folder folder;
  const std::string path = folder / "r.sqlite", none = folder / "none.sqlite";
  RunFile::open(path, {{"seed", "0"}}, Mode::resume).append({.rows = {row_with(1, "mc:10")}});
  const std::string before = test::read_whole(path);
  {
    const RunFile again = RunFile::claim(path, {{"seed", "0"}}, Mode::resume);
    EXPECT_EQ(again.rows(), 1);
    EXPECT_EQ(code_of([&] { RunFile::open(path, {{"seed", "0"}}, Mode::resume); }), ErrorCode::conflict);
  }
  RunFile::claim(none, {}, Mode::resume);
  EXPECT_EQ(RunFile::claim(path, {{"seed", "1"}}, Mode::replace).rows(), 0);
  EXPECT_EQ(test::read_whole(path), before);
  EXPECT_FALSE(std::filesystem::exists(none));
  RunFile::claim(path, {{"seed", "1"}}, Mode::replace).append({.rows = {row_with(2, "mc:10")}});
  EXPECT_EQ(all_rows(RunFile::read(path))[0].index, 2);
}

TEST(RunFile, ACopyHasTheRowsSoFar) {
  const Folder folder;
  RunFile run = RunFile::open(folder / "r.sqlite", {{"seed", "0"}}, Mode::resume);
  run.append({.rows = {row_with(1, "mc:10")}});
  std::filesystem::copy_file(folder / "r.sqlite", folder / "copy.sqlite");
  EXPECT_EQ(RunFile::read(folder / "copy.sqlite").rows(), 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "r.sqlite-wal"));
}

// Runs of earlier versions in write-ahead mode, copied with and without the log.
TEST(RunFile, WriteAheadModeIsReadWithoutATraceAndLeft) {
  const Folder folder;
  const std::string path = folder / "r.sqlite", copy = folder / "c.sqlite", with_log = folder / "l.sqlite";
  RunFile::open(path, {{"seed", "0"}}, Mode::resume).append({.rows = {row_with(1, "mc:10")}});
  {
    store::Database database(path, true);
    database.execute("PRAGMA journal_mode=WAL; CREATE TABLE later (x); INSERT INTO later VALUES (1);");
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(path, with_log);
    std::filesystem::copy_file(path + "-wal", with_log + "-wal");
  }
  const std::string before = test::read_whole(copy);
  EXPECT_EQ(RunFile::read(copy).rows(), 1);
  RunFile::claim(copy, {{"seed", "0"}}, Mode::resume);
  EXPECT_EQ(code_of([&] { RunFile::open(copy, {{"seed", "1"}}, Mode::resume); }), ErrorCode::conflict);
  EXPECT_EQ(test::read_whole(copy), before);
  for (const char* part : {"-wal", "-shm", "-lock"}) EXPECT_FALSE(std::filesystem::exists(copy + part)) << part;
  EXPECT_EQ(RunFile::read(with_log).rows(), 1);
  RunFile::open(with_log, {{"seed", "0"}}, Mode::resume).append({.rows = {row_with(2, "mc:10")}});
  EXPECT_FALSE(std::filesystem::exists(with_log + "-wal"));
  std::filesystem::copy_file(with_log, folder / "again.sqlite");
  EXPECT_EQ(RunFile::read(folder / "again.sqlite").rows(), 2);
}

// A transaction that a killed process left open is undone in a copy, not in the file.
TEST(RunFile, AnOpenTransactionOfAKilledProcessIsUndoneInACopy) {
  const Folder folder;
  const std::string path = folder / "r.sqlite", left = folder / "left.sqlite";
  RunFile::open(path, {{"seed", "0"}}, Mode::resume).append({.rows = {row_with(1, "mc:10")}});
  {
    store::Database database(path, true);  // a small cache, so that pages are written before the transaction ends
    database.execute(
        "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN; CREATE TABLE many (x);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO many SELECT i FROM n;"
        "DELETE FROM answers;");
    std::filesystem::copy_file(path, left);
    std::filesystem::copy_file(path + "-journal", left + "-journal");
  }
  const std::string before = test::read_whole(left), journal = test::read_whole(left + "-journal");
  ASSERT_FALSE(journal.empty());
  EXPECT_EQ(RunFile::read(left).rows(), 1);
  EXPECT_EQ(test::read_whole(left), before);
  EXPECT_EQ(test::read_whole(left + "-journal"), journal);
}

// A slow reader, such as export to a pager, does not block a writer.
TEST(RunFile, RowsAreAppendedWhileOthersAreUsed) {
  const Folder folder;
  RunFile run = RunFile::open(folder / "r.sqlite", {{"seed", "0"}}, Mode::resume);
  Results many;
  for (int i = 0; i < 5000; ++i) many.rows.push_back(row_with(i, i % 2 == 0 ? "mc:10" : "taylor"));
  for (int e = 0; e < 5000; ++e) many.rows.push_back(row_with(9000, "mc:" + std::to_string(e + 1)));  // more than one part
  run.append(many);
  std::vector<Row> rows;
  RunFile::read(folder / "r.sqlite").for_each([&](const Row& row) {
    if (rows.empty()) run.append({.rows = {row_with(9001, "mc:10")}});
    rows.push_back(row);
  });
  ASSERT_EQ(rows.size(), 10001U);
  EXPECT_EQ(rows[4999].index, 4999);
  EXPECT_EQ(rows[9999].index, 9000);
  EXPECT_EQ(rows[10000].index, 9001);
}

TEST(RunFile, ALockedFileIsReported) {
  const Folder folder;
  const std::string path = folder / "r.sqlite";
  RunFile::open(path, {{"seed", "0"}}, Mode::resume);
  store::Database writer(path, true), other(path, true);
  writer.execute("BEGIN EXCLUSIVE;");
  other.execute("PRAGMA busy_timeout=10;");
  try {
    other.execute("BEGIN IMMEDIATE;");
    ADD_FAILURE() << "two processes write";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::conflict);
    EXPECT_NE(error.problem.find("another process"), std::string::npos) << error.problem;
    EXPECT_NE(error.hint.find("wait"), std::string::npos) << error.hint;
  }
}

TEST(RunFile, NamesMayHaveAnyCharacter) {
  const Folder folder;
  const std::string path = folder / "a %41?b#c&mode=x.sqlite";
  RunFile::open(path, {{"seed", "0"}}, Mode::resume).append({.rows = {row_with(1, "mc:10")}});
  store::Database(path, true).execute("PRAGMA journal_mode=WAL;");
  EXPECT_EQ(RunFile::read(path).rows(), 1);
}

TEST(RunFile, OtherFilesAreRefused) {
  const Folder folder;
  const std::string text = folder.write("t.sqlite", std::string(5000, 'x'));
  EXPECT_EQ(code_of([&] { RunFile::open(text, {}, Mode::resume); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(text); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(folder / "none.sqlite"); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::open(folder / "no/such/folder.sqlite", {}, Mode::resume); }), ErrorCode::resources);
  EXPECT_EQ(test::read_whole(text), std::string(5000, 'x'));
  const std::string foreign = folder / "foreign.sqlite";
  store::Database(foreign, true).execute("CREATE TABLE contacts (name TEXT)");
  EXPECT_EQ(code_of([&] { RunFile::open(foreign, {}, Mode::resume); }), ErrorCode::unreadable);
  EXPECT_EQ(code_of([&] { RunFile::read(foreign); }), ErrorCode::unreadable);
}

TEST(RunFile, ExtendAllowsMoreButNotOther) {
  const Folder folder;
  const std::string path = folder / "r.sqlite";
  const Configuration before{{"noise", "gaussian:0.1"}, {"seed", "0"}},
      more{{"noise", "gaussian:0.1, gaussian:0.2"}, {"seed", "0"}};
  const Configuration other{{"noise", "gaussian:0.1"}, {"seed", "1"}};
  RunFile::open(path, before, Mode::resume).append({.rows = {row_with(1, "mc:10")}});
  EXPECT_EQ(code_of([&] { RunFile::open(path, more, Mode::resume); }), ErrorCode::conflict);
  EXPECT_EQ(code_of([&] { RunFile::open(path, other, Mode::extend); }), ErrorCode::conflict);
  EXPECT_EQ(RunFile::open(path, more, Mode::extend).rows(), 1);
  EXPECT_EQ(store::value_of(RunFile::read(path).configuration(), "noise"), "gaussian:0.1, gaussian:0.2");
}

TEST(RunFile, PointsAndInformationComeBack) {
  const Folder folder;
  RunFile run = RunFile::open(folder / "r.sqlite", {{"seed", "0"}}, Mode::resume);
  Row of_b = row_with(4, "mc:10");
  of_b.model = "b.onnx";
  const PointRecord one{"a.onnx", 4, std::nullopt, 2, {0.5F, -1.25F}}, two{"b.onnx", 4, 1, 0, {}};
  run.append({.rows = {of_b}, .points = {two, one}});
  run.set_information({{"command", "probust"}, {"points", "3"}});
  run.set_information({{"points", "4"}});
  const Results results = run.results();
  ASSERT_EQ(results.points.size(), 2U);
  EXPECT_EQ(results.points[0].model, "a.onnx");
  EXPECT_EQ(results.points[0].label, std::nullopt);
  EXPECT_EQ(results.points[0].logits, one.logits);
  EXPECT_EQ(results.points[1].label, 1);
  EXPECT_TRUE(results.points[1].logits.empty());
  EXPECT_EQ(results.rows[0].model, "b.onnx");
  EXPECT_EQ(store::value_of(run.information(), "command"), "probust");
  EXPECT_EQ(store::value_of(run.information(), "points"), "4");
}

TEST(Checksum, OfAFolderFollowsItsFiles) {
  const Folder folder;
  folder.write("a", "12");
  const std::string before = store::checksum(folder / "."), file = store::checksum(folder / "a");
  EXPECT_EQ(store::checksum(folder / "."), before);
  folder.write("a", "21");
  EXPECT_NE(store::checksum(folder / "a"), file);
  folder.write("b", "1");
  EXPECT_NE(store::checksum(folder / "."), before);
}

// Creates the tables as they were before rows had p_label.
void make_old_run(const std::string& path) {
  store::Database database(path, true);
  database.execute(R"(
    CREATE TABLE configuration (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
    CREATE TABLE information (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
    CREATE TABLE questions (id INTEGER PRIMARY KEY, noise TEXT NOT NULL, sigma REAL, estimator TEXT NOT NULL,
      UNIQUE (noise, estimator));
    CREATE TABLE points (model TEXT NOT NULL, "index" INTEGER NOT NULL, label INTEGER, predicted INTEGER NOT NULL,
      logits BLOB, PRIMARY KEY (model, "index")) WITHOUT ROWID;
    CREATE TABLE skipped (model TEXT NOT NULL, "index" INTEGER NOT NULL, reason TEXT NOT NULL,
      PRIMARY KEY (model, "index")) WITHOUT ROWID;
    CREATE TABLE answers (
      model TEXT NOT NULL, "index" INTEGER NOT NULL, question INTEGER NOT NULL REFERENCES questions, label INTEGER,
      predicted INTEGER NOT NULL, target INTEGER NOT NULL, p REAL, p_fail REAL, std_error REAL, ci_low REAL, ci_high REAL,
      forwards INTEGER NOT NULL, backwards INTEGER NOT NULL, status TEXT NOT NULL, method TEXT NOT NULL, note TEXT, classes BLOB,
      PRIMARY KEY (model, "index", question)) WITHOUT ROWID;
    CREATE VIEW estimates AS SELECT "index", label, predicted, target, noise, sigma, estimator, p, p_fail, std_error,
      ci_low, ci_high, forwards, backwards, status, method, note, classes, model FROM answers JOIN questions ON question = id
      ORDER BY model, "index", question;
    INSERT INTO configuration (name, value) VALUES ('seed', '0');
    INSERT INTO questions VALUES (1, 'gaussian:0.1', 0.1, 'mc:10');
    INSERT INTO answers VALUES ('', 5, 1, 2, 1, 1, 0.75, 0.25, 0.1, 0.5, 0.9, 10, 0, 'ok', 'mc:10', NULL, NULL);
  )");
}

TEST(RunFile, RunsWithoutProbabilitiesOfLabelsCanBeReadAndExtended) {
  const Folder folder;
  const std::string path = folder / "old.sqlite";
  make_old_run(path);
  EXPECT_EQ(all_rows(RunFile::read(path)).at(0).estimate.p, 0.75);
  EXPECT_FALSE(all_rows(RunFile::read(path)).at(0).estimate.p_label);
  Row more = row_with(6, "mc:10");
  more.estimate.p_label = 0.25;
  more.estimate.p_label_low = 0.125;
  more.estimate.p_label_high = 0.5;
  {
    RunFile run = RunFile::open(path, {{"seed", "0"}}, Mode::resume);
    run.append({.rows = {more}});
  }
  const std::vector<Row> rows = all_rows(RunFile::read(path));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].estimate.p_label);
  EXPECT_EQ(rows[0].estimate.ci_high, 0.9);
  EXPECT_EQ(rows[1].estimate.p_label, 0.25);
  EXPECT_EQ(rows[1].estimate.p_label_low, 0.125);
  EXPECT_EQ(rows[1].estimate.p_label_high, 0.5);
}

}  // namespace
}  // namespace probust
