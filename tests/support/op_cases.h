// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probust/graph/graph.h"

namespace probust::test {

/// One row of the table, which must contain every operator: operand shapes, attributes, and the interval from which operands
/// are sampled. Samples are evenly spaced and differ by more than the finite-difference step, which avoids kinks and ties.
struct OpCase {
  Op op;
  std::vector<Shape> operands;
  Attributes attributes;
  float low = -1, high = 1;
};

/// Two trees over two features for two targets.
inline TreesAttribute small_trees() {
  using Mode = TreeNode::Mode;
  Trees trees;
  trees.nodes = {{Mode::less_equal, false, 0, 0.1F, 1, 2}, {Mode::leaf, false, 0, 0, 0, 0, 0, 2},
                 {Mode::greater, false, 1, -0.2F, 3, 4},   {Mode::leaf, false, 0, 0, 0, 0, 2, 1},
                 {Mode::leaf, false, 0, 0, 0, 0, 0, 1},    {Mode::leaf, false, 0, 0, 0, 0, 1, 2}};
  trees.roots = {0, 5};
  trees.weights = {{0, 0.5F}, {1, 0.25F}, {0, 2}};
  trees.targets = 2;
  return {std::make_shared<const Trees>(std::move(trees))};
}

// There are several functions, because compilers take long for one long table.
inline std::vector<OpCase> products_and_convolutions() {
  const Window same{{5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window strided{{6, 5}, {3, 2}, {2, 3}, {1, 2}, {1, 0}, {0, 2}};
  const Window grouped{{4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2};
  const Window depthwise{{4, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 3};
  const Window line{{7}, {3}, {2}, {2}, {2}, {1}};
  const Window blur{{6, 3}, {5, 1}, {1, 1}, {1, 1}, {2, 0}, {0, 0}};
  const Window volume{{3, 4, 3}, {2, 2, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}};
  const Window point{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const Window sparse{{5, 5}, {1, 1}, {3, 3}, {1, 1}, {0, 0}, {0, 0}};  // some pixels are never read
  return {
      {Op::matmul, {{1, 4}, {4, 3}}, MatmulAttributes{}},
      {Op::matmul, {{4, 2}, {3, 4}}, MatmulAttributes{true, true}},
      {Op::matmul, {{2, 1, 2, 4}, {3, 4, 3}}, MatmulAttributes{}},
      {Op::matmul, {{3, 4}, {2, 4, 5}}, MatmulAttributes{}},
      {Op::matmul, {{2, 4, 3}, {4, 5}}, MatmulAttributes{true, false}},
      {Op::matmul, {{2, 3, 4}, {2, 5, 4}}, MatmulAttributes{false, true}},
      {Op::matmul, {{1, 5}, {5, 1}}, MatmulAttributes{}},
      {Op::conv, {{1, 2, 5, 6}, {3, 2, 3, 3}}, same},
      {Op::conv, {{2, 1, 6, 5}, {2, 1, 3, 2}}, strided},
      {Op::conv, {{1, 4, 4, 4}, {2, 2, 3, 3}}, grouped},
      {Op::conv, {{1, 3, 4, 3}, {3, 1, 2, 2}}, depthwise},
      {Op::conv, {{1, 2, 7}, {2, 2, 3}}, line},
      {Op::conv, {{2, 1, 6, 3}, {1, 1, 5, 1}}, blur},
      {Op::conv, {{1, 1, 3, 4, 3}, {2, 1, 2, 2, 3}}, volume},
      {Op::conv, {{1, 3, 3, 3}, {2, 3, 1, 1}}, point},
      {Op::conv_transpose, {{1, 3, 5, 6}, {3, 2, 3, 3}}, same},
      {Op::conv_transpose, {{1, 2, 3, 2}, {2, 1, 3, 2}}, strided},
      {Op::conv_transpose, {{1, 2, 2, 2}, {2, 2, 3, 3}}, grouped},
      {Op::conv_transpose, {{1, 3, 3, 2}, {3, 1, 2, 2}}, depthwise},
      {Op::conv_transpose, {{1, 2, 3}, {2, 2, 3}}, line},
      {Op::conv_transpose, {{2, 1, 4, 3}, {1, 1, 5, 1}}, blur},
      {Op::conv_transpose, {{1, 2, 2, 2}, {2, 3, 1, 1}}, sparse},
      {Op::conv_filter_grad, {{1, 2, 5, 6}, {1, 3, 5, 6}}, same},
      {Op::conv_filter_grad, {{2, 1, 6, 5}, {2, 2, 3, 2}}, strided},
      {Op::conv_filter_grad, {{1, 4, 4, 4}, {1, 2, 2, 2}}, grouped},
      {Op::conv_filter_grad, {{1, 3, 4, 3}, {1, 3, 3, 2}}, depthwise},
      {Op::conv_filter_grad, {{2, 1, 6, 3}, {2, 1, 4, 3}}, blur},
  };
}

inline std::vector<OpCase> pools() {
  const Window halves{{4, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const Window overlapping{{5, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  const Window gaps{{2, 1}, {1, 2}, {1, 1},
                    {1, 4}, {1, 1}, {0, 4}};  // windows entirely in the padding, at two of three rows and columns
  const Window wide{{6, 7}, {2, 2}, {2, 2}, {2, 3}, {0, 0}, {0, 0}};
  return {
      {Op::max_pool, {{1, 2, 4, 6}}, halves},
      {Op::max_pool, {{1, 2, 5, 5}}, overlapping},
      {Op::max_pool, {{1, 1, 6, 7}}, wide},
      {Op::max_scatter, {{1, 2, 4, 6}, {1, 2, 2, 3}}, halves},
      {Op::max_scatter, {{1, 1, 5, 5}, {1, 1, 3, 3}}, overlapping},
      {Op::max_scatter, {{1, 1, 6, 7}, {1, 1, 2, 2}}, wide},
      {Op::max_scatter, {{1, 2, 2, 1}, {1, 2, 3, 2}}, gaps},
      {Op::max_gather, {{1, 2, 2, 1}, {1, 2, 2, 1}}, gaps},
      {Op::max_gather, {{1, 1, 4, 6}, {1, 1, 4, 6}}, halves},
      {Op::max_gather, {{1, 1, 5, 5}, {1, 1, 5, 5}}, overlapping},
      {Op::sum_pool, {{1, 2, 4, 6}}, halves},
      {Op::sum_pool, {{1, 2, 5, 5}}, overlapping},
      {Op::sum_unpool, {{1, 2, 2, 3}}, halves},
      {Op::sum_unpool, {{1, 2, 3, 3}}, overlapping},
  };
}

inline std::vector<OpCase> grids() {
  using enum GridAttributes::Interpolation;
  using enum GridAttributes::Padding;
  const std::vector<Shape> sampled{{1, 2, 4, 5}, {1, 2, 2, 3}}, spread{{1, 2, 2, 3}, {1, 2, 2, 3}};
  const std::vector<Shape> two{{2, 1, 3, 3}, {2, 2, 4}}, spread_two{{2, 1, 4}, {2, 2, 4}};
  const float low = -1.19F, high = 4.81F;  // their samples avoid integers, which are kinks
  return {
      {Op::grid_sample, sampled, GridAttributes{4, 5, linear, zeros}, low, high},
      {Op::grid_sample, sampled, GridAttributes{4, 5, linear, reflect_centres}, low, high},
      {Op::grid_sample, sampled, GridAttributes{4, 5, cubic, border}, low, high},
      {Op::grid_sample, sampled, GridAttributes{4, 5, cubic, reflect_edges, -0.75F}, low, high},
      {Op::grid_sample, sampled, GridAttributes{4, 5, cubic, zeros, -0.5F, 1, 0}, low, high},
      {Op::grid_sample, two, GridAttributes{3, 3, cubic, reflect_centres, -0.5F, 0, 2}, low, high},
      {Op::grid_sample, {{1, 1, 2, 5}, {1, 2, 6}}, GridAttributes{2, 5, linear, reflect_edges, -0.5F, 0, 1}, low, high},
      {Op::grid_sample_transpose, spread, GridAttributes{4, 5, linear, zeros}, low, high},
      {Op::grid_sample_transpose, spread, GridAttributes{4, 5, linear, reflect_edges, -0.5F, 1, 0}, low, high},
      {Op::grid_sample_transpose, spread, GridAttributes{4, 5, cubic, border}, low, high},
      {Op::grid_sample_transpose, spread_two, GridAttributes{3, 3, cubic, reflect_centres, -0.75F}, low, high},
  };
}

inline std::vector<OpCase> elementwise_operators() {
  return {
      {Op::negate, {{2, 3}}, {}},
      {Op::absolute, {{4, 5}}, {}},
      {Op::sign, {{4, 5}}, {}},
      {Op::step, {{4, 5}}, {}},
      {Op::relu, {{4, 5}}, {}},
      {Op::exp, {{3, 7}}, {}, -2, 2},
      {Op::log, {{3, 7}}, {}, 0.5F, 3},
      {Op::sqrt, {{3, 7}}, {}, 0.5F, 3},
      {Op::reciprocal, {{3, 7}}, {}, 0.7F, 3},
      {Op::sigmoid, {{3, 7}}, {}, -4, 4},
      {Op::tanh, {{3, 7}}, {}, -2, 2},
      {Op::erf, {{3, 7}}, {}, -2, 2},
      {Op::softplus, {{3, 7}}, {}, -4, 4},
      {Op::sine, {{3, 7}}, {}, -3, 3},
      {Op::cosine, {{3, 7}}, {}, -3, 3},
      {Op::floor, {{4, 5}}, {}, -2, 2},
      {Op::round, {{4, 5}}, {}, -2, 2.2F},
      {Op::add, {{2, 3}, {2, 3}}, {}},
      {Op::add, {{1, 2, 3}, {2, 1}}, {}},
      {Op::add, {{3}, {2, 1, 3}}, {}},
      {Op::subtract, {{2, 3}, {3}}, {}},
      {Op::multiply, {{2, 3}, {2, 3}}, {}},
      {Op::multiply, {{1, 2, 3}, {}}, {}},
      {Op::divide, {{2, 3}, {2, 1}}, {}, 0.6F, 2},
      {Op::maximum, {{3, 4}, {3, 4}}, {}},
      {Op::maximum, {{3, 4}, {4}}, {}},
      {Op::minimum, {{3, 4}, {3, 1}}, {}},
      {Op::power, {{3, 4}, {3, 4}}, {}, 0.7F, 2},
      {Op::power, {{3, 4}, {}}, {}, 0.7F, 2},
      {Op::greater_equal, {{3, 4}, {3, 4}}, {}},
      {Op::less, {{3, 4}, {3, 4}}, {}},
  };
}

inline std::vector<OpCase> moves_and_choices() {
  return {
      {Op::reduce_sum, {{2, 3, 4}}, AxesAttributes{{1}}},
      {Op::reduce_sum, {{2, 3, 4}}, AxesAttributes{{0, 2}}},
      {Op::broadcast, {{2, 1, 3}}, ShapeAttribute{{2, 4, 3}}},
      {Op::broadcast, {{3}}, ShapeAttribute{{2, 3}}},
      {Op::reshape, {{2, 6}}, ShapeAttribute{{3, 4}}},
      {Op::transpose, {{2, 3, 4}}, PermutationAttribute{{2, 0, 1}}},
      {Op::slice, {{4, 7}}, SliceAttributes{{1, 0}, {2, 3}, {2, 3}}},
      {Op::slice, {{4, 7}}, SliceAttributes{{1, 2}, {3, 4}, {1, 1}}},
      {Op::slice, {{4, 7}}, SliceAttributes{{0, 0}, {0, 7}, {1, 1}}},
      {Op::pad, {{2, 3}}, PadAttributes{{1, 0}, {0, 2}, {2, 1}}},
      {Op::concat, {{2, 3}, {2, 1}, {2, 2}}, AxisAttribute{1}},
      {Op::concat, {{1, 3}, {2, 3}}, AxisAttribute{0}},
      {Op::concat, {{0, 3}, {2, 3}}, AxisAttribute{0}},
      {Op::gather, {{2, 4, 3}}, GatherAttributes{1, {3, 0, 0}, 4}},
      {Op::scatter_add, {{2, 3, 3}}, GatherAttributes{1, {3, 0, 0}, 4}},
      {Op::softmax, {{2, 4, 3}}, AxisAttribute{1}, -2, 2},
      {Op::softmax, {{3, 4}}, AxisAttribute{1}, -2, 2},
      {Op::log_softmax, {{2, 4, 3}}, AxisAttribute{1}, -2, 2},
      {Op::select, {{3, 4}, {3, 4}, {3, 4}}, {}},
      {Op::select, {{2, 1, 3}, {4, 1}, {}}, {}},
      {Op::top_index, {{2, 5, 3}}, AxisExtent{1, 3}},
      {Op::top_index, {{4}}, AxisExtent{0, 1}},
      {Op::take, {{2, 5, 3}, {2, 4, 3}}, AxisAttribute{1}, 0, 5},
      {Op::put_add, {{2, 4, 3}, {2, 4, 3}}, AxisExtent{1, 5}, 0, 5},
      {Op::tree_ensemble, {{3, 2}}, small_trees()},
      {Op::relu_mean, {{3, 7}, {3, 7}}, {}, 0.3F, 3},
      {Op::relu_variance, {{3, 7}, {3, 7}}, {}, 0.3F, 3},
      {Op::normal_cdf, {{3, 7}, {3, 7}}, {}, 0.3F, 3},
      {Op::normal_density, {{3, 7}, {3, 7}}, {}, 0.3F, 3},
  };
}

inline const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = [] {
    std::vector<OpCase> cases;
    for (const auto part : {products_and_convolutions, pools, grids, elementwise_operators, moves_and_choices}) {
      for (OpCase& each : part()) cases.push_back(std::move(each));
    }
    return cases;
  }();
  return all;
}

/// Which derivatives of an operator with respect to its operands are nonzero, away from kinks.
enum class Smoothness {
  flat,    ///< the first derivative is zero
  linear,  ///< the second derivative is zero, the first is not
  curved,  ///< the second derivative exists and is not zero
};

/// Every operator that has operands is marked here, and the tests check the mark: a curved operator must have a nonzero second
/// derivative, so that the comparison with finite differences does not compare zeros.
inline const std::map<Op, Smoothness>& smoothness() {
  using enum Smoothness;
  static const std::map<Op, Smoothness> marks = {
      {Op::matmul, curved},
      {Op::conv, curved},
      {Op::conv_transpose, curved},
      {Op::conv_filter_grad, curved},
      {Op::max_pool, linear},
      {Op::max_scatter, linear},
      {Op::max_gather, linear},
      {Op::sum_pool, linear},
      {Op::sum_unpool, linear},
      {Op::grid_sample, curved},
      {Op::grid_sample_transpose, curved},
      {Op::negate, linear},
      {Op::absolute, linear},
      {Op::sign, flat},
      {Op::step, flat},
      {Op::relu, linear},
      {Op::exp, curved},
      {Op::log, curved},
      {Op::sqrt, curved},
      {Op::reciprocal, curved},
      {Op::sigmoid, curved},
      {Op::tanh, curved},
      {Op::erf, curved},
      {Op::softplus, curved},
      {Op::sine, curved},
      {Op::cosine, curved},
      {Op::floor, flat},
      {Op::round, flat},
      {Op::add, linear},
      {Op::subtract, linear},
      {Op::multiply, curved},
      {Op::divide, curved},
      {Op::maximum, linear},
      {Op::minimum, linear},
      {Op::power, curved},
      {Op::greater_equal, flat},
      {Op::less, flat},
      {Op::reduce_sum, linear},
      {Op::broadcast, linear},
      {Op::reshape, linear},
      {Op::transpose, linear},
      {Op::slice, linear},
      {Op::pad, linear},
      {Op::concat, linear},
      {Op::gather, linear},
      {Op::scatter_add, linear},
      {Op::softmax, curved},
      {Op::log_softmax, curved},
      {Op::select, linear},
      {Op::top_index, flat},
      {Op::take, linear},
      {Op::put_add, linear},
      {Op::tree_ensemble, flat},
      {Op::relu_mean, curved},
      {Op::relu_variance, curved},
      {Op::normal_cdf, curved},
      {Op::normal_density, curved},
  };
  return marks;
}

}  // namespace probust::test
