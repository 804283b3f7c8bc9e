// SPDX-License-Identifier: MIT
// A text of zeros and ones, one point per line: "0110".
#include <algorithm>
#include <string>
#include <vector>

#include "datasets/formats.h"

namespace probust::datasets {

Contents read_ones(const Stored& file, const std::string& path) {
  std::vector<char> commas;
  for (const std::uint8_t c : file.all().bytes) {
    if (c != '\n' && !commas.empty() && commas.back() != '\n') commas.push_back(',');
    commas.push_back(static_cast<char>(c));
  }
  return read_csv(as_buffer(std::move(commas)), "none", path);
}

}  // namespace probust::datasets
