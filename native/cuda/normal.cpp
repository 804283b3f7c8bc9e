// SPDX-License-Identifier: MIT
#include "cuda/normal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "cuda/kernels.h"
#include "probust/base/error.h"
#include "probust/base/parallel.h"
#include "probust/normal/lattice.h"
#include "probust/normal/rational.h"
#include "probust/normal/separation.h"
#include "probust/normal/univariate.h"

namespace probust::cuda {
namespace {

using normal::LatticeMean;
using normal::Probability;
using normal::Problem;

constexpr std::int64_t kFirstLevel = 64;  // points per shift
// Larger than on the host, because stopping at the first small estimate of the error favours estimates that are too small.
constexpr double kErrorFactor = 1.3 * normal::kErrorFactor;
constexpr auto kDouble = static_cast<std::int64_t>(sizeof(double));

// Whether a problem is suitable for the device: R looks like a correlation matrix (it is not factorised), and no limit is NaN.
bool plain(const Problem& problem) {
  constexpr double kRounding = 1e-8;
  const std::size_t m = problem.z.size();
  if (problem.factor_columns != 0 || problem.matrix.size() != m * m) return false;
  for (std::size_t j = 0; j < m; ++j) {
    if (!(problem.z[j] > -normal::rational::kFar)) return false;
    if (!(std::abs(problem.matrix[j * m + j] - 1.0) <= kRounding)) return false;
    for (std::size_t i = 0; i < j; ++i) {
      if (!(std::abs(problem.matrix[j * m + i] - problem.matrix[i * m + j]) <= kRounding)) return false;
    }
  }
  return true;
}

// Some problems on the device, all of the same size: smaller problems are padded with variables whose limits are infinite.
class LatticeBatch {
 public:
  LatticeBatch(Device& device, std::span<const Problem> problems, std::span<const std::size_t> which, std::int64_t size)
      : device_(device), lattice_(static_cast<int>(size), normal::Options{}.seed, arena_) {
    const auto count = static_cast<std::int64_t>(which.size());
    std::vector<double> limits(static_cast<std::size_t>(count * size), normal::rational::kFar);
    std::vector<double> correlations(static_cast<std::size_t>(count * size * size), 0.0);
    for (std::int64_t b = 0; b < count; ++b) {
      const Problem& problem = problems[which[b]];
      const auto m = static_cast<std::int64_t>(problem.z.size());
      for (std::int64_t i = 0; i < m; ++i) {
        limits[b * size + i] = std::min(problem.z[i], normal::rational::kFar);
        std::copy_n(problem.matrix.data() + i * m, m, correlations.data() + (b * size + i) * size);
      }
      for (std::int64_t i = 0; i < size; ++i) correlations[(b * size + i) * size + i] = 1.0;
    }
    limits_ = Array<double>(device, limits);
    correlations_ = Array<double>(device, correlations);
    for (Array<double>* vectors : {&residual_, &slack_, &bounds_}) *vectors = Array<double>(device, count * size);
    for (Array<double>* each : {&root_, &mean_, &least_}) *each = Array<double>(device, count);
    for (Array<double>* matrices : {&factor_, &rows_}) *matrices = Array<double>(device, count * size * size);
    order_ = Array<std::int32_t>(device, count * size);
    generator_ = Array<double>(device, lattice_.generator());
    shifts_ = Array<double>(device, lattice_.shifts());
    all_ = {count,        size,          limits_.data(), correlations_.data(), residual_.data(), slack_.data(), root_.data(),
            mean_.data(), least_.data(), factor_.data(), order_.data(),        rows_.data(),     bounds_.data()};
    order_variables(device_, all_);
  }

  static std::int64_t bytes(std::int64_t size) { return (3 * size * size + 5 * size) * kDouble; }
  static std::int64_t bytes_of_points(std::int64_t size, std::int64_t points) {
    return (size + 2) * points * normal::kShifts * kDouble;
  }

  // For each problem: the smallest conditional variance of any variable, given those before it.
  std::vector<double> least() const {
    std::vector<double> values(static_cast<std::size_t>(all_.count));
    device_.download(values.data(), least_.data(), all_.count * kDouble);
    return values;
  }

  // Evaluates the next level of the lattice for some of the problems, at once for as many as fit into `bytes`.
  void refine(std::span<const std::int64_t> problems, std::span<LatticeMean> means, std::int64_t bytes) {
    const LatticeMean::Level level = means[problems[0]].next_level();
    const std::int64_t step = std::max<std::int64_t>(1, bytes / bytes_of_points(all_.size, level.points));
    const auto total = static_cast<std::int64_t>(problems.size());
    for (std::int64_t first = 0; first < total; first += step)
      refine_some(problems.subspan(first, std::min(step, total - first)), level, means);
  }

 private:
  void refine_some(std::span<const std::int64_t> problems, const LatticeMean::Level& level, std::span<LatticeMean> means) {
    const auto count = static_cast<std::int64_t>(problems.size());
    const std::int64_t threads = count * level.points * normal::kShifts, sums = 2 * count * normal::kShifts;
    const Array<std::int64_t> placed(device_, problems);
    const NormalPoints at{placed.data(),
                          count,
                          level.first,
                          level.stride,
                          level.points,
                          level.whole,
                          generator_.data(),
                          shifts_.data(),
                          y_.grown(device_, all_.size * threads),
                          values_.grown(device_, 2 * threads)};
    double* to = sums_.grown(device_, sums);
    evaluate_level(device_, all_, at, to);
    std::vector<std::array<double, normal::kShifts>> found(static_cast<std::size_t>(2 * count));
    device_.download(found.data(), to, sums * kDouble);
    for (std::int64_t a = 0; a < count; ++a) means[problems[a]].add(found[a], found[count + a]);
  }

  Device& device_;
  normal::Arena arena_;
  normal::ShiftedLattice lattice_;
  Array<double> limits_, correlations_, residual_, slack_, root_, mean_, least_, factor_, rows_, bounds_, generator_, shifts_;
  Array<std::int32_t> order_;
  Array<double> y_, values_, sums_;
  NormalProblems all_;
};

// The result of a lattice mean, in the form that normal::Separation reports.
Probability answer(const LatticeMean& mean, double first_mass, double least) {
  constexpr double kRounding = 1e-14;
  const double steepest = std::sqrt((1.0 - least) / least);
  const double error = kErrorFactor * mean.standard_error() + normal::unseen_mass(mean, first_mass, steepest);
  return {std::clamp(mean.p(), 0.0, 1.0),
          std::clamp(mean.q(), 0.0, 1.0),
          error + kRounding,
          error + kRounding * mean.q(),
          "separation",
          mean.points(),
          normal::Status::ok};
}

double target(const Probability& probability, const normal::Options& options) {
  return std::min(options.abs, options.rel_q * probability.p_fail);
}

// Solves the problems for which the lattice is accurate enough. The answers to the others stay empty.
void solve(Device& device, std::span<const Problem> problems, std::span<const std::size_t> which, std::int64_t size,
           std::int64_t bytes, const normal::Options& options, std::span<std::optional<Probability>> answers) {
  LatticeBatch batch(device, problems, which, size);
  const std::vector<double> least = batch.least();
  std::vector<LatticeMean> means(which.size(), LatticeMean(kFirstLevel));
  std::vector<std::int64_t> open;
  for (std::size_t b = 0; b < which.size(); ++b) {
    if (least[b] >= NormalProblems::kSmallest) open.push_back(static_cast<std::int64_t>(b));
  }
  const auto settled = [&](std::int64_t b) {
    const std::span<const double> z = problems[which[b]].z;
    const Probability found = answer(means[b], normal::cdf(*std::min_element(z.begin(), z.end())), least[b]);
    if (found.error_fail <= target(found, options)) {
      answers[which[b]] = found;
      return true;
    }
    // Gives up on a problem if even the fastest convergence on a lattice would not suffice, or if no points are left.
    const double most = static_cast<double>(std::min(options.max_points, normal::ShiftedLattice::kMaxPoints * normal::kShifts));
    return found.error_fail * static_cast<double>(found.points) > target(found, options) * most || means[b].exhausted() ||
           means[b].points() + means[b].next_points() > options.max_points ||
           LatticeBatch::bytes_of_points(size, means[b].next_points() / normal::kShifts) > bytes;
  };
  if (LatticeBatch::bytes_of_points(size, kFirstLevel) > bytes) return;
  while (!open.empty()) {
    batch.refine(open, means, bytes);
    open.erase(std::remove_if(open.begin(), open.end(), settled), open.end());
  }
}

}  // namespace

std::vector<Probability> normal_probabilities(Device& device, std::span<const Problem> problems, int threads, std::int64_t bytes,
                                              const normal::Options& options) {
  std::vector<std::optional<Probability>> found(problems.size());
  std::vector<std::size_t> large;
  std::int64_t size = 0;
  std::vector<char> fit(problems.size());
  parallel_for(static_cast<std::int64_t>(problems.size()), threads, [&](std::int64_t i, int) {
    fit[i] = static_cast<char>(static_cast<std::int64_t>(problems[i].z.size()) >= kLeastVariables && plain(problems[i]));
  });
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (fit[i] == 0) continue;
    large.push_back(i);
    size = std::max(size, static_cast<std::int64_t>(problems[i].z.size()));
  }
  const std::int64_t together = bytes / 2 / std::max<std::int64_t>(1, LatticeBatch::bytes(size));
  if (together > 0) {
    for (std::size_t first = 0; first < large.size(); first += static_cast<std::size_t>(together)) {
      const auto some = std::span(large).subspan(first, std::min(static_cast<std::size_t>(together), large.size() - first));
      try {
        solve(device, problems, some, size, bytes / 2, options, found);
      } catch (const Error& error) {
        if (!is_out_of_memory(error)) throw;
        break;  // another process is using the memory; the answers found so far are kept
      }
    }
  }

  std::vector<Problem> rest;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!found[i]) rest.push_back(problems[i]);
  }
  std::vector<Probability> others(rest.size()), answers;
  normal::BatchSolver(threads).solve(rest, others, options);
  answers.reserve(problems.size());
  auto next = others.begin();
  for (const auto& one : found) answers.push_back(one ? *one : *next++);
  return answers;
}

}  // namespace probust::cuda
