// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "cli/arguments.h"
#include "cli/run/results.h"
#include "probust/analysis/ranking.h"

namespace probust::cli {

/// Throws Error{usage} if --gallery is given but does not name an .html file. Call this before anything is computed.
void check_gallery(const Arguments& arguments);

/// Writes the images of the ranked points to the file of --gallery, if given. Throws Error: unreadable (there are no images),
/// resources.
void write_gallery(const Arguments& arguments, const RunResults& run, std::span<const Ranking> rankings);

}  // namespace probust::cli
