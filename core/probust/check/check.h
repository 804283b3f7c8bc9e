// SPDX-License-Identifier: MIT
//
// Checks whether data, preprocessing and labels suit a classifier: its accuracy with the usual alternatives, and findings about
// the data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/exec/executor.h"
#include "probust/onnx/preprocess.h"

namespace probust {

struct CheckInput {
  Tensor x;                                   ///< [n, ...] points as they are stored, before the scale
  bool bytes = false;                         ///< whether points were stored as bytes
  double scale = 1;                           ///< the given scale, which converts stored values to natural units
  Preprocessing preprocessing = {};           ///< the given mean, std and layout
  std::vector<std::int64_t> labels = {};      ///< [n], or empty
  std::vector<std::int64_t> all_labels = {};  ///< labels of all points of the data, if x is a selection; otherwise empty
  std::vector<std::string> label_names = {};  ///< text of each label; empty if labels are numbers
  /// The number of label names if they were sorted because the order of the classes is unknown; otherwise 0.
  std::int64_t guessed_classes = 0;
  std::vector<double> sigmas = {};  ///< noise scales in natural units
  Shape input_shape = {};           ///< shape of the model's input at batch 1
  std::int64_t classes = 0;
  std::string decision = {};  ///< decision rule in one line
  /// Computes logits [n, C] of model inputs [n, ...input_shape]. If empty, only the data are checked.
  std::function<Tensor(const Tensor&)> logits = {};
  std::int64_t most_passes = INT64_MAX;  ///< limit on passes of the model for all alternatives together
  /// Whether to run every alternative on all points. If false, an alternative is dropped once it can no longer become
  /// significantly better.
  bool thorough = false;
};

enum class Severity { note, warning };

/// The options that fix a finding, named by fields of the library's options: those to add, with values ("mean", "0.5,0.5,0.5"),
/// and those to leave out.
struct CheckOptions {
  std::vector<std::pair<std::string, std::string>> add = {};
  std::vector<std::string> leave_out = {};

  bool empty() const { return add.empty() && leave_out.empty(); }
  /// The options as text: "--mean 0.5 --std 0.5, without --layout", or "without --mean, --std". `spell` gives the names of
  /// options.
  std::string text(OptionSpelling spell = as_field) const;
  /// The options as advice: "give --mean 0.5", or "leave out --mean, --std".
  std::string advice(OptionSpelling spell = as_field) const;
};

struct Finding {
  Severity severity = Severity::note;
  std::string kind;  ///< one word: "preprocessing", "layout", "labels", "accuracy", "range", "sigma", "classes", "data"
  std::string text;  ///< one sentence, with options named as in Error
  CheckOptions options = {};
  std::string remedy = {};  ///< what to do if no option helps, with options named as in Error
};

/// One preprocessing, and how often the model predicts the label with it.
struct Alternative {
  std::string name;  ///< "CIFAR-10 mean and std", "pixels in 0..1", "labels + 1"
  CheckOptions options = {};
  std::int64_t points = 0, correct = 0;
  /// The numbers of points that are predicted correctly only with this alternative, and only as given.
  std::int64_t gained = 0, lost = 0;
  double p_value = 1;   ///< probability of a split at least this favourable if both are equally good
  bool better = false;  ///< significantly better than the given preprocessing, with a correction for the number of alternatives

  double accuracy() const { return points == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(points); }
};

struct CheckReport {
  std::int64_t points = 0, classes = 0;
  std::string decision;  ///< as in CheckInput
  Shape point_shape;
  float low = 0, high = 0;  ///< smallest and largest finite stored value
  double scale = 1;
  std::optional<std::int64_t> correct;  ///< number of correct predictions with the given options; empty without labels
  std::int64_t predicted_classes = 0;   ///< number of distinct predictions; 0: the model was not run
  std::vector<Alternative> alternatives;
  std::vector<Finding> findings;      ///< warnings first
  CheckOptions options;               ///< all options to add
  std::vector<std::string> remedies;  ///< what to do apart from options
  std::int64_t passes = 0;
  bool complete = true;  ///< false if the check was interrupted

  bool suspicious() const;
  /// The warnings, one line each, with options named by `spell`.
  std::vector<std::string> warnings(OptionSpelling spell = as_field) const;
  /// A short text for the note of every row; empty if nothing is suspicious.
  std::string hint(OptionSpelling spell = as_field) const;
};

/// The warning that the model predicts `of_class` for all `points` points; `decision` is as in CheckInput. With fewer points than
/// kEnoughForOneClass, predicting one class may be correct.
inline constexpr std::int64_t kEnoughForOneClass = 20;
Finding one_class_finding(std::int64_t points, std::int64_t of_class, const std::string& decision);

/// The text for the notes of rows if a run has warnings that no option fixes.
inline constexpr const char* kCheckHint = "may be wrong: see the warning";

/// Checks up to x.shape[0] points. If the model is interrupted, reports the findings so far.
CheckReport check(const CheckInput& input);

/// The report as a JSON object.
std::string check_json(const CheckReport& report, OptionSpelling spell = as_field);

/// The report as text: a short table, the findings, and the options to add or "nothing suspicious".
std::string check_text(const CheckReport& report, OptionSpelling spell = as_field);

/// A function that computes the logits of raw model inputs with an executor that includes preprocessing (with_preprocessing).
/// It maps inputs back to natural units, so that the model is not compiled twice. The executor must outlive the function.
std::function<Tensor(const Tensor&)> raw_logits(Executor& executor, const Shape& input_shape, const Preprocessing& preprocessing);

/// Limits for the check before an estimate, so that it takes at most 10% of the time: kFirstCheckPoints points, and 3% of the
/// planned passes (6% for fewer than 1000 points). A plan with fewer passes than the default estimate counts as the default.
inline constexpr std::int64_t kFirstCheckPoints = 100;
std::int64_t first_check_passes(std::int64_t points, std::int64_t planned);

/// At most `most` positions out of `count`, spread evenly but not at equal distances.
std::vector<std::int64_t> spread_positions(std::int64_t count, std::int64_t most);

}  // namespace probust
