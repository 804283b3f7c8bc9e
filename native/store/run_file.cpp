// SPDX-License-Identifier: MIT
#include "store/run_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "probust/base/error.h"
#include "store/database.h"

namespace probust::store {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS configuration (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS estimates (
  "index" INTEGER NOT NULL, position INTEGER NOT NULL, label INTEGER, predicted INTEGER NOT NULL, target INTEGER NOT NULL,
  noise TEXT NOT NULL, sigma REAL, estimator TEXT NOT NULL, p REAL, p_fail REAL, std_error REAL, ci_low REAL, ci_high REAL,
  forwards INTEGER NOT NULL, backwards INTEGER NOT NULL, status TEXT NOT NULL, method TEXT NOT NULL, note TEXT, classes BLOB,
  PRIMARY KEY ("index", position)) WITHOUT ROWID;
)";

// Whether this process is the only one that writes `path`. The lock ends with the process, however it ends. It is a file of its
// own, because SQLite drops its locks when any descriptor of the database is closed.
class WriteLock {
 public:
  explicit WriteLock(const std::string& path)
      : descriptor_(::open((path + "-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0)
      throw Error{ErrorCode::resources, path, "cannot be written", "give a file in a folder that exists and can be written"};
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    close(descriptor_);
    throw Error{ErrorCode::conflict, path, "is being written by another process", "wait for it, or name another file"};
  }
  ~WriteLock() { close(descriptor_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  int descriptor_;
};

void remove_run(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
}

enum class Content { none, run, other };

Content content_of(Database& database) {
  Statement tables(database,
                   "SELECT count(*), total(name IN ('configuration', 'estimates')) FROM sqlite_master WHERE type = 'table'");
  tables.step();
  if (tables.integer(0) == 0) return Content::none;
  return tables.integer(1) == 2 ? Content::run : Content::other;
}

[[noreturn]] void refuse_other(const std::string& path) {
  throw Error{ErrorCode::unreadable, path, "is not a run", "give a file that estimate -o wrote"};
}

void compare(const std::string& path, const Configuration& now, const Configuration& before) {
  const std::map<std::string, std::string> known(before.begin(), before.end());
  for (const auto& [name, value] : now) {
    const auto entry = known.find(name);
    const std::string was = entry == known.end() ? "nothing" : fmt::format("'{}'", entry->second);
    if (entry != known.end() && entry->second == value) continue;
    throw Error{ErrorCode::conflict, path,
                fmt::format("holds a run with another configuration: {} was {}, now '{}'", name, was, value),
                "repeat its command, name another file, or replace it with " + option("force_new")};
  }
}

Row row_at(const Statement& columns) {
  Row row{.index = columns.integer(0),
          .label = columns.null(2) ? std::nullopt : std::optional(columns.integer(2)),
          .predicted = columns.integer(3),
          .target = columns.integer(4),
          .noise = columns.text(5),
          .sigma = columns.real(6),
          .estimator = columns.text(7),
          .estimate = {}};
  Estimate& estimate = row.estimate;
  estimate.p = columns.real(8).value_or(NAN);
  estimate.p_fail = columns.real(9).value_or(NAN);
  estimate.std_error = columns.real(10);
  estimate.ci_low = columns.real(11);
  estimate.ci_high = columns.real(12);
  estimate.forwards = columns.integer(13);
  estimate.backwards = columns.integer(14);
  estimate.status = status_of(columns.text(15)).value_or(Status::ok);
  if (const std::string method = columns.text(16); method != row.estimator) estimate.method = parse_estimator(method);
  estimate.note = columns.text(17);
  const std::span<const double> classes = columns.doubles(18);
  estimate.classes.assign(classes.begin(), classes.end());
  return row;
}

}  // namespace

std::string file_checksum(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error{ErrorCode::unreadable, path, "cannot be opened", "give the path of a file that exists"};
  std::array<char, 1 << 16> part{};
  uLong sum = crc32(0, nullptr, 0);
  std::uint64_t size = 0;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    sum = crc32(sum, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(file.gcount()));
    size += static_cast<std::uint64_t>(file.gcount());
  }
  return fmt::format("crc32 {:08x}, {} bytes", sum, size);
}

struct RunFile::State {
  State(std::unique_ptr<WriteLock> writing, Database opened) : lock(std::move(writing)), database(std::move(opened)) {}
  std::unique_ptr<WriteLock> lock;  // of a run that is written
  mutable Database database;
};

RunFile::RunFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunFile::RunFile(RunFile&&) noexcept = default;
RunFile& RunFile::operator=(RunFile&&) noexcept = default;
RunFile::~RunFile() = default;

RunFile RunFile::open(const std::string& path, const Configuration& configuration, bool force_new) {
  auto lock = std::make_unique<WriteLock>(path);
  if (force_new) remove_run(path);
  RunFile run(std::make_unique<State>(std::move(lock), Database(path, true)));
  Database& database = run.state_->database;
  if (content_of(database) == Content::other) refuse_other(path);
  database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
  database.execute(std::string("BEGIN;") + kTables);
  const Configuration before = run.configuration();
  if (before.empty()) {
    Statement insert(database, "INSERT INTO configuration (name, value) VALUES (?, ?)");
    for (const auto& [name, value] : configuration) {
      insert.bind(0, std::string_view(name));
      insert.bind(1, std::string_view(value));
      insert.step();
    }
  } else {
    compare(path, configuration, before);
  }
  database.execute("COMMIT;");
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
  Statement count(state_->database, "SELECT count(*) FROM estimates");
  count.step();
  return count.integer(0);
}

std::int64_t RunFile::rows(std::int64_t first, std::int64_t count) const {
  Statement within(state_->database, R"(SELECT count(*) FROM estimates WHERE "index" >= ? AND "index" < ?)");
  within.bind(0, first);
  within.bind(1, first + count);
  within.step();
  return within.integer(0);
}

void RunFile::append(std::span<const Row> rows) {
  Database& database = state_->database;
  database.execute("BEGIN IMMEDIATE;");
  try {
    Statement insert(database,
                     "INSERT OR REPLACE INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t position = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const Estimate& e = row.estimate;
      position = i > 0 && rows[i - 1].index == row.index ? position + 1 : 0;
      insert.bind(0, row.index);
      insert.bind(1, position);
      row.label ? insert.bind(2, *row.label) : insert.bind_null(2);
      insert.bind(3, row.predicted);
      insert.bind(4, row.target);
      insert.bind(5, std::string_view(row.noise));
      insert.bind(6, row.sigma);
      insert.bind(7, std::string_view(row.estimator));
      const std::optional<double> numbers[] = {e.p, e.p_fail, e.std_error, e.ci_low, e.ci_high};
      for (int k = 0; k < 5; ++k) insert.bind(8 + k, numbers[k]);
      insert.bind(13, e.forwards);
      insert.bind(14, e.backwards);
      insert.bind(15, word(e.status));
      insert.bind(16, std::string_view(row.method()));
      e.note.empty() ? insert.bind_null(17) : insert.bind(17, std::string_view(e.note));
      insert.bind(18, std::span<const double>(e.classes));
      insert.step();
    }
    database.execute("COMMIT;");
  } catch (const Error&) {
    try {
      database.execute("ROLLBACK;");
    } catch (const Error&) {  // SQLite has rolled back by itself
    }
    throw;
  }
}

void RunFile::for_each(const std::function<void(const Row&)>& use) const {
  Statement all(state_->database, R"(SELECT * FROM estimates ORDER BY "index", position)");
  while (all.step()) use(row_at(all));
}

Configuration RunFile::configuration() const {
  Statement all(state_->database, "SELECT name, value FROM configuration ORDER BY position");
  Configuration result;
  while (all.step()) result.emplace_back(all.text(0), all.text(1));
  return result;
}

}  // namespace probust::store
