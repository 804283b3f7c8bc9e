// SPDX-License-Identifier: MIT
#include "probust/exec/function_program.h"

#include <exception>
#include <string>
#include <utility>

#include "probust/base/error.h"
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

// What the function returns, with the shape that it must have.
template <class Call>
Tensor called(const char* function, const Shape& shape, Call&& call) {
  Tensor result;
  try {
    result = std::forward<Call>(call)();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error{ErrorCode::internal, function, std::string("threw: ") + problem.what(), ""};
  }
  if (result.shape != shape)
    throw Error{ErrorCode::usage, function, "returned " + to_string(result.shape), "return " + to_string(shape)};
  return result;
}

class FunctionProgram final : public Program {
 public:
  FunctionProgram(ClassifierFunctions functions, Shape point, std::int64_t classes, bool gradients)
      : functions_(std::move(functions)), point_(std::move(point)), classes_(classes), gradients_(gradients) {}

  std::int64_t workspace_bytes(const Batch& batch) const override {
    const std::int64_t lanes = batch.examples * (gradients_ ? batch.seeds : 1);
    return (2 * element_count(point_) + 2 * classes_) * lanes * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace&,
           Reuse) const override {
    const Tensor x = tensor_of(inputs[0], point_, batch.examples);
    const Tensor logits = called("logits", {batch.examples, classes_}, [&] { return functions_.logits(x); });
    if (!gradients_) return transpose(logits.data.data(), batch.examples, classes_, outputs[0]);
    const Tensor repeated = for_each_seed(logits, batch);
    transpose(repeated.data.data(), repeated.shape[0], classes_, outputs[0]);
    write_gradients(batch, for_each_seed(x, batch), inputs[1], outputs[1]);
  }

 private:
  // Lane s * examples + b is that of example b.
  static Tensor for_each_seed(const Tensor& rows, const Batch& batch) {
    Tensor all = rows;
    all.shape[0] = batch.examples * batch.seeds;
    for (std::int64_t s = 1; s < batch.seeds; ++s) all.data.insert(all.data.end(), rows.data.begin(), rows.data.end());
    return all;
  }

  void write_gradients(const Batch& batch, const Tensor& x, const float* seeds, float* out) const {
    const std::int64_t lanes = batch.examples * batch.seeds;
    const Tensor cotangents = tensor_of(seeds, {classes_}, lanes);
    const Tensor gradients = called("vjp", x.shape, [&] { return functions_.vjp(x, cotangents); });
    transpose(gradients.data.data(), lanes, gradients.size() / lanes, out);
  }

  ClassifierFunctions functions_;
  Shape point_;
  std::int64_t classes_;
  bool gradients_;
};

}  // namespace

std::unique_ptr<Program> function_program(ClassifierFunctions functions, Shape point, std::int64_t classes) {
  return std::make_unique<FunctionProgram>(std::move(functions), std::move(point), classes, false);
}

std::unique_ptr<Program> function_gradient_program(ClassifierFunctions functions, Shape point, std::int64_t classes) {
  return std::make_unique<FunctionProgram>(std::move(functions), std::move(point), classes, true);
}

}  // namespace probust
