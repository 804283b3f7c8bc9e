// SPDX-License-Identifier: MIT
#include "modules/find_module.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/auxv.h>
#endif

#include <cstdint>
#include <string>
#include <system_error>

namespace probust {
namespace {

#ifdef __APPLE__
std::filesystem::path running_program() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  std::error_code problem;
  return std::filesystem::canonical(path.c_str(), problem);
}
#else
std::filesystem::path running_program() {
  std::error_code problem;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem) return program;
  // /proc is not mounted, as in a bare chroot: what the kernel was told to start
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  return started == nullptr ? "" : std::filesystem::canonical(started, problem);
}
#endif

// Empty if the program's path is unknown. Never relative: a module must not come from the working directory.
std::filesystem::path folder_of_program() {
  const std::filesystem::path program = running_program();
  return program.is_absolute() ? program.parent_path() : std::filesystem::path();
}

}  // namespace

std::filesystem::path find_module(const std::string& name) {
  const std::filesystem::path folder = folder_of_program();
  if (folder.empty()) return {};
  std::error_code problem;
  for (const std::filesystem::path& candidate : {folder / name, (folder / PROBUST_INSTALLED_MODULES / name).lexically_normal()}) {
    if (std::filesystem::exists(candidate, problem)) return candidate;
  }
  return {};
}

}  // namespace probust
