// SPDX-License-Identifier: MIT
// Every operator of the table in support/op_cases.h: compares its first and second derivatives with finite differences, and its
// kernels with its definition. If an operator is missing from the table, the test fails with its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/moments/moments.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"
#include "support/evaluate.h"
#include "support/lanes.h"
#include "support/op_cases.h"

namespace probust {
namespace {

using test::describe;
using test::extent_choices;
using test::OpCase;
using test::run;
using test::with_constants;

// The case as a graph whose operands are inputs with the given extents.
Graph as_graph(const OpCase& row, const std::vector<Extent>& extents) {
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    operands.push_back(append_input(graph, row.operands[i], extents[i], "operand " + std::to_string(i)));
  }
  graph.outputs = {append(graph, row.op, operands, row.attributes)};
  return graph;
}

Graph as_graph(const OpCase& row) { return as_graph(row, std::vector<Extent>(row.operands.size(), Extent::example)); }

// Evenly spaced values in random order over all tensors together, so that no two values are close.
std::vector<Tensor> spread(const Graph& graph, float low, float high, std::mt19937& random) {
  std::vector<Tensor> tensors;
  std::size_t total = 0;
  for (const ValueId id : graph.inputs()) total += tensors.emplace_back(graph[id].shape).data.size();
  std::vector<float> values(total);
  for (std::size_t i = 0; i < total; ++i)
    values[i] = low + (high - low) * (static_cast<float>(i) + 0.5F) / static_cast<float>(total);
  std::shuffle(values.begin(), values.end(), random);
  auto next = values.begin();
  for (Tensor& tensor : tensors) {
    for (float& value : tensor.data) value = *next++;
  }
  return tensors;
}

double dot(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += std::inner_product(a[i].data.begin(), a[i].data.end(), b[i].data.begin(), 0.0);
  return sum;
}

// The graph of the gradients with respect to `wrt`. Its inputs are those of the given graph, followed by the cotangents.
Graph gradient_graph(const Graph& graph, const std::vector<ValueId>& wrt) {
  Vjp sweep = vjp(graph, graph.outputs, wrt);
  sweep.graph.outputs = sweep.gradients;
  return std::move(sweep.graph);
}

// Compares the vjp of `graph` with central differences of c . outputs, input element by input element.
void expect_derivative(const Graph& graph, float low, float high, double step, double tolerance, const std::string& name) {
  std::mt19937 random(7);
  std::vector<Tensor> inputs = spread(graph, low, high, random);
  std::vector<Tensor> cotangents;
  for (const ValueId id : graph.outputs) cotangents.push_back(test::random_tensor(graph[id].shape, random));
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  const std::vector<Tensor> gradients = test::evaluate(gradient_graph(graph, graph.inputs()), all);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t e = 0; e < inputs[i].data.size(); ++e) {
      const float kept = inputs[i].data[e];
      const float above = kept + static_cast<float>(step), below = kept - static_cast<float>(step);
      inputs[i].data[e] = above;
      const double up = dot(test::evaluate(graph, inputs), cotangents);
      inputs[i].data[e] = below;
      const double down = dot(test::evaluate(graph, inputs), cotangents);
      inputs[i].data[e] = kept;
      const double expected = (up - down) / (double{above} - double{below});
      EXPECT_NEAR(gradients[i].data[e], expected, tolerance * (1 + std::fabs(expected)))
          << name << ", operand " << i << ", element " << e;
    }
  }
}

TEST(Ops, TheListIsInTheOrderOfTheEnumeration) {
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_ops()[i].op), i) << all_ops()[i].name;
    EXPECT_FALSE(all_ops()[i].formula.empty()) << all_ops()[i].name;
  }
}

TEST(Ops, EveryOperatorIsInTheTable) {
  std::set<Op> covered;
  for (const OpCase& row : test::op_cases()) covered.insert(row.op);
  for (const OpDefinition& op : all_ops()) {
    if (op.max_inputs == 0) continue;
    EXPECT_TRUE(covered.count(op.op)) << "operator '" << op.name << "' has no row in tests/support/op_cases.h";
    EXPECT_TRUE(test::smoothness().count(op.op)) << "operator '" << op.name << "' has no mark in tests/support/op_cases.h";
    EXPECT_NE(op.vjp, nullptr) << "operator '" << op.name << "' has no vjp";
  }
}

TEST(Ops, DerivativesAgreeWithFiniteDifferences) {
  for (const OpCase& row : test::op_cases()) expect_derivative(as_graph(row), row.low, row.high, 2e-3, 2e-3, describe(row));
}

// Differentiates the graph of the vjp again, with respect to operands and cotangents.
TEST(Ops, DerivativesOfDerivativesAgreeWithFiniteDifferences) {
  for (const OpCase& row : test::op_cases()) {
    const Graph graph = as_graph(row);
    expect_derivative(gradient_graph(graph, graph.inputs()), row.low, row.high, 2e-3, 5e-3, "vjp of " + describe(row));
  }
}

// The largest absolute element of the graph's outputs.
double size_of_outputs(const Graph& graph, const OpCase& row) {
  std::mt19937 random(3);
  double size = 0;
  for (const Tensor& output : test::evaluate(graph, spread(graph, row.low, row.high, random))) {
    for (const float value : output.data) size = std::max(size, std::fabs(double{value}));
  }
  return size;
}

// Two zeros agree even if a rule is wrong, so each derivative compared above must be nonzero, and all others must be zero.
TEST(Ops, DerivativesVanishOnlyWhereTheTableSaysSo) {
  using test::Smoothness;
  for (const OpCase& row : test::op_cases()) {
    const Smoothness mark = test::smoothness().at(row.op);
    const Graph graph = as_graph(row);
    if (element_count(graph[graph.outputs[0]].shape) == 0) continue;
    const std::vector<ValueId> operands = graph.inputs();
    const Graph first = gradient_graph(graph, operands), second = gradient_graph(first, operands);
    EXPECT_EQ(size_of_outputs(first, row) > 1e-3, mark != Smoothness::flat) << "first derivative of " << describe(row);
    EXPECT_EQ(size_of_outputs(second, row) > 1e-3, mark == Smoothness::curved) << "second derivative of " << describe(row);
  }
}

// The value of f with one operand halfway between two values and the others as in the first.
Tensor at_middle(const Graph& graph, std::vector<Tensor> first, const std::vector<Tensor>& second, std::size_t operand) {
  for (std::size_t e = 0; e < first[operand].data.size(); ++e)
    first[operand].data[e] = (first[operand].data[e] + second[operand].data[e]) / 2;
  return test::evaluate(graph, first)[0];
}

// Whether the value of f there is the average of its values at both ends.
bool looks_affine(const OpCase& row, std::size_t operand) {
  std::mt19937 random(7);
  const Graph graph = as_graph(row);
  const std::vector<Tensor> first = spread(graph, row.low, row.high, random), other = spread(graph, row.low, row.high, random);
  std::vector<Tensor> second = first;
  second[operand] = other[operand];
  const Tensor low = test::evaluate(graph, first)[0], high = test::evaluate(graph, second)[0],
               middle = at_middle(graph, first, second, operand);
  for (std::size_t e = 0; e < middle.data.size(); ++e) {
    if (!(std::fabs(middle.data[e] - (low.data[e] + high.data[e]) / 2) < 1e-4 * (1 + std::fabs(middle.data[e])))) return false;
  }
  return true;
}

TEST(Ops, OperatorsAreAffineInTheOperandsThatTheirTraitsName) {
  std::map<std::pair<Op, std::size_t>, bool> affine;
  for (const OpCase& row : test::op_cases()) {
    for (std::size_t k = 0; k < row.operands.size(); ++k) {
      if (element_count(row.operands[k]) == 0) continue;
      const bool looks = looks_affine(row, k);
      const auto known = affine.emplace(std::pair(row.op, k), looks).first;
      known->second = known->second && looks;
    }
  }
  for (const auto& [where, expected] : affine)
    EXPECT_EQ(definition(where.first).traits.affine_in(where.second), expected)
        << definition(where.first).name << ", operand " << where.second;
}

// The number of elements of the operand that each element of the result adds up; empty if the result is no such sum.
std::vector<int> terms_of(const OpCase& row) {
  const Graph graph = as_graph(row);
  Tensor x(row.operands[0]);
  const Tensor none = test::evaluate(graph, {x})[0];
  if (std::any_of(none.data.begin(), none.data.end(), [](float y) { return y != 0; })) return {};
  std::vector<int> terms(none.data.size());
  for (float& element : x.data) {
    element = 1;
    const Tensor y = test::evaluate(graph, {x})[0];
    element = 0;
    for (std::size_t e = 0; e < terms.size(); ++e) {
      if (y.data[e] != 0 && y.data[e] != 1) return {};
      terms[e] += y.data[e] == 1 ? 1 : 0;
    }
  }
  return terms;
}

TEST(Ops, SumsAndMovesAreThoseThatTheTraitsName) {
  std::map<Op, std::pair<bool, bool>> found;  // whether sums and moves were found
  for (const OpCase& row : test::op_cases()) {
    if (row.operands.size() != 1 || !definition(row.op).traits.affine_in(0)) continue;
    const Graph graph = as_graph(row);
    if (element_count(graph[graph.outputs[0]].shape) == 0) continue;
    const std::vector<int> terms = terms_of(row);
    const bool sums = !terms.empty(), moves = sums && *std::max_element(terms.begin(), terms.end()) <= 1;
    auto& known = found.emplace(row.op, std::pair(true, true)).first->second;
    known = {known.first && sums, known.second && moves};
  }
  for (const OpDefinition& op : all_ops()) {
    const auto [sums, moves] = found.count(op.op) != 0 ? found[op.op] : std::pair(false, false);
    EXPECT_EQ(op.traits.sums, sums) << op.name;
    EXPECT_EQ(op.traits.moves, moves) << op.name;
  }
}

// The moments of f(m + s Z), by a sum over many values of Z.
std::pair<double, double> integrated(const Graph& graph, double m, double s) {
  constexpr int kSteps = 400;
  constexpr double kEnd = 8;
  Tensor x(graph[graph.inputs()[0]].shape);
  double total = 0, mean = 0, square = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = kEnd * (2.0 * i / kSteps - 1), weight = std::exp(-z * z / 2);
    std::fill(x.data.begin(), x.data.end(), static_cast<float>(m + s * z));
    const double y = test::evaluate(graph, {x})[0].data[0];
    total += weight;
    mean += weight * y;
    square += weight * y * y;
  }
  mean /= total;
  return {mean, square / total - mean * mean};
}

TEST(Ops, MomentsOfFunctionsOfOneOperandAreIntegrals) {
  for (const OpCase& row : test::op_cases()) {
    const OpDefinition& op = definition(row.op);
    if (op.traits.unary == nullptr || row.op == Op::floor || row.op == Op::round) continue;  // these are refused
    const Graph graph = as_graph(row);
    const double m = row.low + 0.6 * (row.high - row.low), s = (row.high - row.low) / 25;
    Tensor mean(row.operands[0]), variance(row.operands[0]);
    std::fill(mean.data.begin(), mean.data.end(), static_cast<float>(m));
    std::fill(variance.data.begin(), variance.data.end(), static_cast<float>(s * s));
    const std::vector<Tensor> y = test::evaluate(propagate_moments(graph).graph, {mean, variance});
    const auto [expected_mean, expected_variance] = integrated(graph, m, s);
    EXPECT_NEAR(y[0].data[0], expected_mean, 5e-3 * (1 + std::fabs(expected_mean))) << describe(row);
    EXPECT_NEAR(y[1].data[0], expected_variance, 0.05 * expected_variance + 1e-6) << describe(row);
  }
}

TEST(Ops, KernelsAgreeWithDefinitionsForAllExtents) {
  std::mt19937 random(3);
  for (const OpCase& row : test::op_cases()) {
    for (const auto& extents : extent_choices(row.operands.size())) {
      const Graph graph = with_constants(row, extents, random);
      const Batch batch{7, 3};
      const test::Values inputs = test::random_inputs(graph, batch, random, row.low, row.high);
      const auto expected = run(*compile_reference(graph), graph, batch, inputs);
      for (const test::Compiler& compiler : test::kCompilers) {
        const auto actual = run(*compiler.compile(graph), graph, batch, inputs);
        for (std::size_t e = 0; e < expected[0].size(); ++e) {
          ASSERT_NEAR(actual[0][e], expected[0][e], 2e-5 * (1 + std::fabs(expected[0][e])))
              << describe(row) << ", " << compiler.name << ", extents " << static_cast<int>(extents[0]) << " element " << e;
        }
      }
    }
  }
}

// The bits of a lane do not depend on the number of lanes.
TEST(Ops, KernelsGiveTheSameBitsForAnyNumberOfLanes) {
  std::mt19937 random(5);
  for (const OpCase& row : test::op_cases()) {
    std::vector<Extent> extents(row.operands.size(), Extent::constant);
    extents[0] = Extent::example;
    const bool data_first = row.op != Op::max_scatter && row.op != Op::max_gather && row.op != Op::conv_filter_grad;
    if (!data_first) std::fill(extents.begin(), extents.end(), Extent::example);
    const Graph graph = with_constants(row, extents, random);
    const Batch batch{211, 1};
    const test::Values inputs = test::random_inputs(graph, batch, random, row.low, row.high);
    for (const test::Compiler& compiler : test::kCompilers)
      test::expect_same_bits(compiler, graph, batch, inputs, {1, 2, 17, 48, 50, 113}, describe(row));
  }
}

TEST(Ops, CommonOperatorsHaveFastKernels) {
  for (const Op op : {Op::matmul, Op::conv, Op::conv_transpose, Op::max_pool, Op::max_scatter, Op::relu, Op::add, Op::multiply,
                      Op::grid_sample, Op::grid_sample_transpose}) {
    EXPECT_TRUE(cpu::has_fast_kernel(op)) << definition(op).name;
  }
}

TEST(Ops, MisfittingOperandsAreRefused) {
  Graph graph;
  const ValueId a = append_input(graph, {2, 3}, Extent::example, "a"), b = append_input(graph, {2, 4}, Extent::example, "b");
  EXPECT_THROW(append(graph, Op::add, {a, b}), Error);
  EXPECT_THROW(append(graph, Op::matmul, {a, b}, MatmulAttributes{}), Error);
  EXPECT_THROW(append(graph, Op::reshape, {a}, ShapeAttribute{{7}}), Error);
  EXPECT_THROW(append(graph, Op::reshape, {a}, AxisAttribute{1}), Error);
  EXPECT_THROW(append(graph, Op::slice, {a}, SliceAttributes{{0, 0}, {3, 3}, {1, 1}}), Error);
  EXPECT_THROW(append(graph, Op::gather, {a}, GatherAttributes{1, {3}, 3}), Error);
  EXPECT_THROW(append(graph, Op::transpose, {a}, PermutationAttribute{{0, 0}}), Error);
  EXPECT_THROW(append(graph, Op::relu, {a, b}), Error);
  EXPECT_THROW(append(graph, Op::relu, {99}), Error);
  EXPECT_EQ(graph.nodes.size(), 2U);
}

}  // namespace
}  // namespace probust
