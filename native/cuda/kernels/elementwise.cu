// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "cuda/kernels.h"
#include "cuda/launch.h"

namespace probust::cuda {
namespace {

// Runs any chain, one step after the other.
struct RunChain {
  Chain chain;
  Output to;

  PROBUST_HOST_DEVICE float read(std::int8_t operand, float so_far, std::int64_t lane, std::int64_t e) const {
    if (operand == Chain::kSoFar) return so_far;
    const Chain::Read& read = chain.operands[operand];
    const float value = read.from.lane(lane)[read.source != nullptr ? read.source[e] : read.period > 0 ? e % read.period : e];
    return read.positive ? apply(Op::step, value, 0, 0) : value;
  }

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    float value = 0;
    for (int i = 0; i < chain.step_count; ++i) {
      const Chain::Step& step = chain.steps[i];
      value = apply(step.op, read(step.a, value, lane, e), read(step.b, value, lane, e), read(step.c, value, lane, e),
                    step.parameter);
    }
    to.lane(lane).set(e, value);
  }
};

// A chain as it occurs in convolutional networks and their derivatives: a sum of operands, optionally rectified, and optionally
// multiplied by a mask.
struct MaskedSum {
  static constexpr int kTerms = 4;
  Chain::Read terms[kTerms];
  int count = 0;
  bool rectified = false, masked = false;
  Chain::Read mask;
};

// The operand that a step combines with the result of the previous steps; kSoFar if the step has a different form.
std::int8_t other_operand(const Chain::Step& step) {
  if (step.a == Chain::kSoFar && step.b != Chain::kSoFar) return step.b;
  if (step.b == Chain::kSoFar && step.a != Chain::kSoFar) return step.a;
  return Chain::kSoFar;
}

std::optional<MaskedSum> as_masked_sum(const Chain& chain) {
  MaskedSum sum;
  const auto add = [&](std::int8_t operand) {
    if (sum.count == MaskedSum::kTerms || sum.rectified || sum.masked || chain.operands[operand].positive) return false;
    sum.terms[sum.count++] = chain.operands[operand];
    return true;
  };
  const auto multiply = [&](std::int8_t operand) {
    if (sum.masked || !chain.operands[operand].positive) return false;
    sum.mask = chain.operands[operand];
    sum.masked = true;
    return true;
  };
  for (int i = 0; i < chain.step_count; ++i) {
    const Chain::Step& step = chain.steps[i];
    std::int8_t other = i == 0 ? step.b : other_operand(step);
    bool known = false;
    if (step.op == Op::add) {
      known = other != Chain::kSoFar && (i > 0 || add(step.a)) && add(other);
    } else if (step.op == Op::multiply) {
      if (i == 0 && chain.operands[step.a].positive) {
        known = add(step.b) && multiply(step.a);
      } else {
        known = other != Chain::kSoFar && (i > 0 || add(step.a)) && multiply(other);
      }
    } else if (step.op == Op::relu) {
      known = !sum.rectified && !sum.masked && (i > 0 || add(step.a));
      sum.rectified = true;
    }
    if (!known) return std::nullopt;
  }
  return sum;
}

// Evaluates a MaskedSum for four elements at a time.
struct SumFours {
  MaskedSum sum;
  Output to;

  PROBUST_HOST_DEVICE static Four read(const Chain::Read& read, std::int64_t lane, std::int64_t e) {
    return four(read.from.lane(lane),
                read.period > 0 ? static_cast<std::uint32_t>(e) % static_cast<std::uint32_t>(read.period) : e);
  }

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t quarter) const {
    const std::int64_t e = 4 * quarter;
    Four value = read(sum.terms[0], lane, e);
    for (int k = 1; k < sum.count; ++k) {
      const Four term = read(sum.terms[k], lane, e);
      for (int j = 0; j < 4; ++j) value.of[j] += term.of[j];
    }
    if (sum.rectified) {
      for (float& one : value.of) one = apply(Op::relu, one, 0, 0);
    }
    if (sum.masked) {
      const Four by = read(sum.mask, lane, e);
      for (int j = 0; j < 4; ++j) value.of[j] *= apply(Op::step, by.of[j], 0, 0);
    }
    set_four(to.lane(lane), e, value);
  }
};

bool fours_align(const void* data, Type type) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(4 * bytes_of(type)) == 0;
}

// Whether any four consecutive elements of a result that begin at a multiple of four read four consecutive and aligned elements
// of the operand.
bool has_fours(const Chain::Read& read) {
  return read.source == nullptr && read.period % 4 == 0 && (read.from.own == 1 || read.from.elements % 4 == 0) &&
         fours_align(read.from.data, read.from.type);
}

bool has_fours(const MaskedSum& sum, const Output& to) {
  return to.elements % 4 == 0 && fours_align(to.data, to.type) &&
         std::all_of(sum.terms, sum.terms + sum.count, [](const auto& t) { return has_fours(t); }) &&
         (!sum.masked || has_fours(sum.mask));
}

std::optional<MaskedSum> sum_of_fours(const Chain& chain, const Output& to) {
  std::optional<MaskedSum> sum = as_masked_sum(chain);
  return sum && has_fours(*sum, to) ? sum : std::nullopt;
}

struct Finish {
  Product product;

  PROBUST_HOST_DEVICE void operator()(std::int64_t matrix, std::int64_t e) const {
    float& c = product.c[matrix * product.stride_c + e];
    if (product.bias != nullptr) c += product.bias[e % product.n];
    if (product.activation == Activation::relu) c = apply(Op::relu, c, 0, 0);
  }
};

}  // namespace

void run(Device& device, const Chain& chain, Output to) {
  const std::optional<MaskedSum> sum = sum_of_fours(chain, to);
  if (!sum) return for_each_element(device, to.lanes, to.elements, RunChain{chain, to});
  for_each_element(device, to.lanes, to.elements / 4, SumFours{*sum, to});
}

bool runs_in_fours(const Chain& chain, const Output& to) { return sum_of_fours(chain, to).has_value(); }

void finish(Device& device, const Product& product) {
  if (product.bias == nullptr && product.activation == Activation::none) return;
  for_each_element(device, product.batch, product.m * product.n, Finish{product});
}

void finish(Device& device, const Convolution& c, std::int64_t images, const void* residual, void* y) {
  const std::int64_t elements = c.elements_written();
  Chain chain;
  const auto place = [&](const void* data, std::int64_t size, std::int64_t own, Type type, std::int64_t period) {
    chain.operands[chain.operand_count] = {{data, size, own, type}, nullptr, period, false};
    return static_cast<std::int8_t>(chain.operand_count++);
  };
  const auto then = [&](Op op, std::int8_t operand) {
    chain.steps[chain.step_count++] = {op, Chain::kSoFar, operand, Chain::kSoFar};
  };
  const std::int8_t first = place(y, elements, images, c.type, 0);
  if (c.bias != nullptr) then(Op::add, place(c.bias, c.out_channels, 1, Type::float32, c.out_channels));
  if (c.has_residual) then(Op::add, place(residual, elements, images, c.type, 0));
  if (c.activation == Activation::relu) then(Op::relu, Chain::kSoFar);
  if (chain.step_count == 0) return;
  chain.steps[0].a = first;
  run(device, chain, {y, elements, images, c.type});
}

}  // namespace probust::cuda
