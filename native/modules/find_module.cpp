// SPDX-License-Identifier: MIT
#include "modules/find_module.h"

#include <dlfcn.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/auxv.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

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
  // If /proc is not mounted, as in a minimal chroot, uses the path by which the program was started.
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  return started == nullptr ? "" : std::filesystem::canonical(started, problem);
}
#endif

// The path of the program, or of the shared library that contains this code.
std::filesystem::path running_library() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&running_library), &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code problem;
  return std::filesystem::canonical(found.dli_fname, problem);
}

}  // namespace

std::filesystem::path find_module(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const char* const given = std::getenv("PROBUST_MODULES")) folders.emplace_back(given);
  if (const std::filesystem::path folder = running_program().parent_path(); folder.is_absolute()) {
    folders.push_back(folder);
    folders.push_back((folder / PROBUST_INSTALLED_MODULES).lexically_normal());
  }
  if (const std::filesystem::path folder = running_library().parent_path(); folder.is_absolute()) {
    folders.push_back(folder);
    folders.push_back(folder / "probust");
  }
  folders.emplace_back(PROBUST_MODULES_FOLDER);
  std::error_code problem;
  // Skips relative paths, so that no module is loaded from the working directory.
  for (const std::filesystem::path& folder : folders) {
    if (folder.is_absolute() && std::filesystem::exists(folder / name, problem)) return folder / name;
  }
  return {};
}

}  // namespace probust
