// SPDX-License-Identifier: MIT
// Converts between values of JavaScript and of the core. Everything is copied, because the module's memory moves when it grows.
// The values of arguments are checked only here, and their types in src/arguments.ts. All `read` functions throw Error{usage}
// with the name of the argument.
#pragma once

#include <emscripten/val.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/document.h"
#include "probust/exec/programs/external_engine.h"
#include "probust/normal/multivariate.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/run/run.h"

namespace probust::wasm {

using emscripten::val;

/// Above this, JavaScript numbers cannot represent every integer.
constexpr std::int64_t kMostInteger = std::int64_t{1} << 53;

/// The arguments of a call: a JavaScript object that has not been checked yet.
class CallArguments {
 public:
  explicit CallArguments(val object) : object_(std::move(object)) {}

  bool has(const char* name) const;
  val operator[](const char* name) const { return object_[name]; }

  double number(const char* name, double otherwise) const;
  std::int64_t integer(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most = kMostInteger) const;
  bool flag(const char* name) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<double> numbers(const char* name) const;
  std::vector<double> one_or_more(const char* name) const;  ///< a number, or several
  std::vector<std::int64_t> integers(const char* name) const;
  Shape extents(const char* name) const;
  std::vector<std::string> texts(const char* name, const std::string& otherwise) const;

 private:
  val object_;
};

/// Reads the points `x` as [N, ...point]. The length of `x` determines N. The values must be finite.
Tensor read_points(const CallArguments& arguments, const Shape& point, const char* name = "x");

/// Reads `noise` (texts that name entries of `arrays`, `categories`, `transforms` and `functions`), `clip` and `levels`.
/// `external` calls the functions.
std::vector<Noise> read_noises(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external);
Noise read_noise(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external);

/// Reads the estimators in the argument `name`, and their options `budget`, `totalBudget`, `independent` and `share`.
std::vector<EstimatorSpec> read_estimators(const CallArguments& arguments, const char* name);
EstimatorSpec read_estimator(const CallArguments& arguments);  ///< reads `estimator`

/// Reads `classNames`; empty if there are none.
std::vector<std::string> read_class_names(const CallArguments& arguments);

/// Reads `groups` (a text, or lists of numbers and names), `perClass` and `top`.
Event read_event(const CallArguments& arguments, std::int64_t classes);

/// Reads a matrix that is given as a flat array with `rows` rows. The length of the array must be a multiple of `rows`.
Eigen::MatrixXd read_matrix(const CallArguments& arguments, const char* name, std::size_t rows);

val write(std::span<const double> values);             ///< Float64Array
val write(std::span<const float> values);              ///< Float32Array
val write_ints(std::span<const std::int64_t> values);  ///< Int32Array
val write_bytes(std::string_view bytes);               ///< Uint8Array
val write_matrix(const Eigen::MatrixXd& matrix);       ///< Float64Array, row-major
val write(const Error& error);
val write(const Row& row);
val write(const Document& document);  ///< writes names in JavaScript's style
val write(const normal::Probability& answer);
val write(const Model& model, const Shape& point, const std::string& engine, double flops);
/// The name that an option of the core has in JavaScript, for messages.
std::string in_javascript(std::string_view field);

val number_or_null(const std::optional<double>& value);
val text_or_null(const std::string& text);

/// Returns {value: the result of `body`}, or {error} if it throws an Error.
val outcome(const std::string& where, const std::function<val()>& body);

}  // namespace probust::wasm
