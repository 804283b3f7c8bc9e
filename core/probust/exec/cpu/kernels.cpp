// SPDX-License-Identifier: MIT
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

// The only list of CPU kernels: operator, kernel, whether it may overwrite its first operand. Operators that are not here run
// by their reference evaluation.
KernelEntry kernel_entry(Op op) {
  switch (op) {
    case Op::input:
    case Op::constant:
      return {};
    case Op::matmul:
      return {make_matmul};
    case Op::conv:
    case Op::conv_transpose:
    case Op::conv_filter_grad:
      return {make_variable_conv};
    case Op::max_pool:
      return {make_max_pool};
    case Op::max_scatter:
      return {make_max_scatter};
    case Op::max_gather:
      return {make_max_gather};
    case Op::sum_pool:
      return {make_sum_pool};
    case Op::sum_unpool:
      return {make_sum_unpool};
    case Op::negate:
    case Op::absolute:
    case Op::sign:
    case Op::step:
    case Op::relu:
    case Op::exp:
    case Op::log:
    case Op::sqrt:
    case Op::reciprocal:
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::softplus:
    case Op::sine:
    case Op::cosine:
    case Op::floor:
    case Op::round:
      return {make_unary, true};
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::maximum:
    case Op::minimum:
    case Op::power:
    case Op::greater_equal:
    case Op::less:
      return {make_binary, true};
    case Op::reduce_sum:
    case Op::scatter_add:
      return {make_reduce_sum};
    case Op::broadcast:
      return {make_broadcast};
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::pad:
    case Op::gather:
      return {make_moves};
    case Op::concat:
      return {make_concat};
    case Op::softmax:
      return {make_softmax};
    case Op::select:
      return {make_select};
    case Op::relu_mean:
    case Op::relu_variance:
    case Op::normal_cdf:
    case Op::normal_density:
      return {make_gaussian};
    default:
      return {make_reference};
  }
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
  return op == Op::conv || op == Op::conv_transpose ||
         (kernel_entry(op).make != nullptr && kernel_entry(op).make != make_reference);
}

}  // namespace probust::cpu
