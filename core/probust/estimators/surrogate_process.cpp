// SPDX-License-Identifier: MIT
// surrogate:N for two to six parameters. The points of a group are evaluated at the same N scrambled Sobol points w; each group
// has its own design, so that the errors of different groups are independent. Margins are Gaussian processes of w
// (margin_process.h), whose lengths are estimated from all points of the block. p is the mean, over many w, of the posterior
// probability that all margins are positive, with one draw of the posterior for each w; the posterior mean alone would be too
// smooth and p biased. Margins over different rivals are correlated like their curves.
//
// The error has two parts: the posterior variance of p, from a few joint draws over some w, and kUnseenShare / N for what happens
// between the nodes that no node has seen.
//
// From kOwnNodes forwards on, the second half of a point's nodes are its own, placed where the sign of the smallest margin is
// the least certain. If failures turn out to be rare, a point's own nodes and the places over which p_fail is averaged come from
// a wider distribution, weighted by the ratio of the densities.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "probust/base/parallel.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/shared_noise.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/estimators/statistics/margin_process.h"
#include "probust/estimators/statistics/sobol.h"
#include "probust/estimators/surrogate.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::int64_t kPlaces = 2048;  // w over which p is averaged
constexpr std::int64_t kWidePlaces = 8192;
constexpr double kWider = 2.2;
constexpr double kRare = 0.01;              // if p_fail is smaller with the shared nodes, failures are rare
constexpr std::int64_t kCandidates = 2048;  // of these, a point places its own nodes at some
constexpr std::int64_t kPathPlaces = 128, kPaths = 32;
constexpr float kMostMargin = 1e30F;        // larger margins are treated as infinite
constexpr std::int64_t kMostModelled = 16;  // rivals whose margins are modelled
constexpr std::int64_t kOwnNodes = 50, kOwnRounds = 8;
constexpr std::int64_t kFittedDesigns = 4;  // the scales are fitted to the points of this many groups
constexpr std::int64_t kFittedRivals = 4;   // and to this many margins of each
constexpr double kDeviations = 2, kDeviationsOfRare = 2.5, kUnseenShare = 0.3, kLeastHalf = 0.002;

// Margins of one point at its nodes, over the modelled rivals.
struct PointMargins {
  Eigen::MatrixXd values;  // [N, rivals]
  bool finite = true;
};

// The margins of a target at the nodes with these logits [N, classes]: those over the rivals with the smallest margins at any
// node; all if there are few rivals.
PointMargins margins_at(std::span<const float> logits, std::int64_t classes, std::int64_t target) {
  const std::int64_t nodes = std::ssize(logits) / classes;
  const auto row = [&](std::int64_t i) { return logits.subspan(i * classes, classes); };
  std::vector<std::pair<float, std::int64_t>> threats;
  for (std::int64_t c = 0; c < classes; ++c) {
    if (c == target) continue;
    float least = std::numeric_limits<float>::max();
    for (std::int64_t i = 0; i < nodes; ++i) least = std::min(least, finite_margin(row(i), target, c));
    threats.emplace_back(least, c);
  }
  const auto kept = std::min<std::size_t>(threats.size(), kMostModelled);
  std::partial_sort(threats.begin(), threats.begin() + static_cast<std::ptrdiff_t>(kept), threats.end());
  PointMargins margins;
  margins.values.resize(nodes, static_cast<Eigen::Index>(kept));
  for (std::size_t k = 0; k < kept; ++k) {
    for (std::int64_t i = 0; i < nodes; ++i) {
      const float margin = finite_margin(row(i), target, threats[k].second);
      margins.finite = margins.finite && std::fabs(margin) < kMostMargin;
      margins.values(i, static_cast<Eigen::Index>(k)) = margin;
    }
  }
  return margins;
}

// Places from a distribution that is kWider times as wide as that of w, for rare failures.
struct WidePlaces {
  Eigen::MatrixXd at;      // [kWidePlaces, k]
  Eigen::ArrayXd weights;  // [kWidePlaces] the ratio of the densities
  std::vector<float> z;    // [rivals][kWidePlaces] standard normals
};

// Normals of a design, for draws of the posterior.
std::vector<float> design_normals(std::uint64_t seed, std::int64_t rows, std::int64_t columns) {
  std::vector<float> z(static_cast<std::size_t>(rows * columns), 0.0F);
  const std::vector<std::uint32_t> zero(static_cast<std::size_t>(columns), 0);
  std::vector<std::uint32_t> samples(zero.size());
  std::iota(samples.begin(), samples.end(), 0U);
  isotropic_gaussian()->add({seed, zero, samples}, rows, 1, z.data());
  return z;
}

Eigen::MatrixXd sobol_nodes(const SobolNormals& sobol, std::int64_t count) {
  Eigen::MatrixXd nodes(count, sobol.dimensions());
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index d = 0; d < nodes.cols(); ++d) nodes(i, d) = sobol.normal(static_cast<std::uint32_t>(i), d);
  }
  return nodes;
}

// Draws of the posterior around its mean, for processes that are independent of each other and have s = 1.
struct Scatter {
  std::vector<float> places;  // [rivals][kPlaces]
  std::vector<float> paths;   // [kPaths][rivals][kPathPlaces]
};

// The common design of the points of a group.
struct Design {
  std::uint64_t seed = 0;
  std::vector<std::int64_t> points;  // positions in the block
  Eigen::MatrixXd nodes;             // [N, k]
  Eigen::MatrixXd places;            // [kPlaces, k]
  std::vector<float> z;              // [rivals][kPlaces + kPaths * kPathPlaces] standard normals
};

Scatter scatter_of(const ProcessPosterior& posterior, const Design& design, std::int64_t rivals) {
  const std::int64_t stride = kPlaces + kPaths * kPathPlaces;
  Scatter scatter;
  scatter.places.resize(static_cast<std::size_t>(rivals * kPlaces));
  scatter.paths.resize(static_cast<std::size_t>(kPaths * rivals * kPathPlaces));
  const std::vector<float> variances = posterior.variances();
  const Eigen::ArrayXf deviations = Eigen::Map<const Eigen::ArrayXf>(variances.data(), kPlaces).sqrt();
  const Eigen::MatrixXf root = posterior.root(kPathPlaces);
  for (std::int64_t r = 0; r < rivals; ++r) {
    const float* z = design.z.data() + r * stride;
    Eigen::Map<Eigen::ArrayXf>(scatter.places.data() + r * kPlaces, kPlaces) =
        deviations * Eigen::Map<const Eigen::ArrayXf>(z, kPlaces);
    const Eigen::Map<const Eigen::MatrixXf> own(z + kPlaces, kPathPlaces, kPaths);
    Eigen::MatrixXf paths;
    product(root, own, paths);
    for (std::int64_t path = 0; path < kPaths; ++path)
      std::copy_n(paths.data() + path * kPathPlaces, kPathPlaces, scatter.paths.data() + (path * rivals + r) * kPathPlaces);
  }
  return scatter;
}

// How many of `count` places keep all margins mean[r] + sum_q root(r, q) scatter[q] positive. Rows of `means` are `mean_stride`
// apart; those of `scatter` have `count` elements.
std::int64_t surviving(const float* means, std::int64_t mean_stride, const Eigen::MatrixXf& root, const float* scatter,
                       std::int64_t count) {
  constexpr std::int64_t kTogether = 128;
  std::int64_t survivors = 0;
  for (std::int64_t first = 0; first < count; first += kTogether) {
    std::array<float, kTogether> least, margin;
    least.fill(1);
    const std::int64_t some = std::min(kTogether, count - first);
    for (Eigen::Index r = 0; r < root.rows(); ++r) {
      const float* mean = means + r * mean_stride + first;
      for (std::int64_t m = 0; m < some; ++m) margin[m] = mean[m];
      for (Eigen::Index q = 0; q <= r; ++q) {
        const float weight = root(r, q);
        const float* draw = scatter + q * count + first;
        for (std::int64_t m = 0; m < some; ++m) margin[m] += weight * draw[m];
      }
      for (std::int64_t m = 0; m < some; ++m) least[m] = std::min(least[m], margin[m]);
    }
    for (std::int64_t m = 0; m < some; ++m) survivors += least[m] > 0 ? 1 : 0;
  }
  return survivors;
}

Eigen::MatrixXf root_of(const Eigen::MatrixXd& coefficients) {
  const auto freedom = static_cast<double>(std::max<Eigen::Index>(1, coefficients.rows() - 1));
  Eigen::MatrixXd covariance = transposed_product(coefficients, coefficients) / freedom;
  const double least = 1e-7 * std::max(covariance.diagonal().maxCoeff(), 1e-30);
  covariance.diagonal().array() += least;
  if (!cholesky_in_place(covariance)) return Eigen::MatrixXf::Zero(covariance.rows(), covariance.cols());
  return covariance.triangularView<Eigen::Lower>().toDenseMatrix().cast<float>();
}

Estimate estimate_of(const ProcessPosterior& posterior, const Scatter& scatter, const PointMargins& margins) {
  const auto rivals = margins.values.cols();
  const auto nodes = static_cast<double>(margins.values.rows());
  const ProcessPosterior::Coefficients coefficients = posterior.coefficients(margins.values);
  const Eigen::MatrixXf root = root_of(coefficients.values);
  std::vector<float> means(static_cast<std::size_t>(rivals * kPlaces));
  posterior.means(coefficients, 0, kPlaces, means.data());
  Estimate estimate;
  const std::int64_t survivors = surviving(means.data(), kPlaces, root, scatter.places.data(), kPlaces);
  estimate.p = static_cast<double>(survivors) / kPlaces;
  estimate.p_fail = static_cast<double>(kPlaces - survivors) / kPlaces;
  double sum = 0, squares = 0;
  for (std::int64_t path = 0; path < kPaths; ++path) {
    const double share = static_cast<double>(surviving(means.data(), kPlaces, root,
                                                       scatter.paths.data() + path * rivals * kPathPlaces, kPathPlaces)) /
                         kPathPlaces;
    sum += share;
    squares += share * share;
  }
  const double deviation = std::sqrt(std::max(0.0, (squares - sum * sum / kPaths) / (kPaths - 1)));
  const double half = kDeviations * deviation + kUnseenShare / nodes + kLeastHalf;
  estimate.std_error = half / 1.96;
  estimate.ci_low = std::max(0.0, estimate.p - half);
  estimate.ci_high = std::min(1.0, estimate.p + half);
  return estimate;
}

// The counted share of a point's nodes, for margins that are infinite or NaN at some node.
Estimate counted_at(const PointMargins& margins) {
  const std::int64_t nodes = margins.values.rows(), survivors = (margins.values.array() > 0).rowwise().all().count();
  return from_counts(survivors, nodes, clopper_pearson(survivors, nodes));
}

// Standard deviations of the processes of margins with these coefficients.
Eigen::VectorXd deviations_of(const ProcessPosterior::Coefficients& coefficients) {
  const auto freedom = static_cast<double>(std::max<Eigen::Index>(1, coefficients.values.rows() - 1));
  return (coefficients.values.colwise().squaredNorm() / freedom).cwiseSqrt().cwiseMax(1e-30);
}

// [count] The smallest margin at each of the first places, in posterior standard deviations.
Eigen::ArrayXd smallest_scores(const ProcessPosterior& posterior, const PointMargins& margins, std::int64_t count) {
  const ProcessPosterior::Coefficients coefficients = posterior.coefficients(margins.values);
  const Eigen::VectorXd deviations = deviations_of(coefficients);
  std::vector<float> means(static_cast<std::size_t>(margins.values.cols() * count));
  posterior.means(coefficients, 0, count, means.data());
  const std::vector<float> variances = posterior.variances();
  Eigen::ArrayXd least = Eigen::ArrayXd::Constant(count, std::numeric_limits<double>::infinity());
  for (Eigen::Index r = 0; r < deviations.size(); ++r)
    least = least.min(Eigen::Map<const Eigen::ArrayXf>(means.data() + r * count, count).cast<double>() / deviations[r]);
  return least / Eigen::Map<const Eigen::ArrayXf>(variances.data(), count).cast<double>().max(1e-12).sqrt();
}

// The next nodes of a point, among the candidates: those where the sign of the smallest margin is least certain, and not close
// to each other. With weights, uncertainty counts in proportion to their square roots.
std::vector<Eigen::Index> uncertain_places(const ProcessPosterior& posterior, const Eigen::MatrixXd& places,
                                           const Eigen::ArrayXd* weights, const PointMargins& margins, std::int64_t wanted,
                                           bool explore) {
  constexpr float kExplore = 0.02F, kSpread = 0.5F, kDamped = 0.5F;
  constexpr float kLogistic = 1.702F;  // 1 / (1 + exp(-1.702 x)) is the normal CDF to within 0.01
  const std::vector<float> variances = posterior.variances();
  const Eigen::ArrayXf survives =
      1 / (1 + (-kLogistic * smallest_scores(posterior, margins, kCandidates).cast<float>()).min(80.0F).exp());
  const float spread = explore ? kSpread : std::sqrt((survives - survives.mean()).square().mean());
  Eigen::ArrayXf scores =
      survives.min(1 - survives) + kExplore * spread * Eigen::Map<const Eigen::ArrayXf>(variances.data(), kCandidates).sqrt();
  if (weights != nullptr) scores *= weights->head(kCandidates).sqrt().cast<float>();
  std::vector<Eigen::Index> chosen;
  while (std::ssize(chosen) < wanted) {
    Eigen::Index best = 0;
    scores.maxCoeff(&best);
    chosen.push_back(best);
    const std::vector<float> squares = posterior.squared_distances(places.row(best), kCandidates);
    const Eigen::Map<const Eigen::ArrayXf> apart(squares.data(), kCandidates);
    scores *= 1 - (apart / (-2 * kDamped * kDamped)).exp();
    scores[best] = -1;
  }
  return chosen;
}

// p_fail as a weighted mean over wide places, and the interval in which all margins may be wrong by kDeviationsOfRare of their
// posterior standard deviations at once.
Estimate estimate_of_rare(const ProcessPosterior& posterior, const WidePlaces& wide, const PointMargins& margins) {
  const ProcessPosterior::Coefficients coefficients = posterior.coefficients(margins.values);
  const Eigen::MatrixXf root = root_of(coefficients.values);
  std::vector<float> means(static_cast<std::size_t>(margins.values.cols() * kWidePlaces));
  posterior.means(coefficients, 0, kWidePlaces, means.data());
  const std::vector<float> variances = posterior.variances();
  const Eigen::ArrayXd scores = smallest_scores(posterior, margins, kWidePlaces);
  double fails = 0, least = 0, most = 0;
  for (Eigen::Index m = 0; m < kWidePlaces; ++m) {
    const float deviation = std::sqrt(variances[m]);
    bool survives = true;
    for (Eigen::Index r = 0; r < root.rows() && survives; ++r) {
      float margin = means[r * kWidePlaces + m];
      for (Eigen::Index q = 0; q <= r; ++q) margin += root(r, q) * deviation * wide.z[q * kWidePlaces + m];
      survives = margin > 0;
    }
    fails += survives ? 0 : wide.weights[m];
    least += scores[m] < -kDeviationsOfRare ? wide.weights[m] : 0;
    most += scores[m] < kDeviationsOfRare ? wide.weights[m] : 0;
  }
  Estimate estimate;
  estimate.p_fail = std::min(1.0, fails / kWidePlaces);
  estimate.p = 1 - estimate.p_fail;
  estimate.ci_low = std::max(0.0, 1 - most / kWidePlaces);
  estimate.ci_high = std::min(1.0, 1 - least / kWidePlaces);
  estimate.std_error = (*estimate.ci_high - *estimate.ci_low) / (2 * 1.96);
  return estimate;
}

class BlockSurrogate {
 public:
  BlockSurrogate(Evaluation& evaluation, const Noise& noise, std::int64_t parameters, std::int64_t count)
      : executor_(evaluation.executor()),
        points_(evaluation.points()),
        noise_(noise),
        k_(parameters),
        count_(count),
        shared_(count < kOwnNodes ? count : count / 2),
        rivals_(std::min(executor_.classes() - 1, kMostModelled)) {
    make_designs();
  }

  std::vector<Estimate> estimates() {
    evaluate_shared();
    scales_ = fitted();
    std::vector<Estimate> all(static_cast<std::size_t>(points_.size()));
    if (shared_ == count_) {
      each(std::ssize(designs_), [&](std::int64_t g) {
        const ProcessPosterior posterior = shared_posterior(designs_[g], designs_[g].places);
        const Scatter scatter = scatter_of(posterior, designs_[g], rivals_);
        for (const std::int64_t i : designs_[g].points) all[i] = estimated(posterior, scatter, i);
      });
    } else {
      for (const Design& design : designs_) with_own_nodes(design, all);
    }
    return all;
  }

 private:
  void make_designs() {
    std::map<std::int64_t, std::size_t> known;
    for (std::int64_t i = 0; i < points_.size(); ++i) {
      const std::int64_t group = points_.index[i] / kServed;
      const auto [place, fresh] = known.try_emplace(group, designs_.size());
      if (fresh) designs_.push_back(design_of(group));
      designs_[place->second].points.push_back(i);
    }
  }

  Design design_of(std::int64_t group) const {
    Design design;
    const std::uint64_t seed = design.seed = design_seed(points_.seed, static_cast<std::uint64_t>(group));
    design.nodes = sobol_nodes(SobolNormals(k_, design_seed(seed, 1)), shared_);
    design.places = sobol_nodes(SobolNormals(k_, design_seed(seed, 2)), kPlaces);
    design.z = design_normals(design_seed(seed, 3), rivals_, kPlaces + kPaths * kPathPlaces);
    return design;
  }

  void evaluate_shared() {
    logits_.resize(static_cast<std::size_t>(points_.size()));
    std::vector<std::int64_t> which;
    Eigen::MatrixXf w(points_.size() * shared_, k_);
    for (const Design& design : designs_) {
      for (const std::int64_t i : design.points) {
        w.middleRows(std::ssize(which), shared_) = design.nodes.cast<float>();
        which.insert(which.end(), static_cast<std::size_t>(shared_), i);
      }
    }
    evaluate(which, w);
  }

  // Appends the logits of point which[j] at row j of w.
  void evaluate(const std::vector<std::int64_t>& which, const Eigen::MatrixXf& w) {
    const Tensor logits = noisy_logits(executor_, points_, which, noise_, w);
    for (std::size_t j = 0; j < which.size(); ++j) {
      const auto row = logits.row(static_cast<std::int64_t>(j));
      logits_[which[j]].insert(logits_[which[j]].end(), row.begin(), row.end());
    }
  }

  PointMargins margins_of(std::int64_t i, std::int64_t target) const {
    return margins_at(logits_[i], executor_.classes(), target);
  }

  ProcessScales fitted() const {
    std::vector<Curves> curves;
    const std::size_t step = std::max<std::size_t>(1, designs_.size() / kFittedDesigns);
    for (std::size_t g = 0; g < designs_.size() && std::ssize(curves) < kFittedDesigns; g += step) {
      const Design& design = designs_[g];
      Curves& own =
          curves.emplace_back(Curves{design.nodes, Eigen::MatrixXd(shared_, std::ssize(design.points) * kFittedRivals)});
      Eigen::Index next = 0;
      for (const std::int64_t i : design.points) {
        const PointMargins margins = margins_of(i, points_.target[i]);
        for (Eigen::Index r = 0; margins.finite && r < std::min<Eigen::Index>(kFittedRivals, margins.values.cols()); ++r)
          own.values.col(next++) = margins.values.col(r);
      }
      own.values.conservativeResize(Eigen::NoChange, next);
    }
    return fit_scales(curves, executor_.options().threads, stop());
  }

  ProcessPosterior shared_posterior(const Design& design, const Eigen::MatrixXd& places) const {
    ProcessPosterior posterior(scales_, places);
    for (Eigen::Index i = 0; i < design.nodes.rows(); ++i) posterior.add(design.nodes.row(i));
    return posterior;
  }

  // A point that places its own nodes.
  struct Refined {
    ProcessPosterior posterior;
    bool rare = false;
  };

  WidePlaces wide_places(const Design& design) const {
    WidePlaces wide;
    wide.at = kWider * sobol_nodes(SobolNormals(k_, design_seed(design.seed, 4)), kWidePlaces);
    const Eigen::ArrayXd squares = wide.at.rowwise().squaredNorm().array();
    wide.weights = std::pow(kWider, static_cast<double>(k_)) * (-0.5 * (1 - 1 / (kWider * kWider)) * squares).exp();
    wide.z = design_normals(design_seed(design.seed, 5), rivals_, kWidePlaces);
    return wide;
  }

  // The points of a group place the rest of their nodes, all at the same time, so that their forwards form batches.
  void with_own_nodes(const Design& design, std::vector<Estimate>& all) {
    const std::int64_t points = std::ssize(design.points);
    std::vector<Refined> refined(static_cast<std::size_t>(points), {shared_posterior(design, design.places)});
    std::optional<WidePlaces> wide;
    if (k_ <= kMostParametersOfRare) wide = wide_places(design);
    each(wide ? points : 0, [&](std::int64_t p) {
      const std::int64_t i = design.points[p];
      const PointMargins margins = margins_of(i, points_.target[i]);
      const Eigen::ArrayXd scores = smallest_scores(refined[p].posterior, margins, kPlaces);
      const double fails = scores.unaryExpr([](double score) { return normal::complement(score); }).mean();
      if (margins.finite && fails < kRare) refined[p] = {shared_posterior(design, wide->at), true};
    });
    for (std::int64_t round = 0, placed = shared_; round < kOwnRounds; ++round) {
      const std::int64_t wanted = (count_ - placed) / (kOwnRounds - round);
      std::vector<std::int64_t> which(static_cast<std::size_t>(points * wanted));
      Eigen::MatrixXf w(points * wanted, k_);
      each(points, [&](std::int64_t p) {
        const std::int64_t i = design.points[p];
        auto& [posterior, rare] = refined[p];
        const Eigen::MatrixXd& places = rare ? wide->at : design.places;
        std::int64_t row = p * wanted;
        for (const Eigen::Index m : uncertain_places(posterior, places, rare ? &wide->weights : nullptr,
                                                     margins_of(i, points_.target[i]), wanted, rare && round == 0)) {
          posterior.add(places.row(m));
          which[row] = i;
          w.row(row++) = places.row(m).cast<float>();
        }
      });
      evaluate(which, w);
      placed += wanted;
    }
    each(points, [&](std::int64_t p) {
      const std::int64_t i = design.points[p];
      const auto& [posterior, rare] = refined[p];
      all[i] = rare ? estimated(i, [&](const PointMargins& margins) { return estimate_of_rare(posterior, *wide, margins); })
                    : estimated(posterior, scatter_of(posterior, design, rivals_), i);
    });
  }

  Estimate estimated(const ProcessPosterior& posterior, const Scatter& scatter, std::int64_t i) const {
    return estimated(i, [&](const PointMargins& margins) { return estimate_of(posterior, scatter, margins); });
  }

  // The estimate of a point, and that of its label from the same nodes.
  template <class FromMargins>
  Estimate estimated(std::int64_t i, const FromMargins& from_margins) const {
    const auto for_target = [&](std::int64_t target) {
      const PointMargins margins = margins_of(i, target);
      return margins.finite ? from_margins(margins) : counted_at(margins);
    };
    Estimate estimate = for_target(points_.target[i]);
    if (const std::int64_t label = other_label(points_, i); label >= 0) estimate.set_label(for_target(label));
    estimate.forwards = count_;
    return estimate;
  }

  template <class Use>
  void each(std::int64_t tasks, const Use& use) const {
    parallel_for(tasks, executor_.options().threads, [&](std::int64_t task, int) {
      stop_if_asked(stop());
      use(task);
    });
  }

  const StopToken* stop() const { return &executor_.progress.stop; }

  Executor& executor_;
  const Points& points_;
  const Noise& noise_;
  std::int64_t k_, count_, shared_, rivals_;
  std::vector<Design> designs_;
  ProcessScales scales_;
  std::vector<std::vector<float>> logits_;  // [points][nodes, C]
};

}  // namespace

std::vector<Estimate> estimates_by_process(Evaluation& evaluation, const Noise& noise, std::int64_t parameters,
                                           std::int64_t count) {
  return BlockSurrogate(evaluation, noise, parameters, count).estimates();
}

}  // namespace probust
