// SPDX-License-Identifier: MIT
#include "probust/train/deep_models.h"

#include <charconv>

#include "probust/base/error.h"
#include "probust/train/deep_layers.h"

namespace probust {
namespace {

void add_conv(Layers& layers, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  layers.push_back(layer::conv(channels, {.kernel = kernel, .stride = stride, .pad = kernel / 2, .bias = false}));
  layers.push_back(layer::batch_norm());
}

// Adds two convolutions with a shortcut; if the shape changes, the shortcut is a convolution, too.
void add_block(Layers& layers, std::int64_t channels, std::int64_t stride, bool changes) {
  Layers branch, shortcut;
  add_conv(branch, channels, 3, stride);
  branch.push_back(layer::activate(Activation::relu));
  add_conv(branch, channels, 3, 1);
  if (changes) add_conv(shortcut, channels, 1, stride);
  layers.push_back(layer::residual(std::move(branch), std::move(shortcut)));
  layers.push_back(layer::activate(Activation::relu));
}

std::vector<std::int64_t> widths_in(const std::string& name, std::string_view text) {
  std::vector<std::int64_t> widths;
  const char* at = text.data();
  const char* const end = at + text.size();
  do {
    std::int64_t width = 0;
    const auto [stop, problem] = std::from_chars(at, end, width);
    if (problem != std::errc() || (stop != end && (*stop != ',' || stop + 1 == end)))
      throw Error{ErrorCode::usage, option("model"), "is '" + name + "', which has a width that is not a number",
                  "try mlp:64,64"};
    widths.push_back(width);
    at = stop == end ? end : stop + 1;
  } while (at != end);
  return widths;
}

}  // namespace

Network resnet18(const Shape& point, std::int64_t classes, const NetworkOptions& options, std::int64_t width) {
  Layers layers;
  add_conv(layers, width, 3, 1);
  layers.push_back(layer::activate(Activation::relu));
  for (int stage = 0; stage < 4; ++stage) {
    add_block(layers, width << stage, stage == 0 ? 1 : 2, stage > 0);
    add_block(layers, width << stage, 1, false);
  }
  layers.insert(layers.end(), {layer::average_pixels(), layer::dense(classes, 1)});
  return make_network("resnet18", point, classes, std::move(layers), options);
}

Network vit(const Shape& point, std::int64_t classes, const NetworkOptions& options, const TransformerSize& size) {
  Layers layers = {layer::conv(size.width, {.kernel = size.patch, .stride = size.patch, .gain = 1}), layer::tokens()};
  for (std::int64_t block = 0; block < size.depth; ++block) {
    layers.push_back(layer::residual({layer::layer_norm(), layer::attention(size.heads)}));
    layers.push_back(layer::residual(
        {layer::layer_norm(), layer::dense(2 * size.width, 2), layer::activate(Activation::gelu), layer::dense(size.width, 1)}));
  }
  layers.insert(layers.end(), {layer::layer_norm(), layer::average_tokens(), layer::dense(classes, 1)});
  return make_network("vit", point, classes, std::move(layers), options);
}

Network named_network(const std::string& name, const Shape& point, std::int64_t classes, Activation activation,
                      const NetworkOptions& options) {
  if (name == "linear") return mlp(point, {}, classes, activation, options);
  if (name == "cnn") return cnn(point, classes, activation, options);
  if (name == "resnet18") return resnet18(point, classes, options);
  if (name == "vit") return vit(point, classes, options);
  if (name.starts_with("mlp:"))
    return mlp(point, widths_in(name, std::string_view(name).substr(4)), classes, activation, options);
  throw Error{ErrorCode::usage, option("model"), "cannot be '" + name + "'", "use cnn, linear, mlp:64,64, resnet18 or vit"};
}

}  // namespace probust
