// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "datasets/bytes.h"
#include "probust/base/stop.h"

namespace probust::datasets {

/// Functions that are called for each regular file of an archive, in order.
struct TarReader {
  /// Whether to read a file, given its name without folders and its size.
  std::function<bool(const std::string& name, std::uint64_t bytes)> wants;
  /// Receives the contents of a file.
  std::function<void(const std::string& name, Buffer contents)> take;
};

/// Reads a .tar.gz file (POSIX ustar). Only one of the archived files is in memory at a time. Throws Error{unreadable} if the
/// archive is truncated or damaged, Error{interrupted}, and the errors of `reader`.
void read_tar_gz(const std::string& path, const TarReader& reader, const StopToken* stop = nullptr);

}  // namespace probust::datasets
