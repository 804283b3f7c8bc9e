// SPDX-License-Identifier: MIT
#include "support/architectures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "support/network.h"

namespace probust::test {
namespace {

// `channels` times the scale's width, rounded to a multiple of 8, at least 8.
std::int64_t wide(const Scale& scale, std::int64_t channels) {
  return std::max<std::int64_t>(8, std::llround(static_cast<double>(channels) * scale.width / 8) * 8);
}

std::int64_t deep(const Scale& scale, std::int64_t blocks) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(blocks) * scale.depth));
}

Shape image(const Scale& scale) { return {1, 3, scale.size, scale.size}; }

// ---- residual networks: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016

Feature conv_norm(Network& net, const Feature& x, std::int64_t filters, const Step& step, double scale = 1) {
  return net.batch_norm(net.conv(x, filters, step), scale);
}

Feature basic_block(Network& net, const Feature& x, std::int64_t filters, std::int64_t stride) {
  Feature y = net.relu(conv_norm(net, x, filters, {3, stride}));
  y = conv_norm(net, y, filters, {3}, 0.5);
  const bool same = stride == 1 && x.shape[1] == filters;
  return net.relu(net.add(y, same ? x : conv_norm(net, x, filters, {1, stride})));
}

Feature bottleneck(Network& net, const Feature& x, std::int64_t filters, std::int64_t stride) {
  Feature y = net.relu(conv_norm(net, x, filters, {1}));
  y = net.relu(conv_norm(net, y, filters, {3, stride}));
  y = conv_norm(net, y, 4 * filters, {1}, 0.5);
  const bool same = stride == 1 && x.shape[1] == 4 * filters;
  return net.relu(net.add(y, same ? x : conv_norm(net, x, 4 * filters, {1, stride})));
}

using Block = Feature (*)(Network&, const Feature&, std::int64_t filters, std::int64_t stride);

Feature residual_stages(Network& net, Feature x, const Scale& scale, Block block, const std::array<std::int64_t, 4>& blocks) {
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (std::int64_t i = 0; i < deep(scale, blocks[stage]); ++i)
      x = block(net, x, wide(scale, std::int64_t{64} << stage), i == 0 && stage > 0 ? 2 : 1);
  }
  return net.gemm(net.flatten(net.global_average(x)), scale.classes);
}

std::string resnet18(const Scale& scale) {
  Network net(scale.seed);
  const Feature x = net.relu(conv_norm(net, net.input(image(scale)), wide(scale, 64), {3}));
  return net.finish(residual_stages(net, x, scale, basic_block, {2, 2, 2, 2}));
}

std::string resnet50(const Scale& scale) {
  Network net(scale.seed);
  const Feature x = net.relu(conv_norm(net, net.input(image(scale)), wide(scale, 64), {7, 2}));
  return net.finish(residual_stages(net, net.max_pool(x, {3, 2}), scale, bottleneck, {3, 4, 6, 3}));
}

// ---- Simonyan, Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015

std::string vgg16(const Scale& scale) {
  Network net(scale.seed);
  Feature x = net.input(image(scale));
  constexpr std::array<std::array<std::int64_t, 2>, 5> stages{{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};
  for (const auto& [layers, channels] : stages) {
    for (std::int64_t i = 0; i < deep(scale, layers); ++i) x = net.relu(net.conv(x, wide(scale, channels), {3}, true));
    x = net.max_pool(x, {2, 2, 1, 0});
  }
  x = net.flatten(x);
  for (int i = 0; i < 2; ++i) x = net.relu(net.gemm(x, wide(scale, 4096)));
  return net.finish(net.gemm(x, scale.classes));
}

// ---- Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, table 2

struct Stage {
  std::int64_t expansion, channels, blocks, stride, kernel;
};

// The middle of an inverted residual, between its expansion and its projection.
using Middle = Feature (*)(Network&, const Feature& x, const Feature& expanded, const Stage& stage, std::int64_t stride);
using Activation = Feature (Network::*)(const Feature&);

std::string inverted_residuals(const Scale& scale, const std::array<Stage, 7>& stages, Activation activation, Middle middle) {
  Network net(scale.seed);
  const auto active = [&](const Feature& x) { return (net.*activation)(x); };
  Feature x = active(conv_norm(net, net.input(image(scale)), wide(scale, 32), {3, 2}));
  for (const Stage& stage : stages) {
    const std::int64_t channels = wide(scale, stage.channels);
    for (std::int64_t i = 0; i < deep(scale, stage.blocks); ++i) {
      const std::int64_t stride = i == 0 ? stage.stride : 1, inner = x.shape[1] * stage.expansion;
      const Feature expanded = stage.expansion == 1 ? x : active(conv_norm(net, x, inner, {1}));
      const Feature y = conv_norm(net, middle(net, x, expanded, stage, stride), channels, {1}, 0.7);
      x = stride == 1 && x.shape[1] == channels ? net.add(x, y) : y;
    }
  }
  x = active(conv_norm(net, x, wide(scale, 1280), {1}));
  return net.finish(net.gemm(net.flatten(net.global_average(x)), scale.classes));
}

Feature depthwise(Network& net, const Feature& x, const Stage& stage, std::int64_t stride) {
  return conv_norm(net, x, x.shape[1], {stage.kernel, stride, x.shape[1]});
}

std::string mobilenet_v2(const Scale& scale) {
  constexpr std::array<Stage, 7> stages{{{1, 16, 1, 1, 3},
                                         {6, 24, 2, 2, 3},
                                         {6, 32, 3, 2, 3},
                                         {6, 64, 4, 2, 3},
                                         {6, 96, 3, 1, 3},
                                         {6, 160, 3, 2, 3},
                                         {6, 320, 1, 1, 3}}};
  return inverted_residuals(scale, stages, &Network::relu6,
                            [](Network& net, const Feature&, const Feature& y, const Stage& stage, std::int64_t stride) {
                              return net.relu6(depthwise(net, y, stage, stride));
                            });
}

// ---- Tan, Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML 2019, table 1

Feature squeeze_excite(Network& net, const Feature& x, std::int64_t squeezed) {
  Feature gate = net.silu(net.conv(net.global_average(x), squeezed, {1}, true));
  gate = net.sigmoid(net.conv(gate, x.shape[1], {1}, true));
  return net.multiply(x, gate);
}

std::string efficientnet_b0(const Scale& scale) {
  constexpr std::array<Stage, 7> stages{{{1, 16, 1, 1, 3},
                                         {6, 24, 2, 2, 3},
                                         {6, 40, 2, 2, 5},
                                         {6, 80, 3, 2, 3},
                                         {6, 112, 3, 1, 5},
                                         {6, 192, 4, 2, 5},
                                         {6, 320, 1, 1, 3}}};
  return inverted_residuals(scale, stages, &Network::silu,
                            [](Network& net, const Feature& x, const Feature& y, const Stage& stage, std::int64_t stride) {
                              return squeeze_excite(net, net.silu(depthwise(net, y, stage, stride)),
                                                    std::max<std::int64_t>(1, x.shape[1] / 4));
                            });
}

// ---- Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks", CVPR 2017

std::string densenet121(const Scale& scale) {
  Network net(scale.seed);
  const std::int64_t growth = wide(scale, 32);
  Feature x = net.relu(conv_norm(net, net.input(image(scale)), wide(scale, 64), {7, 2}));
  x = net.max_pool(x, {3, 2});
  constexpr std::array<std::int64_t, 4> blocks{6, 12, 24, 16};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (std::int64_t i = 0; i < deep(scale, blocks[stage]); ++i) {
      Feature y = net.conv(net.relu(net.batch_norm(x)), 4 * growth, {1});
      y = net.conv(net.relu(net.batch_norm(y)), growth, {3});
      x = net.concat({x, y}, 1);
    }
    if (stage + 1 == blocks.size()) break;
    x = net.conv(net.relu(net.batch_norm(x)), x.shape[1] / 2, {1});
    x = net.average_pool(x, {2, 2});
  }
  x = net.global_average(net.relu(net.batch_norm(x)));
  return net.finish(net.gemm(net.flatten(x), scale.classes));
}

// ---- Liu et al., "A ConvNet for the 2020s", CVPR 2022

Feature channels_last(Network& net, const Feature& x) { return net.transpose(x, {0, 2, 3, 1}); }
Feature channels_first(Network& net, const Feature& x) { return net.transpose(x, {0, 3, 1, 2}); }

Feature convnext_block(Network& net, const Feature& x) {
  const std::int64_t channels = x.shape[1];
  Feature y = channels_last(net, net.conv(x, channels, {7, 1, channels}, true));
  y = net.gelu(net.linear(net.layer_norm(y), 4 * channels));
  y = net.linear(y, channels);
  y = net.multiply(y, net.parameter({channels}, 0.2, 0.6));
  return net.add(x, channels_first(net, y));
}

std::string convnext_t(const Scale& scale) {
  Network net(scale.seed);
  constexpr std::array<std::int64_t, 4> blocks{3, 3, 9, 3};
  Feature x = net.input(image(scale));
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t channels = wide(scale, std::int64_t{96} << stage);
    if (stage == 0) {
      x = net.conv(x, channels, {4, 4, 1, 0}, true);
      x = channels_first(net, net.layer_norm(channels_last(net, x)));
    } else {
      x = channels_first(net, net.layer_norm(channels_last(net, x)));
      x = net.conv(x, channels, {2, 2, 1, 0}, true);
    }
    for (std::int64_t i = 0; i < deep(scale, blocks[stage]); ++i) x = convnext_block(net, x);
  }
  x = net.layer_norm(net.flatten(net.global_average(x)));
  return net.finish(net.gemm(x, scale.classes));
}

// ---- Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021

// [1, 3, size, size] to [1, tokens, width]; one token per patch of 16 x 16.
Feature patches(Network& net, const Feature& x, std::int64_t width) {
  const Feature y = net.conv(x, width, {16, 16, 1, 0}, true);
  return net.transpose(net.reshape(y, {1, width, y.shape[2] * y.shape[3]}), {0, 2, 1});
}

Feature attention(Network& net, const Feature& x) {
  const std::int64_t tokens = x.shape[1], width = x.shape[2], heads = std::max<std::int64_t>(1, width / 64), each = width / heads;
  const auto split = [&](const Feature& y) { return net.transpose(net.reshape(y, {1, tokens, heads, each}), {0, 2, 1, 3}); };
  const Feature query = split(net.linear(x, width)), key = split(net.linear(x, width)), value = split(net.linear(x, width));
  const Feature scores = net.matmul(query, net.transpose(key, {0, 1, 3, 2}));
  const Feature shares = net.softmax(net.scaled(scores, 1 / std::sqrt(static_cast<float>(each))));
  const Feature mixed = net.transpose(net.matmul(shares, value), {0, 2, 1, 3});
  return net.linear(net.reshape(mixed, {1, tokens, width}), width);
}

Feature perceptron(Network& net, const Feature& x, std::int64_t hidden) {
  return net.linear(net.gelu(net.linear(x, hidden)), x.shape.back());
}

std::string vit_b16(const Scale& scale) {
  Network net(scale.seed);
  const std::int64_t width = wide(scale, 768);
  Feature x = patches(net, net.input(image(scale)), width);
  x = net.concat({net.parameter({1, 1, width}, -1, 1), x}, 1);
  x = net.add(x, net.parameter(x.shape, -0.5, 0.5));
  for (std::int64_t i = 0; i < deep(scale, 12); ++i) {
    x = net.add(x, attention(net, net.layer_norm(x)));
    x = net.add(x, perceptron(net, net.layer_norm(x), 4 * width));
  }
  return net.finish(net.gemm(net.token(net.layer_norm(x), 0), scale.classes));
}

// ---- Tolstikhin et al., "MLP-Mixer: An all-MLP Architecture for Vision", NeurIPS 2021, table 1

std::string mixer_s16(const Scale& scale) {
  Network net(scale.seed);
  const std::int64_t width = wide(scale, 512);
  Feature x = patches(net, net.input(image(scale)), width);
  for (std::int64_t i = 0; i < deep(scale, 8); ++i) {
    const Feature across = perceptron(net, net.transpose(net.layer_norm(x), {0, 2, 1}), width / 2);
    x = net.add(x, net.transpose(across, {0, 2, 1}));
    x = net.add(x, perceptron(net, net.layer_norm(x), 4 * width));
  }
  return net.finish(net.gemm(net.mean_token(net.layer_norm(x)), scale.classes));
}

constexpr std::array<Architecture, 9> kArchitectures{{{"resnet18", 32, 8, resnet18},
                                                      {"resnet50", 224, 32, resnet50},
                                                      {"vgg16", 224, 32, vgg16},
                                                      {"mobilenet_v2", 224, 32, mobilenet_v2},
                                                      {"efficientnet_b0", 224, 32, efficientnet_b0},
                                                      {"densenet121", 224, 32, densenet121},
                                                      {"convnext_t", 224, 32, convnext_t},
                                                      {"vit_b16", 224, 16, vit_b16},
                                                      {"mixer_s16", 224, 16, mixer_s16}}};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& architecture(std::string_view name) {
  for (const Architecture& candidate : kArchitectures) {
    if (candidate.name == name) return candidate;
  }
  std::string names;
  for (const Architecture& known : kArchitectures) names += " " + std::string(known.name);
  throw std::invalid_argument("there is no architecture '" + std::string(name) + "'; there are" + names);
}

std::string make_onnx(const Architecture& architecture, Scale scale) {
  if (scale.size == 0) scale.size = architecture.usual_size;
  if (scale.size % architecture.size_step != 0)
    throw std::invalid_argument(std::string(architecture.name) + " needs images whose side is a multiple of " +
                                std::to_string(architecture.size_step) + ", got " + std::to_string(scale.size));
  return architecture.onnx(scale);
}

}  // namespace probust::test
