// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "datasets/dataset.h"
#include "datasets/point_source.h"
#include "probust/analysis/results.h"
#include "probust/exec/executor.h"
#include "probust/onnx/import.h"
#include "probust/run/row.h"

namespace probust::cli {

/// Reads a whole file. Throws Error{unreadable} naming it.
std::vector<std::byte> read_file(const std::string& path);

/// The import options given on the command line, without external files and the shape of the data.
ImportOptions import_options(const Arguments& arguments);

/// The model for points of a given shape, which settles open extents; if empty, they stay open. Errors name the file.
/// `decide`, `data_classes`: see ImportOptions.
Model load_model(const Arguments& arguments, const Shape& point_shape, bool decide = false, std::int64_t data_classes = 0);

/// How the data options say to read DATA: for open_dataset and read_dataset.
DatasetOptions dataset_options(const DataArguments& data);

/// The same, and images get the channels that the model takes, if its input says how many.
DatasetOptions dataset_options(const Arguments& arguments);

/// The points, labels and class names that the data options describe: all at once, or to be read block by block.
Dataset load_data(const Arguments& arguments);
std::unique_ptr<PointSource> open_data(const Arguments& arguments);

/// The class names of --classes.
std::vector<std::string> load_class_names(const DataArguments& data);

/// Says on stderr what the reader decided or left out, unless `quiet`.
void report_notes(const std::vector<std::string>& notes, bool quiet);

/// Lists points that were left out on stderr: up to 20, and how many more there are.
void report_bad(const std::vector<SkippedPoint>& bad);

/// A bad point, as it is recorded.
SkippedPoint skipped_point(const BadPoint& bad, const std::string& model = "");
std::vector<SkippedPoint> skipped_points(const std::vector<BadPoint>& bad);

/// The model as a function in the data's natural units.
Graph load_graph(const Model& model, const Shape& point_shape, const Arguments& arguments);

/// The same, compiled for the chosen device.
std::unique_ptr<Executor> load_executor(const Model& model, const Shape& point_shape, const Arguments& arguments,
                                        std::int64_t batch = 0);

/// The shape of one point of x [N, ...].
Shape point_shape(const Tensor& x);

}  // namespace probust::cli
