// SPDX-License-Identifier: MIT
#include "convert.h"

#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "probust/base/text.h"
#include "probust/perturb/noise_text.h"
#include "probust/perturb/transform_model.h"
#include "probust/run/fields.h"

namespace probust::wasm {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& hint) {
  throw Error{ErrorCode::usage, where, what, hint};
}

bool is(const val& value, const char* type) { return value.typeOf().as<std::string>() == type; }

// Accepts only typed arrays and plain arrays.
void require_list(const val& value, const char* name) {
  if (value.isArray() || val::global("ArrayBuffer").call<bool>("isView", value)) return;
  refuse(name, "is not an array", "give an array or a typed array of numbers");
}

template <class T>
std::vector<T> numbers_of(const val& value, const char* name) {
  require_list(value, name);
  return emscripten::convertJSArrayToNumberVector<T>(value);
}

std::vector<std::int64_t> whole(const std::vector<double>& values, const std::string& name) {
  constexpr auto kExact = static_cast<double>(kMostInteger);
  std::vector<std::int64_t> integers;
  for (const double value : values) {
    if (!(std::fabs(value) <= kExact) || value != std::floor(value))
      refuse(name, "has the value " + shortest_text(value) + ", which is not a whole number from -2^53 to 2^53",
             "give whole numbers");
    integers.push_back(static_cast<std::int64_t>(value));
  }
  return integers;
}

NoiseArray read_array(const val& entry, const std::string& name) {
  if (!is(entry, "object")) refuse("arrays", "has no '" + name + "'", "give {" + name + ": {data, shape}}");
  const CallArguments array(entry);
  NoiseArray result{array.extents("shape"), array.numbers("data"), name};
  if (element_count(result.shape) != static_cast<std::int64_t>(result.values.size()))
    refuse(name,
           "has " + std::to_string(result.values.size()) + " numbers, but its shape " + to_string(result.shape) + " needs " +
               std::to_string(element_count(result.shape)),
           "");
  return result;
}

std::vector<val> list_of(const val& value, const char* name) {
  if (!value.isArray()) refuse(name, "is not a list", "try '0,1/2,3' or [[0, 1], [2, 3]]");
  return emscripten::vecFromJSArray<val>(value);
}

std::vector<Category> read_categories(const val& groups, const std::string& name) {
  if (!groups.isArray()) refuse("categories", "has no '" + name + "'", "give {" + name + ": [{columns, transitions}]}");
  std::vector<Category> categories;
  for (const val& entry : emscripten::vecFromJSArray<val>(groups)) {
    const CallArguments group(entry);
    Category category{group.integers("columns"), group.numbers("transitions"), group.numbers("codes")};
    if (group.has("joint")) {
      for (const val& each : list_of(entry["joint"], "joint")) {
        const CallArguments joint(each);
        category.joint.push_back({joint.integer("column", -1, -1), joint.numbers("add")});
      }
    }
    categories.push_back(std::move(category));
  }
  return categories;
}

// A perturbation that is a function in JavaScript. The page calls it and passes its result to Call::answer.
OwnPerturbation called_elsewhere(std::shared_ptr<ExternalEngine> external, const std::string& name, std::int64_t latents) {
  OwnPerturbation own;
  own.latents = latents;
  own.function = [external = std::move(external), name](Tensor x, Tensor z) {
    const std::vector<float>& moved = external->ask({x.shape[0], std::move(x.data), {}, name, std::move(z.data)});
    return Tensor(std::move(x.shape), moved);
  };
  return own;
}

// The function or the model to which "transform:NAME" refers.
OwnPerturbation read_perturbation(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external,
                                  const std::string& name) {
  const auto entry = [&](const char* map) { return arguments.has(map) ? arguments[map][name] : val::undefined(); };
  const val latents = entry("functions"), bytes = entry("transforms");
  if (latents.isNumber()) return called_elsewhere(external, name, static_cast<std::int64_t>(latents.as<double>()));
  if (!is(bytes, "object") || bytes.isNull())
    refuse("transforms", "has no '" + name + "'", "give {'" + name + "': the bytes of an ONNX model of x and z}");
  const std::vector<std::uint8_t> model = numbers_of<std::uint8_t>(bytes, "transforms");
  return transform_model(std::as_bytes(std::span(model)), name);
}

// Looks up the values that noise texts refer to by name. They are arguments, because a page has no files.
NoiseSource named_values(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external) {
  const auto entry = [arguments](const char* map, const std::string& name) {
    return arguments.has(map) ? arguments[map][name] : val::undefined();
  };
  return {[entry](const std::string& name) { return read_array(entry("arrays", name), name); },
          [entry](const std::string& name) { return read_categories(entry("categories", name), name); },
          [arguments, external](const std::string& name) { return read_perturbation(arguments, external, name); }};
}

std::vector<ColumnRange> read_ranges(const CallArguments& arguments) {
  const std::int64_t levels = arguments.integer("levels", 0, 0);
  if (!arguments.has("clip")) return parse_ranges("0,1", levels, "clip");
  if (is(arguments["clip"], "string")) return parse_ranges(arguments.text("clip", ""), levels, "clip");
  const std::vector<double> clip = arguments.numbers("clip");
  if (clip.size() != 2) refuse("clip", "is not [low, high]", "try [0, 1]");
  return {{{clip[0], clip[1], levels}, {{}, true}}};
}

val write_port(const Port& port) {
  val entry = val::object();
  entry.set("name", port.name);
  entry.set("type", port.type);
  entry.set("shape", val::array(std::vector<double>(port.shape.begin(), port.shape.end())));
  return entry;
}

val write_use(const OperatorUse& use) {
  val entry = val::object();
  entry.set("opType", use.op_type);
  entry.set("domain", use.domain);
  entry.set("count", static_cast<double>(use.count));
  entry.set("runs", use.runs);
  entry.set("differentiable", use.differentiable);
  return entry;
}

template <class Entry>
val write_list(const std::vector<Entry>& entries, val (*write_entry)(const Entry&)) {
  val list = val::array();
  for (const Entry& entry : entries) list.call<void>("push", write_entry(entry));
  return list;
}

template <class T>
val copy(const T* values, std::size_t count) {
  return val(emscripten::typed_memory_view(count, values)).template call<val>("slice");
}

}  // namespace

// The package's name of an option: the core's name in camel case, with one exception.
std::string in_javascript(std::string_view field) {
  if (field == "output_name") return "output";
  std::string name;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool begins = i > 0 && field[i - 1] == '_';
    if (field[i] != '_') name += begins ? static_cast<char>(field[i] - 'a' + 'A') : field[i];
  }
  return name;
}

bool CallArguments::has(const char* name) const {
  const val value = object_[name];
  return !value.isUndefined() && !value.isNull();
}

double CallArguments::number(const char* name, double otherwise) const {
  if (!has(name)) return otherwise;
  if (!is(object_[name], "number")) refuse(name, "is not a number", "give a number");
  return object_[name].as<double>();
}

std::int64_t CallArguments::integer(const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  const std::int64_t value = whole({number(name, static_cast<double>(otherwise))}, name)[0];
  if (value < least) refuse(name, "is " + std::to_string(value), "give " + std::to_string(least) + " or more");
  if (value > most) refuse(name, "is " + std::to_string(value), "give at most " + std::to_string(most));
  return value;
}

bool CallArguments::flag(const char* name) const { return has(name) && object_[name].isTrue(); }

std::string CallArguments::text(const char* name, const std::string& otherwise) const {
  if (!has(name)) return otherwise;
  if (!is(object_[name], "string")) refuse(name, "is not a string", "give a string");
  return object_[name].as<std::string>();
}

std::vector<double> CallArguments::numbers(const char* name) const {
  return has(name) ? numbers_of<double>(object_[name], name) : std::vector<double>{};
}

std::vector<double> CallArguments::one_or_more(const char* name) const {
  return has(name) && is(object_[name], "number") ? std::vector<double>{number(name, 0)} : numbers(name);
}

std::vector<std::int64_t> CallArguments::integers(const char* name) const { return whole(numbers(name), name); }

Shape CallArguments::extents(const char* name) const {
  Shape shape = integers(name);
  for (const std::int64_t extent : shape) {
    if (extent < 1) refuse(name, "is " + to_string(shape), "give extents of at least 1");
  }
  return shape;
}

std::vector<std::string> CallArguments::texts(const char* name, const std::string& otherwise) const {
  if (!has(name) || !object_[name].isArray()) return {text(name, otherwise)};
  std::vector<std::string> list;
  for (const val& entry : emscripten::vecFromJSArray<val>(object_[name])) {
    if (!is(entry, "string")) refuse(name, "has an entry that is not a string", "give strings");
    list.push_back(entry.as<std::string>());
  }
  return list;
}

Tensor read_points(const CallArguments& arguments, const Shape& point, const char* name) {
  if (!arguments.has(name)) refuse(name, "is missing", "give an array of numbers");
  std::vector<float> values = numbers_of<float>(arguments[name], name);
  const auto size = static_cast<std::size_t>(element_count(point));
  if (values.empty() || values.size() % size != 0)
    refuse(name, "has " + std::to_string(values.size()) + " numbers",
           "give " + std::to_string(size) + " for each point, whose shape is " + to_string(point));
  for (std::size_t e = 0; e < values.size(); ++e) {
    if (!std::isfinite(values[e])) refuse(name, "has NaN or infinity at " + std::to_string(e), "give finite numbers");
  }
  Shape shape = point;
  shape.insert(shape.begin(), static_cast<std::int64_t>(values.size() / size));
  return {std::move(shape), std::move(values)};
}

// Named arrays are arguments here, so a missing one is a usage error.
Noise parsed(const std::string& text, const NoiseSource& source) {
  try {
    return parse_noise(text, source);
  } catch (Error& error) {
    if (error.code == ErrorCode::unreadable) error.code = ErrorCode::usage;
    throw;
  }
}

std::vector<Noise> read_noises(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external) {
  std::vector<Noise> noises;
  if (!arguments.has("noise")) refuse("noise", "is missing", "try 'gaussian:0.1'");
  const NoiseSource source = named_values(arguments, external);
  for (const std::string& text : arguments.texts("noise", "")) {
    noises.push_back(parsed(text, source));
    if (arguments.has("clip") || arguments.has("levels"))
      noises.back().shape = clipped(noises.back().shape, read_ranges(arguments));
  }
  return noises;
}

Noise read_noise(const CallArguments& arguments, const std::shared_ptr<ExternalEngine>& external) {
  std::vector<Noise> noises = read_noises(arguments, external);
  if (noises.size() != 1) refuse("noise", "has " + std::to_string(noises.size()) + " models", "give one");
  return std::move(noises[0]);
}

std::vector<EstimatorSpec> read_estimators(const CallArguments& arguments, const char* name) {
  AutoBudget budget;
  if (arguments.has("budget")) budget.each = arguments.number("budget", 0);
  if (arguments.has("totalBudget")) budget.total = arguments.number("totalBudget", 0);
  budget.independent = arguments.flag("independent");
  budget.share = arguments.text("share", "");
  std::vector<std::string> texts = arguments.texts(name, "auto");
  if (texts.empty()) refuse(name, "are missing", "try taylor");
  return parse_estimators(std::move(texts), budget);
}

std::vector<std::string> read_class_names(const CallArguments& arguments) {
  return arguments.has("classNames") ? arguments.texts("classNames", "") : std::vector<std::string>{};
}

Event read_event(const CallArguments& arguments, std::int64_t classes) {
  std::vector<std::vector<std::string>> groups;
  if (arguments.has("groups") && is(arguments["groups"], "string")) {
    groups = split_groups(arguments.text("groups", ""));
  } else if (arguments.has("groups")) {
    for (const val& group : list_of(arguments["groups"], "groups")) {
      groups.emplace_back();
      for (const val& member : list_of(group, "groups")) groups.back().push_back(member.call<std::string>("toString"));
    }
  }
  return event_of(groups, arguments.flag("perClass"), arguments.integer("top", 1, 0), classes, read_class_names(arguments));
}

EstimatorSpec read_estimator(const CallArguments& arguments) {
  const std::vector<EstimatorSpec> estimators = read_estimators(arguments, "estimator");
  if (estimators.size() != 1) refuse("estimator", "has " + std::to_string(estimators.size()) + " estimators", "give one");
  return estimators[0];
}

Eigen::MatrixXd read_matrix(const CallArguments& arguments, const char* name, std::size_t rows) {
  const std::vector<double> values = arguments.numbers(name);
  if (rows == 0 && values.empty()) return {};
  if (rows == 0 || values.size() % rows != 0)
    refuse(
        name,
        "has " + std::to_string(values.size()) + " numbers, which do not form " + std::to_string(rows) + " rows of equal length",
        "give the numbers of the matrix row by row");
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(rows),
                                    static_cast<Eigen::Index>(values.size() / rows));
}

val write(std::span<const double> values) { return copy(values.data(), values.size()); }
val write(std::span<const float> values) { return copy(values.data(), values.size()); }

val write_ints(std::span<const std::int64_t> values) {
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return copy(narrow.data(), narrow.size());
}

val write_bytes(std::string_view bytes) { return copy(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

val write_matrix(const Eigen::MatrixXd& matrix) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows = matrix;
  return copy(by_rows.data(), static_cast<std::size_t>(by_rows.size()));
}

val write(const Error& error) {
  val object = val::object();
  object.set("code", static_cast<int>(error.code));
  object.set("message", error.message(in_javascript));
  object.set("problem", printable(spelled(error.problem, in_javascript)));
  object.set("hint", printable(spelled(error.hint, in_javascript)));
  object.set("op", error.op);
  object.set("node", error.node);
  return object;
}

val number_or_null(const std::optional<double>& value) { return value && std::isfinite(*value) ? val(*value) : val::null(); }

val text_or_null(const std::string& text) { return text.empty() ? val::null() : val(text); }

// An integer as a double, the type of numbers in JavaScript.
val whole(std::int64_t value) { return val(static_cast<double>(value)); }

// Converts fields of rows. FieldValue is not used, because it is a variant. The destructor of a variant must not throw, but it
// calls functions that may be in a part of the module that has not been loaded yet (split/).
val field_value(std::int64_t field) { return whole(field); }
val field_value(std::optional<std::int64_t> field) { return field ? whole(*field) : val::null(); }
val field_value(double field) { return number_or_null(field); }
val field_value(std::optional<double> field) { return number_or_null(field); }
val field_value(const std::string& field) { return text_or_null(field); }
val field_value(Status field) { return val(std::string(word(field))); }
val field_value(const MethodField<const Row>& field) { return val(field.text()); }
val field_value(const std::vector<double>& field) {
  return field.empty() ? val::null() : write_list<double>(field, [](const double& p) { return number_or_null(p); });
}

val write(const Row& row) {
  val object = val::object();
  for_each_field(row, [&](Column column, const auto& field) {
    const val value = field_value(field);
    if (!column.left_out_if_empty || !value.isNull()) object.set(in_javascript(column.name), value);
  });
  return object;
}

struct ToJavaScript {
  val operator()(std::monostate) const { return val::null(); }
  val operator()(std::int64_t value) const { return whole(value); }
  val operator()(bool value) const { return val(value); }
  val operator()(double value) const { return number_or_null(value); }
  val operator()(const std::string& text) const { return val(text); }
  val operator()(const Document::List& documents) const { return write_list<Document>(documents, write); }
  val operator()(const Document::Object& parts) const {
    val object = val::object();
    for (const auto& [name, value] : parts) object.set(in_javascript(name), write(value));
    return object;
  }
};

val write(const Document& document) { return document.visit(ToJavaScript{}); }

val write(const normal::Probability& answer) {
  val object = val::object();
  object.set("p", number_or_null(answer.p));
  object.set("pFail", number_or_null(answer.p_fail));
  object.set("error", number_or_null(answer.error));
  object.set("errorFail", number_or_null(answer.error_fail));
  object.set("method", std::string(answer.method));
  object.set("status", std::string(normal::describe(answer.status)));
  return object;
}

val write(const Model& model, const Shape& point, const std::string& engine, double flops) {
  const auto shape = [](const Shape& extents) { return val::array(std::vector<double>(extents.begin(), extents.end())); };
  const ModelSummary& summary = model.summary;
  val object = val::object();
  object.set("engine", engine);
  object.set("producer", summary.producer);
  object.set("graph", summary.graph_name);
  object.set("opset", static_cast<double>(summary.opset));
  object.set("parameters", static_cast<double>(summary.parameters));
  object.set("flops", flops);
  object.set("classes", static_cast<double>(model.classes));
  object.set("pointShape", shape(point));
  object.set("inputShape", shape(model.input_shape));
  object.set("logits", model.output_name);
  object.set("decision", model.decision);
  if (model.threshold) object.set("threshold", *model.threshold);
  if (!model.class_names.empty()) object.set("classNames", val::array(model.class_names));
  object.set("inputs", write_list(summary.inputs, write_port));
  object.set("outputs", write_list(summary.outputs, write_port));
  object.set("operators", write_list(summary.operators, write_use));
  val notes = val::array();
  for (const std::string& note : model.notes) notes.call<void>("push", note);
  object.set("notes", notes);
  return object;
}

val outcome(const std::string& where, const std::function<val()>& body) {
  val object = val::object();
  const Result<val> result = guarded(where, body);
  if (result) {
    object.set("value", *result);
  } else {
    object.set("error", write(result.error()));
  }
  return object;
}

}  // namespace probust::wasm
