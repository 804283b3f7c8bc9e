// SPDX-License-Identifier: MIT
#include "probust/exec/plan/shared_draws.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probust/base/parallel.h"
#include "probust/base/stop.h"
#include "probust/base/transpose.h"
#include "probust/exec/host/host_samples.h"
#include "probust/exec/plan/chunked_executor.h"
#include "probust/noise/sampled.h"

namespace probust {
namespace {

constexpr double kShare = 0.25;      // share of the memory for each part of the classifier, and for the values between the parts
constexpr std::int64_t kBytes = 16;  // bytes per value between the two parts, for one point and its share of the draws

constexpr std::int64_t kPairs = 4;  // pairs of each point that run together: many lanes, while one draw stays in the cache

constexpr std::int64_t kMostGradients = std::int64_t{1} << 15;  // values per point; a block takes as much memory as its draws
constexpr std::int64_t kPointsTogether = 32;

Tensor zeros(std::int64_t count, const Shape& point) {
  Shape shape = point;
  shape.insert(shape.begin(), count);
  return Tensor(shape);
}

// The changes that draws cause in the outputs of the first layer, as a noise keyed by the sample and the draw.
class MovedOutputs final : public SampledNoise {
 public:
  /// `moved` is [samples draws, outputs].
  MovedOutputs(Tensor moved, std::int64_t draws) : SampledNoise("shared draws"), moved_(std::move(moved)), draws_(draws) {}

  std::string name() const override { return "shared draws"; }
  bool mirrored() const override { return true; }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto row_of = [&](std::int64_t lane) { return moved_.row(lanes.samples[lane] * draws_ + lanes.points[lane]).data(); };
    for_rows(std::ssize(lanes.points), elements, x, row_of, [&](std::span<float> to, const float* moved) {
      for (std::size_t k = 0; k < to.size(); ++k) to[k] += scale * moved[k];
    });
  }

 private:
  Tensor moved_;
  std::int64_t draws_;
};

// The draws of some pairs, and the draw that each point uses.
struct Draws {
  std::vector<std::int64_t> keys;                  // without repetition, ascending
  std::vector<std::vector<std::int64_t>> of_pair;  // [pairs][points] positions in `keys`
};

Draws draws_of(std::span<const std::vector<std::int64_t>> keys) {
  Draws draws;
  for (const std::vector<std::int64_t>& of_pair : keys) draws.keys.insert(draws.keys.end(), of_pair.begin(), of_pair.end());
  std::sort(draws.keys.begin(), draws.keys.end());
  draws.keys.erase(std::unique(draws.keys.begin(), draws.keys.end()), draws.keys.end());
  const auto place = [&](std::int64_t key) {
    return std::lower_bound(draws.keys.begin(), draws.keys.end(), key) - draws.keys.begin();
  };
  for (const std::vector<std::int64_t>& of_pair : keys)
    std::transform(of_pair.begin(), of_pair.end(), std::back_inserter(draws.of_pair.emplace_back()), place);
  return draws;
}

// [samples draws, ...] The noise of samples first .. first + samples - 1 with the keys `keys`.
Tensor drawn(const Noise& noise, const std::vector<std::int64_t>& keys, std::uint64_t seed, std::int64_t first,
             std::int64_t samples, const Shape& point, int threads) {
  const std::vector<std::uint32_t> positions(keys.begin(), keys.end());
  const auto draws = std::ssize(positions), elements = static_cast<std::ptrdiff_t>(element_count(point));
  Tensor rows = zeros(samples * draws, point);
  parallel_for(samples, threads, [&](std::int64_t k, int) {
    const std::vector<std::uint32_t> numbers(positions.size(), static_cast<std::uint32_t>(first + k));
    std::vector<float> noisy(static_cast<std::size_t>(draws * elements), 0.0F);
    noise.shape->add({seed, positions, numbers}, elements, static_cast<float>(noise.scale), noisy.data());
    transpose(noisy.data(), elements, draws, rows.data.data() + k * draws * elements);
  });
  return rows;
}

// W e for each row e. The executor computes W e + b; `unmoved` is b.
Tensor moved_by(Executor& first, const Tensor& unmoved, const Tensor& e) {
  Tensor moved = first.logits(e).value();
  for (std::int64_t j = 0; j < moved.shape[0]; ++j) {
    const std::span<float> row = moved.row(j);
    for (std::size_t k = 0; k < row.size(); ++k) row[k] -= unmoved.data[k];
  }
  return moved;
}

}  // namespace

bool projects_by_draw(const Points& points, const Noise& noise, std::int64_t rows) {
  const std::int64_t elements = points.size() > 0 ? points.x.size() / points.size() : 0;
  return !points.draws.empty() && noise.shape->additive() && rows * elements <= kMostGradients;
}

std::int64_t bytes_to_project_by_draw(const Points& points, const Noise& noise, std::int64_t rows) {
  if (!projects_by_draw(points, noise, rows)) return 0;
  return rows * points.x.size() / points.size() * static_cast<std::int64_t>(sizeof(float));
}

void project_by_draw(const LaneLoops& loops, const Points& points, const Noise& noise, std::int64_t count,
                     std::span<const Eigen::MatrixXf> gradients, std::span<Projection> result) {
  const std::int64_t n = points.size();
  for (Projection& each : result) each.along.resize(each.along.rows(), count);
  for (std::int64_t k = 0; k < count; k += kPairs) {
    loops.stop_if_asked();
    const std::int64_t pairs = std::min(kPairs, count - k);
    const Draws draws = draws_of(std::span(points.draws).subspan(k, pairs));
    const Tensor e =
        drawn(noise, draws.keys, points.seed, k, pairs, loops.device().facts().point_shape, loops.device().facts().workers);
    loops.for_chunks(n, kPointsTogether, [&](std::int64_t first, std::int64_t some, int) {
      for (std::int64_t i = first; i < first + some; ++i) {
        for (std::int64_t p = 0; p < pairs; ++p) {
          const auto row = e.row(p * std::ssize(draws.keys) + draws.of_pair[p][i]);
          const Eigen::Map<const Eigen::VectorXf> moved(row.data(), std::ssize(row));
          result[i].along.col(k + p) = (gradients[i] * moved).cast<double>();
        }
      }
    });
  }
}

std::unique_ptr<SharedDraws> SharedDraws::of(BatchDevice& device, const AffinePrefix& start, Progress& progress) {
  try {
    auto first = device.of_part(start.first, kShare), rest = device.of_part(start.rest, kShare);
    if (!first || !rest) return nullptr;
    return std::unique_ptr<SharedDraws>(
        new SharedDraws(make_chunked_executor(std::move(first)), make_chunked_executor(std::move(rest), &progress)));
  } catch (const Error& error) {
    if (error.code != ErrorCode::resources) throw;
    throw Error{ErrorCode::resources, option("memory"),
                "is too small for shared draws, which need four times the memory for one example",
                "give more, or choose estimators without shared draws"};
  }
}

std::vector<Pairs> SharedDraws::pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first,
                                      const StopToken& stop) const {
  const Tensor unmoved = first_->logits(zeros(1, first_->point_shape())).value();
  const std::int64_t together = std::max<std::int64_t>(1, first_->options().memory / (unmoved.size() * kBytes));
  std::vector<Pairs> all = room_for_pairs(points.size(), rest_->classes() - 1, count);
  for (std::int64_t begin = 0; begin < points.size(); begin += together) {
    const Points own = slice(points, begin, std::min(together, points.size() - begin));
    Points z{first_->logits(own.x).value(), own.index, own.target, own.seed};
    for (std::int64_t k = 0; k < count; k += kPairs) {
      stop_if_asked(&stop);
      const std::int64_t pairs = std::min(kPairs, count - k);
      Draws draws = draws_of(std::span(own.draws).subspan(first + k, pairs));
      const Tensor e = drawn(noise, draws.keys, own.seed, first + k, pairs, first_->point_shape(), first_->options().threads);
      const Noise moved{std::make_shared<const MovedOutputs>(moved_by(*first_, unmoved, e), std::ssize(draws.keys)), 1.0};
      z.draws = std::move(draws.of_pair);
      const std::vector<Pairs> some = rest_->pairs(z, moved, pairs).value();
      for (std::int64_t i = 0; i < own.size(); ++i) put_pairs(some[i], k, all[begin + i]);
    }
  }
  return all;
}

void SharedDraws::release() const {
  first_->release();
  rest_->release();
}

}  // namespace probust
