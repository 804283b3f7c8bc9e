// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// Parses "0..3,7" or "!4". Throws Error{usage} with `where`.
Columns parse_columns(const std::string& text, const std::string& where);

}  // namespace probust
