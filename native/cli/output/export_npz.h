// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/analysis/results.h"

namespace probust::cli {

/// Writes rows and points as arrays of a .npz file. For rows: one array per column, except that `note_code` replaces the note:
/// its values are positions in `notes`, or -1 for no note. If rows have probabilities per class, also `classes` [rows, C]. For
/// points: point_model, point_index, point_label, point_predicted and `logits` [points, C]. Integers are int64, logits float32,
/// other numbers float64, and texts Unicode. A missing label is -1, another missing number NaN. Rows with fewer classes than
/// others are padded with NaN. Throws the errors of NpzWriter.
void export_npz(const Results& results, const std::string& path);

}  // namespace probust::cli
