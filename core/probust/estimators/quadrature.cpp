// SPDX-License-Identifier: MIT
// quadrature:N, for noise that is a function of one or two standard normals w. Evaluates the margins at the nodes of a grid of
// N cells per side, interpolates them linearly on each half of a cell, and returns the normal probability of the region where
// all margins are positive. It uses no random numbers.
//
// To estimate the error, the margins at every second node are interpolated to the nodes between them. Let d be the difference
// from the margins there. The interpolation within a cell errs by about d / 4 if margins are smooth, and by up to d next to a
// kink. The doubt of a cell is the probability that an error of d would add to the region or remove from it, even if no margin
// changes sign in the cell. The estimated error is a quarter of the doubt, and the note gives half of the doubt: for smooth
// margins, 1.5 and 3 times the true error, respectively. The difference from a grid of half the resolution would also be 3 times
// the true error (Richardson, Phil. Trans. R. Soc. A 226, 1927).
//
// If margins are very steep or jump, as they do for trees, or if inputs are rounded to levels, d does not bound the error: such
// a margin may change sign anywhere in a cell. So the whole probability of the cells in which a margin jumps is added to the
// estimated error, and an eighth of the probability that these cells had before they were halved, however small they become: if
// margins jump between some nodes, they may jump between all nodes.
//
// If the estimated error is too large for the status `ok`, the cells with the largest errors are halved along each side,
// repeatedly, until the error is small enough or the number of nodes has doubled.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "probust/estimators/cells.h"
#include "probust/estimators/common.h"
#include "probust/estimators/noisy_logits.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/ops/append.h"

namespace probust {
namespace {

constexpr std::int64_t kMostCells = 4096;             // per side
constexpr double kUnseen = 0.125;                     // share of a cell with a jump that is always added to the error
constexpr double kAbsolute = 1e-4, kRelative = 1e-2;  // tolerances of p and of p_fail, as in normal/multivariate.h

// The position of a node, in steps of NormalAxis. On a line, j is 0.
struct GridNode {
  std::int64_t i, j;
};

// The margins of a point at the nodes evaluated so far, for each of its targets.
class GridNodes {
 public:
  GridNodes(Executor& executor, const Points& point, const Noise& noise, std::int64_t cells, std::int64_t dimensions,
            std::vector<std::int64_t> targets)
      : axis_(cells),
        executor_(executor),
        point_(point),
        noise_(noise),
        dimensions_(dimensions),
        nodes_(cells + 1),
        rivals_(executor.classes() - 1),
        targets_(std::move(targets)),
        margins_(targets_.size()) {
    const std::int64_t lines = dimensions_ == 2 ? nodes_ : 1;
    for (std::vector<float>& margins : margins_) margins.reserve(static_cast<std::size_t>(nodes_ * lines * rivals_));
    std::vector<GridNode> line(static_cast<std::size_t>(nodes_));
    for (std::int64_t j = 0; j < lines; ++j) {
      for (std::int64_t i = 0; i < nodes_; ++i) line[i] = {i * axis_.unit(), j * axis_.unit()};
      evaluate(line);
    }
  }

  const NormalAxis& axis() const { return axis_; }
  std::int64_t dimensions() const { return dimensions_; }
  std::int64_t rivals() const { return rivals_; }
  std::int64_t count() const { return count_; }

  // The index of the node's margins; -1 if the node is outside the grid or was not evaluated.
  std::int64_t row(const GridNode& node) const {
    if (std::min(node.i, node.j) < 0 || std::max(node.i, node.j) > axis_.end()) return -1;
    if (axis_.between_cells(node.i) && axis_.between_cells(node.j)) return axis_.cell(node.j) * nodes_ + axis_.cell(node.i);
    const auto found = added_.find(key(node));
    return found == added_.end() ? -1 : found->second;
  }

  const float* margins(std::size_t target, std::int64_t row) const { return margins_[target].data() + row * rivals_; }

  // Evaluates nodes that have no row yet, in batches.
  void add(std::span<const GridNode> nodes) {
    constexpr std::size_t kTogether = 1024;
    for (; !nodes.empty(); nodes = nodes.subspan(std::min(kTogether, nodes.size()))) {
      const auto some = nodes.first(std::min(kTogether, nodes.size()));
      for (std::size_t k = 0; k < some.size(); ++k) added_[key(some[k])] = count_ + static_cast<std::int64_t>(k);
      evaluate(some);
    }
  }

  static std::uint64_t key(const GridNode& node) {
    return static_cast<std::uint64_t>(node.i) << 32 | static_cast<std::uint64_t>(node.j);
  }

 private:
  void evaluate(std::span<const GridNode> nodes) {
    Eigen::MatrixXf w(static_cast<Eigen::Index>(nodes.size()), dimensions_);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const auto row = static_cast<Eigen::Index>(k);
      w(row, 0) = static_cast<float>(axis_.at(nodes[k].i));
      if (dimensions_ == 2) w(row, 1) = static_cast<float>(axis_.at(nodes[k].j));
    }
    const std::vector<std::int64_t> which(nodes.size(), 0);
    const Tensor logits = noisy_logits(executor_, point_, which, noise_, w);
    for (std::size_t k = 0; k < targets_.size(); ++k) {
      for (std::size_t i = 0; i < nodes.size(); ++i) append(logits.row(static_cast<std::int64_t>(i)), targets_[k], margins_[k]);
    }
    count_ += static_cast<std::int64_t>(nodes.size());
  }

  void append(std::span<const float> logits, std::int64_t target, std::vector<float>& margins) const {
    for (std::int64_t row = 0; row < rivals_; ++row) margins.push_back(finite_margin(logits, target, rival_of(row, target)));
  }

  NormalAxis axis_;
  Executor& executor_;
  const Points& point_;
  const Noise& noise_;
  std::int64_t dimensions_, nodes_, rivals_, count_ = 0;
  std::vector<std::int64_t> targets_;
  std::vector<std::vector<float>> margins_;  // [target][row][rival]
  std::map<std::uint64_t, std::int64_t> added_;
};

// An interval or a square with nodes at its corners.
struct GridCell {
  GridNode first;
  std::int64_t size;
};

// A cell in which some margin changes sign, or may do so.
struct OpenCell {
  GridCell cell;
  CellMass mass;
  double doubt = 0;           // the probability that the errors of its margins may add or remove
  double jump = 0;            // its probability if a margin jumps in it, otherwise 0
  double origin = 0;          // if a margin jumps, its share of `jump` of the cell before any halving
  std::vector<float> errors;  // by how much the interpolation over twice its size missed each margin

  double error() const { return jump > 0 ? jump : doubt / 4; }
  double unseen() const { return kUnseen * origin; }
};

// The probability that one target survives: a sum over cells.
class CellSum {
 public:
  CellSum(GridNodes& nodes, std::size_t target) : nodes_(nodes), target_(target) {
    std::vector<float> errors;
    each_cell(2 * axis().unit(), [&](const GridCell& pair) {
      errors.assign(static_cast<std::size_t>(nodes_.rivals()), 0.0F);
      add_halves(pair, errors, 0);
    });
    for (OpenCell& open : open_) open.origin = open.jump;
  }

  // Halves cells until the error is within the tolerances, or `budget` nodes were added.
  void refine(std::int64_t budget) {
    const std::int64_t most = nodes_.count() + budget;
    while (error() > tolerance()) {
      const std::vector<std::size_t> chosen = cells_to_halve(most - nodes_.count());
      if (chosen.empty()) return;
      halve(chosen);
    }
  }

  CellMass mass() const {
    CellMass sum = settled_;
    for (const OpenCell& open : open_) {
      sum.inside += open.mass.inside;
      sum.outside += open.mass.outside;
    }
    return sum;
  }

  bool exact() const { return error() <= tolerance(); }

  double note() const {
    double sum = 0;
    for (const OpenCell& open : open_) sum += std::max(open.jump, open.doubt / 2) + open.unseen();
    return sum;
  }

 private:
  const NormalAxis& axis() const { return nodes_.axis(); }
  bool plane() const { return nodes_.dimensions() == 2; }

  double error() const {
    double sum = 0;
    for (const OpenCell& open : open_) sum += open.error() + open.unseen();
    return sum;
  }
  double tolerance() const { return std::min(kAbsolute, kRelative * mass().outside + 1e-12); }

  template <class Visit>
  void each_cell(std::int64_t size, const Visit& visit) const {
    const std::int64_t end = axis().end(), lines = plane() ? end : size;
    for (std::int64_t j = 0; j < lines; j += size) {
      for (std::int64_t i = 0; i < end; i += size) visit(GridCell{{i, j}, size});
    }
  }

  // Visits the parts of a cell that is halved along each side.
  template <class Visit>
  void each_half(const GridCell& cell, const Visit& visit) const {
    const std::int64_t half = cell.size / 2;
    for (std::int64_t k = 0; k < (plane() ? 4 : 2); ++k)
      visit(GridCell{{cell.first.i + k % 2 * half, cell.first.j + k / 2 * half}, half});
  }

  // A node that is added when a cell is halved, in the middle between two of its corners.
  struct Middle {
    GridNode node, from, to;
  };
  std::span<const Middle> middles(const GridCell& cell, std::array<Middle, 5>& all) const {
    const auto [i, j] = cell.first;
    const std::int64_t half = cell.size / 2, right = i + cell.size, above = j + cell.size;
    all[0] = {{i + half, j}, {i, j}, {right, j}};
    if (!plane()) return std::span(all).first(1);
    all[1] = {{i, j + half}, {i, j}, {i, above}};
    all[2] = {{right, j + half}, {right, j}, {right, above}};
    all[3] = {{i + half, above}, {i, above}, {right, above}};
    all[4] = {{i + half, j + half}, {right, j}, {i, above}};  // on the diagonal where the halves meet
    return all;
  }

  const float* at(const GridNode& node) const { return nodes_.margins(target_, nodes_.row(node)); }

  // Raises the errors of margins to those of the interpolation between a cell's corners, if these are larger.
  void measure(const GridCell& cell, std::vector<float>& errors) const {
    std::array<Middle, 5> all;
    for (const Middle& middle : middles(cell, all)) {
      const float *value = at(middle.node), *from = at(middle.from), *to = at(middle.to);
      for (std::size_t r = 0; r < errors.size(); ++r) {
        const double missed = std::fabs(value[r] - 0.5 * (double{from[r]} + double{to[r]}));
        errors[r] = std::max(errors[r], static_cast<float>(std::min(missed, double{std::numeric_limits<float>::max()})));
      }
    }
  }

  // Computes the probabilities and the error of a cell. `errors` are those of the interpolation over twice the cell's size.
  OpenCell judged(const GridCell& cell, const std::vector<float>& errors) const {
    const auto [i, j] = cell.first;
    const std::int64_t right = i + cell.size, above = j + (plane() ? cell.size : 0);
    const CornerMargins margins{{at({i, j}), at({right, j}), at({i, above}), at({right, above})}, plane() ? 4 : 2, errors};
    const double mass = axis().mass(i, cell.size) * (plane() ? axis().mass(j, cell.size) : 1);
    OpenCell open{cell, {mass, 0}, 0, 0, 0, {}};
    if (side(margins, -1) > 0) return open;
    open.mass = {0, mass};
    if (side(margins, 1) < 0) return open;
    const NormalCell normal{nodes_.dimensions(), axis().at(i), axis().at(j), axis().at(right) - axis().at(i), mass};
    open.mass = mass_of(normal, margins, 0);
    const double most = mass_of(normal, margins, 1).inside, least = mass_of(normal, margins, -1).inside;
    open.doubt = std::max(most - open.mass.inside, open.mass.inside - least);
    if (side(margins, 0) == 0 && jumps_in(cell)) open.jump = mass;
    open.errors = errors;
    return open;
  }

  // Adds the halves of a cell whose middle nodes were evaluated. `errors` are lower limits of the margins' errors; they are
  // raised to the measured errors.
  void add_halves(const GridCell& cell, std::vector<float>& errors, double origin) {
    measure(cell, errors);
    const std::size_t before = open_.size();
    each_half(cell, [&](const GridCell& half) {
      OpenCell judgement = judged(half, errors);
      if (judgement.errors.empty()) {
        settled_.inside += judgement.mass.inside;
        settled_.outside += judgement.mass.outside;
      } else {
        open_.push_back(std::move(judgement));
      }
    });
    const std::span<OpenCell> added = std::span(open_).subspan(before);
    const auto jumping = std::count_if(added.begin(), added.end(), [](const OpenCell& open) { return open.jump > 0; });
    for (OpenCell& open : added) open.origin = open.jump > 0 ? origin / static_cast<double>(jumping) : 0;
  }

  // Whether a margin jumps between two nodes: it changes sign, and it changes by much more than between either node and its
  // neighbour on the other side, if that was evaluated.
  bool jumps(const GridNode& from, const GridNode& to) const {
    constexpr double kMuch = 1.5;
    const GridNode back{2 * from.i - to.i, 2 * from.j - to.j}, on{2 * to.i - from.i, 2 * to.j - from.j};
    const std::int64_t back_row = nodes_.row(back), on_row = nodes_.row(on);
    const float *first = at(from), *last = at(to);
    for (std::int64_t r = 0; r < nodes_.rivals(); ++r) {
      const double a = first[r], b = last[r];
      if ((a > 0) == (b > 0)) continue;
      const double before = back_row < 0 ? 0 : std::fabs(a - nodes_.margins(target_, back_row)[r]),
                   after = on_row < 0 ? 0 : std::fabs(nodes_.margins(target_, on_row)[r] - b);
      if (std::fabs(b - a) > kMuch * std::max(before, after)) return true;
    }
    return false;
  }

  bool jumps_in(const GridCell& cell) const {
    const auto [i, j] = cell.first;
    const std::int64_t right = i + cell.size, above = j + cell.size;
    if (jumps({i, j}, {right, j})) return true;
    return plane() && (jumps({i, above}, {right, above}) || jumps({i, j}, {i, above}) || jumps({right, j}, {right, above}));
  }

  // The cells to halve, those with the largest errors first. The list ends when the errors of the other cells add up to at
  // most half of the tolerance, when they are much smaller than the largest error, or when halving needs more than `budget`
  // nodes.
  std::vector<std::size_t> cells_to_halve(std::int64_t budget) const {
    constexpr double kSmaller = 0.25;
    std::vector<std::size_t> order(open_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return open_[a].error() > open_[b].error(); });
    const std::int64_t most_nodes = plane() ? 5 : 1;
    const double enough = tolerance() / 2;
    double left = 0;
    for (const OpenCell& open : open_) left += open.error();
    std::vector<std::size_t> chosen;
    for (const std::size_t k : order) {
      const double error = open_[k].error();
      if (left <= enough || error == 0 || error < kSmaller * open_[order[0]].error()) break;
      if (budget < most_nodes) break;
      if (open_[k].cell.size == 1) continue;
      left -= error;
      budget -= most_nodes;
      chosen.push_back(k);
    }
    return chosen;
  }

  void halve(const std::vector<std::size_t>& chosen) {
    nodes_.add(new_nodes(chosen));
    std::vector<OpenCell> halved;
    for (const std::size_t k : chosen) {
      halved.push_back(std::move(open_[k]));
      open_[k].cell.size = 0;
    }
    std::erase_if(open_, [](const OpenCell& open) { return open.cell.size == 0; });
    for (OpenCell& open : halved) {
      constexpr float kLeast = 0.25F;  // smallest share of an error that remains, because margins may agree by chance
      for (float& error : open.errors) error *= kLeast;
      add_halves(open.cell, open.errors, open.origin);
    }
  }

  std::vector<GridNode> new_nodes(const std::vector<std::size_t>& chosen) const {
    std::vector<GridNode> nodes;
    std::array<Middle, 5> all;
    for (const std::size_t k : chosen) {
      for (const Middle& middle : middles(open_[k].cell, all)) {
        if (nodes_.row(middle.node) < 0) nodes.push_back(middle.node);
      }
    }
    const auto key = [](const GridNode& node) { return GridNodes::key(node); };
    std::sort(nodes.begin(), nodes.end(), [&](const GridNode& a, const GridNode& b) { return key(a) < key(b); });
    nodes.erase(std::unique(nodes.begin(), nodes.end(), [&](const GridNode& a, const GridNode& b) { return key(a) == key(b); }),
                nodes.end());
    return nodes;
  }

  GridNodes& nodes_;
  std::size_t target_;
  CellMass settled_;  // the probabilities of all cells that are not open
  std::vector<OpenCell> open_;
};

Estimate integrated(GridNodes& nodes, std::size_t target) {
  CellSum sum(nodes, target);
  const std::int64_t line = nodes.axis().cell(nodes.axis().end()) + 1;
  sum.refine(nodes.dimensions() == 2 ? line * line : line);
  Estimate estimate;
  const auto [inside, outside] = sum.mass();
  // The smaller of the two sums is more accurate.
  estimate.p = inside < outside ? inside : 1 - outside;
  estimate.p_fail = inside < outside ? 1 - inside : outside;
  estimate.forwards = nodes.count();
  if (!sum.exact()) estimate.set(Status::inexact, "known to about " + short_text(sum.note()));
  return estimate;
}

Estimate on_grid(Executor& executor, const Points& point, const Noise& noise, std::int64_t cells, std::int64_t dimensions) {
  std::vector<std::int64_t> targets = {point.target[0]};
  if (const std::int64_t label = other_label(point, 0); label >= 0) targets.push_back(label);
  GridNodes nodes(executor, point, noise, cells, dimensions, targets);
  Estimate estimate = integrated(nodes, 0);
  if (targets.size() > 1) {
    estimate.set_label(integrated(nodes, 1));
    estimate.forwards = nodes.count();
  }
  return estimate;
}

std::int64_t dimensions_of(const Points& points, const Noise& noise) {
  const std::int64_t elements = points.x.size() / std::max<std::int64_t>(1, points.size());
  const std::int64_t normals = noise.shape->normals(elements).value_or(0);
  if (normals == 1 || normals == 2) return normals;
  throw Error{ErrorCode::usage, "quadrature",
              normals == 0 ? "needs noise that is a function of normal variables"
                           : "needs noise that depends on one or two normal variables, not on " + std::to_string(normals),
              "use mc:N for " + noise.shape->name()};
}

}  // namespace

std::vector<Estimate> estimate_quadrature(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const std::int64_t count = asked.samples;
  if (count % 2 != 0 || count > kMostCells)
    throw Error{ErrorCode::usage, "quadrature", "cannot have " + std::to_string(count) + " cells per side",
                "give an even number up to " + std::to_string(kMostCells)};
  const std::int64_t dimensions = dimensions_of(evaluation.points(), noise), rivals = evaluation.executor().classes() - 1;
  const std::int64_t nodes = 2 * (dimensions == 2 ? (count + 1) * (count + 1) : count + 1);
  (void)points_at_once(evaluation.executor(),
                       static_cast<std::int64_t>(sizeof(float)) * nodes * std::max<std::int64_t>(1, rivals));
  std::vector<Estimate> estimates;
  estimates.reserve(static_cast<std::size_t>(evaluation.points().size()));
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i)
    estimates.push_back(on_grid(evaluation.executor(), slice(evaluation.points(), i, 1), noise, count, dimensions));
  return estimates;
}

}  // namespace probust
