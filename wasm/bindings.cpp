// SPDX-License-Identifier: MIT
// What a page or a node program can call. Values in, values out; an Error becomes a plain object, nothing is thrown at
// JavaScript.
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cmath>

#include "probust/probust.h"

namespace {

using emscripten::val;
using probust::Error;

val error_object(const Error& error) {
  val object = val::object();
  object.set("code", static_cast<int>(error.code));
  object.set("message", error.message());
  return object;
}

val number_or_null(const std::optional<double>& value) { return value && std::isfinite(*value) ? val(*value) : val::null(); }

std::vector<double> numbers(const val& options, const char* name) {
  return options[name].isUndefined() ? std::vector<double>{} : emscripten::convertJSArrayToNumberVector<double>(options[name]);
}

probust::Layout layout_of(const val& options) {
  const std::string text = options["layout"].isUndefined() ? "auto" : options["layout"].as<std::string>();
  if (text == "auto") return probust::Layout::automatic;
  if (text == "nchw") return probust::Layout::nchw;
  if (text == "nhwc") return probust::Layout::nhwc;
  if (text == "whcn") return probust::Layout::whcn;
  throw Error{probust::ErrorCode::usage, "layout", "'" + text + "' is not known", "use auto, nchw, nhwc or whcn"};
}

// A model and its executor: the one handle.
class Classifier {
 public:
  Classifier(const probust::Model& model, const probust::Shape& point_shape, const probust::Preprocessing& preprocessing)
      : executor_(
            probust::make_executor("cpu", probust::with_preprocessing(model, point_shape, preprocessing).value(), {}).value()) {}

  int classes() const { return static_cast<int>(executor_->classes()); }

  val estimate(const val& x, const std::string& noise, const std::string& estimator, double seed) {
    const auto row =
        probust::guarded("estimate", [&] { return estimate_row(x, noise, estimator, static_cast<std::uint64_t>(seed)); });
    if (row) return *row;
    val object = val::object();
    object.set("error", error_object(row.error()));
    return object;
  }

 private:
  val estimate_row(const val& x, const std::string& noise_text, const std::string& estimator_text, std::uint64_t seed) {
    probust::Shape shape = executor_->point_shape();
    shape.insert(shape.begin(), 1);
    probust::Points points{probust::Tensor(shape, emscripten::convertJSArrayToNumberVector<float>(x)), {0}, {0}, seed};
    const probust::Tensor logits = executor_->logits(points.x).value();
    const std::int64_t predicted = std::max<std::int64_t>(0, probust::argmax(logits.row(0)));
    points.target[0] = predicted;
    const probust::Noise noise = probust::parse_noise(noise_text);
    const probust::EstimatorSpec estimator = probust::parse_estimator(estimator_text);
    probust::Evaluation evaluation(*executor_, std::move(points), logits);
    const probust::Estimate result = probust::estimate(evaluation, noise, estimator).value()[0];
    val row = val::object();
    row.set("predicted", static_cast<double>(predicted));
    row.set("noise", noise.text());
    row.set("sigma", noise.scale);
    row.set("estimator", estimator.text());
    row.set("p", number_or_null(result.p));
    row.set("pFail", number_or_null(result.p_fail));
    row.set("stdError", number_or_null(result.std_error));
    row.set("ciLow", number_or_null(result.ci_low));
    row.set("ciHigh", number_or_null(result.ci_high));
    row.set("forwards", static_cast<double>(result.forwards));
    row.set("backwards", static_cast<double>(result.backwards));
    row.set("status", result.status);
    return row;
  }

  std::unique_ptr<probust::Executor> executor_;
};

// {classifier} or {error}. `options`: shape of a point (without batch), mean, std, layout.
val load_model(const val& bytes, const val& options) {
  val object = val::object();
  const auto loaded = probust::guarded("model", [&] {
    const auto buffer = emscripten::convertJSArrayToNumberVector<std::uint8_t>(bytes);
    const probust::Model model = probust::import_onnx(std::as_bytes(std::span(buffer))).value();
    probust::Shape shape(model.input_shape.begin() + (model.input_shape.size() > 1 ? 1 : 0), model.input_shape.end());
    if (!options["shape"].isUndefined()) {
      shape.clear();
      for (const double extent : numbers(options, "shape")) shape.push_back(static_cast<std::int64_t>(extent));
    }
    return std::make_shared<Classifier>(
        model, shape, probust::Preprocessing{numbers(options, "mean"), numbers(options, "std"), layout_of(options)});
  });
  if (loaded) {
    object.set("classifier", *loaded);
  } else {
    object.set("error", error_object(loaded.error()));
  }
  return object;
}

}  // namespace

EMSCRIPTEN_BINDINGS(probust) {
  emscripten::class_<Classifier>("Classifier")
      .smart_ptr<std::shared_ptr<Classifier>>("Classifier")
      .property("classes", &Classifier::classes)
      .function("estimate", &Classifier::estimate);
  emscripten::function("loadModel", &load_model);
}
