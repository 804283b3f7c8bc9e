// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/analysis/results.h"

namespace probust::cli {

/// Writes rows and points as arrays of a .npz file: one array per column of the rows; notes as `note_code` (-1: none), which
/// are indices into `notes`; `classes` [rows, C] if rows have probabilities per class; and, for points, point_model,
/// point_index, point_label, point_predicted and `logits` [points, C]. Integers are int64, numbers float64 with NaN for none,
/// logits float32, texts unicode; a label of -1 stands for none. Rows with fewer classes than others are padded with NaN.
/// Throws the errors of NpzWriter.
void export_npz(const Results& results, const std::string& path);

}  // namespace probust::cli
