// SPDX-License-Identifier: MIT
// A text of zeros and ones, one point per line: "0110".
#include <algorithm>
#include <string>

#include "datasets/formats.h"

namespace probust::datasets {

Contents read_ones(const Buffer& file, const std::string& path) {
  std::string commas;
  for (const std::uint8_t c : file.bytes) {
    if (c != '\n' && !commas.empty() && commas.back() != '\n') commas += ',';
    commas += static_cast<char>(c);
  }
  auto owner = std::make_shared<std::string>(std::move(commas));
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size());
  return read_csv_bytes({bytes, owner}, "none", path);
}

}  // namespace probust::datasets
