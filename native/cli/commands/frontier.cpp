// SPDX-License-Identifier: MIT
// probust bench --frontier: the error of every estimator divided by the error of Monte Carlo at the same cost, and the coverage
// of its 95% intervals. The cost is the processor time of the calls to the executor (noise, forwards, gradients, moments) in
// units of a forward of mc:N on the same network. The time of the algebra that turns margins into probabilities has a separate
// column, and a second ratio includes it.
//
// The error of Monte Carlo itself need not be measured: the mean absolute deviation of a binomial share has a closed form (De
// Moivre 1730; Johnson, Kemp and Kotz, "Univariate discrete distributions", eq. 3.18).
#include "cli/commands/frontier.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "cli/commands/references.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/run/load.h"
#include "cli/timed_executor.h"
#include "datasets/json.h"
#include "datasets/noise_files.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/run/run.h"

namespace probust::cli {
namespace {

// Coverage is measured only for p in this range, because it is not informative close to 0 or 1.
constexpr double kLeastP = 0.3, kMostP = 0.99;
constexpr std::int64_t kForwardsTimed = 32;

// The estimators that are measured by default, in the order of docs/estimators.md.
constexpr const char* kDefaultEstimators[] = {"taylor",
                                              "adf",
                                              "mmse:50",
                                              "mmse:200",
                                              "mc:50",
                                              "mc:200",
                                              "mc:1000",
                                              "probit:24",
                                              "probit:50",
                                              "probit:110",
                                              "probit:200",
                                              "probit:250",
                                              "probit:1000",
                                              "probit:24:pooled",
                                              "probit:50:pooled",
                                              "probit:110:pooled",
                                              "probit:200:pooled",
                                              "probit:250:pooled",
                                              "probit:1000:pooled",
                                              "regression:25",
                                              "regression:50",
                                              "regression:110",
                                              "regression:200",
                                              "regression:250",
                                              "regression:1000",
                                              "regression:25:adf",
                                              "regression:50:adf",
                                              "regression:110:adf",
                                              "regression:200:adf",
                                              "regression:250:adf",
                                              "regression:1000:adf"};

// E |K / n - p| for a binomial K: 2 v C(n, v) p^v q^(n-v+1) / n with q = 1 - p and v = floor(np) + 1.
double binomial_deviation(double p, std::int64_t n) {
  if (p <= 0 || p >= 1) return 0;
  const auto trials = static_cast<double>(n), v = std::floor(trials * p) + 1;
  const double choose = std::lgamma(trials + 1) - std::lgamma(v + 1) - std::lgamma(trials - v + 1);
  return 2 * v * std::exp(choose + v * std::log(p) + (trials - v + 1) * std::log1p(-p)) / trials;
}

// The deviation for a cost n that is not an integer. It is about proportional to 1 / sqrt(n).
double deviation_at(double p, double cost) {
  const auto n = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::lround(cost)));
  return binomial_deviation(p, n) * std::sqrt(static_cast<double>(n) / cost);
}

// The half-width of a binomial 95% interval for a cost that is not an integer; for p near 0 or 1, that of half a failure.
double binomial_half_width(double p, double cost) {
  const double inside = std::clamp(p, 0.5 / cost, 1 - 0.5 / cost);
  return 1.96 * std::sqrt(inside * (1 - inside) / cost);
}

// Sums over points, seeds and noise scales, for one estimator and one network.
struct Tally {
  double error = 0, bias = 0, algebra_seconds = 0, forwards = 0;
  double monte_carlo = 0, monte_carlo_in_all = 0;     // errors of Monte Carlo at the same cost, without and with the algebra
  double half_width = 0, monte_carlo_half_width = 0;  // of 95% intervals
  std::int64_t count = 0, intervals = 0, covered = 0;

  double mean_error() const { return error / static_cast<double>(count); }
  double ratio() const { return error / monte_carlo; }
  double ratio_in_all() const { return error / monte_carlo_in_all; }
  double width() const { return half_width / monte_carlo_half_width; }
  double cost() const { return forwards / static_cast<double>(count); }
};

struct Column {
  EstimatorSpec estimator;
  std::vector<Tally> networks;
};

struct Frontier {
  std::vector<std::string> names;
  std::vector<Column> columns;
};

void count_estimates(const std::vector<Estimate>& estimates, const std::vector<double>& reference, double cost, Tally& tally) {
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const Estimate& estimate = estimates[i];
    if (std::isnan(estimate.p)) continue;
    ++tally.count;
    tally.error += std::fabs(estimate.p - reference[i]);
    tally.bias += estimate.p - reference[i];
    if (!estimate.ci_low || reference[i] < kLeastP || reference[i] > kMostP) continue;
    ++tally.intervals;
    tally.half_width += (*estimate.ci_high - *estimate.ci_low) / 2;
    tally.monte_carlo_half_width += binomial_half_width(reference[i], cost);
    tally.covered += *estimate.ci_low <= reference[i] && reference[i] <= *estimate.ci_high ? 1 : 0;
  }
}

// Compares all estimators for one network, on the same points and seeds.
class Comparison {
 public:
  Comparison(const BenchArguments& problem, TimedExecutor& executor, const Dataset& data, const Tensor& logits)
      : problem_(problem), executor_(executor), data_(data), logits_(logits) {}

  void compare(const Noise& noise, References& references, std::size_t network, Frontier& frontier) {
    Evaluation known = evaluation(0);
    const std::vector<double> reference = references.of(problem_, known, noise);
    for (std::int64_t seed = 0; seed < problem_.seeds; ++seed) {
      for (Column& column : frontier.columns) run(noise, column, network, reference, seed);
    }
  }

 private:
  Evaluation evaluation(std::int64_t seed) {
    const auto key = problem_.question.seed + static_cast<std::uint64_t>(seed);
    return {executor_, points_of(data_.x, predicted_classes(logits_), problem_.data.offset, key), logits_};
  }

  // The processor time, in seconds, that `work` spends in the executor.
  double network_seconds(const std::function<void()>& work) {
    const double before = executor_.seconds();
    work();
    return executor_.seconds() - before;
  }

  // The processor time of one forward of mc:N on a noisy sample. It is measured again for every estimator, because the speed of
  // the machine varies.
  double forward_seconds(const Noise& noise) {
    static const EstimatorSpec counting = parse_estimator("mc:" + std::to_string(kForwardsTimed));
    Evaluation points = evaluation(0);
    const double seconds = network_seconds([&] { (void)estimate(points, noise, counting).value(); });
    return seconds / static_cast<double>(logits_.shape[0] * kForwardsTimed);
  }

  // Estimates block by block, as `estimate` does.
  std::vector<Estimate> estimated(const Noise& noise, const EstimatorSpec& estimator, std::int64_t seed) {
    const Points all = evaluation(seed).points();
    std::vector<Estimate> estimates;
    for (std::int64_t first = 0; first < all.size();) {
      const std::int64_t count = std::min(points_in_block(all.index[first], kBlock), all.size() - first);
      Evaluation block(executor_, slice(all, first, count), rows(logits_, first, count));
      std::vector<Estimate> some = estimate(block, noise, estimator).value();
      std::move(some.begin(), some.end(), std::back_inserter(estimates));
      first += count;
    }
    return estimates;
  }

  void run(const Noise& noise, Column& column, std::size_t network, const std::vector<double>& reference, std::int64_t seed) {
    std::vector<Estimate> estimates;
    const double forward = forward_seconds(noise), start = processor_seconds();
    const double spent = network_seconds([&] { estimates = estimated(noise, column.estimator, seed); });
    const double algebra = processor_seconds() - start - spent;
    Tally& tally = column.networks[network];
    const double cost = std::max(1.0, spent / forward / static_cast<double>(estimates.size()));
    count_estimates(estimates, reference, cost, tally);
    tally.algebra_seconds += algebra;
    tally.forwards += cost * static_cast<double>(estimates.size());
    const double in_all = cost + algebra / forward / static_cast<double>(estimates.size());
    for (const double p : reference) {
      tally.monte_carlo += deviation_at(p, cost);
      tally.monte_carlo_in_all += deviation_at(p, in_all);
    }
  }

  const BenchArguments& problem_;
  TimedExecutor& executor_;
  const Dataset& data_;
  const Tensor& logits_;
};

// Runs every estimator once before anything is measured, because programs are compiled when they are first used.
void warm_up(Executor& executor, const Points& point, const Noise& noise, Frontier& frontier) {
  const Tensor logits = executor.logits(point.x).value();
  Evaluation evaluation(executor, point, logits);
  for (const Column& column : frontier.columns) (void)estimate(evaluation, noise, column.estimator).value();
}

void compare_on(const BenchArguments& problem, References& references, std::size_t network, Frontier& frontier) {
  const Dataset data = load_data(problem);
  report_bad(skipped_points(data.bad));
  Arguments one_thread = problem;
  one_thread.device.threads = 1;
  LoadedModel model = load_model(one_thread, load_options(one_thread, point_shape(data.x)));
  TimedExecutor executor(model.executor());
  const Tensor logits = executor.logits(data.x).value();
  std::vector<Noise> noises = noises_of_data(problem, datasets::noise_files());
  clip_like_data(noises, [&] { return range_of(data.x.data); });
  for (Noise& noise : noises) noise = bound_to(std::move(noise), data.x, model.point_shape());
  const Points points = points_of(data.x, predicted_classes(logits), problem.data.offset, 0);
  warm_up(executor, slice(points, 0, 1), noises.front(), frontier);
  Comparison comparison(problem, executor, data, logits);
  for (const Noise& noise : noises) {
    comparison.compare(noise, references, network, frontier);
    if (!problem.quiet) say("{} {}: done\n", frontier.names[network], noise.text());
  }
}

std::vector<BenchArguments> problems_of(const BenchArguments& arguments) {
  if (!arguments.data.path.empty()) return {arguments};
  std::ifstream file(arguments.model);
  if (!file)
    throw Error{ErrorCode::unreadable, arguments.model, "cannot be opened", "give MODEL DATA --sigma S, or a file of such lines"};
  std::vector<BenchArguments> problems;
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    BenchArguments& problem = problems.emplace_back(arguments);
    static_cast<Arguments&>(problem) =
        parse_problem(line, "line " + std::to_string(number) + " of " + arguments.model, arguments);
  }
  if (problems.empty())
    throw Error{ErrorCode::unreadable, arguments.model, "contains no benchmark problems",
                "write lines of the form MODEL DATA --sigma S"};
  return problems;
}

Tally total(const Column& column) {
  Tally sum;
  for (const Tally& tally : column.networks) {
    sum.error += tally.error;
    sum.bias += tally.bias;
    sum.monte_carlo += tally.monte_carlo;
    sum.monte_carlo_in_all += tally.monte_carlo_in_all;
    sum.algebra_seconds += tally.algebra_seconds;
    sum.forwards += tally.forwards;
    sum.count += tally.count;
    sum.intervals += tally.intervals;
    sum.covered += tally.covered;
    sum.half_width += tally.half_width;
    sum.monte_carlo_half_width += tally.monte_carlo_half_width;
  }
  return sum;
}

Document described(const Tally& tally) {
  Document json = Document::object();
  json["cost"] = tally.cost();
  json["mae"] = tally.mean_error();
  json["bias"] = tally.bias / static_cast<double>(tally.count);
  json["ratio"] = tally.ratio();
  json["ratio_with_algebra"] = tally.ratio_in_all();
  json["algebra_us"] = 1e6 * tally.algebra_seconds / static_cast<double>(tally.count);
  json["estimates"] = tally.count;
  json["intervals"] = tally.intervals;
  if (tally.intervals > 0) json["coverage"] = static_cast<double>(tally.covered) / static_cast<double>(tally.intervals);
  if (tally.intervals > 0) json["width"] = tally.width();
  return json;
}

void print_json(const Frontier& frontier) {
  for (const Column& column : frontier.columns) {
    Document json = Document::object();
    json["estimator"] = column.estimator.text();
    json.add(described(total(column)));
    Document networks = Document::object();
    for (std::size_t i = 0; i < frontier.names.size(); ++i) networks[frontier.names[i]] = described(column.networks[i]);
    json["networks"] = std::move(networks);
    fmt::print("{}\n", datasets::json_text(json));
  }
}

void print_table(const Frontier& frontier) {
  fmt::print(
      "ratio: MAE as a fraction of mc's at the same cost (in forward passes); coverage of 95% intervals, and their width as a "
      "fraction of mc's, where p is in {}..{}\n",
      kLeastP, kMostP);
  fmt::print("{:<22}{:>8}{:>10}{:>9}{:>8}{:>10}{:>7}{:>9}{:>9}", "estimator", "cost", "MAE", "bias", "ratio", "coverage", "width",
             "algebra", "with it");
  for (const std::string& name : frontier.names) fmt::print(" {:>10.10}", name);
  fmt::print("\n");
  for (const Column& column : frontier.columns) {
    const Tally sum = total(column);
    const std::string coverage =
        sum.intervals == 0 ? "" : fmt::format("{:.3f}", static_cast<double>(sum.covered) / static_cast<double>(sum.intervals));
    const std::string width = sum.intervals == 0 ? "" : fmt::format("{:.2f}", sum.width());
    fmt::print("{:<22}{:>8.1f}{:>10.5f}{:>+9.4f}{:>8.2f}{:>10}{:>7}{:>6.0f} us{:>9.2f}", column.estimator.text(), sum.cost(),
               sum.mean_error(), sum.bias / static_cast<double>(sum.count), sum.ratio(), coverage, width,
               1e6 * sum.algebra_seconds / static_cast<double>(sum.count), sum.ratio_in_all());
    for (const Tally& tally : column.networks) fmt::print(" {:>10.2f}", tally.ratio());
    fmt::print("\n");
  }
}

// The name of a problem in results: its network and, if there are any, its noise models.
std::string name_of(const BenchArguments& problem) {
  std::string name = std::filesystem::path(problem.model).stem().string();
  for (const std::string& noise : problem.question.noise) name += " " + noise;
  return name;
}

std::vector<EstimatorSpec> estimators_of(const BenchArguments& arguments) {
  std::vector<EstimatorSpec> estimators;
  for (const std::string& text : arguments.question.estimators) estimators.push_back(parse_estimator(text));
  if (!estimators.empty()) return estimators;
  for (const char* text : kDefaultEstimators) estimators.push_back(parse_estimator(text));
  return estimators;
}

}  // namespace

int run_frontier(const BenchArguments& arguments) {
  const std::vector<BenchArguments> problems = problems_of(arguments);
  References references(arguments.references, parse_estimator(arguments.reference));
  Frontier frontier;
  for (const EstimatorSpec& estimator : estimators_of(arguments))
    frontier.columns.push_back({estimator, std::vector<Tally>(problems.size())});
  for (const BenchArguments& problem : problems) frontier.names.push_back(name_of(problem));
  for (std::size_t i = 0; i < problems.size(); ++i) compare_on(problems[i], references, i, frontier);
  if (arguments.json) {
    print_json(frontier);
  } else {
    print_table(frontier);
  }
  return 0;
}

}  // namespace probust::cli
