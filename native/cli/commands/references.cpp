// SPDX-License-Identifier: MIT
#include "cli/commands/references.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "datasets/json.h"
#include "datasets/unwritable.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

constexpr std::uint64_t kSeedApart = 1000003;  // keeps this noise apart from that of the compared estimates

// Point i, with the seed for reference probabilities.
Points one_point(const Points& points, std::int64_t i) {
  Points one = slice(points, i, 1);
  one.seed = kSeedApart;
  return one;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

References::References(std::string path, EstimatorSpec estimator) : path_(std::move(path)), estimator_(estimator) {
  if (!path_.empty()) require_writable(path_);
  std::ifstream file(path_);
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    const Document entry = datasets::parse_json(line).value_or(Document());
    const Document *key = entry.find("key"), *p = entry.find("p");
    if (key == nullptr || p == nullptr || key->get_if<std::string>() == nullptr || !p->number()) {
      throw Error{ErrorCode::unreadable, "line " + std::to_string(number) + " of " + path_, "is not a reference probability",
                  "give a file written by --references, or the name of a new one"};
    }
    known_[*key->get_if<std::string>()] = *p->number();
  }
}

void References::remember(const std::string& key, double p) {
  known_[key] = p;
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  if (!file) throw unwritable(path_, errno);
  file << datasets::json_text(Document::Object{{"key", key}, {"p", p}}) << '\n';
  if (!file.flush()) throw Error{ErrorCode::resources, path_, "could not be written", "check that the disk is not full"};
}

std::vector<double> References::of(const Arguments& problem, Evaluation& evaluation, const Noise& noise) {
  const Points& points = evaluation.points();
  std::vector<double> result;
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const std::string key = file_name(problem.model) + " " + file_name(problem.data.path) + " " +
                            std::to_string(points.index[i]) + " class " + std::to_string(points.target[i]) + " " + noise.text() +
                            " " + estimator_.text();
    if (!known_.contains(key)) {
      Evaluation one(evaluation.executor(), one_point(points, i), rows(evaluation.logits(), i, 1));
      remember(key, estimate(one, noise, estimator_).value()[0].p);
    }
    result.push_back(known_[key]);
  }
  return result;
}

}  // namespace probust::cli
