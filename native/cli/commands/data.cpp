// SPDX-License-Identifier: MIT
// probust data: writes example points to a file (generated ones, or Iris), or downloads published data sets.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "datasets/fetch/fetch.h"
#include "datasets/fetch/iris.h"
#include "datasets/fetch/partial_file.h"
#include "datasets/json.h"
#include "datasets/npz.h"
#include "datasets/unwritable.h"
#include "probust/base/text.h"
#include "probust/data/datasets.h"

namespace probust::cli {
namespace {

// The options that only this command has.
struct DataCommandOptions : Arguments {
  std::string what;  ///< a kind of generated data, or "fetch"
  std::string name;  ///< the name of a published data set
  std::optional<std::int64_t> count, side, classes;
  std::optional<double> noise;
  std::string from, cache;
  bool unverified = false;
};

// The lists of data sets below the help of `data`.
std::string points_explained() {
  std::string text = "Generated:\n";
  for (const MadeDataKind& kind : made_data_kinds()) text += fmt::format("  {:<15} {}\n", kind.name, kind.summary);
  text += "Part of the program:\n  iris            150 flowers of 4 numbers in three classes (Anderson, Fisher)\nPublished:\n";
  for (const Published& dataset : published_datasets()) text += fmt::format("  {:<15} {}\n", dataset.name, dataset.summary);
  text.pop_back();
  return text;
}

constexpr std::int64_t kDefaultCount = 1000;

// The names of data sets that can be written to a file.
std::vector<std::string> writable_names() {
  std::vector<std::string> names;
  for (const MadeDataKind& kind : made_data_kinds()) names.emplace_back(kind.name);
  names.emplace_back("iris");
  return names;
}

struct GivenOption {
  const char* flag;
  bool given;
};

// Rejects options that do not apply to the data set.
void refuse_given(std::initializer_list<GivenOption> options, const std::string& what) {
  for (const auto& [flag, given] : options) {
    if (given) throw Error{ErrorCode::usage, flag, "does not apply to " + what, "leave it out"};
  }
}

// ---- writing points

// Writes points [N, d] and labels as text. The label is the last column, as `--label-column last` expects.
void write_csv(const std::string& path, const Dataset& data) {
  std::string text;
  for (std::int64_t i = 0; i < data.x.shape[0]; ++i) {
    for (const float value : data.x.row(i)) text += fmt::format("{},", value);
    const auto label = static_cast<std::size_t>(data.labels[static_cast<std::size_t>(i)]);
    text += label < data.class_names.size() ? data.class_names[label] : std::to_string(label);
    text += "\n";
  }
  write_whole(path, text);
}

// Checks the output path before anything is computed. `table`: whether the points can be written as .csv.
void check_output(const std::string& path, bool table) {
  if (path.empty()) throw Error{ErrorCode::usage, "--output", "is missing", "give the file to write with -o"};
  if (path.ends_with(".npz") || (table && path.ends_with(".csv"))) return require_writable(path);
  throw Error{ErrorCode::usage, "--output", "is '" + path + "', which does not end in .npz" + (table ? " or .csv" : ""),
              "try points.npz"};
}

void write_points(const std::string& path, const Dataset& data) {
  if (path.ends_with(".csv")) {
    write_csv(path, data);
  } else {
    write_npz(path, data.x, data.labels);
  }
}

void print_written(const DataCommandOptions& arguments, const Dataset& data, std::int64_t classes, Document record) {
  const Shape shape(data.x.shape.begin() + 1, data.x.shape.end());
  if (arguments.json) {
    record["file"] = arguments.output;
    record["points"] = data.x.shape[0];
    record["shape"] = shape;
    record["classes"] = classes;
    fmt::print("{}\n", datasets::json_text(record));
  } else {
    fmt::print("{}: {} points of shape {} in {} classes\n", arguments.output, data.x.shape[0], to_string(shape), classes);
  }
}

// ---- generated points

int generate(const DataCommandOptions& arguments) {
  const MadeDataKind& kind = made_data_kind(arguments.what);
  check_output(arguments.output, kind.side == 0);
  MadeDataOptions options;
  options.count = arguments.count.value_or(kDefaultCount);
  options.classes = arguments.classes;
  options.noise = arguments.noise;
  options.side = arguments.side;
  options.seed = arguments.question.seed;
  DataMaker maker(kind, options);
  std::atomic<std::int64_t> done{0};
  const auto work = [&] {
    const ProgressLine line("generating", done, maker.planned(), arguments.quiet);
    constexpr double kMilliseconds = 50;
    while (!maker.step(kMilliseconds)) done = maker.done();
    return 0;
  };
  if (const int status = run_interruptibly(maker.stop(), work, [] { return std::string("nothing was written"); }); status != 0)
    return status;
  const MadeData& made = maker.data();
  const Dataset data{made.x, made.labels, {}};
  write_points(arguments.output, data);
  print_written(
      arguments, data, made.classes,
      Document::Object{{"kind", kind.name}, {"noise", arguments.noise.value_or(kind.noise)}, {"seed", arguments.question.seed}});
  return 0;
}

// ---- Iris

int write_iris(const DataCommandOptions& arguments) {
  check_output(arguments.output, true);
  const Dataset flowers = iris();
  write_points(arguments.output, flowers);
  print_written(arguments, flowers, std::ssize(flowers.class_names),
                Document::Object{{"kind", "iris"}, {"class_names", flowers.class_names}});
  return 0;
}

// ---- published points

std::string origin_text(const FetchedFile& file) {
  switch (file.origin) {
    case Origin::kept:
      return "already there";
    case Origin::downloaded:
      return "downloaded from " + file.source;
    case Origin::copied:
      return "copied from " + file.source;
  }
  return "";
}

const char* origin_name(Origin origin) {
  return origin == Origin::kept ? "kept" : origin == Origin::downloaded ? "downloaded" : "copied";
}

Document fetched_json(const Published& dataset, const Fetched& fetched, const Located& located) {
  Document json = Document::Object{{"name", dataset.name},
                                   {"train", located.train},
                                   {"test", Document::text_or_null(located.test)},
                                   {"class_names", fetched.class_names},
                                   {"cifar100", located.options.cifar100},
                                   {"files", Document::List{}}};
  for (const FetchedFile& file : fetched.files) {
    json["files"].push_back(Document::Object{{"path", file.path},
                                             {"bytes", file.bytes},
                                             {"origin", origin_name(file.origin)},
                                             {"source", Document::text_or_null(file.source)},
                                             {"verified", file.verified}});
  }
  return json;
}

void print_fetched(const Published& dataset, const Fetched& fetched, const Located& located) {
  fmt::print("{}: {}\n", dataset.name, dataset.summary);
  for (const FetchedFile& file : fetched.files) {
    fmt::print("{}: {} bytes, {}; {}\n", file.path, file.bytes, file.verified ? "as published" : "NOT as published",
               origin_text(file));
  }
  const bool images = dataset.options.cifar100 || !located.test.empty();
  fmt::print("use: probust train --data {}{}{} --model {} -o {}.onnx\n", located.train,
             located.test.empty() ? "" : " --test " + located.test, located.options.cifar100 ? " --cifar100" : "",
             images ? "cnn" : "mlp:64,64", dataset.name);
  fmt::print("class names: --classes {}\n", fetched.class_names);
}

int fetch_published(const DataCommandOptions& arguments) {
  std::vector<std::string> names;
  for (const Published& dataset : published_datasets()) names.push_back(dataset.name);
  if (arguments.name.empty())
    throw Error{ErrorCode::usage, "data fetch", "needs the name of a data set", "use " + join(names, " or ")};
  const Published& dataset = published_dataset(arguments.name);
  StopToken stop{false};
  std::atomic<std::int64_t> done{0};
  Fetched fetched;
  const auto work = [&] {
    const ProgressLine line("fetching " + dataset.name, done, bytes_to_fetch(dataset), arguments.quiet);
    fetched = fetch(dataset, {arguments.from, arguments.cache, arguments.unverified}, done, &stop);
    return 0;
  };
  const int status = run_interruptibly(
      stop, work, [] { return std::string("complete files are kept, and the same command fetches the others"); });
  if (status != 0) return status;
  const std::optional<Located> located = locate(dataset.name, arguments.cache);
  if (!located) throw Error{ErrorCode::unreadable, dataset.name, "is no longer in the cache", "fetch it again"};
  if (arguments.json) {
    fmt::print("{}\n", datasets::json_text(fetched_json(dataset, fetched, *located), 2));
  } else {
    print_fetched(dataset, fetched, *located);
  }
  return 0;
}

int run_data(const DataCommandOptions& arguments) {
  const std::initializer_list<GivenOption> generating{{"--count", arguments.count.has_value()},
                                                      {"--side", arguments.side.has_value()},
                                                      {"--classes", arguments.classes.has_value()},
                                                      {"--noise", arguments.noise.has_value()}};
  if (arguments.what == "fetch") {
    refuse_given(generating, "fetch");
    refuse_given({{"--output", !arguments.output.empty()}}, "fetch, which has --cache FOLDER");
    return fetch_published(arguments);
  }
  std::vector<std::string> names = writable_names();
  if (std::find(names.begin(), names.end(), arguments.what) == names.end()) {
    names.emplace_back("fetch");
    throw Error{ErrorCode::usage, "data", "cannot generate '" + arguments.what + "'", "use " + join(names, " or ")};
  }
  refuse_given({{"NAME", !arguments.name.empty()},
                {"--from", !arguments.from.empty()},
                {"--cache", !arguments.cache.empty()},
                {"--unverified", arguments.unverified}},
               arguments.what == "iris" ? "iris, which is part of the program" : "generated data");
  if (arguments.what != "iris") return generate(arguments);
  refuse_given(generating, "iris");
  return write_iris(arguments);
}

}  // namespace

void describe_data(CommandLine& line) {
  auto [command, own] = line.add<DataCommandOptions>("data", "generated or published data sets to start with", run_data);
  command.add_option("WHAT", own.what, "a data set listed below, or fetch").required();
  command.add_option("NAME", own.name, "with fetch: a published data set listed below");
  command.add_option("-o,--output", own.output, "file to write: .npz with x and y, or .csv unless points are images");
  command.add_option("--count", own.count, "number of points to generate (default: 1000)").at_least(1);
  command.add_option("--classes", own.classes, "number of classes of generated points (default: depends on the kind)")
      .at_least(1);
  command.add_option("--noise", own.noise,
                     "standard deviation of noise added to generated points (default: depends on the kind)");
  command.add_option("--side", own.side, "side of generated images in pixels (default: 28)").at_least(1);
  command.add_option("--seed", own.question.seed, "random seed for generated points").show_default();
  command.add_option("--from", own.from, "folder to fetch from, or its URL");
  command.add_option("--cache", own.cache,
                     "folder for fetched files (default: $PROBUST_CACHE, or $XDG_CACHE_HOME/probust, or "
                     "~/.cache/probust)");
  command.add_flag("--unverified", own.unverified, "with --from FOLDER: accept files that differ from the published ones");
  command.add_flag("--json", own.json, "print one JSON object");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  command.set_footer(points_explained);
}

}  // namespace probust::cli
