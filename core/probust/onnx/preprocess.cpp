// SPDX-License-Identifier: MIT
#include "probust/onnx/preprocess.h"

#include <cmath>

#include "probust/ops/build.h"

namespace probust {
namespace {

// One value for all, or one per channel, as a constant that broadcasts against a point.
Tensor per_channel(const std::vector<double>& values, const Shape& data_shape, const std::string& option) {
  const std::int64_t channels = data_shape.empty() ? 1 : data_shape[0];
  if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != channels) {
    throw Error{ErrorCode::usage, option,
                "has " + std::to_string(values.size()) + " values for data of shape " + to_string(data_shape),
                "give one, or " + std::to_string(channels) + " (one per channel)"};
  }
  Shape shape(data_shape.size(), 1);
  if (!shape.empty()) shape[0] = static_cast<std::int64_t>(values.size());
  Tensor tensor(shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) throw Error{ErrorCode::usage, option, "holds a value that is not a number", ""};
    tensor.data[i] = static_cast<float>(values[i]);
  }
  return tensor;
}

// [1, H, W, C] for points [C, H, W].
bool looks_like_nhwc(const Shape& input, const Shape& data) {
  if (data.size() != 3 || input.size() != 4) return false;
  const bool nchw = input[1] == data[0] && input[2] == data[1] && input[3] == data[2];
  return !nchw && input[1] == data[1] && input[2] == data[2] && input[3] == data[0];
}

ValueId arrange(Graph& graph, ValueId x, Layout layout, const Shape& input_shape) {
  const Shape data = graph[x].shape;
  if (layout == Layout::automatic) layout = looks_like_nhwc(input_shape, data) ? Layout::nhwc : Layout::nchw;
  if (layout == Layout::nchw) return x;
  if (data.size() != 3)
    throw Error{ErrorCode::usage, option("layout"), "needs images [C, H, W], not points of shape " + to_string(data), ""};
  if (layout == Layout::nhwc) return build::transpose(graph, x, {1, 2, 0});
  // Column-major over (H, W, C): H runs fastest, then W, then C, which is row-major over (C, W, H).
  return build::transpose(graph, x, {0, 2, 1});
}

std::string with_count(const Shape& shape) { return to_string(shape) + " (" + std::to_string(element_count(shape)) + " values)"; }

}  // namespace

Layout parse_layout(const std::string& text, const std::string& where) {
  if (text == "auto") return Layout::automatic;
  if (text == "nchw") return Layout::nchw;
  if (text == "nhwc") return Layout::nhwc;
  if (text == "whcn") return Layout::whcn;
  throw Error{ErrorCode::usage, where, "'" + text + "' is not known", "use auto, nchw, nhwc or whcn"};
}

Result<Graph> with_preprocessing(const Model& model, const Shape& data_shape, const Preprocessing& preprocessing) {
  return guarded("data", [&] {
    if (element_count(data_shape) != element_count(model.input_shape)) {
      throw Error{ErrorCode::unreadable, "data", "a point has shape " + with_count(data_shape),
                  "the model's input '" + model.input_name + "' takes " + with_count(model.input_shape)};
    }
    Graph graph;
    ValueId x = append_input(graph, data_shape, Extent::example, "x");
    if (!preprocessing.mean.empty())
      x = build::subtract(graph, x, append_constant(graph, per_channel(preprocessing.mean, data_shape, option("mean"))));
    if (!preprocessing.std.empty()) {
      const Tensor scale = per_channel(preprocessing.std, data_shape, option("std"));
      for (const float value : scale.data) {
        if (!(value > 0))
          throw Error{ErrorCode::usage, option("std"), "holds a value that is not positive", "give standard deviations"};
      }
      x = build::divide(graph, x, append_constant(graph, scale));
    }
    x = build::reshape(graph, arrange(graph, x, preprocessing.layout, model.input_shape), model.input_shape);
    graph.outputs = {append_function(graph, model.graph, x)};
    check(graph);
    return graph;
  });
}

}  // namespace probust
