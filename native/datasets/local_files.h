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

/// The files of a folder that are joined to form one file in the cache.
struct Supply {
  std::vector<std::string> paths;  ///< in the order in which they are joined
  bool verified = true;            ///< whether the files are identical to the published ones
};

struct LocalSupply {
  std::map<std::string, Supply> files;  ///< by name in the cache
  std::string archive;                  ///< path of the archive that contains all files; empty if there is none
};

/// Finds the data set's files in the folder, or in its subfolders to a depth of four: those that are identical to the published
/// ones or, if `unverified`, others with similar names. A name may have any prefix: "mnist-test-images-idx3-ubyte.gz" could be
/// MNIST's t10k-images-idx3-ubyte.gz, but not the file of that name in Fashion-MNIST. Throws Error: unreadable (the folder or a
/// file is missing; a file differs from the published one; several files match), interrupted.
LocalSupply search_folder(const std::string& folder, const Published& dataset, const std::vector<CachedFile>& files,
                          bool unverified, const StopToken* stop = nullptr);

}  // namespace probust::datasets
