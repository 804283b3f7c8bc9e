// SPDX-License-Identifier: MIT
#include "datasets/labels.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "datasets/bytes.h"
#include "datasets/csv_rows.h"
#include "datasets/point_source.h"
#include "probust/base/text.h"

namespace probust::datasets {
namespace {

constexpr std::int64_t kMostNumbered = 10000;  // class numbers at the end of names must be below this

std::string folded(std::string_view text) { return lower_case(std::string(trimmed(text))); }

bool are_numbers(const std::vector<std::string>& names) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) { return csv_integer(name); });
}

const char* plural_of(LabelKind kind) { return kind == LabelKind::folders ? "folder names" : "text labels"; }

std::string called(LabelKind kind, const std::string& text) {
  return std::string(kind == LabelKind::folders ? "folder " : "label ") + shown(printable(text));
}

// The names of all classes, and whether they come from the caller or the model.
struct NamedClasses {
  const std::vector<std::string>& names;
  bool given;  // by the caller, not by the model

  std::string owner() const { return given ? option("classes") : "the model"; }
};

NamedClasses named_classes(const DatasetOptions& options) {
  return options.classes.empty() ? NamedClasses{options.known_classes, false} : NamedClasses{options.classes, true};
}

// The number of edits that turn one text into another (Levenshtein).
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

std::string nearest_name(const std::string& text, const std::vector<std::string>& names) {
  const std::string wanted = folded(text);
  const auto nearer = [&](const std::string& a, const std::string& b) {
    return edits(wanted, folded(a)) < edits(wanted, folded(b));
  };
  return *std::min_element(names.begin(), names.end(), nearer);
}

// Class names, found by their exact text or, failing that, ignoring case. Numeric names are found by their value.
class NameIndex {
 public:
  explicit NameIndex(const std::vector<std::string>& names) : numbers_(are_numbers(names)) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      exact_[std::string(trimmed(names[i]))].push_back(static_cast<std::int64_t>(i));
      folded_[key(names[i])].push_back(static_cast<std::int64_t>(i));
    }
  }

  // The classes with this name; none if it is unknown.
  std::vector<std::int64_t> find(const std::string& text) const {
    const auto exact = exact_.find(std::string(trimmed(text)));
    if (exact != exact_.end()) return exact->second;
    const auto similar = folded_.find(key(text));
    return similar == folded_.end() ? std::vector<std::int64_t>{} : similar->second;
  }

 private:
  std::string key(const std::string& name) const {
    const auto number = numbers_ ? csv_integer(trimmed(name)) : std::nullopt;
    return number ? std::to_string(*number) : folded(name);
  }

  bool numbers_;
  std::map<std::string, std::vector<std::int64_t>> exact_, folded_;
};

[[noreturn]] void refuse_unknown(const std::string& text, LabelKind kind, const NamedClasses& classes, const std::string& path) {
  refuse(path, "has the " + called(kind, text) + ", which is not a class name of " + classes.owner(),
         "the nearest name is " + shown(printable(nearest_name(text, classes.names))) +
             (classes.given ? "" : "; give the names in the model's order with " + option("classes")));
}

// The class number of each text, such as "setosa = 0, versicolor = 1, ...".
std::string assignments(const std::map<std::string, std::int64_t>& of) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> parts;
  for (const auto& [text, number] : of) {
    if (parts.size() == kShown) break;
    parts.push_back(printable(text) + " = " + std::to_string(number));
  }
  return join(parts) + (of.size() > kShown ? ", ..." : "");
}

// Tables may spell a class in several ways ("1" and "1.0"), but two folders for one class are a mistake.
void refuse_repeated(const ClassNumbers& numbers, LabelKind kind, const std::string& path) {
  if (kind != LabelKind::folders) return;
  std::map<std::int64_t, std::string> texts;
  for (const auto& [text, number] : numbers.of) {
    const auto [entry, is_new] = texts.emplace(number, text);
    if (!is_new)
      refuse(path,
             "has the " + called(kind, entry->second) + " and the " + called(kind, text) + ", which both mean class " +
                 std::to_string(number),
             "give each class one folder");
  }
}

// Class numbers from names that consist of a common prefix and a number, such as "c0", "c1", ..., "c9"; empty if the names are
// not of this form. Long numbers are identifiers, such as WordNet's n01440764, and are not used as class numbers.
std::optional<std::map<std::string, std::int64_t>> numbers_after_prefix(const std::set<std::string>& texts) {
  if (texts.size() < 2) return std::nullopt;
  const auto digits_at = [](const std::string& text) { return text.find_last_not_of("0123456789") + 1; };
  const std::string prefix = texts.begin()->substr(0, digits_at(*texts.begin()));
  std::map<std::string, std::int64_t> of;
  for (const std::string& text : texts) {
    const std::size_t at = digits_at(text);
    constexpr std::size_t kMostDigits = 6;
    if (at == 0 || at == text.size() || text.size() - at > kMostDigits || text.compare(0, at, prefix) != 0) return std::nullopt;
    const std::int64_t number = *csv_integer(std::string_view(text).substr(at));
    if (number >= kMostNumbered) return std::nullopt;
    of[text] = number;
  }
  return of;
}

// The class names, ordered by their numbers. A class without a name is named by its number.
std::vector<std::string> names_with_gaps(const std::map<std::string, std::int64_t>& of) {
  std::vector<std::string> names;
  for (const auto& [text, number] : of) {
    while (std::ssize(names) <= number) names.push_back(std::to_string(names.size()));
    names[static_cast<std::size_t>(number)] = text;
  }
  return names;
}

// Whether the labels are -1 and 1, as used for support vector machines. These are not class numbers.
bool are_signs(const std::set<std::string>& texts) {
  std::set<std::int64_t> numbers;
  for (const std::string& text : texts) numbers.insert(csv_integer(text).value_or(0));
  return numbers == std::set<std::int64_t>{-1, 1};
}

// The classes of labels that are all whole numbers. If the class names are numbers, too, the labels are matched with them;
// otherwise, except for -1 and 1, the labels are class numbers.
ClassNumbers number_numbers(const std::set<std::string>& texts, LabelKind kind, const NamedClasses& classes,
                            const std::string& path) {
  ClassNumbers result;
  result.class_names = classes.names;
  const NameIndex index(classes.names);
  const bool by_name = are_numbers(classes.names) &&
                       (classes.given || std::all_of(texts.begin(), texts.end(),
                                                     [&](const std::string& text) { return index.find(text).size() == 1; }));
  if (!by_name && are_signs(texts)) {
    for (const std::string& text : texts) result.of[text] = csv_integer(text) == 1 ? 1 : 0;
    result.mapping = "labels -1 and 1 are read as classes 0 and 1";
    return result;
  }
  bool moved = false;
  for (const std::string& text : texts) {
    const std::int64_t number = *csv_integer(text);
    if (!by_name) {
      const bool beyond = number < 0 || number >= std::ssize(classes.names);
      if (kind == LabelKind::folders && classes.given && beyond)
        refuse(path,
               "has the " + called(kind, text) + ", but " + option("classes") + " has " + std::to_string(classes.names.size()) +
                   " names",
               "give a name for every class from 0");
      result.of[text] = number;
      continue;
    }
    const std::vector<std::int64_t> found = index.find(text);
    if (found.size() != 1) refuse_unknown(text, kind, classes, path);
    result.of[text] = found[0];
    moved = moved || found[0] != number;
  }
  if (moved) {
    result.mapping =
        "labels are matched with the class names of " + classes.owner() + ", which are numbers: " + assignments(result.of);
  } else if (kind == LabelKind::folders) {
    result.mapping = "folder names are class numbers";
  }
  return result;
}

// Matches each label with the only class name that begins with it, such as b and g with bad and good.
std::optional<ClassNumbers> number_by_beginning(const std::set<std::string>& texts, const NamedClasses& classes) {
  if (!classes.given || texts.size() < 2) return std::nullopt;
  ClassNumbers result;
  std::set<std::int64_t> taken;
  for (const std::string& text : texts) {
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < classes.names.size(); ++i) {
      if (folded(classes.names[i]).starts_with(folded(text))) found.push_back(static_cast<std::int64_t>(i));
    }
    const bool shorter = found.size() == 1 && folded(text).size() < folded(classes.names[found[0]]).size();
    if (!shorter || text.empty() || !taken.insert(found[0]).second) return std::nullopt;
    result.of[text] = found[0];
  }
  result.class_names = classes.names;
  result.mapping = "labels are prefixes of class names of " + classes.owner() + ": " + assignments(result.of);
  return result;
}

}  // namespace

ClassNumbers number_classes(const std::set<std::string>& texts, LabelKind kind, const DatasetOptions& options,
                            const std::string& path) {
  const NamedClasses classes = named_classes(options);
  const auto is_whole = [](const std::string& text) { return csv_integer(text).has_value(); };
  ClassNumbers result;
  if (std::all_of(texts.begin(), texts.end(), is_whole)) {
    result = number_numbers(texts, kind, classes, path);
    refuse_repeated(result, kind, path);
    return result;
  }
  if (auto begun = number_by_beginning(texts, classes)) return *begun;
  const NameIndex index(classes.names);
  const bool any_known =
      std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return !index.find(text).empty(); });
  if (classes.given || any_known) {
    for (const std::string& text : texts) {
      const std::vector<std::int64_t> found = index.find(text);
      if (found.empty()) refuse_unknown(text, kind, classes, path);
      if (found.size() > 1)
        refuse(path,
               "has the " + called(kind, text) + ", and classes " + std::to_string(found[0]) + " and " +
                   std::to_string(found[1]) + " of " + classes.owner() + " both have this name",
               "give each class its own name with " + option("classes"));
      result.of[text] = found[0];
    }
    result.class_names = classes.names;
    result.mapping = "labels are matched with the class names of " + classes.owner();
    refuse_repeated(result, kind, path);
    return result;
  }
  if (kind == LabelKind::folders) {
    if (auto numbered = numbers_after_prefix(texts)) {
      result.of = std::move(*numbered);
      result.class_names = names_with_gaps(result.of);
      result.mapping = "folder names end in class numbers: " + assignments(result.of);
      refuse_repeated(result, kind, path);
      return result;
    }
  }
  for (const std::string& text : texts) {
    result.of[text] = std::ssize(result.class_names);
    result.class_names.push_back(text);
  }
  result.guessed = true;
  result.mapping = std::string(plural_of(kind)) + " are numbered in sorted order: " + assignments(result.of);
  if (!classes.names.empty())
    result.mapping += "; none is a class name of the model, for example " + shown(printable(classes.names[0]));
  return result;
}

SettledLabels settled(const StoredLabels& stored, const DatasetOptions& options, const std::string& path) {
  SettledLabels result;
  std::set<std::string> texts;
  if (stored.texts.empty()) {
    const NamedClasses classes = named_classes(options);
    result.class_names = classes.names;
    result.labels = stored.numbers;
    for (const std::int64_t number : std::set<std::int64_t>(stored.numbers.begin(), stored.numbers.end())) {
      if (number != PointSource::kNoLabel) texts.insert(std::to_string(number));
    }
    if (!are_numbers(classes.names) && !are_signs(texts)) return result;
  } else {
    for (const std::string& text : stored.texts) {
      if (!text.empty()) texts.insert(text);
    }
  }
  ClassNumbers numbers = number_classes(texts, LabelKind::texts, options, path);
  result.class_names = std::move(numbers.class_names);
  result.mapping = std::move(numbers.mapping);
  result.guessed = numbers.guessed;
  result.named = stored.texts.empty() ? 0 : std::ssize(numbers.of);
  if (stored.texts.empty()) {
    for (std::int64_t& label : result.labels) {
      if (label != PointSource::kNoLabel) label = numbers.of.at(std::to_string(label));
    }
  } else {
    for (const std::string& text : stored.texts)
      result.labels.push_back(text.empty() ? PointSource::kNoLabel : numbers.of.at(text));
  }
  return result;
}

}  // namespace probust::datasets
