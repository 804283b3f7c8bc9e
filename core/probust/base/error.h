// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace probust {

/// What went wrong, grouped by who can fix it. The values are the command line's exit statuses.
enum class ErrorCode {
  usage = 2,        ///< an option or argument is wrong
  unreadable = 3,   ///< a model or data file is truncated, of the wrong kind, width or content
  unsupported = 4,  ///< the model uses something that probust does not support
  resources = 5,    ///< not enough memory, or no such device
  numerical = 6,    ///< no number could be computed
};

/// One line for a person: where it happened, what is wrong, what would be right.
///
/// Inside the library an Error is thrown. The public entry points (import, executors, estimators) return it in a Result, so
/// nothing is thrown at a caller or across the WebAssembly boundary.
struct Error {
  ErrorCode code;
  std::string where;    ///< the file, option, node or argument
  std::string what;     ///< what is wrong with it
  std::string hint;     ///< what would be right; may be empty
  std::string op = {};  ///< the ONNX operator and node that it is about, if any
  std::string node = {};

  /// "where: what; hint", on one line.
  std::string message() const;
};

/// A value, or the Error that explains why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  const Error& error() const { return std::get<1>(state_); }

  /// The value; throws the Error if there is none.
  T& value() & {
    require();
    return std::get<0>(state_);
  }
  const T& value() const& {
    require();
    return std::get<0>(state_);
  }
  /// Returns by value, because the value must outlive a temporary Result, as in a loop over f().value().
  T value() && {
    require();
    return std::get<0>(std::move(state_));
  }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }

 private:
  void require() const {
    if (state_.index() == 1) throw std::get<1>(state_);
  }
  std::variant<T, Error> state_;
};

/// Runs `body` at a public entry point: returns its result, or the Error that it throws (other exceptions become one, with
/// `where`).
template <class Body>
auto guarded(const std::string& where, Body&& body) -> Result<decltype(body())> {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::resources, where, "out of memory", "use a smaller model, batch or --memory"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::unreadable, where, error.what(), ""};
  }
}

}  // namespace probust
