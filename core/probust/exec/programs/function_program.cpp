// SPDX-License-Identifier: MIT
#include "probust/exec/programs/function_program.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/stop.h"
#include "probust/base/transpose.h"

namespace probust {
namespace {

// A value of a run, [elements][lanes], as a tensor [lanes, ...].
Tensor tensor_of(const float* value, const Shape& shape, std::int64_t lanes) {
  Shape batched = shape;
  batched.insert(batched.begin(), lanes);
  Tensor tensor(std::move(batched));
  transpose(value, tensor.size() / lanes, lanes, tensor.data.data());
  return tensor;
}

// Converts an exception of a function to an Error that does not concern a single estimator (concerns_one_estimator).
Error failure_of(const char* function, const Error& error) {
  if (error.code == ErrorCode::interrupted || error.code == ErrorCode::usage) return error;
  return {ErrorCode::internal, function, error.message(), ""};
}

// Calls a function and checks the shape of its result.
template <class Call>
Tensor called(const char* function, const Shape& shape, Call&& call) {
  Tensor result;
  try {
    result = std::forward<Call>(call)();
  } catch (const Error& error) {
    throw failure_of(function, error);
  } catch (const std::exception& problem) {
    throw Error{ErrorCode::internal, function, std::string("failed: ") + problem.what(), ""};
  }
  if (result.shape != shape || result.size() != element_count(shape))
    throw Error{ErrorCode::usage, function,
                "returned an array of shape " + to_string(result.shape) + " with " + std::to_string(result.size()) + " numbers",
                "return " + to_string(shape)};
  return result;
}

class FunctionProgram : public Program {
 public:
  FunctionProgram(ClassifierFunctions functions, Shape point, std::int64_t classes)
      : functions_(std::move(functions)), point_(std::move(point)), d_(element_count(point_)), classes_(classes) {}

  std::int64_t workspace_bytes(const Batch& batch) const override { return (d_ + classes_) * batch.examples * kFloat; }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace&,
           Reuse) const override {
    write_logits(batch.examples, inputs[0], outputs[0]);
  }

 protected:
  static constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

  void write_logits(std::int64_t examples, const float* x, float* out) const {
    const Tensor logits =
        called("logits", {examples, classes_}, [&] { return functions_.logits(tensor_of(x, point_, examples)); });
    transpose(logits.data.data(), examples, classes_, out);
  }

  ClassifierFunctions functions_;
  Shape point_;
  std::int64_t d_, classes_;
};

// Lane s * examples + b belongs to seed s and example b.
class FunctionGradientProgram final : public FunctionProgram {
 public:
  FunctionGradientProgram(ClassifierFunctions functions, Shape point, std::int64_t classes, std::int64_t most)
      : FunctionProgram(std::move(functions), std::move(point), classes), most_(most) {}

  std::int64_t workspace_bytes(const Batch& batch) const override {
    const std::int64_t together = std::min(most_, batch.examples * batch.seeds);
    return FunctionProgram::workspace_bytes(batch) + (d_ + classes_) * (batch.examples + 2 * together) * kFloat;
  }

  // The logits [classes][examples] stay in the workspace for the next group of seeds.
  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse reuse) const override {
    if (reuse == Reuse::nothing) write_logits(batch.examples, inputs[0], workspace.values.take(classes_ * batch.examples));
    const float* logits = workspace.values.data();
    float* out = outputs[0];
    for (std::int64_t c = 0; c < classes_; ++c) {
      for (std::int64_t s = 0; s < batch.seeds; ++s) out = std::copy_n(logits + c * batch.examples, batch.examples, out);
    }
    const Tensor x = tensor_of(inputs[0], point_, batch.examples), cotangents = tensor_of(inputs[1], {classes_}, lanes_of(batch));
    for (std::int64_t first = 0; first < lanes_of(batch); first += most_) {
      stop_if_asked(workspace.stop);
      write_gradients(x, cotangents, first, outputs[1]);
    }
  }

 private:
  static std::int64_t lanes_of(const Batch& batch) { return batch.examples * batch.seeds; }

  // Writes the gradients of up to most_ lanes.
  void write_gradients(const Tensor& x, const Tensor& cotangents, std::int64_t first, float* out) const {
    const std::int64_t lanes = cotangents.shape[0], count = std::min(most_, lanes - first);
    std::vector<std::int64_t> examples(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) examples[i] = (first + i) % x.shape[0];
    Tensor points = rows(x, examples);
    const Shape shape = points.shape;
    const Tensor gradients =
        called("vjp", shape, [&] { return functions_.vjp(std::move(points), rows(cotangents, first, count)); });
    for (std::int64_t i = 0; i < count; ++i) {
      const float* gradient = gradients.data.data() + i * d_;
      for (std::int64_t e = 0; e < d_; ++e) out[e * lanes + first + i] = gradient[e];
    }
  }

  std::int64_t most_;
};

}  // namespace

std::unique_ptr<Program> function_program(ClassifierFunctions functions, Shape point, std::int64_t classes) {
  return std::make_unique<FunctionProgram>(std::move(functions), std::move(point), classes);
}

std::unique_ptr<Program> function_gradient_program(ClassifierFunctions functions, Shape point, std::int64_t classes,
                                                   std::int64_t most) {
  return std::make_unique<FunctionGradientProgram>(std::move(functions), std::move(point), classes, most);
}

}  // namespace probust
