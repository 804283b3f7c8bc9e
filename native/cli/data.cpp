// SPDX-License-Identifier: MIT
// probust data: points to start with, generated from a seed or published by others.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/progress_line.h"
#include "datasets/fetch.h"
#include "datasets/iris.h"
#include "datasets/npz.h"
#include "datasets/partial_file.h"
#include "datasets/unwritable.h"
#include "probust/base/text.h"
#include "probust/data/datasets.h"

namespace probust::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kDefaultCount = 1000;

// What can be written to a file.
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

// Options that say nothing about what is asked for.
void refuse_given(std::initializer_list<GivenOption> options, const std::string& what) {
  for (const auto& [flag, given] : options) {
    if (given) throw Error{ErrorCode::usage, flag, "is not for " + what, "leave it out"};
  }
}

// ---- writing points

// x [N, d] and labels as text; the label is the last column, which is where `--label-column last` looks.
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

// Before anything is computed.
void check_output(const std::string& path, bool table) {
  if (path.empty()) throw Error{ErrorCode::usage, "--output", "is missing", "name the file to write with -o"};
  if (path.ends_with(".npz") || (table && path.ends_with(".csv"))) return require_writable(path);
  throw Error{ErrorCode::usage, "--output", "'" + path + "' does not end in .npz" + (table ? " or .csv" : ""),
              "name for example points.npz"};
}

void write_points(const std::string& path, const Dataset& data) {
  if (path.ends_with(".csv")) {
    write_csv(path, data);
  } else {
    write_npz(path, data.x, data.labels);
  }
}

void print_written(const Arguments& arguments, const Dataset& data, std::int64_t classes, ordered_json record) {
  const Shape shape(data.x.shape.begin() + 1, data.x.shape.end());
  if (arguments.json) {
    record["file"] = arguments.output;
    record["points"] = data.x.shape[0];
    record["shape"] = shape;
    record["classes"] = classes;
    fmt::print("{}\n", json_text(record));
  } else {
    fmt::print("{}: {} points of shape {} in {} classes\n", arguments.output, data.x.shape[0], to_string(shape), classes);
  }
}

// ---- generated points

int generate(const Arguments& arguments) {
  const PointArguments& points = arguments.points;
  const MadeDataKind& kind = made_data_kind(points.what);
  check_output(arguments.output, kind.side == 0);
  MadeDataOptions options;
  options.count = points.count.value_or(kDefaultCount);
  options.classes = points.classes;
  options.noise = points.noise;
  options.side = points.side;
  options.seed = arguments.seed;
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
  print_written(arguments, data, made.classes,
                {{"kind", kind.name}, {"noise", points.noise.value_or(kind.noise)}, {"seed", arguments.seed}});
  return 0;
}

// ---- Iris

int write_iris(const Arguments& arguments) {
  check_output(arguments.output, true);
  const Dataset flowers = iris();
  write_points(arguments.output, flowers);
  print_written(arguments, flowers, std::ssize(flowers.class_names), {{"kind", "iris"}, {"class_names", flowers.class_names}});
  return 0;
}

// ---- published points

std::string origin_text(const FetchedFile& file) {
  switch (file.origin) {
    case Origin::kept:
      return "was there";
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

ordered_json json_of(const Published& dataset, const Fetched& fetched, const Located& located) {
  ordered_json json{{"name", dataset.name},
                    {"train", located.train},
                    {"test", located.test.empty() ? ordered_json(nullptr) : ordered_json(located.test)},
                    {"class_names", fetched.class_names},
                    {"cifar100", located.options.cifar100},
                    {"files", ordered_json::array()}};
  for (const FetchedFile& file : fetched.files) {
    json["files"].push_back({{"path", file.path},
                             {"bytes", file.bytes},
                             {"origin", origin_name(file.origin)},
                             {"source", file.source.empty() ? ordered_json(nullptr) : ordered_json(file.source)},
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

int fetch_published(const Arguments& arguments) {
  const PointArguments& points = arguments.points;
  std::vector<std::string> names;
  for (const Published& dataset : published_datasets()) names.push_back(dataset.name);
  if (points.name.empty()) throw Error{ErrorCode::usage, "data fetch", "does not say what", "give " + join(names, " or ")};
  const Published& dataset = published_dataset(points.name);
  StopToken stop{false};
  std::atomic<std::int64_t> done{0};
  Fetched fetched;
  const auto work = [&] {
    const ProgressLine line("fetching " + dataset.name, done, bytes_to_fetch(dataset), arguments.quiet);
    fetched = fetch(dataset, {points.from, points.cache, points.unverified}, done, &stop);
    return 0;
  };
  const int status = run_interruptibly(
      stop, work, [] { return std::string("files that are complete stay, and the same command fetches the others"); });
  if (status != 0) return status;
  const std::optional<Located> located = locate(dataset.name, points.cache);
  if (!located) throw Error{ErrorCode::unreadable, dataset.name, "is no longer in the cache", "fetch it again"};
  if (arguments.json) {
    fmt::print("{}\n", json_text(json_of(dataset, fetched, *located), 2));
  } else {
    print_fetched(dataset, fetched, *located);
  }
  return 0;
}

}  // namespace

int run_data(const Arguments& arguments) {
  const PointArguments& points = arguments.points;
  const std::initializer_list<GivenOption> generating{{"--count", points.count.has_value()},
                                                      {"--side", points.side.has_value()},
                                                      {"--classes", points.classes.has_value()},
                                                      {"--noise", points.noise.has_value()}};
  if (points.what == "fetch") {
    refuse_given(generating, "fetch");
    refuse_given({{"--output", !arguments.output.empty()}}, "fetch, which has --cache FOLDER");
    return fetch_published(arguments);
  }
  std::vector<std::string> names = writable_names();
  if (std::find(names.begin(), names.end(), points.what) == names.end()) {
    names.emplace_back("fetch");
    throw Error{ErrorCode::usage, "data", "'" + points.what + "' is not known", "give " + join(names, " or ")};
  }
  refuse_given({{"NAME", !points.name.empty()},
                {"--from", !points.from.empty()},
                {"--cache", !points.cache.empty()},
                {"--unverified", points.unverified}},
               points.what == "iris" ? "iris, which is part of the program" : "generated data");
  if (points.what != "iris") return generate(arguments);
  refuse_given(generating, "iris");
  return write_iris(arguments);
}

}  // namespace probust::cli
