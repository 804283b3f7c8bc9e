// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace probust {

/// Returns the bytes of a weight file, given its location relative to the model. The bytes must stay valid until the import
/// ends. Throws Error if there is no such file.
using ExternalFiles = std::function<std::span<const std::byte>(const std::string& location)>;

}  // namespace probust
