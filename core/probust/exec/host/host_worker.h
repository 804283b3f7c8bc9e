// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "probust/exec/batch_device.h"
#include "probust/exec/host/host_rows.h"
#include "probust/exec/programs/workspace.h"

// The memory of a worker on the CPU (host_device.cpp).
namespace probust {

struct HostCounts final : DeviceBuffer {
  std::vector<std::vector<std::int64_t>> of_points;
  std::mutex mutex;
};

struct HostSums final : DeviceBuffer {
  explicit HostSums(const Sweep& sweep) : which(sweep) {}
  Sweep which;
  std::vector<RowMatrix> of_points;
};

// The group of seeds whose gradients were computed last: [elements][seeds][examples].
struct GradientGroup {
  float* gradients = nullptr;
  std::int64_t first = 0, seeds = 0, examples = 0;
};

// One thread's memory, reused from call to call.
struct HostWorker {
  Workspace workspace, first_layer;
  Stretch inputs, variances, logits, logit_variances, cotangents, gradients;
  Stretch noise, moved;  // the samples' noise, and the change of the first layer's outputs that it causes
  std::vector<std::uint32_t> points, samples;
  std::vector<std::int64_t> index;  // positions in the data of the points of a sweep
  std::int64_t lanes = 0;           // number of lanes of the logits
  GradientGroup group;
  std::array<std::vector<RowMatrix>, 2> kept;  // kept gradients, by GradientForm and example
  RowMatrix along_own;                         // [rows, examples]

  bool intact() const {
    return inputs.intact() && variances.intact() && logits.intact() && logit_variances.intact() && cotangents.intact() &&
           gradients.intact() && noise.intact() && moved.intact();
  }
  std::vector<RowMatrix>& kept_as(GradientForm form) { return kept[static_cast<std::size_t>(form)]; }
};

}  // namespace probust
