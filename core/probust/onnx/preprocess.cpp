// SPDX-License-Identifier: MIT
#include "probust/onnx/preprocess.h"

#include <algorithm>
#include <cmath>

#include "probust/ops/build.h"

namespace probust {
namespace {

// One value for all channels, or one per channel, as a constant that broadcasts with a point.
Tensor per_channel(const std::vector<double>& values, const Shape& data_shape, int axis, const std::string& option) {
  const std::int64_t channels = data_shape.empty() ? 1 : data_shape[axis];
  if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != channels) {
    throw Error{ErrorCode::usage, option,
                "has " + std::to_string(values.size()) + " values for data of shape " + to_string(data_shape),
                "give one, or " + std::to_string(channels) + " (one per channel)"};
  }
  Shape shape(data_shape.size(), 1);
  if (!shape.empty()) shape[axis] = static_cast<std::int64_t>(values.size());
  Tensor tensor(shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) throw Error{ErrorCode::usage, option, "contains NaN or infinity", "give finite numbers"};
    tensor.data[i] = static_cast<float>(values[i]);
  }
  return tensor;
}

std::string with_count(const Shape& shape) { return to_string(shape) + " (" + std::to_string(element_count(shape)) + " values)"; }

// A hint if images have the wrong size.
std::string resizing(const Shape& point, const Shape& input) {
  if (point.size() != 3 || input.size() != 4 || point[0] != input[1] || point[0] > 4) return "";
  const std::int64_t shorter = std::min(input[2], input[3]);
  const std::string crop = input[2] == input[3] ? " and " + option("crop") + " " + std::to_string(shorter) : "";
  return "; resize images of a folder with " + option("resize") + " " + std::to_string(shorter) + crop;
}

}  // namespace

Layout parse_layout(const std::string& text, const std::string& where) {
  if (text == "auto") return Layout::automatic;
  if (text == "nchw") return Layout::nchw;
  if (text == "nhwc") return Layout::nhwc;
  if (text == "whcn") return Layout::whcn;
  throw Error{ErrorCode::usage, where, "cannot be '" + text + "'", "use auto, nchw, nhwc or whcn"};
}

int channel_axis(const Arrangement& arrangement, const Shape& point, const Preprocessing& preprocessing) {
  const int last = static_cast<int>(point.size()) - 1;
  if (last < 1) return 0;
  if (arrangement.channels_last) return last;
  const auto values = static_cast<std::int64_t>(std::max(preprocessing.mean.size(), preprocessing.std.size()));
  const bool stored = preprocessing.layout == Layout::automatic && !arrangement.permutes();
  return stored && values > 1 && values != point[0] && values == point[last] ? last : 0;
}

Result<Graph> with_preprocessing(const Model& model, const Shape& data_shape, const Preprocessing& preprocessing) {
  return guarded("the data set", [&] {
    if (element_count(data_shape) != element_count(model.input_shape)) {
      throw Error{ErrorCode::unreadable, "the data set", "has points of shape " + with_count(data_shape),
                  "give points that fit the model's input '" + model.input_name + "', " + with_count(model.input_shape) +
                      resizing(data_shape, model.input_shape)};
    }
    const Arrangement arrangement = arrangement_of(data_shape, model.input_shape, preprocessing.layout);
    const int axis = channel_axis(arrangement, data_shape, preprocessing);
    Graph graph;
    ValueId x = append_input(graph, data_shape, Extent::example, "x");
    if (!preprocessing.mean.empty())
      x = build::subtract(graph, x, append_constant(graph, per_channel(preprocessing.mean, data_shape, axis, option("mean"))));
    if (!preprocessing.std.empty()) {
      const Tensor scale = per_channel(preprocessing.std, data_shape, axis, option("std"));
      for (const float value : scale.data) {
        if (!(value > 0))
          throw Error{ErrorCode::usage, option("std"), "has a value that is not positive", "give positive standard deviations"};
      }
      x = build::divide(graph, x, append_constant(graph, scale));
    }
    x = build::reshape(graph, x, arrangement.view);
    if (arrangement.permutes()) x = build::transpose(graph, x, {arrangement.order.begin(), arrangement.order.end()});
    x = build::reshape(graph, x, model.input_shape);
    graph.outputs = {append_function(graph, model.graph, x)};
    check(graph);
    return graph;
  });
}

}  // namespace probust
