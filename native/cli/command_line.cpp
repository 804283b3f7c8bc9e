// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "datasets/dataset.h"
#include "probust/base/error.h"
#include "probust/estimators/estimator.h"
#include "probust/noise/noise.h"

namespace probust::cli {
namespace {

void add_data(CLI::App& command, Arguments& arguments) {
  command.add_option("DATA", arguments.data.path, known_formats())->required();
  add_data_options(command, arguments);
}

// The list of estimators below the options of `estimate`.
std::string estimators_explained() {
  std::string text = "Estimators:\n";
  for (const EstimatorDefinition& definition : all_estimators())
    text += fmt::format("  {:<26} {}\n", form(definition), definition.summary);
  return text;
}

using Command = int (*)(const Arguments&);

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what, Command command, Command& chosen) {
  CLI::App* result = app.add_subcommand(name, what);
  result->callback([command, &chosen] { chosen = command; });
  return result;
}

void describe_bench(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* bench =
      add_command(app, "bench", "microseconds per forward and per margin Jacobian, and where the time goes", run_bench, chosen);
  add_model(*bench, arguments);
  add_device_options(*bench, arguments);
  bench->add_flag("--json", arguments.json, "one JSON object; with --frontier, one per estimator");
  bench->add_flag("--frontier", arguments.frontier,
                  "errors at equal cost, and coverage: MODEL DATA --sigma ..., or as MODEL a file of such lines");
  bench->add_option("DATA", arguments.data.path, "for --frontier: " + known_formats());
  add_data_options(*bench, arguments);
  one_argument_each(
      {bench->add_option("--sigma", arguments.sigma, "for --frontier: noise scales in the data's units"),
       bench->add_option("--estimator", arguments.estimators, "for --frontier: these instead of its own list")->delimiter(',')});
  bench->add_option("--references", arguments.references, "for --frontier: a file that keeps the reference probabilities");
  bench->add_option("--reference-samples", arguments.reference_samples, "for --frontier: of mc:N")
      ->check(at_least(1))
      ->capture_default_str();
  bench->add_option("--seeds", arguments.seeds, "for --frontier: repetitions with noise of their own")->check(at_least(1));
  bench->add_option("--seed", arguments.seed, "for --frontier: the first of them")->capture_default_str();
  bench->add_flag("--quiet", arguments.quiet, "no progress on stderr");
}

void describe_commands(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* inspect = add_command(app, "inspect", "what a model is made of, and what can be done with it", run_inspect, chosen);
  add_model(*inspect, arguments);
  inspect->add_flag("--json", arguments.json, "one JSON object");
  inspect->add_flag("--graph", arguments.graph, "also print the imported graph");

  CLI::App* logits = add_command(app, "logits", "the model's outputs, float32 [N, C]", run_logits, chosen);
  CLI::App* jacobian = add_command(app, "jacobian", "their derivatives, float32 [N, C, d]", run_jacobian, chosen);
  for (CLI::App* arrays : {logits, jacobian}) {
    add_model(*arrays, arguments);
    add_data(*arrays, arguments);
    add_device_options(*arrays, arguments);
    arrays->add_option("-o,--output", arguments.output, "the .npy file to write")->required();
    arrays->add_flag("--quiet", arguments.quiet, "no progress on stderr");
  }

  CLI::App* estimate = add_command(app, "estimate", "p_robust of every point", run_estimate, chosen);
  add_model(*estimate, arguments);
  add_data(*estimate, arguments);
  add_device_options(*estimate, arguments);
  one_argument_each(
      {estimate->add_option("--sigma", arguments.sigma,
                            "noise scales in the data's units: 0.1,0.2, or 0.01..1:20 for 20 in geometric progression"),
       estimate->add_option("--noise", arguments.noise,
                            "noise models: " + known_noise() + "; on some columns with @0..3; joined with +"),
       estimate->add_option("--estimator", arguments.estimators, "estimators, see below (default: auto)")});
  estimate->footer(estimators_explained);
  estimate->add_option("--clip", arguments.clip, "clip noisy copies to this range: 0,1")->delimiter(',')->expected(2);
  estimate->add_option("--levels", arguments.levels,
                       "round noisy copies to this many evenly spaced values of the range (default range 0,1): 256");
  estimate->add_option("--budget", arguments.budget, "for auto: forwards per point")->check(CLI::Range(2.0, 1e9));
  estimate
      ->add_option("--total-budget", arguments.total_budget,
                   "for auto: forwards for all points and noise models together, spent where they reduce error most")
      ->check(CLI::Range(2.0, 1e15));
  estimate->add_option("--target", arguments.target, "the class that has to survive: predicted, label, a number or a name")
      ->capture_default_str();
  estimate->add_option("--groups", arguments.groups, "classes that count as one, by number or name: 0,1/2,3,4");
  estimate->add_flag("--per-class", arguments.per_class,
                     "also the probability of every class to win: `classes` in JSON, p_class_0, p_class_1, ... in CSV");
  estimate->add_option("--top", arguments.top, "the class has to stay among the K largest logits (mc and auto only)")
      ->check(at_least(1));
  estimate->add_option("--tolerance", arguments.tolerance,
                       "for regression models: the probability that no output changes by this much or more");
  estimate->add_flag("--smooth", arguments.smooth,
                     "fit a smooth curve to each sweep of three scales or more: 40% less error for the same passes");
  estimate->add_flag("--calibrate", arguments.calibrate,
                     "correct probit, regression and auto by the bias that the copies of all points show, for each noise model");
  estimate->add_option("--seed", arguments.seed, "of the noise")->capture_default_str();
  estimate->add_option("-o,--output", arguments.output,
                       "write rows to this .csv, .jsonl or .sqlite file; if a .sqlite run exists, go on with it");
  estimate->add_flag("--force-new", arguments.force_new, "replace the run that -o names");
  estimate->add_option("--format", arguments.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");
  estimate->add_flag("--quiet", arguments.quiet, "do not print accuracy and progress on stderr");

  CLI::App* exported = add_command(app, "export", "the rows of a run as .csv or .jsonl", run_export, chosen);
  exported->add_option("RUN", arguments.run, "a .sqlite file that estimate -o wrote")->required();
  exported->add_option("-o,--output", arguments.output, "the .csv or .jsonl file to write (default: stdout)");
  exported->add_option("--format", arguments.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");

  CLI::App* mvn = add_command(app, "mvn", "multivariate normal probabilities, JSON lines in and out", run_mvn, chosen);
  mvn->add_option("--threads", arguments.device.threads, "processor threads")->check(at_least(1));

  describe_bench(app, arguments, chosen);

  CLI::App* version = add_command(app, "version", "version, build options, devices", run_version, chosen);
  version->add_flag("--json", arguments.json, "one JSON object");
}

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0    done\n"
    "  2    wrong usage\n"
    "  3    a model or data file cannot be read\n"
    "  4    an operator is not supported\n"
    "  5    device, memory, or output that cannot be written\n"
    "  6    no row could be computed\n"
    "  7    a run that another process writes, or with another configuration\n"
    "  130  interrupted; a run goes on if the command is repeated";

int report(const Error& error) {
  say("probust: {}\n", error.message(as_flag));
  return static_cast<int>(error.code);
}

// The problem in CLI11's words, which contain the option's name, on one line.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const bool unknown =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) || (app.get_subcommands().empty() && argc > 1);
  std::string problem = error.what();
  if (app.get_subcommands().empty() && argc > 1) problem = "'" + std::string(argv[1]) + "' is not a command";
  const std::string hint = unknown || argc < 2 ? suggestion(app, argc, argv) : "see probust " + std::string(argv[1]) + " --help";
  return report(Error{ErrorCode::usage, "command line", problem, hint});
}

}  // namespace

int run(int argc, char** argv) {
  Arguments arguments;
  Command chosen = nullptr;
  CLI::App app("probust: the probability that a classifier's answer survives noise");
  app.formatter(wrapped_help());
  app.footer(kExitStatuses);
  app.set_version_flag("--version", PROBUST_VERSION);
  app.require_subcommand(1);
  describe_commands(app, arguments, chosen);
  try {
    app.parse(argc, argv);
    refuse_overwriting(arguments);
    return end_output(chosen(arguments));
  } catch (const CLI::Success& help) {
    return end_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  } catch (...) {
    // What was thrown by a failed write to stdout would be taken for an error of ours.
    return std::ferror(stdout) != 0 ? end_output(0) : report(handled_error(""));
  }
}

}  // namespace probust::cli
