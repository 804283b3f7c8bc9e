// SPDX-License-Identifier: MIT
// The functions that probust/__init__.py calls. They take arrays and return columns; the public interface is written in Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "datasets/noise_files.h"
#include "datasets/sibling_files.h"
#include "modules/device_modules.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/model.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/fields.h"
#include "probust/run/request.h"
#include "python/accuracies.h"
#include "python/arrays.h"
#include "python/data.h"
#include "python/noise.h"
#include "python/worker.h"

namespace probust::python {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Numbers become a NumPy array; texts and lists become a Python list.
template <typename T>
py::object column_of(const std::vector<T>& values) {
  if constexpr (std::is_arithmetic_v<T>) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
  } else {
    return py::cast(values);
  }
}

py::dict columns_of(const std::vector<Row>& rows, std::int64_t classes) {
  py::dict columns;
  const auto add = [&](const std::string& name, const auto& values) { columns[py::str(name)] = column_of(values); };
  for (const NamedColumn& each : columns_of(std::span(rows))) {
    if (const auto* of_classes = std::get_if<std::vector<std::vector<double>>>(&each.values)) {
      for (std::int64_t c = 0; c < classes; ++c) {
        std::vector<double> values;
        for (const std::vector<double>& own : *of_classes)
          values.push_back(own.empty() ? kNone : own[static_cast<std::size_t>(c)]);
        add("p_class_" + std::to_string(c), values);
      }
    } else if (!each.column.left_out_if_empty) {
      std::visit([&](const auto& values) { add(each.column.name, values); }, each.values);
    }
  }
  return columns;
}

// The Python functions of a model that was not loaded from a file. They are visible to Python's cycle collector.
struct Functions {
  py::object logits, vjp;
};

class Model {
 public:
  explicit Model(LoadedModel loaded) : loaded_(std::move(loaded)), worker_(std::make_shared<Worker>()) {}
  Model(LoadedModel loaded, std::shared_ptr<Worker> worker, std::shared_ptr<Functions> functions)
      : loaded_(std::move(loaded)), worker_(std::move(worker)), functions_(std::move(functions)) {}

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // After fork(), leak the workers: their threads do not exist in the child, and joining them would hang.
  ~Model() {
    if (!lost()) return;
    (void)std::make_unique<LoadedModel>(std::move(loaded_)).release();
    (void)std::make_unique<std::shared_ptr<Worker>>(std::move(worker_)).release();
  }

  Functions* functions() const { return functions_.get(); }

  std::int64_t classes() const { return loaded_.classes(); }
  const Shape& point_shape() const { return loaded_.point_shape(); }
  const std::vector<std::string>& notes() const { return loaded_.imported().notes; }
  std::vector<std::string> take_warnings() { return loaded_.take_warnings(); }
  const std::string& decision() const { return loaded_.imported().decision; }
  const std::vector<std::string>& class_names() const { return loaded_.imported().class_names; }

  py::array_t<float> logits(const Floats& x) {
    const PointsOf points(x, point_shape());
    return in_blocks(points, loaded_.outputs(),
                     [&](std::int64_t first, std::int64_t count) { return loaded_.logits(points.rows(first, count)); });
  }

  py::array_t<float> margins(const Floats& x, const std::optional<Whole>& targets) {
    const PointsOf points(x, point_shape());
    const NumbersOf wanted("targets", targets, points.count());
    return in_blocks(points, classes() - 1, [&](std::int64_t first, std::int64_t count) {
      return loaded_.margins(points.rows(first, count), wanted.rows(first, count));
    });
  }

  // Returns the gradients, their standard errors (None if there are none), p and warnings.
  py::tuple p_gradient(const Floats& x, const std::vector<std::string>& noises, const py::dict& functions,
                       const std::string& estimator, const std::optional<Whole>& labels, const std::string& target,
                       const std::optional<Whole>& targets, std::uint64_t seed, std::int64_t first_index,
                       const py::object& progress) {
    const PointsOf points(x, point_shape());
    const NumbersOf all_labels("labels", labels, points.count()), all_targets("target", targets, points.count());
    if (noises.size() != 1) throw Error{ErrorCode::usage, option("noise"), "must be one noise model", "give one sigma or noise"};
    const Noise noise = noises_of(noises, functions, worker_)[0];
    const EstimatorSpec asked = parse_estimator(estimator);
    GradientOfP result;
    const auto work = [&] {
      result = loaded_.p_gradient(points.rows(0, points.count()), noise, asked,
                                  {all_targets.all(), target, all_labels.all(), seed, first_index});
    };
    work_alone(work, progress, points.count() * (1 + asked.passes(classes())));
    const auto array = [&](Tensor& tensor) {
      tensor.shape.assign(x.shape(), x.shape() + x.ndim());
      return array_of(std::move(tensor));
    };
    py::object std_error = py::none();
    if (result.std_error.size() > 0) std_error = array(result.std_error);
    return py::make_tuple(array(result.gradient), std_error, column_of(result.p), result.warnings);
  }

  // Returns the report as JSON and as text.
  py::tuple check(const Floats& x, const std::optional<Whole>& labels, const std::vector<double>& sigmas) {
    const PointsOf points(x, point_shape());
    const NumbersOf all_labels("labels", labels, points.count());
    CheckReport report;
    work_alone([&] { report = loaded_.check(points.rows(0, points.count()), all_labels.rows(0, points.count()), sigmas); },
               py::none(), 0);
    return py::make_tuple(check_json(report), check_text(report));
  }

  py::dict estimate(const Floats& x, const std::vector<std::string>& noises, const py::dict& named,
                    const std::vector<std::string>& estimators, const std::optional<Whole>& labels, const std::string& target,
                    const std::optional<Whole>& targets, const std::string& groups, bool per_class, std::int64_t top,
                    std::uint64_t seed, std::int64_t first_index, bool check, const std::string& share,
                    const py::object& progress) {
    const PointsOf points(x, point_shape());
    const NumbersOf all_labels("labels", labels, points.count()), all_targets("target", targets, points.count());
    if (loaded_.regression() == nullptr) {
      require_classes(all_labels.all(), classes());
      refuse_signs(all_labels.all(), classes());
    }
    EstimateRequest request;
    request.target = target;
    request.event = event_of(split_groups(groups), per_class, top, classes(), {});
    request.seed = seed;
    request.noises = noises_of(noises, named, worker_);
    use_data(request.noises, [&] { return points.for_noise(); });
    clip_like_data(request.noises, [&] { return range_of(points.values()); });
    request.estimators = parse_estimators(estimators, {.share = share});
    std::vector<Row> rows;
    const auto estimate_block = [&](std::int64_t first, std::int64_t count) {
      EstimateRequest block = request;
      block.x = points.rows(first, count);
      block.labels = all_labels.rows(first, count);
      block.targets = all_targets.rows(first, count);
      block.offset = first_index + first;
      EstimateRun run = loaded_.start_estimate(std::move(block));
      run.finish();
      rows.insert(rows.end(), run.rows().begin(), run.rows().end());
    };
    CheckReport found;
    const auto work = [&] {  // in blocks, as on the command line
      if (check) found = check_first(points, all_labels, request);
      std::int64_t first = 0;
      do {
        const std::int64_t count = std::min(points_in_block(first_index + first, kBlock), points.count() - first);
        estimate_block(first, count);
        first += count;
      } while (first < points.count());
    };
    work_alone(work, progress, planned(request, points.count()));
    std::vector<std::string> warnings;
    if (check) warnings = loaded_.attach_check(std::move(found), labels.has_value(), rows);
    for (std::string& text : loaded_.take_warnings()) warnings.push_back(std::move(text));
    py::dict columns = columns_of(rows, per_class ? classes() : 0);
    columns["warnings"] = warnings;
    return columns;
  }

 private:
  // Checks points that are spread evenly over all of them, so that no large array is copied.
  CheckReport check_first(const PointsOf& points, const NumbersOf& labels, const EstimateRequest& request) {
    EstimateRequest some = request;
    for (const std::int64_t position : spread_positions(points.count(), kFirstCheckPoints)) {
      const Tensor one = points.rows(position, 1);
      if (some.x.shape.empty()) some.x.shape = one.shape, some.x.shape[0] = 0;
      ++some.x.shape[0];
      some.x.data.insert(some.x.data.end(), one.data.begin(), one.data.end());
      for (const std::int64_t label : labels.rows(position, 1)) some.labels.push_back(label);
    }
    if (some.x.shape.empty()) return {};
    return loaded_.first_check(some, points.count());
  }

  std::int64_t planned(const EstimateRequest& request, std::int64_t points) const {
    std::int64_t passes = 0;
    for (const EstimatorSpec& estimator : request.estimators) passes += estimator.passes(classes());
    return points * (1 + passes * static_cast<std::int64_t>(request.noises.size()));
  }

  // Computes an array [N, width] in blocks of at most 64 MB of points, so that no large array is copied.
  template <class Of>
  py::array_t<float> in_blocks(const PointsOf& points, std::int64_t width, const Of& of) {
    const std::int64_t d = element_count(point_shape()), most = std::max<std::int64_t>(1, (std::int64_t{1} << 24) / d);
    py::array_t<float> all({points.count(), width});
    float* out = all.mutable_data();
    const auto work = [&] {
      for (std::int64_t first = 0; first < points.count(); first += most) {
        const Tensor some = of(first, std::min(most, points.count() - first));
        out = std::copy(some.data.begin(), some.data.end(), out);
      }
    };
    work_alone(work, py::none(), 0);
    return all;
  }

  // Serialises calls: each call waits for the previous one. In the child of a fork, that wait would never end.
  struct Turn {
    Model& model;
    std::unique_lock<std::timed_mutex> lock;
    ~Turn() {
      if (model.lost()) {
        lock.release();
      } else {
        model.whose_turn_ = std::thread::id();
      }
    }
  };

  // Whether a call was running when this process was forked, so that its work is unfinished and its thread is missing.
  bool lost() const { return whose_turn_ != std::thread::id() && forks_at_turn_ != Worker::forks(); }

  // Runs `work` while no other call uses the model.
  void work_alone(const std::function<void()>& work, const py::object& progress, std::int64_t planned) {
    const Turn turn = wait_for_turn();
    Progress& passes = loaded_.progress();
    const std::int64_t before = passes.passes;
    const auto report = [&](std::int64_t done) {
      if (!progress.is_none()) result_of(progress, py::int_(done), py::int_(std::max(done, planned)));
    };
    worker_->run(passes.stop, work, [&] { report(passes.passes - before); });
    report(std::max<std::int64_t>(passes.passes - before, planned));
  }

  Turn wait_for_turn() {
    std::unique_lock lock(mutex_, std::defer_lock);
    do {
      if (lost()) throw Worker::forked();
      if (whose_turn_ == std::this_thread::get_id())
        throw Error{ErrorCode::usage, "the model", "cannot be called from its own function or progress callback",
                    "load a second model for that"};
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    } while (!try_for_a_while(lock));
    return {*this, std::move(lock)};
  }

  bool try_for_a_while(std::unique_lock<std::timed_mutex>& lock) {
    const Unlocked unlocked;
    if (!lock.try_lock_for(std::chrono::milliseconds(50))) return false;
    forks_at_turn_ = Worker::forks();
    whose_turn_ = std::this_thread::get_id();
    return true;
  }

  LoadedModel loaded_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Functions> functions_;
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> whose_turn_;
  std::atomic<int> forks_at_turn_ = 0;
};

LoadOptions load_options(const std::vector<double>& mean, const std::vector<double>& std, const std::string& layout,
                         const Shape& point_shape, const Shape& input_shape, const std::string& output_name,
                         const std::optional<double>& threshold, const std::vector<std::int64_t>& outputs,
                         const std::string& device, int threads, const std::string& memory, const std::string& precision,
                         const std::vector<double>& tolerance) {
  LoadOptions options;
  options.preprocessing = {mean, std, parse_layout(layout, option("layout"))};
  options.point_shape = point_shape;
  options.input_shape = input_shape;
  options.output_name = output_name;
  options.threshold = threshold;
  options.outputs = outputs;
  options.device = device;
  options.execution.threads = threads;
  if (!memory.empty()) options.execution.memory = parse_memory(memory);
  options.execution.precision = parse_precision(precision);
  options.tolerance = tolerance;
  return options;
}

template <class... Arguments>
std::unique_ptr<Model> model_of_file(const std::string& path, Arguments... arguments) {
  const datasets::Buffer file = datasets::map_regular_file(path, "give the path of an existing file", "give an ONNX file");
  datasets::SiblingFiles files(path);
  LoadOptions options = load_options(arguments...);
  options.external_files = std::ref(files);
  return unlocked([&] {
    try {
      return std::make_unique<Model>(load_model(std::as_bytes(file.bytes), options));
    } catch (Error& error) {
      add_file_name(error, path);
      throw;
    }
  });
}

template <class... Arguments>
std::unique_ptr<Model> model_of_bytes(const py::bytes& bytes, Arguments... arguments) {
  const std::string_view all(bytes);
  const LoadOptions options = load_options(arguments...);
  return unlocked([&] { return std::make_unique<Model>(load_model(std::as_bytes(std::span(all)), options)); });
}

std::unique_ptr<Model> model_of_functions(const py::object& logits, const py::object& vjp, const Shape& point_shape,
                                          std::int64_t classes, std::int64_t batch, std::int64_t memory) {
  auto worker = std::make_shared<Worker>();
  auto functions = std::make_shared<Functions>(Functions{logits, vjp});
  ClassifierFunctions calls;
  calls.logits = [=](Tensor x) {
    Tensor result;
    worker->in_python([&] { result = numbers_of("f", functions->logits, array_of(std::move(x))); });
    return result;
  };
  if (!vjp.is_none()) {
    calls.vjp = [=](Tensor x, Tensor cotangents) {
      Tensor result;
      worker->in_python(
          [&] { result = numbers_of("vjp", functions->vjp, array_of(std::move(x)), array_of(std::move(cotangents))); });
      return result;
    };
  }
  ExecutorOptions options;
  options.batch = batch;
  options.memory = memory;
  return std::make_unique<Model>(model_from_function(std::move(calls), point_shape, classes, options), worker, functions);
}

// The functions of a Python object of class Model; null for a model from a file and for an object that was never initialised.
Functions* functions_of(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  if (!instance->get_value_and_holder().holder_constructed()) return nullptr;
  return py::cast<Model&>(py::handle(self)).functions();
}

// Shows a model's functions to the cycle collector. A function that refers to its own model, such as a method of an object that
// owns the model, forms a cycle.
void collect_cycles(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    if (const Functions* functions = functions_of(self)) {
      Py_VISIT(functions->logits.ptr());
      Py_VISIT(functions->vjp.ptr());
    }
    return 0;
  };
  type->ht_type.tp_clear = [](PyObject* self) {
    if (Functions* functions = functions_of(self)) *functions = {};
    return 0;
  };
}

void raise(const Error& error) {
  const std::string line = error.message();  // may contain a file name, which need not be UTF-8
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(line.data(), static_cast<py::ssize_t>(line.size()), "backslashreplace"));
  const py::object exception = py::module_::import("probust._errors").attr("exception")(static_cast<int>(error.code), text);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void bind(py::module_& module) {
  use_device_modules();
  module.attr("version") = PROBUST_VERSION;
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(std::move(pointer));
    } catch (const Error& error) {
      raise(error);
    }
  });
  py::class_<Model>(module, "Model", py::custom_type_setup(collect_cycles))
      .def_property_readonly("classes", &Model::classes)
      .def_property_readonly("point_shape", [](const Model& model) { return py::tuple(py::cast(model.point_shape())); })
      .def_property_readonly("notes", &Model::notes)
      .def_property_readonly("decision", &Model::decision)
      .def_property_readonly("class_names", &Model::class_names)
      .def("logits", &Model::logits)
      .def("margins", &Model::margins)
      .def("p_gradient", &Model::p_gradient)
      .def("check", &Model::check)
      .def("take_warnings", &Model::take_warnings)
      .def("estimate", &Model::estimate);
  using Numbers = std::vector<double>;
  using Text = std::string;
  using Threshold = std::optional<double>;
  module.def("model_of_file",
             &model_of_file<Numbers, Numbers, Text, Shape, Shape, Text, Threshold, Shape, Text, int, Text, Text, Numbers>);
  module.def("model_of_bytes",
             &model_of_bytes<Numbers, Numbers, Text, Shape, Shape, Text, Threshold, Shape, Text, int, Text, Text, Numbers>);
  module.def("model_of_functions", &model_of_functions);
  bind_data(module);
  module.def("devices", [] {
    std::vector<std::pair<std::string, std::string>> all;
    unlocked([&] {
      for (const DeviceStatus& device : devices()) all.emplace_back(device.name, device.problem);
    });
    return all;
  });
  bind_accuracies(module);
  module.def("end_all", &Worker::end_all);
  module.def("forget_all", &Worker::forget_all);
}

}  // namespace
}  // namespace probust::python

#ifdef PROBUST_DISPATCH
// Called by the extension module's entry point (module_entry.cpp).
extern "C" __attribute__((visibility("default"))) void probust_bind(PyObject* module) {
  auto borrowed = pybind11::reinterpret_borrow<pybind11::module_>(module);
  probust::python::bind(borrowed);
}
#else
PYBIND11_MODULE(_probust, module) { probust::python::bind(module); }
#endif
