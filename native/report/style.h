// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace probust::report {

/// The style sheet of every page. It has the explorer's colours, light or dark according to the reader's system settings.
extern const std::string_view kStyle;

}  // namespace probust::report
