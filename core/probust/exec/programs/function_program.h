// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "probust/base/tensor.h"
#include "probust/exec/programs/program.h"

namespace probust {

/// A classifier given as functions, such as a remote service or a model in another library. They are called on the caller's
/// thread, or on several threads at once if the executor has several. An exception ends the whole call with Error{internal}, even
/// if there are other estimators, but Error{interrupted} and Error{usage} are passed on unchanged. A point with NaN logits counts
/// for no class.
struct ClassifierFunctions {
  /// Returns the logits [n, C] of the points x [n, ...]. The logits of a point must not depend on other points.
  std::function<Tensor(Tensor x)> logits;
  /// Returns the gradients [n, ...] of cᵀ logits at x, for the cotangents c [n, C]. Without this function, estimators that need
  /// gradients are refused.
  std::function<Tensor(Tensor x, Tensor cotangents)> vjp = {};
};

/// The programs of `functions` for points of this shape: (x) -> logits, and (x, c [C]) -> (logits, the gradient of cᵀ logits),
/// with c seeded, as in gradient_graph. vjp is called with at most `most` points. A run throws Error{usage} if a function
/// returns a result of the wrong shape.
std::unique_ptr<Program> function_program(ClassifierFunctions functions, Shape point, std::int64_t classes);
std::unique_ptr<Program> function_gradient_program(ClassifierFunctions functions, Shape point, std::int64_t classes,
                                                   std::int64_t most);

}  // namespace probust
