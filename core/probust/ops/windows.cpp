// SPDX-License-Identifier: MIT
#include "probust/ops/windows.h"

namespace probust::ops {

void for_each_tap(const Window& window, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  const Shape output = window.output();
  const std::size_t rank = output.size();
  const std::int64_t cells = element_count(output), taps = element_count(window.kernel);
  for (std::int64_t q = 0; q < cells; ++q) {
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t image = 0, stride = 1, rest_q = q, rest_t = t;
      bool inside = true;
      for (std::size_t i = rank; i-- > 0;) {
        const std::int64_t at =
            rest_q % output[i] * window.stride[i] - window.pad_low[i] + rest_t % window.kernel[i] * window.dilation[i];
        rest_q /= output[i];
        rest_t /= window.kernel[i];
        inside = inside && at >= 0 && at < window.image[i];
        image += at * stride;
        stride *= window.image[i];
      }
      if (inside) visit(image, t, q);
    }
  }
}

}  // namespace probust::ops
