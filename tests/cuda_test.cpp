// SPDX-License-Identifier: MIT
// Compares the CUDA backend with the CPU: operators, coarse calls, noise, whole models. Linked with the emulated device, it
// runs everywhere; tests/gpu/run.sh runs it linked with the GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/cuda_executor.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/program.h"
#include "probust/autodiff/vjp.h"
#include "probust/estimators/estimator.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"
#include "probust/passes/gradient_graphs.h"
#include "probust/passes/simplify.h"
#include "support/architectures.h"
#include "support/imported.h"
#include "support/networks.h"
#include "support/on_device.h"
#include "support/op_graphs.h"
#include "support/random_layers.h"
#include "support/shared_models.h"
#ifdef PROBUST_CUDA_EMULATED
#include "cuda/emulated/control.h"
#endif

namespace probust::cuda {
namespace {

using test::expect_near;
using test::run_on_device;
using test::some_points;

// Like the tests of the CPU's kernels (kernels_test.cpp), with few lanes because the emulated device is slow.
TEST(CudaProgram, LayersOfTheSizesOfRealNetworksAgreeWithTheirDefinitions) {
  std::mt19937 random(16);
  std::vector<test::Layer> layers = test::layers_of_real_networks();
  for (const test::Layer& layer : test::layers_of_real_networks()) layers.push_back(test::transposed(layer));
  for (int i = 0; i < 40; ++i) layers.push_back(test::random_convolution(random));
  for (int i = 0; i < 30; ++i) layers.push_back(test::random_product(random));
  for (const test::Layer& layer : layers) {
    const Graph graph = test::with_constants(layer.op, layer.extents, random);
    const Batch batch{test::between(random, 1, 3), test::between(random, 1, 2)};
    std::vector<std::vector<float>> inputs;
    for (const ValueId id : graph.inputs())
      inputs.push_back(test::random_tensor({element_count(graph[id].shape), batch.lanes(graph[id].extent)}, random).data);
    const auto expected = test::run(*compile_reference(graph), graph, batch, inputs);
    expect_near(run_on_device(graph, batch, inputs)[0], expected[0], 1e-4, test::describe(layer.op));
  }
}

// Separate from op_cases(), which checks derivatives: so low a value would swamp them.
TEST(CudaProgram, TheMaximumOfAWindowOnThePaddingIsTheLowestFloat) {
  Graph graph;
  const Window window{{2, 1}, {1, 2}, {1, 1}, {1, 4}, {1, 1}, {0, 4}};
  graph.outputs = {append(graph, Op::max_pool, {append_input(graph, {1, 2, 2, 1}, Extent::example, "x")}, window)};
  const Batch batch{2, 1};
  const std::vector<std::vector<float>> x{{1, 2, 3, 4, 5, 6, 7, 8}};
  const auto expected = test::run(*compile_reference(graph), graph, batch, x)[0];
  EXPECT_EQ(std::count(expected.begin(), expected.end(), kLargestOfNone), 16);
  EXPECT_EQ(run_on_device(graph, batch, x)[0], expected);
}

// Backward sweeps keep images channels-last throughout, including chains of element-wise operators between them.
TEST(CudaProgram, GradientsAgree) {
  std::mt19937 random(4);
  for (const Graph& classifier : {test::small_cnn(), test::small_smooth_network()}) {
    const ValueId x = classifier.inputs()[0];
    const Vjp sweep = vjp(classifier, classifier.outputs, std::array{x});
    const Batch batch{3, 4};
    std::vector<std::vector<float>> inputs;
    for (const ValueId id : sweep.graph.inputs()) {
      const std::int64_t lanes = batch.lanes(sweep.graph[id].extent);
      inputs.push_back(test::random_tensor({element_count(sweep.graph[id].shape), lanes}, random).data);
    }
    const auto expected = test::run(*compile_cpu(sweep.graph), sweep.graph, batch, inputs);
    const auto actual = run_on_device(sweep.graph, batch, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(actual[i], expected[i], 1e-5, "output " + std::to_string(i));
  }
}

TEST(CudaProgram, ChainsOfElementwiseOperatorsAreOneKernel) {
  Graph g;
  const ValueId x = append_input(g, {6}, Extent::example, "x");
  ValueId y = x;
  for (int i = 0; i < 5; ++i) y = append(g, Op::tanh, {build::add(g, y, build::constant(g, 0.25F))});
  g.outputs = {y};
  Device device(0, Precision::float32);
  EXPECT_EQ(DeviceLowering(device, g).finish().steps.size(), 1U);
  const std::vector<float> values = {-2, -1, 0, 1, 2, 3};
  expect_near(run_on_device(g, {1, 1}, {values})[0], test::evaluate(g, {Tensor({6}, values)})[0].data, 1e-6, "chain");
}

std::size_t steps_of(const Graph& graph) {
  Device device(0, Precision::float32);
  return DeviceLowering(device, graph).finish().steps.size();
}

// Adds operators after a product and returns the outputs.
using Behind = std::function<std::vector<ValueId>(Graph&, ValueId product)>;

void expect_product(const std::string& what, std::size_t steps, const Shape& a, const Shape& b, const Behind& behind) {
  std::mt19937 random(5);
  for (const bool constant_b : {true, false}) {
    Graph g;
    const ValueId x = append_input(g, a, Extent::example, "x");
    const ValueId w = constant_b ? append_constant(g, test::random_tensor(b, random)) : append_input(g, b, Extent::seeded, "w");
    g.outputs = behind(g, build::matmul(g, x, w));
    EXPECT_EQ(steps_of(g), steps) << what;
    const Batch batch{3, 2};
    std::vector<std::vector<float>> inputs;
    for (const ValueId id : g.inputs())
      inputs.push_back(test::random_tensor({element_count(g[id].shape), batch.lanes(g[id].extent)}, random).data);
    const auto expected = test::run(*compile_reference(g), g, batch, inputs), actual = run_on_device(g, batch, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(actual[i], expected[i], 1e-5, what);
  }
}

#ifdef PROBUST_CUDA_EMULATED
// The other tests rely on this: the emulated device detects writes beyond a kernel's memory.
TEST(CudaDevice, WritesToFencedZonesAreFound) {
  Device device(0, Precision::float32);
  const Array<float> block(device, 100);
  device.fence(block.data(), {{10, 5}, {90, 10}});
  const auto write = [&](std::int64_t at) { for_each(device, 1, [to = block.data() + at](std::int64_t) { *to = 0; }); };
  for (const std::int64_t at : {0, 9, 15, 89}) EXPECT_NO_THROW(write(at)) << at;
  EXPECT_THROW(write(12), std::logic_error);
  device.fence(block.data(), {{90, 10}});  // new fence
  EXPECT_NO_THROW(write(12));
  EXPECT_THROW(write(99), std::logic_error);
  device.fence(block.data(), {});
}

TEST(CudaDeviceDeathTest, WritesBeyondABlockEndTheProgram) {
  EXPECT_DEATH(
      {
        Device device(0, Precision::float32);
        Array<float> block(device, 100);
        for_each(device, 1, [to = block.data() + 100](std::int64_t) { *to = 0; });
        block = {};
      },
      "beyond its memory");
}
#endif

TEST(CudaProgram, ProductsEndWithTheirBiasAndRectifier) {
  std::mt19937 random(7);
  const auto plus = [&](Graph& g, ValueId x, const Shape& shape) {
    return build::add(g, x, append_constant(g, test::random_tensor(shape, random)));
  };
  const auto relu = [](Graph& g, ValueId x) { return append(g, Op::relu, {x}); };
  const Shape a{4, 5}, b{5, 3};
  expect_product("bias", 1, a, b, [&](Graph& g, ValueId y) { return std::vector{plus(g, y, {3})}; });
  expect_product("scalar", 1, a, b, [&](Graph& g, ValueId y) { return std::vector{plus(g, y, {1})}; });
  expect_product("rectifier", 1, a, b, [&](Graph& g, ValueId y) { return std::vector{relu(g, y)}; });
  expect_product("both", 1, a, b, [&](Graph& g, ValueId y) { return std::vector{relu(g, plus(g, y, {3}))}; });
  expect_product("a row", 1, {1, 5}, b,
                 [&](Graph& g, ValueId y) { return std::vector{relu(g, plus(g, build::reshape(g, y, {3}), {3}))}; });
  expect_product("batched", 1, {2, 4, 5}, {2, 5, 3}, [&](Graph& g, ValueId y) { return std::vector{relu(g, plus(g, y, {3}))}; });
  // Operators after that form a separate chain.
  expect_product("two of each", 2, a, b,
                 [&](Graph& g, ValueId y) { return std::vector{relu(g, plus(g, relu(g, plus(g, y, {3})), {3}))}; });
  expect_product("rectifier first", 2, a, b, [&](Graph& g, ValueId y) { return std::vector{plus(g, relu(g, y), {3})}; });
  // A sum that differs between rows, or that is wider, is not a bias; a value that other operators read must be stored.
  expect_product("by row", 2, a, b, [&](Graph& g, ValueId y) { return std::vector{plus(g, y, {4, 1})}; });
  expect_product("by matrix", 2, {2, 4, 5}, {2, 5, 3}, [&](Graph& g, ValueId y) { return std::vector{plus(g, y, {2, 1, 3})}; });
  expect_product("wider", 2, {1, 5}, b, [&](Graph& g, ValueId y) { return std::vector{relu(g, plus(g, y, {2, 3}))}; });
  expect_product("read twice", 2, a, b, [&](Graph& g, ValueId y) { return std::vector{plus(g, y, {3}), y}; });
  expect_product("read before the rectifier", 2, a, b, [&](Graph& g, ValueId y) {
    const ValueId sum = plus(g, y, {3});
    return std::vector{relu(g, sum), sum};
  });
}

// As for the graph's rectifier, NaN remains NaN.
TEST(CudaProgram, RectifiersOfProductsKeepWhatIsNotANumber) {
  Graph g;
  const ValueId x = append_input(g, {1, 2}, Extent::example, "x");
  g.outputs = {append(g, Op::relu, {build::matmul(g, x, append_constant(g, {{2, 2}, {1, 0, 0, -1}}))})};
  ASSERT_EQ(steps_of(g), 1U);
  const std::vector<float> y = run_on_device(g, {1, 1}, {{NAN, 2}})[0];
  EXPECT_TRUE(std::isnan(y[0]));
}

// Reshapes share memory; a copy of one of them in another order must not be used for the other.
TEST(CudaProgram, ImagesOfOneValueDoNotShareTheirCopies) {
  std::mt19937 random(9);
  Graph g;
  const ValueId x = append_input(g, {32}, Extent::example, "x");
  ValueId sum = kNoValue;
  for (const std::int64_t channels : {2, 8}) {
    const std::int64_t rows = 16 / channels;
    const Window window{{rows, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    const ValueId filter = append_constant(g, test::random_tensor({channels, channels, 1, 1}, random));
    const ValueId y = append(g, Op::conv, {build::reshape(g, x, {1, channels, rows, 2}), filter}, window);
    const ValueId flat = build::reshape(g, y, {32});
    sum = sum == kNoValue ? flat : build::add(g, sum, flat);
  }
  g.outputs = {sum};
  const std::vector<float> values = test::random_tensor({32}, random).data;
  expect_near(run_on_device(g, {1, 1}, {values})[0], test::evaluate(g, {Tensor({32}, values)})[0].data, 1e-5, "two images");
}

// ---- repeated runs

std::vector<float> host_copy(Device& device, const float* from, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  device.download(values.data(), from, count * static_cast<std::int64_t>(sizeof(float)));
  return values;
}

TEST(CudaDevice, WhatIsRecordedIsDoneWhenItIsReplayed) {
  Device device(0, Precision::float32);
  const Array<float> x(device, std::vector<float>{1, 2, 3}), y(device, 3);
  const auto work = [&] {
    device.copy(y.data(), x.data(), 3 * sizeof(float));
    device.clear(y.data() + 1, sizeof(float));
  };
  work();
  const auto recording = device.record([&] {
    work();
    repeat(device, {x.data(), 1, 1}, {y.data() + 2, 1, 1});
  });
  ASSERT_NE(recording.recording, nullptr) << recording.refusal;
  device.clear(y.data(), 3 * sizeof(float));
  EXPECT_EQ(host_copy(device, y.data(), 3), (std::vector<float>{0, 0, 0}));
  for (const float value : {4.0F, 5.0F}) {
    device.upload(x.data(), std::vector<float>{value, 2, 3}.data(), 3 * sizeof(float));
    device.replay(*recording.recording);
    EXPECT_EQ(host_copy(device, y.data(), 3), (std::vector<float>{value, 0, value}));
  }
}

TEST(CudaDevice, ProductsAndConvolutionsCanBeRecorded) {
  Device device(0, Precision::float32);
  const std::vector<float> ones(16, 1.0F);
  const Array<float> a(device, ones), b(device, ones), c(device, 16), image(device, ones), filter(device, ones), out(device, 16);
  Product product{.m = 4, .n = 4, .k = 4, .a = a.data(), .b = b.data(), .c = c.data()};
  product.bias = a.data();
  product.activation = Activation::relu;
  const Convolution convolution{
      .window = {{4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, .in_channels = 1, .out_channels = 1, .filter = filter.data()};
  const auto work = [&] {
    device.multiply(product);
    device.convolve(convolution, 1, image.data(), nullptr, out.data());
  };
  work();
  const auto recording = device.record(work);
  ASSERT_NE(recording.recording, nullptr) << recording.refusal;
  for (const Array<float>* result : {&c, &out}) device.clear(result->data(), 16 * sizeof(float));
  device.replay(*recording.recording);
  EXPECT_EQ(host_copy(device, c.data(), 16), std::vector<float>(16, 5.0F));
  EXPECT_EQ(host_copy(device, out.data(), 16), ones);
}

// ---- two streams

// On the emulated device, runs the body twice: each time, one of the streams runs as late as possible.
void for_each_dawdler(const std::function<void(const std::string&)>& body) {
#ifdef PROBUST_CUDA_EMULATED
  for (const Stream stream : {Stream::main, Stream::side}) {
    let_dawdle(stream);
    body(stream == Stream::main ? "main stream late" : "side late");
  }
  let_dawdle(Stream::side);
#else
  body("two streams");
#endif
}

TEST(CudaDevice, StreamsWaitForEventsOfEachOther) {
  Device device(0, Precision::float32);
  for_each_dawdler([&](const std::string& what) {
    const Array<float> x(device, std::vector<float>{1}), first(device, 1), second(device, 1);
    device.copy(first.data(), x.data(), sizeof(float));
    const Event read = device.mark();
    Event written;
    device.on_side_stream([&] {
      device.await(read);
      device.clear(x.data(), sizeof(float));
      written = device.mark();
    });
    device.await(written);
    device.copy(second.data(), x.data(), sizeof(float));
    EXPECT_EQ(host_copy(device, first.data(), 1)[0], 1) << what;
    EXPECT_EQ(host_copy(device, second.data(), 1)[0], 0) << what;
  });
}

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaDevice, ProductsAndRecordingsKeepToTheMainStream) {
  Device device(0, Precision::float32);
  EXPECT_THROW(device.on_side_stream([&] { device.multiply({}); }), std::logic_error);
  EXPECT_THROW(device.on_side_stream([&] { device.convolve({}, 1, nullptr, nullptr, nullptr); }), std::logic_error);
  EXPECT_THROW(device.on_side_stream([&] { (void)device.record([] {}); }), std::logic_error);
  EXPECT_THROW((void)device.record([&] { (void)device.mark(); }), std::logic_error);
  EXPECT_NE(device.record([] {}).recording, nullptr);
}
#endif

// Runs a program once per row of inputs, each in the array that `array_of` chooses, and compares the results.
class Runs {
 public:
  explicit Runs(const Graph& graph)
      : device(0, Precision::float32),
        graph_(graph),
        program_(device, graph_, [&](const std::string& text) { told.push_back(text); }),
        host_(compile_reference(graph_)) {}

  void expect_right(const Array<float>& x, const Batch& batch, const std::string& what) {
    const std::int64_t elements = element_count(graph_[graph_.inputs()[0]].shape);
    const std::vector<float> values = test::random_tensor({batch.examples, elements}, random_).data;
    device.upload(x.data(), values.data(), static_cast<std::int64_t>(values.size() * sizeof(float)));
    const float* input = x.data();
    const DeviceProgram::Value y = program_.run(batch, std::span(&input, 1), arena)[0];
    const std::int64_t classes = element_count(graph_[graph_.outputs[0]].shape);
    const std::vector<float> expected = test::run(*host_, graph_, batch, {test::transposed_matrix(values, batch.examples)})[0];
    expect_near(test::transposed_matrix(host_copy(device, y.data, y.lanes * classes), batch.examples), expected, 1e-5, what);
  }

  const DeviceProgram& program() const { return program_; }

  Device device;
  Array<float> arena;
  std::vector<std::string> told;

 private:
  Graph graph_;
  DeviceProgram program_;
  std::unique_ptr<const probust::Program> host_;
  std::mt19937 random_{11};
};

TEST(CudaProgram, RunsThatComeAgainAreRight) {
  Runs runs(test::small_cnn());
  const auto again = [&](const Array<float>& x, const Batch& batch, const std::string& what) {
    for (int i = 0; i < 4; ++i) runs.expect_right(x, batch, what);
  };
  Array<float> x(runs.device, 5 * 64), other(runs.device, 5 * 64);
  again(x, {5, 1}, "again");
  again(other, {5, 1}, "other inputs");
  again(x, {3, 1}, "fewer examples");
  runs.arena = {};
  again(x, {5, 1}, "arena that moved");
  x = {};
  x = Array<float>(runs.device, 9 * 64);
  again(x, {9, 1}, "inputs that moved");
  for (std::int64_t examples = 1; examples <= 9; ++examples) again(x, {examples, 1}, "many sizes");
  runs.arena.grown(runs.device, 1 << 20);
  again(x, {2, 1}, "arena that grew");
}

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaProgram, RunsThatComeAgainAreReplayed) {
  Runs runs(test::small_cnn());
  const Array<float> x(runs.device, 5 * 64);
  runs.expect_right(x, {5, 1}, "first, when workspaces grow");
  runs.expect_right(x, {5, 1}, "first");
  const std::int64_t before = replays_so_far();
  for (int i = 0; i < 3; ++i) runs.expect_right(x, {5, 1}, "again");
  EXPECT_EQ(replays_so_far() - before, 3);
}

// The convolutions of a different program need a larger workspace than the one that a recording uses.
TEST(CudaProgram, RecordingsDoNotOutliveTheWorkspacesOfTheDevice) {
  Runs runs(test::small_cnn());
  const Array<float> x(runs.device, 5 * 64);
  for (int i = 0; i < 4; ++i) runs.expect_right(x, {5, 1}, "before");
  const Convolution larger{
      .window = {{40, 40}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, .in_channels = 1, .out_channels = 1, .filter = x.data()};
  const Array<float> image(runs.device, 1600), to(runs.device, 1600);
  runs.device.convolve(larger, 1, image.data(), nullptr, to.data());
  const std::int64_t before = replays_so_far();
  for (int i = 0; i < 4; ++i) runs.expect_right(x, {5, 1}, "after");
  EXPECT_EQ(replays_so_far() - before, 3);
}

TEST(CudaProgram, ADeviceThatCannotRecordIsTold) {
  refuse_recordings(true);
  Runs runs(test::small_cnn());
  const Array<float> x(runs.device, 5 * 64);
  for (int i = 0; i < 4; ++i) runs.expect_right(x, {5, 1}, "directly");
  refuse_recordings(false);
  const std::int64_t before = replays_so_far();
  for (int i = 0; i < 4; ++i) runs.expect_right(x, {5, 1}, "directly, for good");
  EXPECT_EQ(replays_so_far(), before);
  ASSERT_EQ(runs.told.size(), 1U);
  EXPECT_EQ(runs.told[0],
            "the device cannot record kernels to launch them together, so each is launched separately: the test refuses");
}

TEST(CudaProgram, ConvolutionsThatTheLibraryRefusesAreNamedAndRight) {
  refuse_convolutions(true);
  Runs runs(test::small_cnn());
  CudaOptions options;
  std::vector<std::string> told;
  options.warn = [&](const std::string& text) { told.push_back(text); };
  const auto executor = make_cuda_executor(test::small_cnn(), {}, options).value();
  refuse_convolutions(false);
  ASSERT_EQ(runs.program().slow().count("the test refuses"), 1U);
  const Array<float> x(runs.device, 5 * 64);
  runs.expect_right(x, {5, 1}, "by kernels of our own");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].starts_with("a slower kernel of probust computes convolution ")) << told[0];
  EXPECT_TRUE(told[0].ends_with(": the test refuses")) << told[0];
}

// Operations that a GPU would refuse during recording.
TEST(CudaDevice, NothingIsAllocatedOrAwaitedWhileRecording) {
  Device device(0, Precision::float32);
  const Array<float> x(device, 1);
  float value = 0;
  const std::vector<std::function<void()>> mistakes = {[&] { device.wait(); }, [&] { device.download(&value, x.data(), 4); },
                                                       [&] { device.upload(x.data(), &value, 4); },
                                                       [&] { const Array<float> more(device, 1); }};
  for (const auto& mistake : mistakes) EXPECT_THROW((void)device.record(mistake), std::logic_error);
  Array<float> less(device, 1);
  EXPECT_THROW((void)device.record([&] { less = {}; }), std::logic_error);
  EXPECT_NE(device.record([] {}).recording, nullptr);
}
#endif

// A step on the host downloads data, which cannot be recorded.
TEST(CudaProgram, HostStepsAreNotRecorded) {
  Graph g;
  const ValueId x = append_input(g, {1, 2}, Extent::example, "x");
  g.outputs = {append(g, Op::tree_ensemble, {x}, test::small_trees())};
  Runs runs(g);
  const Array<float> values(runs.device, 3 * 2);
  for (int i = 0; i < 4; ++i) runs.expect_right(values, {3, 1}, "on the host");
}

TEST(CudaProgram, WhatHasNoKernelRunsOnTheHostAndIsNamed) {
  Graph g;
  const ValueId x = append_input(g, {1, 2}, Extent::example, "x");
  g.outputs = {append(g, Op::tree_ensemble, {x}, test::small_trees())};
  Device device(0, Precision::float32);
  EXPECT_EQ(DeviceProgram(device, g).on_the_host(), std::vector<std::string>{"tree_ensemble"});
}

// ---- noise

NoiseArray deviations(std::int64_t points, std::int64_t elements) {
  NoiseArray array{{points, elements}, {}, "deviations"};
  for (std::int64_t i = 0; i < points * elements; ++i) array.values.push_back(0.1 + 0.05 * static_cast<double>(i % 7));
  return array;
}

std::vector<std::pair<std::string, std::shared_ptr<const NoiseShape>>> element_noises(std::int64_t points,
                                                                                      std::int64_t elements) {
  return {{"gaussian", isotropic_gaussian()},
          {"uniform", uniform_noise()},
          {"laplace", laplace_noise()},
          {"clipped", clipped(isotropic_gaussian(), {0, 1})},
          {"rounded", clipped(laplace_noise(), {-1, 1, 256})},
          {"per root", per_root_of_elements(uniform_noise())->bound({elements})},
          {"diagonal", diagonal_gaussian(deviations(points, elements), "diagonal")}};
}

TEST(CudaNoise, DrawsTheBitsOfTheProcessor) {
  const std::int64_t count = 7, samples = 9, elements = 11;
  const Points points = some_points(count, {elements}, 2);
  Device device(0, Precision::float32);
  const Array<float> x(device, points.x.data);
  const Array<std::uint32_t> index(device, std::vector<std::uint32_t>(points.index.begin(), points.index.end()));
  for (const auto& [name, shape] : element_noises(3 * count, elements)) {
    const std::optional<ElementNoise> noise = shape->by_element();
    ASSERT_TRUE(noise) << name;
    DeviceRange range;
    range.x = x.data();
    range.index = index.data();
    range.elements = elements;
    range.first = 4;
    range.count = samples;
    range.begin = 5;
    range.lanes = 40;
    range.stride = 2;
    range.offset = 1;
    Array<float> deviation;
    if (!noise->deviations.empty()) deviation = Array<float>(device, noise->deviations);
    DeviceNoise recipe{noise->draw, deviation.data(), noise->varies, noise->range.has_value(), {}, -0.7F, points.seed};
    if (noise->range) recipe.clip = ClipMath(*noise->range);
    const Array<float> to(device, range.lanes * elements);
    draw(device, range, recipe, to.data());
    std::vector<float> actual(static_cast<std::size_t>(range.lanes * elements));
    device.download(actual.data(), to.data(), static_cast<std::int64_t>(actual.size() * sizeof(float)));
    std::vector<std::uint32_t> lane_points, lane_samples;
    std::vector<float> expected(actual.size());
    for (std::int64_t lane = 0; lane < range.lanes; ++lane) {
      const std::int64_t point = (5 + lane) / samples;
      lane_points.push_back(static_cast<std::uint32_t>(points.index[point]));
      lane_samples.push_back(static_cast<std::uint32_t>(2 * (4 + (5 + lane) % samples) + 1));
      for (std::int64_t e = 0; e < elements; ++e) expected[e * range.lanes + lane] = points.x.data[point * elements + e];
    }
    shape->add({points.seed, lane_points, lane_samples}, elements, -0.7F, expected.data());
    EXPECT_EQ(actual, test::transposed_matrix(expected, elements)) << name;
  }
}

// ---- the coarse calls

std::unique_ptr<Executor> on_device(const Graph& graph, const ExecutorOptions& options = {}) {
  return make_cuda_executor(graph, options, {}).value();
}

bool near(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, double tolerance = 2e-5) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  return a.size() == 0 || ((a - b).array().abs() <= tolerance * (1 + b.array().abs())).all();
}

void expect_near(const Linearization& a, const Linearization& b, const std::string& what) {
  EXPECT_TRUE(near(a.margins, b.margins)) << what;
  EXPECT_TRUE(near(a.gram, b.gram)) << what;
  EXPECT_TRUE(near(a.sampled, b.sampled)) << what;
  EXPECT_TRUE(near(a.along_mean, b.along_mean)) << what;
  EXPECT_TRUE(near(a.along_own, b.along_own)) << what;
}

void expect_near(const Pairs& a, const Pairs& b, const std::string& what) {
  EXPECT_TRUE(near(a.plus, b.plus)) << what;
  EXPECT_TRUE(near(a.minus, b.minus)) << what;
}

std::vector<std::pair<std::string, std::shared_ptr<const NoiseShape>>> all_noises(std::int64_t points, std::int64_t elements) {
  auto noises = element_noises(points, elements);
  NoiseArray factor{{elements, 2}, {}, "factor"};
  for (std::int64_t i = 0; i < 2 * elements; ++i) factor.values.push_back(0.1 * static_cast<double>(i % 5) - 0.2);
  noises.push_back({"factor", factor_gaussian(factor, "factor")});
  noises.push_back({"columns", on_columns(isotropic_gaussian(), {{0, 2}, true})});
  noises.push_back({"custom", custom_noise("custom", [](NoiseStream& stream, double scale, std::span<float> x) {
                      for (float& value : x) value += static_cast<float>(scale * stream.uniform());
                    })});
  return noises;
}

// Laplace noise whose draws have a kind for which no kernel exists.
class UnknownDraws final : public NoiseShape {
 public:
  std::string name() const override { return "unknown"; }
  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    inner_->add(lanes, elements, scale, x);
  }
  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    return inner_->whiten(points, elements, gradients);
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    inner_->variances(points, elements, variance);
  }
  bool mirrored() const override { return true; }
  std::optional<ElementNoise> by_element() const override {
    ElementNoise noise = inner_->by_element().value();
    noise.draw = static_cast<ElementNoise::Draw>(99);
    return noise;
  }

 private:
  std::shared_ptr<const NoiseShape> inner_ = laplace_noise();
};

TEST(CudaExecutor, NoiseWithoutAKernelIsDrawnOnTheHostWhichIsSaid) {
  std::vector<std::string> told;
  CudaOptions options;
  options.warn = [&](const std::string& text) { told.push_back(text); };
  const auto device = make_cuda_executor(test::small_cnn(), {}, options).value();
  const auto host = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = some_points(3, {1, 8, 8}, 4);
  const Noise noise{std::make_shared<UnknownDraws>(), 0.3};
  EXPECT_EQ(device->sample(points, noise, 37, 5).value(), host->sample(points, noise, 37, 5).value());
  EXPECT_EQ(device->sample(points, noise, 37, 5).value(), host->sample(points, {laplace_noise(), 0.3}, 37, 5).value());
  told.erase(std::remove_if(told.begin(), told.end(), [](const std::string& text) { return !text.starts_with("noise"); }),
             told.end());
  EXPECT_EQ(told, std::vector<std::string>{"noise unknown is drawn on the CPU, because the device has no kernel for it"});
}

void expect_same_calls(Executor& device, Executor& host, const Points& points, const std::shared_ptr<const NoiseShape>& shape,
                       const std::string& what) {
  const Noise noise{shape, 0.3};
  EXPECT_EQ(device.sample(points, noise, 37, 5).value(), host.sample(points, noise, 37, 5).value()) << what;
  const auto pairs = device.pairs(points, noise, 6, 2).value(), host_pairs = host.pairs(points, noise, 6, 2).value();
  for (std::size_t i = 0; i < pairs.size(); ++i) expect_near(pairs[i], host_pairs[i], what);
  if (shape->gaussian().kind == GaussianView::Kind::absent) return;
  const auto both = [&](const auto& call) {
    const auto a = call(device), b = call(host);
    for (std::size_t i = 0; i < b.size(); ++i) expect_near(a[i], b[i], what);
  };
  both([&](Executor& one) { return one.linearize(points, *shape).value(); });
  both([&](Executor& one) { return one.linearize_averaged(points, noise, 5).value(); });
  std::vector<std::vector<std::int64_t>> rivals;
  for (const std::int64_t target : points.target)
    rivals.push_back({(target + 1) % host.classes(), (target + 2) % host.classes()});
  for (const LinearizeAt around : {LinearizeAt::input, LinearizeAt::noise_mean}) {
    const auto own = device.project(points, rivals, noise, 7, 2, around).value(),
               theirs = host.project(points, rivals, noise, 7, 2, around).value();
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_TRUE(near(own[i].margins, theirs[i].margins)) << what;
      EXPECT_TRUE(near(own[i].gram, theirs[i].gram)) << what;
      EXPECT_TRUE(near(own[i].along, theirs[i].along)) << what;
      expect_near(own[i].pairs, theirs[i].pairs, what);
    }
  }
}

TEST(CudaExecutor, CallsAgreeForEveryNoise) {
  const Points points = some_points(6, {1, 8, 8}, 4);
  const auto device = on_device(test::small_cnn()), host = make_executor("cpu", test::small_cnn(), {}).value();
  EXPECT_EQ(device->name(), "cuda:0");
  for (const auto& [name, shape] : all_noises(18, 64)) expect_same_calls(*device, *host, points, shape, name);
}

TEST(CudaExecutor, SharedDrawsAgree) {
  const auto device = on_device(test::small_cnn()), host = make_executor("cpu", test::small_cnn(), {}).value();
  Points points = some_points(6, {1, 8, 8}, 4);
  for (std::int64_t k = 0; k < 8; ++k) points.draws.push_back({40 + k, 41, 40 + k, 42, 41, 40});
  const std::vector<std::vector<std::int64_t>> rivals(6, {(points.target[0] + 1) % host->classes()});
  for (std::int64_t& target : points.target) target = points.target[0];
  for (const auto& [name, shape] : all_noises(6, 64)) {
    if (shape->differs()) continue;
    const Noise noise{shape, 0.3};
    const auto pairs = device->pairs(points, noise, 6, 2).value(), host_pairs = host->pairs(points, noise, 6, 2).value();
    for (std::size_t i = 0; i < pairs.size(); ++i) expect_near(pairs[i], host_pairs[i], name);
    if (shape->gaussian().kind == GaussianView::Kind::absent) continue;
    const auto own = device->project(points, rivals, noise, 8, 8, LinearizeAt::input).value(),
               theirs = host->project(points, rivals, noise, 8, 8, LinearizeAt::input).value();
    for (std::size_t i = 0; i < theirs.size(); ++i) EXPECT_TRUE(near(own[i].along, theirs[i].along)) << name;
  }
}

void expect_same_moments(Executor& device, Executor& host, const Points& points, const std::string& name) {
  const Noise noise{isotropic_gaussian(), 0.3};
  const auto own = device.moments(points, noise).value(), theirs = host.moments(points, noise).value();
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_TRUE(near(own[i].mean, theirs[i].mean)) << name << i;
    EXPECT_TRUE(near(own[i].variance, theirs[i].variance)) << name << i;
  }
}

TEST(CudaExecutor, PropagatesMomentsAsTheProcessor) {
  const auto device = on_device(test::small_cnn()), host = make_executor("cpu", test::small_cnn(), {}).value();
  expect_same_moments(*device, *host, some_points(9, {1, 8, 8}, 4), "convolutional");
}

TEST(CudaExecutor, CallsAgreeForSmoothAndLinearNetworks) {
  std::mt19937 random(2);
  const Graph linear = test::linear_classifier(test::random_tensor({4, 6}, random), test::random_tensor({4}, random));
  for (const Graph& graph : {test::small_smooth_network(4), linear}) {
    const auto device = on_device(graph), host = make_executor("cpu", graph, {}).value();
    expect_same_calls(*device, *host, some_points(5, {6}, 4), isotropic_gaussian(), "dense");
    const auto smoothed = device->linearize_smoothed(some_points(5, {6}, 4), {isotropic_gaussian(), 0.3}).value(),
               expected = host->linearize_smoothed(some_points(5, {6}, 4), {isotropic_gaussian(), 0.3}).value();
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(smoothed[i], expected[i], "smoothed");
    expect_same_moments(*device, *host, some_points(5, {6}, 4), "dense");
    std::vector<std::vector<float>> jacobians;
    for (Executor* one : {device.get(), host.get()}) {
      std::vector<float>& all = jacobians.emplace_back();
      (void)one
          ->jacobian(some_points(5, {6}, 4).x,
                     [&](std::int64_t, std::span<const float> rows) { all.insert(all.end(), rows.begin(), rows.end()); })
          .value();
    }
    expect_near(jacobians[0], jacobians[1], 1e-5, "Jacobian");
  }
}

TEST(CudaExecutor, ResultsDoNotDependOnMemoryOrBatch) {
  const Points points = some_points(5, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  const auto expected = on_device(test::small_cnn());
  const auto counts = expected->sample(points, noise, 50).value();
  const auto averaged = expected->linearize_averaged(points, noise, 9).value();
  for (const ExecutorOptions& options :
       {ExecutorOptions{1, 60 << 10, 0}, ExecutorOptions{1, 1 << 30, 3}, ExecutorOptions{2, 1 << 30, 1}}) {
    const auto one = on_device(test::small_cnn(), options);
    EXPECT_EQ(one->sample(points, noise, 50).value(), counts);
    const auto own = one->linearize_averaged(points, noise, 9).value();
    for (std::size_t i = 0; i < own.size(); ++i) expect_near(own[i], averaged[i], "batch");
  }
}

// Many chunks; the noise of each is drawn while the previous one runs.
TEST(CudaExecutor, NoiseDrawnBesideRunsIsTheSame) {
  const Points points = some_points(6, {1, 8, 8}, 4);
  const auto host = make_executor("cpu", test::small_cnn(), {}).value();
  for_each_dawdler([&](const std::string& stream) {
    for (const std::int64_t batch : {1, 5}) {
      const auto device = on_device(test::small_cnn(), {1, std::int64_t{1} << 30, batch});
      for (const auto& [name, shape] : all_noises(18, 64)) expect_same_calls(*device, *host, points, shape, name + ", " + stream);
    }
  });
}

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaExecutor, HoldsNoMoreThanItWasGiven) {
  std::mt19937 random(12);
  const Graph wide = test::linear_classifier(test::random_tensor({4, 500}, random), test::random_tensor({4}, random));
  const Noise noise{isotropic_gaussian(), 0.3};
  const std::vector<std::vector<std::int64_t>> rivals{{1, 2, 3}, {2, 3, 0}, {3, 0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 0}};
  constexpr std::int64_t kBeside = std::int64_t{64} << 10;  // for the model's constants and tables, and the points of a call
  const Graph cnn = test::small_cnn();
  for (const auto& [graph, precision] :
       {std::pair(cnn, Precision::float32), {cnn, Precision::bf16}, {wide, Precision::float32}}) {
    const Points points = some_points(6, graph[graph.inputs()[0]].shape, 4),
                 many = some_points(60, graph[graph.inputs()[0]].shape, 4);
    CudaOptions options;
    options.precision = precision;
    for (std::int64_t given = std::int64_t{1} << 19; given <= std::int64_t{3} << 20; given += std::int64_t{3} << 16) {
      (void)most_memory_held();
      const std::int64_t before = most_memory_held();
      const auto device = make_cuda_executor(graph, {1, given, 0}, options).value();
      ASSERT_LT(device->forward_batch().examples, 4096);  // limited by memory, not by the largest batch
      (void)device->sample(points, noise, 500).value();
      (void)device->project(points, rivals, noise, 200, 2, LinearizeAt::input).value();
      (void)device->linearize(points, *noise.shape).value();
      (void)device->linearize_averaged(many, noise, 4).value();
      EXPECT_LT(most_memory_held() - before, given + kBeside) << given << ", " << name_of(precision);
    }
  }
}
#endif

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaExecutor, LightNetworksRunMoreLanes) {
  std::mt19937 random(13);
  const Graph light = test::linear_classifier(test::random_tensor({3, 4}, random), test::random_tensor({3}, random));
  be_busy_with(65536 * flops(light));
  EXPECT_EQ(on_device(light)->forward_batch().examples, 65536);
  be_busy_with(10000 * flops(light));
  EXPECT_EQ(on_device(light)->forward_batch().examples, 16384);
  be_busy_with(0);
  EXPECT_EQ(on_device(light)->forward_batch().examples, 4096);
}
#endif

// The device does not split off the last layer, so it announces from the start that each margin takes a backward pass.
TEST(CudaExecutor, AnnouncesABackwardPassForEachOfManyRivals) {
  std::mt19937 random(7);
  const Graph many = test::linear_classifier(test::random_tensor({300, 8}, random), test::random_tensor({300}, random));
  EXPECT_EQ(on_device(many)->backwards_to_linearize(), 299);
  EXPECT_EQ(make_executor("cpu", many, {}).value()->backwards_to_linearize(), 8);
}

TEST(CudaExecutor, BadInputIsRefused) {
  EXPECT_EQ(make_cuda_executor(test::small_cnn(), {1, 1000, 0}, {}).error().code, ErrorCode::resources);
  CudaOptions far;
  far.ordinal = 99;
  EXPECT_EQ(make_cuda_executor(test::small_cnn(), {}, far).error().code, ErrorCode::resources);
  const auto executor = on_device(test::small_cnn());
  EXPECT_EQ(executor->logits(Tensor({2, 1, 7, 8})).error().code, ErrorCode::unreadable);
  Points points = some_points(2, {1, 8, 8}, 4);
  points.target[1] = 4;
  EXPECT_EQ(executor->sample(points, {isotropic_gaussian(), 1}, 10).error().code, ErrorCode::usage);
  executor->progress.stop = true;
  EXPECT_FALSE(executor->logits(some_points(2, {1, 8, 8}, 4).x));
}

TEST(CudaExecutor, EstimatesAgree) {
  const Points points = some_points(6, {1, 8, 8}, 4);
  const auto device = on_device(test::small_cnn()), host = make_executor("cpu", test::small_cnn(), {}).value();
  for (const char* name : {"mc:200", "taylor", "taylor_mvs", "mmse:5", "softmax", "probit:24", "probit:24:pooled",
                           "regression:40", "regression:40:adf", "adf", "subset:500", "mc:100:stratified", "auto:55"}) {
    std::vector<std::vector<Estimate>> both;
    for (Executor* one : {device.get(), host.get()}) {
      Evaluation evaluation(*one, points, one->logits(points.x).value());
      both.push_back(estimate(evaluation, {isotropic_gaussian(), 0.4}, parse_estimator(name)).value());
    }
    for (std::size_t i = 0; i < both[0].size(); ++i) EXPECT_NEAR(both[0][i].p, both[1][i].p, 2e-5) << name << ", point " << i;
  }
}

TEST(CudaExecutor, SeveralDevicesGiveWhatOneGives) {
  CudaOptions options;
  options.ordinal = CudaOptions::kAll;
  const auto all = make_cuda_executor(test::small_cnn(), {}, options).value(), one = on_device(test::small_cnn());
  EXPECT_EQ(all->name(), "cuda:all");
  for (const std::int64_t count : {1, 7}) {
    const Points points = some_points(count, {1, 8, 8}, 4);
    expect_near(all->logits(points.x)->data, one->logits(points.x)->data, 1e-6, "several devices");
    expect_same_calls(*all, *one, points, isotropic_gaussian(), "several devices");
  }
  EXPECT_EQ(all->progress.passes, one->progress.passes);
  all->progress.stop = true;
  EXPECT_FALSE(all->logits(some_points(2, {1, 8, 8}, 4).x));
}

#ifdef PROBUST_CUDA_EMULATED
TEST(CudaExecutor, ADeviceWithLessMemoryThanAllowedTakesSmallerChunks) {
  const Points points = some_points(5, {1, 8, 8}, 4);
  const Noise noise{isotropic_gaussian(), 0.3};
  const auto counts = on_device(test::small_cnn())->sample(points, noise, 50).value();
  const auto averaged = on_device(test::small_cnn())->linearize_averaged(points, noise, 9).value();
  limit_memory(400 << 10);
  {
    const auto tight = make_cuda_executor(test::small_cnn(), {1, std::int64_t{1} << 30, 0}, {}).value();
    EXPECT_EQ(tight->sample(points, noise, 50).value(), counts);
    const auto own = tight->linearize_averaged(points, noise, 9).value();
    for (std::size_t i = 0; i < own.size(); ++i) expect_near(own[i], averaged[i], "little memory");
    EXPECT_LT(tight->forward_batch().examples, 512);
  }
  limit_memory(1 << 10);
  EXPECT_EQ(make_cuda_executor(test::small_cnn(), {}, {}).error().code, ErrorCode::resources);
  limit_memory(std::int64_t{1} << 32);
}
#endif

TEST(CudaExecutor, LowerPrecisionIsChosenAndItsErrorTold) {
  std::mt19937 random(6);  // a size for which the library uses tensor cores
  const Graph graph = test::linear_classifier(test::random_tensor({256, 1024}, random), test::random_tensor({256}, random));
  const Points points = some_points(128, {1024}, 256);
  const Tensor exact = on_device(graph)->logits(points.x).value();
  for (const auto& [precision, least, most] :
       {std::tuple{Precision::tf32, 1e-5F, 2e-2F}, std::tuple{Precision::bf16, 1e-3F, 2e-1F}}) {
    std::vector<std::string> told;
    CudaOptions options;
    options.precision = precision;
    options.warn = [&](const std::string& text) { told.push_back(text); };
    const auto rounded = make_cuda_executor(graph, {}, options).value();
    const Tensor logits = rounded->logits(points.x).value();
    float worst = 0;
    for (std::size_t i = 0; i < logits.data.size(); ++i) worst = std::max(worst, std::fabs(logits.data[i] - exact.data[i]));
    EXPECT_GT(worst, least);
    EXPECT_LT(worst, most);
    EXPECT_EQ(rounded->logits(points.x)->data, logits.data);
    ASSERT_EQ(told.size(), 1U);
    const std::string expected = std::string(name_of(precision)) + " changes the logits of the first 16 points by up to";
    EXPECT_NE(told[0].find(expected), std::string::npos) << told[0];
  }
}

// Forward and backward convolutions of a residual network, with strides and projections, run in the library.
TEST(CudaProgram, ConvolutionsOfAResidualNetworkAreTheLibrarys) {
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
    Device device(0, precision);
    const Graph graph = simplify(test::import_bytes(test::make_onnx(test::architecture("resnet18")))->graph);
    for (const Graph& one : {graph, gradient_graph(graph)}) {
      const DeviceProgram program(device, one);
      EXPECT_TRUE(program.slow().empty()) << name_of(precision) << ": " << program.slow().begin()->first;
    }
  }
}

// ---- third-party models

class CudaSharedModels : public testing::TestWithParam<std::string> {};

TEST_P(CudaSharedModels, AgreeWithTheProcessor) {
  test::SharedModel shared = test::shared_model(test::shared_model_records().at(GetParam()));
  shared.x = rows(shared.x, 0, 2);
  const Model model = test::import_shared(GetParam()).value();
  const Graph graph = with_preprocessing(model, test::shape_of_point(shared.x), shared.preprocessing).value();
  const auto device = on_device(graph), host = make_executor("cpu", graph, {}).value();
  const Tensor logits = host->logits(shared.x).value();
  expect_near(device->logits(shared.x)->data, logits.data, 5e-4, GetParam());
  if (host->piecewise_constant() || host->classes() < 2) return;
  const Points points{shared.x, {0, 1}, {argmax(logits.row(0)), argmax(logits.row(1))}, 1};
  const auto own = device->linearize(points, *isotropic_gaussian()).value(),
             theirs = host->linearize(points, *isotropic_gaussian()).value();
  for (std::size_t i = 0; i < theirs.size(); ++i)
    EXPECT_LT((own[i].gram - theirs[i].gram).norm(), 2e-3 * (1e-6 + theirs[i].gram.norm())) << GetParam();
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  if (!test::has_shared("models/models.json")) return all;
  const auto records = test::shared_model_records();
  for (const auto& [name, entry] : records.items()) all.push_back(name);
  return all;
}

TEST(CudaModels, AreThere) {
  PROBUST_NEEDS_SHARED("models/models.json");
  EXPECT_FALSE(names().empty());
}

INSTANTIATE_TEST_SUITE_P(All, CudaSharedModels, testing::ValuesIn(names()), [](const auto& name) { return name.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaSharedModels);

}  // namespace
}  // namespace probust::cuda
