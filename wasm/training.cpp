// SPDX-License-Identifier: MIT
// Generated data, and trainings.
#include <algorithm>

#include "calls.h"
#include "probust/data/datasets.h"
#include "probust/onnx/export.h"

namespace probust::wasm {
namespace {

val write_data(const MadeData& data) {
  val object = val::object();
  object.set("x", write(std::span<const float>(data.x.data)));
  object.set("labels", write_ints(data.labels));
  object.set("classes", static_cast<double>(data.classes));
  object.set("pointShape", val::array(std::vector<double>(data.x.shape.begin() + 1, data.x.shape.end())));
  return object;
}

class DataCall final : public Call {
 public:
  DataCall(const MadeDataKind& kind, const MadeDataOptions& options) : maker_(kind, options) {}

 private:
  val attempt(double milliseconds) override { return maker_.step(milliseconds) ? write_data(maker_.data()) : val::undefined(); }
  std::int64_t done() const override { return maker_.done(); }
  std::int64_t planned() const override { return maker_.planned(); }

  DataMaker maker_;
};

TrainingOptions read_training(const CallArguments& arguments) {
  TrainingOptions options;
  options.rate = arguments.number("rate", options.rate);
  options.sigma = arguments.number("sigma", options.sigma);
  options.lambda = arguments.number("lambda", options.lambda);
  options.decay = arguments.number("decay", options.decay);
  return options;
}

class TrainCall final : public Call {
 public:
  TrainCall(std::shared_ptr<Trainer> trainer, const CallArguments& arguments)
      : trainer_(std::move(trainer)), run_(*trainer_, arguments.integer("epochs", 1, 0), read_training(arguments)) {}

 private:
  val attempt(double milliseconds) override {
    if (!run_.step(milliseconds)) return val::undefined();
    val object = val::object();
    object.set("epoch", trainer_->epoch());
    object.set("loss", run_.score().loss);
    object.set("accuracy", run_.score().accuracy);
    return object;
  }

  std::int64_t done() const override { return run_.done(); }
  std::int64_t planned() const override { return run_.planned(); }

  std::shared_ptr<Trainer> trainer_;
  TrainingRun run_;
};

class SaveCall final : public Call {
 public:
  explicit SaveCall(std::shared_ptr<Trainer> trainer) : trainer_(std::move(trainer)) {}

 private:
  val attempt(double) override {
    const std::string bytes = export_onnx(trainer_->classifier(), "mlp").value();
    return write_bytes(bytes);
  }
  std::int64_t done() const override { return 0; }
  std::int64_t planned() const override { return 0; }

  std::shared_ptr<Trainer> trainer_;
};

// x as [N, ...point], with N the number of labels.
Tensor read_labelled_points(const CallArguments& arguments, std::size_t labels) {
  if (arguments.has("pointShape")) return read_points(arguments, arguments.extents("pointShape"));
  const auto values = static_cast<std::int64_t>(arguments.numbers("x").size()), points = static_cast<std::int64_t>(labels);
  if (points == 0 || values % points != 0)
    throw Error{ErrorCode::usage, "x", "has " + std::to_string(values) + " numbers for " + std::to_string(points) + " labels",
                "give equally many for each"};
  return read_points(arguments, {std::max<std::int64_t>(1, values / points)});
}

}  // namespace

std::shared_ptr<Call> start_data(const CallArguments& arguments) {
  MadeDataOptions options;
  options.count = arguments.integer("count", options.count, 1);
  if (arguments.has("classes")) options.classes = arguments.integer("classes", 0, 1);
  if (arguments.has("noise")) options.noise = arguments.number("noise", 0);
  if (arguments.has("side")) options.side = arguments.integer("side", 0, 0);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0));
  return std::make_shared<DataCall>(made_data_kind(arguments.text("kind", "")), options);
}

std::shared_ptr<Trainer> make_trainer(const CallArguments& arguments) {
  TrainerOptions options;
  if (arguments.has("hidden")) options.hidden = arguments.integers("hidden");
  options.activation = parse_activation(arguments.text("activation", "relu"));
  options.optimizer = parse_optimizer(arguments.text("optimizer", "adam"));
  options.batch = arguments.integer("batch", options.batch, 1);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0));
  options.memory = arguments.integer("memory", options.memory, 1);
  check(read_training(arguments));
  std::vector<std::int64_t> labels = arguments.integers("labels");
  Tensor x = read_labelled_points(arguments, labels.size());
  const std::int64_t seen = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  return std::make_shared<Trainer>(std::move(x), std::move(labels), arguments.integer("classes", seen, 1), std::move(options));
}

std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const CallArguments& arguments) {
  if (operation == "run") return std::make_shared<TrainCall>(trainer, arguments);
  if (operation == "save") return std::make_shared<SaveCall>(trainer);
  throw Error{ErrorCode::usage, "operation", "'" + operation + "' is not known", ""};
}

}  // namespace probust::wasm
