// SPDX-License-Identifier: MIT
#include "datasets/csv_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace probust::datasets {
namespace {

constexpr std::uint64_t kCsvPart = std::uint64_t{1} << 20;

// Removes and returns the next line of `text` that is not blank. Also removes everything before it.
std::string_view next_line(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  text.remove_prefix(line.size());
  return line;
}

// Whether the line has several words, separated by blanks, and one of them is a number, as in the output of numpy.savetxt. (A
// name of two words contains no number.)
bool has_numbers_between_blanks(std::string_view line) {
  std::size_t words = 0, numbers = 0;
  while (!(line = trimmed(line)).empty()) {
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(word.size());
    ++words;
    numbers += csv_number(word) ? 1 : 0;
  }
  return words > 1 && numbers > 0;
}

// The separator, determined by the first row that is not blank: a semicolon if there is one outside of quotes (commas in the
// row are then decimal marks), otherwise a comma, a tab, a vertical bar, or blanks between numbers in this row or the next.
char separator_of(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  bool quoted = false;
  constexpr std::string_view kOthers = ",\t|";
  std::size_t found = kOthers.size();
  for (const char c : text) {
    quoted = quoted != (c == '"');
    if (quoted) continue;
    if (c == ';') return ';';
    if (c == '\r' || c == '\n') break;
    found = std::min(found, kOthers.find(c));
  }
  if (found < kOthers.size()) return kOthers[found];
  const std::string_view first = next_line(text), second = next_line(text);
  return has_numbers_between_blanks(first) || has_numbers_between_blanks(second) ? ' ' : ',';
}

}  // namespace

std::optional<double> csv_number(std::string_view cell) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

std::optional<double> csv_feature(std::string_view cell) {
  if (const auto value = csv_number(cell)) return value;
  if (cell == "True" || cell == "true" || cell == "TRUE") return 1;
  if (cell == "False" || cell == "false" || cell == "FALSE") return 0;
  return std::nullopt;
}

std::optional<std::int64_t> csv_integer(std::string_view cell) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc() && end == cell.data() + cell.size()) return value;
  const auto general = csv_number(cell);
  if (!general || !(std::fabs(*general) <= 0x1p53) || *general != std::floor(*general)) return std::nullopt;
  return static_cast<std::int64_t>(*general);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string shown(std::string_view cell) {
  constexpr std::size_t kLongest = 32;
  return cell.size() <= kLongest ? "'" + std::string(cell) + "'" : "'" + std::string(cell.substr(0, kLongest)) + "...'";
}

std::string_view as_text(Bytes file, const std::string& path) {
  const auto foreign = [](std::uint8_t c) { return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; };
  if (std::any_of(file.begin(), file.end(), foreign))
    refuse(path, "is not text", "give comma-separated numbers in UTF-8 or ASCII");
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0);
}

std::string csv_place(std::size_t line, std::size_t column) {
  return "row " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

CsvRows::CsvRows(Stored file, std::string path) : file_(std::move(file)), path_(std::move(path)) {
  take_more();
  rest_ = as_text({reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()}, path_);
  skip_comments();
  separator_ = separator_of(rest_);
  skip_separator_line();
  blanks_ = separator_ == '\t' ? " " : " \t";
  ends_ = separator_ == ' ' ? "\r\n \t" : std::string("\r\n") + separator_;
}

// Skips comment lines above the table, such as those of numpy.savetxt. If the last one has as many cells as the next row, it
// contains the names of the columns and is not skipped.
void CsvRows::skip_comments() {
  const std::string_view blanks = " \t\r\n";
  while (true) {
    const std::string_view text = rest_.substr(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    if (!text.starts_with('#')) return;
    std::string_view after = text;
    const std::string_view line = next_line(after), next = next_line(after);
    const char separator = separator_of(next);
    const auto count = [&](std::string_view row) { return std::count(row.begin(), row.end(), separator); };
    if (separator != ' ' && !next.starts_with('#') && count(line) > 0 && count(line) == count(next)) {
      next_line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + (text.data() - rest_.data()), '\n'));
      rest_ = text.substr(text.find_first_not_of("# \t"));
      return;
    }
    if (after.empty() && next.empty()) {
      rest_ = {};
      return;
    }
    next_line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + (next.data() - rest_.data()), '\n'));
    rest_ = rest_.substr(static_cast<std::size_t>(next.data() - rest_.data()));
  }
}

// Skips a line such as "sep=;" above the table, which names the separator for Excel.
void CsvRows::skip_separator_line() {
  constexpr std::string_view kName = "sep=";
  std::string_view after = rest_;
  const std::string_view line = next_line(after);
  if (!line.starts_with(kName) || line.size() != kName.size() + 1 || std::string_view(",;\t|").find(line.back()) == line.npos)
    return;
  separator_ = line.back();
  next_line_ +=
      static_cast<std::size_t>(std::count(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(after.size()), '\n'));
  rest_ = after;
}

bool CsvRows::next() {
  while (!rest_.empty() || !all_in_memory()) {
    read_row();
    if (cells_.size() > 1 || !cells_[0].empty()) return true;
  }
  return false;
}

// Reads another part of the file and appends it to the unread bytes. The part is at least as long as the unread bytes, so that
// the time for a long row is proportional to its length.
void CsvRows::take_more() {
  text_.erase(0, text_.size() - rest_.size());
  const std::uint64_t begin = text_.size(), more = std::min(file_.size() - taken_, std::max(kCsvPart, begin));
  text_.resize(begin + more);
  const std::span<std::uint8_t> added(reinterpret_cast<std::uint8_t*>(text_.data()) + begin, more);
  file_.read(taken_, added);
  if (taken_ > 0) as_text(added, path_);
  taken_ += more;
  rest_ = text_;
}

// If a row ends where the text in memory ends, it may continue in the file. The row is then read again, with more of the file
// in memory.
void CsvRows::read_row() {
  row_line_ = next_line_;
  while (true) {
    const std::string_view row = rest_;
    read_cells();
    if (!rest_.empty() || all_in_memory()) return;
    rest_ = row;
    next_line_ = row_line_;
    take_more();
  }
}

void CsvRows::read_cells() {
  std::size_t count = 0;
  bool more = true;
  while (more) {
    if (count == cells_.size()) cells_.emplace_back();
    more = read_cell(cells_[count++]);
  }
  cells_.resize(count);
}

// Reads one cell and the character after it. Returns whether that character is a separator.
bool CsvRows::read_cell(std::string& cell) {
  if (separator_ == ' ') rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks_), rest_.size()));
  std::size_t blanks = rest_.find_first_not_of(blanks_);
  blanks = blanks == std::string_view::npos ? rest_.size() : blanks;
  if (blanks < rest_.size() && rest_[blanks] == '"') {
    rest_.remove_prefix(blanks + 1);
    read_quoted(cell);
  } else {
    const std::size_t end = std::min(rest_.find_first_of(ends_), rest_.size());
    cell.assign(trimmed(rest_.substr(0, end)));
    rest_.remove_prefix(end);
  }
  return take_end();
}

// Reads the rest of a cell after its opening quote, up to the closing quote. A doubled quote stands for one quote.
void CsvRows::read_quoted(std::string& cell) {
  cell.clear();
  while (true) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) {
      if (all_in_memory()) refuse("row " + std::to_string(row_line_) + " of " + path_, "has a quote that is never closed");
      rest_ = {};
      return;
    }
    cell.append(rest_.substr(0, quote));
    next_line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(quote), '\n'));
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    cell += '"';
    rest_.remove_prefix(1);
  }
  rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks_), rest_.size()));
  if (separator_ != ' ' && !rest_.empty() && ends_.find(rest_.front()) == std::string::npos) {
    refuse("row " + std::to_string(row_line_) + " of " + path_, "has text after a closing quote");
  }
}

bool CsvRows::take_end() {
  if (separator_ == ' ') rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks_), rest_.size()));
  if (rest_.empty()) return false;
  if (separator_ == ' ' && rest_.front() != '\r' && rest_.front() != '\n') return true;
  const bool separated = rest_.front() == separator_;
  if (!separated) ++next_line_;
  rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
  return separated;
}

}  // namespace probust::datasets
