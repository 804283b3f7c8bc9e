// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/base/error.h"

namespace probust {

/// The error of a file that could not be opened for writing: Error{resources}, named after the file, which says why. `number` is
/// what errno said.
Error unwritable(const std::string& path, int number);

/// Throws unwritable() if a file cannot be written at `path`. Creates nothing, so a long command can ask before it begins.
void require_writable(const std::string& path);

/// The error of a file that could not be opened for reading: Error{unreadable}, named after the file. `number` is the errno.
Error unopenable(const std::string& path, int number);

}  // namespace probust
