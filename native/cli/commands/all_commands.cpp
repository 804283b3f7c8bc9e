// SPDX-License-Identifier: MIT
// The list of commands. To add a command, add its file to this folder, and declare and list its function here.
#include "cli/command_line.h"

namespace probust::cli {

using Describe = void(CommandLine&);

Describe describe_inspect, describe_arrays, describe_estimate, describe_export, describe_merge, describe_report, describe_mvn,
    describe_bench, describe_train, describe_data, describe_check, describe_reproduce, describe_summary, describe_bias,
    describe_rank, describe_curve, describe_agree, describe_distance, describe_curvature, describe_compare, describe_gate,
    describe_gradient_of_p, describe_noise, describe_survey, describe_version, describe_manual;

void describe_all(CommandLine& line) {
  // The commands, in the order of the help.
  Describe* const all[] = {
      describe_inspect, describe_arrays,    describe_estimate,  describe_export,        describe_merge,   describe_report,
      describe_survey,  describe_noise,     describe_mvn,       describe_bench,         describe_train,   describe_data,
      describe_check,   describe_reproduce, describe_summary,   describe_bias,          describe_rank,    describe_curve,
      describe_agree,   describe_distance,  describe_curvature, describe_gradient_of_p, describe_compare, describe_gate,
      describe_version, describe_manual,
  };
  for (Describe* const describe : all) describe(line);
}

}  // namespace probust::cli
