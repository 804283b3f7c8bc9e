// SPDX-License-Identifier: MIT
// Changes of light: the same function of every pixel, with white at 1.
#include <cmath>
#include <numbers>

#include "probust/ops/build.h"
#include "probust/perturb/family.h"

namespace probust::perturb {
namespace {

ValueId everywhere(const MapInputs& in, ValueId scalar) { return build::broadcast(in.g, scalar, in.image.planes()); }

ValueId brighter(const MapInputs& in) { return build::add(in.g, in.x, everywhere(in, in.theta[0])); }

// Computes x 2^t.
ValueId exposed(const MapInputs& in) {
  Graph& g = in.g;
  const ValueId factor = append(g, Op::exp, {build::multiply(g, in.theta[0], build::constant(g, std::numbers::ln2_v<float>))});
  return build::multiply(g, in.x, everywhere(in, factor));
}

// Scales the differences from the mean over all channels; the mean does not change.
ValueId contrasted(const MapInputs& in) {
  Graph& g = in.g;
  const ValueId sum = build::reduce_sum(g, in.x, {0, 1, 2});
  const auto share = static_cast<float>(1.0 / static_cast<double>(in.image.elements()));
  const ValueId mean = build::broadcast(g, build::multiply(g, sum, build::constant(g, share)), in.image.planes());
  return build::add(g, mean, build::multiply(g, build::subtract(g, in.x, mean), everywhere(in, in.theta[0])));
}

// x^gamma as exp(gamma log x), so that the derivative with respect to gamma is finite at black; a negative value counts as
// black.
ValueId gamma_corrected(const MapInputs& in) {
  constexpr float kBlack = 1e-12F;
  Graph& g = in.g;
  const ValueId black = build::broadcast(g, build::constant(g, kBlack), in.image.planes());
  const ValueId log = append(g, Op::log, {append(g, Op::maximum, {in.x, black})});
  return append(g, Op::exp, {build::multiply(g, log, everywhere(in, in.theta[0]))});
}

}  // namespace

std::vector<Family> light() {
  return {
      {.name = "brightness",
       .summary = "adds a number to every value",
       .parameters = {{"offset", "", 0}},
       .strengths = {0.05, 0.1, 0.2},
       .map = brighter},
      {.name = "exposure",
       .summary = "multiplies every value by 2^stops",
       .parameters = {{"stops", "stops", 0}},
       .strengths = {0.5, 1, 2},
       .map = exposed},
      {.name = "contrast",
       .summary = "scales the differences from the image's mean",
       .parameters = {{"factor", "", 1, Link::exponential, 0}},
       .strengths = {0.2, 0.4, 0.8},
       .map = contrasted},
      {.name = "gamma",
       .summary = "raises every value to a power",
       .parameters = {{"exponent", "", 1, Link::exponential, 0}},
       .strengths = {0.2, 0.4, 0.8},
       .map = gamma_corrected},
  };
}

}  // namespace probust::perturb
