// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace probust {

/// The kind of an error. The values are the command line's exit statuses.
enum class ErrorCode {
  usage = 2,          ///< an option or argument is wrong
  unreadable = 3,     ///< a model or data file is missing or truncated, or has the wrong format, width or content
  unsupported = 4,    ///< the model uses something that probust does not support
  resources = 5,      ///< not enough memory, or no such device
  numerical = 6,      ///< no number could be computed
  conflict = 7,       ///< another process is writing the run, or the run was started with a different configuration
  internal = 70,      ///< a bug in probust
  interrupted = 130,  ///< the caller asked to stop, or the step's time limit was reached
};

/// Marks an option in the text of an error, by the name of its field: option("input_shape"). Callers spell options
/// differently, so Error::message gets a spelling such as "--input-shape" or "inputShape".
std::string option(std::string_view field);

/// Whether `text` is a name that option() marked.
bool is_option(std::string_view text);

/// How a caller spells the option of a field.
using OptionSpelling = std::string (*)(std::string_view field);
inline std::string as_field(std::string_view field) { return std::string(field); }

/// `text` with the names of options spelled by `spell`.
std::string spelled(std::string_view text, OptionSpelling spell);

/// A problem in one sentence: `where` is its subject, `problem` its predicate, and `hint` says what to do.
///
/// Functions of the library throw it. Import, executors and estimators return it in a Result instead, so that callers who cannot
/// catch exceptions can use them.
struct Error : std::exception {
  Error(ErrorCode kind, std::string_view place, std::string_view mistake, std::string_view remedy, std::string_view op_type = {},
        std::string_view node_name = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  /// message(), for callers that catch std::exception.
  const char* what() const noexcept override;

  /// "where problem", without the remedy, with the names of options still marked (`spelled`).
  std::string sentence() const;

  /// "where problem; hint" on one line, as in "points.npz has no labels; give them with --labels", with the names of options as
  /// `spell` writes them.
  std::string message(OptionSpelling spell = as_field) const;

  ErrorCode code;
  std::string where;    ///< the subject: a file, option, node or argument; empty if `problem` is a whole sentence
  std::string problem;  ///< the predicate: "has no labels"
  std::string hint;     ///< what to do: "give them with --labels"; may be empty
  std::string op;       ///< the ONNX operator concerned, if any
  std::string node;     ///< the name of its node

 private:
  mutable std::string line_;  // the text that what() returned last
};

/// The error of a call that was stopped.
Error interruption();

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

/// Adds the file's name to the subject of an error about its contents ("input 'x' of model.onnx"); if the subject is "the model"
/// or "the data set", the name replaces it. Subjects that are options or already contain the name do not change.
void add_file_name(Error& error, const std::string& file);

/// The exception being handled, as an Error: an Error unchanged, Error{resources} if memory ran out, otherwise Error{internal}.
/// In the last two cases, `where` is the subject. Call it in a catch block.
Error handled_error(const std::string& where);

/// The result of `body`, or the exception that it throws, as an Error (handled_error).
template <class Body>
auto guarded(const std::string& where, Body&& body) -> Result<decltype(body())> {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return handled_error(where);
  }
}

}  // namespace probust
