// SPDX-License-Identifier: MIT
#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "probust/base/error.h"

namespace probust::store {
namespace {

[[noreturn]] void refuse_copy(const std::string& path, const std::string& problem) {
  throw Error{ErrorCode::resources, path,
              "was left by a killed process, and it could not be copied to a temporary file: " + problem,
              "set TMPDIR to a folder with more space"};
}

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& for_path) {
    std::error_code problem;
    path_ = (std::filesystem::temp_directory_path(problem) / "probust-XXXXXX").string();
    if (problem) refuse_copy(for_path, problem.message());
    if (mkdtemp(path_.data()) == nullptr) refuse_copy(for_path, std::generic_category().message(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The path with symbolic links resolved. SQLite also resolves them before it names its files next to the database.
std::string resolved(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::canonical(path, unknown);
  return unknown ? path : file.string();
}

bool exists(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

bool has_content(const std::string& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  return !missing && size > 0;
}

// Whether the file is in write-ahead mode (section 1.3 of SQLite's file format), which earlier versions of probust used.
bool has_write_ahead_mode(const std::string& path) {
  constexpr int kReadVersion = 19;
  std::ifstream file(path, std::ios::binary);
  char header[kReadVersion + 1] = {};
  return file.read(header, sizeof(header)) && header[kReadVersion] == 2;
}

// A URI that makes SQLite open the file as immutable: it then creates neither locks nor other files.
std::string immutable_name(const std::string& path) {
  std::error_code unknown;
  std::string name = "file:";
  for (const char c : std::filesystem::absolute(path, unknown).lexically_normal().string()) {
    const bool special = c == '%' || c == '?' || c == '#';
    name += special ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return name + "?immutable=1";
}

}  // namespace

Database::Database(std::string path, bool writable, bool locked) : path_(std::move(path)), writable_(writable) {
  if (!writable) {
    open_to_read(locked);
  } else if (connect(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) != SQLITE_OK) {
    refuse();
  }
}

void Database::open_to_read(bool locked) {
  const std::string file = resolved(path_);
  const bool changing = has_content(file + "-wal") || has_content(file + "-journal");
  // A file in write-ahead mode that no process is writing is opened as immutable, because SQLite would otherwise create other
  // files next to it.
  const bool at_rest = has_write_ahead_mode(file) && !changing && (locked || !exists(file + "-lock"));
  if (!at_rest) {
    connect(path_, SQLITE_OPEN_READONLY);
    if (readable()) return;
    const int result = sqlite3_errcode(connection_.get());
    if (result != SQLITE_READONLY && result != SQLITE_CANTOPEN) refuse();
    if (changing) return open_copy();
  }
  connect(immutable_name(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (!readable()) refuse();
}

int Database::connect(const std::string& name, int flags) {
  constexpr int kPatience = 60'000;  // milliseconds to wait for a lock; writers hold it for a few, readers at most for seconds
  sqlite3* connection = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (connection != nullptr) sqlite3_busy_timeout(connection, kPatience);
  return result;
}

// Whether the content can be read. If the last writer was killed, SQLite may first have to complete or undo its changes, which
// requires write permission.
bool Database::readable() {
  return sqlite3_exec(connection_.get(), "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr) == SQLITE_OK;
}

void Database::open_copy() {
  const auto folder = std::make_shared<TemporaryFolder>(path_);
  const std::string file = resolved(path_), copy = folder->path() + "/run.sqlite";
  for (const char* part : {"", "-wal", "-journal"}) {
    if (!exists(file + part)) continue;
    std::error_code problem;
    std::filesystem::copy_file(file + part, copy + part, problem);
    if (problem) refuse_copy(path_, problem.message());
    std::filesystem::permissions(copy + part, std::filesystem::perms::owner_write, std::filesystem::perm_options::add, problem);
  }
  connection_.reset();
  copy_ = folder;
  if (connect(copy, SQLITE_OPEN_READWRITE) != SQLITE_OK || !readable()) refuse();
}

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Database::execute(const std::string& statements) {
  if (sqlite3_exec(connection_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) refuse();
}

void Database::refuse() const {
  switch (connection_ ? sqlite3_errcode(connection_.get()) : SQLITE_NOMEM) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw Error{ErrorCode::unreadable, path_, "is not a run, or is damaged", "give a file written by estimate -o"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error{ErrorCode::conflict, path_,
                  std::string("is locked by another process that ") + (writable_ ? "reads or writes it" : "writes it"),
                  "wait for it to end, or choose another file"};
    case SQLITE_FULL:
      throw Error{ErrorCode::resources, path_, "could not be written: the disk is full",
                  "free some space and repeat the command, which resumes there"};
    default:
      const std::string problem = connection_ ? sqlite3_errmsg(connection_.get()) : "there is not enough memory";
      if (!writable_)
        throw Error{ErrorCode::unreadable, path_, "cannot be read: " + problem, "give a file that you have permission to read"};
      throw Error{ErrorCode::resources, path_, "cannot be written: " + problem, "give a file in a writable folder"};
  }
}

Statement::Statement(Database& database, std::string_view text) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database_.connection_.get(), text.data(), static_cast<int>(text.size()), &statement, nullptr));
  statement_.reset(statement);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::check(int result) const {
  if (result != SQLITE_OK) database_.refuse();
}

void Statement::bind(int parameter, std::int64_t value) { check(sqlite3_bind_int64(statement_.get(), parameter + 1, value)); }

void Statement::bind(int parameter, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return bind_null(parameter);
  check(sqlite3_bind_double(statement_.get(), parameter + 1, *value));
}

void Statement::bind(int parameter, std::string_view value) {
  check(sqlite3_bind_text(statement_.get(), parameter + 1, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
}

void Statement::bind(int parameter, std::span<const double> value) { bind_bytes(parameter, std::as_bytes(value)); }
void Statement::bind(int parameter, std::span<const float> value) { bind_bytes(parameter, std::as_bytes(value)); }

void Statement::bind_bytes(int parameter, std::span<const std::byte> value) {
  if (value.empty()) return bind_null(parameter);
  check(sqlite3_bind_blob64(statement_.get(), parameter + 1, value.data(), value.size(), SQLITE_TRANSIENT));
}

void Statement::bind_null(int parameter) { check(sqlite3_bind_null(statement_.get(), parameter + 1)); }

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) database_.refuse();
  check(sqlite3_reset(statement_.get()));
  return false;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::optional<double> Statement::real(int column) const {
  return null(column) ? std::nullopt : std::optional(sqlite3_column_double(statement_.get(), column));
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

bool Statement::null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

template <typename T>
std::span<const T> Statement::numbers(int column) const {
  const auto* values = static_cast<const T*>(sqlite3_column_blob(statement_.get(), column));
  const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {values, values == nullptr ? 0 : bytes / sizeof(T)};
}

std::span<const double> Statement::doubles(int column) const { return numbers<double>(column); }
std::span<const float> Statement::floats(int column) const { return numbers<float>(column); }

}  // namespace probust::store
