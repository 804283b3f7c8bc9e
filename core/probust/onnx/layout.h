// SPDX-License-Identifier: MIT
#pragma once

namespace probust {

/// The order in which a model's input expects pixels, independent of the order in which the data are stored.
enum class Layout {
  automatic,  ///< inferred from the shapes of the data and the input; if these are ambiguous, as stored
  nchw,
  nhwc,
  whcn,  ///< column-major, as MATLAB stores images
};

}  // namespace probust
