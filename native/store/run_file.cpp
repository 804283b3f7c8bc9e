// SPDX-License-Identifier: MIT
#include "store/run_file.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "probust/base/error.h"
#include "store/database.h"
#include "store/write_lock.h"

namespace probust::store {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS configuration (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS information (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS questions (id INTEGER PRIMARY KEY, noise TEXT NOT NULL, sigma REAL, estimator TEXT NOT NULL,
  UNIQUE (noise, estimator));
CREATE TABLE IF NOT EXISTS points (model TEXT NOT NULL, "index" INTEGER NOT NULL, label INTEGER, predicted INTEGER NOT NULL,
  logits BLOB, PRIMARY KEY (model, "index")) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skipped (model TEXT NOT NULL, "index" INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (model, "index")) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
  model TEXT NOT NULL, "index" INTEGER NOT NULL, question INTEGER NOT NULL REFERENCES questions, label INTEGER,
  predicted INTEGER NOT NULL, target INTEGER NOT NULL, p REAL, p_fail REAL, std_error REAL, ci_low REAL, ci_high REAL,
  forwards INTEGER NOT NULL, backwards INTEGER NOT NULL, status TEXT NOT NULL, method TEXT NOT NULL, note TEXT, classes BLOB,
  PRIMARY KEY (model, "index", question)) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS estimates AS SELECT "index", label, predicted, target, noise, sigma, estimator, p, p_fail, std_error,
  ci_low, ci_high, forwards, backwards, status, method, note, classes, model FROM answers JOIN questions ON question = id
  ORDER BY model, "index", question;
)";

void remove_run(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
}

enum class Content { none, run, other };

Content content_of(Database& database) {
  Statement tables(database,
                   "SELECT count(*), total(name IN ('configuration', 'answers')) FROM sqlite_master WHERE type = 'table'");
  tables.step();
  if (tables.integer(0) == 0) return Content::none;
  return tables.integer(1) == 2 ? Content::run : Content::other;
}

[[noreturn]] void refuse_other(const std::string& path) {
  throw Error{ErrorCode::unreadable, path, "is not a run", "give a file that estimate -o wrote"};
}

// A row of the view `estimates`.
Row row_at(const Statement& columns) {
  Row row{.index = columns.integer(0),
          .label = columns.null(1) ? std::nullopt : std::optional(columns.integer(1)),
          .predicted = columns.integer(2),
          .target = columns.integer(3),
          .noise = columns.text(4),
          .sigma = columns.real(5),
          .estimator = columns.text(6),
          .estimate = {},
          .model = columns.text(18)};
  Estimate& estimate = row.estimate;
  estimate.p = columns.real(7).value_or(NAN);
  estimate.p_fail = columns.real(8).value_or(NAN);
  estimate.std_error = columns.real(9);
  estimate.ci_low = columns.real(10);
  estimate.ci_high = columns.real(11);
  estimate.forwards = columns.integer(12);
  estimate.backwards = columns.integer(13);
  estimate.status = status_of(columns.text(14)).value_or(Status::ok);
  if (const std::string method = columns.text(15); method != row.estimator) estimate.method = parse_estimator(method);
  estimate.note = columns.text(16);
  const std::span<const double> classes = columns.doubles(17);
  estimate.classes.assign(classes.begin(), classes.end());
  return row;
}

Configuration entries_of(Database& database, const std::string& table) {
  Statement all(database, "SELECT name, value FROM " + table + " ORDER BY position");
  Configuration result;
  while (all.step()) result.emplace_back(all.text(0), all.text(1));
  return result;
}

void set_entries(Database& database, const std::string& table, const Configuration& entries) {
  Statement insert(
      database, "INSERT INTO " + table + " (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value");
  for (const auto& [name, value] : entries) {
    insert.bind(0, std::string_view(name));
    insert.bind(1, std::string_view(value));
    insert.step();
  }
}

// The ids of pairs of noise and estimator, which are given when they are first seen.
class Questions {
 public:
  explicit Questions(Database& database)
      : insert_(database, "INSERT OR IGNORE INTO questions (noise, sigma, estimator) VALUES (?, ?, ?)"),
        find_(database, "SELECT id FROM questions WHERE noise = ? AND estimator = ?") {}

  std::int64_t id(const Row& row) {
    auto [entry, added] = ids_.try_emplace({row.noise, row.estimator}, 0);
    if (!added) return entry->second;
    insert_.bind(0, std::string_view(row.noise));
    insert_.bind(1, row.sigma);
    insert_.bind(2, std::string_view(row.estimator));
    insert_.step();
    find_.bind(0, std::string_view(row.noise));
    find_.bind(1, std::string_view(row.estimator));
    find_.step();
    entry->second = find_.integer(0);
    find_.step();  // to its end
    return entry->second;
  }

 private:
  Statement insert_, find_;
  std::map<std::pair<std::string, std::string>, std::int64_t> ids_;
};

void bind_label(Statement& statement, int parameter, std::optional<std::int64_t> label) {
  label ? statement.bind(parameter, *label) : statement.bind_null(parameter);
}

void insert_rows(Database& database, std::span<const Row> rows) {
  Questions questions(database);
  Statement insert(database, "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const Row& row : rows) {
    const Estimate& e = row.estimate;
    insert.bind(0, std::string_view(row.model));
    insert.bind(1, row.index);
    insert.bind(2, questions.id(row));
    bind_label(insert, 3, row.label);
    insert.bind(4, row.predicted);
    insert.bind(5, row.target);
    const std::optional<double> numbers[] = {e.p, e.p_fail, e.std_error, e.ci_low, e.ci_high};
    for (int k = 0; k < 5; ++k) insert.bind(6 + k, numbers[k]);
    insert.bind(11, e.forwards);
    insert.bind(12, e.backwards);
    insert.bind(13, word(e.status));
    insert.bind(14, std::string_view(row.method()));
    e.note.empty() ? insert.bind_null(15) : insert.bind(15, std::string_view(e.note));
    insert.bind(16, std::span<const double>(e.classes));
    insert.step();
  }
}

void insert_points(Database& database, std::span<const PointRecord> points) {
  Statement insert(database, "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
  for (const PointRecord& point : points) {
    insert.bind(0, std::string_view(point.model));
    insert.bind(1, point.index);
    bind_label(insert, 2, point.label);
    insert.bind(3, point.predicted);
    insert.bind(4, std::span<const float>(point.logits));
    insert.step();
  }
}

void insert_skipped(Database& database, std::span<const SkippedPoint> skipped) {
  Statement insert(database, "INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)");
  for (const SkippedPoint& point : skipped) {
    insert.bind(0, std::string_view(point.model));
    insert.bind(1, point.index);
    insert.bind(2, std::string_view(point.reason));
    insert.step();
  }
}

// Calls `changes` in one transaction: all of them are made, or none.
void transact(Database& database, const std::function<void()>& changes) {
  database.execute("BEGIN IMMEDIATE;");
  try {
    changes();
    database.execute("COMMIT;");
  } catch (const Error&) {
    try {
      database.execute("ROLLBACK;");
    } catch (const Error&) {  // SQLite has rolled back by itself
    }
    throw;
  }
}

}  // namespace

struct RunFile::State {
  State(std::unique_ptr<WriteLock> writing, Database opened) : lock(std::move(writing)), database(std::move(opened)) {}
  std::unique_ptr<WriteLock> lock;  // of a run that is written
  mutable Database database;
};

RunFile::RunFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunFile::RunFile(RunFile&&) noexcept = default;
RunFile& RunFile::operator=(RunFile&&) noexcept = default;
RunFile::~RunFile() = default;

RunFile RunFile::open(const std::string& path, const Configuration& configuration, Mode mode) {
  auto lock = std::make_unique<WriteLock>(path);
  if (mode == Mode::replace && std::filesystem::exists(path)) {
    {
      Database before(path, false);
      if (content_of(before) == Content::other) refuse_other(path);
    }
    remove_run(path);
  }
  RunFile run(std::make_unique<State>(std::move(lock), Database(path, true)));
  Database& database = run.state_->database;
  if (content_of(database) == Content::other) refuse_other(path);
  database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
  transact(database, [&] {
    database.execute(kTables);
    const Configuration before = run.configuration();
    if (!before.empty()) require_same(path, configuration, before, mode == Mode::extend);
    set_entries(database, "configuration", configuration);
  });
  return run;
}

RunFile RunFile::read(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw Error{ErrorCode::unreadable, path, "cannot be opened", "give the path of a file that exists"};
  RunFile run(std::make_unique<State>(nullptr, Database(path, false)));
  if (content_of(run.state_->database) != Content::run) refuse_other(path);
  return run;
}

std::int64_t RunFile::rows() const {
  Statement count(state_->database, "SELECT count(*) FROM answers");
  count.step();
  return count.integer(0);
}

std::int64_t RunFile::done(const Range& range) const {
  Statement within(state_->database, R"(SELECT
    (SELECT count(*) FROM answers JOIN questions ON question = id
      WHERE model = ?1 AND "index" >= ?2 AND "index" < ?3 AND noise = ?4 AND estimator = ?5) +
    (SELECT count(*) FROM skipped WHERE model = ?1 AND "index" >= ?2 AND "index" < ?3))");
  within.bind(0, std::string_view(range.model));
  within.bind(1, range.first);
  within.bind(2, range.first + range.count);
  within.bind(3, std::string_view(range.noise));
  within.bind(4, std::string_view(range.estimator));
  within.step();
  return within.integer(0);
}

void RunFile::append(const Results& results) {
  Database& database = state_->database;
  transact(database, [&] {
    insert_rows(database, results.rows);
    insert_points(database, results.points);
    insert_skipped(database, results.skipped);
  });
}

void RunFile::rest() {
  try {
    state_->database.execute("PRAGMA journal_mode=DELETE;");
  } catch (const Error&) {  // another process reads it just now
  }
}

void RunFile::for_each(const std::function<void(const Row&)>& use) const {
  Statement all(state_->database, "SELECT * FROM estimates");
  while (all.step()) use(row_at(all));
}

Results RunFile::results() const {
  Results results;
  for_each([&](const Row& row) { results.rows.push_back(row); });
  Statement all(state_->database, R"(SELECT model, "index", label, predicted, logits FROM points ORDER BY model, "index")");
  while (all.step()) {
    const std::span<const float> logits = all.floats(4);
    results.points.push_back({.model = all.text(0),
                              .index = all.integer(1),
                              .label = all.null(2) ? std::nullopt : std::optional(all.integer(2)),
                              .predicted = all.integer(3),
                              .logits = {logits.begin(), logits.end()}});
  }
  Statement skipped(state_->database, R"(SELECT model, "index", reason FROM skipped ORDER BY model, "index")");
  while (skipped.step()) results.skipped.push_back({skipped.text(0), skipped.integer(1), skipped.text(2)});
  return results;
}

Configuration RunFile::configuration() const { return entries_of(state_->database, "configuration"); }

Configuration RunFile::information() const { return entries_of(state_->database, "information"); }

void RunFile::set_information(const Configuration& entries) {
  transact(state_->database, [&] { set_entries(state_->database, "information", entries); });
}

}  // namespace probust::store
