// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "probust/base/tensor.h"
#include "probust/exec/programs/program.h"

namespace probust {

/// A classifier as functions, such as a remote service or a model of another library. They are called by the thread that asks, or
/// by several at once if the executor has several threads. What they throw ends the call as an Error, even if there are other
/// estimators: as Error{internal}, unless it is one of a stop or of usage. NaN counts as no class.
struct ClassifierFunctions {
  /// Logits [n, C] of the points x [n, ...]. A point's must not depend on the others.
  std::function<Tensor(Tensor x)> logits;
  /// Gradients [n, ...] of cᵀ logits at x, for the cotangents c [n, C]. Without it, estimators that need gradients are refused.
  std::function<Tensor(Tensor x, Tensor cotangents)> vjp = {};
};

/// The programs of `functions` for points of this shape: (x) -> logits, and (x, c [C]) -> (logits, the gradient of cᵀ logits), c
/// seeded, as gradient_graph. vjp is called with at most `most` points. A run throws Error{usage} if a function returns another
/// shape.
std::unique_ptr<Program> function_program(ClassifierFunctions functions, Shape point, std::int64_t classes);
std::unique_ptr<Program> function_gradient_program(ClassifierFunctions functions, Shape point, std::int64_t classes,
                                                   std::int64_t most);

}  // namespace probust
