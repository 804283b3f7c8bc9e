// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probust/onnx/import.h"
#include "support/evaluate.h"
#include "support/onnx_builder.h"

namespace probust::test {

inline Result<Model> import_bytes(const std::string& bytes, const ImportOptions& options = {}) {
  return import_onnx(std::as_bytes(std::span(bytes)), options);
}

/// The logits of a model at a point of its input shape, by the operators' reference definitions; empty if the import fails.
inline std::vector<float> imported(const OnnxBuilder& builder, const Shape& shape, const std::vector<float>& x) {
  const auto model = import_bytes(builder.bytes());
  if (!model) ADD_FAILURE() << model.error().message();
  return model ? evaluate(model->graph, {Tensor(shape, x)})[0].data : std::vector<float>{};
}

}  // namespace probust::test
