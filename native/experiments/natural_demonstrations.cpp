// SPDX-License-Identifier: MIT
// Section 3.2 asks for perturbations that occur in nature. The first part changes categories, and checks p against the sum over
// all changes. The second part is a regression, in which an output survives if it stays within a tolerance; it checks p against
// the normal distribution of a linear model's output.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cli/output/text_file.h"
#include "datasets/fetch/iris.h"
#include "experiments/natural.h"
#include "probust/base/linear_algebra.h"
#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "report/words.h"

namespace probust::cli::reproduce::scher {
namespace {

// The columns of a point: a feature with three values in columns 0..2, one with four values in columns 3..6, and two numbers.
constexpr std::int64_t kFirst = 3, kSecond = 4, kColumns = kFirst + kSecond + 2;
constexpr std::array<std::array<double, kFirst>, kFirst> kFirstChanges = {{{0.9, 0.08, 0.02}, {0.1, 0.8, 0.1}, {0, 0.2, 0.8}}};
constexpr std::array<std::array<double, kSecond>, kSecond> kSecondChanges = {
    {{0.85, 0.05, 0.05, 0.05}, {0.1, 0.9, 0, 0}, {0.05, 0.15, 0.7, 0.1}, {0.02, 0.03, 0.05, 0.9}}};

// Formats transition probabilities in the form that files of categorical noise have.
template <std::size_t N>
std::string matrix_text(const std::array<std::array<double, N>, N>& rows) {
  std::vector<std::string> texts;
  texts.reserve(N);
  for (const std::array<double, N>& row : rows) texts.push_back(fmt::format("[{}]", fmt::join(row, ", ")));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string groups_text() {
  return fmt::format(
      "{{\"groups\": [\n  {{\"columns\": [0, 1, 2], \"transitions\": {}}},\n"
      "  {{\"columns\": [3, 4, 5, 6],\n   \"transitions\": {}}}\n]}}\n",
      matrix_text(kFirstChanges), matrix_text(kSecondChanges));
}

struct Customers {
  Tensor x;
  std::vector<std::int64_t> labels, first, second;  // per customer: the class, and the values of the two features
};

void set_values(std::span<float> row, std::int64_t first, std::int64_t second) {
  for (std::int64_t k = 0; k < kFirst + kSecond; ++k) row[k] = k == first || k == kFirst + second ? 1.0F : 0.0F;
}

// Generates customers whose labels follow a rule with some exceptions.
Customers customers(std::int64_t count, std::uint32_t offset) {
  constexpr std::uint32_t kStream = 0x3404;
  Customers all{Tensor({count, kColumns}), {}, {}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    NoiseStream random(0, offset + static_cast<std::uint32_t>(i), 0, kStream);
    all.first.push_back(static_cast<std::int64_t>(random.uniform() * kFirst));
    all.second.push_back(static_cast<std::int64_t>(random.uniform() * kSecond));
    const double a = random.normal(), b = random.normal();
    set_values(all.x.row(i), all.first.back(), all.second.back());
    all.x.row(i)[kColumns - 2] = static_cast<float>(a);
    all.x.row(i)[kColumns - 1] = static_cast<float>(b);
    const double score = (all.first.back() == 1 ? 1.0 : -0.4) + (all.second.back() >= 2 ? a : -0.5 * b) + 0.3 * random.normal();
    all.labels.push_back(score > 0 ? 1 : 0);
  }
  return all;
}

// The exact p: the sum of the probabilities of all pairs of values with which the prediction stays the same.
std::vector<double> enumerated(Executor& executor, const Customers& all) {
  const std::vector<std::int64_t> targets = predicted_classes(executor.logits(all.x).value());
  std::vector<double> p(all.labels.size(), 0.0);
  for (std::int64_t first = 0; first < kFirst; ++first) {
    for (std::int64_t second = 0; second < kSecond; ++second) {
      Tensor changed = all.x;
      for (std::size_t i = 0; i < p.size(); ++i) set_values(changed.row(static_cast<std::int64_t>(i)), first, second);
      const std::vector<std::int64_t> answers = predicted_classes(executor.logits(changed).value());
      for (std::size_t i = 0; i < p.size(); ++i) {
        if (answers[i] == targets[i]) p[i] += kFirstChanges[all.first[i]][first] * kSecondChanges[all.second[i]][second];
      }
    }
  }
  return p;
}

}  // namespace

Findings categories(Study& study) {
  const Customers training = customers(800, 0), held_out = customers(200, 800);
  Recipe recipe;
  recipe.name = "categories";
  recipe.model = "mlp:32";
  recipe.train = write_points(study, "categories-training", training.x, training.labels);
  recipe.test = write_points(study, "categories", held_out.x, held_out.labels);
  recipe.epochs = 20;
  const TrainedModel model = study.model(recipe);
  const std::string file = study.path("data/categories.json"), noise = "categorical:" + file,
                    mc = fmt::format("mc:{}", copies(study));
  write_text_file(file, groups_text());
  const std::vector<double> p = p_of(
      study.rows({.name = "natural-categories", .model = model.path, .estimators = {mc}, .noise = {noise}, .data = recipe.test}),
      noise, mc);
  const std::vector<double> exact = enumerated(*executor_of(study, read_model(model.path, kColumns)), held_out);
  const double error = largest_error(p, exact, copies(study));
  Findings findings;
  findings.claims = {
      {"The changes of a point should be modelled for each application; they need not be shifts of numbers.", "section 3.2",
       fmt::format(
           "On a generated table with two features of {} and {} values that change with given probabilities "
           "(categorical:FILE), {} agrees with the sum over all {} pairs of values: the largest difference over {} points is "
           "{}, {:.1f} standard errors.",
           kFirst, kSecond, mc, kFirst * kSecond, p.size(), report::rounded(largest_difference(p, exact)), error),
       verdict_of(error < 5)}};
  report::Chart chart{.title = "Categories that change", .mark = report::Mark::scatter, .diagonal = true};
  chart.x = {.label = "p, added up", .low = 0, .high = 1};
  chart.y = {.label = "p by " + mc, .low = 0, .high = 1};
  chart.series = {line("", exact, p)};
  findings.figures = {{"categories", "200 points of a generated table; the line is where both are equal.", chart}};
  findings.sheets = {sheet_of("categories", "Every point.", {"p", "p added up"}, {p, exact}, false)};
  return findings;
}

// ---- Regression.

namespace {

// The least-squares coefficients that predict the petal width of Iris from the other three measurements. The last one is the
// constant.
Eigen::Vector4d fitted(const Tensor& x) {
  Eigen::MatrixXd A(x.shape[0], 4);
  Eigen::VectorXd y(x.shape[0]);
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    A.row(i) << x.row(i)[0], x.row(i)[1], x.row(i)[2], 1;
    y[i] = x.row(i)[3];
  }
  return PivotedCholesky(transposed_product(A, A)).solve(transposed_times(A, y));
}

Graph regression_of(const Eigen::Vector4d& w) {
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, {3}, Extent::example, "x"), {1, 3});
  const Tensor weights({3, 1}, {static_cast<float>(w[0]), static_cast<float>(w[1]), static_cast<float>(w[2])});
  const ValueId sum = build::matmul(g, x, append_constant(g, weights));
  g.outputs = {build::reshape(g, build::add(g, sum, build::constant(g, static_cast<float>(w[3]))), {1})};
  return g;
}

}  // namespace

Findings tolerance(Study& study) {
  constexpr double kTolerance = 0.1;  // cm
  const std::vector<double> sigmas = {0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1};
  const Dataset flowers = iris();
  const Eigen::Vector4d w = fitted(flowers.x);
  Tensor x({flowers.x.shape[0], 3});
  for (std::int64_t i = 0; i < x.shape[0]; ++i) std::copy_n(flowers.x.row(i).begin(), 3, x.row(i).begin());
  const std::string mc = fmt::format("mc:{}", copies(study));
  const Results results = study.rows({.name = "natural-tolerance",
                                      .model = write_model(study, "petal-width", regression_of(w)),
                                      .estimators = {"taylor", mc},
                                      .sigma = sigmas,
                                      .data = write_points(study, "measures", x, std::vector<std::int64_t>(x.shape[0], 0)),
                                      .points = 10,
                                      .tolerance = kTolerance});
  std::vector<double> exact, taylor, sampled;
  double of_taylor = 0, of_mc = 0;
  for (const double sigma : sigmas) {
    exact.push_back(std::erf(kTolerance / (sigma * w.head<3>().norm()) / std::sqrt(2.0)));
    const std::vector<double> by_taylor = p_of(results, gaussian(sigma), "taylor"), by_mc = p_of(results, gaussian(sigma), mc);
    const std::vector<double> same(by_mc.size(), exact.back());
    of_taylor = std::max(of_taylor, largest_difference(by_taylor, same));
    of_mc = std::max(of_mc, largest_error(by_mc, same, copies(study)));
    taylor.push_back(by_taylor[0]);
    sampled.push_back(by_mc[0]);
  }
  Findings findings;
  findings.claims = {
      {"The question is whether the prediction changes, right or wrong; the paper does not cover regression.", "section 1.1",
       fmt::format(
           "With --tolerance, an output survives if it changes by less than {} cm. For petal widths of Iris by a linear model "
           "of the other measures, p is known: taylor differs from it by at most {}, {} by at most {:.1f} standard errors "
           "(10 points, {} scales).",
           kTolerance, report::rounded(of_taylor), mc, of_mc, sigmas.size()),
       verdict_of(of_taylor < 1e-4 && of_mc < 5)}};
  report::Chart chart{.title = "A regression within its tolerance"};
  chart.x = {.label = "sigma in cm", .logarithmic = true, .every_value = true};
  chart.y = {.label = "p", .low = 0, .high = 1};
  chart.series = {line("closed form", sigmas, exact), line("taylor", sigmas, taylor), line(mc, sigmas, sampled)};
  findings.figures = {{"tolerance", "The probability that the petal width changes by less than 0.1 cm; the three agree.", chart}};
  findings.sheets = {sheet_of("tolerance", "The first of the points.", {"sigma", "closed form", "taylor", mc},
                              {sigmas, exact, taylor, sampled}, true)};
  return findings;
}

}  // namespace probust::cli::reproduce::scher
