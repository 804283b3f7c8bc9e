// SPDX-License-Identifier: MIT
// surrogate:N for two to six parameters. The points of a group are evaluated at the same N scrambled Sobol points w; each group
// has its own design, so that the errors of different groups are independent. Margins are Gaussian processes of w
// (margin_process.h), whose lengths are estimated from all points of the block. p is the mean, over many w, of the posterior
// probability that all margins are positive, with one draw of the posterior for each w; the posterior mean alone would be too
// smooth and p biased. Margins over different rivals are correlated like their curves.
//
// The error has three parts: the posterior variance of p, from a few joint draws over some w; 0.3 / N for what happens between
// the nodes that no node has seen; and the error of the mean over w.
//
// From kOwnNodes forwards on, the second half of a point's nodes are its own, placed where the sign of the smallest margin is
// the least certain. If failures turn out to be rare, a point's own nodes and the places over which p_fail is averaged come from
// a wider distribution, weighted by the ratio of the densities.
#include <algorithm>
#include <map>

#include "probust/base/parallel.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/shared_noise.h"
#include "probust/estimators/statistics/margin_survival.h"
#include "probust/estimators/statistics/sobol.h"
#include "probust/estimators/surrogate.h"

namespace probust {
namespace {

constexpr double kRare = 0.01;  // if p_fail is smaller with the shared nodes, failures are rare
constexpr std::int64_t kOwnNodes = 50, kOwnRounds = 8;
constexpr std::int64_t kFittedDesigns = 4;  // the scales are fitted to the points of this many groups
constexpr std::int64_t kFittedRivals = 4;   // and to this many margins of each
constexpr double kPoorScore = 0.9;          // a note says so if the leave-one-out score is worse

// The common design of the points of a group.
struct Design {
  std::vector<std::int64_t> points;  // positions in the block
  std::uint64_t seed;
  Eigen::MatrixXd nodes;  // [N, k]
  AveragedPlaces places;
};

class BlockSurrogate {
 public:
  BlockSurrogate(Evaluation& evaluation, const Noise& noise, std::int64_t parameters, std::int64_t count)
      : executor_(evaluation.executor()),
        points_(evaluation.points()),
        noise_(noise),
        k_(parameters),
        count_(count),
        shared_(count < kOwnNodes ? count : count / 2),
        rivals_(std::min(executor_.classes() - 1, PointMargins::kMost)) {
    const std::int64_t of_design = 8 * AveragedPlaces::kCount * k_ +
                                   4 * rivals_ * (AveragedPlaces::kCount + AveragedPlaces::kPaths * AveragedPlaces::kPathPlaces);
    check_all_fit(executor_, points_.size(), 4 * count_ * (executor_.classes() + k_) + of_design / kServed);
    make_designs();
  }

  std::vector<Estimate> estimates() {
    evaluate_shared();
    scales_ = fitted();
    std::vector<Estimate> all(static_cast<std::size_t>(points_.size()));
    if (shared_ == count_) {
      each(std::ssize(designs_), [&](std::int64_t g) {
        const ProcessPosterior posterior = shared_posterior(designs_[g], designs_[g].places.at);
        const PosteriorDraws draws = posterior_draws(posterior, designs_[g].places, rivals_);
        for (const std::int64_t i : designs_[g].points) all[i] = estimated(posterior, draws, i);
      });
    } else {
      with_own_nodes(all);
    }
    add_scores(all);
    return all;
  }

 private:
  void add_scores(std::vector<Estimate>& all) const {
    LeaveOneOut sums;
    for (const Design& design : designs_) {
      const LeaveOneOut own = left_out(design);
      sums.errors += own.errors;
      sums.variance += own.variance;
    }
    if (sums.score() <= kPoorScore) return;
    for (Estimate& estimate : all) estimate.add_note("cannot predict which samples fail; use more, or mc:N:sobol");
  }

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
    const std::uint64_t seed = design_seed(points_.seed, static_cast<std::uint64_t>(group));
    return {{}, seed, SobolNormals(k_, design_seed(seed, 1)).first(shared_), averaged_places(k_, rivals_, seed)};
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

  // How well the nodes of a group are predicted from each other. Near 1, the surrogate explains none of the failures, and its
  // estimates are as uncertain as counting.
  LeaveOneOut left_out(const Design& design) const {
    LeaveOneOut sums;
    const Eigen::MatrixXd precision = shared_posterior(design, design.nodes).precision();
    for (const std::int64_t i : design.points) {
      const PointMargins margins =
          margins_at(std::span(logits_[i]).first(shared_ * executor_.classes()), executor_.classes(), points_.target[i]);
      if (margins.finite) sums.add(margins, precision);
    }
    return sums;
  }

  // A point that places the second half of its nodes.
  struct Refined {
    std::int64_t point;
    const Design* design;
    const WidePlaces* wide;  // null unless failures are rare
    ProcessPosterior posterior;

    const Eigen::MatrixXd& places() const { return wide != nullptr ? wide->at : design->places.at; }
  };

  // As many points at a time as fit in the memory place their nodes, so that their forward passes form batches.
  void with_own_nodes(std::vector<Estimate>& all) {
    const bool seeks_rare = k_ <= kMostParametersOfRare;
    const std::int64_t step = points_at_once(executor_, 4 * count_ * (seeks_rare ? WidePlaces::kCount : AveragedPlaces::kCount));
    std::vector<std::pair<const Design*, std::int64_t>> points;
    for (const Design& design : designs_) {
      for (const std::int64_t i : design.points) points.emplace_back(&design, i);
    }
    for (std::size_t first = 0; first < points.size(); first += static_cast<std::size_t>(step))
      refine(std::span(points).subspan(first, std::min<std::size_t>(step, points.size() - first)), seeks_rare, all);
  }

  void refine(std::span<const std::pair<const Design*, std::int64_t>> points, bool seeks_rare, std::vector<Estimate>& all) {
    std::map<const Design*, WidePlaces> wide;
    std::vector<Refined> refined;
    for (const auto& [design, i] : points) {
      const bool again = !refined.empty() && refined.back().design == design && refined.back().wide == nullptr;
      refined.push_back({i, design, nullptr, again ? refined.back().posterior : shared_posterior(*design, design->places.at)});
      if (seeks_rare && !wide.contains(design)) wide.emplace(design, wide_places(k_, rivals_, design->seed));
    }
    each(seeks_rare ? std::ssize(refined) : 0, [&](std::int64_t p) {
      Refined& own = refined[p];
      const PointMargins margins = margins_of(own.point, points_.target[own.point]);
      if (!margins.finite || rough_failure(own.posterior, margins) >= kRare) return;
      own.wide = &wide.at(own.design);
      own.posterior = shared_posterior(*own.design, own.wide->at);
    });
    for (std::int64_t round = 0, placed = shared_; round < kOwnRounds; ++round) {
      const std::int64_t wanted = (count_ - placed) / (kOwnRounds - round);
      place(refined, wanted, round == 0);
      placed += wanted;
    }
    each(std::ssize(refined), [&](std::int64_t p) {
      const Refined& own = refined[p];
      all[own.point] = own.wide == nullptr
                           ? estimated(own.posterior, posterior_draws(own.posterior, own.design->places, rivals_), own.point)
                           : estimated(own.point, [&](const PointMargins& margins) {
                               return estimate_of_rare(own.posterior, *own.wide, margins);
                             });
    });
  }

  // Places this number of nodes of each point, and evaluates them.
  void place(std::vector<Refined>& refined, std::int64_t wanted, bool first) {
    std::vector<std::int64_t> which(refined.size() * static_cast<std::size_t>(wanted));
    Eigen::MatrixXf w(std::ssize(which), k_);
    each(std::ssize(refined), [&](std::int64_t p) {
      Refined& own = refined[p];
      std::int64_t row = p * wanted;
      const Eigen::ArrayXd* weights = own.wide != nullptr ? &own.wide->weights : nullptr;
      const PointMargins margins = margins_of(own.point, points_.target[own.point]);
      for (const Eigen::Index m :
           uncertain_places(own.posterior, own.places(), weights, margins, wanted, weights != nullptr && first)) {
        own.posterior.add(own.places().row(m));
        which[row] = own.point;
        w.row(row++) = own.places().row(m).cast<float>();
      }
    });
    evaluate(which, w);
  }

  Estimate estimated(const ProcessPosterior& posterior, const PosteriorDraws& draws, std::int64_t i) const {
    return estimated(i, [&](const PointMargins& margins) { return estimate_of(posterior, draws, margins); });
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
