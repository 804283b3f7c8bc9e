// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace probust {

/// A renumbering of labels: label l becomes class `classes_of[l]`, or none (-1) if l is out of range.
struct LabelOrder {
  std::string name;                      ///< "labels - 1", "labels in alphabetical order"
  std::string remedy;                    ///< what to do
  std::vector<std::int64_t> classes_of;  ///< [largest label + 1]
};

/// The usual mistakes in the order of labels 0 .. C - 1 or 1 .. C, corrected: a shift by one, and alphabetical order instead of
/// numeric order or the reverse. Orders that change no label of the data are omitted.
std::vector<LabelOrder> label_orders(std::span<const std::int64_t> labels, const std::vector<std::string>& names,
                                     std::int64_t classes);

/// The assignment of rows to columns of `gain` [rows, columns], rows <= columns, with the largest sum (Kuhn, "The Hungarian
/// method for the assignment problem", 1955, with potentials).
std::vector<std::int64_t> best_assignment(const std::vector<std::vector<double>>& gain);

/// Marks every second point of each label: an order is fitted to these points and tested on the others.
std::vector<bool> half_of_each_label(std::span<const std::int64_t> labels);

/// The order in which labels agree best with the predictions at the points marked in `fitted`.
LabelOrder fitted_order(std::span<const std::int64_t> labels, std::span<const std::int64_t> predicted,
                        const std::vector<bool>& fitted, std::int64_t classes);

}  // namespace probust
