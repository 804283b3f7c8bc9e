// SPDX-License-Identifier: MIT
// Section 3.3 and appendix A: classifiers of points in the plane, for which p and the distance have closed forms. These are
// compared with the program's results for a model of each classifier. The formulas are our own, for sigma = 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "datasets/npy.h"
#include "experiments/natural.h"
#include "probust/analysis/statistics.h"
#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "probust/train/forest.h"
#include "report/words.h"

namespace probust::cli::reproduce::scher {
namespace {

constexpr double kBoundary = 0.5, kCorner1 = 1, kCorner2 = 2;  // x2 of the linear boundary; the right angle's corner (a1, a2)
constexpr double kReach = 3;                                   // half the side of a map

// Predicts class 1 if x2 > 1/2, as the paper's model y = w1 x1 + w2 x2 + b > 1/2 with w1 = 0, w2 = 1 and b = 0 does.
Graph linear_of_plane() {
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, {2}, Extent::example, "x"), {1, 2});
  const ValueId product = build::matmul(g, x, append_constant(g, Tensor({2, 2}, {0, 0, 0, 1})));
  const Tensor bias({2}, {0, static_cast<float>(-kBoundary)});
  g.outputs = {build::reshape(g, build::add(g, product, append_constant(g, bias)), {2})};
  return g;
}

// Predicts class 1 if x1 > 1 and x2 > 2. A tree of depth 2, trained on one point in each of the four regions of the plane.
Graph right_angle_tree() { return decision_tree(Tensor({4, 2}, {0, 1, 2, 1, 0, 3, 2, 3}), {0, 0, 0, 1}, 2, 2); }

// A classifier: the estimators to use for it, the centre of its map, and its closed forms.
struct Case {
  std::string name, title;
  std::string estimator, other, remark;  // the estimator for the map, another one, and a remark about the other one
  bool gradients;
  double middle1, middle2;  // the centre of the map
  std::function<double(double, double)> p, distance;
};

Case linear_case(const std::string& mc) {
  Case of{"linear", "a linear boundary", "taylor", mc, "", true, 0, kBoundary, {}, {}};
  of.p = [](double, double x2) { return normal::cdf(std::fabs(x2 - kBoundary)); };
  of.distance = [](double, double x2) { return std::fabs(x2 - kBoundary); };
  return of;
}

Case right_angle_case(const std::string& mc) {
  Case of{"right-angle",
          "a right angle",
          mc,
          "quadrature:256",
          ", which interpolates where a tree jumps,",
          false,
          kCorner1,
          kCorner2,
          {},
          {}};
  of.p = [](double x1, double x2) {
    const double inside = normal::cdf(x1 - kCorner1) * normal::cdf(x2 - kCorner2);
    return x1 > kCorner1 && x2 > kCorner2 ? inside : 1 - inside;
  };
  of.distance = [](double x1, double x2) {
    const double to1 = x1 - kCorner1, to2 = x2 - kCorner2;
    if (to1 > 0 && to2 > 0) return std::min(to1, to2);
    return std::hypot(std::min(to1, 0.0), std::min(to2, 0.0));
  };
  return of;
}

// The results at the centres of a map's cells. No centre is on a boundary between classes.
struct Plane {
  std::vector<double> x1, x2;              // coordinates of the columns and of the rows
  Tensor points;                           // [rows x columns, 2]
  std::vector<double> p, other, distance;  // the program's results: p by Case::estimator and by Case::other, and the distance
  std::vector<double> exact_p, exact_distance;

  std::size_t at(std::size_t row, std::size_t column) const { return row * x1.size() + column; }
};

std::vector<double> centres(double middle, std::int64_t count) {
  std::vector<double> all;
  for (std::int64_t k = 0; k < count; ++k)
    all.push_back(middle + kReach * (2 * (static_cast<double>(k) + 0.5) / static_cast<double>(count) - 1));
  return all;
}

Plane mapped(Study& study, const Case& of, const Graph& model) {
  const std::int64_t side = study.quick() ? 20 : 40;
  Plane plane;
  plane.x1 = centres(of.middle1, side);
  plane.x2 = centres(of.middle2, side);
  for (const double x2 : plane.x2) {
    for (const double x1 : plane.x1) {
      plane.points.data.insert(plane.points.data.end(), {static_cast<float>(x1), static_cast<float>(x2)});
      plane.exact_p.push_back(of.p(x1, x2));
      plane.exact_distance.push_back(of.distance(x1, x2));
    }
  }
  plane.points.shape = {side * side, 2};
  const Results results =
      study.rows({.name = "natural-" + of.name,
                  .model = write_model(study, of.name, model),
                  .estimators = {of.estimator, of.other},
                  .sigma = {1},
                  .data = write_points(study, of.name, plane.points, std::vector<std::int64_t>(side * side, 0))});
  plane.p = p_of(results, "gaussian:1", of.estimator);
  plane.other = p_of(results, "gaussian:1", of.other);
  plane.distance = distances(*executor_of(study, model), plane.points, of.gradients);
  return plane;
}

// Rounds the values, so that values that would differ only by rounding errors become equal.
std::vector<double> without_rounding(std::vector<double> values) {
  for (double& value : values) value = std::round(value * 1e5) / 1e5;
  return values;
}

Figure map_of(const Plane& plane, const Case& of, const std::string& what, const std::vector<double>& values,
              std::optional<double> high) {
  report::Chart chart{
      .title = fmt::format("{} at {}", what == "p" ? "p" : "Distance", of.title), .mark = report::Mark::map, .height = 560};
  chart.x.label = "x1";
  chart.y.label = "x2";
  chart.grid = {plane.x1, plane.x2, values, {.label = what, .low = 0, .high = high}};
  return {of.name + "-" + what,
          fmt::format("As the program finds it, for noise of sigma 1, on a map of {} points.", values.size()), chart};
}

// The findings that both cases report.
Findings compared(Study& study, const Case& of, const Plane& plane, const std::string& where) {
  const bool exact = of.estimator == "taylor";
  const std::vector<double>& sampled = exact ? plane.other : plane.p;
  const double main = largest_difference(plane.p, plane.exact_p), other = largest_difference(plane.other, plane.exact_p),
               error = largest_error(sampled, plane.exact_p, copies(study)),
               by_search = largest_difference(plane.distance, plane.exact_distance);
  Findings findings;
  findings.claims = {
      {fmt::format("At {}, p and the distance have closed forms.", of.title), where,
       fmt::format(
           "On {} points, {} differs from the closed form by at most {}, and {}{} by at most {}; Monte Carlo by at most {:.1f} "
           "standard errors, and the searched distance by at most {}.",
           plane.p.size(), of.estimator, report::rounded(main), of.other, of.remark, report::rounded(other), error,
           report::rounded(by_search)),
       verdict_of((!exact || main < 1e-3) && error < 5 && by_search < 0.05)}};
  findings.figures = {map_of(plane, of, "p", plane.p, 1), map_of(plane, of, "distance", plane.distance, {})};
  std::vector<double> x1, x2;
  for (std::int64_t i = 0; i < plane.points.shape[0]; ++i) {
    x1.push_back(plane.points.row(i)[0]);
    x2.push_back(plane.points.row(i)[1]);
  }
  findings.sheets = {sheet_of(
      of.name, "Every point of the map at " + of.title + ".",
      {"x1", "x2", "p, closed form", "p, " + of.estimator, "p, " + of.other, "distance, closed form", "distance, searched"},
      {x1, x2, plane.exact_p, plane.p, plane.other, plane.exact_distance, plane.distance}, false)};
  return findings;
}

}  // namespace

Findings linear_plane(Study& study) {
  const Case of = linear_case(fmt::format("mc:{}", copies(study)));
  const Plane plane = mapped(study, of, linear_of_plane());
  Findings findings = compared(study, of, plane, "appendix A.1, figure A.1");
  double across = 0;  // the largest change along x1
  for (std::size_t row = 0; row < plane.x2.size(); ++row) {
    for (std::size_t column = 0; column < plane.x1.size(); ++column) {
      for (const std::vector<double>* values : {&plane.p, &plane.distance})
        across = std::max(across, std::fabs((*values)[plane.at(row, column)] - (*values)[plane.at(row, 0)]));
    }
  }
  const std::size_t last = plane.x2.size() - 1, half = last - plane.x2.size() / 4, first = plane.x2.size() / 2;
  const auto gain = [&](const std::vector<double>& values, std::size_t from, std::size_t to) {
    return values[plane.at(to, 0)] - values[plane.at(from, 0)];
  };
  findings.claims.push_back(
      {"Both are independent of x1. The distance grows linearly, and p approaches 1 exponentially.", "appendix A.1",
       fmt::format(
           "Along x1 they change by at most {}. From x2 = {:.3f} to {:.3f} the distance grows by {} and p by {}; from there to "
           "{:.3f} by {} and {}.",
           report::rounded(across), plane.x2[first], plane.x2[half], report::rounded(gain(plane.distance, first, half)),
           report::rounded(gain(plane.p, first, half)), plane.x2[last], report::rounded(gain(plane.distance, half, last)),
           report::rounded(gain(plane.p, half, last))),
       verdict_of(across < 1e-3 && gain(plane.p, half, last) < 0.5 * gain(plane.p, first, half))});
  const double rank = spearman(without_rounding(plane.p), without_rounding(plane.distance));
  findings.claims.push_back(
      {"For a linear classifier and noise that is alike in all directions, the distance ranks points as p does.", "section 3.3",
       fmt::format("Spearman's correlation of p and the distance is {:.4f}.", rank), verdict_of(rank > 0.999)});
  return findings;
}

Findings right_angle(Study& study) {
  const Case of = right_angle_case(fmt::format("mc:{}", copies(study)));
  const Plane plane = mapped(study, of, right_angle_tree());
  Findings findings = compared(study, of, plane, "appendix A.2, figure A.2");
  // Two points inside the angle, at the same distance from the vertical side: `corner` is at this distance from the other side,
  // too; `edge` is far from it.
  const std::size_t last = plane.x1.size() - 1;
  const auto column = static_cast<std::size_t>(
      std::find_if(plane.x1.begin(), plane.x1.end(), [](double x1) { return x1 > kCorner1 + 0.4; }) - plane.x1.begin());
  const std::size_t corner = plane.at(column, column), edge = plane.at(last, column);
  findings.claims.push_back(
      {"Far from the corner p and the distance agree; near it they do not, because p is reduced by both sides.",
       "section 3.3, figure 2a, and appendix A.2",
       fmt::format(
           "At ({0:.3f}, {1:.3f}) and at ({0:.3f}, {2:.3f}), inside the angle, the distances are {3} and {4}, and p is {5} "
           "and {6}. Over the map, Spearman's correlation of p and the distance is {7}.",
           plane.x1[column], plane.x2[column], plane.x2[last], report::rounded(plane.distance[corner]),
           report::rounded(plane.distance[edge]), report::rounded(plane.p[corner]), report::rounded(plane.p[edge]),
           report::rounded(spearman(plane.p, plane.distance))),
       verdict_of(std::fabs(plane.distance[corner] - plane.distance[edge]) < 0.01 && plane.p[edge] > plane.p[corner] + 0.1)});
  return findings;
}

Findings orientations(Study& study) {
  constexpr double kLong = 1, kShort = 0.3, kDistance = 1;
  const std::vector<std::string> names = {"along the boundary", "at 45 degrees", "towards the boundary"};
  std::vector<double> covariances, exact, numbers;
  Tensor points({3, 2});
  for (std::int64_t i = 0; i < 3; ++i) {
    const double angle = static_cast<double>(i) * std::numbers::pi / 4, c = std::cos(angle), s = std::sin(angle);
    const double to_boundary = kLong * kLong * s * s + kShort * kShort * c * c, mixed = (kLong * kLong - kShort * kShort) * c * s;
    covariances.insert(covariances.end(), {kLong * kLong * c * c + kShort * kShort * s * s, mixed, mixed, to_boundary});
    points.row(i)[1] = static_cast<float>(kBoundary + kDistance);
    exact.push_back(normal::cdf(kDistance / std::sqrt(to_boundary)));
    numbers.push_back(static_cast<double>(i));
  }
  const std::string file = study.path("data/orientations.npy"), noise = "gaussian:cov=" + file,
                    mc = fmt::format("mc:{}", copies(study));
  write_npy(file, {3, 2, 2}, covariances);
  const Results results = study.rows({.name = "natural-orientations",
                                      .model = write_model(study, "linear", linear_of_plane()),
                                      .estimators = {"taylor", mc},
                                      .noise = {noise},
                                      .data = write_points(study, "orientations", points, {1, 1, 1})});
  const std::vector<double> taylor = p_of(results, noise, "taylor"), sampled = p_of(results, noise, mc);
  Findings findings;
  findings.claims = {
      {"Points at the same distance differ in p if their uncertainty lies in other directions.", "section 3.3, figure 2b",
       fmt::format(
           "At distance {} from a line, with deviations of {} in one direction and {} across it, p is {} for uncertainty along "
           "the line, {} at 45 degrees, and {} towards it. The closed form differs by at most {}.",
           kDistance, kLong, kShort, report::probability(taylor[0]), report::probability(taylor[1]),
           report::probability(taylor[2]), report::rounded(largest_difference(taylor, exact))),
       verdict_of(taylor[0] > taylor[1] && taylor[1] > taylor[2] && largest_difference(taylor, exact) < 1e-4)}};
  report::Chart chart{.title = "The same distance, other directions", .mark = report::Mark::bar};
  chart.x.categories = names;
  chart.y = {.label = "p", .low = 0, .high = 1};
  chart.series = {line("closed form", numbers, exact), line("taylor", numbers, taylor), line(mc, numbers, sampled)};
  findings.figures = {
      {"orientations", "Three points at distance 1 from a line, by the direction of the larger deviation.", chart}};
  return findings;
}

}  // namespace probust::cli::reproduce::scher
