// SPDX-License-Identifier: MIT
// probust train: trains a network on labelled points. Checkpoints are saved during training, so that repeating the command
// resumes an interrupted training run.
#include "cli/commands/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/output/text_file.h"
#include "cli/run/load.h"
#include "datasets/dataset.h"
#include "datasets/fetch/partial_file.h"
#include "datasets/json.h"
#include "datasets/unwritable.h"
#include "probust/base/text.h"
#include "probust/exec/devices.h"
#include "probust/exec/executor.h"
#include "probust/onnx/export.h"
#include "probust/train/checkpoint.h"
#include "probust/train/deep_models.h"

namespace probust::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetweenLines = 5, kSecondsBetweenCheckpoints = 60;
constexpr std::int64_t kMostScored = 10000;  // largest number of training points for the accuracy after each epoch

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Rethrows an Error, with the name of a library option replaced by that of its command-line option.
[[noreturn]] void rethrow_spelled(const Error& error) {
  constexpr std::pair<const char*, const char*> kFlags[] = {{"rate", "--rate"},
                                                            {"sigma", "--augment-sigma"},
                                                            {"lambda", "--lambda"},
                                                            {"decay", "--decay"},
                                                            {"momentum", "--momentum"},
                                                            {"crop", "--augment-crop"},
                                                            {"flip", "--augment-flip"},
                                                            {"hidden", "--model"},
                                                            {"model", "--model"},
                                                            {"activation", "--activation"},
                                                            {"optimizer", "--optimizer"},
                                                            {"schedule", "--schedule"},
                                                            {"x", "--data"},
                                                            {"labels", "--data"},
                                                            {"classes", "--data"}};
  Error named = error;
  for (const auto& [field, flag] : kFlags) {
    if (error.where == field) named.where = flag;
  }
  throw named;
}

struct LabelledPoints {
  Tensor x;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;
};

// Reads points with labels. Text labels are matched with `class_names` if there are any.
LabelledPoints labelled(const DataArguments& data, const std::vector<std::string>& class_names, bool quiet) {
  DatasetOptions options = dataset_options(data);
  if (options.classes.empty()) options.known_classes = class_names;
  Dataset read = read_dataset(data.path, options).value();
  report_notes(read.notes, quiet);
  report_bad(skipped_points(read.bad));
  if (read.labels.empty()) throw Error{ErrorCode::usage, data.path, "has no labels", "give them with --labels"};
  return {std::move(read.x), std::move(read.labels), std::move(read.class_names)};
}

// The options that must not change when training is resumed.
Document identity(const Arguments& arguments, const Trainer& trainer) {
  const TrainArguments& train = arguments.train;
  return Document::Object{{"model", train.model},
                          {"activation", train.activation},
                          {"data", std::filesystem::path(arguments.data.path).filename().string()},
                          {"points", trainer.points()},
                          {"classes", trainer.network().classes},
                          {"optimizer", train.optimizer},
                          {"batch", trainer.batch()},
                          {"seed", arguments.question.seed}};
}

// The scale at which p is maximised; 0 for the cross-entropy.
double robust_sigma(const TrainArguments& train) {
  const bool robust = train.objective == "p_robust";
  if (robust && !train.robust_sigma)
    throw Error{ErrorCode::usage, "--sigma", "is missing", "give the standard deviation of the noise, such as --sigma 0.25"};
  if (robust && !(*train.robust_sigma > 0 && std::isfinite(*train.robust_sigma)))
    throw Error{ErrorCode::usage, "--sigma", "is " + shortest_text(*train.robust_sigma), "give a positive number"};
  if (!robust && train.robust_sigma)
    throw Error{ErrorCode::usage, "--sigma", "applies only to --objective p_robust",
                "add that, or give --augment-sigma for noise on the points"};
  return train.robust_sigma.value_or(0);
}

TrainingOptions training_options(const TrainArguments& train) {
  TrainingOptions options;
  options.robust_sigma = robust_sigma(train);
  options.rate = train.rate;
  options.sigma = train.sigma;
  options.lambda = train.lambda;
  options.decay = train.decay;
  options.momentum = train.optimizer == "sgd" ? train.momentum : 0;
  options.flip = train.flip;
  options.crop = train.crop;
  options.schedule = parse_schedule(train.schedule);
  return options;
}

class Training {
 public:
  explicit Training(const Arguments& arguments)
      : arguments_(arguments), options_(training_options(arguments.train)), checkpoint_(arguments.output + ".checkpoint") {
    check(options_);
    LabelledPoints points = labelled(arguments.data, {}, arguments.quiet);
    class_names_ = points.class_names;
    if (!arguments.train.test.empty()) read_test(points.x.shape);
    const std::int64_t memory = arguments.device.memory.empty() ? kProcessorMemory : parse_memory(arguments.device.memory);
    const std::int64_t classes =
        std::max(*std::max_element(points.labels.begin(), points.labels.end()) + 1, std::ssize(class_names_));
    Network network = named_network(arguments.train.model, {points.x.shape.begin() + 1, points.x.shape.end()}, classes,
                                    parse_activation(arguments.train.activation), {arguments.question.seed, memory});
    scored_ = {rows(points.x, 0, std::min(kMostScored, points.x.shape[0])), points.labels, {}};
    scored_.labels.resize(static_cast<std::size_t>(scored_.x.shape[0]));
    trainer_ = std::make_unique<Trainer>(
        std::move(network), std::move(points.x), std::move(points.labels),
        TrainerOptions{parse_optimizer(arguments.train.optimizer), arguments.train.batch, arguments.question.seed, memory});
    identity_ = identity(arguments, *trainer_);
  }

  std::optional<TrainingResult> run() {
    go_on();
    const int status = run_interruptibly(
        trainer_->stop, [this] { return train(), finish(), 0; },
        [this] {
          return saved_ ? "the state is in " + checkpoint_ + "; repeat the command to resume"
                        : std::string("nothing was written");
        });
    return status == kInterrupted ? std::nullopt : std::optional(result_);
  }

  // Information about the trained network, for the metadata of its file and for --json.
  const Document& record() const { return record_; }

 private:
  void read_test(const Shape& shape) {
    DataArguments data = arguments_.data;
    data.path = arguments_.train.test;
    data.labels.clear();
    data.offset = 0;
    data.limit = -1;
    test_ = labelled(data, class_names_, arguments_.quiet);
    if (!std::equal(shape.begin() + 1, shape.end(), test_.x.shape.begin() + 1, test_.x.shape.end()))
      throw Error{ErrorCode::unreadable, data.path, "has points of shape " + to_string(point_shape(test_.x)),
                  "give points of the training data's shape " + to_string({shape.begin() + 1, shape.end()})};
  }

  // Resumes from a checkpoint of the same training run, if there is one.
  void go_on() {
    if (arguments_.force_new || !std::filesystem::exists(checkpoint_)) return;
    Checkpoint checkpoint = read_checkpoint(read_file(checkpoint_), checkpoint_);
    if (checkpoint.record != datasets::json_text(identity_))
      throw Error{ErrorCode::conflict, checkpoint_, "belongs to a different training run: " + checkpoint.record,
                  "repeat its command, or start over with --force-new"};
    trainer_->resume(std::move(checkpoint.state));
    saved_ = true;
    if (!arguments_.quiet) say("probust: resuming after epoch {:.2f} from {}\n", trainer_->epoch(), checkpoint_);
  }

  // Keeps the state in memory. It is written to the checkpoint after the next step, when the loss with its weights is known to
  // be finite.
  void remember() { remembered_ = write_checkpoint({trainer_->state(), datasets::json_text(identity_)}); }

  void save() {
    if (remembered_.empty()) return;
    write_whole(checkpoint_, remembered_);
    remembered_.clear();
    saved_ = true;
    last_saved_ = Clock::now();
  }

  void train() {
    TrainingRun run = TrainingRun::up_to(*trainer_, arguments_.train.epochs, options_);
    steps_ = run.planned();
    double sum = 0;
    std::int64_t summed = 0;
    try {
      for (bool over = false; !over;) {
        const std::int64_t before = trainer_->steps();
        over = run.step(0);
        if (trainer_->steps() == before) continue;  // this step only computed the accuracy
        ++done_;
        save();
        sum += run.loss();
        ++summed;
        if (trainer_->steps() % trainer_->steps_an_epoch() == 0) {
          end_epoch(sum / static_cast<double>(summed));
          sum = 0;
          summed = 0;
        } else {
          within_epoch(sum / static_cast<double>(summed));
        }
      }
    } catch (const Error& error) {
      if (error.code == ErrorCode::numerical) throw diverged();
      if (error.code == ErrorCode::interrupted) {
        remember();
        save();
      }
      throw;
    }
    score_ = run.score();
    if (!std::isfinite(score_.loss)) throw diverged();
  }

  Error diverged() const {
    const std::string kept = saved_ ? "resume from the last good state in " + checkpoint_ + " with a smaller --rate or --lambda"
                                    : "give a smaller --rate or --lambda";
    return {ErrorCode::numerical, "training", fmt::format("diverged in epoch {:.2f}: the loss is not finite", trainer_->epoch()),
            kept};
  }

  void end_epoch(double loss) {
    remember();
    if (arguments_.quiet) return;
    const bool unseen = !test_.labels.empty();
    const Score score = unseen ? evaluate(trainer_->network(), test_.x, test_.labels, 250, &trainer_->stop)
                               : evaluate(trainer_->network(), scored_.x, scored_.labels, 250, &trainer_->stop);
    say("epoch {}/{}  loss {:.4f}  {} accuracy {:.2f}%  {} left\n", trainer_->steps() / trainer_->steps_an_epoch(),
        arguments_.train.epochs, loss, unseen ? "test" : "training", 100 * score.accuracy, left());
    last_line_ = Clock::now();
  }

  void within_epoch(double loss) {
    if (seconds_since(last_saved_) > kSecondsBetweenCheckpoints && remembered_.empty()) remember();
    if (arguments_.quiet || seconds_since(last_line_) < kSecondsBetweenLines) return;
    say("epoch {:.2f}/{}  loss {:.4f}  {} left\n", trainer_->epoch(), arguments_.train.epochs, loss, left());
    last_line_ = Clock::now();
  }

  // The remaining time, estimated from the speed of the steps so far.
  std::string left() const {
    return duration_text(seconds_since(start_) / static_cast<double>(done_) * static_cast<double>(steps_ - done_));
  }

  void finish() {
    result_ = {score_.loss, score_.accuracy, {}};
    if (!test_.labels.empty()) result_.test_accuracy = evaluate(trainer_->network(), test_.x, test_.labels).accuracy;
    describe();
    Metadata metadata{{"probust.version", PROBUST_VERSION}, {"probust.train", datasets::json_text(record_)}};
    if (!class_names_.empty()) metadata.emplace_back("names", datasets::json_text(class_names_));
    write_whole(arguments_.output, export_onnx(trainer_->classifier(), arguments_.train.model, metadata).value());
    std::error_code ignored;
    std::filesystem::remove(checkpoint_, ignored);
  }

  void describe() {
    record_ = identity_;
    const TrainArguments& train = arguments_.train;
    record_["epochs"] = train.epochs;
    record_["rate"] = train.rate;
    record_["schedule"] = train.schedule;
    record_["objective"] = train.objective;
    if (train.robust_sigma) record_["sigma"] = *train.robust_sigma;
    record_["lambda"] = train.lambda;
    record_["augment_sigma"] = train.sigma;
    record_["augment_flip"] = train.flip;
    record_["augment_crop"] = train.crop;
    record_["decay"] = train.decay;
    if (train.optimizer == "sgd") record_["momentum"] = train.momentum;
    record_["loss"] = result_.loss;
    record_["accuracy"] = result_.accuracy;
    if (result_.test_accuracy) record_["test_accuracy"] = *result_.test_accuracy;
  }

  const Arguments& arguments_;
  TrainingOptions options_;
  std::string checkpoint_;
  std::unique_ptr<Trainer> trainer_;
  LabelledPoints scored_, test_;
  std::vector<std::string> class_names_;  ///< may be empty
  Document identity_, record_;
  Score score_;
  TrainingResult result_;
  std::string remembered_;  ///< a checkpoint that has not been written yet; empty if there is none
  bool saved_ = false;
  std::int64_t done_ = 0, steps_ = 0;  ///< steps that this process has finished, and the number that it has to do
  Clock::time_point start_ = Clock::now(), last_saved_ = start_, last_line_ = start_;
};

std::optional<TrainingResult> train_and_print(const Arguments& arguments, bool print) {
  require_ending("--output", arguments.output, ".onnx");
  require_writable(arguments.output);
  try {
    Training training(arguments);
    const std::optional<TrainingResult> result = training.run();
    if (result && print && arguments.json) fmt::print("{}\n", datasets::json_text(training.record()));
    return result;
  } catch (const Error& error) {
    rethrow_spelled(error);
  }
}

}  // namespace

std::optional<TrainingResult> train_model(const Arguments& arguments) { return train_and_print(arguments, false); }

static int run_train(const Arguments& arguments) {
  const std::optional<TrainingResult> result = train_and_print(arguments, true);
  if (!result) return kInterrupted;
  if (arguments.json) return 0;
  fmt::print("{}: {} after {} epochs, loss {:.4f}, accuracy {:.2f}%", arguments.output, arguments.train.model,
             arguments.train.epochs, result->loss, 100 * result->accuracy);
  if (result->test_accuracy) fmt::print(", on test data {:.2f}%", 100 * *result->test_accuracy);
  fmt::print("\n");
  return 0;
}

void describe_train(CommandLine& line) {
  auto [command, own] =
      line.add<Arguments>("train", "train a classifier on labelled points, and write it as an ONNX file", run_train);
  DataArguments& data = own.data;
  TrainArguments& train = own.train;
  command.add_option("--data", data.path, "labelled points: " + known_formats() + ", or a folder of images").required();
  command.add_option("--model", train.model, "cnn, linear, mlp:64,64, resnet18 or vit").show_default();
  command.add_option("-o,--output", own.output, ".onnx file to write").required();
  command.add_option("--test", train.test, "test data, for the accuracy after each epoch");
  command.add_option("--epochs", train.epochs, "number of passes over the data").at_least(1).show_default();
  command
      .add_option(
          "--objective", train.objective,
          "cross_entropy (the default), or p_robust: maximises p of the label under noise (-log p by taylor_mvs is minimised)")
      .one_of({"cross_entropy", "p_robust"});
  command.add_option("--sigma", train.robust_sigma,
                     "with --objective p_robust: standard deviation of the noise, in the data's units");
  command.add_option("--lambda", train.lambda, "weight of the mean of ||grad_x loss||^2 in the loss").show_default();
  command.add_option("--augment-sigma", train.sigma, "standard deviation of Gaussian noise on the points, in the data's units")
      .show_default();
  command.add_flag("--augment-flip", train.flip, "mirror images at random");
  command.add_option("--augment-crop", train.crop, "shift images at random by up to this many pixels").at_least(0);
  command.add_option("--optimizer", train.optimizer, "adam or sgd").show_default();
  command.add_option("--rate", train.rate, "learning rate").show_default();
  command.add_option("--schedule", train.schedule, "learning-rate schedule: cosine (falls to 0 in the last epoch) or constant")
      .show_default();
  command.add_option("--momentum", train.momentum, "momentum for sgd").show_default();
  command.add_option("--decay", train.decay, "weight decay (not applied to biases)").show_default();
  command.add_option("--batch", train.batch, "points per step").at_least(1).show_default();
  command.add_option("--activation", train.activation, "activation function of cnn and mlp: relu, tanh, gelu or silu")
      .show_default();
  command
      .add_option("--seed", own.question.seed,
                  "random seed for the initial weights, the order of the points and the augmentation")
      .show_default();
  command.add_option("--memory", own.device.memory,
                     "memory limit, applied once to weights and a batch, and once to activations (default: 2G)");
  command.add_option("--labels", data.labels, "file of labels");
  command.add_option("--label-column", data.label_column, "label column of a .csv: an index, a name or last").show_default();
  command.add_option("--classes", data.classes, "file of class names in class order, one per line");
  command.add_option("--scale", data.scale, "multiply stored values by this (default: 1/255 for bytes, otherwise 1)");
  command.add_flag("--cifar100", data.cifar100, "read CIFAR-100 rows (two label bytes)");
  command.add_option("--limit", data.limit, "read at most this many points").at_least(1);
  command.add_option("--offset", data.offset, "skip this many points").at_least(0);
  command.add_flag("--skip-bad", data.skip_bad, "skip unreadable points, and list them");
  command.add_flag("--force-new", own.force_new, "start over even if there is a checkpoint");
  command.add_flag("--json", own.json, "print one JSON object");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  command.set_footer(
      "After every epoch and when interrupted, the state is written to OUTPUT.checkpoint, from which the same command resumes. "
      "The checkpoint is removed once the model is written. If the loss is no longer finite, the checkpoint keeps the last "
      "good state, so that training can resume with a smaller --rate.");
}

}  // namespace probust::cli
