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
#include "probust/base/error.h"
#include "probust/model.h"
#include "probust/perturb/noise_text.h"

namespace probust::cli {

/// The range of the first `count` points at most.
DataRange range_of_points(PointSource& data, std::int64_t count);

/// The range of the values of all data, whatever part of them is asked for. Values stored as bytes are not read.
DataRange range_of_data(const Arguments& arguments);

/// Reads a whole file. Throws Error{unreadable} naming it.
std::vector<std::byte> read_file(const std::string& path);

/// The options to load the model for points of a given shape, which determines dynamic extents; if the shape is empty, that of
/// the model's input. The files next to the model are not included. `batch` is the number of examples at once; without it, as
/// many as fit.
LoadOptions load_options(const Arguments& arguments, const Shape& point_shape = {}, std::int64_t batch = 0);

/// Imports the model of the arguments for the chosen device. Errors name the file, or the data if their points do not fit.
Model import_model(const Arguments& arguments, const LoadOptions& options);
LoadedModel load_model(const Arguments& arguments, const LoadOptions& options);

/// Converts data options to options of open_dataset and read_dataset.
DatasetOptions dataset_options(const DataArguments& data);

/// The same, with the number of image channels that the model expects, if its input determines it.
DatasetOptions dataset_options(const Arguments& arguments);

/// The points, labels and class names that the data options describe, read at once or block by block.
Dataset load_data(const Arguments& arguments);
std::unique_ptr<PointSource> open_data(const Arguments& arguments);

/// The class names of --classes.
std::vector<std::string> load_class_names(const DataArguments& data);

/// Prints the reader's notes to stderr, unless `quiet`.
void report_notes(const std::vector<std::string>& notes, bool quiet);

/// Lists skipped points on stderr: up to 20, and the number of further ones.
void report_bad(const std::vector<SkippedPoint>& bad);

/// Converts a bad point to the form in which it is recorded.
SkippedPoint skipped_point(const BadPoint& bad, const std::string& model = "");
std::vector<SkippedPoint> skipped_points(const std::vector<BadPoint>& bad);

/// The shape of one point of x [N, ...].
Shape point_shape(const Tensor& x);

}  // namespace probust::cli
