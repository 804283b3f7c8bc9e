// SPDX-License-Identifier: MIT
#include "experiments/subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/run/load.h"
#include "datasets/fetch/catalogue.h"
#include "datasets/npz.h"
#include "datasets/point_source.h"
#include "probust/data/datasets.h"

namespace probust::cli::reproduce {
namespace {

bool is_color(const Subject& subject) { return subject.point.size() == 3 && subject.point[0] == 3; }

// Generates training and test points, with different seeds.
Subject generated(const MadeDataKind& kind, const Arguments& arguments, const std::string& folder, bool quick) {
  MadeDataOptions training{quick ? 3000 : 6000, {}, {}, {}, arguments.question.seed},
      test{quick ? 500 : 1500, {}, {}, {}, arguments.question.seed + 1};
  const auto path = [&](const char* part) {
    return (std::filesystem::path(folder) / fmt::format("{}-{}.npz", kind.name, part)).string();
  };
  Subject subject;
  subject.name = kind.name;
  subject.description = fmt::format("generated {}", kind.name);
  subject.generated = true;
  subject.train = path("train");
  subject.test = path("test");
  for (const auto& [name, options] : {std::pair(subject.train, training), std::pair(subject.test, test)}) {
    const MadeData data = make_data(kind, options);
    subject.point = point_shape(data.x);
    write_npz(name, data.x, data.labels);
  }
  return subject;
}

Subject of_files(const std::string& train, const std::string& test) {
  Subject subject;
  subject.name = std::filesystem::path(train).filename().string();
  subject.description = subject.name;
  subject.train = train;
  subject.test = test;
  return subject;
}

Subject published(const std::string& name, const std::string& cache) {
  const std::optional<Located> located = locate(name, cache);
  if (!located) throw Error{ErrorCode::usage, name, "is not in the cache", "run probust data fetch " + name};
  Subject subject = of_files(located->train, located->test);
  subject.name = subject.description = name;
  subject.class_names = located->classes;
  subject.cifar100 = located->options.cifar100;
  return subject;
}

bool is_published(const std::string& name) {
  const std::vector<Published>& sets = published_datasets();
  return std::any_of(sets.begin(), sets.end(), [&](const Published& set) { return set.name == name && !set.test.empty(); });
}

std::string known_names() {
  std::string names;
  for (const MadeDataKind& kind : made_data_kinds()) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names + " or the name of a data set that probust data fetch knows, or files with --test";
}

// Counts points and classes, and checks that training and test points have the same shape.
void measure(Subject& subject) {
  const auto look = [&](const std::string& path, std::int64_t& points, std::int64_t& classes) {
    const std::unique_ptr<PointSource> source = open_dataset(path, {.cifar100 = subject.cifar100}).value();
    const std::vector<std::int64_t> labels = source->labels();
    if (labels.empty()) throw Error{ErrorCode::usage, path, "has no labels", "give labelled points"};
    points = source->count();
    classes = std::max(classes, *std::max_element(labels.begin(), labels.end()) + 1);
    return source->point_shape();
  };
  subject.point = look(subject.train, subject.training_points, subject.classes);
  const Shape test = look(subject.test, subject.test_points, subject.classes);
  if (test != subject.point)
    throw Error{ErrorCode::usage, "--test", "has points of shape " + to_string(test),
                "give points of the training data's shape " + to_string(subject.point)};
}

}  // namespace

Subject find_subject(const Arguments& arguments, const std::string& folder, bool quick) {
  const std::string& name = arguments.data.path;
  const auto kinds = made_data_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const MadeDataKind& each) { return each.name == name; });
  Subject subject;
  if (kind != kinds.end()) {
    subject = generated(*kind, arguments, folder, quick);
  } else if (is_published(name)) {
    subject = published(name, arguments.reproduce.cache);
  } else {
    if (!std::filesystem::exists(name))
      throw Error{ErrorCode::usage, "--data", "cannot be '" + name + "'", "use " + known_names()};
    if (arguments.train.test.empty()) throw Error{ErrorCode::usage, "--test", "is missing", "give a file of test points"};
    subject = of_files(name, arguments.train.test);
  }
  measure(subject);
  return subject;
}

bool suits_cnn(const Shape& point) { return point.size() == 3 && point[1] >= 16 && point[2] >= 16; }

Sizes sizes_of(const Subject& subject, bool quick) {
  if (subject.generated) return quick ? Sizes{-1, 4, 200, 2000, 50} : Sizes{-1, 6, 200, 5000, 100};
  return quick ? Sizes{-1, 4, 500, 10000, 100} : Sizes{};
}

std::vector<double> sigmas_of(const Subject& subject) {
  if (is_color(subject)) return {0.01, 0.02, 0.05, 0.1, 0.2};
  return {0.05, 0.1, 0.2, 0.3, 0.5};
}

Recipe network_recipe(const Subject& subject, bool quick) {
  Recipe recipe;
  if (!suits_cnn(subject.point)) {
    recipe.model = "mlp:64,64";
  } else {
    recipe.model = is_color(subject) && !quick ? "resnet18" : "cnn";
  }
  return recipe;
}

}  // namespace probust::cli::reproduce
