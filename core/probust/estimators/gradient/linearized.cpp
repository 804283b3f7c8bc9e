// SPDX-License-Identifier: MIT
// The gradients of taylor, mmse and adf. Their p depends on the margins g and their gradients u_i, so
//
//     dp/dx = sum_i a_i u_i + sum_i H_i w_i,    a = dp/dg,    w_i = 2 sum_j (dp/dA_ij) C u_j,
//
// with the Hessians H_i of the margins and A = U C Uᵀ. For mmse, u_i and H_i are means over the noisy samples x + eps_j. Its
// variants subtract U mean(eps) from the margins (centered), or the mean of U_-j eps_j (loo); each adds to w_i at sample j the
// product of a_i and a vector of the noise.
#include <algorithm>
#include <limits>

#include "probust/base/parallel.h"
#include "probust/base/transpose.h"
#include "probust/estimators/gradient/gradient_of_p.h"
#include "probust/estimators/gradient/normal_gradient.h"
#include "probust/exec/host/margin_derivatives.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

enum class Subtracted : std::uint8_t { nothing, mean, left_out };

struct Linearized {
  LinearizeAt at = LinearizeAt::input;
  NormalCdf cdf = NormalCdf::exact;
  std::int64_t samples = 0;  // 0: the point itself
  Subtracted subtracted = Subtracted::nothing;
};

// Turns margin gradients U [m, d] into their Gram matrix U C Uᵀ at unit scale, and replaces them by U C.
class Covariance {
 public:
  explicit Covariance(const Noise& noise) : shape_(*noise.shape) {
    diagonal_ = shape_.by_element().has_value();
    if (!diagonal_ && (shape_.gaussian().kind != GaussianView::Kind::exact))
      throw Error{ErrorCode::unsupported, "the gradient of p", "needs independent or Gaussian noise, not " + noise.text(),
                  "try gaussian:0.1"};
  }

  MatrixXd gram(std::int64_t index, const RowMatrix& U, const StopToken& stop) const {
    std::vector<float> columns = packed(U);
    shape_.whiten(lanes(index, U.rows()), U.cols(), columns.data());
    return gram_of(unpacked(columns, U), stop);
  }

  RowMatrix times(std::int64_t index, const RowMatrix& U) const {
    const std::vector<std::uint32_t> points = lanes(index, U.rows());
    std::vector<float> columns = packed(U);
    if (diagonal_) {
      shape_.variances(points, U.cols(), columns.data());
      return unpacked(columns, U);
    }
    shape_.whiten(points, U.cols(), columns.data());  // U L, then U L Lᵀ
    std::vector<float> result(columns.size(), 0.0F);
    shape_.add_normals(points, U.cols(), 1, columns.data(), result.data());
    return unpacked(result, U);
  }

 private:
  static std::vector<std::uint32_t> lanes(std::int64_t index, Index count) {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(count), static_cast<std::uint32_t>(index));
  }
  static std::vector<float> packed(const RowMatrix& U) {
    std::vector<float> columns(static_cast<std::size_t>(U.size()));
    pack({U}, 0, U.rows(), columns.data());
    return columns;
  }
  static RowMatrix unpacked(const std::vector<float>& columns, const RowMatrix& like) {
    std::vector<RowMatrix> rows(1, RowMatrix(like.rows(), like.cols()));
    unpack(columns.data(), 0, like.rows(), rows);
    return std::move(rows[0]);
  }

  const NoiseShape& shape_;
  bool diagonal_;
};

// Examples of a few points: each point itself, or its noisy samples.
class ExampleRows {
 public:
  ExampleRows(const Points& points, const Noise& noise, const Linearized& how)
      : points_(points), noise_(noise), how_(how), each_(std::max<std::int64_t>(1, how.samples)) {}

  std::int64_t per_point() const { return each_; }
  std::int64_t count() const { return points_.size() * each_; }

  struct Part {
    std::vector<float> x, variances;
    std::vector<std::int64_t> targets, point;
    MarginDerivatives::Examples examples() const { return {x, targets, variances}; }
  };

  Part part(std::int64_t first, std::int64_t count) const {
    Part part;
    for (std::int64_t j = first; j < first + count; ++j) {
      const std::int64_t i = j / each_;
      const auto index = static_cast<std::uint32_t>(points_.index[i]), sample = static_cast<std::uint32_t>(j % each_);
      const auto row = points_.x.row(i);
      std::vector<float> x(row.begin(), row.end());
      const auto d = std::ssize(x);
      if (how_.samples > 0)
        noise_.shape->add({points_.seed, {&index, 1}, {&sample, 1}}, d, static_cast<float>(noise_.scale), x.data());
      part.x.insert(part.x.end(), x.begin(), x.end());
      part.targets.push_back(points_.target[i]);
      part.point.push_back(i);
      if (how_.at == LinearizeAt::input) continue;
      std::vector<float> variances(x.size(), static_cast<float>(noise_.scale * noise_.scale));
      noise_.shape->variances({&index, 1}, d, variances.data());
      part.variances.insert(part.variances.end(), variances.begin(), variances.end());
    }
    return part;
  }

  // The noise of example j of a part.
  VectorXd noise(const Part& part, std::int64_t j) const {
    const auto x = points_.x.row(part.point[j]);
    VectorXd eps(std::ssize(x));
    for (Index e = 0; e < eps.size(); ++e) eps[e] = double{part.x[j * eps.size() + e]} - double{x[e]};
    return eps;
  }

 private:
  const Points& points_;
  const Noise& noise_;
  Linearized how_;
  std::int64_t each_;
};

// Means over the examples of a point, and the weights that follow from them.
struct PointMeans {
  VectorXd margins, own;  // [m] margins, and U_j eps_j
  RowMatrix U;            // [m, d]
  VectorXd noise;         // [d]
  double p = 0;
  VectorXd a;   // [m]
  RowMatrix w;  // [m, d]
};

// A few points that one worker differentiates.
class PointGroup {
 public:
  PointGroup(MarginDerivatives& derivatives, int worker, const Points& points, const Noise& noise, const Linearized& how)
      : derivatives_(derivatives), worker_(worker), points_(points), how_(how), scale_(noise.scale), rows_(points_, noise, how) {}

  void linearize(std::int64_t rivals) {
    const std::int64_t d = points_.x.size() / points_.size();
    means_.assign(static_cast<std::size_t>(points_.size()),
                  {VectorXd::Zero(rivals), VectorXd::Zero(rivals), RowMatrix::Zero(rivals, d), VectorXd::Zero(d), 0, {}, {}});
    const double weight = 1 / static_cast<double>(rows_.per_point());
    for_parts([&](const ExampleRows::Part& part) {
      const std::vector<MarginGradients> found = derivatives_.gradients(worker_, part.examples());
      for (std::size_t j = 0; j < found.size(); ++j) {
        PointMeans& mean = means_[part.point[j]];
        mean.margins += weight * found[j].margins;
        mean.U += weight * found[j].gradients;
        if (how_.subtracted == Subtracted::nothing) continue;
        const VectorXd eps = rows_.noise(part, static_cast<std::int64_t>(j));
        mean.noise += weight * eps;
        mean.own += weight * times(found[j].gradients, eps);
      }
    });
    for (PointMeans& mean : means_) mean.margins -= subtracted(mean);
  }

  void differentiate(const Covariance& covariance, const StopToken& stop) {
    for (std::int64_t i = 0; i < points_.size(); ++i) {
      PointMeans& mean = means_[i];
      Linearization linear;
      linear.margins = mean.margins;
      linear.gram = covariance.gram(points_.index[i], mean.U, stop);
      LinearizedP by = differentiated(linear, points_.target[i], scale_, how_.cdf, &stop);
      mean.p = by.p;
      mean.a = std::move(by.by_margins);
      mean.w = 2 * product(by.by_gram, covariance.times(points_.index[i], mean.U));
    }
  }

  // Adds the gradients of the group to those of all points.
  void write(std::int64_t first, GradientOfP& result) {
    std::vector<VectorXd> gradients;
    for (const PointMeans& mean : means_) gradients.push_back(transposed_times(mean.U, mean.a));
    if (derivatives_.curved()) add_curvature(gradients);
    for (std::size_t i = 0; i < means_.size(); ++i) {
      const bool known = !std::isnan(means_[i].p);
      result.p[first + i] = means_[i].p;
      const auto row = result.gradient.row(first + static_cast<std::int64_t>(i));
      for (std::size_t e = 0; e < row.size(); ++e)
        row[e] = known ? static_cast<float>(gradients[i][static_cast<Index>(e)]) : std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  template <class Use>
  void for_parts(const Use& use) {
    for (std::int64_t first = 0; first < rows_.count(); first += derivatives_.batch())
      use(rows_.part(first, std::min(derivatives_.batch(), rows_.count() - first)));
  }

  // What a variant of mmse subtracts from the mean margins.
  VectorXd subtracted(const PointMeans& mean) const {
    const auto n = static_cast<double>(how_.samples);
    if (how_.subtracted == Subtracted::mean) return times(mean.U, mean.noise);
    if (how_.subtracted == Subtracted::left_out) return (n * times(mean.U, mean.noise) - mean.own) / (n - 1);
    return VectorXd::Zero(mean.margins.size());
  }

  // The vector of the noise of sample j whose product with the gradients at that sample is subtracted.
  VectorXd subtracted_along(const PointMeans& mean, const ExampleRows::Part& part, std::int64_t j) const {
    if (how_.subtracted == Subtracted::mean) return mean.noise;
    const auto n = static_cast<double>(how_.samples);
    return (n * mean.noise - rows_.noise(part, j)) / (n - 1);
  }

  void add_curvature(std::vector<VectorXd>& gradients) {
    const double weight = 1 / static_cast<double>(rows_.per_point());
    for_parts([&](const ExampleRows::Part& part) {
      std::vector<RowMatrix> w;
      for (std::size_t j = 0; j < part.point.size(); ++j) {
        const PointMeans& mean = means_[part.point[j]];
        w.push_back(mean.w);
        if (how_.subtracted != Subtracted::nothing)
          w.back() -= mean.a * subtracted_along(mean, part, static_cast<std::int64_t>(j)).transpose();
      }
      const std::vector<VectorXd> products = derivatives_.hessian_products(worker_, part.examples(), w);
      for (std::size_t j = 0; j < products.size(); ++j) gradients[part.point[j]] += weight * products[j];
    });
  }

  MarginDerivatives& derivatives_;
  int worker_;
  Points points_;
  Linearized how_;
  double scale_;
  ExampleRows rows_;
  std::vector<PointMeans> means_;
};

GradientOfP gradients(Executor& executor, const Points& points, const Noise& noise, const Linearized& how) {
  if (how.samples > 0 && !noise.shape->additive())
    throw Error{ErrorCode::unsupported, "the gradient of mmse",
                "needs noise that is symmetric and not clipped, not " + noise.text(), "use taylor"};
  const Covariance covariance(noise);
  MarginDerivatives derivatives(executor, how.at);
  GradientOfP result{Tensor(points.x.shape), {}, std::vector<double>(static_cast<std::size_t>(points.size())), {}};
  const std::int64_t together = std::max<std::int64_t>(1, derivatives.batch() / std::max<std::int64_t>(1, how.samples));
  const std::int64_t groups = (points.size() + together - 1) / together;
  parallel_for(groups, derivatives.workers(), [&](std::int64_t task, int worker) {
    const std::int64_t first = task * together;
    PointGroup group(derivatives, worker, slice(points, first, std::min(together, points.size() - first)), noise, how);
    group.linearize(executor.classes() - 1);
    group.differentiate(covariance, executor.progress.stop);
    group.write(first, result);
  });
  return result;
}

}  // namespace

GradientOfP gradient_of_taylor(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec&) {
  return gradients(executor, points, noise, {});
}

GradientOfP gradient_of_taylor_mvs(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec&) {
  return gradients(executor, points, noise, {.cdf = NormalCdf::mv_sigmoid});
}

GradientOfP gradient_of_adf(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec&) {
  return gradients(executor, points, noise, {.at = LinearizeAt::noise_mean});
}

GradientOfP gradient_of_mmse(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& asked) {
  return gradients(executor, points, noise, {.samples = asked.samples});
}

GradientOfP gradient_of_mmse_mvs(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& asked) {
  return gradients(executor, points, noise, {.cdf = NormalCdf::mv_sigmoid, .samples = asked.samples});
}

GradientOfP gradient_of_mmse_centered(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& asked) {
  return gradients(executor, points, noise, {.samples = asked.samples, .subtracted = Subtracted::mean});
}

GradientOfP gradient_of_mmse_loo(Executor& executor, const Points& points, const Noise& noise, const EstimatorSpec& asked) {
  return gradients(executor, points, noise, {.samples = asked.samples, .subtracted = Subtracted::left_out});
}

}  // namespace probust
