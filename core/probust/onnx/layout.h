// SPDX-License-Identifier: MIT
#pragma once

namespace probust {

/// The order in which a model's input takes pixels. Data are stored channel-first.
enum class Layout {
  automatic,  ///< inferred from the model's input shape; nchw if that is ambiguous
  nchw,
  nhwc,
  whcn,  ///< column-major, as MATLAB stores images
};

}  // namespace probust
