// SPDX-License-Identifier: MIT
#include "probust/onnx/class_names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "probust/base/text.h"

namespace probust::onnx {
namespace {

constexpr std::int64_t kMostNames = 100000;

// Splits "'a': 1, "b"" into quoted texts, bare words, and the characters between them.
class NameScanner {
 public:
  explicit NameScanner(const std::string& text) : text_(text) {}

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size();
  }
  // A quoted text, or a word up to one of ",:]}".
  std::optional<std::string> word() {
    skip_blanks();
    if (at_ >= text_.size()) return std::nullopt;
    const char quote = text_[at_];
    if (quote == '\'' || quote == '"') return quoted_word(quote);
    const std::size_t end = std::min(text_.find_first_of(",:]}", at_), text_.size());
    std::string bare = text_.substr(at_, end - at_);
    at_ = end;
    while (!bare.empty() && std::isspace(static_cast<unsigned char>(bare.back())) != 0) bare.pop_back();
    return bare.empty() ? std::nullopt : std::optional(bare);
  }

 private:
  std::optional<std::string> quoted_word(char quote) {
    std::string found;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return found;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      found += text_[at_];
    }
    return std::nullopt;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::vector<std::string> parse_list(NameScanner& scanner, char close) {
  std::vector<std::string> names;
  while (!scanner.take(close)) {
    const auto name = scanner.word();
    if (!name) return {};
    names.push_back(*name);
    if (scanner.take(close)) break;
    if (!scanner.take(',')) return {};
  }
  return names;
}

// Reads a map from numbers to names, or from names to numbers.
std::vector<std::string> parse_map(NameScanner& scanner) {
  std::map<std::int64_t, std::string> names;
  while (!scanner.take('}')) {
    const auto key = scanner.word();
    if (!key || !scanner.take(':')) return {};
    const auto value = scanner.word();
    if (!value) return {};
    const auto number = parse_integer(*key), other = parse_integer(*value);
    if (!number && !other) return {};
    names[number ? *number : *other] = number ? *value : *key;
    if (scanner.take('}')) break;
    if (!scanner.take(',')) return {};
  }
  if (names.empty() || names.begin()->first != 0 || names.rbegin()->first != static_cast<std::int64_t>(names.size()) - 1)
    return {};
  std::vector<std::string> list;
  list.reserve(names.size());
  for (const auto& [number, name] : names) list.push_back(name);
  return list;
}

// Whether the labels are 0, 1, 2, ..., that is, the same as the positions.
bool counts_up(const std::vector<std::int64_t>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

// Finds the node that computes a value of the graph.
class Makers {
 public:
  explicit Makers(const GraphProto& graph) : graph_(graph) {
    for (const NodeProto& node : graph.nodes) {
      for (const std::string& output : node.outputs) nodes_[output] = &node;
    }
  }

  const HostTensor* constant(const std::string& value) const {
    const auto initializer = graph_.initializers.find(value);
    if (initializer != graph_.initializers.end()) return &initializer->second;
    const NodeProto* node = node_of(value);
    if (node == nullptr || node->op_type != "Constant") return nullptr;
    const auto held = node->attributes.find("value");
    return held == node->attributes.end() || !held->second.has_tensor ? nullptr : &held->second.t;
  }

  // The ArgMax from which a value is computed, if nothing but type and shape changes after it.
  const NodeProto* argmax(std::string value) const {
    for (const NodeProto* node = node_of(value); node != nullptr && !node->inputs.empty(); node = node_of(value)) {
      if (node->op_type == "ArgMax") return node;
      static const std::set<std::string> kPassing{"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"};
      if (kPassing.count(node->op_type) == 0) return nullptr;
      value = node->inputs[0];
    }
    return nullptr;
  }

  // The number of scores; 0 if neither the shape of an output nor weights determine it.
  std::int64_t count_of(std::string scores) const {
    for (std::size_t k = 0; k <= graph_.nodes.size(); ++k) {
      for (const ValueInfo& output : graph_.outputs) {
        if (output.name == scores && output.shape.size() > 1 && output.shape.back() > 0) return output.shape.back();
      }
      const NodeProto* node = node_of(scores);
      if (node == nullptr || node->inputs.empty()) return 0;
      for (std::size_t i = node->inputs.size(); i-- > 0;) {
        const HostTensor* weights = constant(node->inputs[i]);
        const bool has_columns = node->op_type == "Add" || node->op_type == "MatMul" || (node->op_type == "Gemm" && i == 2);
        if (weights != nullptr && weights->values && has_columns && !weights->values->shape.empty())
          return weights->values->shape.back();
      }
      scores = node->inputs[0];
    }
    return 0;
  }

 private:
  const NodeProto* node_of(const std::string& value) const {
    const auto found = nodes_.find(value);
    return found == nodes_.end() ? nullptr : found->second;
  }

  const GraphProto& graph_;
  std::map<std::string, const NodeProto*> nodes_;
};

// The numbers of a table as names; empty if one is not an integer, or if they are 0, 1, 2, ....
std::vector<std::string> names_of_numbers(const std::vector<float>& table) {
  std::vector<std::int64_t> numbers;
  for (const float value : table) {
    if (value != std::floor(value) || std::fabs(value) > kMostNames) return {};
    numbers.push_back(static_cast<std::int64_t>(value));
  }
  std::vector<std::string> names;
  if (counts_up(numbers)) return names;
  for (const std::int64_t number : numbers) names.push_back(std::to_string(number));
  return names;
}

// Names for labels that are an ArgMax plus a constant: numbers that do not start at 0.
std::vector<std::string> names_of_sum(const NodeProto& node, const Makers& makers, std::int64_t classes) {
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeProto* argmax = makers.argmax(node.inputs[i]);
    const HostTensor* first = makers.constant(node.inputs[1 - i]);
    if (argmax == nullptr || first == nullptr || !first->values || first->values->size() != 1) continue;
    const std::int64_t count = classes > 0 ? classes : makers.count_of(argmax->inputs[0]);
    std::vector<float> labels;
    for (std::int64_t k = 0; k < std::min(count, kMostNames); ++k)
      labels.push_back(first->values->data[0] + static_cast<float>(k));
    return names_of_numbers(labels);
  }
  return {};
}

std::vector<std::string> names_of_node(const NodeProto& node, const Makers& makers, std::int64_t classes) {
  for (const char* attribute : {"classlabels_strings", "values_strings"}) {
    const auto texts = node.attributes.find(attribute);
    if (texts != node.attributes.end() && !texts->second.strings.empty()) return texts->second.strings;
  }
  for (const char* attribute : {"classlabels_int64s", "classlabels_ints"}) {
    const auto numbers = node.attributes.find(attribute);
    if (numbers == node.attributes.end() || numbers->second.ints.empty() || counts_up(numbers->second.ints)) continue;
    std::vector<std::string> names;
    for (const std::int64_t label : numbers->second.ints) names.push_back(std::to_string(label));
    return names;
  }
  if (node.inputs.size() < 2) return {};
  if (node.op_type == "Add") return names_of_sum(node, makers, classes);
  // Names for labels that are looked up in a tensor of names or numbers.
  if (node.op_type != "ArrayFeatureExtractor" && node.op_type != "Gather") return {};
  const HostTensor* table = makers.constant(node.inputs[0]);
  if (table == nullptr) return {};
  const bool numbers = table->values && makers.argmax(node.inputs[1]) != nullptr;
  return numbers ? names_of_numbers(table->values->data) : table->texts;
}

std::vector<std::string> printable_names(std::vector<std::string> names) {
  for (std::string& name : names) name = printable(name);
  return names;
}

}  // namespace

std::vector<std::string> parse_class_names(const std::string& text) {
  NameScanner scanner(text);
  std::vector<std::string> names;
  if (scanner.take('{')) {
    names = parse_map(scanner);
  } else if (scanner.take('[')) {
    names = parse_list(scanner, ']');
  } else if (text.find(',') != std::string::npos) {
    names = split(text, ',');
  }
  return static_cast<std::int64_t>(names.size()) > kMostNames ? std::vector<std::string>() : names;
}

std::vector<std::string> class_names_of(const ModelProto& model, std::int64_t classes) {
  const auto fits = [&](const std::vector<std::string>& names) {
    return classes == 0 ? names.size() > 1 : static_cast<std::int64_t>(names.size()) == classes;
  };
  for (const char* key : {"id2label", "names", "class_names", "classes", "labels", "label2id"}) {
    const auto entry = model.metadata.find(key);
    if (entry == model.metadata.end()) continue;
    const std::vector<std::string> names = parse_class_names(entry->second);
    if (fits(names)) return printable_names(names);
  }
  const Makers makers(model.graph);
  for (auto node = model.graph.nodes.rbegin(); node != model.graph.nodes.rend(); ++node) {
    if (node->domain.empty() && node->op_type != "Gather" && node->op_type != "Add") continue;
    const std::vector<std::string> names = names_of_node(*node, makers, classes);
    if (fits(names)) return printable_names(names);
  }
  return {};
}

}  // namespace probust::onnx
