// SPDX-License-Identifier: MIT
#include "probust/onnx/trial.h"

#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower_graph.h"

namespace probust::onnx {
namespace {

// Numbers in -size..size, the same in every run.
Tensor trial_input(const Shape& shape, double size, int variant) {
  Tensor x(shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double turns = static_cast<double>(i + 1) * (std::numbers::phi + 0.37 * variant) + 0.1 * variant;
    x.data[i] = static_cast<float>(size * (2 * (turns - std::floor(turns)) - 1));
  }
  return x;
}

// The first number of the trial's tensor for an input.
float output_at(const Trial& trial, const Tensor& x) {
  const ModelProto& proto = trial.proto;
  Graph graph;
  Budget budget(trial.file_bytes);
  const LoweringTarget target{graph, proto, budget};
  std::map<std::string, Named> values{{trial.input, {append_constant(graph, x, trial.input), false}}};
  add_initializers(target, proto.graph, values);
  GraphLowering body(target, proto.graph.nodes, proto.opsets, std::move(values));
  const Named value = body.value(trial.output);
  if (value.id == kNoValue || graph[value.id].op != Op::constant)
    throw Error{ErrorCode::unsupported, "output '" + trial.output + "'", "cannot be computed for a test input", ""};
  return constant_value(graph, value.id).data.at(0);
}

}  // namespace

std::vector<float> trial_values(const Trial& trial, const std::function<bool(float)>& expected) {
  std::vector<float> seen;
  try {
    for (const double size : {0.5, 1.0, 4.0, 30.0, 255.0}) {
      for (int variant = 0; variant < 3; ++variant) {
        seen.push_back(output_at(trial, trial_input(trial.input_shape, size, variant)));
        if (!expected(seen.back())) return {};
      }
    }
  } catch (const Error&) {
    return {};
  }
  return seen;
}

}  // namespace probust::onnx
