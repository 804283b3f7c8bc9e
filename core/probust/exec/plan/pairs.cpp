// SPDX-License-Identifier: MIT
#include "probust/exec/plan/pairs.h"

namespace probust {
namespace {

// The first samples of pairs. If the noise cannot be mirrored, each pair takes two consecutive samples.
SampleRange first_of_pairs(const Noise& noise, std::int64_t first, std::int64_t count) {
  return {.first = first, .count = count, .scale = noise.scale, .stride = noise.shape->mirrored() ? 1 : 2, .of_pairs = true};
}

// Overwrites the first samples of pairs with the second ones. Additive noise is reflected at x instead of drawn again.
void draw_second(BatchDevice& device, const PlacedPoints& placed, SampleRange range, int worker) {
  if (placed.shape.additive()) return device.inputs().reflect(worker, placed, range);
  if (placed.shape.mirrored()) {
    range.scale = -range.scale;
  } else {
    range.offset = 1;
  }
  device.inputs().draw(worker, placed, range);
}

// Computes the margins of the pairs whose first samples are in the lanes. pairs(i) returns the Pairs of point i; sample j is
// column j.
template <class Meanwhile, class PairsOf>
void run_pairs(BatchDevice& device, const PlacedPoints& placed, const SampleRange& range, int worker, const Meanwhile& meanwhile,
               const PairsOf& pairs) {
  const auto store = [&](Eigen::MatrixXd Pairs::*side) {
    const LogitsView logits = device.runs().logits(worker);
    for (std::int64_t lane = 0; lane < range.lanes; ++lane) {
      const std::int64_t i = range.point(lane);
      logits.store_margins(lane, placed.points.target[i], (pairs(i).*side).col(range.column(lane)));
    }
  };
  device.runs().forward(worker, range.lanes);
  meanwhile();
  store(&Pairs::plus);
  draw_second(device, placed, range, worker);
  device.runs().forward(worker, range.lanes);
  store(&Pairs::minus);
}

}  // namespace

std::vector<Pairs> pairs_of(const LaneLoops& loops, const Points& points, const Noise& noise, std::int64_t count,
                            std::int64_t first) {
  const auto placed = loops.device().inputs().place(points, *noise.shape);
  std::vector<Pairs> result = room_for_pairs(points.size(), loops.rivals(), count);
  loops.for_ranges(
      *placed, first_of_pairs(noise, first, count), [&](const SampleRange& range, int worker, const auto& meanwhile) {
        run_pairs(loops.device(), *placed, range, worker, meanwhile, [&](std::int64_t i) -> Pairs& { return result[i]; });
      });
  return result;
}

void project(const LaneLoops& loops, int worker, const Sweep& which, const Points& points,
             std::span<const std::vector<std::int64_t>> rivals, const Noise& noise, AskedPairs asked,
             std::span<Projection> result, std::span<Eigen::MatrixXf> gradients) {
  BatchDevice& device = loops.device();
  const std::int64_t count = points.size(), rows = static_cast<std::int64_t>(rivals[0].size());
  const auto placed = device.inputs().place(points, *noise.shape);
  device.inputs().load(worker, points.x.data.data(), count);
  for (const GradientForm kept : {GradientForm::raw, GradientForm::whitened})
    device.gradients().make_room(worker, kept, count, rows);
  device.runs().sweep(worker, which, points.index, {rows, points.target, rivals}, [&](std::int64_t, std::int64_t) {
    device.gradients().keep(worker, GradientForm::raw);
    device.gradients().whiten(worker, *placed);
    device.gradients().keep(worker, GradientForm::whitened);
  });
  std::vector<Eigen::MatrixXd> grams = device.gradients().grams(worker, GradientForm::whitened);
  const LogitsView logits = device.runs().logits(worker);
  std::vector<Pairs> pairs = room_for_pairs(count, loops.rivals(), asked.count - asked.known);
  for (std::int64_t b = 0; b < count; ++b) {
    result[b].margins.resize(loops.rivals());
    logits.store_margins(b, points.target[b], result[b].margins);
    result[b].gram = std::move(grams[b]);
    result[b].along = Eigen::MatrixXd::Zero(rows, asked.count);
    result[b].pairs = std::move(pairs[b]);
  }
  const auto project_pairs = [&](std::int64_t first, std::int64_t of_each, bool run) {
    const SampleRange all = first_of_pairs(noise, first, of_each);
    loops.for_ranges(*placed, all, worker, [&](const SampleRange& range, int, const auto& meanwhile) {
      const Eigen::MatrixXd along = device.gradients().along(worker, *placed, range);
      for (std::int64_t lane = 0; lane < range.lanes; ++lane)
        result[range.point(lane)].along.col(first + range.column(lane)) = along.col(lane);
      if (!run) return meanwhile();
      run_pairs(device, *placed, range, worker, meanwhile, [&](std::int64_t b) -> Pairs& { return result[b].pairs; });
    });
  };
  project_pairs(0, asked.known, false);
  project_pairs(asked.known, asked.count - asked.known, true);
  if (!gradients.empty()) device.gradients().read_kept(worker, gradients);
  device.gradients().drop_kept(worker);
}

}  // namespace probust
