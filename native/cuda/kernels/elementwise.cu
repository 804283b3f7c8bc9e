// SPDX-License-Identifier: MIT
#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

struct RunChain {
  Chain chain;
  Output to;

  PROBUST_EVERYWHERE float read(std::int8_t operand, float so_far, std::int64_t lane, std::int64_t e) const {
    if (operand == Chain::kSoFar) return so_far;
    const Chain::Read& read = chain.operands[operand];
    return read.from.lane(lane)[read.source == nullptr ? e : read.source[e]];
  }

  PROBUST_EVERYWHERE void operator()(std::int64_t lane, std::int64_t e) const {
    float value = 0;
    for (int i = 0; i < chain.step_count; ++i) {
      const Chain::Step& step = chain.steps[i];
      value = apply(step.op, read(step.a, value, lane, e), read(step.b, value, lane, e), read(step.c, value, lane, e));
    }
    to.lane(lane)[e] = value;
  }
};

struct Finish {
  Product product;

  PROBUST_EVERYWHERE void operator()(std::int64_t matrix, std::int64_t e) const {
    float& c = product.c[matrix * product.stride_c + e];
    if (product.bias != nullptr) c += product.bias[e % product.n];
    if (product.activation == Activation::relu) c = apply(Op::relu, c, 0, 0);
  }
};

}  // namespace

void run(Device& device, const Chain& chain, Output to) { for_each_element(device, to.lanes, to.elements, RunChain{chain, to}); }

void finish(Device& device, const Product& product) {
  if (product.bias == nullptr && product.activation == Activation::none) return;
  for_each_element(device, product.batch, product.m * product.n, Finish{product});
}

}  // namespace probust::cuda
