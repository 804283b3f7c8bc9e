// SPDX-License-Identifier: MIT
#include "probust/exec/plan/averaged_gradients.h"

#include <algorithm>

namespace probust {
namespace {

// The value of each lane's point.
std::vector<std::int64_t> per_lane(const std::vector<std::int64_t>& values, const SampleRange& range) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(range.lanes));
  for (std::int64_t lane = 0; lane < range.lanes; ++lane) result[lane] = values[range.point(lane)];
  return result;
}

}  // namespace

AveragedGradients::AveragedGradients(const LaneLoops& loops, Points points, const Noise& noise, std::int64_t samples,
                                     const Sweep& which)
    : loops_(loops),
      points_(std::move(points)),
      noise_(noise),
      samples_(samples),
      which_(which),
      placed_(loops.device().inputs().place(points_, *noise_.shape)),
      sums_(loops.device().gradients().make_sums(which, points_.size(), loops.rivals())) {
  results_.resize(static_cast<std::size_t>(points_.size()));
  for (Linearization& one : results_) one.sampled = one.along_own = one.along_mean = Eigen::MatrixXd(loops.rivals(), samples);
}

void AveragedGradients::add(std::int64_t count, int worker) {
  const std::int64_t end = std::min(count, samples_), batch = which_.batch.examples;
  if (done()) return;
  if (done_ < end) {
    const std::int64_t more = std::min((end - done_ + batch - 1) / batch * batch, samples_ - done_);
    const SampleRange all{.first = done_, .count = more, .scale = noise_.scale};
    for (std::int64_t begin = 0; begin < points_.size() * more; begin += batch)
      add_batch(part(all, begin, std::min(batch, points_.size() * more - begin)), worker);
    done_ += more;
  }
  if (done()) finish(worker);
}

void AveragedGradients::add_batch(const SampleRange& range, int worker) {
  BatchDevice& device = loops_.device();
  const std::vector<std::int64_t> targets = per_lane(points_.target, range), index = per_lane(points_.index, range);
  device.inputs().draw(worker, *placed_, range);
  device.runs().sweep(worker, which_, index, {loops_.rivals(), targets},
                      [&](std::int64_t, std::int64_t) { device.gradients().add(worker, *placed_, range, *sums_); });
  const Eigen::MatrixXd own = device.gradients().along_own(worker);
  const LogitsView logits = device.runs().logits(worker);
  for (std::int64_t lane = 0; lane < range.lanes; ++lane) {
    Linearization& out = results_[range.point(lane)];
    const std::int64_t column = range.first + range.column(lane);
    out.along_own.col(column) = own.col(lane);
    logits.store_margins(lane, targets[lane], out.sampled.col(column));
  }
}

void AveragedGradients::finish(int worker) {
  BatchDevice& device = loops_.device();
  device.gradients().keep_means(worker, *placed_, *sums_, samples_);
  sums_.reset();
  const SampleRange all{.count = samples_, .scale = noise_.scale};
  const std::int64_t total = points_.size() * samples_, batch = which_.batch.examples;
  for (std::int64_t begin = 0; begin < total; begin += batch) {
    const SampleRange range = part(all, begin, std::min(batch, total - begin));
    loops_.stop_if_asked();
    device.inputs().draw(worker, *placed_, range);
    const Eigen::MatrixXd along = device.gradients().along(worker, *placed_, range);
    for (std::int64_t lane = 0; lane < range.lanes; ++lane)
      results_[range.point(lane)].along_mean.col(range.column(lane)) = along.col(lane);
  }
  std::vector<Eigen::MatrixXd> grams = device.gradients().grams(worker, GradientForm::whitened);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i].margins = results_[i].sampled.rowwise().mean();
    results_[i].gram = std::move(grams[i]);
  }
  device.gradients().drop_kept(worker);
}

}  // namespace probust
