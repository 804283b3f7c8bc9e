// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "store/run_file.h"

namespace probust::test {

/// Writes a run. Returns its path.
inline std::string run_file_of(const std::string& path, const std::vector<Row>& rows,
                               const store::Configuration& configuration = {{"data", "one"}},
                               const store::Configuration& information = {}, const std::vector<PointRecord>& points = {}) {
  store::RunFile run = store::RunFile::open(path, configuration, store::RunFile::Mode::resume);
  run.append({rows, points});
  run.set_information(information);
  return path;
}

}  // namespace probust::test
