// SPDX-License-Identifier: MIT
// The analyses of rows (probust/analysis), for JavaScript.
#pragma once

#include <string>

#include "convert.h"

namespace probust::wasm {

/// Computes "summary", "bias", "rank", "agree", "curve" or "distance" of `arguments.rows`. Throws Error{usage}.
val analyse(const std::string& operation, const CallArguments& arguments);

}  // namespace probust::wasm
