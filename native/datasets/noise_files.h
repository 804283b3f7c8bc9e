// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probust/noise/noise.h"

namespace probust::datasets {

/// Reads the files that the texts of noise models name: arrays from .npy, .npz (the array x) or .csv, categories from JSON,
/// {"groups": [{"columns": [4, 5, 6], "transitions": [[0.9, 0.05, 0.05], ...]}]} (docs/noise.md), and perturbations from ONNX
/// models (transform_model). Its functions throw Error{unreadable} that names the file.
NoiseSource noise_files();

/// The features that JSON text defines. Throws Error{unreadable} with `where`.
std::vector<Category> categories_of(std::string_view json, const std::string& where);

/// Like noise_files(), but also adds the path of each file that is read to `paths`, which must outlive the source.
NoiseSource noise_files(std::vector<std::string>& paths);

}  // namespace probust::datasets
