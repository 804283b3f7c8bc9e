// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/cloud.h"

#include <algorithm>

#include "probust/estimators/statistics/counts.h"
#include "probust/exec/checks.h"

namespace probust {
namespace {

void check_count(const Points& points, std::int64_t count) {
  if (points.size() != 1 || count < 1)
    throw Error{ErrorCode::usage, "the cloud",
                "needs one point and at least one noisy sample, not " + std::to_string(points.size()) + " points and " +
                    std::to_string(count) + " noisy samples",
                ""};
  const std::int64_t elements = points.x.size();
  if (count > kMaxElements / elements)
    throw Error{ErrorCode::resources, "the cloud",
                "cannot hold " + std::to_string(count) + " noisy samples of " + std::to_string(elements) + " elements",
                "use fewer noisy samples"};
}

}  // namespace

CloudMaker::CloudMaker(Executor& executor, Points points, Noise noise, std::int64_t count, ExternalEngine* external)
    : ExecutorJob(executor, external), points_(std::move(points)), noise_(std::move(noise)), count_(count) {
  check(executor, points_, *noise_.shape);
  check_count(points_, count_);
  cloud_.x.shape = points_.x.shape;
  cloud_.x.shape[0] = 0;
  cloud_.x.data.reserve(static_cast<std::size_t>(count_ * points_.x.size()));
  cloud_.predicted.reserve(static_cast<std::size_t>(count_));
}

// The number of samples of the next piece: whole batches, as many as can be drawn in a few milliseconds, but at least one.
std::int64_t CloudMaker::next_count() const {
  constexpr std::int64_t kNumbers = 1 << 18;
  const std::int64_t batch = std::max<std::int64_t>(1, executor().forward_batch().examples * executor().options().threads);
  return std::min(count_ - made(), std::max<std::int64_t>(1, kNumbers / points_.x.size() / batch) * batch);
}

// If a piece of work is repeated, its samples are not drawn again.
bool CloudMaker::piece() {
  const std::int64_t elements = points_.x.size();
  const auto make_noisy = [&](const NoiseLanes& lanes, float* x) {
    noise_.shape->add(lanes, elements, static_cast<float>(noise_.scale), x);
  };
  if (drawn_.data.empty()) drawn_ = noisy_rows(points_, made(), next_count(), executor().options().threads, make_noisy);
  const Tensor logits = executor().logits(drawn_).value();
  for (std::int64_t j = 0; j < logits.shape[0]; ++j) cloud_.predicted.push_back(argmax(logits.row(j)));
  cloud_.x.data.insert(cloud_.x.data.end(), drawn_.data.begin(), drawn_.data.end());
  cloud_.x.shape[0] = made();
  drawn_ = {};
  return made() < count_;
}

Result<Cloud> noisy_cloud(Executor& executor, const Points& points, const Noise& noise, std::int64_t count) {
  return guarded("the cloud", [&] {
    CloudMaker maker(executor, points, noise, count);
    maker.finish();
    return maker.take();
  });
}

}  // namespace probust
