// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The names of a model's classes, one for each of `classes` (0: any number). They come from its metadata (`id2label` of
/// Hugging Face, `names` of Ultralytics, `classes`, `class_names`, `labels`), or from its operators (the labels of ZipMap and
/// of scikit-learn's classifiers, texts or numbers in which a label is looked up, a constant that is added to an ArgMax). Empty
/// if no source has exactly as many names as there are classes. Labels 0, 1, 2, ... do not count as names.
std::vector<std::string> class_names_of(const ModelProto& model, std::int64_t classes);

/// Parses a list of names as stored in metadata: a JSON list, a JSON object or Python dictionary from numbers to names, or
/// names separated by commas. Empty if the text is none of these.
std::vector<std::string> parse_class_names(const std::string& text);

}  // namespace probust::onnx
