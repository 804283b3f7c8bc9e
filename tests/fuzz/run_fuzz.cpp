// SPDX-License-Identifier: MIT
//
// libFuzzer target for run files: a damaged or malicious file is either read or refused with one Error.
#include "probust/analysis/results.h"
#include "scratch.h"
#include "store/run_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = probust::fuzz::as_file("run.sqlite", data, size);
  probust::fuzz::value_or_error([&] {
    const probust::store::RunFile run = probust::store::RunFile::read(path);
    (void)run.configuration();
    (void)run.information();
    (void)run.results();
  });
  probust::fuzz::value_or_error([&] {
    using probust::store::RunFile;
    RunFile run = RunFile::open(path, {{"seed", "0"}}, RunFile::Mode::resume);
    (void)run.rows();
  });
  return 0;
}
