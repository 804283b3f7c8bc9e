// SPDX-License-Identifier: MIT
#include "store/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "datasets/unwritable.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::store {
namespace {

constexpr const char* kTitle = "Progress of an incomplete output. Repeat the command to resume.";

Configuration printable_values(Configuration configuration) {
  for (auto& [name, value] : configuration) value = printable(value);
  return configuration;
}

}  // namespace

Journal::Journal(const std::string& path, const Configuration& given, bool replace) : path_(path + "-unfinished") {
  const Configuration configuration = printable_values(given);
  if (!replace && goes_on(path, configuration)) return;
  done_.clear();
  bytes_ = 0;
  title_ = std::string(kTitle) + "\n";
  for (const auto& [name, value] : configuration) title_ += fmt::format("is {} {}\n", name, value);
}

Journal::~Journal() {
  if (file_ != nullptr) std::fclose(file_);
}

void Journal::open() {
  if (file_ != nullptr) return;
  file_ = std::fopen(path_.c_str(), title_.empty() ? "a" : "w");
  if (file_ == nullptr) throw unwritable(path_, errno);
  write(title_);
}

// Reads the journal. Returns whether there is a journal and its output can be continued. If the last line has no newline,
// writing it was interrupted. It is removed, because the next line would otherwise be appended to it.
bool Journal::goes_on(const std::string& path, const Configuration& configuration) {
  std::ifstream lines(path_, std::ios::binary);
  Configuration before;
  std::uintmax_t complete = 0;  // bytes
  for (std::string line; std::getline(lines, line) && !lines.eof(); complete += line.size() + 1) {
    if (line.starts_with("is ")) {
      const std::size_t space = std::min(line.find(' ', 3), line.size());
      before.emplace_back(line.substr(3, space - 3), line.substr(std::min(space + 1, line.size())));
    } else if (line != kTitle) {
      read_done(line);
    }
  }
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  if (done_.empty() || missing || size < static_cast<std::uintmax_t>(bytes_)) return false;
  require_same(path, configuration, before);
  std::filesystem::resize_file(path_, complete);
  return true;
}

// Parses "done POSITION BYTES MODEL".
void Journal::read_done(const std::string& line) {
  std::istringstream words(line);
  std::string kind, model;
  std::int64_t position = 0, bytes = 0;
  const bool read = words >> kind >> position >> bytes && words.get() == ' ';
  if (!read || kind != "done") throw Error{ErrorCode::unreadable, path_, "is damaged", "start over with " + option("force_new")};
  std::getline(words, model);
  done_[model] = position;
  bytes_ = bytes;
}

void Journal::write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    throw Error{ErrorCode::resources, path_, "could not be written", "check that the disk is not full"};
}

std::int64_t Journal::done(const std::string& model) const {
  const auto entry = done_.find(model);
  return entry == done_.end() ? 0 : entry->second;
}

void Journal::add(const std::string& model, std::int64_t position, std::int64_t bytes) {
  open();
  write("done " + std::to_string(position) + " " + std::to_string(bytes) + " " + printable(model) + "\n");
  done_[model] = position;
  bytes_ = bytes;
}

void Journal::finish() { std::remove(path_.c_str()); }

}  // namespace probust::store
