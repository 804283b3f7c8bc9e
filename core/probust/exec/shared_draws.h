// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/exec/affine_start.h"
#include "probust/exec/lanes.h"

namespace probust {

/// Executor::shared_pairs for additive noise and classifiers with an affine start (affine_start.h).
class SharedDraws {
 public:
  /// On lanes of the same device; null if it has none for parts of the classifier, or too little memory for them. Passes of the
  /// rest count as those of `progress`.
  static std::unique_ptr<SharedDraws> of(Lanes& lanes, const AffineStart& start, Progress& progress);

  std::vector<Pairs> pairs(const Points& points, const Noise& noise, std::span<const std::vector<std::int64_t>> keys,
                           std::int64_t first) const;

 private:
  SharedDraws(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  std::unique_ptr<Executor> first_, rest_;
};

}  // namespace probust
