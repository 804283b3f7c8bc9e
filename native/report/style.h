// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace probust::report {

/// The style sheet of every page. Its colours are those of the explorer, light or dark according to the reader's system.
extern const std::string_view kStyle;

}  // namespace probust::report
