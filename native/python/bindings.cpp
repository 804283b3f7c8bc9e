// SPDX-License-Identifier: MIT
// What probust/__init__.py calls. Arrays in, columns out; everything that users see is in Python.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/files_beside.h"
#include "datasets/noise_files.h"
#include "probust/data/datasets.h"
#include "probust/estimators/request.h"
#include "probust/model.h"

namespace py = pybind11;

namespace probust::python {
namespace {

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Whole = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMillisecondsBetweenSignals = 100;

Tensor tensor_of(const Floats& array) {
  return {Shape(array.shape(), array.shape() + array.ndim()), std::vector<float>(array.data(), array.data() + array.size())};
}

// Without a copy: the array owns the tensor's numbers.
py::array_t<float> array_of(Tensor tensor) {
  auto kept = std::make_unique<std::vector<float>>(std::move(tensor.data));
  const float* numbers = kept->data();
  const py::capsule owner(kept.release(), [](void* each) { delete static_cast<std::vector<float>*>(each); });
  return py::array_t<float>(std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()), numbers, owner);
}

// Not a copy either: valid during a call.
py::array_t<float> view_of(const Tensor& tensor) {
  py::array_t<float> array(std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()), tensor.data.data(), py::none());
  array.attr("flags").attr("writeable") = false;
  return array;
}

// The Python exception that ended a function, until the call that it belongs to has ended, too.
struct Raised {
  std::optional<py::error_already_set> error;

  template <class Call>
  Tensor keep(const char* function, Call&& call) {
    const py::gil_scoped_acquire gil;
    try {
      return tensor_of(py::cast<Floats>(std::forward<Call>(call)()));
    } catch (py::error_already_set& raised) {
      error.emplace(raised);
      throw Error{ErrorCode::internal, function, "raised an exception", ""};
    } catch (const py::cast_error&) {
      throw Error{ErrorCode::usage, function, "returned something else than numbers", "return an array [n, C]"};
    }
  }
};

std::vector<Noise> noises_of(const std::vector<std::string>& texts) {
  std::vector<Noise> noises;
  for (const std::string& text : texts) noises.push_back(parse_noise(text, datasets::noise_files()));
  return noises;
}

py::dict columns_of(const std::vector<Row>& rows) {
  py::dict columns;
  const auto add = [&](const char* name, auto value_of) {
    py::list column(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) column[i] = value_of(rows[i]);
    columns[name] = column;
  };
  add("index", [](const Row& row) { return row.index; });
  add("label", [](const Row& row) { return row.label.value_or(-1); });
  add("predicted", [](const Row& row) { return row.predicted; });
  add("target", [](const Row& row) { return row.target; });
  add("noise", [](const Row& row) { return row.noise; });
  add("sigma", [](const Row& row) { return row.sigma.value_or(kNone); });
  add("estimator", [](const Row& row) { return row.estimator; });
  add("p", [](const Row& row) { return row.estimate.p; });
  add("p_fail", [](const Row& row) { return row.estimate.p_fail; });
  add("std_error", [](const Row& row) { return row.estimate.std_error.value_or(kNone); });
  add("ci_low", [](const Row& row) { return row.estimate.ci_low.value_or(kNone); });
  add("ci_high", [](const Row& row) { return row.estimate.ci_high.value_or(kNone); });
  add("forwards", [](const Row& row) { return row.estimate.forwards; });
  add("backwards", [](const Row& row) { return row.estimate.backwards; });
  add("status", [](const Row& row) { return std::string(word(row.estimate.status)); });
  add("method", [](const Row& row) { return row.method(); });
  add("note", [](const Row& row) { return row.estimate.note; });
  const bool classes = !rows.empty() && !rows[0].estimate.classes.empty();
  if (classes) add("classes", [](const Row& row) { return py::cast(row.estimate.classes); });
  return columns;
}

class Model {
  // Works without the interpreter's lock, one call at a time.
  template <class Body>
  std::invoke_result_t<Body> alone(Body&& body) {
    const py::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    try {
      return std::forward<Body>(body)();
    } catch (const Error&) {
      if (!raised_ || !raised_->error) throw;
    }
    const py::gil_scoped_acquire gil;
    const py::error_already_set raised = *std::exchange(raised_->error, std::nullopt);
    throw py::error_already_set(raised);
  }

 public:
  Model(LoadedModel loaded, std::shared_ptr<Raised> raised) : loaded_(std::move(loaded)), raised_(std::move(raised)) {}

  std::int64_t classes() const { return loaded_.classes(); }
  const Shape& point_shape() const { return loaded_.point_shape(); }
  const std::vector<std::string>& notes() const { return loaded_.imported().notes; }

  py::array_t<float> logits(const Floats& x) {
    return array_of(alone([&] { return loaded_.logits(tensor_of(x)); }));
  }

  py::array_t<float> margins(const Floats& x, const std::optional<Whole>& targets) {
    const auto wanted = numbers(targets);
    return array_of(alone([&] { return loaded_.margins(tensor_of(x), wanted); }));
  }

  py::dict estimate(const Floats& x, const std::vector<std::string>& noises, const std::vector<std::string>& estimators,
                    const std::optional<Whole>& labels, const std::string& target, const std::string& groups, bool per_class,
                    std::int64_t top, std::uint64_t seed, std::int64_t first_index, const py::object& progress) {
    EstimateRequest request;
    request.x = tensor_of(x);
    if (request.x.shape == point_shape()) request.x.shape.insert(request.x.shape.begin(), 1);
    request.labels = numbers(labels);
    request.target = target;
    request.event = event_of(split_groups(groups), per_class, top, classes(), {});
    request.offset = first_index;
    request.seed = seed;
    request.noises = noises_of(noises);
    request.estimators = parse_estimators(estimators, {});
    return columns_of(alone([&] {
      EstimateRun run(loaded_.executor(), std::move(request));
      while (!run.step(kMillisecondsBetweenSignals)) between_steps(run, progress);
      return run.rows();
    }));
  }

 private:
  static std::vector<std::int64_t> numbers(const std::optional<Whole>& array) {
    if (!array) return {};
    return {array->data(), array->data() + array->size()};
  }

  static void between_steps(const Job& run, const py::object& progress) {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress.is_none()) progress(run.done(), run.planned());
  }

  LoadedModel loaded_;
  std::shared_ptr<Raised> raised_;  // null for models of files
  std::mutex mutex_;
};

LoadOptions load_options(const std::vector<double>& mean, const std::vector<double>& std, const std::string& layout,
                         const Shape& point_shape, const Shape& input_shape, const std::string& output_name, int threads,
                         std::int64_t memory) {
  LoadOptions options;
  options.preprocessing = {mean, std, parse_layout(layout, option("layout"))};
  options.point_shape = point_shape;
  options.input_shape = input_shape;
  options.output_name = output_name;
  options.execution.threads = threads;
  options.execution.memory = memory;
  return options;
}

template <class... Arguments>
std::unique_ptr<Model> model_of_file(const std::string& path, Arguments... arguments) {
  const datasets::Buffer file = datasets::map_regular_file(path, "give the path of a file that exists", "give an ONNX file");
  datasets::FilesBeside beside(path);
  LoadOptions options = load_options(arguments...);
  options.external_files = std::ref(beside);
  const py::gil_scoped_release released;
  return std::make_unique<Model>(load_model(std::as_bytes(file.bytes), options), nullptr);
}

template <class... Arguments>
std::unique_ptr<Model> model_of_bytes(const py::bytes& bytes, Arguments... arguments) {
  const std::string_view all(bytes);
  const LoadOptions options = load_options(arguments...);
  const py::gil_scoped_release released;
  return std::make_unique<Model>(load_model(std::as_bytes(std::span(all)), options), nullptr);
}

// The functions are released with the interpreter's lock, whichever thread does it.
std::shared_ptr<py::function> kept(const py::function& function) {
  return {new py::function(function), [](py::function* each) {
            const py::gil_scoped_acquire gil;
            delete each;
          }};
}

std::unique_ptr<Model> model_of_functions(const py::function& logits, const std::optional<py::function>& vjp,
                                          const Shape& point_shape, std::int64_t classes, std::int64_t batch) {
  auto raised = std::make_shared<Raised>();
  ClassifierFunctions functions;
  functions.logits = [=, call = kept(logits)](const Tensor& x) { return raised->keep("f", [&] { return (*call)(view_of(x)); }); };
  if (vjp)
    functions.vjp = [=, call = kept(*vjp)](const Tensor& x, const Tensor& cotangents) {
      return raised->keep("vjp", [&] { return (*call)(view_of(x), view_of(cotangents)); });
    };
  ExecutorOptions options;
  options.batch = batch;
  return std::make_unique<Model>(model_from_function(std::move(functions), point_shape, classes, options), raised);
}

py::tuple points_of(Tensor x, const std::vector<std::int64_t>& labels) {
  return py::make_tuple(array_of(std::move(x)),
                        labels.empty() ? py::object(py::none()) : py::array_t<std::int64_t>(py::cast(labels)));
}

py::tuple read(const std::string& path, std::int64_t offset, std::int64_t limit) {
  DatasetOptions options;
  options.offset = offset;
  options.limit = limit;
  Dataset data = read_dataset(path, options).value();
  return points_of(std::move(data.x), data.labels);
}

py::tuple make(const std::string& kind, std::int64_t count, std::uint64_t seed) {
  MadeDataOptions options;
  options.count = count;
  options.seed = seed;
  MadeData data = make_data(made_data_kind(kind), options);
  return points_of(std::move(data.x), data.labels);
}

void raise(const Error& error) {
  const py::object exception =
      py::module_::import("probust._errors").attr("exception")(static_cast<int>(error.code), error.message());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void bind(py::module_& module) {
  module.attr("version") = PROBUST_VERSION;
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(std::move(pointer));
    } catch (const Error& error) {
      raise(error);
    }
  });
  py::class_<Model>(module, "Model")
      .def_property_readonly("classes", &Model::classes)
      .def_property_readonly("point_shape", [](const Model& model) { return py::tuple(py::cast(model.point_shape())); })
      .def_property_readonly("notes", &Model::notes)
      .def("logits", &Model::logits)
      .def("margins", &Model::margins)
      .def("estimate", &Model::estimate);
  using Numbers = std::vector<double>;
  module.def("model_of_file", &model_of_file<Numbers, Numbers, std::string, Shape, Shape, std::string, int, std::int64_t>);
  module.def("model_of_bytes", &model_of_bytes<Numbers, Numbers, std::string, Shape, Shape, std::string, int, std::int64_t>);
  module.def("model_of_functions", &model_of_functions);
  module.def("read", &read);
  module.def("make", &make);
}

}  // namespace
}  // namespace probust::python

#ifdef PROBUST_DISPATCH
// Called by the door (door.cpp).
extern "C" __attribute__((visibility("default"))) void probust_bind(PyObject* module) {
  auto borrowed = py::reinterpret_borrow<py::module_>(module);
  probust::python::bind(borrowed);
}
#else
PYBIND11_MODULE(_probust, module) { probust::python::bind(module); }
#endif
