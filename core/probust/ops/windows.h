// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "probust/graph/attributes.h"

namespace probust::ops {

/// Calls visit(image, tap, output) for every tap of every window that lies inside the image, window by window. The arguments
/// are row-major offsets into one channel of the image, into the kernel, and into one channel of the output.
void for_each_tap(const Window& window, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

}  // namespace probust::ops
