// SPDX-License-Identifier: MIT
#include "probust/base/error.h"

#include <new>
#include <stdexcept>

#include "probust/base/text.h"

namespace probust {
namespace {

// Delimiters of an option's name. They are control characters, which printable() escapes in text from outside, so no such text
// can contain a delimiter.
constexpr char kBegin = '\x1e', kEnd = '\x1f';

}  // namespace

std::string option(std::string_view field) { return kBegin + std::string(field) + kEnd; }

bool is_option(std::string_view text) { return text.size() > 1 && text.front() == kBegin && text.back() == kEnd; }

std::string spelled(std::string_view text, OptionSpelling spell) {
  std::string result;
  for (std::size_t begin = text.find(kBegin); begin != std::string_view::npos; begin = text.find(kBegin)) {
    const std::size_t end = text.find(kEnd, begin);
    if (end == std::string_view::npos) break;
    result += text.substr(0, begin);
    result += spell(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

// Defined here rather than in the header: hundreds of functions throw errors, and inlining would add a few per cent to the
// WebAssembly module.
Error::Error(ErrorCode kind, std::string_view place, std::string_view mistake, std::string_view remedy, std::string_view op_type,
             std::string_view node_name)
    : code(kind), where(place), problem(mistake), hint(remedy), op(op_type), node(node_name) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

void add_file_name(Error& error, const std::string& file) {
  if (error.where.empty() || is_option(error.where) || error.where.find(file) != std::string::npos) return;
  const bool whole = error.where == "the model" || error.where == "the data set";
  error.where = whole ? file : error.where + " of " + file;
}

Error interruption() { return {ErrorCode::interrupted, "the run", "was interrupted", ""}; }

Error handled_error(const std::string& where) {
  const auto out_of_memory = [&] {
    return Error{ErrorCode::resources, where.empty() ? "the command" : where, "needs more memory than is available",
                 "use a smaller " + option("memory") + " or a smaller model"};
  };
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    if (where.empty()) return {ErrorCode::internal, "", std::string("internal error: ") + error.what(), "please report it"};
    return {ErrorCode::internal, where, std::string("failed with an internal error: ") + error.what(), "please report it"};
  }
}

const char* Error::what() const noexcept {
  try {
    line_ = message();
    return line_.c_str();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

std::string Error::sentence() const { return where.empty() ? problem : where + " " + problem; }

std::string Error::message(OptionSpelling spell) const {
  std::string line = sentence();
  if (!hint.empty()) line += "; " + hint;
  return printable(spelled(line, spell));  // file names and attributes may contain anything
}

}  // namespace probust
