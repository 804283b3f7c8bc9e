// SPDX-License-Identifier: MIT
// Gaussian noise F w with a factor F of its covariance F Fᵀ, either one for all points or one per point. A covariance is
// factored by pivoted Cholesky, which stops at the rank: nothing is added to the diagonal.
#include <algorithm>
#include <cmath>

#include "probust/noise/arrays.h"
#include "probust/noise/draws.h"

namespace probust {
namespace {

constexpr double kRounding = 1e-6;  // error of a covariance stored as float32, relative to the variances

class Factor final : public ArrayGaussian {
 public:
  /// `factors` are [d, r] per point.
  Factor(PerPoint factors, std::string name) : ArrayGaussian(std::move(factors), std::move(name)) {
    rank_ = rows().elements == 0 ? 0 : rows().width / rows().elements;
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> w(static_cast<std::size_t>(rank_) * lanes.points.size(), 0.0F);
    draws::add_normal(lanes, rank_, scale, w.data());
    add_product(lanes.points, elements, w.data(), x);
  }

  std::optional<std::int64_t> normals(std::int64_t) const override { return rank_; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    std::vector<float> scaled(w, w + rank_ * static_cast<std::int64_t>(points.size()));
    for (float& value : scaled) value *= scale;
    add_product(points, elements, scaled.data(), x);
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    std::vector<float> product(static_cast<std::size_t>(elements) * points.size(), 0.0F);
    for_each_run(points, [&](const float* factor, std::int64_t first, std::int64_t count, std::int64_t stride) {
      for (std::int64_t e = 0; e < elements; ++e) {
        for (std::int64_t k = 0; k < rank_; ++k)
          add_multiple(factor[e * rank_ + k], gradients + e * stride + first, count, product.data() + k * stride + first);
      }
    });
    std::copy(product.begin(), product.end(), gradients);
    return rank_;
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    for_each_run(points, [&](const float* factor, std::int64_t first, std::int64_t count, std::int64_t stride) {
      for (std::int64_t e = 0; e < elements; ++e) {
        float sum = 0;
        for (std::int64_t k = 0; k < rank_; ++k) sum += factor[e * rank_ + k] * factor[e * rank_ + k];
        for (std::int64_t lane = first; lane < first + count; ++lane) variance[e * stride + lane] *= sum;
      }
    });
  }

 private:
  // x += F w
  void add_product(std::span<const std::uint32_t> points, std::int64_t elements, const float* w, float* x) const {
    for_each_run(points, [&](const float* factor, std::int64_t first, std::int64_t count, std::int64_t stride) {
      for (std::int64_t e = 0; e < elements; ++e) {
        for (std::int64_t k = 0; k < rank_; ++k)
          add_multiple(factor[e * rank_ + k], w + k * stride + first, count, x + e * stride + first);
      }
    });
  }

  static void add_multiple(float factor, const float* from, std::int64_t count, float* to) {
    if (factor == 0) return;
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  }

  // Calls visit for runs of lanes that share a point and therefore a factor: first .. first + count - 1, out of `stride` lanes.
  template <class Visit>
  void for_each_run(std::span<const std::uint32_t> points, Visit visit) const {
    const auto lanes = static_cast<std::int64_t>(points.size());
    for (std::int64_t first = 0; first < lanes;) {
      std::int64_t end = first + 1;
      while (end < lanes && (!rows().varies || points[end] == points[first])) ++end;
      visit(rows().at(points[first]).data(), first, end - first, lanes);
      first = end;
    }
  }

  std::int64_t rank_ = 0;
};

struct Matrices {
  std::int64_t count, rows, columns;
};

Matrices matrices(const NoiseArray& array, const std::string& hint) {
  const Shape& shape = array.shape;
  if (shape.size() < 2 || shape.size() > 3) refuse_shape(array, hint);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    if (!std::isfinite(array.values[i])) {
      throw Error{ErrorCode::unreadable, array.where, "contains a non-finite value (element " + std::to_string(i) + ")", hint};
    }
  }
  return {shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape[shape.size() - 1]};
}

// A covariance [d, d] that is factored in place.
class PivotedCholesky {
 public:
  PivotedCholesky(std::span<const double> covariance, std::int64_t d, std::string where)
      : d_(d), where_(std::move(where)), rest_(covariance.begin(), covariance.end()) {
    for (std::int64_t i = 0; i < d; ++i) deviation_.push_back(std::sqrt(std::max(0.0, rest(i, i))));
    check_symmetry();
    while (take_pivot()) {
    }
    check_rest();
  }

  /// [rank][d]
  const std::vector<std::vector<double>>& columns() const { return columns_; }

 private:
  double& rest(std::int64_t i, std::int64_t j) { return rest_[i * d_ + j]; }
  double tolerance(std::int64_t i, std::int64_t j) const { return kRounding * deviation_[i] * deviation_[j]; }

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error{ErrorCode::unreadable, where_, "is not a covariance: " + what, hint};
  }

  void check_symmetry() {
    for (std::int64_t i = 0; i < d_; ++i) {
      if (rest(i, i) < 0) refuse("the variance of element " + std::to_string(i) + " is negative", "give non-negative variances");
      for (std::int64_t j = 0; j < i; ++j) {
        if (std::fabs(rest(i, j) - rest(j, i)) > tolerance(i, j)) {
          refuse("entries [" + std::to_string(j) + ", " + std::to_string(i) + "] and [" + std::to_string(i) + ", " +
                     std::to_string(j) + "] differ",
                 "give a symmetric matrix");
        }
      }
    }
  }

  // Eliminates the element with the largest remaining share of its variance. Returns false if only rounding errors remain.
  bool take_pivot() {
    std::int64_t pivot = -1;
    double largest = kRounding;
    for (std::int64_t i = 0; i < d_; ++i) {
      const double share = deviation_[i] > 0 ? rest(i, i) / (deviation_[i] * deviation_[i]) : 0;
      if (share > largest) {
        largest = share;
        pivot = i;
      }
    }
    if (pivot < 0) return false;
    std::vector<double> column(static_cast<std::size_t>(d_));
    const double root = std::sqrt(rest(pivot, pivot));
    for (std::int64_t i = 0; i < d_; ++i) column[i] = i == pivot ? root : rest(i, pivot) / root;
    for (std::int64_t i = 0; i < d_; ++i) {
      if (column[i] == 0) continue;
      for (std::int64_t j = 0; j < d_; ++j) rest(i, j) -= column[i] * column[j];
    }
    for (std::int64_t i = 0; i < d_; ++i) rest(i, pivot) = rest(pivot, i) = 0;
    columns_.push_back(std::move(column));
    return true;
  }

  // If the covariance has no negative eigenvalue, zeros on the remaining diagonal imply zeros in the rest.
  void check_rest() {
    for (std::int64_t i = 0; i < d_; ++i) {
      for (std::int64_t j = 0; j < d_; ++j) {
        if (std::fabs(rest(i, j)) > 10 * tolerance(i, j))
          refuse("it has a negative eigenvalue", "give a positive semidefinite matrix");
      }
    }
  }

  std::int64_t d_;
  std::string where_;
  std::vector<double> rest_, deviation_;
  std::vector<std::vector<double>> columns_;
};

using FactorColumns = std::vector<std::vector<double>>;

// Packs factors of different ranks into one array [N][d][r].
std::vector<float> packed(const std::vector<FactorColumns>& factors, std::int64_t d, std::int64_t rank) {
  std::vector<float> values(factors.size() * static_cast<std::size_t>(d * rank), 0.0F);
  for (std::size_t n = 0; n < factors.size(); ++n) {
    for (std::size_t k = 0; k < factors[n].size(); ++k) {
      for (std::int64_t e = 0; e < d; ++e)
        values[(static_cast<std::int64_t>(n) * d + e) * rank + static_cast<std::int64_t>(k)] =
            static_cast<float>(factors[n][k][e]);
    }
  }
  return values;
}

}  // namespace

std::shared_ptr<const NoiseShape> covariance_gaussian(const NoiseArray& covariances, std::string name) {
  const std::string hint = "give a covariance [d, d], or [N, d, d] per point";
  const auto [count, d, columns] = matrices(covariances, hint);
  if (d != columns) refuse_shape(covariances, hint);
  std::vector<FactorColumns> factors;
  std::int64_t rank = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::string where = covariances.where + (count > 1 ? " [" + std::to_string(n) + "]" : "");
    factors.push_back(PivotedCholesky(std::span(covariances.values).subspan(n * d * d, d * d), d, where).columns());
    rank = std::max(rank, static_cast<std::int64_t>(factors.back().size()));
  }
  PerPoint rows{packed(factors, d, rank), d, d * rank, covariances.shape.size() == 3, covariances.where};
  return std::make_shared<const Factor>(std::move(rows), std::move(name));
}

std::shared_ptr<const NoiseShape> factor_gaussian(const NoiseArray& factors, std::string name) {
  const std::string hint = "give a factor [d, r], or [N, d, r] per point";
  const auto [count, d, rank] = matrices(factors, hint);
  if (rank > d) {
    throw Error{ErrorCode::unreadable, factors.where,
                "has " + std::to_string(rank) + " columns, but points have only " + std::to_string(d) + " elements",
                "give the covariance (factor times its transpose) instead"};
  }
  PerPoint rows{std::vector<float>(factors.values.begin(), factors.values.end()), d, d * rank, factors.shape.size() == 3,
                factors.where};
  return std::make_shared<const Factor>(std::move(rows), std::move(name));
}

// Given by a factor F [d, M] with F Fᵀ = 1/M Σ dev devᵀ, or by this product if it is smaller.
std::shared_ptr<const NoiseShape> second_moments(const NoiseArray& deviations) {
  const bool varies = deviations.shape.size() == 3;
  const std::int64_t d = deviations.shape.back(), m = deviations.shape[deviations.shape.size() - 2];
  const bool factors = m <= d;
  NoiseArray moments{{varies ? deviations.shape[0] : 1, d, factors ? m : d}, {}, deviations.where};
  moments.values.assign(static_cast<std::size_t>(element_count(moments.shape)), 0.0);
  for (std::int64_t set = 0; set < moments.shape[0]; ++set) {
    double* to = moments.values.data() + set * d * moments.shape[2];
    for (std::int64_t k = 0; k < m; ++k) {
      const double* record = deviations.values.data() + (set * m + k) * d;
      for (std::int64_t e = 0; e < d; ++e) {
        if (factors) to[e * m + k] = record[e] / std::sqrt(static_cast<double>(m));
        const double own = record[e] / static_cast<double>(m);
        for (std::int64_t other = 0; !factors && other < d; ++other) to[e * d + other] += own * record[other];
      }
    }
  }
  if (!varies) moments.shape.erase(moments.shape.begin());
  return factors ? factor_gaussian(moments, "") : covariance_gaussian(moments, "");
}

}  // namespace probust
