// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "probust/exec/host/host_device.h"
#include "probust/exec/host/host_rows.h"
#include "probust/passes/first_layer_split.h"

namespace probust {

/// A classifier's first layer W x + b and the layers after it, as programs.
class HostFirstLayer {
 public:
  HostFirstLayer(const FirstLayerSplit& layer, Compile compile);

  std::int64_t outputs() const { return outputs_; }
  /// The program of FirstLayerSplit::rest.
  const Program& rest() const { return *rest_; }
  /// All programs.
  std::array<const Program*, 3> programs() const { return {rest_.get(), forward_.get(), backward_.get()}; }

  /// W e for each lane of e [inputs][lanes], as [outputs][lanes].
  void move(const float* e, std::int64_t lanes, float* moved, Workspace& workspace) const;

  /// Converts gradients with respect to the outputs, one matrix [rows, outputs] per point, to gradients with respect to the
  /// inputs. Multiplies `together` rows at a time.
  std::vector<RowMatrix> by_inputs(const std::vector<RowMatrix>& by_outputs, std::int64_t together, Workspace& workspace) const;

 private:
  std::int64_t inputs_, outputs_;
  std::unique_ptr<Program> rest_, forward_, backward_;
};

}  // namespace probust
