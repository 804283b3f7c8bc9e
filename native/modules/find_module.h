// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace probust {

/// The path of the shared library or program `name`, which belongs to this program or library. It is searched for in the folder
/// that the environment variable PROBUST_MODULES names, next to this program or library (where a build puts it), and in the
/// folder for installed modules. Empty if it is in none of them.
std::filesystem::path find_module(const std::string& name);

}  // namespace probust
