// SPDX-License-Identifier: MIT
//
// The data, trained models and runs that the experiments of one command share, all in one folder. Models and runs are created
// when an experiment asks for them; existing ones are reused, so an interrupted command can resume.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "datasets/dataset.h"
#include "probust/analysis/results.h"

namespace probust::cli::reproduce {

/// The labelled points of an experiment.
struct Subject {
  std::string name;         ///< "digits", or the name of the file
  std::string description;  ///< "generated digits of 28 x 28 pixels"
  std::string train, test;  ///< paths, in FOLDER/data if they are generated
  Shape point;
  std::int64_t classes = 0, training_points = 0, test_points = 0;
  std::vector<std::string> class_names{};  ///< may be empty
  bool generated = false, cifar100 = false;
};

/// The size of an experiment.
struct Sizes {
  std::int64_t train = -1;         ///< training points; -1: all
  std::int64_t epochs = 20;        ///< of the convolutional network
  std::int64_t test = -1;          ///< test points; -1: all
  std::int64_t reference = 10000;  ///< samples of the reference p, as in the paper
  std::int64_t samples = 500;      ///< samples of mmse, as many as in the paper
};

/// A network to train: the options of `probust train` that differ from its defaults.
struct Recipe {
  std::string name;  ///< of the file in FOLDER/models, without the ending
  std::string model = "cnn";
  std::string train, test;  ///< data; empty: the subject's
  std::int64_t epochs = 20, batch = 64;
  double rate = 3e-3, lambda = 0, decay = 0.05;
};

struct TrainedModel {
  std::string path;
  double accuracy = 0, test_accuracy = 0;  ///< of training points and of test points
};

/// What to estimate: the options of `probust estimate`.
struct Question {
  std::string name;   ///< of the run in FOLDER/runs, without the ending
  std::string model;  ///< a path
  std::vector<std::string> estimators{};
  std::vector<double> sigma{};
  std::vector<std::string> noise{};  ///< as for --noise
  std::string data{};                ///< a path; empty: the subject's test data
  std::int64_t points = -1;          ///< number of points; -1: all
  std::uint64_t seed = 0;            ///< added to the seed of the command
  std::optional<double> tolerance{};
};

/// Throws Error{interrupted}, to end a command that was interrupted.
[[noreturn]] void end_interrupted();

class Study {
 public:
  /// Finds or generates the data. Throws Error{usage} for unknown data.
  explicit Study(const Arguments& arguments);

  const Subject& subject() const { return subject_; }
  const Sizes& sizes() const { return sizes_; }
  bool quick() const { return quick_; }
  std::uint64_t seed() const { return arguments_.question.seed; }
  const Arguments& arguments() const { return arguments_; }
  /// The path FOLDER/NAME. Creates its folder.
  std::string path(const std::string& name) const;
  /// The noise scales of the subject, ascending; the middle one is used in experiments with one scale.
  const std::vector<double>& sigmas() const { return sigmas_; }
  double middle_sigma() const { return sigmas_[sigmas_.size() / 2]; }

  /// The test points of the experiments, at most sizes().test of them.
  const Dataset& test();
  /// All test points.
  Dataset all_test() const;

  /// Trains the network, unless FOLDER/models has it. Throws Error{conflict} if it was trained with different options,
  /// Error{interrupted}.
  TrainedModel model(const Recipe& recipe);
  /// The subject's convolutional network (for colour images of 32 x 32 pixels, a ResNet-18), and a linear classifier.
  TrainedModel network(double lambda = 0);
  TrainedModel linear();

  /// The rows of a run, which is first created or completed. Throws the errors of `estimate`; Error{interrupted}.
  Results rows(const Question& question);

  /// "probust estimate ..." of every run so far, for the report.
  const std::vector<std::string>& commands() const { return commands_; }

 private:
  Dataset read_test(std::int64_t limit) const;

  Arguments arguments_;
  std::string folder_;
  bool quick_;
  Subject subject_;
  Sizes sizes_;
  std::vector<double> sigmas_;
  std::optional<Dataset> test_;
  std::vector<std::string> commands_;
};

}  // namespace probust::cli::reproduce
