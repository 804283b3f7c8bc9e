// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

// Test data that is not part of the project: real models, data sets and reference values, in the folder $PROBUST_SHARED.
namespace probust::test {

inline std::filesystem::path shared_folder() {
  const char* named = std::getenv("PROBUST_SHARED");
  return named != nullptr ? std::filesystem::path(named) : std::filesystem::path(PROBUST_SOURCE_DIR) / ".." / "shared";
}

inline bool has_shared(const std::string& path) { return std::filesystem::exists(shared_folder() / path); }

}  // namespace probust::test

/// Skips a test with a message if a file or folder of the shared test data is missing.
#define PROBUST_NEEDS_SHARED(path) \
  if (!probust::test::has_shared(path)) GTEST_SKIP() << "shared test data '" << (path) << "' are not there; set PROBUST_SHARED"
