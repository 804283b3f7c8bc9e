// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/onnx/lower/lower.h"

// Shared by the classifiers of ai.onnx.ml.
namespace probust::onnx {

/// The number of class labels, numbers or texts. Fails if there are none.
std::int64_t class_count(Lowering& l);

/// The first input as [N, features]; one row may come without N.
ValueId rows_of(Lowering& l);

/// Transforms scores [N, C] as named: "NONE", "SOFTMAX", "LOGISTIC" or "SOFTMAX_ZERO" (zeros stay zero).
ValueId post_transform(Lowering& l, ValueId scores, const std::string& name);

/// Sets output 1 to the scores [N, C] and, if labels are numbers, output 0 to the label of the largest score.
void set_classes(Lowering& l, ValueId scores);

}  // namespace probust::onnx
