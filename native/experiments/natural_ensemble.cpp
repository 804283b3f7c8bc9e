// SPDX-License-Identifier: MIT
// Section 4.2: each point has its own covariance, that of the ten members of an ensemble. Noise is also drawn from the members'
// deviations themselves, which does not assume that they are normal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/natural.h"
#include "probust/analysis/statistics.h"
#include "report/words.h"

namespace probust::cli::reproduce::scher {
namespace {

constexpr std::size_t kBins = 10;

// The number of values in each bin between 0 and 1.
std::vector<double> histogram(const std::vector<double>& values) {
  std::vector<double> counts(kBins, 0.0);
  for (const double value : values) ++counts[std::min(kBins - 1, static_cast<std::size_t>(value * kBins))];
  return counts;
}

report::Chart histogram_chart(const std::vector<double>& p, const std::vector<double>& r) {
  report::Chart chart{.title = "How often p and r have a value", .mark = report::Mark::bar};
  for (std::size_t bin = 0; bin < kBins; ++bin)
    chart.x.categories.push_back(fmt::format("{:.1f}", static_cast<double>(bin) / kBins));
  chart.x.label = "lower end of an interval of length 0.1";
  chart.y = {.label = "points", .low = 0.5, .logarithmic = true};
  std::vector<double> numbers(kBins);
  for (std::size_t bin = 0; bin < kBins; ++bin) numbers[bin] = static_cast<double>(bin);
  chart.series = {line("p", numbers, histogram(p)), line("r", numbers, histogram(r))};
  return chart;
}

// For each point: the share of the ensemble's members that have the same prediction as the point.
std::vector<double> counted_members(Executor& executor, const Weather& weather) {
  const std::int64_t members = weather.deviations.shape[1], d = weather.table.width();
  const std::vector<std::int64_t> targets = predicted_classes(executor.logits(weather.table.x).value());
  std::vector<double> shares;
  for (std::int64_t i = 0; i < weather.table.x.shape[0]; ++i) {
    Tensor copies_of({members, d});
    for (std::int64_t k = 0; k < members * d; ++k)
      copies_of.data[k] = weather.table.x.row(i)[k % d] + weather.deviations.row(i)[k];
    const std::vector<std::int64_t> answers = predicted_classes(executor.logits(copies_of).value());
    shares.push_back(static_cast<double>(std::count(answers.begin(), answers.end(), targets[i])) / static_cast<double>(members));
  }
  return shares;
}

}  // namespace

Findings per_point_covariances(Study& study, const Weather& weather) {
  const Table& table = weather.table;
  const std::string mc = fmt::format("mc:{}", copies(study));
  const std::string factors = "gaussian:factor=" + study.path("data/weather-factors.npy"),
                    members = "samples:" + study.path("data/weather-deviations.npy");
  const Results results = study.rows(
      {.name = "natural-weather", .model = table.model, .estimators = {mc}, .noise = {factors, members}, .data = table.file});
  const std::vector<double> p = p_of(results, factors, mc), drawn = p_of(results, members, mc);
  const auto executor = executor_of(study, read_model(table.model, table.width()));
  const std::vector<double> distance = distances(*executor, table.x, true), counted = counted_members(*executor, weather);
  const std::vector<double> r = rescaled(distance);

  const double n = static_cast<double>(p.size());
  const auto share = [n](const std::vector<double>& of, const auto& holds) {
    return static_cast<double>(std::count_if(of.begin(), of.end(), holds)) / n;
  };
  const auto sure = [](double value) { return value > 0.99; };
  const std::int64_t below = std::count_if(p.begin(), p.end(), [](double value) { return value < 0.5; });
  const double rank = spearman(p, r), error = largest_error(drawn, counted, copies(study));
  Findings findings;
  findings.claims = {
      {"With a covariance for each point, from an ensemble, many points have p close to 1.", "section 4.2, figure 6",
       fmt::format("On {}, {} of {} points have p above 0.99, and {} have r above 0.99.", table.title,
                   report::percent(share(p, sure)), p.size(), report::percent(share(r, sure))),
       verdict_of(share(p, sure) > 0.25)},
      {"No point has p below 0.5: no prediction is more likely to change than not.", "section 4.2, figure 6",
       fmt::format("On {}, {} of {} points have p below 0.5; the smallest p is {}.", table.title, report::counted(below),
                   p.size(), report::rounded(*std::min_element(p.begin(), p.end()))),
       verdict_of(below == 0)},
      {"The distance does not replace p.", "section 4.2, figure 6",
       fmt::format("On {}, Spearman's correlation of p and the distance is {}.", table.title, report::rounded(rank)),
       verdict_of(rank < 0.9995)},
      {"Deviations may also be given as samples, without a density.", "section 3.2",
       fmt::format(
           "With samples:FILE, which draws one of each point's ten recorded deviations, {} agrees with counting them: the "
           "largest difference is {}, {:.1f} standard errors. Treating them as normal changes p by {} on average.",
           mc, report::rounded(largest_difference(drawn, counted)), error, report::rounded(agreement(p, drawn).mae)),
       verdict_of(error < 5)}};
  report::Chart scatter{.title = "p and the distance: " + table.title, .mark = report::Mark::scatter};
  scatter.x = {.label = "r: distance / the largest", .low = 0, .high = 1};
  scatter.y = {.label = "p", .low = std::min(0.4, *std::min_element(p.begin(), p.end())), .high = 1};
  scatter.series = {line("", r, p)};
  scatter.level = 0.5;
  findings.figures = {{"weather-distance", "Held-out points, each with the covariance of its own ensemble.", scatter},
                      {"weather-histogram", "The same points; counts on a logarithmic scale.", histogram_chart(p, r)}};
  findings.sheets = {
      sheet_of("weather-points", "Every held-out point: p with its covariance, with its members drawn, with its members counted.",
               {"distance", "r", "p", "p of drawn members", "p of counted members"}, {distance, r, p, drawn, counted}, false)};
  return findings;
}

}  // namespace probust::cli::reproduce::scher
