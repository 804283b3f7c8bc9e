// SPDX-License-Identifier: MIT
#include "probust/onnx/lower/lower_graph.h"

#include <algorithm>

#include "probust/base/error.h"
#include "probust/onnx/elements.h"
#include "probust/ops/append.h"

namespace probust::onnx {
namespace {

// Functions may call functions, and branches may contain branches. The limit protects the stack and the memory.
constexpr int kDeepestBody = 32;
constexpr std::int64_t kElementsPerInlinedNode = 64;

// The outer names that a graph in an attribute reads: those that it does not define itself.
void collect_reads(const GraphProto& graph, std::vector<std::string>& names) {
  std::set<std::string> own;
  for (const auto& [name, tensor] : graph.initializers) own.insert(name);
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const NodeProto& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> reads;
  for (const NodeProto& node : graph.nodes) {
    const std::vector<std::string> of_node = reads_of(node);
    reads.insert(reads.end(), of_node.begin(), of_node.end());
  }
  for (const ValueInfo& output : graph.outputs) reads.push_back(output.name);
  std::copy_if(reads.begin(), reads.end(), std::back_inserter(names),
               [&](const std::string& name) { return own.count(name) == 0; });
}

// A node of a function's body, with references replaced by the caller's attributes. A reference to an omitted attribute is
// removed.
NodeProto instantiate(const NodeProto& node, const std::map<std::string, AttributeProto>& given) {
  NodeProto copy = node;
  copy.attributes.clear();
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.reference.empty()) {
      copy.attributes[name] = attribute;
    } else if (const auto found = given.find(attribute.reference); found != given.end()) {
      copy.attributes[name] = found->second;
    }
  }
  return copy;
}

}  // namespace

std::vector<std::string> reads_of(const NodeProto& node) {
  std::vector<std::string> names = node.inputs;
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.g != nullptr) collect_reads(*attribute.g, names);
  }
  return names;
}

std::int64_t opset_of(const Opsets& opsets) {
  const auto found = opsets.find("");
  return found == opsets.end() ? 0 : found->second;
}

void add_initializers(LoweringTarget target, const GraphProto& graph, std::map<std::string, Named>& values) {
  for (const auto& [name, tensor] : graph.initializers) {
    const bool text = tensor.values == nullptr;
    values[name] = {text ? kNoValue : append(target.graph, Op::constant, {}, ConstantData{tensor.values}, name), tensor.integer,
                    tensor.type};
  }
}

GraphLowering::GraphLowering(LoweringTarget target, const std::vector<NodeProto>& nodes, const Opsets& opsets,
                             std::map<std::string, Named> values, int depth)
    : target_(target), nodes_(nodes), opsets_(opsets), values_(std::move(values)), depth_(depth) {
  if (depth > kDeepestBody)
    throw Error{ErrorCode::unreadable, "the model",
                "has functions that call each other recursively, or more than " + std::to_string(kDeepestBody) + " levels deep",
                "the model may be damaged"};
  if (depth > 0) target_.budget.spend(kElementsPerInlinedNode * static_cast<std::int64_t>(nodes.size()));
  // Every name must be computed only once: otherwise a later node could silently replace a weight or another node's output.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& name : nodes_[i].outputs) {
      if (name.empty()) continue;
      if (values_.count(name) != 0 || !producers_.emplace(name, i).second)
        at(nodes_[i]).malformed("computes '" + name + "', which is already defined");
    }
  }
}

Lowering GraphLowering::at(const NodeProto& node) {
  const auto domain = opsets_.find(node.domain);
  const std::int64_t opset = domain == opsets_.end() ? opset_of(opsets_) : domain->second;
  return Lowering(target_.graph, node, opset, values_, target_.budget, *this, target_.batch);
}

GraphLowering::Needed GraphLowering::needed_for(const std::string& name) const {
  Needed needed;
  std::vector<std::size_t> wanted;
  const auto want = [&](const std::string& read, std::vector<std::size_t>* makers) {
    const auto producer = producers_.find(read);
    if (producer == producers_.end() || lowered_.count(producer->second) != 0) return;
    if (makers != nullptr) makers->push_back(producer->second);
    if (needed.try_emplace(producer->second).second) wanted.push_back(producer->second);
  };
  want(name, nullptr);
  while (!wanted.empty()) {
    const std::size_t i = wanted.back();
    wanted.pop_back();
    for (const std::string& read : reads_of(nodes_[i])) want(read, &needed.at(i));
  }
  return needed;
}

// Topological sort by Kahn's algorithm: among the nodes whose operands are known, the first in the file comes next.
std::vector<std::size_t> GraphLowering::sorted(const Needed& needed) {
  std::map<std::size_t, std::size_t> missing;  // operands not computed yet
  std::map<std::size_t, std::vector<std::size_t>> readers;
  std::set<std::size_t> ready;
  for (const auto& [i, makers] : needed) {
    missing[i] = makers.size();
    if (makers.empty()) ready.insert(i);
    for (const std::size_t maker : makers) readers[maker].push_back(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (const std::size_t reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
  }
  if (order.size() == needed.size()) return order;
  for (const std::size_t i : order) missing.erase(i);
  std::set<std::size_t> left;
  for (const auto& [i, count] : missing) left.insert(i);
  refuse_cycle(left);
}

// Every node of `left` reads a value that another node of `left` computes, so following operands from any node leads into a
// cycle.
void GraphLowering::refuse_cycle(const std::set<std::size_t>& left) {
  std::set<std::size_t> seen;
  for (std::size_t i = *left.begin();;) {
    const std::vector<std::string> reads = reads_of(nodes_[i]);
    const auto read = std::find_if(reads.begin(), reads.end(), [&](const std::string& name) {
      const auto producer = producers_.find(name);
      return producer != producers_.end() && left.count(producer->second) != 0;
    });
    if (!seen.insert(i).second) at(nodes_[i]).malformed("reads '" + *read + "', which is computed from this node's own output");
    i = producers_.at(*read);
  }
}

Named GraphLowering::value(const std::string& name) {
  for (const std::size_t i : sorted(needed_for(name))) {
    lowered_.insert(i);
    lower_node(nodes_[i]);
  }
  const auto found = values_.find(name);
  if (found == values_.end())
    throw Error{ErrorCode::unreadable, "output '" + name + "'", "is not computed by any node", "the model may be damaged"};
  return found->second;
}

// Texts, such as class names, are not part of a function of numbers, so values computed from them are omitted.
bool GraphLowering::makes_text(const NodeProto& node) const {
  const auto is_text = [&](const std::string& name) {
    const auto found = values_.find(name);
    return found != values_.end() && found->second.id == kNoValue && found->second.type == kString;
  };
  const auto constant = node.attributes.find("value"), to = node.attributes.find("to");
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_text) || node.attributes.count("values_strings") != 0 ||
         node.attributes.count("value_strings") != 0 || node.attributes.count("value_string") != 0 ||
         (constant != node.attributes.end() && constant->second.has_tensor && constant->second.t.values == nullptr) ||
         (node.op_type == "Cast" && to != node.attributes.end() && to->second.i == kString);
}

void GraphLowering::lower_node(const NodeProto& node) {
  if (makes_text(node)) {
    for (const std::string& name : node.outputs) values_[name] = {kNoValue, false, kString};
    return;
  }
  Lowering lowering = at(node);
  try {
    const auto function = target_.model.functions.find({node.domain, node.op_type});
    if (function != target_.model.functions.end()) {
      call(function->second, lowering);
    } else {
      lower_operator(lowering);
    }
  } catch (const Error& error) {
    // Core operators detect shapes that do not fit, but do not know the node's name.
    if (error.op == node.op_type) throw;
    throw lowering.error(error.code, "cannot be converted: " + error.sentence(), error.hint);
  } catch (const std::out_of_range&) {
    lowering.malformed("has an operand without elements");
  } catch (const std::bad_variant_access&) {
    lowering.malformed("has attributes that do not fit its operator");
  }
  for (const std::string& name : node.outputs) {
    if (!name.empty()) values_[name] = {};  // stays empty if the lowering does not compute the output
  }
  for (const auto& [name, value] : lowering.results()) values_[name] = value;
}

std::vector<std::string> GraphLowering::lowered_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

void GraphLowering::lower_operator(Lowering& lowering) {
  const NodeProto& node = lowering.node;
  const OnnxOperator* known = find_operator(node.op_type, node.domain);
  if (known == nullptr) {
    const std::string domain = node.domain.empty() ? "" : node.domain + ".";
    lowering.unsupported("uses the operator " + domain + node.op_type + ", which is not supported",
                         "export the model without it, or choose a tensor before it with " + option("output_name"));
  }
  known->lower(lowering);
}

std::vector<Named> GraphLowering::branch(const GraphProto& graph) {
  std::map<std::string, Named> values = values_;
  add_initializers(target_, graph, values);
  GraphLowering body(target_, graph.nodes, opsets_, std::move(values), depth_ + 1);
  std::vector<Named> outputs;
  for (const ValueInfo& output : graph.outputs) outputs.push_back(body.value(output.name));
  return outputs;
}

void GraphLowering::call(const FunctionProto& function, Lowering& lowering) {
  std::map<std::string, AttributeProto> given = function.defaults;
  for (const auto& [name, attribute] : lowering.node.attributes) given[name] = attribute;
  std::map<std::string, Named> values;
  std::set<std::string> absent;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (lowering.has(i)) {
      values[function.inputs[i]] = {lowering.in(i), lowering.integer(i), lowering.type(i)};
    } else {
      absent.insert(function.inputs[i]);
    }
  }
  std::vector<NodeProto> nodes;
  for (const NodeProto& node : function.nodes) {
    nodes.push_back(instantiate(node, given));
    for (std::string& name : nodes.back().inputs) {
      if (absent.count(name) != 0) name.clear();
    }
  }
  GraphLowering body(target_, nodes, function.opsets, std::move(values), depth_ + 1);
  for (std::size_t i = 0; i < function.outputs.size() && i < lowering.node.outputs.size(); ++i) {
    if (lowering.node.outputs[i].empty()) continue;
    const Named output = body.value(function.outputs[i]);
    if (output.id != kNoValue) lowering.set(i, output.id, output.integer, output.type);
  }
}

}  // namespace probust::onnx
