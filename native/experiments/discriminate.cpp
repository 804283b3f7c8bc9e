// SPDX-License-Identifier: MIT
// Can a small network recognise robust images? One network is trained to separate images with a large p from images with a
// small p, and another to separate images with a large softmax probability from images with a small one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/interrupt.h"
#include "cli/messages.h"
#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "experiments/subjects.h"
#include "probust/analysis/ranking.h"
#include "probust/analysis/summary.h"
#include "probust/noise/noise.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

constexpr std::int64_t kFromEachEnd = 25;  // number of images per class, as in the paper

struct Labelled {
  std::vector<std::int64_t> points, labels;  // positions in the test data; 1 for a large probability, 0 for a small one
};

// The images with the largest and the smallest probability in each class.
Labelled ends_of_classes(const RowGroup& group) {
  Labelled ends;
  for (const auto& [label, rows] : by_class(group)) {
    const std::int64_t count = std::min(kFromEachEnd, static_cast<std::int64_t>(rows.rows.size()) / 4);
    const Ranking ranking = ranking_of(rows, count);
    for (const Row* row : ranking.most) ends.points.push_back(row->index), ends.labels.push_back(1);
    for (const Row* row : ranking.least) ends.points.push_back(row->index), ends.labels.push_back(0);
  }
  return ends;
}

// Some of the points, in an order that mixes classes: if `inside`, those of the given fold, whose position in `order` modulo
// `folds` is `fold`; otherwise, all other points.
struct Part {
  Tensor x;
  std::vector<std::int64_t> labels;
};
Part part_of(const Labelled& all, const std::vector<std::size_t>& order, const Tensor& x, std::size_t folds, std::size_t fold,
             bool inside) {
  std::vector<std::int64_t> points, labels;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if ((k % folds == fold) != inside) continue;
    points.push_back(all.points[order[k]]);
    labels.push_back(all.labels[order[k]]);
  }
  return {rows(x, points), labels};
}

// For each fold in turn, trains on all other folds and counts the correct predictions on this one.
Proportion cross_validated(const Study& study, const Labelled& all, const Tensor& x, std::size_t folds, std::int64_t epochs) {
  std::vector<std::size_t> order(all.points.size());
  std::vector<std::pair<double, std::size_t>> keys;
  for (std::size_t k = 0; k < order.size(); ++k)
    keys.emplace_back(NoiseStream(study.seed(), static_cast<std::uint32_t>(k), 0, 7).normal(), k);
  std::sort(keys.begin(), keys.end());
  std::transform(keys.begin(), keys.end(), order.begin(), [](const auto& key) { return key.second; });
  std::int64_t right = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    Part training = part_of(all, order, x, folds, fold, false);
    const Part unseen = part_of(all, order, x, folds, fold, true);
    Trainer trainer(cnn(study.subject().point, 2, Activation::relu, {study.seed()}), std::move(training.x), training.labels);
    const int status = run_interruptibly(
        trainer.stop, [&] { return trainer.epochs(epochs, {.rate = 2e-3, .decay = 0.05, .schedule = Schedule::cosine}), 0; },
        [] { return std::string("the next run trains the folds again"); });
    if (status != 0) end_interrupted();
    right +=
        std::llround(evaluate(trainer.network(), unseen.x, unseen.labels).accuracy * static_cast<double>(unseen.labels.size()));
  }
  return proportion(right, static_cast<std::int64_t>(order.size()));
}

}  // namespace

Findings discriminate(Study& study) {
  Findings findings;
  if (!suits_cnn(study.subject().point)) {
    findings.method.push_back("These points are not images of at least 16 x 16 pixels.");
    return findings;
  }
  const double sigma = study.middle_sigma();
  const Answers answers(study.rows(wide_run(study).question));
  const Dataset data = study.all_test();
  const std::size_t folds = study.quick() || study.subject().generated ? 5 : 10;
  const std::int64_t epochs = 30;
  const Labelled robust = ends_of_classes(answers.group(kFewSamples, sigma)),
                 sure = ends_of_classes(answers.group("softmax", sigma));
  const Proportion by_p = cross_validated(study, robust, data.x, folds, epochs),
                   by_softmax = cross_validated(study, sure, data.x, folds, epochs);
  findings.method.push_back(fmt::format(
      "From the {} test points, the images of each class with the largest and the smallest p ({}, sigma {}): {} in all, at most "
      "{} from each end of a class. The paper's small convolutional network, with two classes, is trained for {} epochs to "
      "distinguish the two; the same is done for the softmax probability. The paper tests on 10% of the images; here every "
      "image is tested once, by a network that was trained on the other {} of {} parts.",
      report::counted(study.subject().test_points), kFewSamples, sigma, robust.points.size(), kFromEachEnd, epochs, folds - 1,
      folds));
  const auto words = [](const Proportion& found) {
    return fmt::format("{} ({} to {})", report::percent(found.share), report::percent(found.low), report::percent(found.high));
  };
  findings.claims = {
      {"A network separates images with a large p from those with a small p better than images with a large and a small softmax "
       "probability: 92% against 58% on CIFAR-10.",
       "section 4.3", fmt::format("Accuracy on unseen images: {} for p, {} for softmax.", words(by_p), words(by_softmax)),
       verdict_of(by_p.low > by_softmax.high || (by_p.share > by_softmax.share && by_p.low > by_softmax.share))}};
  report::Chart chart;
  chart.title = "Accuracy on unseen images";
  chart.mark = report::Mark::bar;
  chart.x = {.categories = {"p, " + std::string(kFewSamples), "softmax"}};
  chart.y = {.label = "accuracy", .low = 0, .high = 1};
  chart.level = 0.5;
  chart.series = {{"", {{0, by_p.share, by_p.low, by_p.high}, {1, by_softmax.share, by_softmax.low, by_softmax.high}}}};
  findings.figures = {{"accuracy", "With 95% intervals. The dashed line is chance.", chart}};
  Sheet sheet{"discriminate", "Accuracy of telling apart the two ends of each class.",
              columns({"probability", "images", "right", "accuracy", "low", "high"})};
  for (const auto& [name, found] : {std::pair(std::string("p"), by_p), std::pair(std::string("softmax"), by_softmax)})
    sheet.rows.push_back({name, std::to_string(found.of), std::to_string(found.count), report::rounded(found.share),
                          report::rounded(found.low), report::rounded(found.high)});
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
