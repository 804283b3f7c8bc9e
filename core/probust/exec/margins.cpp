// SPDX-License-Identifier: MIT
#include "probust/exec/margins.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace probust {

std::vector<Pairs> room_for_pairs(std::int64_t n, std::int64_t rivals, std::int64_t count) {
  const Pairs one{Eigen::MatrixXd(rivals, count), Eigen::MatrixXd(rivals, count)};
  return std::vector<Pairs>(static_cast<std::size_t>(n), one);
}

void put_pairs(const Pairs& some, std::int64_t first, Pairs& all) {
  all.plus.middleCols(first, some.size()) = some.plus;
  all.minus.middleCols(first, some.size()) = some.minus;
}

void add_counts(const PredictionCounts& some, PredictionCounts& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    std::transform(all[i].begin(), all[i].end(), some[i].begin(), all[i].begin(), std::plus<>());
}

std::int64_t argmax(std::span<const float> logits) {
  std::int64_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return -1;
    if (logits[i] > logits[best]) best = static_cast<std::int64_t>(i);
  }
  return best;
}

void store_margins(const float* logits, std::int64_t stride, std::int64_t target, Eigen::Ref<Eigen::VectorXd> margins) {
  const double own = logits[target * stride];
  for (std::int64_t i = 0, row = 0; row < margins.size(); ++i) {
    if (i != target) margins[row++] = own - double{logits[i * stride]};
  }
}

Eigen::VectorXd margins_of(std::span<const float> logits, std::int64_t target) {
  Eigen::VectorXd margins(static_cast<Eigen::Index>(logits.size()) - 1);
  store_margins(logits.data(), 1, target, margins);
  return margins;
}

}  // namespace probust
