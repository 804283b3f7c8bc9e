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

/// The range of the values of at most the first `count` points.
DataRange range_of_points(PointSource& data, std::int64_t count);

/// The range of the values of all data, even if --offset and --limit select only a part. If the data are stored as bytes, they
/// need not be read.
DataRange range_of_data(const Arguments& arguments);

/// All points, or evenly spread ones of large data, for noise that depends on the data.
Tensor points_for_noise(PointSource& data);

/// Parses the noise of the arguments, and gives all data to noise that depends on them (use_data).
std::vector<Noise> noises_of_data(const Arguments& arguments, const NoiseSource& source);

/// Reads a whole file. Throws Error{unreadable} that names it.
std::vector<std::byte> read_file(const std::string& path);

/// The options for loading the model. `point_shape` is the shape of one point, which determines dynamic dimensions; if it is
/// empty, the shape of the model's input is used. external_files is not set. `batch` is the number of examples that are
/// processed at once; 0: as many as fit into memory.
LoadOptions load_options(const Arguments& arguments, const Shape& point_shape = {}, std::int64_t batch = 0);

/// Imports or loads the model that the arguments name, for the chosen device. Errors name its file, or the data if their points
/// do not fit the model.
Model import_model(const Arguments& arguments, const LoadOptions& options);
LoadedModel load_model(const Arguments& arguments, const LoadOptions& options);

/// Converts data options to options of open_dataset and read_dataset.
DatasetOptions dataset_options(const DataArguments& data);

/// Like the previous function, with the number of image channels that the model expects, if the shape of its input determines
/// it.
DatasetOptions dataset_options(const Arguments& arguments);

/// Opens the data that the data options describe. load_data reads all points immediately, open_data only when they are
/// requested.
Dataset load_data(const Arguments& arguments);
std::unique_ptr<PointSource> open_data(const Arguments& arguments);

/// The class names of --classes.
std::vector<std::string> load_class_names(const DataArguments& data);

/// Prints the reader's notes to stderr, unless `quiet`.
void report_notes(const std::vector<std::string>& notes, bool quiet);

/// Lists up to 20 skipped points on stderr, followed by the number of further ones.
void report_bad(const std::vector<SkippedPoint>& bad);

/// Converts bad points to the form that results contain.
SkippedPoint skipped_point(const BadPoint& bad, const std::string& model = "");
std::vector<SkippedPoint> skipped_points(const std::vector<BadPoint>& bad);

/// The shape of one point of x [N, ...].
Shape point_shape(const Tensor& x);

}  // namespace probust::cli
