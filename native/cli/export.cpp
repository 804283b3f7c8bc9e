// SPDX-License-Identifier: MIT
// probust export: the rows of a run as text.
#include <algorithm>

#include "cli/commands.h"
#include "cli/destination.h"

namespace probust::cli {

int run_export(const Arguments& arguments) {
  const store::RunFile run = store::RunFile::read(arguments.run);
  std::int64_t classes = 0;
  run.for_each([&](const Row& row) { classes = std::max<std::int64_t>(classes, std::ssize(row.estimate.classes)); });
  const auto destination = text_destination(arguments, {}, classes);
  run.for_each([&](const Row& row) { destination->write(row); });
  destination->flush();
  return 0;
}

}  // namespace probust::cli
