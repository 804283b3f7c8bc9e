// SPDX-License-Identifier: MIT
// mc:N, the share of N noisy samples that keep the prediction (Han et al., section 3.1), with its binomial standard error and
// the Clopper-Pearson interval. A sample with NaN logits counts as a failure.
//
// mc:N:sobol draws the parameters of a perturbation, or the first normals of other noise, from scrambled Sobol points, a new
// design for each point of the data. Everything else is drawn as usual. The share's variance is then at most about the
// binomial one, so the interval is conservative.
#include <algorithm>
#include <numeric>

#include "probust/base/philox.h"
#include "probust/estimators/common.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/estimators/statistics/sobol.h"

namespace probust {
namespace {

// The normals of a noise that come from Sobol points.
std::vector<std::int64_t> spread_normals(const NoiseShape& noise, std::int64_t elements, std::int64_t normals) {
  std::vector<std::int64_t> spread = noise.parameters(elements);
  if (spread.empty()) {
    spread.resize(static_cast<std::size_t>(normals));
    std::iota(spread.begin(), spread.end(), 0);
  }
  spread.resize(std::min<std::size_t>(spread.size(), SobolNormals::kMostDimensions));
  return spread;
}

// A sample of a point: its number is its place in the point's design.
struct DesignSample {
  std::int64_t point;
  std::uint32_t number;
};

class SobolDraws {
 public:
  SobolDraws(const Points& points, std::vector<std::int64_t> spread, std::int64_t normals)
      : points_(points), spread_(std::move(spread)), normals_(normals) {
    for (const std::int64_t index : points.index)
      designs_.emplace_back(std::ssize(spread_), design_seed(points.seed, static_cast<std::uint64_t>(index)));
  }

  Eigen::MatrixXf normals_of(std::span<const DesignSample> samples) const {
    const auto count = static_cast<Eigen::Index>(samples.size());
    Eigen::MatrixXf w = Eigen::MatrixXf::Zero(count, normals_);
    if (std::ssize(spread_) < normals_) {
      std::vector<std::uint32_t> index, number;
      for (const DesignSample& sample : samples) {
        index.push_back(static_cast<std::uint32_t>(points_.index[sample.point]));
        number.push_back(sample.number);
      }
      isotropic_gaussian()->add({points_.seed, index, number}, normals_, 1, w.data());
    }
    for (std::size_t k = 0; k < spread_.size(); ++k) {
      for (Eigen::Index j = 0; j < count; ++j)
        w(j, spread_[k]) = static_cast<float>(designs_[samples[j].point].normal(samples[j].number, static_cast<std::int64_t>(k)));
    }
    return w;
  }

 private:
  const Points& points_;
  std::vector<std::int64_t> spread_;
  std::int64_t normals_;
  std::vector<SobolNormals> designs_;
};

}  // namespace

std::vector<Estimate> estimate_monte_carlo(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const auto counts = count_placed(evaluation.executor(), evaluation.points(), noise, asked.samples, evaluation.event().top);
  return estimates_from_counts(evaluation, counts, asked.samples);
}

std::vector<Estimate> estimate_monte_carlo_sobol(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  Executor& executor = evaluation.executor();
  const Points& points = evaluation.points();
  check(executor, points);
  const std::int64_t elements = element_count(executor.point_shape()), classes = executor.classes();
  const std::optional<std::int64_t> normals = noise.shape->normals(elements);
  if (!normals)
    throw Error{ErrorCode::usage, "estimator " + asked.text(), "needs noise that is a function of normal variables",
                "use mc:N for " + noise.shape->name()};
  const SobolDraws draws(points, spread_normals(*noise.shape, elements, *normals), *normals);
  std::vector<std::vector<std::int64_t>> counts(static_cast<std::size_t>(points.size()),
                                                std::vector<std::int64_t>(static_cast<std::size_t>(classes), 0));
  constexpr std::int64_t kMostTogether = 4096;
  const std::int64_t total = points.size() * asked.samples,
                     step = std::min(kMostTogether, points_at_once(executor, 8 * (*normals + 2 * elements + classes)));
  for (std::int64_t first = 0; first < total; first += step) {
    std::vector<DesignSample> samples;
    std::vector<std::int64_t> which;
    for (std::int64_t j = first; j < std::min(first + step, total); ++j) {
      samples.push_back({j / asked.samples, static_cast<std::uint32_t>(j % asked.samples)});
      which.push_back(samples.back().point);
    }
    const Tensor logits = noisy_logits(executor, points, which, noise, draws.normals_of(samples));
    for (std::size_t j = 0; j < which.size(); ++j)
      count_largest(logits.row(static_cast<std::int64_t>(j)), evaluation.event().top, counts[which[j]]);
  }
  return estimates_from_counts(evaluation, counts, asked.samples);
}

}  // namespace probust
