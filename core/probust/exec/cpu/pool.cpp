// SPDX-License-Identifier: MIT
// Pooling over all lanes at once. The position of a maximum depends on the example only, so it is found once for all seeds.
#include <algorithm>

#include "probust/exec/cpu/kernel.h"
#include "probust/exec/gather_offsets.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

std::int64_t plane_count(const Shape& shape) { return shape[0] * shape[1]; }

// Per lane: the value of the largest cell of the window, and the index of the first such cell.
void choose(const float* plane, std::int64_t lanes, std::span<const std::int64_t> cells, float* best, std::int32_t* which) {
  std::copy_n(plane + cells[0] * lanes, lanes, best);
  std::fill_n(which, lanes, 0);
  for (std::size_t t = 1; t < cells.size(); ++t) {
    const float* x = plane + cells[t] * lanes;
    const auto number = static_cast<std::int32_t>(t);
    for (std::int64_t l = 0; l < lanes; ++l) {
      // The first NaN wins over everything: comparisons with NaN are false.
      const bool wins = (x[l] > best[l]) | ((x[l] != x[l]) & (best[l] == best[l]));
      best[l] = wins ? x[l] : best[l];
      which[l] = wins ? number : which[l];
    }
  }
}

// The first largest cell of a window of one lane.
std::int64_t first_largest(const float* plane, std::span<const std::int64_t> cells) {
  std::int64_t which = cells[0];
  float best = plane[which];
  for (std::size_t t = 1; t < cells.size(); ++t) {
    const float x = plane[cells[t]];
    const bool wins = (x > best) | ((x != x) & (best == best));
    best = wins ? x : best;
    which = wins ? cells[t] : which;
  }
  return which;
}

// Calls visit(plane, window, chosen cell) for every window of one lane: loops over single lanes would cost ten times as much.
template <class Visit>
void each_choice(const Windows& windows, const float* image, std::int64_t planes, Visit visit) {
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t q = 0; q < windows.count(); ++q) {
      const auto cells = windows.of(q);
      if (!cells.empty()) visit(p, q, first_largest(image + p * windows.image, cells));
    }
  }
}

void add_chosen(const float* c, const std::int32_t* which, std::int32_t tap, float* to, std::int64_t count) {
  for (std::int64_t l = 0; l < count; ++l) to[l] += which[l] == tap ? c[l] : 0.0F;
}

void put_chosen(const float* c, const std::int32_t* which, std::int32_t tap, float* to, std::int64_t count) {
  for (std::int64_t l = 0; l < count; ++l) to[l] = which[l] == tap ? c[l] : 0.0F;
}

}  // namespace

Kernel make_max_pool(const Graph&, const Node& node) {
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t lanes = call.lanes;
    if (lanes == 1) {
      std::fill_n(call.out, element_count(*call.shape), kLargestOfNone);
      each_choice(windows, call.in[0].data, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::int64_t cell) {
        call.out[p * windows.count() + q] = call.in[0].data[p * windows.image + cell];
      });
      return;
    }
    for (std::int64_t p = 0; p < plane_count(*call.shape); ++p) {
      const float* plane = call.in[0].data + p * windows.image * lanes;
      for (std::int64_t q = 0; q < windows.count(); ++q) {
        const auto cells = windows.of(q);
        float* best = call.out + (p * windows.count() + q) * lanes;
        if (cells.empty()) {
          std::fill_n(best, lanes, kLargestOfNone);
          continue;
        }
        std::copy_n(plane + cells[0] * lanes, lanes, best);
        for (std::size_t t = 1; t < cells.size(); ++t) {
          const float* x = plane + cells[t] * lanes;
          for (std::int64_t l = 0; l < lanes; ++l) best[l] = ((x[l] > best[l]) | (x[l] != x[l])) ? x[l] : best[l];
        }
      }
    }
  };
}

// Operands: the image whose maxima count (example), the cotangent (usually seeded).
Kernel make_max_scatter(const Graph& graph, const Node& node) {
  const Extent image = graph[node.inputs[0]].extent, cotangent = graph[node.inputs[1]].extent;
  if (cotangent != node.extent || image == Extent::constant) return make_reference(graph, node);
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t own = call.lanes_of(0), lanes = call.lanes;
    if (lanes == 1) {
      std::fill_n(call.out, element_count(*call.shape), 0.0F);
      each_choice(windows, call.in[0].data, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::int64_t cell) {
        call.out[p * windows.image + cell] += call.in[1].data[p * windows.count() + q];
      });
      return;
    }
    float* best = call.scratch(2 * own);
    auto* which = reinterpret_cast<std::int32_t*>(best + own);
    const bool assign = !windows.overlap;
    if (!assign || static_cast<std::int64_t>(windows.cells.size()) < windows.image)
      std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    for (std::int64_t p = 0; p < plane_count(*call.shape); ++p) {
      for (std::int64_t q = 0; q < windows.count(); ++q) {
        const auto cells = windows.of(q);
        if (cells.empty()) continue;
        choose(call.in[0].data + p * windows.image * own, own, cells, best, which);
        const float* c = call.in[1].data + (p * windows.count() + q) * lanes;
        for (std::size_t t = 0; t < cells.size(); ++t) {
          float* to = call.out + (p * windows.image + cells[t]) * lanes;
          for (std::int64_t first = 0; first < lanes; first += own) {
            (assign ? put_chosen : add_chosen)(c + first, which, static_cast<std::int32_t>(t), to + first, own);
          }
        }
      }
    }
  };
}

// Operands: the image whose maxima count, the image that is read.
Kernel make_max_gather(const Graph& graph, const Node& node) {
  const Extent image = graph[node.inputs[0]].extent, values = graph[node.inputs[1]].extent;
  if (values != node.extent || image == Extent::constant) return make_reference(graph, node);
  return [windows = windows_of(std::get<Window>(node.attributes))](const Call& call) {
    const std::int64_t own = call.lanes_of(0), lanes = call.lanes;
    std::fill_n(call.out, element_count(*call.shape) * lanes, 0.0F);
    if (lanes == 1) {
      each_choice(windows, call.in[0].data, plane_count(*call.shape), [&](std::int64_t p, std::int64_t q, std::int64_t cell) {
        call.out[p * windows.count() + q] = call.in[1].data[p * windows.image + cell];
      });
      return;
    }
    float* best = call.scratch(2 * own);
    auto* which = reinterpret_cast<std::int32_t*>(best + own);
    for (std::int64_t p = 0; p < plane_count(*call.shape); ++p) {
      for (std::int64_t q = 0; q < windows.count(); ++q) {
        const auto cells = windows.of(q);
        if (cells.empty()) continue;
        choose(call.in[0].data + p * windows.image * own, own, cells, best, which);
        float* to = call.out + (p * windows.count() + q) * lanes;
        for (std::size_t t = 0; t < cells.size(); ++t) {
          const float* v = call.in[1].data + (p * windows.image + cells[t]) * lanes;
          for (std::int64_t first = 0; first < lanes; first += own)
            add_chosen(v + first, which, static_cast<std::int32_t>(t), to + first, own);
        }
      }
    }
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
