// SPDX-License-Identifier: MIT
#include "probust/onnx/choose_output.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/onnx/elements.h"

namespace probust::onnx {
namespace {

struct Candidate {
  std::string name;
  ValueId value = kNoValue;  // several values, or one number
  bool softmax = false;      // whether it ends in a Softmax
  bool copy = false;         // whether it is a copy of the input
  bool label = false;        // whether an ArgMax, a TopK or a comparison computes it
  bool integer = false;
  std::string note{};
};

// An output from which no class can be derived, for messages.
struct Unusable {
  std::string name, why;
};

bool is_weight(const GraphProto& graph, const std::string& name) {
  const NodeProto* maker = maker_of(graph, name);
  return graph.initializers.count(name) != 0 || (maker != nullptr && maker->op_type == "Constant");
}

// False for a table or a map that assigns one label to several classes, and for a cast to bool.
bool is_one_to_one(const GraphProto& graph, const NodeProto& node) {
  constexpr std::int64_t kBool = 9;
  if (const auto to = node.attributes.find("to"); node.op_type == "Cast" && to != node.attributes.end() && to->second.i == kBool)
    return false;
  const auto distinct = [](auto values) {
    std::sort(values.begin(), values.end());
    return std::adjacent_find(values.begin(), values.end()) == values.end();
  };
  for (const char* values : {"values_strings", "values_int64s", "values_floats"}) {
    const auto found = node.attributes.find(values);
    if (found == node.attributes.end()) continue;
    if (!distinct(found->second.strings) || !distinct(found->second.ints) || !distinct(found->second.floats)) return false;
  }
  const auto table = node.inputs.empty() ? graph.initializers.end() : graph.initializers.find(node.inputs[0]);
  if (table == graph.initializers.end()) return true;
  return distinct(table->second.texts) && (table->second.values == nullptr || distinct(table->second.values->data));
}

// The name of the scores from which `output`, a label or the sorted scores of a TopK, is computed; empty if it is neither.
std::string scores_before(const GraphProto& graph, const std::string& output) {
  static constexpr std::array<std::string_view, 9> kMoves{"Cast",    "Identity", "Reshape",      "Squeeze", "Unsqueeze",
                                                          "Flatten", "Dropout",  "LabelEncoder", "ZipMap"};
  static constexpr std::array<std::string_view, 3> kOffsets{"Add", "Sub", "Mul"};
  static constexpr std::array<std::string_view, 2> kTables{"Gather", "ArrayFeatureExtractor"};
  constexpr int kMostSteps = 32;
  std::string name = output;
  const auto is_one_of = [](const auto& list, const std::string& op) {
    return std::find(list.begin(), list.end(), op) != list.end();
  };
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeProto* maker = maker_of(graph, name);
    if (maker == nullptr || maker->inputs.empty()) return "";
    const std::string& op = maker->op_type;
    if (op == "TopK") {
      const auto largest = maker->attributes.find("largest");
      return largest == maker->attributes.end() || largest->second.i != 0 ? maker->inputs[0] : "";
    }
    if (op == "ArgMax") return maker->inputs[0];
    if (op.ends_with("Classifier") && maker->outputs.size() > 1 && !maker->outputs[1].empty())
      return maker->outputs[0] == name ? maker->outputs[1] : "";
    if (!is_one_to_one(graph, *maker)) return "";
    if (is_one_of(kMoves, op)) {
      name = maker->inputs[0];
    } else if (is_one_of(kOffsets, op) && maker->inputs.size() == 2 &&
               is_weight(graph, maker->inputs[0]) != is_weight(graph, maker->inputs[1])) {
      name = maker->inputs[is_weight(graph, maker->inputs[0]) ? 1 : 0];
    } else if (is_one_of(kTables, op) && maker->inputs.size() > 1 && is_weight(graph, maker->inputs[0])) {
      name = maker->inputs[1];
    } else {
      return "";
    }
  }
  return "";
}

bool is_top_k(const GraphProto& graph, const std::string& name) {
  const NodeProto* maker = maker_of(graph, name);
  while (maker != nullptr && !maker->inputs.empty() && maker->op_type != "TopK") maker = maker_of(graph, maker->inputs[0]);
  return maker != nullptr && maker->op_type == "TopK";
}

// The value before all operators that keep the order of classes, so that a label, probabilities and logits count as one
// candidate.
ValueId root_of(const Graph& graph, ValueId id) { return element_count(graph[id].shape) < 2 ? id : before_ordering(graph, id); }

bool is_computed_from(const Graph& graph, ValueId id, ValueId from) {
  std::set<ValueId> seen;
  std::vector<ValueId> open{id};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    if (at == from) return true;
    for (const ValueId operand : graph[at].inputs) {
      if (operand >= from && seen.insert(operand).second) open.push_back(operand);  // values before `from` cannot depend on it
    }
  }
  return false;
}

bool speaks_of(const std::string& name, std::initializer_list<std::string_view> words) {
  const std::string lower = lower_case(name);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

bool names_classes(const Candidate& candidate) {
  return speaks_of(candidate.name, {"logit", "prob", "score", "class", "label", "pred", "softmax", "cls"});
}

bool names_something_else(const Candidate& candidate) {
  return speaks_of(candidate.name,
                   {"embed", "feature", "hidden", "aux",   "latent", "attention", "attn",   "box",  "mask",    "recon",
                    "state", "pool",    "gate",   "value", "conf",   "entropy",   "uncert", "loss", "regress", "coord"});
}

// Keeps the candidates that satisfy `wanted`, if any do.
template <class Wanted>
void prefer(std::vector<Candidate>& candidates, const Wanted& wanted) {
  if (std::any_of(candidates.begin(), candidates.end(), wanted))
    std::erase_if(candidates, [&](const Candidate& candidate) { return !wanted(candidate); });
}

std::string shape_of(const Graph& graph, ValueId id) { return to_string(graph[id].shape); }

class OutputChooser {
 public:
  explicit OutputChooser(const Outputs& outputs) : outputs_(outputs), graph_(outputs.graph) {}

  ChosenOutput choose() {
    if (outputs_.proto.graph.outputs.empty())
      throw Error{ErrorCode::unreadable, "the model", "has no output", "export it with at least one output"};
    const bool only = outputs_.proto.graph.outputs.size() == 1;
    for (const ValueInfo& output : outputs_.proto.graph.outputs) {
      try {
        add(output.name, !deciding());
      } catch (const Error& error) {
        failures_.push_back(error);
      }
    }
    narrow();
    if (candidates_.empty()) refuse_none();
    // If the model need not decide between classes, the first output is used.
    if (candidates_.size() > 1 && outputs_.options.decide) refuse_several();
    Candidate& chosen = candidates_.front();
    ChosenOutput result{chosen.name, chosen.value, {}, chosen.integer};
    if (!only) result.notes.push_back("output '" + chosen.name + "' determines the class");
    if (!chosen.note.empty()) result.notes.push_back(chosen.note);
    return result;
  }

  ChosenOutput named() {
    const std::string& name = outputs_.options.output_name;
    const auto& listed = outputs_.proto.graph.outputs;
    const bool is_output = std::any_of(listed.begin(), listed.end(), [&](const ValueInfo& o) { return o.name == name; });
    if (!is_output && !outputs_.body.has(name))
      throw Error{ErrorCode::usage, option("output_name"), "is '" + name + "', which is not an output of the model",
                  "its outputs are " + output_names()};
    add(name, !deciding());
    if (candidates_.empty()) {
      throw Error{ErrorCode::unsupported, "output '" + name + "'", unusable_.front().why, remedy()};
    }
    ChosenOutput result{name, candidates_.front().value, {"output '" + name + "' was requested"}, candidates_.front().integer};
    if (!candidates_.front().note.empty()) result.notes.push_back(candidates_.front().note);
    return result;
  }

 private:
  bool deciding() const { return outputs_.options.decide; }

  void add(const std::string& name, bool even_a_copy) {
    const GraphProto& proto = outputs_.proto.graph;
    if (const std::string scores = scores_before(proto, name); !scores.empty() && add_scores(name, scores)) return;
    const Named value = outputs_.lower(name);
    if (value.id == kNoValue) {
      if (value.type != kString)
        throw Error{ErrorCode::unsupported, "output '" + name + "'", "is not computed by probust",
                    "choose another output with " + option("output_name")};
      return leave_out(name, "is text");
    }
    const Node& node = graph_[value.id];
    if (node.extent == Extent::constant) return leave_out(name, "does not depend on the input");
    if (const ValueId compared = compared_by_argmax(graph_, value.id); compared != kNoValue) {
      candidates_.push_back({.name = name, .value = deciding() ? compared : value.id, .label = true});
      return;
    }
    if (!is_vector(node.shape))
      return leave_out(name, "has shape " + to_string(node.shape) + ", which is not that of a single vector of logits");
    const bool several = element_count(node.shape) > 1;
    if (several && value.integer) return leave_out(name, "contains integers of shape " + to_string(node.shape) + ", not scores");
    if (several && deciding() && is_top_k(proto, name))
      return leave_out(name, "contains only the smallest values, in sorted order");
    const bool copy = is_copy_of_input(graph_, value.id);
    if (copy && !even_a_copy) return leave_out(name, "is a copy of the input");
    if (deciding() && is_largest_value(graph_, value.id))
      return leave_out(name, "contains only the largest of several probabilities, not the class to which it belongs");
    if (deciding() && several && outputs_.options.output_name.empty() && holds_sums_of_squares(graph_, value.id))
      return leave_out(name, "contains sums of squares, such as distances, the smallest of which determines the class");
    candidates_.push_back({.name = name,
                           .value = value.id,
                           .softmax = ends_like_a_classifier(graph_, value.id),
                           .copy = copy,
                           .label = value.integer,
                           .integer = value.integer});
  }

  // Replaces an output by the scores from which it is computed. Returns false if they are not a vector.
  bool add_scores(const std::string& name, const std::string& scores) {
    const Named value = outputs_.lower(scores);
    if (value.id == kNoValue || value.integer || !is_vector(graph_[value.id].shape)) return false;
    if (element_count(graph_[value.id].shape) < 2 || graph_[value.id].extent == Extent::constant) return false;
    const bool sorted = is_top_k(outputs_.proto.graph, name);
    // If the model need not decide between classes, the values of the output itself are used.
    if (!deciding() && !sorted) return false;
    candidates_.push_back({.name = name,
                           .value = value.id,
                           .label = true,
                           .note = sorted ? "'" + scores + "' before the TopK has the scores of all classes" : ""});
    return true;
  }

  void leave_out(const std::string& name, const std::string& why) { unusable_.push_back({name, why}); }

  bool is_number(const Candidate& candidate) const {
    return element_count(graph_[candidate.value].shape) == 1 && compared_by_argmax(graph_, candidate.value) == kNoValue;
  }

  std::int64_t classes_of(const Candidate& candidate) const {
    return is_number(candidate) ? 2 : element_count(graph_[candidate.value].shape);
  }

  void narrow() {
    prefer(candidates_, [](const Candidate& each) { return !each.copy; });
    if (!deciding())  // if the model need not decide, prefers several numbers to labels
      prefer(candidates_, [&](const Candidate& each) { return element_count(graph_[each.value].shape) > 1; });
    merge();
    if (candidates_.size() < 2) return;
    prefer(candidates_, [](const Candidate& each) { return each.label; });
    if (outputs_.options.data_classes > 1) {
      const std::int64_t wanted = outputs_.options.data_classes;
      prefer(candidates_, [&](const Candidate& each) { return classes_of(each) >= wanted; });
      prefer(candidates_, [&](const Candidate& each) { return classes_of(each) == wanted; });
    }
    prefer(candidates_, [](const Candidate& each) { return !names_something_else(each); });
    prefer(candidates_, names_classes);
    const std::vector<Candidate> all = candidates_;
    prefer(candidates_, [&](const Candidate& each) {
      return std::none_of(all.begin(), all.end(), [&](const Candidate& other) {
        return other.value != each.value && is_computed_from(graph_, other.value, each.value);
      });
    });
    prefer(candidates_, [](const Candidate& each) { return each.softmax; });
  }

  // Merges a label, its probabilities and its logits into one candidate, named after the first of them that is not a label.
  void merge() {
    std::map<ValueId, Candidate> merged;
    std::vector<ValueId> order;
    for (const Candidate& each : candidates_) {
      const ValueId root = root_of(graph_, each.value);
      const auto [entry, is_new] = merged.emplace(root, each);
      if (is_new) {
        order.push_back(root);
        continue;
      }
      Candidate& first = entry->second;
      const bool label = first.label || each.label, softmax = first.softmax || each.softmax;
      if (is_label(first) && !is_label(each)) first = each;
      first.label = label;
      first.softmax = softmax;
    }
    candidates_.clear();
    for (const ValueId root : order) candidates_.push_back(merged.at(root));
  }

  bool is_label(const Candidate& candidate) const {
    const auto& listed = outputs_.proto.graph.outputs;
    const auto output = std::find_if(listed.begin(), listed.end(), [&](const ValueInfo& o) { return o.name == candidate.name; });
    return output != listed.end() && (output->type == "string" || output->type.find("int") != std::string::npos);
  }

  std::string output_names() const {
    std::vector<std::string> names;
    for (const ValueInfo& output : outputs_.proto.graph.outputs) names.push_back("'" + output.name + "'");
    return join(names);
  }

  bool is_left_out(const std::string& name) const {
    return std::any_of(unusable_.begin(), unusable_.end(), [&](const Unusable& each) { return each.name == name; });
  }

  // Inner tensors from which a class can be derived, the last ones first.
  std::vector<std::string> inner_candidates() const {
    constexpr std::size_t kMost = 4;
    std::vector<std::pair<ValueId, std::string>> found;
    for (const std::string& name : outputs_.body.lowered_names()) {
      const Named& value = outputs_.body.known(name);
      if (value.id == kNoValue || value.integer || graph_[value.id].extent == Extent::constant) continue;
      if (!is_vector(graph_[value.id].shape) || element_count(graph_[value.id].shape) < 2) continue;
      if (is_copy_of_input(graph_, value.id) || is_left_out(name) || is_top_k(outputs_.proto.graph, name)) continue;
      found.emplace_back(-value.id, "'" + name + "' " + shape_of(graph_, value.id));
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> names;
    for (const auto& [place, text] : found) {
      if (names.size() < kMost) names.push_back(text);
    }
    return names;
  }

  std::string remedy() const {
    const std::vector<std::string> inner = inner_candidates();
    if (inner.empty()) return "export the model with one value per class, [1, C], or with a single number";
    return "choose an inner tensor that determines the class with " + option("output_name") + ", for example " +
           join(inner, " or ");
  }

  [[noreturn]] void refuse_none() const {
    if (!failures_.empty()) throw failures_.front();
    if (unusable_.size() == 1)
      throw Error{ErrorCode::unsupported, "output '" + unusable_[0].name + "'", unusable_[0].why, remedy()};
    std::vector<std::string> reasons;
    for (const Unusable& each : unusable_) reasons.push_back("'" + each.name + "' " + each.why);
    throw Error{ErrorCode::unsupported, "the model", "has no output that determines the class: " + join(reasons), remedy()};
  }

  [[noreturn]] void refuse_several() const {
    std::vector<std::string> names;
    for (const Candidate& each : candidates_) names.push_back("'" + each.name + "' " + shape_of(graph_, each.value));
    throw Error{ErrorCode::unsupported, "the model", "has several outputs that could determine the class: " + join(names),
                "choose one with " + option("output_name")};
  }

  const Outputs& outputs_;
  Graph& graph_;
  std::vector<Candidate> candidates_;
  std::vector<Unusable> unusable_;
  std::vector<Error> failures_;
};

}  // namespace

ChosenOutput choose_output(const Outputs& outputs) { return OutputChooser(outputs).choose(); }

ChosenOutput named_output(const Outputs& outputs) { return OutputChooser(outputs).named(); }

}  // namespace probust::onnx
