// SPDX-License-Identifier: MIT
#include "datasets/fetch/tar.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace probust::datasets {
namespace {

constexpr std::size_t kTarBlock = 512, kPiece = std::size_t{1} << 20;

using Header = std::array<std::uint8_t, kTarBlock>;

[[noreturn]] void refuse_damaged(const std::string& path) {
  refuse(path, "is damaged or truncated", "copy or download it again");
}

class PackedFile {
 public:
  explicit PackedFile(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) refuse(path, "cannot be opened");
  }

  // Fills `out`. Returns false at the end of the file. Throws Error{unreadable} if the file ends within `out`.
  bool read(std::span<std::uint8_t> out) {
    const int count = gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
    if (count == 0 && gzeof(file_.get()) != 0 && intact()) return false;
    if (count != static_cast<int>(out.size())) refuse_damaged(path_);
    return true;
  }

 private:
  bool intact() const {
    int error = Z_OK;
    gzerror(file_.get(), &error);
    return error == Z_OK || error == Z_STREAM_END;
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::string_view field(const Header& header, std::size_t at, std::size_t width) {
  const std::string_view text(reinterpret_cast<const char*>(header.data()) + at, width);
  return text.substr(0, text.find('\0'));
}

// Parses a number that is written in octal digits, with blanks around them.
std::uint64_t octal(const Header& header, std::size_t at, std::size_t width, const std::string& path) {
  std::uint64_t value = 0;
  for (const char c : field(header, at, width)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') refuse_damaged(path);
    value = 8 * value + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Whether the checksum is correct: it is the sum of the header's bytes, with the bytes of the checksum itself counted as
// blanks.
bool checksum_holds(const Header& header, const std::string& path) {
  constexpr std::size_t kAt = 148, kWidth = 8;
  std::uint64_t sum = kWidth * ' ';
  for (std::size_t k = 0; k < kTarBlock; ++k) sum += k >= kAt && k < kAt + kWidth ? 0 : header[k];
  return sum == octal(header, kAt, kWidth, path);
}

}  // namespace

void read_tar_gz(const std::string& path, const TarReader& reader, const StopToken* stop) {
  constexpr std::size_t kName = 0, kNameWidth = 100, kSize = 124, kSizeWidth = 12, kType = 156;
  PackedFile file(path);
  Header header{};
  std::vector<std::uint8_t> skipped(kPiece);
  while (file.read(header)) {
    if (std::all_of(header.begin(), header.end(), [](std::uint8_t byte) { return byte == 0; })) continue;  // padding at the end
    if (!checksum_holds(header, path)) refuse_damaged(path);
    const std::uint64_t bytes = octal(header, kSize, kSizeWidth, path), stored = (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
    const std::string_view name = field(header, kName, kNameWidth);
    const std::string base(name.substr(name.rfind('/') + 1));
    const bool regular = header[kType] == '0' || header[kType] == '\0';
    const bool wanted = regular && reader.wants(base, bytes);
    std::vector<std::uint8_t> contents(wanted ? stored : 0);
    for (std::uint64_t done = 0; done < stored;) {
      stop_if_asked(stop);
      const std::uint64_t count = std::min<std::uint64_t>(kPiece, stored - done);
      if (!file.read(wanted ? std::span(contents).subspan(done, count) : std::span(skipped).first(count))) refuse_damaged(path);
      done += count;
    }
    if (!wanted) continue;
    contents.resize(bytes);
    reader.take(base, as_buffer(std::move(contents)));
  }
}

}  // namespace probust::datasets
