// SPDX-License-Identifier: MIT
#include "datasets/fetch/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "datasets/fetch/download.h"
#include "datasets/fetch/partial_file.h"
#include "datasets/fetch/program.h"
#include "datasets/fetch/tar.h"
#include "datasets/local_files.h"
#include "datasets/point_source.h"

namespace probust {
namespace {

namespace fs = std::filesystem;
using datasets::Bytes;
using datasets::refuse;

bool is_url(const std::string& text) { return text.find("://") != std::string::npos; }

// The folder of a data set in the cache. Only one process at a time may fill it.
class CacheFolder {
 public:
  explicit CacheFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
      throw Error{ErrorCode::resources, path.string(), "cannot be created: " + error.message(),
                  "choose another folder with " + option("cache")};
    folder_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ >= 0 && flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(folder_);
      throw Error{ErrorCode::conflict, path.string(), "is being fetched by another process", "wait until it has finished"};
    }
  }
  ~CacheFolder() {
    if (folder_ >= 0) close(folder_);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
  int folder_ = -1;
};

// A file that is being written. Its checksum is computed at the same time.
class CheckedFile {
 public:
  explicit CheckedFile(const std::string& path) : file_(path) {}

  void add(Bytes bytes) {
    file_.write(bytes.data(), bytes.size());
    sum_.add(bytes);
    bytes_ += bytes.size();
  }
  std::uint64_t bytes() const { return bytes_; }

  /// How the file differs from the published one; empty if it does not. Must be called only once.
  std::string difference(const PublishedFile& published) {
    const std::string digits = sum_.digits();
    if (bytes_ != published.bytes)
      return "returned " + std::to_string(bytes_) + " bytes instead of " + std::to_string(published.bytes);
    return digits == published.md5 ? "" : "returned a file whose MD5 sum is " + digits + " instead of " + published.md5;
  }

  PartialFile& file() { return file_; }

 private:
  PartialFile file_;
  datasets::Md5 sum_;
  std::uint64_t bytes_ = 0;
};

class Fetch {
 public:
  Fetch(const Published& dataset, const FetchOptions& options, std::atomic<std::int64_t>& done, const StopToken* stop)
      : dataset_(dataset),
        options_(options),
        folder_(fs::path(options.cache.empty() ? default_cache() : options.cache) / dataset.name),
        done_(done),
        stop_(stop) {}

  Fetched run() {
    if (options_.unverified && (options_.from.empty() || is_url(options_.from)))
      throw Error{ErrorCode::usage, option("unverified"), "applies only to files in a folder",
                  "give " + option("from") + " FOLDER"};
    const std::vector<CachedFile> wanted = missing();
    if (!wanted.empty() && !options_.from.empty() && !is_url(options_.from)) {
      take_from_folder(wanted);
    } else if (!wanted.empty()) {
      download(wanted);
    }
    return {in_order(), write_class_names()};
  }

 private:
  // The files that are missing or differ from the published ones.
  std::vector<CachedFile> missing() {
    std::vector<CachedFile> wanted;
    for (const CachedFile& file : dataset_.files) {
      if (datasets::is_as_published(folder_ / file.name, file, stop_)) {
        add(file, Origin::kept, "", true);
      } else {
        wanted.push_back(file);
      }
    }
    return wanted;
  }

  void add(const CachedFile& file, Origin origin, const std::string& source, bool verified) {
    const std::string path = folder_ / file.name;
    files_.push_back({path, fs::file_size(path), origin, source, verified});
    if (origin == Origin::kept && !dataset_.archive) done_ += static_cast<std::int64_t>(file.bytes());
  }

  // ---- from a folder

  void take_from_folder(const std::vector<CachedFile>& wanted) {
    const datasets::LocalSupply supply = datasets::search_folder(options_.from, dataset_, wanted, options_.unverified, stop_);
    if (!supply.archive.empty()) return unpack(supply.archive, supply.archive, Origin::copied, wanted);
    check_counts(supply);
    for (const CachedFile& file : wanted) {
      const datasets::Supply& found = supply.files.at(file.name);
      PartialFile copy(folder_ / file.name);
      for (const std::string& path : found.paths) copy_into(copy, path);
      copy.commit();
      add(file, Origin::copied, found.paths.front(), found.verified);
    }
  }

  void copy_into(PartialFile& copy, const std::string& path) {
    constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
    const datasets::Stored stored = datasets::open_file(path);
    for (std::uint64_t at = 0; at < stored.size(); at += kBlock) {
      stop_if_asked(stop_);
      const datasets::Buffer block = stored.read(at, std::min(kBlock, stored.size() - at));
      copy.write(block.bytes.data(), block.bytes.size());
      done_ += static_cast<std::int64_t>(block.bytes.size());
    }
  }

  // Checks that there are as many labels as points. Verified files need no check; others are opened like data for an estimate.
  void check_counts(const datasets::LocalSupply& supply) const {
    const auto path_of = [&](const std::string& name) {
      const auto found = supply.files.find(name);
      return found == supply.files.end() ? folder_ / name : found->second.paths.front();
    };
    const auto verified = [&](const std::string& name) {
      const auto found = supply.files.find(name);
      return found == supply.files.end() || found->second.verified;
    };
    for (const std::string& points : {dataset_.train, dataset_.test}) {
      if (points.empty()) continue;
      std::string labels = points;
      if (const std::size_t at = labels.find("images-idx3"); at != std::string::npos) labels.replace(at, 11, "labels-idx1");
      if (verified(points) && verified(labels)) continue;
      DatasetOptions options = dataset_.options;
      if (labels != points) options.labels_path = path_of(labels);
      open_dataset(path_of(points), options).value();
    }
  }

  // ---- from URLs

  std::vector<std::string> urls() const {
    if (options_.from.empty()) return dataset_.urls;
    return {options_.from + (options_.from.ends_with('/') ? "" : "/")};
  }

  void download(const std::vector<CachedFile>& wanted) {
    std::string url;
    if (dataset_.archive) {
      // The archive is not committed, so its partial file is removed at the end; only the files in it are kept.
      const auto archive = downloaded(folder_ / dataset_.archive->name, *dataset_.archive, url);
      archive->file().flush();
      return unpack(archive->file().written(), url, Origin::downloaded, wanted);
    }
    for (const CachedFile& file : wanted) {
      downloaded(folder_ / file.name, file.parts.front(), url)->file().commit();
      add(file, Origin::downloaded, url, true);
    }
  }

  // Downloads the file from the first URL that works, and sets `url` to that URL. Tries again if the connection breaks.
  std::unique_ptr<CheckedFile> downloaded(const std::string& path, const PublishedFile& published, std::string& url) {
    constexpr int kAttempts = 3;
    std::vector<std::string> candidates;
    for (const std::string& folder : urls()) candidates.push_back(folder + published.name);
    std::string problem, where;
    for (int attempt = 0; attempt < kAttempts && !candidates.empty(); ++attempt) {
      wait(attempt);
      std::vector<std::string> again;
      for (const std::string& candidate : candidates) {
        auto file = std::make_unique<CheckedFile>(path);
        const auto failure = datasets::download(
            candidate, published.bytes,
            [&](Bytes bytes) {
              file->add(bytes);
              done_ += static_cast<std::int64_t>(bytes.size());
            },
            stop_);
        problem = failure ? failure->problem : file->difference(published);
        url = where = candidate;
        if (problem.empty()) return file;
        done_ -= static_cast<std::int64_t>(file->bytes());
        if (failure && failure->passing) again.push_back(candidate);
      }
      candidates = std::move(again);
    }
    refuse(where, problem, "try again, or give " + option("from") + " a folder or URL with a copy");
  }

  void wait(int seconds) const {
    for (int k = 0; k < 20 * seconds; ++k) {
      stop_if_asked(stop_);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  // ---- archives

  void unpack(const std::string& path, const std::string& source, Origin origin, const std::vector<CachedFile>& wanted) {
    std::map<std::string, datasets::Buffer> parts;
    const auto bytes_of = [&](const std::string& name) {
      for (const CachedFile& file : wanted) {
        for (const PublishedFile& part : file.parts) {
          if (part.name == name) return part.bytes;
        }
      }
      return std::uint64_t{0};
    };
    datasets::read_tar_gz(path,
                          {[&](const std::string& name, std::uint64_t bytes) { return bytes > 0 && bytes == bytes_of(name); },
                           [&](const std::string& name, datasets::Buffer contents) { parts[name] = std::move(contents); }},
                          stop_);
    for (const CachedFile& file : wanted) {
      PartialFile whole(folder_ / file.name);
      for (const PublishedFile& part : file.parts) {
        const auto found = parts.find(part.name);
        if (found == parts.end()) refuse(source, "has no " + part.name + " of the published size");
        whole.write(found->second.bytes.data(), found->second.bytes.size());
      }
      whole.commit();
      add(file, origin, source, true);
    }
  }

  // ---- results

  std::vector<FetchedFile> in_order() const {
    std::vector<FetchedFile> files;
    for (const CachedFile& file : dataset_.files) {
      const auto found =
          std::find_if(files_.begin(), files_.end(), [&](const FetchedFile& each) { return each.path == folder_ / file.name; });
      if (found != files_.end()) files.push_back(*found);
    }
    return files;
  }

  std::string write_class_names() const {
    std::string names;
    for (const std::string& name : dataset_.classes) names += name + "\n";
    std::string path = folder_ / "classes.txt";
    write_whole(path, names);
    return path;
  }

  const Published& dataset_;
  const FetchOptions& options_;
  CacheFolder folder_;
  std::atomic<std::int64_t>& done_;
  const StopToken* stop_;
  std::vector<FetchedFile> files_;
};

}  // namespace

std::int64_t bytes_to_fetch(const Published& dataset) {
  if (dataset.archive) return static_cast<std::int64_t>(dataset.archive->bytes);
  std::uint64_t bytes = 0;
  for (const CachedFile& file : dataset.files) bytes += file.bytes();
  return static_cast<std::int64_t>(bytes);
}

Fetched fetch(const Published& dataset, const FetchOptions& options, std::atomic<std::int64_t>& done, const StopToken* stop) {
  return Fetch(dataset, options, done, stop).run();
}

}  // namespace probust
