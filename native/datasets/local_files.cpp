// SPDX-License-Identifier: MIT
#include "datasets/local_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "datasets/fetch/program.h"
#include "probust/base/text.h"

namespace probust::datasets {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 4;

std::string letters_and_digits(const std::string& text) {
  std::string result;
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += c;
  }
  return result;
}

// A file in the folder that is searched.
struct LocalFile {
  std::string path;
  std::string name;      // in lower case
  std::string squeezed;  // the letters and digits of the path below the folder
  std::uint64_t bytes = 0;
};

std::vector<LocalFile> files_below(const std::string& folder) {
  std::error_code error;
  std::vector<LocalFile> files;
  fs::recursive_directory_iterator each(folder, fs::directory_options::skip_permission_denied, error), end;
  if (error) refuse(folder, "cannot be searched: " + error.message(), "give a folder with the files, or a URL");
  while (each != end && !error) {
    const fs::path path = each->path();
    if (each.depth() >= kMostDepth) each.disable_recursion_pending();
    std::error_code unlike;
    const std::uint64_t bytes = fs::is_regular_file(path, unlike) ? fs::file_size(path, unlike) : 0;
    if (!unlike && bytes > 0)
      files.push_back({path.string(), lower_case(path.filename().string()),
                       letters_and_digits(path.lexically_relative(folder).string()), bytes});
    each.increment(error);
  }
  std::sort(files.begin(), files.end(), [](const LocalFile& a, const LocalFile& b) { return a.path < b.path; });
  return files;
}

// How well a file's path matches a data set: the length of the longest name of the data set that occurs in the path.
std::size_t fit(const LocalFile& file, const Published& dataset) {
  const std::string whole = letters_and_digits(dataset.name), first = dataset.name.substr(0, dataset.name.find('-'));
  std::size_t longest = 0;
  for (const std::string& name : {whole, first}) {
    if (file.squeezed.find(name) != std::string::npos) longest = std::max(longest, name.size());
  }
  return longest;
}

bool fits_another_better(const LocalFile& file, const Published& dataset) {
  const std::vector<Published>& all = published_datasets();
  return std::any_of(all.begin(), all.end(), [&](const Published& other) { return fit(file, other) > fit(file, dataset); });
}

// Whether one of the words of a name starts with `word`.
bool has_word(const std::string& name, const std::string& word) {
  for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    if (at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0) return true;
  }
  return false;
}

// The names that a copy of a published file may have. For "train-images-idx3-ubyte.gz", they end in "images-idx3-ubyte.gz" and
// contain the word "train".
struct NamePattern {
  std::vector<std::string> endings, words;

  explicit NamePattern(const std::string& name) : endings{name} {
    const std::size_t end = name.find_first_of("-.");
    const std::string first = name.substr(0, end);
    if (first == "train" || first == "test" || first == "t10k") {
      endings = {name.substr(end + (name[end] == '-' ? 1 : 0))};
      words = first == "train" ? std::vector<std::string>{first} : std::vector<std::string>{"test", "t10k"};
    } else if (name.ends_with(".data")) {
      endings.push_back(first + ".csv");
    }
  }

  bool matches(const std::string& name) const {
    for (const std::string& ending : endings) {
      if (!name.ends_with(ending)) continue;
      const std::string before = name.substr(0, name.size() - ending.size());
      if (words.empty() ||
          std::any_of(words.begin(), words.end(), [&](const std::string& word) { return has_word(before, word); }))
        return true;
    }
    return false;
  }
};

class FolderSearch {
 public:
  FolderSearch(const std::string& folder, const Published& dataset, bool unverified, const StopToken* stop)
      : folder_(folder), dataset_(dataset), files_(files_below(folder)), unverified_(unverified), stop_(stop) {}

  LocalSupply supply(const std::vector<CachedFile>& wanted) const {
    LocalSupply found;
    for (const CachedFile& file : wanted) {
      if (auto verified = verified_supply(file)) found.files[file.name] = std::move(*verified);
    }
    if (found.files.size() == wanted.size()) return found;
    if (dataset_.archive) {
      if (const auto archive = copy_of({dataset_.archive->name, {*dataset_.archive}})) return {{}, *archive};
    }
    for (const CachedFile& file : wanted) {
      if (found.files.count(file.name) == 0) found.files[file.name] = {{other_file(file)}, false};
    }
    return found;
  }

 private:
  std::vector<const LocalFile*> named_like(const std::string& name) const {
    const NamePattern pattern(name);
    std::vector<const LocalFile*> result;
    for (const LocalFile& file : files_) {
      if (pattern.matches(file.name)) result.push_back(&file);
    }
    return result;
  }

  // The path of a file that is identical to the published one; empty if there is none.
  std::optional<std::string> copy_of(const CachedFile& file) const {
    for (const LocalFile* candidate : named_like(file.name)) {
      if (is_as_published(candidate->path, file, stop_)) return candidate->path;
    }
    return std::nullopt;
  }

  std::optional<Supply> verified_supply(const CachedFile& file) const {
    if (auto whole = copy_of(file)) return Supply{{std::move(*whole)}, true};
    Supply parts;
    for (const PublishedFile& part : file.parts) {
      auto copy = copy_of({part.name, {part}});
      if (!copy) return std::nullopt;
      parts.paths.push_back(std::move(*copy));
    }
    return parts;
  }

  // The only file whose name is a possible name of `file`, although its content differs. If paths contain names of data sets,
  // the file's path must contain the name of this one.
  std::string other_file(const CachedFile& file) const {
    std::vector<const LocalFile*> candidates = named_like(file.name);
    std::erase_if(candidates, [&](const LocalFile* each) { return fits_another_better(*each, dataset_); });
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const LocalFile* a, const LocalFile* b) { return fit(*a, dataset_) > fit(*b, dataset_); });
    if (candidates.empty()) refuse(folder_, "has no file for " + file.name + " of " + dataset_.name, names_hint(file));
    const LocalFile& best = *candidates.front();
    if (!unverified_) {
      const bool same_size = best.bytes == file.bytes();
      refuse(best.path,
             "is not the published " + file.name + " of " + dataset_.name + ": " +
                 (same_size ? "its checksum does not match"
                            : "it has " + std::to_string(best.bytes) + " bytes instead of " + std::to_string(file.bytes())),
             "use " + option("unverified") + " to accept it anyway");
    }
    if (candidates.size() > 1 && fit(*candidates[1], dataset_) == fit(best, dataset_))
      refuse(best.path + " and " + candidates[1]->path, "could both be " + file.name, "give a folder with only one of them");
    return best.path;
  }

  std::string names_hint(const CachedFile& file) const {
    const NamePattern pattern(file.name);
    std::string hint = "give a file whose name ends in " + pattern.endings.front();
    if (!pattern.words.empty()) hint += ", with '" + pattern.words.front() + "' before that";
    if (dataset_.archive) hint += "; or give " + dataset_.archive->name;
    return hint;
  }

  std::string folder_;
  const Published& dataset_;
  std::vector<LocalFile> files_;
  bool unverified_;
  const StopToken* stop_;
};

}  // namespace

bool is_as_published(const std::string& path, const CachedFile& file, const StopToken* stop) {
  std::error_code missing;
  const std::uint64_t bytes = fs::is_regular_file(path, missing) ? fs::file_size(path, missing) : 0;
  const PublishedFile& first = file.parts.front();
  if (missing || bytes == 0) return false;
  if (bytes == first.copy_bytes && md5_of(open_file(path), 0, bytes, stop) == first.copy_md5) return true;
  if (bytes != file.bytes()) return false;
  const Stored stored = open_file(path);
  std::uint64_t at = 0;
  for (const PublishedFile& part : file.parts) {
    if (md5_of(stored, at, part.bytes, stop) != part.md5) return false;
    at += part.bytes;
  }
  return true;
}

LocalSupply search_folder(const std::string& folder, const Published& dataset, const std::vector<CachedFile>& files,
                          bool unverified, const StopToken* stop) {
  return FolderSearch(folder, dataset, unverified, stop).supply(files);
}

}  // namespace probust::datasets
