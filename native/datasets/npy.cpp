// SPDX-License-Identifier: MIT
// Reads the .npy format: a magic number, a version, a header that is a Python dictionary as text, then the values.
#include "datasets/npy.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "datasets/formats.h"

namespace probust {
namespace datasets {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  ElementType type;
  bool column_major = false;
  Shape shape;
};

// The header's dictionary: quoted keys; values are quoted text, True, False or a tuple of whole numbers.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    int found = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key(quoted());
      expect(':');
      if (key == "descr") {
        header.type = type();
      } else if (key == "fortran_order") {
        header.column_major = truth();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        fail("an unknown key");
      }
      ++found;
      if (!accept(',') && peek() != '}') fail("no comma between entries");
    }
    if (found != 3) fail("not the three keys descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse(path_, "has a damaged .npy header: " + what, "write it with numpy.save");
  }

  char peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }

  bool accept(char symbol) {
    if (peek() != symbol) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char symbol) {
    if (!accept(symbol)) fail(std::string("'") + symbol + "' is missing");
  }

  std::string_view quoted() {
    const char quote = peek();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("a quoted word is missing");
    const std::string_view word = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return word;
  }

  bool truth() {
    peek();
    const bool value = text_.starts_with("True");
    if (!value && !text_.starts_with("False")) fail("fortran_order is neither True nor False");
    text_.remove_prefix(value ? 4 : 5);
    return value;
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc()) fail("the shape is not a tuple of whole numbers");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // Python 2 wrote long integers this way
      shape.push_back(extent);
      if (!accept(',') && peek() != ')') fail("the shape is not a tuple of whole numbers");
    }
    return shape;
  }

  ElementType type() {
    static const std::map<char, NumberKind> kinds{
        {'u', NumberKind::unsigned_integer}, {'i', NumberKind::signed_integer}, {'f', NumberKind::floating}};
    if (peek() == '[') refuse(path_, "holds records, not numbers", "save an array of float32 or uint8");
    const std::string_view descr = quoted();
    const auto kind = descr.size() == 3 ? kinds.find(descr[1]) : kinds.end();
    const std::int64_t bytes = kind == kinds.end() ? 0 : descr[2] - '0';
    const bool known = bytes == 2 || bytes == 4 || bytes == 8 || (bytes == 1 && descr[1] != 'f');
    if (!known || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
      refuse(path_, "holds values of type '" + std::string(descr) + "'",
             "save float32, float64 or an integer type, as with x.astype('float32')");
    }
    const std::endian order = descr[0] == '>' ? std::endian::big : descr[0] == '<' ? std::endian::little : std::endian::native;
    return {kind->second, bytes, order};
  }

  std::string_view text_;
  const std::string& path_;
};

}  // namespace

Array read_npy_array(const Stored& file, const std::string& path) {
  const Buffer begin = file.read(0, std::min<std::uint64_t>(file.size(), kMagic.size()));
  if (!kMagic.starts_with(std::string_view(reinterpret_cast<const char*>(begin.bytes.data()), begin.bytes.size()))) {
    refuse(path, "is not a .npy file: it does not begin with \\x93NUMPY", "write it with numpy.save");
  }
  const std::uint8_t version = part(file, 6, 2, path, "a .npy header").bytes[0];
  if (version < 1 || version > 3)
    refuse(path, "is of .npy format version " + std::to_string(version), "versions 1 to 3 are read");
  const std::uint64_t width = version == 1 ? 2 : 4;
  const std::uint64_t length = little_endian(part(file, 8, width, path, "a .npy header").bytes);
  const Buffer text = part(file, 8 + width, length, path, "its .npy header");
  const NpyHeader header = HeaderText({reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()}, path).parse();
  const std::uint64_t values = 8 + width + length;
  return dense_array(header.type, header.shape, header.column_major, file.from(values), static_cast<std::int64_t>(values), path);
}

}  // namespace datasets

Result<Tensor> read_npy(const std::string& path) {
  return guarded(path, [&] {
    const datasets::Array array = datasets::read_npy_array(datasets::open_data_file(path), path);
    return datasets::decode_rows(array, 0, array.shape.empty() ? 1 : array.shape[0], 1.0);
  });
}

}  // namespace probust
