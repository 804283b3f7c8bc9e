// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "datasets/fetch/catalogue.h"
#include "probust/base/stop.h"

namespace probust::datasets {

/// Whether the file at `path` exists and has the published size and checksums. Throws Error{interrupted}, and Error{unreadable}
/// if checksums cannot be computed.
bool is_as_published(const std::string& path, const CachedFile& file, const StopToken* stop = nullptr);

/// The files of a folder from which one file of the cache is made.
struct Supply {
  std::vector<std::string> paths;  ///< one after the other
  bool verified = true;            ///< whether they equal the published ones
};

struct LocalSupply {
  std::map<std::string, Supply> files;  ///< by name in the cache
  std::string archive;                  ///< archive that contains all of them; empty: none
};

/// Finds the files in the folder, or in its subfolders to a depth of four: those that equal the published ones or, with
/// `unverified`, others with such names. Only the end of a name matters, so any prefix is allowed:
/// "mnist-test-images-idx3-ubyte.gz" could be MNIST's t10k-images-idx3-ubyte.gz, but not that of Fashion-MNIST. Throws Error:
/// unreadable (the folder or a file is missing; a file differs from the published one; several match), interrupted.
LocalSupply search_folder(const std::string& folder, const Published& dataset, const std::vector<CachedFile>& files,
                          bool unverified, const StopToken* stop = nullptr);

}  // namespace probust::datasets
