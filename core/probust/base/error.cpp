// SPDX-License-Identifier: MIT
#include "probust/base/error.h"

#include "probust/base/text.h"

namespace probust {

std::string Error::message() const {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) line += "; " + hint;
  return printable(line);  // file names and attributes come from outside
}

}  // namespace probust
