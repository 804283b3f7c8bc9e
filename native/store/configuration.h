// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace probust::store {

/// The settings that determine the rows of a run, as pairs of name and value: {"estimator", "mc:100"}, {"seed", "0"}.
using Configuration = std::vector<std::pair<std::string, std::string>>;

/// The value of an entry; "" if it is missing.
std::string value_of(const Configuration& configuration, const std::string& name);

/// Whether a run can be extended by changing this entry. This is true of "noise", "estimator" and "limit".
bool extensible(const std::string& entry);

/// If the configurations differ, throws Error{conflict} about the output `path` that names the first difference. If
/// `extending`, extensible entries may differ.
void require_same(const std::string& path, const Configuration& now, const Configuration& before, bool extending = false);

/// A checksum such as "crc32 1a2b3c4d, 5120 bytes", which shows whether a file has changed. For a folder, it shows whether the
/// names or sizes of the files in it have changed. Throws Error{unreadable}.
std::string checksum(const std::string& path);

}  // namespace probust::store
