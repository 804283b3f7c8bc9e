// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace probust {

/// The path of the shared library or program `name` that belongs to this program or library: in the folder that the environment
/// variable PROBUST_MODULES names, in the folder of the program or library, where a build leaves it, or in the folder for modules
/// of an installation. Empty if it is in none.
std::filesystem::path find_module(const std::string& name);

}  // namespace probust
