// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace probust::report {

/// The style sheet of every page. Its colours are those of the explorer, light or dark as the reader's system is.
extern const std::string_view kStyle;

}  // namespace probust::report
