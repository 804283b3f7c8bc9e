// SPDX-License-Identifier: MIT
// Reads the .npy format: a magic number, a version, a header (the text of a Python dictionary), and the values.
#include "datasets/npy.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "datasets/csv_rows.h"
#include "datasets/formats.h"

namespace probust {
namespace datasets {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  std::string type;  // in NumPy's notation: "<f4"
  bool column_major = false;
  Shape shape;
};

// Parses the dictionary in the header. Keys are quoted; values are quoted text, True, False or a tuple of integers.
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
        if (peek() == '[') refuse(path_, "has records, not numbers", "save an array of float32 or uint8");
        header.type = quoted();
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
      accept('L');  // Python 2 wrote long integers with this suffix
      shape.push_back(extent);
      if (!accept(',') && peek() != ')') fail("the shape is not a tuple of whole numbers");
    }
    return shape;
  }

  std::string_view text_;
  const std::string& path_;
};

constexpr std::string_view kByteOrders = "<>|=";

std::endian byte_order(char symbol) {
  return symbol == '>' ? std::endian::big : symbol == '<' ? std::endian::little : std::endian::native;
}

ElementType number_type(const std::string& descr, const std::string& path) {
  static const std::map<char, NumberKind> kinds{
      {'u', NumberKind::unsigned_integer}, {'i', NumberKind::signed_integer}, {'f', NumberKind::floating}};
  const auto kind = descr.size() == 3 ? kinds.find(descr[1]) : kinds.end();
  const std::int64_t bytes = kind == kinds.end() ? 0 : descr[2] - '0';
  const bool known = bytes == 2 || bytes == 4 || bytes == 8 || (bytes == 1 && descr[1] != 'f');
  if (!known || kByteOrders.find(descr[0]) == std::string_view::npos) {
    refuse(path, "has values of type '" + descr + "'", "save float32, float64 or an integer type, as with x.astype('float32')");
  }
  return {kind->second, bytes, byte_order(descr[0])};
}

// The type of texts with a fixed number of characters, which are bytes or UTF-32 code points.
struct TextType {
  std::int64_t characters = 0, bytes = 1;  // bytes of one character
  std::endian order = std::endian::native;
};

std::optional<TextType> text_type(const std::string& descr) {
  constexpr std::size_t kMostDigits = 6;
  const bool text = descr.size() > 2 && descr.size() <= 2 + kMostDigits && (descr[1] == 'U' || descr[1] == 'S') &&
                    kByteOrders.find(descr[0]) != std::string_view::npos;
  if (!text || descr.find_first_not_of("0123456789", 2) != std::string::npos) return std::nullopt;
  return TextType{std::stoll(descr.substr(2)), descr[1] == 'U' ? 4 : 1, byte_order(descr[0])};
}

void append_utf8(std::string& text, std::uint64_t c, const std::string& path) {
  constexpr std::uint64_t kBeyond = 0x110000;
  if (c >= kBeyond) refuse(path, "contains text that is not Unicode", "write it with numpy.save");
  const auto byte = [&](std::uint64_t bits) { text += static_cast<char>(bits); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f));
  }
}

// Decodes one text, and removes its zero padding.
std::string decode_text(Bytes stored, const TextType& type, const std::string& path) {
  std::string text;
  for (std::int64_t i = 0; i < type.characters; ++i) {
    const Bytes one = stored.subspan(static_cast<std::size_t>(i * type.bytes), static_cast<std::size_t>(type.bytes));
    const std::uint64_t c = type.order == std::endian::big ? big_endian(one) : little_endian(one);
    if (c == 0) break;
    type.bytes == 1 ? text.push_back(static_cast<char>(c)) : append_utf8(text, c, path);
  }
  return text;
}

// A .npy file whose header has been read.
struct NpyFile {
  NpyHeader header;
  Stored values;
  std::int64_t header_bytes = 0;
};

NpyFile open_npy(const Stored& file, const std::string& path) {
  const Buffer begin = file.read(0, std::min<std::uint64_t>(file.size(), kMagic.size()));
  if (!kMagic.starts_with(std::string_view(reinterpret_cast<const char*>(begin.bytes.data()), begin.bytes.size()))) {
    refuse(path, "is not a .npy file: it does not begin with \\x93NUMPY", "write it with numpy.save");
  }
  const std::uint8_t version = part(file, 6, 2, path, "a .npy header").bytes[0];
  if (version < 1 || version > 3)
    refuse(path, "has .npy format version " + std::to_string(version), "save it as version 1, 2 or 3");
  const std::uint64_t width = version == 1 ? 2 : 4;
  const std::uint64_t length = little_endian(part(file, 8, width, path, "a .npy header").bytes);
  const Buffer text = part(file, 8 + width, length, path, "its .npy header");
  NpyHeader header = HeaderText({reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()}, path).parse();
  const std::uint64_t values = 8 + width + length;
  return {std::move(header), file.from(values), static_cast<std::int64_t>(values)};
}

Array numbers_of_npy(const NpyFile& file, const ElementType& type, const std::string& path) {
  return dense_array(type, file.header.shape, file.header.column_major, file.values, file.header_bytes, path);
}

}  // namespace

Array read_npy_array(const Stored& file, const std::string& path) {
  const NpyFile npy = open_npy(file, path);
  return numbers_of_npy(npy, number_type(npy.header.type, path), path);
}

StoredLabels read_npy_labels(const Stored& file, const std::string& path) {
  const NpyFile npy = open_npy(file, path);
  const std::string& type = npy.header.type;
  if (type == "|b1") return {decode_labels(numbers_of_npy(npy, {}, path), path), {}};
  if (type == "|O") refuse(path, "has Python objects", "save text or whole numbers, as with y.astype(str)");
  const auto text = text_type(type);
  if (!text || text->characters == 0) return {decode_labels(numbers_of_npy(npy, number_type(type, path), path), path), {}};
  const std::int64_t width = text->characters * text->bytes;
  const Array array = numbers_of_npy(npy, {NumberKind::unsigned_integer, width, std::endian::native}, path);
  if (array.shape.empty() || element_count(array.shape) != array.shape[0])
    refuse(path, "has shape " + to_string(array.shape) + ", but labels have shape [N]", "give one label per point");
  const Buffer all = array.stored.all();
  StoredLabels labels;
  for (std::int64_t i = 0; i < array.shape[0]; ++i) {
    const Bytes stored = all.bytes.subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
    labels.texts.emplace_back(trimmed(decode_text(stored, *text, path)));
    if (labels.texts.back().empty()) refuse("label " + std::to_string(i) + " of " + path, "is empty", "give each point a label");
  }
  return labels;
}

}  // namespace datasets

Result<Tensor> read_npy(const std::string& path) {
  return guarded(path, [&] {
    const datasets::Array array = datasets::read_npy_array(datasets::open_data_file(path), path);
    return datasets::decode_rows(array, 0, array.shape.empty() ? 1 : array.shape[0], 1.0);
  });
}

}  // namespace probust
