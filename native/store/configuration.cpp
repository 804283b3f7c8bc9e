// SPDX-License-Identifier: MIT
#include "store/configuration.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "datasets/unwritable.h"
#include "probust/base/error.h"

namespace probust::store {
namespace {

// The CRC-32 and total length of a sequence of bytes that is passed in parts.
class Checksum {
 public:
  void add(std::string_view bytes) {
    sum_ = crc32(sum_, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    size_ += bytes.size();
  }
  std::string text() const { return fmt::format("crc32 {:08x}, {} bytes", sum_, size_); }

 private:
  uLong sum_ = crc32(0, nullptr, 0);
  std::uint64_t size_ = 0;
};

// For a folder, the checksum covers the names and sizes of the files but not their contents, because reading every image would
// take as long as a short run.
std::string folder_checksum(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file())
      files.push_back(fmt::format("{} {}\n", std::filesystem::relative(entry.path(), path).string(), entry.file_size()));
  }
  std::sort(files.begin(), files.end());
  Checksum sum;
  for (const std::string& file : files) sum.add(file);
  return fmt::format("{} files, {}", files.size(), sum.text());
}

std::string quoted(const Configuration& configuration, const std::string& name) {
  const bool known =
      std::any_of(configuration.begin(), configuration.end(), [&](const auto& entry) { return entry.first == name; });
  return known ? "'" + value_of(configuration, name) + "'" : "nothing";
}

}  // namespace

std::string value_of(const Configuration& configuration, const std::string& name) {
  const auto entry =
      std::find_if(configuration.begin(), configuration.end(), [&](const auto& candidate) { return candidate.first == name; });
  return entry == configuration.end() ? "" : entry->second;
}

bool extensible(const std::string& entry) { return entry == "noise" || entry == "estimator" || entry == "limit"; }

void require_same(const std::string& path, const Configuration& now, const Configuration& before, bool extending) {
  const bool shard = !value_of(now, "shard").empty();
  for (const auto& [name, value] : now) {
    const std::string was = quoted(before, name);
    const bool may_differ = extensible(name) && !(shard && name == "limit");  // the limit determines where shards begin
    if (was == "'" + value + "'" || (extending && may_differ)) continue;
    const std::string add = may_differ ? "add to a .sqlite run with " + option("extend") + ", " : "";
    throw Error{ErrorCode::conflict, path,
                fmt::format("has a run with a different configuration: {} was {} and is now '{}'", name, was, value),
                "repeat its command, choose another file, " + add + "or replace it with " + option("force_new")};
  }
}

std::string checksum(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return folder_checksum(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unopenable(path, errno);
  std::array<char, 1 << 16> part{};
  Checksum sum;
  while (file.read(part.data(), part.size()), file.gcount() > 0) sum.add({part.data(), static_cast<std::size_t>(file.gcount())});
  return sum.text();
}

}  // namespace probust::store
