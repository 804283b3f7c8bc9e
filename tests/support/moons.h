// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>

#include "probust/data/datasets.h"
#include "support/command.h"

namespace probust::test {

/// Points of two moons as a table with a header; returns its path.
inline std::string moons(const Folder& folder, std::int64_t count = 400, const std::string& name = "moons.csv",
                         std::uint64_t seed = 0) {
  const MadeData data = make_data(made_data_kind("moons"), {.count = count, .noise = 0.1, .seed = seed});
  std::string text = "a,b,label\n";
  for (std::int64_t i = 0; i < data.size(); ++i)
    text += fmt::format("{},{},{}\n", data.x.row(i)[0], data.x.row(i)[1], data.labels[static_cast<std::size_t>(i)]);
  return folder.write(name, text);
}

}  // namespace probust::test
