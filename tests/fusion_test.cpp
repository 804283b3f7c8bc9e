// SPDX-License-Identifier: MIT
// Element-wise operations that the kernel of a product applies to its result: compares random graphs with the operators'
// definitions, for products of every algorithm, and tests which operators are fused and which must not be.
#include "probust/exec/cpu/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "probust/exec/cpu/winograd.h"
#include "probust/ops/build.h"
#include "probust/ops/print.h"
#include "support/lanes.h"
#include "support/random_layers.h"

namespace probust {
namespace {

using test::Layer;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Products that cover every algorithm and every way to call it. The second operand is constant unless the first one is.
std::vector<Layer> products() {
  const auto window = [](Shape image, Shape kernel, Shape stride, Shape dilation, Shape low, Shape high,
                         std::int64_t groups = 1) {
    return Window{
        std::move(image), std::move(kernel), std::move(stride), std::move(dilation), std::move(low), std::move(high), groups};
  };
  const auto conv = [](std::int64_t channels, std::int64_t filters, const Window& w) {
    return test::convolution(channels, filters, w);
  };
  const auto matmul = [](Shape a, Shape b, MatmulAttributes t, bool left = false) {
    const Extent varying = Extent::example;
    return Layer{{Op::matmul, {std::move(a), std::move(b)}, t},
                 {left ? Extent::constant : varying, left ? varying : Extent::constant}};
  };
  std::vector<Layer> all{
      conv(16, 17, window({5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1})),   // Winograd, tiles of 4 x 4
      conv(16, 9, window({2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1})),    // of 2 x 2
      conv(3, 11, window({7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0})),    // direct, strided
      conv(2, 3, window({6, 6}, {2, 3}, {1, 3}, {2, 1}, {1, 2}, {1, 0})),     // dilated
      conv(8, 6, window({3, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0})),     // one tap
      conv(6, 6, window({5, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6)),  // depthwise
      conv(4, 6, window({4, 4}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, 2)),  // in groups
      conv(140, 4, window({2, 2}, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1})),   // blocks of channels
      matmul({5, 7}, {7, 13}, {false, false}),                                // rows of tokens
      matmul({2, 3, 6}, {50, 6}, {false, true}),
      matmul({6, 4}, {6, 9}, {true, false}),
      matmul({1, 20}, {20, 11}, {false, false}),        // one row: lanes are the rows
      matmul({4, 6}, {2, 6, 5}, {false, false}, true),  // the matrix on the left
  };
  for (std::size_t i = 0; i < 8; ++i) {
    Layer turned = test::transposed(all[i]);
    turned.extents[0] = Extent::example;
    all.push_back(std::move(turned));
  }
  all.push_back({{Op::conv, {{1, 2, 9}, {5, 2, 3}}, window({9}, {3}, {2}, {1}, {1}, {1})}, {Extent::example, Extent::constant}});
  all.push_back(
      {{Op::conv_transpose, {{1, 5, 5}, {5, 2, 3}}, window({9}, {3}, {2}, {1}, {1}, {1})}, {Extent::example, Extent::constant}});
  const Window volume{{3, 2, 3}, {2, 1, 2}, {1, 1, 2}, {1, 1, 1}, {1, 0, 0}, {0, 0, 1}};  // Eigen's products only
  all.push_back({{Op::conv, {{1, 2, 3, 2, 3}, {3, 2, 2, 1, 2}}, volume}, {Extent::example, Extent::constant}});
  return all;
}

// A graph with a product and the operators that follow it.
class Following {
 public:
  Following(const Layer& layer, std::mt19937& random) : layer_(layer), random_(random) {}

  Graph make() {
    const Extent extent = chance(2) ? Extent::seeded : Extent::example;
    if (chance(2)) early_ = append(graph_, Op::relu, {product(extent)});
    // Whether the operator is before or after the product.
    const bool before = !chance(4);
    if (before) append_operands();
    ValueId y = product(extent);
    shape_ = graph_[y].shape;
    if (!before) append_operands();
    if (chance(2)) late_ = product(extent);
    for (std::int64_t i = 0, length = test::between(random_, 1, 5); i < length; ++i) {
      if (chance(10)) graph_.outputs.push_back(y);
      if (chance(12)) y = build::multiply(graph_, y, y);
      y = follow(y);
    }
    graph_.outputs.push_back(y);
    return graph_;
  }

 private:
  bool chance(unsigned of) { return random_() % of == 0; }

  Shape result() const { return definition(layer_.op.op).infer(layer_.op.attributes, layer_.op.operands); }

  // A product whose values are about 1 in size.
  ValueId product(Extent extent) {
    const double terms = test::terms(layer_) / static_cast<double>(element_count(result()));
    const auto bound = static_cast<float>(std::min(1.0, 1.5 / std::sqrt(terms)));
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape& shape = layer_.op.operands[i];
      operands.push_back(layer_.extents[i] == Extent::constant
                             ? append_constant(graph_, test::random_tensor(shape, random_, -bound, bound))
                             : append_input(graph_, shape, extent, "factor"));
    }
    return append(graph_, layer_.op.op, operands, layer_.op.attributes);
  }

  // Adds inputs that have the result's shape.
  void append_operands() {
    example_ = append_input(graph_, result(), Extent::example, "operand");
    seeded_ = append_input(graph_, result(), Extent::seeded, "operand");
    if (chance(2)) example_ = append(graph_, Op::tanh, {example_});
    if (chance(2)) seeded_ = append(graph_, Op::negate, {seeded_});
  }

  // A constant that varies only along this axis of the result.
  ValueId along(std::size_t axis, bool short_shape) {
    Shape shape(shape_.size(), 1);
    shape[axis] = shape_[axis];
    if (short_shape) shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return append_constant(graph_, test::random_tensor(shape, random_));
  }

  ValueId operand() {
    const std::size_t channels = layer_.op.op == Op::matmul ? shape_.size() - 1 : 1;
    switch (random_() % 10) {
      case 0:
        return append_constant(graph_, test::random_tensor(chance(2) ? Shape{} : Shape{1}, random_));
      case 1:
      case 2:
        return along(channels, chance(2));
      case 3:
        return along(random_() % shape_.size(), chance(2));
      case 4:
        return append_constant(graph_, test::random_tensor(shape_, random_));
      case 5:
        return append(graph_, Op::tanh, {append_constant(graph_, test::random_tensor(shape_, random_))});
      case 6:
      case 7:
        return seeded_;
      case 8:
        return early_ != kNoValue ? early_ : late_ != kNoValue ? late_ : example_;
      default:
        return example_;
    }
  }

  ValueId follow(ValueId y) {
    constexpr Op kOps[] = {Op::add, Op::multiply, Op::maximum, Op::minimum, Op::subtract};
    if (chance(4)) return append(graph_, Op::relu, {y});
    const Op op = kOps[random_() % (chance(8) ? 5 : 4)];
    const ValueId other = operand();
    return chance(2) ? append(graph_, op, {y, other}) : append(graph_, op, {other, y});
  }

  const Layer& layer_;
  std::mt19937& random_;
  Graph graph_;
  Shape shape_;
  ValueId early_ = kNoValue, late_ = kNoValue, example_ = kNoValue, seeded_ = kNoValue;
};

// Random inputs; some elements of operands are NaN in some lanes.
test::Values some_inputs(const Graph& graph, const Batch& batch, std::mt19937& random) {
  test::Values inputs = test::random_inputs(graph, batch, random);
  const std::vector<ValueId> ids = graph.inputs();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (graph[ids[i]].name != "operand") continue;
    for (float& value : inputs[i]) value = random() % 64 == 0 ? kNaN : value;
  }
  return inputs;
}

void expect_as_defined(const test::Compiler& compiler, const Graph& graph, const Batch& batch, const test::Values& inputs,
                       const test::Values& expected) {
  const test::Values actual = test::run(*compiler.compile(graph), graph, batch, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t e = 0; e < expected[i].size(); ++e) {
      const float a = actual[i][e], b = expected[i][e];
      const bool right = std::isnan(b) ? std::isnan(a) : std::fabs(a - b) <= 2e-5F * (1 + std::fabs(b));
      ASSERT_TRUE(right) << compiler.name << ", " << batch.examples << " examples, " << batch.seeds << " seeds, output " << i
                         << ", " << e << ": " << a << " in place of " << b << "\n"
                         << to_text(graph);
    }
  }
}

std::size_t fused_nodes(const Graph& graph) {
  std::size_t nodes = 0;
  for (const cpu::Fusion& fusion : cpu::find_fusions(cpu::seeded_last(graph))) nodes += fusion.nodes.size();
  return nodes;
}

TEST(Fusion, RandomGraphsAreRightWithEveryAlgorithm) {
  constexpr Batch kBatches[] = {{1, 9}, {3, 9}, {16, 9}, {5, 1}, {1, 1}, {33, 1}, {17, 2}, {48, 1}};
  std::mt19937 random(41);
  std::size_t fused = 0, graphs = 0;
  int winograd = 0;
  for (const Layer& layer : products()) {
    if (layer.op.op != Op::matmul) {
      const Graph alone = test::with_constants(layer.op, layer.extents, random);
      winograd += cpu::make_winograd_conv(alone, alone[alone.outputs[0]], {}).kernel ? 1 : 0;
    }
    for (std::size_t i = 0; i < 2 * std::size(kBatches); ++i) {
      const Batch& batch = kBatches[i / 2];
      const Graph graph = Following(layer, random).make();
      ++graphs;
      fused += fused_nodes(graph);
      const test::Values inputs = some_inputs(graph, batch, random);
      const test::Values expected = test::run(*compile_reference(graph), graph, batch, inputs);
      for (const test::Compiler& compiler : test::kCompilers) expect_as_defined(compiler, graph, batch, inputs, expected);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(fused, graphs);  // otherwise the graphs do not test what they should
  EXPECT_EQ(winograd, 4);
}

// Each lane reads the operand's lane of its own example, even if a vector contains several examples or seeds.
TEST(Fusion, EverySeedMeetsItsExample) {
  std::mt19937 random(45);
  for (const Layer& layer : products()) {
    for (const Op op : {Op::add, Op::maximum}) {
      Graph g;
      const Shape shape = definition(layer.op.op).infer(layer.op.attributes, layer.op.operands);
      const ValueId operand = append_input(g, shape, Extent::example, "operand");
      std::vector<ValueId> factors;
      for (std::size_t i = 0; i < 2; ++i) {
        const Shape& own = layer.op.operands[i];
        factors.push_back(layer.extents[i] == Extent::constant ? append_constant(g, test::random_tensor(own, random, -0.3F, 0.3F))
                                                               : append_input(g, own, Extent::seeded, "factor"));
      }
      const ValueId y = append(g, layer.op.op, factors, layer.op.attributes);
      g.outputs = {append(g, Op::relu, {append(g, op, {operand, y})})};
      ASSERT_EQ(fused_nodes(g), 2U);
      for (const Batch& batch : {Batch{1, 9}, {3, 9}, {8, 5}, {16, 3}, {40, 2}}) {
        const test::Values inputs = some_inputs(g, batch, random);
        const test::Values expected = test::run(*compile_reference(g), g, batch, inputs);
        for (const test::Compiler& compiler : test::kCompilers) expect_as_defined(compiler, g, batch, inputs, expected);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Results are the same whether a group of lanes is finished in registers or not.
TEST(Fusion, LanesAreIndependent) {
  std::mt19937 random(42);
  for (const Layer& layer : products()) {
    for (int i = 0; i < 3; ++i) {
      const Graph graph = Following(layer, random).make();
      const Batch batch{48, i == 0 ? 1 : 3};
      const test::Values inputs = test::random_inputs(graph, batch, random);
      for (const test::Compiler& compiler : test::kCompilers)
        test::expect_same_bits(compiler, graph, batch, inputs, {1, 3, 5, 16, 31}, to_text(graph));
      if (HasFatalFailure()) return;
    }
  }
}

// Values that do not depend on the seed are reused from the previous run, whose number of seeds was different.
TEST(Fusion, OperandsOfExamplesAreReused) {
  std::mt19937 random(43);
  for (const Layer& layer : products()) {
    for (int i = 0; i < 3; ++i) {
      const Graph graph = Following(layer, random).make();
      for (const test::Compiler& compiler : test::kCompilers) {
        const auto program = compiler.compile(graph);
        Workspace workspace;
        workspace.verify = true;
        test::Values inputs;
        for (const std::int64_t seeds : {9, 2}) {
          const Batch batch{3, seeds};
          test::Values now = test::random_inputs(graph, batch, random);
          for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (graph[graph.inputs()[k]].extent == Extent::example) now[k] = inputs[k];
          }
          inputs = std::move(now);
          const test::Values expected = test::run(*program, graph, batch, inputs);
          test::Values actual = expected;
          std::vector<const float*> in;
          std::vector<float*> out;
          for (const auto& input : inputs) in.push_back(input.data());
          for (auto& output : actual) out.push_back(output.data());
          program->run(batch, in, out, workspace, seeds == 9 ? Reuse::nothing : Reuse::examples);
          ASSERT_EQ(actual, expected) << compiler.name << "\n" << to_text(graph);
        }
      }
    }
  }
}

// ---- NaN

TEST(Fusion, NaNWinsFromEitherSide) {
  for (const Op op : {Op::maximum, Op::minimum}) {
    for (const bool first : {false, true}) {
      for (const test::Compiler& compiler : test::kCompilers) {
        for (const std::int64_t lanes : {1, 3, 16, 35}) {
          Graph g;
          const ValueId x = append_input(g, {1, 4, 4, 4}, Extent::example, "x"),
                        z = append_input(g, {1, 4, 4, 4}, Extent::example, "z");
          const ValueId y = append(g, Op::conv, {x, append_constant(g, Tensor({4, 4, 3, 3}, std::vector<float>(144, 1)))},
                                   test::square(4, 3, 1, 1));
          const ValueId combined = append(g, op, first ? std::vector<ValueId>{z, y} : std::vector<ValueId>{y, z});
          g.outputs = {append(g, Op::relu, {combined})};
          ASSERT_EQ(fused_nodes(g), 2U);
          // NaN in the product in one lane, and in an element of the operand in another lane.
          test::Values inputs{std::vector<float>(64 * lanes, 1), std::vector<float>(64 * lanes, 1)};
          inputs[0][lanes / 2] = kNaN;
          inputs[1][37 * lanes + lanes - 1] = kNaN;
          const std::vector<float> y_values = test::run(*compiler.compile(g), g, {lanes, 1}, inputs)[0];
          EXPECT_TRUE(std::isnan(y_values[lanes / 2])) << compiler.name << lanes;
          EXPECT_TRUE(std::isnan(y_values[37 * lanes + lanes - 1])) << compiler.name << lanes;
          if (lanes > 2) {
            EXPECT_FALSE(std::isnan(y_values[lanes - 1])) << compiler.name << lanes;
            EXPECT_FALSE(std::isnan(y_values[37 * lanes])) << compiler.name << lanes;
          }
        }
      }
    }
  }
}

// ---- what is fused

class Fused : public testing::Test {
 protected:
  ValueId input(const Shape& shape, Extent extent = Extent::example) { return append_input(g, shape, extent, "x"); }
  ValueId constant(const Shape& shape) { return append_constant(g, test::random_tensor(shape, random)); }
  ValueId conv(ValueId x) { return append(g, Op::conv, {x, constant({3, 2, 3, 3})}, test::square(4, 3, 1, 1)); }
  ValueId relu(ValueId x) { return append(g, Op::relu, {x}); }
  std::vector<ValueId> nodes(ValueId product) { return cpu::find_fusions(g)[product].nodes; }

  std::mt19937 random{44};
  Graph g;
  const Shape image{1, 2, 4, 4}, result{1, 3, 4, 4};
  using Ids = std::vector<ValueId>;
};

TEST_F(Fused, FusesABiasAndItsSuccessorsInOrder) {
  const ValueId z = input(result), y = conv(input(image));
  const ValueId a = build::add(g, constant({3, 1, 1}), y), b = relu(a), c = build::multiply(g, z, b),
                d = append(g, Op::minimum, {c, constant({})}), e = append(g, Op::maximum, {d, constant({1, 4, 1})});
  g.outputs = {e};
  const cpu::Fusion fusion = cpu::find_fusions(g)[y];
  EXPECT_EQ(fusion.nodes, (Ids{a, b, c, d, e}));
  EXPECT_EQ(fusion.bias, constant_value(g, g[a].inputs[0]).data);
  EXPECT_EQ(fusion.extra, (Ids{z, g[d].inputs[1], g[e].inputs[1]}));
  ASSERT_EQ(fusion.fused.size(), 4U);
  EXPECT_EQ(fusion.fused[0].op, Op::relu);
  EXPECT_EQ(fusion.fused[1].op, Op::multiply);
  EXPECT_EQ(fusion.fused[1].operand, 2U);
  EXPECT_EQ(fusion.fused[2].size, 1);
  EXPECT_EQ(fusion.fused[3].operand, 4U);
  EXPECT_EQ(fusion.fused[3].size, 4);
  EXPECT_EQ(fusion.fused[3].inner, 4);
}

TEST_F(Fused, DoesNotFuseALaterValue) {
  const ValueId y = conv(input(image)), z = append(g, Op::tanh, {input(result)});
  g.outputs = {build::add(g, y, z)};
  EXPECT_EQ(nodes(y), Ids{});
}

TEST_F(Fused, AResidualBelongsToTheLaterProduct) {
  for (const bool swapped : {false, true}) {
    g = {};
    const ValueId first = conv(input(image)), rectified = relu(first), second = conv(input(image));
    const ValueId sum = swapped ? build::add(g, second, rectified) : build::add(g, rectified, second);
    g.outputs = {sum};
    EXPECT_EQ(nodes(first), Ids{rectified});
    EXPECT_EQ(nodes(second), Ids{sum});
  }
}

// The rectifier of the first product comes after the second product, but its inputs are known together with the first.
TEST_F(Fused, AFusedValueIsKnownWithItsProduct) {
  const ValueId first = conv(input(image)), second = conv(input(image)), rectified = relu(first);
  const ValueId sum = build::add(g, second, rectified);
  g.outputs = {sum};
  EXPECT_EQ(nodes(first), Ids{rectified});
  EXPECT_EQ(nodes(second), Ids{sum});
}

TEST_F(Fused, NotAValueThatIsReadTwiceOrIsAnOutput) {
  ValueId y = conv(input(image)), r = relu(y);
  g.outputs = {build::multiply(g, r, append(g, Op::tanh, {y}))};
  EXPECT_EQ(nodes(y), Ids{});
  g = {};
  y = conv(input(image));
  g.outputs = {build::add(g, y, y)};
  EXPECT_EQ(nodes(y), Ids{});
  g = {};
  y = conv(input(image));
  r = relu(y);
  g.outputs = {r, y};
  EXPECT_EQ(nodes(y), Ids{});
  g = {};
  y = conv(input(image));
  r = relu(y);
  g.outputs = {append(g, Op::minimum, {r, constant({})}), r};
  EXPECT_EQ(nodes(y), Ids{r});
}

TEST_F(Fused, NotWithAnotherShapeOrExtent) {
  const Shape wide{2, 3, 4, 4};
  for (const ValueId other :
       {input({3, 1, 1}), input({2, 3, 4, 4}), constant({3, 4, 1}), constant(wide), input(result, Extent::seeded)}) {
    const ValueId y = conv(input(image));
    g.outputs = {build::add(g, y, other)};
    EXPECT_EQ(nodes(y), Ids{}) << to_text(g);
  }
  const ValueId y = conv(input(image));
  g.outputs = {append(g, Op::reshape, {y}, ShapeAttribute{{48}}), build::subtract(g, conv(input(image)), constant({}))};
  for (const cpu::Fusion& fusion : cpu::find_fusions(g)) EXPECT_EQ(fusion.nodes, Ids{});
}

// A constant along another axis of a transposed convolution, or of a matrix on the left, cannot be fused as a bias.
TEST_F(Fused, NoBiasWhereSumsHaveNone) {
  ValueId y = append(g, Op::conv_transpose, {input(result), constant({3, 2, 3, 3})}, test::square(4, 3, 1, 1));
  ValueId sum = build::add(g, y, constant({2, 1, 1}));
  g.outputs = {sum};
  EXPECT_EQ(nodes(y), Ids{sum});
  EXPECT_TRUE(cpu::find_fusions(g)[y].bias.empty());
  y = build::matmul(g, constant({5, 4}), input({4, 3}));
  sum = build::add(g, y, constant({3}));
  g.outputs = {sum};
  EXPECT_EQ(nodes(y), Ids{sum});
  EXPECT_TRUE(cpu::find_fusions(g)[y].bias.empty());
}

TEST_F(Fused, SeededValuesComeLast) {
  const ValueId seed = input(result, Extent::seeded), y = build::multiply(g, seed, seed), x = input(image), z = conv(x);
  g.outputs = {y, build::add(g, y, z)};
  const Graph sorted = cpu::seeded_last(g);
  check(sorted);
  ASSERT_EQ(sorted.nodes.size(), g.nodes.size());
  EXPECT_EQ(sorted[sorted.inputs()[0]].extent, Extent::seeded);
  EXPECT_EQ(sorted[sorted.inputs()[1]].extent, Extent::example);
  bool seeded = false;
  for (const Node& node : sorted.nodes) {
    if (node.op == Op::input) continue;
    EXPECT_FALSE(seeded && node.extent != Extent::seeded) << to_text(sorted);
    seeded = seeded || node.extent == Extent::seeded;
  }
  EXPECT_EQ(sorted[sorted.outputs[0]].op, Op::multiply);
  EXPECT_EQ(sorted[sorted.outputs[1]].op, Op::add);
}

}  // namespace
}  // namespace probust
