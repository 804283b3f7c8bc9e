// SPDX-License-Identifier: MIT
//
// Writes a report of a run as one HTML page that needs no other file.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probust/analysis/results.h"
#include "report/gallery.h"

namespace probust::report {

/// Pairs of name and value, as in store::RunFile.
using Entries = std::vector<std::pair<std::string, std::string>>;

/// The value of an entry; empty if there is no such entry.
std::string entry_of(const Entries& entries, const std::string& name);

/// The run that a report describes.
struct Run {
  std::string file;  ///< the name of its file
  Results results;
  Entries configuration, information;
  std::vector<std::string> class_names;  ///< may be empty
};

/// The rows of the points whose pictures a report shows, one for each point and noise.
std::vector<const Row*> pictured_rows(const Run& run);

/// The noises, as in rows, of which a report shows samples: all noises of a run that has perturbations of images; otherwise
/// none.
std::vector<std::string> noises_on_sheet(const Run& run);

/// The point whose noisy samples the report shows: the first one that all models classify correctly or, if there is none, the
/// first point.
std::int64_t point_on_sheet(const Run& run);

/// Removes the folders from the paths in noise models: in all rows, "gaussian:cov=/data/cov.npy" becomes
/// "gaussian:cov=cov.npy", unless two noise models would then have the same text. Returns the full text of each noise model,
/// by its text in the rows.
std::map<std::string, std::string> shorten_noises(Results& results);

/// The report. If `other`, a second run on the same points, is given, the report starts with a comparison of the two. Throws
/// Error{unreadable} about "the run" if the points differ (analysis/comparison.h).
std::string page(const Run& run, const Pictures& pictures, const Run* other = nullptr);

}  // namespace probust::report
