// SPDX-License-Identifier: MIT
#include "store/database.h"

#include <sqlite3.h>

#include <cmath>

#include "probust/base/error.h"

namespace probust::store {

Database::Database(std::string path, bool writable) : path_(std::move(path)) {
  sqlite3* connection = nullptr;
  const int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int result = sqlite3_open_v2(path_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (result != SQLITE_OK) refuse();
  sqlite3_busy_timeout(connection, 5000);
}

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Database::execute(const std::string& statements) {
  if (sqlite3_exec(connection_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) refuse();
}

void Database::refuse() const {
  switch (connection_ ? sqlite3_errcode(connection_.get()) : SQLITE_NOMEM) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw Error{ErrorCode::unreadable, path_, "is not a run, or damaged", "give a file that estimate -o wrote"};
    case SQLITE_FULL:
      throw Error{ErrorCode::resources, path_, "could not be written: the disk is full",
                  "make room and repeat the command, which goes on where it ended"};
    default:
      throw Error{ErrorCode::resources, path_, connection_ ? sqlite3_errmsg(connection_.get()) : "needs more memory",
                  "give a file in a folder that can be written"};
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
