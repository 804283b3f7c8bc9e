// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/onnx/lower.h"

// What the classifiers of ai.onnx.ml share.
namespace probust::onnx {

/// The number of class labels, numbers or texts. Fails where there are none.
std::int64_t class_count(Lowering& l);

/// What turns scores [N, C] into what the operator gives: "NONE", "SOFTMAX", "LOGISTIC" or "SOFTMAX_ZERO" (zeros stay zero).
ValueId post_transform(Lowering& l, ValueId scores, const std::string& name);

/// Sets output 1 to the scores [N, C] and output 0 to the label of the largest one, where labels are numbers.
void set_classes(Lowering& l, ValueId scores);

}  // namespace probust::onnx
