// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace probust {

/// The path of the shared library `name` that belongs to this program: in the program's own folder, where a build leaves it, or
/// in the folder for modules of an installation. Empty if it is in neither.
std::filesystem::path find_module(const std::string& name);

}  // namespace probust
