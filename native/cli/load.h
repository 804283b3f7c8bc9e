// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "datasets/dataset.h"
#include "probust/estimators/row.h"
#include "probust/exec/executor.h"
#include "probust/onnx/import.h"

namespace probust::cli {

/// Reads a whole file. Throws Error{unreadable} naming it.
std::vector<std::byte> read_file(const std::string& path);

/// The import options given on the command line, without external files and the shape of the data.
ImportOptions import_options(const Arguments& arguments);

/// The model for points of a given shape, which settles open extents; if empty, they stay open. Errors name the file.
/// `two_classes_of_one`: see ImportOptions.
Model load_model(const Arguments& arguments, const Shape& point_shape, bool two_classes_of_one = false);

/// The points, labels and class names that the data options describe.
Dataset load_data(const DataArguments& data);

/// The model as a function in the data's natural units.
Graph load_graph(const Model& model, const Shape& point_shape, const Arguments& arguments);

/// The same, compiled for the chosen device.
std::unique_ptr<Executor> load_executor(const Model& model, const Shape& point_shape, const Arguments& arguments,
                                        std::int64_t batch = 0);

/// The shape of one point of x [N, ...].
Shape point_shape(const Tensor& x);

}  // namespace probust::cli
