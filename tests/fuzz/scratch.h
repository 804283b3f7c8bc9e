// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "probust/base/error.h"

// Files for targets whose readers take paths.
namespace probust::fuzz {

/// A folder for this process, in memory if the system supports that.
inline std::filesystem::path scratch_folder() {
  std::error_code problem;
  const std::filesystem::path memory = "/dev/shm";
  const auto base = std::filesystem::is_directory(memory, problem) ? memory : std::filesystem::temp_directory_path();
  const std::filesystem::path folder = base / ("probust-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder;
}

/// Writes the bytes to a file with this name, replacing the previous one. Returns its path.
inline std::string as_file(const std::string& name, const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path folder = scratch_folder();
  const std::string path = (folder / name).string();
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

/// For any input, the body must return a value or one Error of one line. Anything else ends the process, which is a finding.
template <class Body>
void value_or_error(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    if (error.code == ErrorCode::internal || error.message().find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace probust::fuzz
