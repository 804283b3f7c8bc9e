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

// For targets over files: readers take paths.
namespace probust::fuzz {

/// A folder in memory, if the system has one, for one process.
inline std::filesystem::path scratch_folder() {
  std::error_code problem;
  const std::filesystem::path memory = "/dev/shm";
  const auto base = std::filesystem::is_directory(memory, problem) ? memory : std::filesystem::temp_directory_path();
  const std::filesystem::path folder = base / ("probust-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return folder;
}

/// The bytes as a file of this name. It replaces the last one.
inline std::string as_file(const std::string& name, const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path folder = scratch_folder();
  const std::string path = (folder / name).string();
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

/// Whatever the input, there is a value or one Error on one line. Anything else ends the process: a finding.
template <class Body>
void value_or_error(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    if (error.code == ErrorCode::internal || error.message().find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace probust::fuzz
