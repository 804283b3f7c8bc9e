// SPDX-License-Identifier: MIT
// probust export: the rows of a run as text.
#include <algorithm>

#include "cli/commands.h"
#include "cli/destination.h"
#include "store/run_file.h"

namespace probust::cli {

int run_export(const Arguments& arguments) {
  const store::RunFile run = store::RunFile::read(arguments.run);
  TextForm form{format_of(arguments), {}, 0, false};
  run.for_each([&](const Row& row) {
    form.classes = std::max<std::int64_t>(form.classes, std::ssize(row.estimate.classes));
    form.several_models = form.several_models || !row.model.empty();
  });
  const auto destination = text_destination(arguments, form);
  run.for_each([&](const Row& row) { destination->write({}, {{row}, {}}); });
  destination->finish();
  return 0;
}

}  // namespace probust::cli
