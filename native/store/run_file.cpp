// SPDX-License-Identifier: MIT
#include "store/run_file.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "datasets/unwritable.h"
#include "probust/base/error.h"
#include "probust/run/fields.h"
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
)";

// Whether a column of Row is stored in the table `questions` or in the key of `answers`, so that `answers` needs no separate
// column for it.
bool is_elsewhere(std::string_view column) {
  constexpr std::string_view kElsewhere[] = {"model", "index", "noise", "sigma", "estimator"};
  return std::find(std::begin(kElsewhere), std::end(kElsewhere), column) != std::end(kElsewhere);
}

std::string quoted(std::string_view column) { return '"' + std::string(column) + '"'; }

// A list of quoted names, as in SQL: "index", "label", ...
std::string quoted_list(std::span<const std::string_view> columns) {
  std::string text;
  for (const std::string_view column : columns) text += (text.empty() ? "" : ", ") + quoted(column);
  return text;
}

const char* type_of(std::int64_t) { return "INTEGER"; }
const char* type_of(std::optional<std::int64_t>) { return "INTEGER"; }
const char* type_of(double) { return "REAL"; }
const char* type_of(std::optional<double>) { return "REAL"; }
const char* type_of(const std::vector<double>&) { return "BLOB"; }
template <typename Text>
const char* type_of(const Text&) {
  return "TEXT";
}

// The name and type of each column of `answers` except the key.
std::vector<std::pair<std::string, std::string>> answer_columns() {
  std::vector<std::pair<std::string, std::string>> columns;
  for_each_column([&](Column column, const auto& field) {
    if (!is_elsewhere(column.name)) columns.emplace_back(quoted(column.name), type_of(field));
  });
  return columns;
}

std::string answers_table() {
  std::string text =
      "CREATE TABLE IF NOT EXISTS answers (model TEXT NOT NULL, \"index\" INTEGER NOT NULL, "
      "question INTEGER NOT NULL REFERENCES questions";
  for (const auto& [name, type] : answer_columns()) text.append(", ").append(name).append(" ").append(type);
  return text + ", PRIMARY KEY (model, \"index\", question)) WITHOUT ROWID;";
}

// Version 0.1 reads these columns of the view `estimates` by position, so newer columns come after them.
constexpr std::string_view kFirstColumns[] = {"index",  "label",  "predicted", "target",  "noise",   "sigma",    "estimator",
                                              "p",      "p_fail", "std_error", "ci_low",  "ci_high", "forwards", "backwards",
                                              "status", "method", "note",      "classes", "model"};

std::string estimates_view() {
  std::vector<std::string_view> columns(std::begin(kFirstColumns), std::end(kFirstColumns));
  for_each_column([&](Column column, const auto&) {
    if (std::find(columns.begin(), columns.end(), column.name) == columns.end()) columns.emplace_back(column.name);
  });
  return "CREATE VIEW IF NOT EXISTS estimates AS SELECT " + quoted_list(columns) +
         " FROM answers JOIN questions ON question = id ORDER BY model, \"index\", question;";
}

std::set<std::string> columns_in(Database& database, std::string_view table) {
  Statement names(database, "SELECT name FROM pragma_table_info(?)");
  names.bind(0, table);
  std::set<std::string> columns;
  while (names.step()) columns.insert(names.text(0));
  return columns;
}

// Adds the columns that runs of earlier versions lack.
void add_columns(Database& database) {
  const std::set<std::string> known = columns_in(database, "answers");
  for_each_column([&](Column column, const auto& field) {
    if (is_elsewhere(column.name) || known.contains(column.name)) return;
    database.execute("DROP VIEW IF EXISTS estimates; ALTER TABLE answers ADD COLUMN " + quoted(column.name) + " " +
                     type_of(field) + ";");
  });
}

void remove_run(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + part);
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
  throw Error{ErrorCode::unreadable, path, "is not a run", "give a file written by estimate -o"};
}

void read(const Statement& from, int column, std::int64_t& field) { field = from.integer(column); }
void read(const Statement& from, int column, std::optional<std::int64_t>& field) {
  if (!from.null(column)) field = from.integer(column);
}
void read(const Statement& from, int column, double& field) { field = from.real(column).value_or(NAN); }
void read(const Statement& from, int column, std::optional<double>& field) { field = from.real(column); }
void read(const Statement& from, int column, std::string& field) { field = from.text(column); }
void read(const Statement& from, int column, Status& field) { field = status_of(from.text(column)).value_or(Status::ok); }
void read(const Statement& from, int column, MethodField<Row>& field) { field.set(from.text(column)); }
void read(const Statement& from, int column, std::vector<double>& field) {
  const std::span<const double> values = from.doubles(column);
  field.assign(values.begin(), values.end());
}

// The columns of Row that the view `estimates` has. Runs of earlier versions lack some.
std::vector<std::string_view> stored_columns(Database& database) {
  const std::set<std::string> stored = columns_in(database, "estimates");
  std::vector<std::string_view> columns;
  for_each_column([&](Column column, const auto&) {
    if (stored.contains(column.name)) columns.emplace_back(column.name);
  });
  return columns;
}

Row row_at(const Statement& from, std::span<const std::string_view> columns) {
  Row row{};
  for_each_field(row, [&, next = 0](Column column, auto&& field) mutable {
    if (next < std::ssize(columns) && columns[static_cast<std::size_t>(next)] == column.name) read(from, next++, field);
  });
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

// The ids of pairs of a noise and an estimator. A pair gets its id when it first occurs.
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
    find_.step();  // ends the query
    return entry->second;
  }

 private:
  Statement insert_, find_;
  std::map<std::pair<std::string, std::string>, std::int64_t> ids_;
};

void bind_value(Statement& to, int parameter, const FieldValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return to.bind(parameter, *whole);
  if (const auto* number = std::get_if<double>(&value)) return to.bind(parameter, std::optional(*number));
  if (const auto* text = std::get_if<std::string>(&value)) return to.bind(parameter, std::string_view(*text));
  if (const auto* numbers = std::get_if<std::span<const double>>(&value)) return to.bind(parameter, *numbers);
  to.bind_null(parameter);
}

void insert_rows(Database& database, std::span<const Row> rows) {
  Questions questions(database);
  std::string names = "model, \"index\", question", places = "?, ?, ?";
  for (const auto& [name, type] : answer_columns()) {
    names += ", " + name;
    places += ", ?";
  }
  Statement insert(database, "INSERT OR REPLACE INTO answers (" + names + ") VALUES (" + places + ")");
  for (const Row& row : rows) {
    insert.bind(0, std::string_view(row.model));
    insert.bind(1, row.index);
    insert.bind(2, questions.id(row));
    for_each_field(row, [&, next = 3](Column column, const auto& field) mutable {
      if (!is_elsewhere(column.name)) bind_value(insert, next++, as_value(field));
    });
    insert.step();
  }
}

void insert_points(Database& database, std::span<const PointRecord> points) {
  Statement insert(database, "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
  for (const PointRecord& point : points) {
    insert.bind(0, std::string_view(point.model));
    insert.bind(1, point.index);
    bind_value(insert, 2, as_value(point.label));
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

// Calls `changes` in one transaction, so that the database gets either all changes or none.
void transact(Database& database, const std::function<void()>& changes) {
  database.execute("BEGIN IMMEDIATE;");
  try {
    changes();
    database.execute("COMMIT;");
  } catch (const Error&) {
    try {
      database.execute("ROLLBACK;");
    } catch (const Error&) {  // SQLite has already rolled back
    }
    throw;
  }
}

// While this object exists, all reads see the same state of the file.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) { database.execute("BEGIN"); }
  ~ReadTransaction() {
    try {
      database_.execute("ROLLBACK");
    } catch (const Error&) {  // SQLite has already ended it
    }
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& database_;
};

// The rows that follow those of point `index` of `model`, but at most `most` rows.
std::vector<Row> rows_after(Database& database, const std::string& model, std::int64_t index, std::size_t most) {
  const std::vector<std::string_view> columns = stored_columns(database);
  Statement next(database, "SELECT " + quoted_list(columns) + " FROM estimates WHERE (model, \"index\") > (?, ?) LIMIT ?");
  next.bind(0, std::string_view(model));
  next.bind(1, index);
  next.bind(2, static_cast<std::int64_t>(most));
  std::vector<Row> rows;
  while (next.step()) rows.push_back(row_at(next, columns));
  return rows;
}

// Takes the database out of write-ahead mode, which earlier versions used.
void leave_write_ahead_mode(Database& database) {
  try {
    database.execute("PRAGMA journal_mode=DELETE;");
  } catch (const Error&) {  // another process is reading the run; writing in write-ahead mode also works
  }
}

}  // namespace

struct RunFile::State {
  std::string path;
  Configuration configuration;  // for begin() to write
  Mode mode = Mode::resume;
  std::unique_ptr<WriteLock> lock;           // null for a run that is only read
  mutable std::optional<Database> database;  // empty for a run that begin() will create
  bool writing = false;

  // The connection if there are tables, otherwise null.
  Database* tables() const { return database ? &*database : nullptr; }
};

RunFile::RunFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunFile::RunFile(RunFile&&) noexcept = default;
RunFile& RunFile::operator=(RunFile&&) noexcept = default;
RunFile::~RunFile() = default;

RunFile RunFile::open(const std::string& path, const Configuration& configuration, Mode mode) {
  RunFile run = claim(path, configuration, mode);
  run.begin();
  return run;
}

RunFile RunFile::claim(const std::string& path, const Configuration& configuration, Mode mode) {
  require_writable(path);
  RunFile run(std::make_unique<State>());
  State& state = *run.state_;
  state.path = path;
  state.configuration = configuration;
  state.mode = mode;
  state.lock = std::make_unique<WriteLock>(path);
  if (!std::filesystem::exists(path)) return run;
  Database before(path, false, true);
  const Content content = content_of(before);
  if (content == Content::other) refuse_other(path);
  if (mode == Mode::replace || content == Content::none) return run;
  if (const Configuration was = entries_of(before, "configuration"); !was.empty())
    require_same(path, configuration, was, mode == Mode::extend);
  state.database.emplace(std::move(before));
  return run;
}

void RunFile::begin() {
  State& state = *state_;
  if (state.writing) return;
  state.database.reset();
  if (state.mode == Mode::replace) remove_run(state.path);
  Database& database = state.database.emplace(state.path, true);
  leave_write_ahead_mode(database);
  transact(database, [&] {
    database.execute(kTables + answers_table());
    add_columns(database);
    database.execute(estimates_view());
    set_entries(database, "configuration", state.configuration);
  });
  state.writing = true;
}

RunFile RunFile::read(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) throw unopenable(path, errno);
  RunFile run(std::make_unique<State>());
  run.state_->path = path;
  if (content_of(run.state_->database.emplace(path, false)) != Content::run) refuse_other(path);
  return run;
}

std::int64_t RunFile::rows() const {
  if (state_->tables() == nullptr) return 0;
  Statement count(*state_->database, "SELECT count(*) FROM answers");
  count.step();
  return count.integer(0);
}

std::int64_t RunFile::done(const Range& range) const {
  if (state_->tables() == nullptr) return 0;
  Statement within(*state_->database, R"(SELECT
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

void RunFile::append(const Results& results, const Configuration& information) {
  begin();
  Database& database = *state_->database;
  transact(database, [&] {
    insert_rows(database, results.rows);
    insert_points(database, results.points);
    insert_skipped(database, results.skipped);
    set_entries(database, "information", information);
  });
}

// Reads in parts, and holds no transaction open while rows are used: a slow reader would otherwise block writers.
void RunFile::for_each(const std::function<void(const Row&)>& use) const {
  if (state_->tables() == nullptr) return;
  std::size_t most = 4096;
  std::string model;
  std::int64_t index = std::numeric_limits<std::int64_t>::min();
  while (true) {
    std::vector<Row> rows = rows_after(*state_->database, model, index, most);
    const bool last = rows.size() < most;
    if (!last) {  // the last point may have more rows
      const std::string cut = rows.back().model;
      const std::int64_t cut_index = rows.back().index;
      while (!rows.empty() && rows.back().model == cut && rows.back().index == cut_index) rows.pop_back();
    }
    for (const Row& row : rows) use(row);
    if (last) return;
    if (rows.empty()) {
      most *= 2;
    } else {
      model = rows.back().model;
      index = rows.back().index;
    }
  }
}

// Reads a consistent state of the file, even if another process is writing it.
Results RunFile::results() const {
  Results results;
  if (state_->tables() == nullptr) return results;
  Database& database = *state_->database;
  const ReadTransaction transaction(database);
  for_each([&](const Row& row) { results.rows.push_back(row); });
  Statement all(database, R"(SELECT model, "index", label, predicted, logits FROM points ORDER BY model, "index")");
  while (all.step()) {
    const std::span<const float> logits = all.floats(4);
    results.points.push_back({.model = all.text(0),
                              .index = all.integer(1),
                              .label = all.null(2) ? std::nullopt : std::optional(all.integer(2)),
                              .predicted = all.integer(3),
                              .logits = {logits.begin(), logits.end()}});
  }
  Statement skipped(database, R"(SELECT model, "index", reason FROM skipped ORDER BY model, "index")");
  while (skipped.step()) results.skipped.push_back({skipped.text(0), skipped.integer(1), skipped.text(2)});
  return results;
}

Configuration RunFile::configuration() const {
  return state_->tables() == nullptr ? Configuration() : entries_of(*state_->database, "configuration");
}

Configuration RunFile::information() const {
  return state_->tables() == nullptr ? Configuration() : entries_of(*state_->database, "information");
}

void RunFile::set_information(const Configuration& entries) { append({}, entries); }

}  // namespace probust::store
