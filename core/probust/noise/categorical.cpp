// SPDX-License-Identifier: MIT
// Categorical features. Value i changes to j with probability P(i, j). With one column per value, columns i and j then swap their
// contents, so any two numbers may stand for set and unset; a single column gets the code of j. Numbers in other columns may
// change with the value.
#include <algorithm>
#include <cmath>
#include <set>

#include "probust/base/error.h"
#include "probust/noise/sampled.h"

namespace probust {
namespace {

std::size_t values_of(const Category& category) {
  return category.codes.empty() ? category.columns.size() : category.codes.size();
}

class Categorical final : public SampledNoise {
 public:
  Categorical(std::vector<Category> categories, std::string where)
      : SampledNoise("categorical noise"), categories_(std::move(categories)), where_(std::move(where)) {}

  std::string name() const override { return "categorical:" + where_; }
  std::string text(double) const override { return name(); }
  bool one_parameter() const override { return false; }

  void fit(std::int64_t elements, std::int64_t) const override {
    const std::int64_t last = columns(elements).back();
    if (last < elements) return;
    throw Error{ErrorCode::unreadable, where_, "has column " + std::to_string(last) + ", which does not exist",
                "the points have columns 0.." + std::to_string(elements - 1)};
  }

  std::vector<std::int64_t> columns(std::int64_t) const override {
    std::vector<std::int64_t> all;
    for (const Category& category : categories_) {
      all.insert(all.end(), category.columns.begin(), category.columns.end());
      for (const Category::Joint& joint : category.joint) all.push_back(joint.column);
    }
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
    const std::size_t values = values_of(category);
    const auto at = [&](std::size_t k) -> float& { return x[category.columns[k] * stride]; };
    // The present value has the largest number in its column, or the nearest code.
    const auto distance = [&](std::size_t value) {
      return category.codes.empty() ? -double{at(value)} : std::fabs(at(0) - category.codes[value]);
    };
    std::size_t present = 0;
    for (std::size_t value = 1; value < values; ++value) present = distance(value) < distance(present) ? value : present;
    std::size_t next = 0;
    double below = category.transitions[present * values];
    while (next + 1 < values && u >= below) below += category.transitions[present * values + ++next];
    for (const Category::Joint& joint : category.joint)
      x[joint.column * stride] += static_cast<float>(joint.add[present * values + next]);
    if (category.codes.empty())
      std::swap(at(present), at(next));
    else if (next != present)
      at(0) = static_cast<float>(category.codes[next]);
  }

  std::vector<Category> categories_;
  std::string where_;
};

void check(const Category& category, std::set<std::int64_t>& seen, const std::string& where) {
  const std::size_t values = values_of(category);
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error{ErrorCode::unreadable, where, what, hint};
  };
  std::vector<std::int64_t> columns = category.columns;
  for (const Category::Joint& joint : category.joint) columns.push_back(joint.column);
  for (const std::int64_t column : columns) {
    if (column < 0 || !seen.insert(column).second)
      refuse("has column " + std::to_string(column) + ", which is negative or listed twice", "give each feature its own columns");
  }
  const std::string size = std::to_string(values),
                    hint = "give a square matrix with a row and a column for each value of the feature";
  if (values == 0 || category.transitions.size() != values * values)
    refuse(
        "has a feature of " + size + " values, but " + std::to_string(category.transitions.size()) + " transition probabilities",
        hint);
  if (!category.codes.empty() && category.columns.size() != 1)
    refuse("has a feature with codes and " + std::to_string(category.columns.size()) + " columns", "give one column");
  if (std::set(category.codes.begin(), category.codes.end()).size() != category.codes.size())
    refuse("has a code twice", "give each value its own code");
  for (const Category::Joint& joint : category.joint) {
    const bool finite = std::all_of(joint.add.begin(), joint.add.end(), [](double each) { return std::isfinite(each); });
    if (joint.add.size() != values * values || !finite)
      refuse("has a feature of " + size + " values, but a matrix to add with " + std::to_string(joint.add.size()) +
                 " numbers, or numbers that are not finite",
             hint);
  }
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
