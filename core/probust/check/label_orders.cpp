// SPDX-License-Identifier: MIT
#include "probust/check/label_orders.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust {
namespace {

// rank[i]: the position of text i in alphabetical order.
std::vector<std::int64_t> alphabetical_ranks(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> sorted(texts.size()), rank(texts.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::int64_t a, std::int64_t b) { return texts[a] < texts[b]; });
  for (std::size_t i = 0; i < sorted.size(); ++i) rank[sorted[i]] = static_cast<std::int64_t>(i);
  return rank;
}

std::vector<std::string> number_texts(std::int64_t count) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count; ++i) texts.push_back(std::to_string(i));
  return texts;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> result(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = static_cast<std::int64_t>(i);
  return result;
}

// The numbers in the names; empty if a name has none.
std::vector<std::int64_t> numbers_of(const std::vector<std::string>& names) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names) {
    const auto number = parse_integer(name);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::vector<LabelOrder> label_orders(std::span<const std::int64_t> labels, const std::vector<std::string>& names,
                                     std::int64_t classes) {
  std::int64_t largest = 0;
  for (const std::int64_t label : labels) largest = std::max(largest, label);
  constexpr std::int64_t kMost = 1 << 20;
  if (labels.empty() || largest > kMost) return {};
  std::vector<LabelOrder> orders;
  const auto add = [&](std::string name, std::string remedy, const std::function<std::int64_t(std::int64_t)>& of) {
    LabelOrder order{std::move(name), std::move(remedy), {}};
    for (std::int64_t label = 0; label <= largest; ++label) {
      const std::int64_t to = of(label);
      order.classes_of.push_back(to >= 0 && to < classes ? to : -1);
    }
    const bool same = std::all_of(labels.begin(), labels.end(),
                                  [&](std::int64_t label) { return label < 0 || order.classes_of[label] == label; });
    const bool known =
        std::any_of(orders.begin(), orders.end(), [&](const LabelOrder& other) { return other.classes_of == order.classes_of; });
    if (!same && !known) orders.push_back(std::move(order));
  };
  const std::string with_labels = "give them with " + option("labels");
  // Labels that range from 0 to the largest class need no shift.
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  if (*least > 0 || *most >= classes)
    add("labels - 1", "labels start at 1: subtract 1 and " + with_labels, [](std::int64_t l) { return l - 1; });
  if (*most < classes - 1)
    add("labels + 1", "class 0 of the model has no label: add 1 and " + with_labels, [](std::int64_t l) { return l + 1; });
  const std::vector<std::int64_t> numbers = numbers_of(names);
  const std::string with_classes = "list the names in the model's order with " + option("classes");
  if (!numbers.empty())
    add("labels taken from the numbers in their names", with_classes,
        [&](std::int64_t l) { return l < std::ssize(numbers) ? numbers[l] : l; });
  if (names.size() > 1) {
    const auto rank = alphabetical_ranks(names);
    add("names in alphabetical order", with_classes, [&](std::int64_t l) { return l < std::ssize(rank) ? rank[l] : l; });
  }
  if (classes == 2)
    add("labels 0 and 1 swapped", "labels 0 and 1 are the model's classes 1 and 0: swap them and " + with_labels,
        [](std::int64_t l) { return 1 - l; });
  if (classes > 10 && classes <= kMost) {
    const auto rank = alphabetical_ranks(number_texts(classes)), number = inverse(rank);
    const auto through = [](const std::vector<std::int64_t>& map) {
      return [&map](std::int64_t l) { return l < std::ssize(map) ? map[l] : l; };
    };
    add("labels in numeric order",
        "labels are numbered in text order (0, 1, 10, 11, ...): number them by value and " + with_labels, through(number));
    add("labels in alphabetical order",
        "the model numbers classes in text order (0, 1, 10, 11, ...): number the labels the same way and " + with_labels,
        through(rank));
  }
  return orders;
}

std::vector<std::int64_t> best_assignment(const std::vector<std::vector<double>>& gain) {
  const std::size_t n = gain.size(), m = n == 0 ? 0 : gain[0].size();
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<double> u(n + 1, 0), v(m + 1, 0);  // potentials of rows and columns, with indices from 1
  std::vector<std::size_t> row_of(m + 1, 0), way(m + 1, 0);
  for (std::size_t i = 1; i <= n; ++i) {
    row_of[0] = i;
    std::size_t column = 0;
    std::vector<double> least(m + 1, kFar);
    std::vector<bool> used(m + 1, false);
    do {
      used[column] = true;
      const std::size_t row = row_of[column];
      double delta = kFar;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= m; ++j) {
        if (used[j]) continue;
        const double cost = -gain[row - 1][j - 1] - u[row] - v[j];
        if (cost < least[j]) {
          least[j] = cost;
          way[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= m; ++j) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[way[column]];
      column = way[column];
    }
  }
  std::vector<std::int64_t> columns(n, -1);
  for (std::size_t j = 1; j <= m; ++j) {
    if (row_of[j] != 0) columns[row_of[j] - 1] = static_cast<std::int64_t>(j) - 1;
  }
  return columns;
}

std::vector<bool> half_of_each_label(std::span<const std::int64_t> labels) {
  std::map<std::int64_t, std::int64_t> seen;
  std::vector<bool> half;
  for (const std::int64_t label : labels) half.push_back(seen[label]++ % 2 == 0);
  return half;
}

LabelOrder fitted_order(std::span<const std::int64_t> labels, std::span<const std::int64_t> predicted,
                        const std::vector<bool>& fitted, std::int64_t classes) {
  std::vector<std::int64_t> distinct(labels.begin(), labels.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::erase_if(distinct, [](std::int64_t label) { return label < 0; });
  constexpr std::int64_t kMostClasses = 256, kMostLabel = 1 << 20;  // the assignment takes cubic time
  if (distinct.size() < 2 || std::ssize(distinct) > classes || classes > kMostClasses || distinct.back() > kMostLabel) return {};
  std::vector<std::vector<double>> count(distinct.size(), std::vector<double>(static_cast<std::size_t>(classes), 0));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!fitted[i]) continue;
    const auto row = std::lower_bound(distinct.begin(), distinct.end(), labels[i]);
    if (row != distinct.end() && *row == labels[i]) ++count[row - distinct.begin()][predicted[i]];
  }
  // On a tie, a label keeps its number.
  constexpr double kSlight = 1e-3;
  for (std::size_t row = 0; row < distinct.size(); ++row) {
    if (distinct[row] < classes) count[row][distinct[row]] += kSlight;
  }
  const std::vector<std::int64_t> assigned = best_assignment(count);
  LabelOrder order{"labels in another order", "", std::vector<std::int64_t>(static_cast<std::size_t>(distinct.back()) + 1, -1)};
  std::string text;
  constexpr std::size_t kShown = 12;
  for (std::size_t row = 0; row < distinct.size(); ++row) {
    order.classes_of[distinct[row]] = assigned[row];
    if (row < kShown) text += (text.empty() ? "" : ", ") + std::to_string(distinct[row]) + " is " + std::to_string(assigned[row]);
  }
  if (distinct.size() > kShown) text += ", ...";
  order.remedy = "label " + text + ": list the names in the model's order with " + option("classes") + ", or give labels with " +
                 option("labels");
  return order;
}

}  // namespace probust
