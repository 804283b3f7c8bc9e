// SPDX-License-Identifier: MIT
// Categorical features, each with one column per value. Value i changes to j with probability P(i, j): columns i and j then swap
// their contents, so any two numbers may stand for set and unset.
#include <algorithm>
#include <cmath>
#include <set>

#include "probust/base/error.h"
#include "probust/noise/sampled.h"

namespace probust {
namespace {

class Categorical final : public SampledNoise {
 public:
  Categorical(std::vector<Category> categories, std::string where)
      : SampledNoise("categorical noise"), categories_(std::move(categories)), where_(std::move(where)) {}

  std::string name() const override { return "categorical:" + where_; }
  std::string text(double) const override { return name(); }
  bool one_parameter() const override { return false; }

  void fit(std::int64_t elements, std::int64_t) const override {
    for (const Category& category : categories_) {
      for (const std::int64_t column : category.columns) {
        if (column < elements) continue;
        throw Error{ErrorCode::unreadable, where_, "has column " + std::to_string(column) + ", which does not exist",
                    "the points have columns 0.." + std::to_string(elements - 1)};
      }
    }
  }

  std::vector<std::int64_t> columns(std::int64_t) const override {
    std::vector<std::int64_t> all;
    for (const Category& category : categories_) all.insert(all.end(), category.columns.begin(), category.columns.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  // A negative scale uses 1 - u instead of the uniform number u.
  void add(const NoiseLanes& lanes, std::int64_t, float scale, float* x) const override {
    const std::size_t count = lanes.points.size();
    for (std::size_t lane = 0; lane < count; ++lane) {
      NoiseStream random(lanes.seed, lanes.points[lane], lanes.samples[lane], lanes.stream);
      for (const Category& category : categories_) {
        const double u = random.uniform();
        change(category, scale < 0 ? 1 - u : u, x + lane, static_cast<std::int64_t>(count));
      }
    }
  }

 private:
  static void change(const Category& category, double u, float* x, std::int64_t stride) {
    const std::size_t values = category.columns.size();
    const auto at = [&](std::size_t value) -> float& { return x[category.columns[value] * stride]; };
    std::size_t present = 0;
    for (std::size_t value = 1; value < values; ++value) present = at(value) > at(present) ? value : present;
    std::size_t next = 0;
    double below = category.transitions[present * values];
    while (next + 1 < values && u >= below) below += category.transitions[present * values + ++next];
    std::swap(at(present), at(next));
  }

  std::vector<Category> categories_;
  std::string where_;
};

void check(const Category& category, std::set<std::int64_t>& seen, const std::string& where) {
  const std::size_t values = category.columns.size();
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error{ErrorCode::unreadable, where, what, hint};
  };
  for (const std::int64_t column : category.columns) {
    if (column < 0 || !seen.insert(column).second)
      refuse("has column " + std::to_string(column) + ", which is negative or listed twice", "give each feature its own columns");
  }
  if (values == 0 || category.transitions.size() != values * values)
    refuse("has a feature of " + std::to_string(values) + " columns, but " + std::to_string(category.transitions.size()) +
               " transition probabilities",
           "give a square matrix with a row and a column for each column of the feature");
  for (std::size_t row = 0; row < values; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < values; ++i) {
      const double probability = category.transitions[row * values + i];
      sum += probability >= 0 ? probability : NAN;
    }
    if (!(std::fabs(sum - 1) < 1e-6))
      refuse("has a transition matrix whose row " + std::to_string(row) + " is not a distribution",
             "give non-negative probabilities that sum to 1");
  }
}

}  // namespace

std::shared_ptr<const NoiseShape> categorical_noise(std::vector<Category> categories, std::string where) {
  if (categories.empty()) throw Error{ErrorCode::unreadable, where, "has no features", "give at least one group of columns"};
  std::set<std::int64_t> seen;
  for (const Category& category : categories) check(category, seen, where);
  return std::make_shared<const Categorical>(std::move(categories), std::move(where));
}

}  // namespace probust
