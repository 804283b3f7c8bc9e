// SPDX-License-Identifier: MIT
// probust export: writes the rows of a run as text or as arrays. Text is written row by row; arrays need all rows in memory.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/output/export_npz.h"
#include "cli/run/destination.h"
#include "probust/base/error.h"
#include "store/run_file.h"

namespace probust::cli {
namespace {

int run_export(const Arguments& arguments) {
  const store::RunFile run = store::RunFile::read(arguments.run);
  if (arguments.output.ends_with(".npz")) {
    if (!arguments.format.empty())
      throw Error{ErrorCode::usage, "--format", "applies only to text files, but --output is a .npz file", "leave it out"};
    export_npz(run.results(), arguments.output);
    return 0;
  }
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

}  // namespace

void describe_export(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("export", "write the rows of a run as .csv, .jsonl or .npz", run_export);
  command.add_option("RUN", own.run, ".sqlite file written by estimate -o").required();
  command.add_option("-o,--output", own.output, ".csv, .jsonl or .npz file to write (default: stdout)");
  command.add_option("--format", own.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");
}

}  // namespace probust::cli
