// SPDX-License-Identifier: MIT
#include "python/data.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "probust/data/datasets.h"
#include "python/arrays.h"
#include "python/interpreter.h"

namespace probust::python {
namespace {

py::tuple points_of(Tensor x, const std::vector<std::int64_t>& labels) {
  return py::make_tuple(array_of(std::move(x)),
                        labels.empty() ? py::object(py::none()) : py::array_t<std::int64_t>(py::cast(labels)));
}

// Reads points, labels, the positions and errors of skipped points, class names, and notes.
py::object read(const std::string& path, std::int64_t offset, std::int64_t limit, const std::optional<double>& scale,
                const std::string& labels_path, const std::string& label_column, bool skip_bad,
                const std::vector<std::string>& classes, const std::vector<std::string>& known_classes, std::int64_t resize,
                std::int64_t crop) {
  DatasetOptions options;
  options.offset = offset;
  options.limit = limit;
  options.scale = scale;
  options.labels_path = labels_path;
  options.label_column = label_column;
  options.skip_bad = skip_bad;
  options.classes = classes;
  options.known_classes = known_classes;
  options.resize = resize;
  options.crop = crop;
  Dataset data = unlocked([&] { return read_dataset(path, options).value(); });
  py::list bad;
  for (const BadPoint& each : data.bad) bad.append(py::make_tuple(each.index, py::bytes(each.error.message())));
  py::list notes, names;  // as bytes, because they may contain file names, which need not be UTF-8
  for (const std::string& note : data.notes) notes.append(py::bytes(spelled(note, as_field)));
  for (const std::string& name : data.class_names) names.append(py::bytes(name));
  return points_of(std::move(data.x), data.labels) + py::make_tuple(bad, names, notes, py::bytes(data.label_mapping));
}

py::tuple make(const std::string& kind, std::int64_t count, std::uint64_t seed) {
  MadeDataOptions options;
  options.count = count;
  options.seed = seed;
  MadeData data = unlocked([&] { return make_data(made_data_kind(kind), options); });
  return points_of(std::move(data.x), data.labels);
}

}  // namespace

void bind_data(py::module_& module) {
  module.def("read", &read);
  module.def("read_names", [](const std::string& path) {
    py::list names;
    for (const std::string& name : read_class_names(path).value()) names.append(py::bytes(name));
    return names;
  });
  module.def("make", &make);
}

}  // namespace probust::python
