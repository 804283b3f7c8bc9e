// SPDX-License-Identifier: MIT
#pragma once

namespace probust {

/// The order in which a model's input takes pixels, whichever order the data are stored in.
enum class Layout {
  automatic,  ///< inferred from the shapes of data and input; as stored if that is ambiguous
  nchw,
  nhwc,
  whcn,  ///< column-major, as MATLAB stores images
};

}  // namespace probust
