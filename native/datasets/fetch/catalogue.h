// SPDX-License-Identifier: MIT
//
// Published data sets: their files, and the location of copies on this machine. datasets/fetch/fetch.h downloads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"

namespace probust {

/// A file as its authors publish it.
struct PublishedFile {
  std::string name;
  std::string md5;  ///< 32 hexadecimal digits
  std::uint64_t bytes = 0;
  std::string copy_md5{};        ///< MD5 sum of a slightly different copy in common collections; empty if there is none
  std::uint64_t copy_bytes = 0;  ///< size of that copy
};

/// A file in the cache. It consists of published files, one after another.
struct CachedFile {
  std::string name;
  std::vector<PublishedFile> parts;

  std::uint64_t bytes() const;  ///< the total size of all parts as published
};

/// A published data set.
struct Published {
  std::string name;                      ///< on the command line and as the name of the cache folder, such as "fashion-mnist"
  std::string summary;                   ///< a one-line description
  std::vector<std::string> urls;         ///< folders with the files, each ending in '/'; the first one that works is used
  std::optional<PublishedFile> archive;  ///< a .tar.gz that contains all parts; if empty, each part is a separate file
  std::vector<CachedFile> files;
  std::string train, test;  ///< the files with the points; test is empty if the set is not divided
  DatasetOptions options;   ///< options for read_dataset
  std::vector<std::string> classes;
};

/// The data sets that can be downloaded: mnist, fashion-mnist, cifar10, cifar100 and ionosphere.
const std::vector<Published>& published_datasets();

/// The data set of this name. If there is none, throws Error{usage} that lists the names.
const Published& published_dataset(std::string_view name);

/// $PROBUST_CACHE, or $XDG_CACHE_HOME/probust, or ~/.cache/probust. Throws Error{usage} if none of the variables is set.
std::string default_cache();

/// The location of a data set on this machine.
struct Located {
  std::string train, test;  ///< paths for read_dataset; test is empty if the set is not divided
  DatasetOptions options;
  std::vector<std::string> classes;
  bool whole = false;  ///< whether all files have their published sizes; false for unverified files
};

/// The data set's files in the folder `cache` (in default_cache() if `cache` is ""); empty if a file is missing. Compares only
/// names and sizes; fetch() also compares checksums. Throws Error{usage} if there is no data set of this name.
std::optional<Located> locate(std::string_view name, const std::string& cache = "");

}  // namespace probust
