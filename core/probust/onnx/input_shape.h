// SPDX-License-Identifier: MIT
#pragma once

#include "probust/onnx/import.h"
#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The input's shape for one example: the declared shape, with 1 for the batch and with other symbolic extents from `input_shape`
/// or `data_shape`. Throws Error{unsupported} if the input is not floating-point or its shape cannot be determined,
/// Error{unreadable} if points of `data_shape` do not fit it, Error{usage} if `input_shape` does not fit.
Shape shape_of_one(const ValueInfo& input, const ImportOptions& options);

/// Whether a floating-point input has dynamic extents besides the batch.
bool needs_data_shape(const ValueInfo& input);

}  // namespace probust::onnx
