// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/reproduce/experiment.h"
#include "cli/results.h"
#include "datasets/dataset.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

void add_data(CLI::App& command, Arguments& arguments) {
  command.add_option("DATA", arguments.data.path, known_formats() + ", or a folder of PNG or JPEG images")->required();
  add_data_options(command, arguments);
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

constexpr const char* kEstimating = "With a model and data, as for estimate";

// All options so far, apart from those that also select rows of a run.
void group_estimating_options(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->get_positional() || name == "--help" || name == "--sigma" || name == "--noise" || name == "--estimator") continue;
    option->group(kEstimating);
  }
}

void refuse_estimating_options(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == kEstimating && option->count() > 0) {
      throw Error{ErrorCode::usage, option->get_name(), "says how to estimate, and the rows of a run are there already",
                  "leave it out, or give a model and data"};
    }
  }
}

// Commands that compute something from rows.
void describe_analyses(CLI::App& app, Arguments& arguments, Command& chosen) {
  const auto add = [&](const char* name, const char* what, Command command) {
    CLI::App* added = add_command(app, name, what, command, chosen);
    add_model(*added, arguments);
    add_decision_options(*added, arguments,
                         std::string(name) == "curve" ? "--decision-threshold" : "--threshold,--decision-threshold");
    added->get_option("MODEL")->description("a run (.sqlite), or an ONNX file");
    added->add_option("DATA", arguments.data.path, "with an ONNX file: " + known_formats());
    add_data_options(*added, arguments);
    add_device_options(*added, arguments);
    add_question_options(*added, arguments);
    group_estimating_options(*added);
    added->callback([=, &arguments, &chosen] {
      if (is_run(arguments.model)) refuse_estimating_options(*added);
      chosen = command;
    });
    added->add_flag("--json", arguments.json, "one JSON object");
    added->add_option("--plot", arguments.plot, "also draw a chart to this .svg file");
    added->add_flag("--quiet", arguments.quiet, "no progress on stderr");
    return added;
  };
  add("summary", "clean accuracy, and p by noise and estimator", run_summary);
  add("bias", "p by class, with intervals adjusted for the number of classes", run_bias);
  CLI::App* rank = add("rank", "the most and the least robust points", run_rank);
  rank->add_option("--gallery", arguments.gallery, "also show their images in this .html file");
  rank->add_option("--data", arguments.images, "for --gallery: a run's data, if they are no longer where they were");
  CLI::App* curve = add("curve", "p against sigma, and the sigma that each point tolerates", run_curve);
  add("agree", "how far estimators agree with each other and with the softmax probability", run_agree);
  CLI::App* distance = add("distance", "certified radii and nearest boundaries, next to p", run_distance);
  for (CLI::App* command : {rank, distance})
    command->add_option("--count", arguments.count, "points to show")->check(at_least(1))->capture_default_str();
  curve->add_option("--threshold", arguments.threshold, "the p at which a point no longer tolerates the noise")
      ->capture_default_str();
  distance->add_option("--confidence", arguments.confidence, "of each certified radius")->capture_default_str();
}

void describe_curvature(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* curvature = add_command(
      app, "curvature", "how far margins are from linear at the scale of the noise, and error bounds", run_curvature, chosen);
  add_model(*curvature, arguments);
  add_decision_options(*curvature, arguments);
  add_data(*curvature, arguments);
  add_device_options(*curvature, arguments);
  one_argument_each(
      {curvature->add_option("--sigma", arguments.sigma, "noise scales in the data's units: 0.1,0.2, or 0.01..1:20"),
       curvature->add_option("--noise", arguments.noise,
                             "noise models, as for estimate; shift and scatter alone, unless gaussian:S")});
  curvature->add_option("--target", arguments.target, "the class of the margins: predicted, label, a number or a name")
      ->capture_default_str();
  curvature->add_option("--pairs", arguments.pairs, "antithetic pairs of noisy copies for each number")
      ->check(at_least(2))
      ->capture_default_str();
  curvature->add_option("--count", arguments.count, "points to show")->check(at_least(1))->capture_default_str();
  curvature->add_option("--seed", arguments.seed, "of the noise")->capture_default_str();
  curvature->add_flag("--no-check", arguments.no_check,
                      "do not check first whether data, preprocessing and labels suit the model");
  curvature->add_flag("--json", arguments.json, "one JSON object, with all points");
  curvature->add_option("--plot", arguments.plot, "also draw a chart to this .svg file");
  curvature->add_flag("--quiet", arguments.quiet, "no progress on stderr");
  curvature->footer(
      "shift: the largest mean error of a linearisation at x, over rivals. scatter: the largest standard deviation of that "
      "error.\n"
      "Both are in standard deviations of the margin's linear part. prop. 1, prop. 2: the papers' products for taylor and mmse.\n"
      "summed: an upper bound of the error of taylor if boundaries are quadratic. largest, mean, smallest: eigenvalues of the\n"
      "Hessian of the smoothed margin over the nearest rival, with standard errors.");
}

void describe_compare(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* compare = add_command(app, "compare", "runs on the same points: accuracy under noise and p against the first run",
                                  run_compare, chosen);
  compare
      ->add_option("RUN", arguments.runs,
                   ".sqlite files that estimate -o wrote, the baseline first; or one run of several models")
      ->required();
  compare->add_option("--against", arguments.against,
                      "compare every estimator with this one of the baseline (default: each with itself)");
  compare->add_flag("--json", arguments.json, "one JSON object");
  compare->footer(
      "accuracy, if there are labels: without noise (clean), and under noise, the mean probability of the label.\n"
      "p of A, p of B: mean p over the points that both have. B - A has a paired 95% interval.\n"
      "higher, lower: points with a higher and a lower p in B. sign test: how likely a split as uneven as theirs is by chance.\n"
      "beyond: points whose own 95% intervals do not overlap. r: Pearson's correlation.");
}

void describe_gate(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* gate = add_command(app, "gate", "thresholds for a run: exit status 1 if one is not met", run_gate, chosen);
  GateArguments& options = arguments.gate;
  gate->add_option("RUN", arguments.run, "a .sqlite file that estimate -o wrote")->required();
  gate->add_option("--min-mean", options.min_mean, "the mean of p is at least this");
  one_argument_each({gate->add_option("--min-quantile", options.min_quantile,
                                      "a quantile of p is at least this: 0.05=0.8 (95% of the points have p of 0.8 or more)")});
  gate->add_option("--min-class", options.min_class,
                   "the mean of p of every class is at least this (by label; without labels, by prediction)");
  gate->add_option("--max-drop", options.max_drop, "the mean of p is lower than in --baseline by at most this, paired by point");
  gate->add_option("--min-accuracy", options.min_accuracy, "the accuracy without noise is at least this (needs labels)");
  gate->add_option("--min-noisy-accuracy", options.min_noisy_accuracy,
                   "the accuracy under noise, the mean probability of the label, is at least this (needs labels)");
  gate->add_option("--max-noisy-drop", options.max_noisy_drop,
                   "the accuracy under noise is lower than in --baseline by at most this, paired by point (needs labels)");
  gate->add_option("--baseline", options.baseline, "a run on the same data, for --max-drop and --max-noisy-drop");
  one_argument_each({gate->add_option("--noise", arguments.noise, "only rows of this noise, for example gaussian:0.1"),
                     gate->add_option("--estimator", arguments.estimators, "only rows of this estimator, for example mc:1000")});
  gate->add_flag("--confident", options.confident,
                 "fail only if the whole 95% interval is on the wrong side (default: the measured value decides)");
  gate->add_flag("--allow-partial", options.allow_partial, "do not fail if points are missing or have no p");
  gate->add_flag("--accept-warnings", options.accept_warnings, "do not fail because of the run's warnings");
  gate->add_option("--junit", options.junit, "also write the checks to this file as JUnit XML");
  gate->add_flag("--json", arguments.json, "one JSON object");
}

void describe_check(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* check = add_command(
      app, "check", "whether data, preprocessing, layout and labels suit the model, and the options to add", run_check, chosen);
  add_model(*check, arguments);
  add_data(*check, arguments);
  add_device_options(*check, arguments);
  check->get_option("--limit")->description("at most this many points, spread evenly over the data (default: 500)");
  one_argument_each({check->add_option("--sigma", arguments.sigma, "noise scales, to compare with the data's range"),
                     check->add_option("--noise", arguments.noise, "noise models, as for estimate")});
  check->add_flag("--json", arguments.json, "one JSON object");
  check->add_flag("--quiet", arguments.quiet, "no progress on stderr");
  check->footer(
      "Every alternative costs one forward per point. `better` means beyond chance: McNemar's exact test, corrected for the "
      "number\n"
      "of alternatives. The exit status is 0 with warnings, too; gate fails with them.");
}

void describe_reproduce(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* command = add_command(app, "reproduce", "the experiments of the papers, with their claims checked, as one HTML page",
                                  run_reproduce, chosen);
  command->add_option("EXPERIMENT", arguments.reproduce.experiment, "all, or one of the names below")->required();
  command
      ->add_option(
          "--data", arguments.data.path,
          "generated data (digits), published data (mnist, fashion-mnist, ...; see data fetch), or a file of training points")
      ->required();
  command->add_option("--test", arguments.train.test, "with a file: test points");
  command->add_option("-o,--output", arguments.output, "the folder to write; what is there already is not computed again")
      ->required();
  command->add_flag("--quick", arguments.reproduce.quick, "fewer epochs, points and copies");
  command->add_option("--cache", arguments.reproduce.cache, "the folder of published data (default: that of data fetch)");
  add_device_options(*command, arguments);
  command->add_option("--seed", arguments.seed, "of generated data, training and noise")->capture_default_str();
  command->add_flag("--quiet", arguments.quiet, "no progress on stderr");
  command->footer([] {
    std::string text = "Experiments:\n";
    for (const reproduce::Experiment& experiment : reproduce::all_experiments())
      text += fmt::format("  {:<16} {}; {}\n", experiment.name, experiment.title, experiment.paper);
    return text;
  });
}

void describe_commands(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* inspect = add_command(app, "inspect", "what a model is made of, and what can be done with it", run_inspect, chosen);
  add_model(*inspect, arguments);
  add_decision_options(*inspect, arguments);
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
  add_decision_options(*estimate, arguments);
  add_data(*estimate, arguments);
  add_device_options(*estimate, arguments);
  add_question_options(*estimate, arguments);
  one_argument_each(
      {estimate->add_option("--model", arguments.more_models, "another model for the same data, in rows of its own")});
  estimate->add_option("-o,--output", arguments.output,
                       "write rows to this .csv, .jsonl or .sqlite file; if it is not complete, go on with it");
  estimate->add_flag("--force-new", arguments.force_new, "replace what -o names");
  estimate->add_flag("--extend", arguments.extend, "add noise models, estimators or points to the run that -o names");
  estimate->add_option("--shard", arguments.shard, "only part i of n of the points, as 1/4; probust merge puts them together");
  estimate->add_flag("--plan", arguments.plan, "print what the command would cost in passes, time and memory, and end");
  estimate->add_option("--format", arguments.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");
  estimate->add_flag("--quiet", arguments.quiet, "do not print accuracy and progress on stderr");

  CLI::App* exported = add_command(app, "export", "the rows of a run as .csv, .jsonl or .npz", run_export, chosen);
  exported->add_option("RUN", arguments.run, "a .sqlite file that estimate -o wrote")->required();
  exported->add_option("-o,--output", arguments.output, "the .csv, .jsonl or .npz file to write (default: stdout)");
  exported->add_option("--format", arguments.format, "table, csv or jsonl (default: table on a terminal, jsonl otherwise)");

  CLI::App* merge = add_command(app, "merge", "the shards of a run as one run", run_merge, chosen);
  merge->add_option("RUN", arguments.runs, "the .sqlite files of all shards")->required();
  merge->add_option("-o,--output", arguments.output, "the .sqlite file to write")->required();
  merge->add_flag("--force-new", arguments.force_new, "replace it if it is there");

  CLI::App* report_page = add_command(app, "report", "a run as one HTML page: charts, tables and images", run_report, chosen);
  report_page
      ->add_option("RUN", arguments.runs,
                   "a .sqlite file that estimate -o wrote; and another on the same points to compare with it")
      ->required()
      ->expected(1, 2);
  report_page->add_option("-o,--output", arguments.output, "the .html file to write")->required();
  report_page->add_option("--data", arguments.images, "the run's data, for images, if they are no longer where they were");
  report_page->add_flag("--quiet", arguments.quiet, "do not say on stderr if there are no images");

  CLI::App* mvn = add_command(app, "mvn", "multivariate normal probabilities, JSON lines in and out", run_mvn, chosen);
  mvn->add_option("--threads", arguments.device.threads, "processor threads")->check(at_least(1));
  mvn->footer(
      "Each line is an object with z, the limits, and either R, their correlations (an array of rows), or U, rows of unit "
      "length\n"
      "with R = U U'. A limit may be \"inf\" or \"-inf\". An id of any kind is repeated in the answer. Other keys are refused.\n"
      "A line that cannot be answered has null for numbers, and a status that says why.");

  describe_bench(app, arguments, chosen);
  add_train_options(*add_command(app, "train", "a classifier from labelled points, as an ONNX file", run_train, chosen),
                    arguments);
  add_point_options(*add_command(app, "data", "points to start with: generated, or published data sets", run_data, chosen),
                    arguments);

  describe_check(app, arguments, chosen);
  describe_reproduce(app, arguments, chosen);
  describe_analyses(app, arguments, chosen);
  describe_curvature(app, arguments, chosen);
  describe_compare(app, arguments, chosen);
  describe_gate(app, arguments, chosen);

  CLI::App* version = add_command(app, "version", "version, build options, devices", run_version, chosen);
  version->add_flag("--json", arguments.json, "one JSON object");
}

// All commands and options: what man pages, completions and the documentation are made of.
void describe_manual(CLI::App& app, Arguments& arguments, Command& chosen) {
  CLI::App* command = app.add_subcommand("manual", "this manual in one piece, or completions for a shell");
  command->add_option("--format", arguments.format, join(manual_formats(), ", ") + " (default: man)")
      ->check(CLI::IsMember(manual_formats()));
  command->callback([&app, &arguments, &chosen] {
    std::fputs(manual(app, arguments.format).c_str(), stdout);
    chosen = [](const Arguments&) { return 0; };
  });
}

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0    done\n"
    "  1    gate: a threshold is not met\n"
    "  2    wrong usage\n"
    "  3    a model or data file cannot be read\n"
    "  4    an operator is not supported\n"
    "  5    device, memory, or output that cannot be written\n"
    "  6    no row, or no probability, could be computed\n"
    "  7    a run that another process writes, or with another configuration\n"
    "  130  interrupted; a run goes on if the command is repeated";

// The command as it could be typed again.
std::string typed(int argc, char** argv) {
  std::string text = "probust";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#!~") == std::string::npos;
    if (plain) {
      text += " " + word;
    } else {
      text += " '";
      for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
      text += "'";
    }
  }
  return text;
}

int report(const Error& error) {
  say("probust: {}\n", error.message(as_flag));
  return static_cast<int>(error.code);
}

// Where the command stands among the arguments: the first word that is no option, or else the first.
int command_position(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') return i;
  }
  return 1;
}

// The problem in CLI11's words, which contain the option's name, on one line.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const bool no_command = app.get_subcommands().empty() && argc > 1;
  const bool unknown = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) || no_command;
  const int before = command_position(argc, argv) - 1;  // --help, for example
  std::string problem = error.what();
  if (no_command) problem = "'" + std::string(argv[before + 1]) + "' is not a command";
  const std::string hint = unknown || argc < 2 ? suggestion(app, argc - before, argv + before)
                                               : "see probust " + app.get_subcommands().front()->get_name() + " --help";
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
  describe_manual(app, arguments, chosen);
  arguments.command = typed(argc, argv);
  try {
    app.parse(argc, argv);
    refuse_overwriting(arguments);
    return end_output(chosen(arguments));
  } catch (const CLI::Success& help) {
    // CLI11 prints help and the version before it looks for words that nothing takes.
    const std::vector<std::string> unknown = app.remaining(true);
    if (!unknown.empty()) return usage_error(app, CLI::ExtrasError(unknown), argc, argv);
    return end_output(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  } catch (...) {
    // What was thrown by a failed write to stdout would be taken for an error of ours.
    return std::ferror(stdout) != 0 ? end_output(0) : report(handled_error(""));
  }
}

}  // namespace probust::cli
