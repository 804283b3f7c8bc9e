// SPDX-License-Identifier: MIT
//
// Downloads published data sets to the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "datasets/fetch/catalogue.h"
#include "probust/base/stop.h"

namespace probust {

struct FetchOptions {
  std::string from;         ///< the folder to copy from, or the URL of a folder; if empty, the data set's own URLs are used
  std::string cache;        ///< the folder of the cache; if empty, default_cache()
  bool unverified = false;  ///< whether to accept files in the folder `from` that differ from the published ones
};

/// Where a file in the cache comes from. `kept`: it already existed.
enum class Origin { kept, downloaded, copied };

struct FetchedFile {
  std::string path;
  std::uint64_t bytes = 0;
  Origin origin = Origin::kept;
  std::string source;    ///< a URL or path; empty if the file already existed
  bool verified = true;  ///< whether it is identical to the published file
};

struct Fetched {
  std::vector<FetchedFile> files;
  std::string class_names;  ///< path of a file for --classes
};

/// The total number of bytes of the data set: the final value of `done` in fetch().
std::int64_t bytes_to_fetch(const Published& dataset);

/// Completes the data set's folder in the cache. A file that already exists and is identical to the published one is not fetched
/// again. A new file gets its name only when it is complete and its checksum is correct, so an interrupted call leaves no damaged
/// file; the next call fetches that file from its beginning. Downloads with the program curl, and computes checksums with md5sum.
/// `done` counts bytes up to bytes_to_fetch().
///
/// Throws Error: resources (the cache cannot be written, or the disk is full), usage (`unverified` without a folder),
/// unreadable (no connection, no curl, a file is missing or differs from the published one, or the numbers of points and labels
/// differ), conflict (another process fetches this data set), interrupted.
Fetched fetch(const Published& dataset, const FetchOptions& options, std::atomic<std::int64_t>& done,
              const StopToken* stop = nullptr);

}  // namespace probust
