// SPDX-License-Identifier: MIT
#pragma once

namespace probust {

/// The order that a model's input wants its pixels in. Data are stored channel-first.
enum class Layout {
  automatic,  ///< told from the model's input shape; nchw where that does not tell
  nchw,
  nhwc,
  whcn,  ///< column-major, as MATLAB stores images
};

}  // namespace probust
