// SPDX-License-Identifier: MIT
#include <utility>

#include "probust/exec/cpu/kernel.h"
#include "probust/ops/op.h"

namespace probust::cpu {

Kernel make_reference(const Graph&, const Node& node) {
  return [&definition = definition(node.op), attributes = node.attributes](const Call& call) {
    std::vector<Tensor> operands;
    std::vector<const Tensor*> pointers;
    operands.reserve(call.in.size());
    pointers.reserve(call.in.size());
    for (const Operand& operand : call.in) operands.emplace_back(*operand.shape);
    for (const Tensor& operand : operands) pointers.push_back(&operand);
    Tensor y(*call.shape);
    for (std::int64_t lane = 0; lane < call.lanes; ++lane) {
      call.stop_if_asked();
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::int64_t own = call.lanes_of(i);
        for (std::int64_t e = 0; e < operands[i].size(); ++e) operands[i].data[e] = call.in[i].data[e * own + lane % own];
      }
      definition.eval(attributes, pointers, y);
      for (std::int64_t e = 0; e < y.size(); ++e) call.out[e * call.lanes + lane] = y.data[e];
    }
  };
}

namespace {

// The only list of CPU kernels besides element-wise functions and moves.
constexpr std::pair<Op, MakeKernel> kKernels[] = {
    {Op::matmul, make_matmul},
    {Op::conv, make_variable_conv},
    {Op::conv_transpose, make_variable_conv},
    {Op::conv_filter_grad, make_variable_conv},
    {Op::max_pool, make_max_pool},
    {Op::max_scatter, make_max_scatter},
    {Op::max_gather, make_max_gather},
    {Op::sum_pool, make_sum_pool},
    {Op::sum_unpool, make_sum_unpool},
    {Op::grid_sample, make_grid_sample},
    {Op::grid_sample_transpose, make_grid_sample},
    {Op::reduce_sum, make_reduce_sum},
    {Op::scatter_add, make_reduce_sum},
    {Op::broadcast, make_broadcast},
    {Op::concat, make_concat},
    {Op::softmax, make_softmax},
    {Op::select, make_select},
    {Op::relu_mean, make_gaussian},
    {Op::relu_variance, make_gaussian},
    {Op::normal_cdf, make_gaussian},
    {Op::normal_density, make_gaussian},
};

}  // namespace

KernelEntry kernel_entry(Op op) {
  const OpDefinition& its = definition(op);
  if (its.max_inputs == 0) return {};
  if (its.traits.unary != nullptr) return {make_unary, true};
  if (its.traits.binary != nullptr) return {make_binary, true};
  if (const MakeKernel make = function_for(kKernels, op)) return {make};
  return {its.traits.moves ? make_moves : make_reference};
}

ValueId constant_factor(const Graph& graph, const Node& node) {
  if (node.op == Op::matmul) return constant_factor_of_matmul(graph, node);
  const bool convolution = node.op == Op::conv || node.op == Op::conv_transpose;
  return convolution && graph[node.inputs[1]].op == Op::constant ? node.inputs[1] : kNoValue;
}

bool can_add_bias(const Graph& graph, const Node& product) {
  return product.op == Op::conv || (product.op == Op::matmul && can_add_bias_to_matmul(graph, product));
}

Product make_product(const Graph& graph, const Node& node, std::vector<float> bias) {
  return node.op == Op::matmul ? make_constant_matmul(graph, node, std::move(bias))
                               : make_constant_conv(graph, node, std::move(bias));
}

bool has_fast_kernel(Op op) {
  if (op == Op::conv || op == Op::conv_transpose) return true;
  const MakeKernel make = kernel_entry(op).make;
  return make != nullptr && make != make_reference;
}

}  // namespace probust::cpu
