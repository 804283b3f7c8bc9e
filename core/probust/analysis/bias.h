// SPDX-License-Identifier: MIT
//
// Whether robustness differs between classes (Han et al., section 4.3). k classes are compared at once, so each interval has the
// confidence 1 - 0.05 / k: with a probability of at least 95%, all k intervals contain the true means (Bonferroni; Dunn,
// "Multiple comparisons among means", JASA 1961). The interval of a difference is Welch's, adjusted in the same way for k (k - 1)
// / 2 pairs, because one pair is selected after looking at the data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probust/analysis/accuracy.h"
#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// Two classes, and the difference between their means of p.
struct ClassGap {
  std::int64_t most = -1, least = -1;  ///< the classes with the largest and the smallest mean
  double difference = 0, low = 0, high = 0;
};

struct GroupBias {
  GroupKey key;
  bool by_label = false;                ///< whether classes are labels; if no row has a label, they are predictions
  std::vector<std::int64_t> classes{};  ///< the classes that occur, ascending
  std::vector<MeanInterval> p{};        ///< means of p per class, at the adjusted confidence; a class of one point has 0..1
  std::vector<Proportion> clean{};      ///< accuracy without noise per class, with 95% intervals; empty unless by_label
  std::vector<MeanInterval> noisy{};  ///< accuracy under noise per class, at the adjusted confidence; empty if no row has p_label
  MeanInterval all{};                 ///< mean of p over all classes, with a 95% interval
  std::int64_t compared = 0;          ///< number of classes with at least two points that have p
  double confidence = 0.95;           ///< confidence of each class's interval
  std::optional<ClassGap> largest{};  ///< largest difference between the compared classes, if there are two
  /// Candidates for the least robust class, ascending by mean: the compared class with the smallest mean, and classes that
  /// cannot be distinguished from it, because the interval of the difference contains 0 or they have only one point.
  std::vector<std::int64_t> fragile{};
};

/// If some rows have labels, rows without a label, or with a negative one, are omitted.
GroupBias bias_of(const RowGroup& group);

}  // namespace probust
