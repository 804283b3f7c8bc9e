// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace probust {

/// The path of the shared library or program `name`, which belongs to this program or library. The function searches the folder
/// that the environment variable PROBUST_MODULES names, the folder of this program or library (where a build puts it), and the
/// folder for installed modules. Empty if the file is in none of them.
std::filesystem::path find_module(const std::string& name);

}  // namespace probust
