// SPDX-License-Identifier: MIT
#include "c/probust.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/noise_files.h"
#include "datasets/sibling_files.h"
#include "modules/device_modules.h"
#include "probust/model.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/request.h"

struct probust_model {
  probust::LoadedModel loaded;
};

struct probust_data {
  probust::Dataset read;
};

struct probust_rows {
  std::vector<probust::Row> rows;
  std::vector<std::string> warnings;
  std::vector<std::string> methods;  // row.method() for each row; stored, because probust_row::method points to it
};

namespace {

using probust::Error;
using probust::ErrorCode;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMillisecondsBetweenCalls = 50;

// The last error message. It is in a fixed array, because there may be no memory left to allocate.
thread_local char last_error[2048] = "no call has failed";

probust_status keep(const Error& error) {
  const std::string line = error.message();
  const std::size_t length = std::min(line.size(), sizeof last_error - 1);
  std::memcpy(last_error, line.data(), length);
  last_error[length] = '\0';
  return error.code == ErrorCode::conflict ? PROBUST_INTERNAL : static_cast<probust_status>(error.code);
}

// Runs the body; no exception leaves the library.
template <class Body>
probust_status returning_status(const char* function, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return PROBUST_OK;
  } catch (...) {
    try {
      return keep(probust::handled_error(function));
    } catch (...) {
      std::strcpy(last_error, "not enough memory");
      return PROBUST_RESOURCES;
    }
  }
}

void require(bool condition, const char* argument, const char* mistake, const char* remedy) {
  if (!condition) throw Error{ErrorCode::usage, argument, mistake, remedy};
}

void require_argument(const void* pointer, const char* name) {
  require(pointer != nullptr, name, "is NULL", "pass a valid pointer");
}

// Copies the caller's struct to one of this version. Members that the caller's version lacks are zero.
template <class Options>
Options options_of(const Options* given, const char* name) {
  Options options{};
  if (given == nullptr) return options;
  require(given->size >= sizeof(std::size_t) && given->size <= 4096, name, "has an invalid size",
          "set its member size to the sizeof of the struct");
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  return options;
}

// Writes the part of `value` that exists in the caller's version of the struct.
template <class Struct>
void give(Struct value, Struct* to, const char* name) {
  require_argument(to, name);
  require(to->size >= sizeof(std::size_t) && to->size <= 4096, name, "has an invalid size",
          "set its member size to the sizeof of the struct");
  value.size = to->size;
  std::memcpy(to, &value, std::min(to->size, sizeof value));
}

std::string text(const char* given, const char* otherwise = "") { return given == nullptr ? otherwise : given; }

template <class T>
std::vector<T> list(const T* values, std::size_t count, const char* name) {
  if (count == 0) return {};
  require_argument(values, name);
  return {values, values + count};
}

std::vector<std::string> texts(const char* const* values, std::size_t count, const char* name) {
  std::vector<std::string> result;
  for (const char* value : list(values, count, name)) {
    require_argument(value, name);
    result.emplace_back(value);
  }
  return result;
}

probust::LoadOptions load_options(const probust_load_options* given) {
  const probust_load_options from = options_of(given, "options");
  probust::LoadOptions options;
  options.preprocessing.mean = list(from.mean, from.mean_count, "mean");
  options.preprocessing.std = list(from.std, from.std_count, "std");
  options.preprocessing.layout = probust::parse_layout(text(from.layout, "auto"), probust::option("layout"));
  options.point_shape = list(from.point_shape, from.point_rank, "point_shape");
  options.input_shape = list(from.input_shape, from.input_rank, "input_shape");
  options.output_name = text(from.output_name);
  options.device = text(from.device, "cpu");
  require(from.threads >= 0, "threads", "is negative", "give the number of threads, or 0 for one thread");
  require(from.memory >= 0, "memory", "is negative", "give bytes, or 0 for the device's default");
  if (from.threshold != nullptr) options.threshold = *from.threshold;
  options.outputs = list(from.outputs, from.output_count, "outputs");
  if (from.threads > 0) options.execution.threads = from.threads;
  options.execution.memory = from.memory;
  options.execution.precision = probust::parse_precision(text(from.precision, "float32"));
  if (from.tolerance != 0) options.tolerance = {from.tolerance};
  probust::use_device_modules();
  return options;
}

void require_success(int status, const char* function) {
  if (status != 0) throw Error{ErrorCode::internal, function, "returned " + std::to_string(status), "return 0 for success"};
}

probust::ClassifierFunctions functions_of(const probust_functions& from) {
  probust::ClassifierFunctions functions;
  functions.logits = [from](const probust::Tensor& x) {
    probust::Tensor logits({x.shape[0], from.classes});
    require_success(from.logits(from.context, x.data.data(), x.shape[0], logits.data.data()), "logits");
    return logits;
  };
  if (from.vjp == nullptr) return functions;
  functions.vjp = [from](const probust::Tensor& x, const probust::Tensor& cotangents) {
    probust::Tensor gradients(x.shape);
    require_success(from.vjp(from.context, x.data.data(), cotangents.data.data(), x.shape[0], gradients.data.data()), "vjp");
    return gradients;
  };
  return functions;
}

// Copies points x [count, ...] of the model's point shape to a tensor.
probust::Tensor points(const probust_model& model, const float* x, std::int64_t count) {
  require_argument(x, "x");
  require(count > 0, "count", "is not positive", "give at least one point");
  probust::Shape shape = model.loaded.point_shape();
  shape.insert(shape.begin(), count);
  probust::Tensor tensor(shape);
  std::copy_n(x, tensor.data.size(), tensor.data.begin());
  return tensor;
}

probust::EstimateRequest request(probust_model& model, const float* x, std::int64_t count, const probust_estimate_options& from) {
  probust::EstimateRequest request;
  request.x = points(model, x, count);
  if (from.labels != nullptr) request.labels.assign(from.labels, from.labels + count);
  request.target = text(from.target, "predicted");
  require(from.top >= 0, "top", "is negative", "give K to ask for a place among the K largest logits (0 means 1)");
  request.event = probust::event_of(probust::split_groups(text(from.groups)), from.per_class != 0,
                                    std::max<std::int64_t>(from.top, 1), model.loaded.classes(), {});
  request.offset = from.first_index;
  request.seed = from.seed;
  require(from.noise_count > 0, "noises", "is empty", "give at least one, such as \"gaussian:0.1\"");
  for (const std::string& noise : texts(from.noises, from.noise_count, "noises"))
    request.noises.push_back(probust::parse_noise(noise, probust::datasets::noise_files()));
  probust::use_data(request.noises, [&] { return request.x; });
  probust::clip_like_data(request.noises, [&] { return probust::range_of(request.x.data); });
  request.estimators =
      probust::parse_estimators(texts(from.estimators, from.estimator_count, "estimators"), {.share = text(from.share)});
  return request;
}

void run(probust::EstimateRun& job, const probust_estimate_options& options) {
  if (options.progress == nullptr) return job.finish();
  while (!job.step(kMillisecondsBetweenCalls)) {
    if (options.progress(options.context, job.done(), job.planned()) != 0) throw probust::interruption();
  }
}

probust_row row_of(const probust::Row& row, const std::string& method) {
  const probust::Estimate& estimate = row.estimate;
  probust_row result{};
  result.index = row.index;
  result.label = row.label.value_or(-1);
  result.predicted = row.predicted;
  result.target = row.target;
  result.noise = row.noise.c_str();
  result.sigma = row.sigma.value_or(kNone);
  result.estimator = row.estimator.c_str();
  result.p = estimate.p;
  result.p_fail = estimate.p_fail;
  result.std_error = estimate.std_error.value_or(kNone);
  result.ci_low = estimate.ci_low.value_or(kNone);
  result.ci_high = estimate.ci_high.value_or(kNone);
  result.forwards = estimate.forwards;
  result.backwards = estimate.backwards;
  result.status = probust::word(estimate.status).data();  // a string literal
  result.method = method.c_str();
  result.note = estimate.note.c_str();
  result.classes = estimate.classes.empty() ? nullptr : estimate.classes.data();
  result.class_count = estimate.classes.size();
  result.p_label = estimate.p_label.value_or(kNone);
  result.p_label_low = estimate.p_label_low.value_or(kNone);
  result.p_label_high = estimate.p_label_high.value_or(kNone);
  return result;
}

}  // namespace

extern "C" {

const char* probust_version(void) { return PROBUST_VERSION; }

const char* probust_error(void) { return last_error; }

const char* probust_device(size_t i, const char** problem) {
  static thread_local std::vector<probust::DeviceStatus> all;
  const char* name = nullptr;
  returning_status("probust_device", [&] {
    probust::use_device_modules();
    all = probust::devices();
    if (problem != nullptr) *problem = nullptr;
    if (i >= all.size()) return;
    name = all[i].name.c_str();
    if (problem != nullptr && !all[i].problem.empty()) *problem = all[i].problem.c_str();
  });
  return name;
}

probust_status probust_load_model(const char* path, const probust_load_options* options, probust_model** model) {
  return returning_status("probust_load_model", [&] {
    require_argument(path, "path");
    require_argument(model, "model");
    const probust::datasets::Buffer file =
        probust::datasets::map_regular_file(path, "give the path of an existing file", "give an ONNX file");
    probust::datasets::SiblingFiles files(path);
    probust::LoadOptions wanted = load_options(options);
    wanted.external_files = std::ref(files);
    *model = new probust_model{probust::load_model(std::as_bytes(file.bytes), wanted)};
  });
}

probust_status probust_load_model_bytes(const void* bytes, size_t count, const probust_load_options* options,
                                        probust_model** model) {
  return returning_status("probust_load_model_bytes", [&] {
    require_argument(bytes, "bytes");
    require_argument(model, "model");
    const std::span all(static_cast<const std::byte*>(bytes), count);
    *model = new probust_model{probust::load_model(all, load_options(options))};
  });
}

probust_status probust_model_from_function(const probust_functions* functions, probust_model** model) {
  return returning_status("probust_model_from_function", [&] {
    require_argument(functions, "functions");
    require_argument(model, "model");
    const probust_functions from = options_of(functions, "functions");
    require(from.logits != nullptr, "logits", "is NULL", "give the function that computes logits");
    probust::ExecutorOptions execution;
    require(from.batch >= 0, "batch", "is negative", "give the largest number of points per call, or 0 for the default");
    execution.batch = from.batch;
    *model = new probust_model{probust::model_from_function(
        functions_of(from), list(from.point_shape, from.point_rank, "point_shape"), from.classes, execution)};
  });
}

void probust_free_model(probust_model* model) { delete model; }

const char* probust_decision(const probust_model* model) {
  return model == nullptr ? "" : model->loaded.imported().decision.c_str();
}

const char* probust_class_name(const probust_model* model, int64_t class_number) {
  if (model == nullptr) return nullptr;
  const std::vector<std::string>& names = model->loaded.imported().class_names;
  const bool known = class_number >= 0 && class_number < static_cast<int64_t>(names.size());
  return known ? names[static_cast<std::size_t>(class_number)].c_str() : nullptr;
}

int64_t probust_classes(const probust_model* model) { return model == nullptr ? 0 : model->loaded.classes(); }

size_t probust_point_shape(const probust_model* model, int64_t* shape, size_t capacity) {
  if (model == nullptr) return 0;
  const probust::Shape& point = model->loaded.point_shape();
  if (shape != nullptr) std::copy_n(point.begin(), std::min(point.size(), capacity), shape);
  return point.size();
}

probust_status probust_logits(probust_model* model, const float* x, int64_t count, float* logits) {
  return returning_status("probust_logits", [&] {
    require_argument(model, "model");
    require_argument(logits, "logits");
    const probust::Tensor all = model->loaded.logits(points(*model, x, count));
    std::copy(all.data.begin(), all.data.end(), logits);
  });
}

probust_status probust_estimate(probust_model* model, const float* x, int64_t count, const probust_estimate_options* options,
                                probust_rows** rows) {
  return returning_status("probust_estimate", [&] {
    require_argument(model, "model");
    require_argument(rows, "rows");
    const probust_estimate_options wanted = options_of(options, "options");
    probust::EstimateRequest asked = request(*model, x, count, wanted);
    probust::CheckReport found;
    if (wanted.no_check == 0) found = model->loaded.first_check(asked);
    const bool labelled = !asked.labels.empty();
    probust::EstimateRun job = model->loaded.start_estimate(std::move(asked));
    run(job, wanted);
    auto result = std::make_unique<probust_rows>();
    result->rows = job.take_rows();
    if (wanted.no_check == 0) result->warnings = model->loaded.attach_check(std::move(found), labelled, result->rows);
    for (std::string& text : model->loaded.take_warnings()) result->warnings.push_back(std::move(text));
    for (const probust::Row& row : result->rows) result->methods.push_back(row.method());
    *rows = result.release();
  });
}

probust_status probust_p_gradient(probust_model* model, const float* x, int64_t count, const probust_gradient_options* options,
                                  float* gradient) {
  return returning_status("probust_p_gradient", [&] {
    require_argument(model, "model");
    require_argument(gradient, "gradient");
    const probust_gradient_options from = options_of(options, "options");
    require(from.noise != nullptr, "noise", "is missing", "give one, such as \"gaussian:0.1\"");
    probust::PGradientOptions wanted;
    wanted.target = text(from.target, "predicted");
    if (from.labels != nullptr) wanted.labels.assign(from.labels, from.labels + count);
    wanted.seed = from.seed;
    wanted.first_index = from.first_index;
    wanted.noise_source = probust::datasets::noise_files();
    const probust::GradientOfP found =
        model->loaded.p_gradient(points(*model, x, count), from.noise, text(from.estimator, "taylor"), wanted);
    const probust::Tensor& errors = found.std_error;
    require(from.std_error == nullptr || errors.size() > 0, "std_error", "applies only to mc:N", "give NULL");
    std::copy(found.gradient.data.begin(), found.gradient.data.end(), gradient);
    if (from.std_error != nullptr) std::copy(errors.data.begin(), errors.data.end(), from.std_error);
    for (const std::string& warning : found.warnings) {
      if (from.warn != nullptr) from.warn(from.context, warning.c_str());
    }
  });
}

probust_status probust_check(probust_model* model, const float* x, int64_t count, const probust_check_options* options,
                             char** written) {
  return returning_status("probust_check", [&] {
    require_argument(model, "model");
    require_argument(written, "text");
    const probust_check_options from = options_of(options, "options");
    std::vector<std::int64_t> labels;
    if (from.labels != nullptr) labels.assign(from.labels, from.labels + count);
    const probust::CheckReport report =
        model->loaded.check(points(*model, x, count), labels, list(from.sigmas, from.sigma_count, "sigmas"));
    const std::string result = from.text != 0 ? probust::check_text(report) : probust::check_json(report);
    char* const copy = new char[result.size() + 1];
    std::memcpy(copy, result.c_str(), result.size() + 1);
    *written = copy;
  });
}

void probust_free_text(char* text) { delete[] text; }

const char* probust_warning(const probust_rows* rows, size_t i) {
  return rows == nullptr || i >= rows->warnings.size() ? nullptr : rows->warnings[i].c_str();
}

size_t probust_row_count(const probust_rows* rows) { return rows == nullptr ? 0 : rows->rows.size(); }

probust_status probust_get_row(const probust_rows* rows, size_t i, probust_row* row) {
  return returning_status("probust_get_row", [&] {
    require_argument(rows, "rows");
    require(i < rows->rows.size(), "i", "is beyond the last row", "give a number below probust_row_count");
    give(row_of(rows->rows[i], rows->methods[i]), row, "row");
  });
}

void probust_free_rows(probust_rows* rows) { delete rows; }

probust_status probust_read_data(const char* path, const probust_data_options* options, probust_data** data) {
  return returning_status("probust_read_data", [&] {
    require_argument(path, "path");
    require_argument(data, "data");
    const probust_data_options from = options_of(options, "options");
    probust::DatasetOptions wanted;
    require(from.limit >= 0, "limit", "is negative", "give the number of points to read, or 0 for all");
    wanted.offset = from.offset;
    if (from.limit != 0) wanted.limit = from.limit;
    if (from.scale != 0) wanted.scale = from.scale;
    wanted.labels_path = text(from.labels_path);
    wanted.label_column = text(from.label_column, "last");
    wanted.skip_bad = from.skip_bad != 0;
    wanted.resize = from.resize;
    wanted.crop = from.crop;
    if (from.classes_path != nullptr) wanted.classes = probust::read_class_names(from.classes_path).value();
    *data = new probust_data{probust::read_dataset(path, wanted).value()};
    for (std::string& note : (*data)->read.notes) note = probust::spelled(note, probust::as_field);
  });
}

probust_status probust_get_points(const probust_data* data, probust_points* points) {
  return returning_status("probust_get_points", [&] {
    require_argument(data, "data");
    const probust::Tensor& x = data->read.x;
    probust_points result{};
    result.x = x.data.data();
    result.count = x.shape[0];
    result.shape = x.shape.data() + 1;
    result.rank = x.shape.size() - 1;
    result.labels = data->read.labels.empty() ? nullptr : data->read.labels.data();
    result.index = data->read.index.data();
    give(result, points, "points");
  });
}

const char* probust_data_note(const probust_data* data, size_t i) {
  return data == nullptr || i >= data->read.notes.size() ? nullptr : data->read.notes[i].c_str();
}

void probust_free_data(probust_data* data) { delete data; }

}  // extern "C"
