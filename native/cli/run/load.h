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

/// The range of the values of all data, whatever part of them is asked for. Values stored as bytes are not read.
DataRange range_of_data(const Arguments& arguments);

/// Reads a whole file. Throws Error{unreadable} naming it.
std::vector<std::byte> read_file(const std::string& path);

/// The options to load the model for points of a given shape, which determines dynamic extents; empty: its own input's. Without
/// files outside the model's. With `batch`: examples at once, instead of as many as fit.
LoadOptions load_options(const Arguments& arguments, const Shape& point_shape = {}, std::int64_t batch = 0);

/// The model of the arguments, imported, and compiled for the chosen device. Errors name the file, or the data if their points do
/// not fit.
Model import_model(const Arguments& arguments, const LoadOptions& options);
LoadedModel load_model(const Arguments& arguments, const LoadOptions& options);

/// The options of open_dataset and read_dataset for the data options.
DatasetOptions dataset_options(const DataArguments& data);

/// The same, and images get the channels that the model takes, if its input tells.
DatasetOptions dataset_options(const Arguments& arguments);

/// The points, labels and class names that the data options describe: all at once, or to be read block by block.
Dataset load_data(const Arguments& arguments);
std::unique_ptr<PointSource> open_data(const Arguments& arguments);

/// The class names of --classes.
std::vector<std::string> load_class_names(const DataArguments& data);

/// Prints the reader's notes on stderr, unless `quiet`.
void report_notes(const std::vector<std::string>& notes, bool quiet);

/// Lists skipped points on stderr: up to 20, and the number of the others.
void report_bad(const std::vector<SkippedPoint>& bad);

/// A skipped point, as it is recorded.
SkippedPoint skipped_point(const BadPoint& bad, const std::string& model = "");
std::vector<SkippedPoint> skipped_points(const std::vector<BadPoint>& bad);

/// The shape of one point of x [N, ...].
Shape point_shape(const Tensor& x);

}  // namespace probust::cli
