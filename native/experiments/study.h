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

/// The labelled data of the experiments.
struct Subject {
  std::string name;         ///< such as "digits", or the name of the file
  std::string description;  ///< such as "generated digits of 28 x 28 pixels"
  std::string train, test;  ///< paths, in FOLDER/data if they are generated
  Shape point;              ///< shape of one point
  std::int64_t classes = 0, training_points = 0, test_points = 0;
  std::vector<std::string> class_names{};  ///< may be empty
  bool generated = false, cifar100 = false;
};

/// The sizes of the experiments.
struct Sizes {
  std::int64_t train = -1;         ///< number of training points; -1: all
  std::int64_t epochs = 20;        ///< number of training epochs
  std::int64_t test = -1;          ///< number of test points; -1: all
  std::int64_t reference = 10000;  ///< number of samples for the reference p; the default is that of the paper
  std::int64_t samples = 500;      ///< number of samples for mmse; the default is that of the paper
};

/// A network to train: options of `probust train`, with the defaults of the experiments.
struct Recipe {
  std::string name;  ///< name of the file in FOLDER/models, without the extension
  std::string model = "cnn";
  std::string train, test;  ///< paths of the data; if empty, those of the subject
  std::int64_t epochs = 20, batch = 64;
  double rate = 3e-3, lambda = 0, decay = 0.05;
};

struct TrainedModel {
  std::string path;
  double accuracy = 0, test_accuracy = 0;  ///< on the training points and on the test points
};

/// A run to compute: options of `probust estimate`.
struct Question {
  std::string name;   ///< name of the run's file in FOLDER/runs, without the extension
  std::string model;  ///< path of the model
  std::vector<std::string> estimators{};
  std::vector<double> sigma{};
  std::vector<std::string> noise{};  ///< as for --noise
  std::string data{};                ///< path of the data; if empty, the subject's test data
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
  /// The path FOLDER/NAME. The folders FOLDER/data, FOLDER/models and FOLDER/runs exist.
  std::string path(const std::string& name) const;
  /// The noise scales of the subject, ascending; the middle one is used in experiments with one scale.
  const std::vector<double>& sigmas() const { return sigmas_; }
  double middle_sigma() const { return sigmas_[sigmas_.size() / 2]; }

  /// The test points of the experiments, at most sizes().test of them.
  const Dataset& test();
  /// All test points of the subject.
  Dataset all_test() const;

  /// Trains the network unless it is in FOLDER/models. Throws Error{conflict} if the existing one was trained with different
  /// options, and Error{interrupted}.
  TrainedModel model(const Recipe& recipe);
  /// Trains or finds the subject's network (network_recipe), and a linear classifier.
  TrainedModel network(double lambda = 0);
  TrainedModel linear();

  /// The rows of a run. Creates or completes the run if necessary. Throws the errors of `estimate`, and Error{interrupted}.
  Results rows(const Question& question);

  /// The command lines, "probust estimate ...", of all runs so far, for the report.
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
