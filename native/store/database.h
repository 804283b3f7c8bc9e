// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace probust::store {

/// A SQLite connection. All functions throw Error: unreadable (the file is not a database, is damaged or cannot be read),
/// resources (the disk is full, or the file cannot be written), conflict (another process has locked the file).
class Database {
 public:
  /// Opens the file, or creates it if `writable` is set and there is none. A Database that is not writable never changes the
  /// file or its folder: if the process that wrote the file died in the middle of a change, the change is completed or undone
  /// in a temporary copy. `locked`: whether this process holds the file's WriteLock.
  Database(std::string path, bool writable, bool locked = false);

  /// Runs statements that have neither parameters nor results.
  void execute(const std::string& statements);

  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  void open_to_read(bool locked);
  int connect(const std::string& name, int flags);
  bool readable();
  void open_copy();
  [[noreturn]] void refuse() const;

  std::string path_;
  bool writable_;
  std::shared_ptr<const void> copy_;  // a temporary folder, destroyed after the connection
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A prepared statement. Parameters and columns are numbered from 0. bind() copies its values.
class Statement {
 public:
  Statement(Database& database, std::string_view text);

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::optional<double> value);  ///< an empty or non-finite value is bound as NULL
  void bind(int parameter, std::string_view value);
  void bind(int parameter, std::span<const double> value);  ///< as a blob; an empty span as NULL
  void bind(int parameter, std::span<const float> value);   ///< as a blob; an empty span as NULL
  void bind_null(int parameter);

  /// The next row of the result. Returns false after the last one; the statement can then be run again.
  bool step();

  std::int64_t integer(int column) const;
  std::optional<double> real(int column) const;
  std::string text(int column) const;
  bool null(int column) const;
  std::span<const double> doubles(int column) const;  ///< valid until the next step
  std::span<const float> floats(int column) const;    ///< valid until the next step

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int result) const;
  void bind_bytes(int parameter, std::span<const std::byte> value);
  template <typename T>
  std::span<const T> numbers(int column) const;

  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace probust::store
