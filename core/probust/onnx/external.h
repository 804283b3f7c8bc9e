// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace probust {

/// Gives the bytes of a file that a model keeps weights in, by its location beside the model; they must stay until import ends.
/// Throws Error where there is no such file.
using ExternalFiles = std::function<std::span<const std::byte>(const std::string& location)>;

}  // namespace probust
