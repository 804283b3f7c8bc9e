// SPDX-License-Identifier: MIT
// Pooling over all lanes at once. The position of a maximum depends only on the example, so it is determined once for all seeds.
#include <algorithm>
#include <type_traits>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/programs/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

std::int64_t plane_count(const Shape& shape) { return shape[0] * shape[1]; }

// Calls visit(plane, window, cells) for every window.
template <class Visit>
void each_window(const Windows& windows, std::int64_t planes, const Visit& visit) {
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t q = 0; q < windows.count(); ++q) visit(p, q, windows.of(q));
  }
}

// A register of zeros for this many lanes; for one lane, a single float.
template <int Lanes>
auto zeros() {
  using Register = typename Eigen::internal::find_best_packet<float, Lanes>::type;
  if constexpr (sizeof(Register) == Lanes * sizeof(float)) {
    return Eigen::internal::pset1<Register>(0.0F);
  } else {
    return 0.0F;
  }
}

// Splits lanes into groups: whole registers, then smaller ones, then single lanes. Calls visit(size, first lane) for each
// group.
template <int Lanes = kPacket, class Visit>
void for_groups(std::int64_t lanes, const Visit& visit, std::int64_t first = 0) {
  for (; first + Lanes <= lanes; first += Lanes) visit(std::integral_constant<int, Lanes>(), first);
  if constexpr (Lanes > 1) for_groups<(Lanes > 4 ? Lanes / 2 : 1)>(lanes, visit, first);
}

// For each lane of a group, the index of the first largest cell of a window. A NaN counts as largest, the first one if there are
// several.
template <int Lanes>
struct Largest {
  using Register = decltype(zeros<Lanes>());
  Register index = zeros<Lanes>();

  Largest(const float* plane, std::int64_t lanes, std::span<const std::int64_t> cells) {
    using namespace Eigen::internal;
    auto value = ploadu<Register>(plane + cells[0] * lanes);
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const Register x = ploadu<Register>(plane + cells[i] * lanes);
      const Register wins = pselect(pcmp_eq(value, value), pcmp_lt_or_nan(value, x), zeros<Lanes>());
      value = pselect(wins, x, value);
      index = pselect(wins, pset1<Register>(static_cast<float>(i)), index);
    }
  }

  // x in the lanes in which this cell is the largest, 0 in the others.
  Register if_chosen(std::size_t cell, const float* x) const {
    using namespace Eigen::internal;
    return pselect(pcmp_eq(index, pset1<Register>(static_cast<float>(cell))), ploadu<Register>(x), zeros<Lanes>());
  }
};

// The index of the first largest cell of a window, for one lane.
std::int64_t first_largest(const float* plane, std::span<const std::int64_t> cells) {
  return cells[static_cast<std::size_t>(Largest<1>(plane, 1, cells).index)];
}

// Adds the cotangents c of a window to its largest cells in the image `to`. If `assign`, overwrites all cells of the window
// instead, with zeros in those that are not the largest.
template <int Lanes>
void scatter(const Largest<Lanes>& largest, std::span<const std::int64_t> cells, std::int64_t lanes, bool assign, const float* c,
             float* to) {
  using namespace Eigen::internal;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    float* const cell = to + cells[i] * lanes;
    const auto chosen = largest.if_chosen(i, c);
    pstoreu(cell, assign ? chosen : padd(ploadu<typename Largest<Lanes>::Register>(cell), chosen));
  }
}

// Reads the largest cells of a window from another image v.
template <int Lanes>
void gather(const Largest<Lanes>& largest, std::span<const std::int64_t> cells, std::int64_t lanes, const float* v, float* to) {
  auto sum = zeros<Lanes>();
  for (std::size_t i = 0; i < cells.size(); ++i) sum = Eigen::internal::padd(sum, largest.if_chosen(i, v + cells[i] * lanes));
  Eigen::internal::pstoreu(to, sum);
}

}  // namespace

Kernel make_max_pool(const Graph&, const Node& node) {
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t lanes = call.lanes;
    each_window(windows, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::span<const std::int64_t> cells) {
      const float* plane = call.in[0].data + p * windows.image * lanes;
      float* best = call.out + (p * windows.count() + q) * lanes;
      if (cells.empty()) {
        std::fill_n(best, lanes, kLargestOfNone);
        return;
      }
      if (lanes == 1) {  // loops over single lanes would cost ten times as much
        *best = plane[first_largest(plane, cells)];
        return;
      }
      std::copy_n(plane + cells[0] * lanes, lanes, best);
      for (const std::int64_t cell : cells.subspan(1)) {
        const float* x = plane + cell * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) best[l] = ((x[l] > best[l]) | (x[l] != x[l])) ? x[l] : best[l];
      }
    });
  };
}

// Operands: the image whose maxima are chosen (example), and the cotangent (usually seeded).
Kernel make_max_scatter(const Graph& graph, const Node& node) {
  const Extent image = graph[node.inputs[0]].extent, cotangent = graph[node.inputs[1]].extent;
  if (cotangent != node.extent || image == Extent::constant) return make_reference(graph, node);
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t own = call.lanes_of(0), lanes = call.lanes;
    const bool assign = !windows.overlap;
    if (own == 1 || !assign || static_cast<std::int64_t>(windows.cells.size()) < windows.image)
      std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    each_window(windows, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::span<const std::int64_t> cells) {
      if (cells.empty()) return;
      const float* plane = call.in[0].data + p * windows.image * own;
      const float* c = call.in[1].data + (p * windows.count() + q) * lanes;
      float* to = call.out + p * windows.image * lanes;
      if (own == 1) {
        float* const cell = to + first_largest(plane, cells) * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) cell[l] = assign ? c[l] : cell[l] + c[l];
        return;
      }
      for_groups(own, [&]<int Lanes>(std::integral_constant<int, Lanes>, std::int64_t first) {
        const Largest<Lanes> largest(plane + first, own, cells);
        for (std::int64_t lane = first; lane < lanes; lane += own) scatter(largest, cells, lanes, assign, c + lane, to + lane);
      });
    });
  };
}

// Operands: the image whose maxima are chosen, and the image that is read.
Kernel make_max_gather(const Graph& graph, const Node& node) {
  const Extent image = graph[node.inputs[0]].extent, values = graph[node.inputs[1]].extent;
  if (values != node.extent || image == Extent::constant) return make_reference(graph, node);
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t own = call.lanes_of(0), lanes = call.lanes;
    std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    each_window(windows, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::span<const std::int64_t> cells) {
      if (cells.empty()) return;
      const float* plane = call.in[0].data + p * windows.image * own;
      const float* v = call.in[1].data + p * windows.image * lanes;
      float* to = call.out + (p * windows.count() + q) * lanes;
      if (own == 1) {
        std::copy_n(v + first_largest(plane, cells) * lanes, lanes, to);
        return;
      }
      for_groups(own, [&]<int Lanes>(std::integral_constant<int, Lanes>, std::int64_t first) {
        const Largest<Lanes> largest(plane + first, own, cells);
        for (std::int64_t lane = first; lane < lanes; lane += own) gather(largest, cells, lanes, v + lane, to + lane);
      });
    });
  };
}

Kernel make_sum_pool(const Graph&, const Node& node) {
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t lanes = call.lanes;
    std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    for (std::int64_t p = 0; p < plane_count(*call.shape); ++p) {
      for (std::int64_t q = 0; q < windows.count(); ++q) {
        float* sum = call.out + (p * windows.count() + q) * lanes;
        for (const std::int64_t cell : windows.of(q)) {
          const float* x = call.in[0].data + (p * windows.image + cell) * lanes;
          for (std::int64_t l = 0; l < lanes; ++l) sum[l] += x[l];
        }
      }
    }
  };
}

Kernel make_sum_unpool(const Graph&, const Node& node) {
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t lanes = call.lanes;
    std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    for (std::int64_t p = 0; p < plane_count(*call.shape); ++p) {
      for (std::int64_t q = 0; q < windows.count(); ++q) {
        const float* c = call.in[0].data + (p * windows.count() + q) * lanes;
        for (const std::int64_t cell : windows.of(q)) {
          float* to = call.out + (p * windows.image + cell) * lanes;
          for (std::int64_t l = 0; l < lanes; ++l) to[l] += c[l];
        }
      }
    }
  };
}

}  // namespace probust::cpu
