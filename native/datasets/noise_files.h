// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/noise/noise.h"

namespace probust::datasets {

/// Reads the files named in noise texts: arrays from .npy, .npz (x) or .csv, categories from JSON,
/// {"groups": [{"columns": [4, 5, 6], "transitions": [[0.9, 0.05, 0.05], ...]}]}, perturbations from .onnx (transform_model). All
/// throw Error{unreadable} naming the file.
NoiseSource noise_files();

/// The same, and adds the paths of files that are read to `paths`, which must outlive the source.
NoiseSource noise_files(std::vector<std::string>& paths);

}  // namespace probust::datasets
