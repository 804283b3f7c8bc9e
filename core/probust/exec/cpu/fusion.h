// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// `graph` with all values that depend on the seed moved to the end, so that the masks of rectifiers, for example, are computed
/// before the backward products that use them. Inputs keep their order.
Graph seeded_last(const Graph& graph);

/// The work that the kernel of a product with a constant does after the product, and the nodes that it replaces.
struct Fusion {
  std::vector<float> bias;     ///< per channel, or empty; the sums of the product start from it
  std::vector<Fused> fused;    ///< in the order in which they are applied
  std::vector<ValueId> extra;  ///< operands of `fused`, after the product's own
  std::vector<ValueId> nodes;  ///< the nodes replaced, in order
};

/// One entry per node; empty for nodes that are not products with a constant.
std::vector<Fusion> find_fusions(const Graph& graph);

/// Calls use(f) with the function f(y, x) of a fused operation. The maximum and minimum are NaN if either operand is NaN, as in
/// elementwise.cpp.
template <class Use>
auto with_fused_function(Op op, const Use& use) {
  using namespace Eigen;
  switch (op) {
    case Op::add:
      return use(internal::scalar_sum_op<float, float>());
    case Op::multiply:
      return use(internal::scalar_product_op<float, float>());
    case Op::maximum:
      return use(internal::scalar_max_op<float, float, PropagateNaN>());
    default:
      return use(internal::scalar_min_op<float, float, PropagateNaN>());
  }
}

/// Lanes of an element that are finished together in registers.
struct LaneGroup {
  std::int64_t lane = 0, of_example = 0;  ///< the first lane, and the example it belongs to
  LaneGroup(const Call& call, std::int64_t first) : lane(first), of_example(first % call.batch.examples) {}

  /// Whether `count` lanes of the output read, from each operand, consecutive lanes or a single lane.
  bool together(const Call& call, std::int64_t count) const {
    return of_example + count <= call.batch.examples || call.batch.examples == 1 || !has_example_operand(call);
  }

 private:
  static bool has_example_operand(const Call& call) {
    return std::any_of(call.fused.begin(), call.fused.end(), [&](const Fused& stage) {
      return stage.op != Op::relu && call.in[stage.operand].extent == Extent::example && call.lanes > call.batch.examples;
    });
  }
};

/// Call::finish for values in registers: consecutive lanes of one element of the output for which together() is true.
template <class Values>
void finish_values(const Call& call, std::int64_t element, const LaneGroup& group, Values& y) {
  for (const Fused& stage : call.fused) {
    if (stage.op == Op::relu) {
      y = y.max(0.0F);
      continue;
    }
    const Operand& operand = call.in[stage.operand];
    const std::int64_t own = call.lanes_of(stage.operand);
    const std::int64_t at = operand.extent == Extent::constant ? element / stage.inner % stage.size : element;
    const float* const from = operand.data + at * own + (own == 1 ? 0 : own == call.lanes ? group.lane : group.of_example);
    const Values x = own == 1 ? Values(Values::Constant(*from)) : Values(Eigen::Map<const Values>(from));
    with_fused_function(stage.op, [&](auto f) { y = y.binaryExpr(x, f); });
  }
}

}  // namespace probust::cpu
