// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/run/past_run.h"
#include "report/gallery.h"

namespace probust::cli {

/// The pictures to draw for a run.
struct WantedPictures {
  std::vector<const Row*> rows{};           ///< the rows whose points to draw, each with a wrong version under the row's noise
  std::int64_t samples = 0;                 ///< number of samples among which to search for a wrong version; 0 for none
  std::int64_t sheet_point = 0;             ///< the position in the data of the point that the sample sheet shows
  std::vector<std::string> sheet_noises{};  ///< the noises on the sheet, as in rows; if empty, no sheet is drawn
  std::map<std::string, std::string> noises{};  ///< the full text of each noise whose text in rows is shortened
  std::vector<std::string> class_names{};       ///< may be empty
};

/// Draws points of a run and noisy samples of them, all with the same brightness scale, so that they can be compared. Does not
/// throw: if a file is missing or has changed, the result contains the reason.
report::Pictures pictures_of(const PastRun& run, const WantedPictures& wanted);

}  // namespace probust::cli
