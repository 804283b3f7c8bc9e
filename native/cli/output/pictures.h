// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/gallery.h"
#include "store/run_file.h"

namespace probust::cli {

/// Reads the points of a run at positions `which` again, from `data` or, if that is empty, from the file that the run used,
/// with the run's data options. The file must be unchanged. Does not throw: if points cannot be read, the result contains the
/// reason.
report::Pictures pictures_of(const store::Configuration& configuration, const store::Configuration& information,
                             const std::string& data, std::span<const std::int64_t> which);

}  // namespace probust::cli
