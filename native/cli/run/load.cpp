// SPDX-License-Identifier: MIT
#include "cli/run/load.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "cli/devices.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "datasets/sibling_files.h"
#include "datasets/unwritable.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

template <class T>
T named(Result<T> result, const std::string& file) {
  if (result) return std::move(result).value();
  Error error = result.error();
  add_file_name(error, file);
  throw error;
}

ModelSummary summary_of_model(const Arguments& arguments) {
  datasets::SiblingFiles files(arguments.model);
  return named(summarize_onnx(read_file(arguments.model), std::ref(files)), arguments.model);
}

// The number of channels of the images that a model expects: 1 or 3; 0 if the shape of its input does not determine it.
std::int64_t image_channels(const Arguments& arguments, const ModelSummary& summary) {
  Shape shape = arguments.input_shape;
  if (shape.empty() && !summary.inputs.empty()) shape = summary.inputs[0].shape;
  if (shape.size() == 2) {  // the flattened pixels of square images
    const auto side = [](std::int64_t pixels) { return std::llround(std::sqrt(static_cast<double>(pixels))); };
    for (const std::int64_t channels : {1, 3}) {
      if (shape[1] > channels && shape[1] == channels * side(shape[1] / channels) * side(shape[1] / channels)) return channels;
    }
  }
  if (shape.size() != 4) return 0;
  const Layout layout = parse_layout(arguments.data.layout, option("layout"));
  const bool first = layout == Layout::nchw || (layout == Layout::automatic && (shape[1] == 1 || shape[1] == 3));
  const std::int64_t channels = first ? shape[1] : layout == Layout::whcn ? shape[2] : shape[3];
  return channels == 1 || channels == 3 ? channels : 0;
}

// Whether the data may have labels that have to be matched with the class names in the model.
bool may_have_labels(const DataArguments& data) {
  return !data.labels.empty() || std::filesystem::path(data.path).extension() != ".npy";
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) throw Error{ErrorCode::unreadable, path, "is a folder", "give an ONNX file"};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unopenable(path, errno);
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem) throw Error{ErrorCode::unreadable, path, "is not a regular file", "give an ONNX file"};
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(file.gcount()) != size)
    throw Error{ErrorCode::unreadable, path, "could not be read completely", "try again"};
  return bytes;
}

LoadOptions load_options(const Arguments& arguments, const Shape& point_shape, std::int64_t batch) {
  LoadOptions options;
  options.preprocessing = {arguments.data.mean, arguments.data.std, parse_layout(arguments.data.layout, option("layout"))};
  options.point_shape = point_shape;
  options.input_shape = arguments.input_shape;
  options.output_name = arguments.output_name;
  options.threshold = arguments.decision_threshold;
  options.outputs = arguments.outputs;
  options.tolerance = arguments.question.tolerance;
  options.device = arguments.device.device;
  options.execution = execution_options(arguments);
  options.execution.batch = batch;
  return options;
}

Model import_model(const Arguments& arguments, const LoadOptions& options) {
  datasets::SiblingFiles files(arguments.model);
  LoadOptions all = options;
  all.external_files = std::ref(files);
  Result<Model> model = guarded("the model", [&] { return probust::import_model(read_file(arguments.model), all); });
  if (model || model.error().where != option("tolerance")) return named(std::move(model), arguments.model);
  Error error = model.error();  // names the model, because a command may have several
  error.problem = "applies to regression models, but " + arguments.model + " is a classifier";
  throw error;
}

LoadedModel load_model(const Arguments& arguments, const LoadOptions& options) {
  Model model = import_model(arguments, options);
  Result<LoadedModel> loaded = guarded("the model", [&] { return compile_model(std::move(model), options); });
  if (!loaded && loaded.error().where == "the data set") return named(std::move(loaded), arguments.data.path);
  return std::move(loaded).value();
}

DatasetOptions dataset_options(const DataArguments& data) {
  DatasetOptions options;
  options.scale = data.scale;
  options.label_column = data.label_column;
  options.cifar100 = data.cifar100;
  options.labels_path = data.labels;
  options.offset = data.offset;
  options.limit = data.limit;
  options.skip_bad = data.skip_bad;
  options.resize = data.resize;
  options.crop = data.crop;
  if (!data.classes.empty()) options.classes = load_class_names(data);
  return options;
}

DatasetOptions dataset_options(const Arguments& arguments) {
  DatasetOptions options = dataset_options(arguments.data);
  std::error_code unknown;
  const bool folder = std::filesystem::is_directory(arguments.data.path, unknown);
  if (arguments.model.empty() || (!folder && !may_have_labels(arguments.data))) return options;
  const ModelSummary summary = summary_of_model(arguments);
  if (folder) options.channels = image_channels(arguments, summary);
  const std::vector<std::string>& names = summary.class_names;
  if (arguments.outputs.empty()) options.known_classes = names;
  for (const std::int64_t k : arguments.outputs) {
    if (k < std::ssize(names)) options.known_classes.push_back(names[static_cast<std::size_t>(k)]);
  }
  return options;
}

Dataset load_data(const Arguments& arguments) {
  const DataArguments& data = arguments.data;
  Dataset dataset = named(read_dataset(data.path, dataset_options(arguments)), data.path);
  report_notes(dataset.notes, arguments.quiet);
  return dataset;
}

std::unique_ptr<PointSource> open_data(const Arguments& arguments) {
  return named(open_dataset(arguments.data.path, dataset_options(arguments)), arguments.data.path);
}

DataRange range_of_points(PointSource& data, std::int64_t count) {
  constexpr std::int64_t kTogether = 16;
  DataRange range;
  for (std::int64_t first = 0; first < std::min(count, data.count()); first += kTogether)
    range.include(data.read(first, std::min({kTogether, count - first, data.count() - first})).x.data);
  return range;
}

namespace {

// All data, even if --offset and --limit select only a part.
std::unique_ptr<PointSource> open_whole_data(const Arguments& arguments) {
  Arguments whole = arguments;
  whole.data.limit = -1;
  whole.data.offset = 0;
  whole.data.skip_bad = true;
  return open_data(whole);
}

}  // namespace

Tensor points_for_noise(PointSource& data) {
  Tensor points;
  for (const std::int64_t position : positions_for_noise(data.count(), element_count(data.point_shape()))) {
    const Tensor one = data.read(position, 1).x;  // no point if it cannot be read
    if (points.shape.empty()) points.shape = one.shape, points.shape[0] = 0;
    points.shape[0] += one.shape[0];
    points.data.insert(points.data.end(), one.data.begin(), one.data.end());
  }
  return points;
}

std::vector<Noise> noises_of_data(const Arguments& arguments, const NoiseSource& source) {
  std::vector<Noise> noises = parse_noises(arguments, source);
  use_data(noises, [&] { return points_for_noise(*open_whole_data(arguments)); });
  return noises;
}

DataRange range_of_data(const Arguments& arguments) {
  const std::unique_ptr<PointSource> data = open_whole_data(arguments);
  if (data->stored_as_bytes()) return {std::min(0.0, 255 * data->scale()), std::max(0.0, 255 * data->scale())};
  return range_of_points(*data, data->count());
}

std::vector<std::string> load_class_names(const DataArguments& data) {
  return named(read_class_names(data.classes), data.classes);
}

SkippedPoint skipped_point(const BadPoint& bad, const std::string& model) { return {model, bad.index, bad.error.sentence()}; }

std::vector<SkippedPoint> skipped_points(const std::vector<BadPoint>& bad) {
  std::vector<SkippedPoint> skipped;
  skipped.reserve(bad.size());
  for (const BadPoint& point : bad) skipped.push_back(skipped_point(point));
  return skipped;
}

void report_notes(const std::vector<std::string>& notes, bool quiet) {
  for (std::size_t i = 0; !quiet && i < notes.size(); ++i) say("probust: {}\n", printable(spelled(notes[i], as_flag)));
}

void report_bad(const std::vector<SkippedPoint>& bad) {
  constexpr std::size_t kMost = 20;
  if (bad.empty()) return;
  say("probust: {} {} left out:\n", bad.size(), bad.size() == 1 ? "point was" : "points were");
  for (std::size_t i = 0; i < std::min(kMost, bad.size()); ++i) say("  {} {}\n", bad[i].index, printable(bad[i].reason));
  if (bad.size() > kMost) say("  and {} more\n", bad.size() - kMost);
}

Shape point_shape(const Tensor& x) { return {x.shape.begin() + 1, x.shape.end()}; }

}  // namespace probust::cli
