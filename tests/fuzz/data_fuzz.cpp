// SPDX-License-Identifier: MIT
//
// libFuzzer target for files of points, compiled for each kind of file (PROBUST_FUZZ_NAME). The first byte chooses options.
#include <cstdlib>

#include "datasets/dataset.h"
#include "datasets/point_source.h"
#include "scratch.h"

namespace {

probust::DatasetOptions options_of(std::uint8_t choice) {
  probust::DatasetOptions options;
  if ((choice & 1) != 0) options.limit = 2;
  if ((choice & 2) != 0) options.offset = 1;
  if ((choice & 4) != 0) options.skip_bad = true;
  if ((choice & 8) != 0) options.label_column = (choice & 16) != 0 ? "none" : "0";
  if ((choice & 32) != 0) options.cifar100 = true;
  if ((choice & 64) != 0) options.resize = options.crop = 4;
  if ((choice & 128) != 0) options.channels = 3;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string path = probust::fuzz::as_file(PROBUST_FUZZ_NAME, data + 1, size - 1);
  const std::string target =
      std::string(PROBUST_FUZZ_NAME).find("image") == 0 ? std::filesystem::path(path).parent_path().string() : path;
  probust::fuzz::value_or_error([&] { (void)probust::read_dataset(target, options_of(*data)).value(); });
  probust::fuzz::value_or_error([&] { (void)probust::read_numbers(path).value(); });
  return 0;
}
