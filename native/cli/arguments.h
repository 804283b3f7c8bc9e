// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/noise/noise.h"

namespace probust::cli {

/// The data options, as given on the command line.
struct DataArguments {
  std::string path;
  std::string labels, classes, label_column = "last";
  std::optional<double> scale;
  std::vector<double> mean, std;
  std::string layout = "auto";
  bool cifar100 = false;
  std::int64_t limit = -1, offset = 0;
  std::int64_t resize = 0, crop = 0;  ///< for images: the sides after resizing and cropping; 0: unchanged
  bool skip_bad = false;
};

/// The device options.
struct DeviceArguments {
  std::string device = "cpu";
  std::string precision = "float32";
  int threads = 0;     ///< number of threads; 0: one per core
  std::string memory;  ///< total memory, including the weights; if empty, 2 GiB in addition to the weights
};

/// The options of `train`.
struct TrainArguments {
  std::string model = "cnn", activation = "relu", optimizer = "adam", schedule = "cosine", objective = "cross_entropy";
  std::string test;  ///< path of the test data; empty if there are none
  std::int64_t epochs = 20, batch = 64;
  double rate = 3e-3, lambda = 0, sigma = 0, decay = 0.05, momentum = 0.9;
  std::optional<double> robust_sigma;  ///< for the objective p_robust
  bool flip = false;
  std::int64_t crop = 0;
};

/// The options of `reproduce`.
struct ReproduceArguments {
  std::string experiment;  ///< the name of an experiment, or "all"
  std::string cache;       ///< folder of published data; if empty, default_cache()
  bool quick = false;
};

/// What to estimate at every point.
struct QuestionArguments {
  std::vector<std::string> sigma, noise, estimators;
  std::vector<std::string> clip;  ///< parts of the ranges (parse_ranges), which were separated by commas; or empty
  std::int64_t levels = 0;
  std::string target = "predicted";
  std::string groups;  ///< "0,1/2,3": groups of classes that count as one
  bool per_class = false;
  std::int64_t top = 1;                ///< the target survives if it is among this many largest logits
  std::vector<double> tolerance;       ///< regression: the outputs must change by less than this; one, or one per output
  std::optional<double> budget;        ///< budget of `auto`, in forwards per point
  std::optional<double> total_budget;  ///< budget of `auto`, in forwards for all points and noise models together
  bool independent = false;            ///< whether `auto` must not share draws between points
  std::string share;       ///< what points share: none, pooled, learned or draws; if empty, the estimators' names decide
  bool calibrate = false;  ///< whether to correct estimates for the bias that the run's noisy samples show
  bool smooth = false;     ///< whether to smooth each sweep over its scales
  std::uint64_t seed = 0;
};

/// The options of the analyses.
struct AnalysisArguments {
  std::string images;               ///< path of the run's data, to read images from; if empty, the files that the run read
  std::vector<std::string> models;  ///< paths of the run's models, for wrong versions; if empty, the files that the run read
  std::int64_t samples = 100;       ///< number of noisy samples of an image among which to search for a wrong version; 0 for none
  std::string plot;                 ///< path of an .svg file to write; empty for none
  std::string gallery;              ///< path of an .html file of images to write; empty for none
  std::int64_t count = 10;          ///< number of points to show in a list
  double threshold = 0.9;           ///< threshold of p
  double confidence = 0.999;        ///< confidence of a certified radius
};

/// Options that several commands have; each command uses some of them. Options of a single command are declared in the file of
/// that command.
struct Arguments {
  std::string model, output_name, output;
  std::optional<double> decision_threshold;  ///< for models with one output number: class 1 is above it; if empty, import decides
  std::vector<std::int64_t> outputs;         ///< indices of the output values to use as classes; empty: all
  std::vector<std::string> more_models;      ///< other models for the same data
  std::string run;                           ///< path of a run (.sqlite) to read
  std::vector<std::string> runs;             ///< paths of several runs to read
  bool force_new = false;                    ///< whether to replace the file that --output names
  bool extend = false;                       ///< whether to add to the run that --output names
  std::string shard;                         ///< "2/4": the second of four parts of the data; empty: all data
  std::string command;                       ///< the command as it was typed
  Shape input_shape;
  DataArguments data;
  DeviceArguments device;
  QuestionArguments question;
  AnalysisArguments analysis;
  TrainArguments train;
  ReproduceArguments reproduce;
  std::string format;
  bool json = false, quiet = false;
  bool no_check = false;  ///< whether to skip the check of data, preprocessing and labels
};

/// Parses "0.1,0.2" or "0.01..1:20", that is, 20 values in geometric progression, rounded to six digits. Throws Error{usage}
/// that names `option`.
std::vector<double> parse_numbers(const std::string& text, const std::string& option);

/// Parses a list of numbers such as "0,1", "0..9" or "0..3,7", and keeps its order. Throws Error{usage}.
std::vector<std::int64_t> parse_outputs(const std::string& text);

/// Splits the texts of --noise into texts with one scale each: "rotate:5,10" becomes "rotate:5" and "rotate:10". Throws
/// Error{usage}.
std::vector<std::string> single_noises(const std::vector<std::string>& texts);

/// The noise models of --sigma and --noise, in the order given, with --clip and --levels applied. Throws Error{usage} if there
/// are none, and any error that `source` throws.
std::vector<Noise> parse_noises(const Arguments& arguments, const NoiseSource& source);

/// Throws Error{usage} if the output would overwrite an input.
void refuse_overwriting(const Arguments& arguments);

/// The number of threads to use: the requested number, or one per core.
int thread_count(const DeviceArguments& device);

}  // namespace probust::cli
