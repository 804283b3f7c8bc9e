// SPDX-License-Identifier: MIT
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

struct Entry {
  std::string_view name;
  std::shared_ptr<const NoiseShape> (*shape)();
};

// The one list of noise models. To add one: its file beside this one, and its line here.
constexpr Entry kModels[] = {
    {"gaussian", isotropic_gaussian},
};

}  // namespace

std::string Noise::text() const { return shape->name() + ":" + shortest_text(scale); }

Noise parse_noise(const std::string& text) {
  const std::size_t colon = text.find(':');
  for (const Entry& entry : kModels) {
    if (text.substr(0, colon) != entry.name) continue;
    const auto scale = colon == std::string::npos ? std::nullopt : parse_double(text.substr(colon + 1));
    if (!scale || !std::isfinite(*scale) || *scale <= 0) {
      throw Error{ErrorCode::usage, "noise '" + text + "'", "the scale is not a positive number",
                  "write for example gaussian:0.1"};
    }
    return {entry.shape(), *scale};
  }
  throw Error{ErrorCode::usage, "noise '" + text + "'", "is not a known noise model", "write for example gaussian:0.1"};
}

}  // namespace probust
