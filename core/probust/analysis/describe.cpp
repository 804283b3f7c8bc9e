// SPDX-License-Identifier: MIT
#include "probust/analysis/describe.h"

#include <utility>

#include "probust/base/text.h"

namespace probust {
namespace {

Document describe_scale(const ToleratedScale& scale) {
  constexpr const char* kKinds[] = {"within", "below", "above"};
  return Document::Object{{"kind", kKinds[static_cast<std::size_t>(scale.kind)]}, {"sigma", scale.sigma}};
}

Document describe_tolerances(const Tolerances& tolerances) {
  Document quantiles = Document::object();
  for (std::size_t k = 0; k < tolerances.quantiles.size(); ++k)
    quantiles.add(shortest_text(Tolerances::kShares[k]), describe_scale(tolerances.quantiles[k]));
  const auto point = [](const PointTolerance& each) {
    Document entry = describe_point(*each.row);
    entry.add(describe_scale(each.scale));
    return entry;
  };
  return Document::Object{{"threshold", tolerances.threshold},
                          {"below", tolerances.below},
                          {"within", tolerances.within},
                          {"above", tolerances.above},
                          {"unanswered", tolerances.unanswered},
                          {"quantiles", std::move(quantiles)},
                          {"points", Document::list(tolerances.points, point)}};
}

Document describe_distances(const PointDistances& point) {
  const auto of_certificate = [&](double Certificate::*number) {
    return point.certificate == nullptr ? Document() : Document(point.certificate->*number);
  };
  Document entry = describe_point(*point.row);
  entry.add("p", point.row->estimate.p);
  entry.add("p_low", of_certificate(&Certificate::p_low));
  entry.add("certified_radius", of_certificate(&Certificate::radius));
  if (point.boundary == nullptr) return entry;
  entry.add("boundary", point.boundary->distance);
  entry.add("boundary_at_least", point.boundary->at_least);
  entry.add("rival", point.boundary->rival < 0 ? Document() : Document(point.boundary->rival));
  return entry;
}

Document describe_ranked(const Row* row) {
  Document entry = describe_point(*row);
  entry.add("p", row->estimate.p);
  entry.add("p_fail", row->estimate.p_fail);
  entry.add("ci_low", row->estimate.ci_low);
  entry.add("ci_high", row->estimate.ci_high);
  entry.add("status", word(row->estimate.status));
  return entry;
}

}  // namespace

Document describe(const GroupKey& key) {
  Document object = Document::object();
  if (!key.model.empty()) object.add("model", key.model);
  object.add("noise", key.noise);
  object.add("sigma", key.sigma);
  object.add("estimator", key.estimator);
  return object;
}

Document describe(const MeanInterval& mean) {
  return Document::Object{{"mean", mean.mean}, {"ci_low", mean.low}, {"ci_high", mean.high}, {"count", mean.count}};
}

Document describe(const CleanAccuracy& model) {
  const Proportion& right = model.accuracy;
  const bool any = right.of > 0;
  return Document::Object{{"model", model.model},
                          {"points", model.points},
                          {"labelled", right.of},
                          {"correct", right.count},
                          {"clean_accuracy", right.share},
                          {"ci_low", any ? Document(right.low) : Document()},
                          {"ci_high", any ? Document(right.high) : Document()}};
}

Document describe(const GroupSummary& group) {
  Document object = describe(group.key);
  object.add("points", group.points);
  object.add("noisy_accuracy", describe(group.noisy));
  object.add("p", describe(group.p));
  object.add("quantiles", Document::Object{{"0", group.least},
                                           {"0.05", group.q05},
                                           {"0.25", group.q25},
                                           {"0.5", group.median},
                                           {"0.75", group.q75},
                                           {"0.95", group.q95},
                                           {"1", group.most}});
  Document unanswered = Document::object();
  for (const auto& [status, count] : group.unanswered) unanswered.add(std::string(word(status)), count);
  object.add("unanswered", std::move(unanswered));
  object.add("forwards", group.forwards);
  object.add("backwards", group.backwards);
  return object;
}

Document describe(const GroupBias& bias, const std::vector<std::string>* names) {
  Document object = describe(bias.key);
  object.add("by", bias.by_label ? "label" : "predicted");
  object.add("compared", bias.compared);
  object.add("confidence", bias.confidence);
  Document::List classes;
  for (std::size_t k = 0; k < bias.classes.size(); ++k) {
    const std::int64_t c = bias.classes[k];
    Document entry = Document::Object{{"class", c}};
    if (names != nullptr) entry.add("name", class_text(c, *names));
    entry.add(describe(bias.p[k]));
    if (!bias.clean.empty()) entry.add("clean_accuracy", bias.clean[k].share);
    if (!bias.noisy.empty()) entry.add("noisy_accuracy", describe(bias.noisy[k]));
    classes.push_back(std::move(entry));
  }
  object.add("classes", std::move(classes));
  object.add("all", describe(bias.all));
  Document gap;
  if (bias.largest)
    gap = Document::Object{{"most", bias.largest->most},
                           {"least", bias.largest->least},
                           {"difference", bias.largest->difference},
                           {"ci_low", bias.largest->low},
                           {"ci_high", bias.largest->high}};
  object.add("largest_difference", std::move(gap));
  object.add("fragile", Document::list(bias.fragile, [](std::int64_t c) { return Document(c); }));
  return object;
}

Document describe(const Ranking& ranking) {
  Document object = describe(ranking.key);
  object.add("points", ranking.answered);
  object.add("least", Document::list(ranking.least, describe_ranked));
  object.add("most", Document::list(ranking.most, describe_ranked));
  return object;
}

Document describe(const Comparison& comparison) {
  Document object = Document::object();
  if (!comparison.model.empty()) object.add("model", comparison.model);
  object.add("noise", comparison.noise);
  object.add("sigma", comparison.sigma);
  object.add("a", comparison.a);
  object.add("b", comparison.b);
  object.add("count", comparison.p.count);
  object.add("pearson", comparison.p.pearson);
  object.add("spearman", comparison.p.spearman);
  object.add("mean_absolute_error", comparison.p.mae);
  object.add("mean_difference", comparison.p.bias);
  object.add("largest_difference", comparison.p.largest);
  object.add("reference", comparison.reference);
  object.add("relative_error", comparison.relative_p);
  object.add("relative_error_of_p_fail", comparison.relative_fail);
  return object;
}

Document describe(const RowSweep& sweep, double threshold) {
  Document object = Document::object();
  if (!sweep.model.empty()) object.add("model", sweep.model);
  object.add("noise", sweep.shape);
  object.add("estimator", sweep.estimator);
  object.add("scales", Document::list(sweep.scales, [](const SweepScale& scale) -> Document {
               return Document::Object{{"sigma", scale.sigma}, {"p", describe(scale.p)}};
             }));
  object.add("tolerated", describe_tolerances(tolerances_of(sweep, threshold)));
  return object;
}

Document describe(const GroupCertificates& certificates, const std::vector<PointDistances>& points) {
  Document object = describe(certificates.key);
  object.add("confidence", certificates.confidence);
  object.add("no_certificates", Document::text_or_null(certificates.reason));
  object.add("certified", certificates.certified);
  object.add("spearman_of_boundary_and_p", boundary_and_p(points).spearman);
  object.add("points", Document::list(points, describe_distances));
  return object;
}

std::string class_text(std::int64_t of_class, const std::vector<std::string>& names) {
  return of_class >= 0 && of_class < std::ssize(names) ? names[static_cast<std::size_t>(of_class)] : std::to_string(of_class);
}

Document describe_point(const Row& row) {
  return Document::Object{{"index", row.index}, {"label", row.label}, {"predicted", row.predicted}, {"target", row.target}};
}

}  // namespace probust
