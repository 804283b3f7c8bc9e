// SPDX-License-Identifier: MIT
// Generates data, and trains networks.
#include <algorithm>

#include "calls.h"
#include "probust/data/datasets.h"
#include "probust/onnx/export.h"
#include "probust/train/models.h"

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

TrainingOptions read_training(const CallArguments& arguments) {
  TrainingOptions options;
  options.rate = arguments.number("rate", options.rate);
  options.sigma = arguments.number("sigma", options.sigma);
  options.lambda = arguments.number("lambda", options.lambda);
  options.robust_sigma = arguments.number("robustSigma", options.robust_sigma);
  options.decay = arguments.number("decay", options.decay);
  return options;
}

std::shared_ptr<Call> start_run(const std::shared_ptr<Trainer>& trainer, const CallArguments& arguments) {
  const auto run = std::make_shared<TrainingRun>(*trainer, arguments.integer("epochs", 1, 0), read_training(arguments));
  return std::make_shared<Call>(run, [trainer, run] {
    val object = val::object();
    object.set("epoch", trainer->epoch());
    object.set("loss", run->score().loss);
    object.set("accuracy", run->score().accuracy);
    return object;
  });
}

// Writes the network as ONNX. It is a job so that JavaScript can request it in the same way as a training run.
class SaveJob final : public Job {
 public:
  explicit SaveJob(std::shared_ptr<Trainer> trainer) : trainer_(std::move(trainer)) {}

  std::int64_t planned() const override { return 0; }
  std::int64_t done() const override { return 0; }
  const std::string& bytes() const { return bytes_; }

 private:
  bool advance() override {
    bytes_ = export_onnx(trainer_->classifier(), trainer_->network().name).value();
    return false;
  }

  std::shared_ptr<Trainer> trainer_;
  std::string bytes_;
};

// Reads the points `x` as [N, ...point], where N is the number of labels.
Tensor read_labelled_points(const CallArguments& arguments, std::size_t labels) {
  if (arguments.has("pointShape")) return read_points(arguments, arguments.extents("pointShape"));
  const auto values = static_cast<std::int64_t>(arguments.numbers("x").size()), points = static_cast<std::int64_t>(labels);
  if (points == 0 || values % points != 0)
    throw Error{ErrorCode::usage, "x", "has " + std::to_string(values) + " numbers for " + std::to_string(points) + " labels",
                "give each point the same number of values"};
  return read_points(arguments, {std::max<std::int64_t>(1, values / points)});
}

Network read_network(const CallArguments& arguments, const Shape& point, std::int64_t classes, const TrainerOptions& options) {
  const Activation activation = parse_activation(arguments.text("activation", "relu"));
  const std::string model = arguments.text("model", "mlp");
  const NetworkOptions made{options.seed, options.memory};
  if (model == "cnn") return cnn(point, classes, activation, made);
  if (model != "mlp") throw Error{ErrorCode::usage, "model", "cannot be '" + model + "'", "use mlp or cnn"};
  std::vector<std::int64_t> hidden = {32};
  if (arguments.has("hidden")) hidden = arguments.integers("hidden");
  return mlp(point, hidden, classes, activation, made);
}

}  // namespace

std::shared_ptr<Call> start_data(const CallArguments& arguments) {
  MadeDataOptions options;
  options.count = arguments.integer("count", options.count, 1);
  if (arguments.has("classes")) options.classes = arguments.integer("classes", 0, 1);
  if (arguments.has("noise")) options.noise = arguments.number("noise", 0);
  if (arguments.has("side")) options.side = arguments.integer("side", 0, 0);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0));
  const auto maker = std::make_shared<DataMaker>(made_data_kind(arguments.text("kind", "")), options);
  return std::make_shared<Call>(maker, [maker] { return write_data(maker->data()); });
}

std::shared_ptr<Trainer> make_trainer(const CallArguments& arguments) {
  TrainerOptions options;
  options.optimizer = parse_optimizer(arguments.text("optimizer", "adam"));
  options.batch = arguments.integer("batch", options.batch, 1);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0));
  options.memory = arguments.integer("memory", options.memory, 1);
  check(read_training(arguments));
  std::vector<std::int64_t> labels = arguments.integers("labels");
  Tensor x = read_labelled_points(arguments, labels.size());
  const std::int64_t seen = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  Network network = read_network(arguments, {x.shape.begin() + 1, x.shape.end()}, arguments.integer("classes", seen, 1), options);
  return std::make_shared<Trainer>(std::move(network), std::move(x), std::move(labels), options);
}

std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const CallArguments& arguments) {
  if (operation == "run") return start_run(trainer, arguments);
  if (operation == "save") {
    const auto save = std::make_shared<SaveJob>(trainer);
    return std::make_shared<Call>(save, [save] { return write_bytes(save->bytes()); });
  }
  throw Error{ErrorCode::usage, "operation", "cannot be '" + operation + "'", ""};
}

}  // namespace probust::wasm
