// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/onnx/lower/lower.h"

// Functions for the classifiers of ai.onnx.ml.
namespace probust::onnx {

/// The number of class labels, which are numbers or texts. Throws if there are none.
std::int64_t class_count(Lowering& l);

/// The first input as [N, features]. A single row may lack the axis N.
ValueId rows_of(Lowering& l);

/// Applies a named transformation to scores [N, C]: "NONE", "SOFTMAX", "LOGISTIC" or "SOFTMAX_ZERO" (zeros remain zero).
ValueId post_transform(Lowering& l, ValueId scores, const std::string& name);

/// Sets output 1 to the scores [N, C] and, if labels are numbers, output 0 to the label of the largest score.
void set_classes(Lowering& l, ValueId scores);

}  // namespace probust::onnx
