// SPDX-License-Identifier: MIT
#include "store/journal.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::store {
namespace {

constexpr const char* kTitle = "Progress of an output that is not complete. Repeat the command to go on.";

Configuration printable_values(Configuration configuration) {
  for (auto& [name, value] : configuration) value = printable(value);
  return configuration;
}

}  // namespace

Journal::Journal(const std::string& path, const Configuration& given, bool replace) : path_(path + "-unfinished") {
  const Configuration configuration = printable_values(given);
  std::ifstream before(path_);
  const bool goes_on = before.is_open() && !replace;
  if (goes_on) read(before, path, configuration);
  file_ = std::fopen(path_.c_str(), goes_on ? "a" : "w");
  if (file_ == nullptr)
    throw Error{ErrorCode::usage, option("output"), "'" + path + "' cannot be written", "give a path in a folder that exists"};
  if (goes_on) return;
  std::string text = std::string(kTitle) + "\n";
  for (const auto& [name, value] : configuration) text += fmt::format("is {} {}\n", name, value);
  write(text);
}

Journal::~Journal() { std::fclose(file_); }

// A last line without its end was cut when it was written.
void Journal::read(std::istream& lines, const std::string& path, const Configuration& configuration) {
  Configuration before;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && !lines.eof();) {
    std::istringstream words(line);
    std::string kind, name, rest;
    words >> kind;
    if (kind == "is") {
      words >> name;
      std::getline(words >> std::ws, rest);
      before.emplace_back(name, rest);
    } else {
      std::int64_t position = 0, bytes = 0;
      words >> position >> bytes;
      if (kind != "done" || !words)
        throw Error{ErrorCode::unreadable, path_, "is damaged", "begin again with " + option("force_new")};
      std::getline(words >> std::ws, rest);
      done_[rest] = position;
      bytes_ = bytes;
    }
  }
  require_same(path, configuration, before);
}

void Journal::write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    throw Error{ErrorCode::resources, path_, "could not be written", "is the disk full?"};
}

std::int64_t Journal::done(const std::string& model) const {
  const auto entry = done_.find(model);
  return entry == done_.end() ? 0 : entry->second;
}

void Journal::add(const std::string& model, std::int64_t position, std::int64_t bytes) {
  write("done " + std::to_string(position) + " " + std::to_string(bytes) + " " + printable(model) + "\n");
  done_[model] = position;
  bytes_ = bytes;
}

void Journal::finish() { std::remove(path_.c_str()); }

}  // namespace probust::store
