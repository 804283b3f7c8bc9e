// SPDX-License-Identifier: MIT
//
// Determines the class of each label. Numbers are class numbers. Names are looked up among the class names of the user or of the
// model; otherwise they are numbered in sorted order, as scikit-learn and most training programs do. They are never numbered in
// order of appearance, which differs from table to table.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace probust::datasets {

/// Labels as stored: numbers or, if `texts` is not empty, texts. An empty text means that there is no label.
struct StoredLabels {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;

  bool empty() const { return numbers.empty() && texts.empty(); }
  std::size_t size() const { return texts.empty() ? numbers.size() : texts.size(); }
};

/// Whether labels are names of folders or texts in a file, for messages.
enum class LabelKind { folders, texts };

/// The classes for a set of label texts.
struct ClassNumbers {
  std::map<std::string, std::int64_t> of;  ///< class number by label text
  std::vector<std::string> class_names;    ///< by class number; classes without a name have digits; may be empty
  std::string mapping;                     ///< one line for the user; empty if there is nothing to report
  bool guessed = false;                    ///< whether texts are numbered in sorted order because no class names are known
};

/// The class of each text. `path` is the file or folder to name in errors. Throws Error{unreadable} if a name is unknown or two
/// texts denote the same class.
ClassNumbers number_classes(const std::set<std::string>& texts, LabelKind kind, const DatasetOptions& options,
                            const std::string& path);

/// The class numbers of labels, and the information about them for PointList.
struct SettledLabels {
  std::vector<std::int64_t> labels;  ///< PointSource::kNoLabel for an empty text
  std::vector<std::string> class_names;
  std::string mapping;
  bool guessed = false;
  std::int64_t named = 0;  ///< number of classes whose labels are texts
};

/// The class number of each stored label. Throws the same errors as number_classes.
SettledLabels settled(const StoredLabels& stored, const DatasetOptions& options, const std::string& path);

}  // namespace probust::datasets
