// SPDX-License-Identifier: MIT
// Section 4.1.3: compares p, at several scales of the noise, with the distance to the nearest point with a different
// prediction. Also compares p between covariances, and between twenty runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "datasets/npy.h"
#include "experiments/natural.h"
#include "probust/analysis/statistics.h"
#include "report/words.h"

namespace probust::cli::reproduce::scher {
namespace {

std::vector<double> scales_of(const Study& study) {
  if (study.quick()) return {0.1, 0.25, 0.5, 1, 2, 4, 8};
  return {0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8};
}
constexpr double kSmall = 0.5, kLarge = 2;  // the scales of the scatter plots

// The sigma of isotropic noise of this scale, whose covariance has the trace scale².
double sigma_of(const Table& table, double scale) { return scale / std::sqrt(static_cast<double>(table.width())); }

// p at each scale, and the distances of the points.
struct Swept {
  std::vector<double> scales, distance, r;
  std::vector<std::vector<double>> p;           // by scale
  std::vector<double> pearson, spearman, mean;  // by scale: correlations of p with r (NaN if all p are equal), and mean p

  const std::vector<double>& p_at(double scale) const {
    return p[static_cast<std::size_t>(std::find(scales.begin(), scales.end(), scale) - scales.begin())];
  }
  std::size_t best() const {
    std::size_t best = 0;
    for (std::size_t k = 0; k < scales.size(); ++k)
      best = !(spearman[k] <= spearman[best]) && !std::isnan(spearman[k]) ? k : best;
    return best;
  }
};

Swept swept(Study& study, const Table& table) {
  Swept result;
  result.scales = scales_of(study);
  const std::string mc = fmt::format("mc:{}", copies(study));
  Question question{.name = "natural-" + table.name, .model = table.model, .estimators = {mc}, .data = table.file};
  for (const double scale : result.scales) question.sigma.push_back(sigma_of(table, scale));
  const Results results = study.rows(question);
  const auto executor = executor_of(study, read_model(table.model, table.width()));
  result.distance = distances(*executor, table.x, !table.forest);
  result.r = rescaled(result.distance);
  for (const double sigma : question.sigma) {
    const std::vector<double>& p = result.p.emplace_back(p_of(results, gaussian(sigma), mc));
    result.pearson.push_back(pearson(p, result.r));
    result.spearman.push_back(spearman(p, result.r));
    result.mean.push_back(mean_interval(p).mean);
  }
  return result;
}

double share_above(const std::vector<double>& values, double limit) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), [limit](double value) { return value > limit; })) /
         static_cast<double>(values.size());
}

Claim order_claim(const Swept& of, const Table& table, const std::string& figure, std::int64_t count) {
  const std::size_t best = of.best();
  const auto [reversed, all] = compare_orders(of.p[best], of.r, count);
  return {
      "p and the distance do not measure the same thing: their correlation is not 1 at any scale, and the order of the points "
      "differs.",
      "section 4.1.3, " + figure,
      fmt::format(
          "On {}, Spearman's correlation is at most {}, at scale {}. Even there, {} of {} pairs of points have the opposite "
          "order, by more than the error of p.",
          table.title, report::rounded(of.spearman[best]), of.scales[best], report::counted(reversed), report::counted(all)),
      verdict_of(of.spearman[best] < 0.9995 && reversed > 0)};
}

Claim dense_claim(const Swept& of, const Table& table, const std::string& figure) {
  constexpr double kNear = 0.95;
  const double p = share_above(of.p_at(kSmall), kNear), r = share_above(of.r, kNear);
  return {"p is concentrated near 1, and the distance is not.", "section 4.1.3, " + figure,
          fmt::format("On {}, at scale {}, {} of the points have p above {}, and {} have r above {}.", table.title, kSmall,
                      report::percent(p), kNear, report::percent(r), kNear),
          verdict_of(p > 2 * r)};
}

std::string correlation_text(double value) {
  return std::isnan(value) ? "undefined, because all p are 1," : report::rounded(value);
}

Claim peak_claim(const Swept& of, const Table& table, const std::string& figure) {
  const std::size_t best = of.best(), last = of.scales.size() - 1;
  return {"There is a scale at which the distance predicts p best; it depends on the classifier.", "section 4.1.3, " + figure,
          fmt::format("On {}, Spearman's correlation is {} at scale {}, {} at scale {}, and {} at scale {}.", table.title,
                      correlation_text(of.spearman[0]), of.scales[0], correlation_text(of.spearman[best]), of.scales[best],
                      correlation_text(of.spearman[last]), of.scales[last]),
          verdict_of(best != 0 && best != last)};
}

Figure scatter_figure(const Swept& of, const Table& table) {
  report::Chart chart{.title = "p and the distance: " + table.title, .mark = report::Mark::scatter};
  chart.x = {.label = "r: distance / the largest", .low = 0, .high = 1};
  chart.y = {.label = "p", .low = 0, .high = 1};
  for (const double scale : {kSmall, kLarge}) chart.series.push_back(line(fmt::format("scale {}", scale), of.r, of.p_at(scale)));
  return {table.name + "-distance", "Each mark is a held-out point, at two scales of noise with the identity as covariance.",
          chart};
}

Figure correlation_figure(const Swept& of, const Table& table) {
  report::Chart chart{.title = "Correlation of p and the distance: " + table.title};
  chart.x = {.label = "scale of the noise", .logarithmic = true, .every_value = true};
  chart.y = {.label = "correlation"};
  chart.series = {line("Pearson's", of.scales, of.pearson), line("Spearman's, of ranks", of.scales, of.spearman)};
  return {table.name + "-correlation", "How well the distance predicts p, over scales of the noise.", chart};
}

Sheet points_sheet(const Swept& of, const Table& table) {
  std::vector<double> index(of.r.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i);
  std::vector<std::string> titles = {"index", "distance", "r"};
  std::vector<std::vector<double>> columns = {index, of.distance, of.r};
  for (std::size_t k = 0; k < of.scales.size(); ++k) {
    titles.push_back(fmt::format("p at {}", of.scales[k]));
    columns.push_back(of.p[k]);
  }
  return sheet_of(table.name + "-points", "Every held-out point.", titles, columns, false);
}

// A covariance C = AᵀA, scaled to trace 1, where the elements of A are standard normal.
std::vector<double> random_covariance(std::int64_t d, std::uint64_t seed, std::uint32_t number) {
  constexpr std::uint32_t kStream = 0x3403;
  NoiseStream random(seed, number, 0, kStream);
  std::vector<double> A(static_cast<std::size_t>(d * d)), C(A.size(), 0.0);
  for (double& a : A) a = random.normal();
  double trace = 0;
  for (const double a : A) trace += a * a;
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t k = 0; k < d; ++k) C[i * d + j] += A[k * d + i] * A[k * d + j] / trace;
    }
  }
  return C;
}

// Compares p under noise with random covariances with p under isotropic noise (`identity`), both at result.best_scale.
void compare_covariances(Study& study, const Table& table, const std::vector<double>& identity, Compared& result) {
  const std::uint32_t draws = table.forest || !study.quick() ? 10 : 3;
  const std::string mc = fmt::format("mc:{}", copies(study));
  Question question{
      .name = "natural-" + table.name + "-covariances", .model = table.model, .estimators = {mc}, .data = table.file};
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const std::string path = study.path(fmt::format("data/{}-covariance-{}.npy", table.name, draw));
    write_npy(path, {table.width(), table.width()}, random_covariance(table.width(), study.seed(), draw));
    question.noise.push_back(
        fmt::format("gaussian:cov={}{}", path, result.best_scale == 1 ? "" : fmt::format(":{}", result.best_scale)));
  }
  const Results results = study.rows(question);
  std::vector<double> index, change, correlation;
  std::vector<report::Series> shown;  // series for the first three covariances
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> p = p_of(results, question.noise[draw], mc);
    if (draw < 3) shown.push_back(line(fmt::format("covariance {}", draw + 1), identity, p));
    const Agreement agreed = agreement(p, identity);
    index.push_back(draw + 1);
    change.push_back(agreed.mae);
    correlation.push_back(agreed.pearson);
  }
  result.covariance_change = mean_interval(change).mean;
  result.covariance_correlation = mean_interval(correlation).mean;
  report::Chart chart{.title = "Covariances: " + table.title, .mark = report::Mark::scatter, .diagonal = true};
  chart.x = {.label = "p with the identity as covariance", .low = 0, .high = 1};
  chart.y = {.label = "p with a random covariance", .low = 0, .high = 1};
  chart.series = shown;
  result.findings.figures.push_back(
      {table.name + "-covariance",
       fmt::format("Held-out points at scale {}, with {} of {} random covariances.", result.best_scale, shown.size(), draws),
       chart});
  result.findings.sheets.push_back(
      sheet_of(table.name + "-covariances",
               fmt::format("Random covariances against the identity, at scale {}: {}.", result.best_scale, table.title),
               {"covariance", "mean change of p", "Pearson's correlation"}, {index, change, correlation}, table.forest));
}

}  // namespace

Compared compare_with_distance(Study& study, const Table& table) {
  const Swept of = swept(study, table);
  const std::string figure = table.forest ? "figure 3" : "figure 4";
  Compared result;
  result.best_scale = of.scales[of.best()];
  // For a forest, integrate_forest compares the orders of points with the exact p.
  if (!table.forest) result.findings.claims.push_back(order_claim(of, table, figure, copies(study)));
  result.findings.claims.push_back(dense_claim(of, table, figure));
  result.findings.claims.push_back(peak_claim(of, table, figure));
  result.findings.figures = {scatter_figure(of, table), correlation_figure(of, table)};
  result.findings.sheets = {sheet_of(table.name + "-scales", fmt::format("p and r over scales: {}.", table.title),
                                     {"scale", "mean p", "Pearson's correlation", "Spearman's correlation"},
                                     {of.scales, of.mean, of.pearson, of.spearman}, true),
                            points_sheet(of, table)};
  compare_covariances(study, table, of.p_at(result.best_scale), result);
  return result;
}

// ---- Twenty runs.

namespace {

constexpr std::uint64_t kRuns = 20;
constexpr const char* kCopies = "mc:10000";

// For each noise, the smallest Pearson correlation of p between any two runs.
std::vector<double> smallest_correlations(Study& study, const Table& table, Question question,
                                          const std::vector<std::string>& noises) {
  question.model = table.model;
  question.data = table.file;
  question.estimators = {kCopies};
  std::vector<Results> runs;
  for (std::uint64_t run = 1; run <= kRuns; ++run) {
    question.name = fmt::format("natural-{}-run-{}", table.name, run);
    question.seed = run;
    runs.push_back(study.rows(question));
  }
  std::vector<double> smallest;
  for (const std::string& noise : noises) {
    std::vector<std::vector<double>> p;
    p.reserve(runs.size());
    for (const Results& run : runs) p.push_back(p_of(run, noise, kCopies));
    smallest.push_back(1);
    for (std::size_t a = 0; a < p.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) smallest.back() = std::min(smallest.back(), pearson(p[a], p[b]));
    }
  }
  return smallest;
}

}  // namespace

Findings twenty_runs(Study& study, const std::vector<const Table*>& tables, const Weather& weather) {
  const std::vector<double> scales = {0.5, 1, 2};
  Sheet sheet{"runs",
              fmt::format("The smallest correlation of p between two of {} runs of {} with different seeds.", kRuns, kCopies),
              {{"table", false}, {"points"}, {"scale", false}, {"smallest correlation"}}};
  std::string found;
  bool confirmed = true;
  const auto note = [&](const Table& table, std::int64_t points, const std::string& scale, double correlation) {
    sheet.rows.push_back({table.title, report::counted(points), scale, fmt::format("{:.5f}", correlation)});
    confirmed = confirmed && correlation > 0.999;
  };
  for (const Table* table : tables) {
    Question question;
    question.points = study.quick() ? std::min<std::int64_t>(table->x.shape[0], 40) : table->x.shape[0];
    for (const double scale : scales) question.sigma.push_back(sigma_of(*table, scale));
    std::vector<std::string> noises(scales.size());
    std::transform(question.sigma.begin(), question.sigma.end(), noises.begin(), gaussian);
    const std::vector<double> smallest = smallest_correlations(study, *table, question, noises);
    for (std::size_t k = 0; k < scales.size(); ++k) note(*table, question.points, fmt::format("{}", scales[k]), smallest[k]);
    found += fmt::format("{:.4f}, {:.4f} and {:.4f} on {}; ", smallest[0], smallest[1], smallest[2], table->title);
  }
  Question question;
  question.noise = {"gaussian:factor=" + study.path("data/weather-factors.npy")};
  const double on_weather = smallest_correlations(study, weather.table, question, question.noise)[0];
  note(weather.table, weather.table.x.shape[0], "of each point", on_weather);
  Findings findings;
  findings.claims = {
      {"Monte Carlo with 10,000 samples has converged: between any two of 20 runs, p has a correlation above 0.999.",
       "sections 4.1.3 and 4.2",
       fmt::format(
           "The smallest correlations of two of {} runs, at scales {}: {}{:.4f} on {} with covariances of points. The paper "
           "does not say at which scales it looked; the less p differs from point to point, the more its error weighs.",
           kRuns, fmt::join(scales, ", "), found, on_weather, weather.table.title),
       verdict_of(confirmed)}};
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce::scher
