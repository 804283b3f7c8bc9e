// SPDX-License-Identifier: MIT
// How the CUDA backend stores values and fuses operators: narrow images, chains, and the epilogues of convolutions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "cuda/cuda_executor.h"
#include "cuda/kernels.h"
#include "cuda/program.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"
#include "probust/passes/gradient_graphs.h"
#include "probust/passes/simplify.h"
#include "support/architectures.h"
#include "support/imported.h"
#include "support/networks.h"
#include "support/on_device.h"
#include "support/op_graphs.h"
#ifdef PROBUST_CUDA_EMULATED
#include "cuda/emulated/control.h"
#endif

namespace probust::cuda {
namespace {

using test::expect_near;
using test::run_on_device;

Graph resnet18(const test::Scale& scale = {}) {
  return simplify(test::import_bytes(test::make_onnx(test::architecture("resnet18"), scale))->graph);
}

// ---- numbers

TEST(CudaNumbers, NarrowNumbersAreTheNearestAndTiesAreEven) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::uint32_t> bits;
  for (int i = 0; i < 100000; ++i) {
    const auto x = __builtin_bit_cast(float, bits(random));
    const Bf16 narrow = narrowed(x);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(widened(narrow)));
      continue;
    }
    if (!std::isfinite(widened(narrow))) continue;
    const double error = std::fabs(static_cast<double>(widened(narrow)) - x);
    for (const int step : {-1, 1}) {
      const Bf16 other{static_cast<std::uint16_t>(narrow.bits + step)};
      if (!std::isfinite(widened(other))) continue;
      EXPECT_LE(error, std::fabs(static_cast<double>(widened(other)) - x)) << x;
    }
  }
  EXPECT_EQ(widened(narrowed(1 + 0x1p-8F)), 1);
  EXPECT_EQ(widened(narrowed(1 + 3 * 0x1p-8F)), 1 + 0x1p-6F);
  EXPECT_EQ(widened(narrowed(std::numeric_limits<float>::max())), std::numeric_limits<float>::infinity());
  EXPECT_EQ(widened(narrowed(-std::numeric_limits<float>::infinity())), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(widened(narrowed(__builtin_bit_cast(float, 0x7f800001U)))));  // its upper bits are infinity's
  EXPECT_TRUE(std::signbit(widened(narrowed(-0.0F))));
}

// ---- chains

// A value on a device, stored with the given type, and the same numbers on the host.
class Value {
 public:
  Value(Device& device, std::int64_t lanes, std::int64_t elements, Type type, std::mt19937& random)
      : here(test::random_tensor({lanes * elements}, random).data), type_(type) {
    std::vector<Bf16> narrow;
    for (float& one : here) {
      narrow.push_back(narrowed(one));
      if (type == Type::bf16) one = widened(narrow.back());
    }
    if (type == Type::bf16) {
      narrow_ = Array<Bf16>(device, narrow);
    } else {
      wide_ = Array<float>(device, here);
    }
  }

  const void* data() const { return type_ == Type::bf16 ? static_cast<const void*>(narrow_.data()) : wide_.data(); }
  void* data() { return const_cast<void*>(std::as_const(*this).data()); }

  std::vector<float> downloaded(Device& device) const {
    std::vector<float> result(here.size());
    if (type_ == Type::float32) {
      device.download(result.data(), wide_.data(), wide_.size() * kFloatBytes);
      return result;
    }
    std::vector<Bf16> narrow(here.size());
    device.download(narrow.data(), narrow_.data(), narrow_.size() * bytes_of(Type::bf16));
    std::transform(narrow.begin(), narrow.end(), result.begin(), widened);
    return result;
  }

  std::vector<float> here;

 private:
  Type type_;
  Array<Bf16> narrow_;
  Array<float> wide_;
};

// (x + bias + y), optionally rectified and optionally multiplied by a mask, where x has all lanes, y has `own_lanes`, and there
// is one bias per channel. The order of operands does not matter.
void expect_right_sums(std::int64_t lanes, std::int64_t own_lanes) {
  Device& device = test::shared_device();
  std::mt19937 random(2);
  for (const std::int64_t channels : {1, 3, 4, 8}) {
    for (const std::int64_t cells : {1, 3, 4}) {
      for (int choice = 0; choice < 64; ++choice) {
        const auto is = [&](int bit) { return (choice >> bit & 1) != 0; };
        const auto type = [&](int bit) { return is(bit) ? Type::bf16 : Type::float32; };
        const bool rectified = is(0), masked = is(1), swapped = is(2);
        const std::int64_t elements = channels * cells;
        const Value x(device, lanes, elements, type(3), random), y(device, own_lanes, elements, type(4), random),
            bias(device, 1, channels, Type::float32, random), mask(device, own_lanes, elements, type(4), random);
        Value result(device, lanes, elements, type(5), random);
        Chain chain;
        chain.operand_count = 4;
        chain.operands[0] = {{x.data(), elements, lanes, type(3)}};
        chain.operands[1] = {{bias.data(), channels, 1, Type::float32}, nullptr, cells == 1 ? 0 : channels, false};
        chain.operands[2] = {{y.data(), elements, own_lanes, type(4)}};
        chain.operands[3] = {{mask.data(), elements, own_lanes, type(4)}, nullptr, 0, true};
        const auto then = [&](Op op, std::int8_t a, std::int8_t b) {
          if (swapped && op != Op::relu) std::swap(a, b);
          chain.steps[chain.step_count++] = {op, a, b, Chain::kSoFar};
        };
        then(Op::add, 0, 1);
        then(Op::add, Chain::kSoFar, 2);
        if (rectified) then(Op::relu, Chain::kSoFar, Chain::kSoFar);
        if (masked) then(Op::multiply, Chain::kSoFar, 3);
        const Output to{result.data(), elements, lanes, type(5)};
        EXPECT_EQ(runs_in_fours(chain, to), channels % 4 == 0);
        run(device, chain, to);
        const std::vector<float> actual = result.downloaded(device);
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          for (std::int64_t e = 0; e < elements; ++e) {
            const std::int64_t own = lane % own_lanes * elements + e;
            float expected = x.here[lane * elements + e] + bias.here[e % channels] + y.here[own];
            if (rectified) expected = std::max(expected, 0.0F);
            if (masked) expected *= mask.here[own] > 0 ? 1.0F : 0.0F;
            if (type(5) == Type::bf16) expected = widened(narrowed(expected));
            ASSERT_EQ(actual[lane * elements + e], expected)
                << lanes << " lanes, " << channels << " channels, " << cells << " cells, choice " << choice << ", lane " << lane
                << ", element " << e;
          }
        }
      }
    }
  }
}

TEST(CudaKernels, SumsWithRectifierAndMaskAreRightInEveryTypeAndSize) {
  expect_right_sums(6, 3);
  expect_right_sums(1, 1);  // every operand has one lane, like constants
}

std::vector<std::string> names_of(const DeviceProgram& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps()) names.push_back(step.kind.name);
  return names;
}

// A bias per channel is read with a period, so no table is needed.
TEST(CudaProgram, BiasesOfChannelsNeedNoTable) {
  const auto tables = [](bool with_bias) {
    Graph g;
    const ValueId x = append_input(g, {1, 4, 3, 5}, Extent::example, "x");
    const Window window{{3, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    ValueId y = append(g, Op::conv, {x, append_constant(g, Tensor({4, 4, 1, 1}))}, window);
    y = append(g, Op::tanh, {y});
    if (with_bias) y = build::add(g, y, append_constant(g, {{4, 1, 1}, {1, 2, 3, 4}}));
    g.outputs = {y};
    return DeviceLowering(test::shared_device(), g).finish().tables.size();
  };
  EXPECT_EQ(tables(true), tables(false));
}

// The mask of a rectifier is computed from its result, so it is never stored.
TEST(CudaProgram, MasksOfRectifiersAreNotStored) {
  for (const Graph& graph : {test::small_cnn(), resnet18({0.125, 0.5, 8})}) {
    const Graph gradient = gradient_graph(graph);
    ASSERT_TRUE(std::any_of(gradient.nodes.begin(), gradient.nodes.end(), [](const Node& n) { return n.op == Op::step; }));
    const DeviceProgram program(test::shared_device(), gradient);
    for (const std::string& name : names_of(program)) EXPECT_EQ(name.find("step"), std::string::npos) << name;
  }
}

// A step of a chain that nothing else reads stays in the chain; one that something else also reads is stored.
TEST(CudaProgram, StepsThatAreNotMasksAreRight) {
  Graph g;
  const ValueId x = append_input(g, {2, 3}, Extent::example, "x"), c = append_input(g, {2, 3}, Extent::seeded, "c");
  const ValueId negative = append(g, Op::negate, {x}), of_chain = append(g, Op::step, {negative}),
                stored = append(g, Op::step, {c});
  const ValueId twice = append(g, Op::step, {append(g, Op::step, {x})});
  g.outputs = {build::multiply(g, c, of_chain), build::reduce_sum(g, stored, {1}), build::multiply(g, c, stored),
               build::multiply(g, c, twice)};
  const std::vector<std::vector<float>> inputs{{1, -1, 0, 2, -2, 3}, {1, -1, 2, -2, 3, 0, NAN, 1, 2, 0, -1, -3}};
  const Batch batch{1, 2};
  const auto expected = test::run(*compile_reference(g), g, batch, inputs), actual = run_on_device(g, batch, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t e = 0; e < expected[i].size(); ++e) {
      if (std::isnan(expected[i][e])) {
        EXPECT_TRUE(std::isnan(actual[i][e])) << i << ", " << e;
      } else {
        EXPECT_EQ(actual[i][e], expected[i][e]) << i << ", " << e;
      }
    }
  }
}

TEST(CudaProgram, AStepThatCanJoinTheChainOfItsOperandIsNoMask) {
  Graph g;
  const ValueId x = append_input(g, {6}, Extent::example, "x"), c = append_input(g, {6}, Extent::seeded, "c");
  const ValueId of_sum = append(g, Op::step, {build::add(g, x, build::constant(g, 1))});
  g.outputs = {build::multiply(g, c, of_sum)};
  EXPECT_EQ(names_of(DeviceProgram(test::shared_device(), g)), (std::vector<std::string>{"add, step", "multiply"}));
}

// ---- epilogues of convolutions

struct Layers {
  Graph graph;
  std::mt19937 random{3};

  explicit Layers(std::int64_t channels) : channels_(channels) {
    x = append_input(graph, {2, channels, 4, 5}, Extent::example, "x");
  }
  ValueId conv(ValueId from, std::int64_t pad_low = 1, std::int64_t pad_high = 1) {
    const Window window{{4, 5}, {3, 3}, {1, 1}, {1, 1}, {pad_low, pad_low}, {pad_high, pad_high}};
    const ValueId filter = append_constant(graph, test::random_tensor({channels_, channels_, 3, 3}, random));
    return append(graph, Op::conv, {from, filter}, window);
  }
  ValueId plus(ValueId from, const Shape& shape) {
    return build::add(graph, from, append_constant(graph, test::random_tensor(shape, random)));
  }
  ValueId bias(ValueId from) { return plus(from, {channels_, 1, 1}); }
  ValueId relu(ValueId from) { return append(graph, Op::relu, {from}); }

  ValueId x;

 private:
  std::int64_t channels_;
};

using Build = std::function<std::vector<ValueId>(Layers&)>;

void expect_layers(const std::string& what, const std::vector<std::string>& steps, const Build& build) {
  for (const std::int64_t channels : {3, 4}) {
    Layers layers(channels);
    layers.graph.outputs = build(layers);
    const Graph& g = layers.graph;
    std::vector<std::string> names = names_of(DeviceProgram(test::shared_device(), g));
    names.erase(std::remove(names.begin(), names.end(), "copy in another form"), names.end());
    EXPECT_EQ(names, steps) << what;
    const Batch batch{3, 1};
    const std::vector<std::vector<float>> inputs{
        test::random_tensor({element_count(g[layers.x].shape), batch.examples}, layers.random).data};
    const auto expected = test::run(*compile_reference(g), g, batch, inputs), actual = run_on_device(g, batch, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(actual[i], expected[i], 1e-5, what);
  }
}

void expect_all_layers() {
  expect_layers("bias", {"convolution, bias"}, [](Layers& l) { return std::vector{l.bias(l.conv(l.x))}; });
  expect_layers("one bias", {"convolution, bias"}, [](Layers& l) { return std::vector{l.plus(l.conv(l.x), {1})}; });
  expect_layers("rectifier", {"convolution, relu"}, [](Layers& l) { return std::vector{l.relu(l.conv(l.x))}; });
  expect_layers("bias and rectifier", {"convolution, bias, relu"},
                [](Layers& l) { return std::vector{l.relu(l.bias(l.conv(l.x)))}; });
  expect_layers("residual block", {"convolution, bias, relu", "convolution, bias, residual, relu"}, [](Layers& l) {
    const ValueId x = l.relu(l.bias(l.conv(l.x)));
    return std::vector{l.relu(build::add(l.graph, l.bias(l.conv(x)), x))};
  });
  // The second of two convolutions that are added has the first as its residual.
  expect_layers("projection", {"convolution, bias", "convolution, bias, residual, relu"}, [](Layers& l) {
    const ValueId a = l.bias(l.conv(l.x)), b = l.bias(l.conv(l.x));
    return std::vector{l.relu(build::add(l.graph, a, b))};
  });
  expect_layers("input as residual", {"convolution, residual"},
                [](Layers& l) { return std::vector{build::add(l.graph, l.x, l.conv(l.x))}; });
  expect_layers("convolution twice", {"convolution", "add"}, [](Layers& l) {
    const ValueId y = l.conv(l.x);
    return std::vector{build::add(l.graph, y, y)};
  });
  expect_layers("two residuals", {"convolution, residual", "add"}, [](Layers& l) {
    const ValueId y = l.conv(l.x);
    return std::vector{build::add(l.graph, build::add(l.graph, y, l.x), l.x)};
  });
  expect_layers("bias after residual", {"convolution, residual", "add, relu"},
                [](Layers& l) { return std::vector{l.relu(l.bias(build::add(l.graph, l.conv(l.x), l.x)))}; });
  expect_layers("after the rectifier", {"convolution, relu", "add, relu"},
                [](Layers& l) { return std::vector{l.relu(l.bias(l.relu(l.conv(l.x))))}; });
  expect_layers("by row", {"convolution", "add"}, [](Layers& l) { return std::vector{l.plus(l.conv(l.x), {4, 1})}; });
  expect_layers("read twice", {"convolution, bias", "relu"}, [](Layers& l) {
    const ValueId y = l.bias(l.conv(l.x));
    return std::vector{l.relu(y), y};
  });
  expect_layers("padding that differs", {"pad", "convolution, bias, relu"},
                [](Layers& l) { return std::vector{l.relu(l.bias(l.conv(l.x, 0, 2)))}; });
}

TEST(CudaProgram, ConvolutionsEndWithBiasResidualAndRectifier) { expect_all_layers(); }

// The algorithm depends on the size and the epilogue.
TEST(CudaProgram, RectifiersOfConvolutionsKeepWhatIsNotANumber) {
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
    Device device(0, precision);
    for (const std::int64_t channels : {3, 8, 64}) {
      for (const std::int64_t images : {1, 64}) {
        for (const bool residual : {false, true}) {
          Layers l(channels);
          const ValueId y = l.bias(l.conv(l.x));
          l.graph.outputs = {l.relu(residual ? build::add(l.graph, y, l.x) : y)};
          std::vector<float> x(static_cast<std::size_t>(element_count(l.graph[l.x].shape) * images), 1.0F);
          x[0] = NAN;  // in the first image
          const std::vector<float> result = run_on_device(l.graph, {images, 1}, {x}, device)[0];
          EXPECT_TRUE(std::isnan(result[0])) << name_of(precision) << ", " << channels << " channels, " << images << " images";
          EXPECT_FALSE(std::isnan(result.back())) << name_of(precision);
        }
      }
    }
  }
}

// Sums of narrow numbers are computed in float32 and rounded once at the end: to half a unit of the last of 8 bits, plus the
// sum's own error.
TEST(CudaProgram, NarrowConvolutionsRoundTheirResultsOnce) {
  Device device(0, Precision::bf16);
  Layers l(8);
  const auto narrow = [](std::vector<float>& values) {
    for (float& one : values) one = widened(narrowed(one));
  };
  const ValueId first = l.conv(l.x);
  l.graph.outputs = {l.relu(build::add(l.graph, l.bias(first), l.x))};
  if (!DeviceProgram(device, l.graph).unfused().empty()) GTEST_SKIP() << "this device rounds before the epilogue, too";
  std::vector<float> x = test::random_tensor({element_count(l.graph[l.x].shape)}, l.random).data;
  narrow(x);
  Graph rounded = l.graph;
  Tensor filter = constant_value(rounded, rounded[first].inputs[1]);
  narrow(filter.data);
  rounded.nodes[static_cast<std::size_t>(rounded[first].inputs[1])].attributes =
      ConstantData{std::make_shared<const Tensor>(filter)};
  const std::vector<float> expected = test::run(*compile_reference(rounded), rounded, {1, 1}, {x})[0],
                           actual = run_on_device(l.graph, {1, 1}, {x}, device)[0];
  for (std::size_t e = 0; e < expected.size(); ++e)
    ASSERT_NEAR(actual[e], expected[e], 1.01 * 0x1p-8 * std::fabs(expected[e]) + 1e-5) << e;
}

// Compiled kernels support any number of images, including few images with few pixels, with the strides of residual networks.
TEST(CudaProgram, FusedConvolutionsOfSmallImagesAgree) {
  std::mt19937 random(7);
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    Device device(0, precision);
    for (const auto& [extent, kernel, stride, residual] : {std::tuple{8, 3, 1, true},
                                                           {8, 3, 2, false},
                                                           {8, 1, 2, false},
                                                           {2, 3, 1, true},
                                                           {2, 3, 2, false},
                                                           {2, 1, 2, false},
                                                           {1, 3, 1, false},
                                                           {1, 3, 1, true}}) {
      Graph g;
      const std::int64_t pad = kernel / 2, channels = stride == 1 ? 8 : 16;
      const Window window{{extent, extent}, {kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
      const ValueId x = append_input(g, {1, 8, extent, extent}, Extent::example, "x");
      const ValueId filter = append_constant(g, test::random_tensor({channels, 8, kernel, kernel}, random));
      ValueId y = build::add(g, append(g, Op::conv, {x, filter}, window),
                             append_constant(g, test::random_tensor({channels, 1, 1}, random)));
      if (residual) y = build::add(g, y, x);
      g.outputs = {append(g, Op::relu, {y})};
      for (const std::int64_t images : {1, 4, 5, 64, 3}) {
        const std::vector<std::vector<float>> inputs{test::random_tensor({element_count(g[x].shape), images}, random).data};
        const auto expected = test::run(*compile_reference(g), g, {images, 1}, inputs)[0],
                   actual = run_on_device(g, {images, 1}, inputs, device)[0];
        double error = 0, size = 0;
        for (std::size_t e = 0; e < expected.size(); ++e) {
          error += std::pow(static_cast<double>(actual[e]) - expected[e], 2);
          size += std::pow(static_cast<double>(expected[e]), 2);
        }
        const double most = precision == Precision::bf16 ? 0.01 : 0.002;
        EXPECT_LT(std::sqrt(error), most * std::sqrt(size))
            << name_of(precision) << ", " << images << " images of " << extent << " x " << extent << ", kernel " << kernel
            << ", stride " << stride << (residual ? ", residual" : "") << ": " << device.algorithm();
      }
    }
  }
}

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaProgram, EpiloguesThatTheLibraryRefusesAreNamedAndRight) {
  refuse_epilogues(true);
  expect_all_layers();
  Layers l(4);
  l.graph.outputs = {l.bias(l.conv(l.relu(l.bias(l.conv(l.x)))))};
  const DeviceProgram program(test::shared_device(), l.graph);
  refuse_epilogues(false);
  ASSERT_EQ(program.unfused().size(), 1U);
  EXPECT_EQ(program.unfused().begin()->first, "the test refuses");
  EXPECT_EQ(program.unfused().begin()->second.size(), 2U);
  EXPECT_TRUE(DeviceProgram(test::shared_device(), l.graph).unfused().empty());
}

TEST(CudaExecutor, RefusedEpiloguesAreTold) {
  refuse_epilogues(true);
  CudaOptions options;
  std::vector<std::string> told;
  options.warn = [&](const std::string& text) { told.push_back(text); };
  (void)make_cuda_executor(resnet18({0.125, 0.5, 8}), {}, options).value();
  refuse_epilogues(false);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].starts_with("a separate kernel adds the bias, residual and ReLU of convolution ")) << told[0];
  EXPECT_TRUE(told[0].ends_with(" more: the test refuses")) << told[0];
}
#endif

// Forward passes for gradients have the same fusions as plain ones, because a rectifier's derivative needs only its result.
TEST(CudaProgram, AResidualBlockTakesTheSameStepsInItsGradient) {
  const Graph forward = resnet18({0.125, 0.5, 8});
  const auto convolutions = [](const Graph& graph) {
    std::vector<std::string> names = names_of(DeviceProgram(test::shared_device(), graph));
    names.erase(std::remove_if(names.begin(), names.end(), [](const auto& name) { return !name.starts_with("convolution"); }),
                names.end());
    return names;
  };
  EXPECT_EQ(convolutions(gradient_graph(forward)), convolutions(forward));
}

// ---- narrow images

std::int64_t bytes_moved(const Graph& graph, Precision precision, const Batch& batch) {
  Device device(0, precision);
  const DeviceProgram program(device, graph);
  std::int64_t bytes = 0;
  for (const Step& step : program.steps()) bytes += program.traffic(step, batch);
  return bytes;
}

TEST(CudaProgram, NarrowImagesHalveWhatAResidualNetworkMoves) {
  const Graph forward = resnet18();
  const auto ratio = [](const Graph& graph, const Batch& batch) {
    return static_cast<double>(bytes_moved(graph, Precision::bf16, batch)) /
           static_cast<double>(bytes_moved(graph, Precision::tf32, batch));
  };
  const double of_forward = ratio(forward, {4096, 1}), of_gradient = ratio(gradient_graph(forward), {455, 9});
  EXPECT_LT(of_forward, 0.55);
  EXPECT_LT(of_gradient, 0.55);
  EXPECT_GT(of_forward, 0.45);
  // Concatenations also keep images narrow.
  const Graph dense = simplify(test::import_bytes(test::make_onnx(test::architecture("densenet121"), {0.25, 0.1, 32}))->graph);
  EXPECT_LT(ratio(dense, {4096, 1}), 0.56);
  EXPECT_LT(ratio(gradient_graph(dense), {455, 9}), 0.55);
}

TEST(CudaProgram, AResidualNetworkTakesFewKernelsOfOurOwn) {
  const Graph graph = resnet18({0.125, 1, 8});
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
    Device device(0, precision);
    const DeviceProgram program(device, graph);
    const Array<float> x(device, std::vector<float>(3 * 8 * 8, 0.5F));
    const float* const from = x.data();
    Array<float> arena;
    (void)program.run({1, 1}, std::span(&from, 1), arena);
    EXPECT_LE(device.launches(), 25) << name_of(precision);
#ifdef PROBUST_CUDA_EMULATED  // where the library computes every epilogue, except in float32: a copy, a sum and a bias remain
    EXPECT_EQ(device.launches(), precision == Precision::float32 ? 23 : 3) << name_of(precision);
#endif
  }
}

// Gradients, pooling, padding, sums and concatenations of narrow images.
TEST(CudaProgram, NarrowNetworksAgreeToTheirPrecision) {
  std::mt19937 random(5);
  Device device(0, Precision::bf16);
  for (const Graph& classifier :
       {test::small_cnn(), resnet18({0.125, 0.5, 8}),
        simplify(test::import_bytes(test::make_onnx(test::architecture("densenet121"), {0.25, 0.1, 32}))->graph)}) {
    for (const Graph& graph : {classifier, gradient_graph(classifier)}) {
      const Batch batch{2, 2};
      std::vector<std::vector<float>> inputs;
      for (const ValueId id : graph.inputs())
        inputs.push_back(test::random_tensor({element_count(graph[id].shape), batch.lanes(graph[id].extent)}, random).data);
      const auto expected = test::run(*compile_cpu(graph), graph, batch, inputs),
                 actual = run_on_device(graph, batch, inputs, device);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(actual[i].size(), expected[i].size());
        double error = 0, size = 0;
        for (std::size_t e = 0; e < expected[i].size(); ++e) {
          error += std::pow(static_cast<double>(actual[i][e]) - expected[i][e], 2);
          size += std::pow(static_cast<double>(expected[i][e]), 2);
        }
        const double most = i == 0 ? 0.05 : 0.2;  // gradients jump where rounding toggles a rectifier
        EXPECT_LT(std::sqrt(error), most * std::sqrt(size)) << "output " << i;
        EXPECT_GT(std::sqrt(error), 1e-5 * std::sqrt(size)) << "output " << i;  // the numbers are really narrow
      }
    }
  }
}

}  // namespace
}  // namespace probust::cuda
