// SPDX-License-Identifier: MIT
#include "probust/base/error.h"

namespace probust {

std::string Error::message() const {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) line += "; " + hint;
  for (char& c : line) {
    // File names and tensor names come from outside: keep the promise of one printable line.
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

}  // namespace probust
