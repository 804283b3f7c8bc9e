// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/base/error.h"

namespace probust {

/// The error for a file that could not be opened for writing: Error{resources} about the file, with the reason. `number` is
/// errno.
Error unwritable(const std::string& path, int number);

/// Throws unwritable() if a file cannot be written at `path`. Creates nothing, so a long command can check before it starts.
void require_writable(const std::string& path);

/// The error for a file that could not be opened for reading: Error{unreadable} about the file. `number` is errno.
Error unopenable(const std::string& path, int number);

}  // namespace probust
