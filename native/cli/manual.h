// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace probust::cli {

/// The formats of the manual: "man", "markdown", and shell completions for "bash", "fish" and "zsh".
const std::vector<std::string>& manual_formats();

/// All commands and options of `app` in one of these formats.
std::string manual(const CLI::App& app, const std::string& format);

}  // namespace probust::cli
