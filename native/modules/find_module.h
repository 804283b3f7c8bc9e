// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace probust {

/// The path of the shared library or program `name` that belongs to this program or library. It is searched for in the folder
/// of the environment variable PROBUST_MODULES, next to the program or library, where a build puts it, and in an installation's
/// folder for modules. Empty if it is in none of them.
std::filesystem::path find_module(const std::string& name);

}  // namespace probust
