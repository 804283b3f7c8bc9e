// SPDX-License-Identifier: MIT
#include "probust/regions/step_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "probust/ops/op.h"

namespace probust {
namespace {

constexpr std::int64_t kMostNodes = 1'000'000;
constexpr std::int64_t kMostContributions = 20'000'000;
constexpr std::int64_t kMostIndices = 1 << 24;  // integers that a float holds exactly

// The elements of a value as scale x[source] + offset; source is -1 for a constant.
struct AffineElement {
  std::int64_t source = -1;
  double scale = 0, offset = 0;
};
using AffineElements = std::vector<AffineElement>;

// Whether an operator only copies elements of its operands. Elements that it adds are zero.
bool copies(Op op) {
  switch (op) {
    case Op::broadcast:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::pad:
    case Op::concat:
    case Op::gather:
      return true;
    default:
      return false;
  }
}

Tensor evaluated(const Node& node, const std::vector<const Tensor*>& operands) {
  Tensor y(node.shape);
  definition(node.op).eval(node.attributes, operands, y);
  return y;
}

// Computes what elements of values depend on, one node after another.
class ElementTrace {
 public:
  explicit ElementTrace(const Graph& graph) : graph_(graph), known_(graph.nodes.size()) {
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) known_[id] = of(graph.nodes[id]);
  }

  const std::optional<AffineElements>& operator[](ValueId id) const { return known_[static_cast<std::size_t>(id)]; }

 private:
  std::optional<AffineElements> of(const Node& node) const {
    const std::int64_t count = element_count(node.shape);
    if (count >= kMostIndices) return std::nullopt;
    AffineElements all(static_cast<std::size_t>(count));
    if (node.op == Op::input) {
      for (std::int64_t e = 0; e < count; ++e) all[e] = {e, 1, 0};
      return all;
    }
    if (node.op == Op::constant) {
      const Tensor& value = *std::get<ConstantData>(node.attributes).tensor;
      for (std::int64_t e = 0; e < count; ++e) all[e].offset = double{value.data[e]};
      return all;
    }
    for (const ValueId operand : node.inputs) {
      if (!known_[operand]) return std::nullopt;
    }
    if (copies(node.op)) return copied(node);
    if (node.op == Op::negate) {
      all = *known_[node.inputs[0]];
      for (AffineElement& e : all) e = {e.source, -e.scale, -e.offset};
      return all;
    }
    return combined(node);
  }

  std::optional<AffineElements> copied(const Node& node) const {
    AffineElements from(1);  // position 0 stands for elements that the operator adds
    std::vector<Tensor> positions;
    for (const ValueId operand : node.inputs) {
      Tensor own(graph_[operand].shape);
      for (std::int64_t e = 0; e < own.size(); ++e) own.data[e] = static_cast<float>(std::ssize(from) + e);
      from.insert(from.end(), known_[operand]->begin(), known_[operand]->end());
      if (std::ssize(from) >= kMostIndices) return std::nullopt;
      positions.push_back(std::move(own));
    }
    std::vector<const Tensor*> operands;
    for (const Tensor& own : positions) operands.push_back(&own);
    AffineElements all;
    for (const float position : evaluated(node, operands).data) all.push_back(from[static_cast<std::size_t>(position)]);
    return all;
  }

  // The elements of operand k, broadcast to the shape of a binary operator's result.
  AffineElements spread(const Node& node, std::size_t k) const {
    Tensor positions(graph_[node.inputs[k]].shape);
    for (std::int64_t e = 0; e < positions.size(); ++e) positions.data[e] = static_cast<float>(e);
    const Tensor zeros(graph_[node.inputs[1 - k]].shape);
    Node sum = node;
    sum.op = Op::add;
    std::vector<const Tensor*> operands = {&positions, &zeros};
    if (k == 1) std::swap(operands[0], operands[1]);
    AffineElements all;
    for (const float position : evaluated(sum, operands).data)
      all.push_back((*known_[node.inputs[k]])[static_cast<std::size_t>(position)]);
    return all;
  }

  std::optional<AffineElements> combined(const Node& node) const {
    const bool sum = node.op == Op::add || node.op == Op::subtract, product = node.op == Op::multiply;
    if (!sum && !product && node.op != Op::divide) return std::nullopt;
    AffineElements a = spread(node, 0), b = spread(node, 1);
    for (std::size_t e = 0; e < a.size(); ++e) {
      if (sum) {
        const double sign = node.op == Op::add ? 1 : -1;
        if (a[e].source >= 0 && b[e].source >= 0) return std::nullopt;
        a[e] = {std::max(a[e].source, b[e].source), a[e].scale + sign * b[e].scale, a[e].offset + sign * b[e].offset};
        continue;
      }
      if (product && a[e].source < 0) std::swap(a[e], b[e]);
      if (b[e].source >= 0) return std::nullopt;
      const double factor = product ? b[e].offset : 1 / b[e].offset;
      a[e] = {a[e].source, a[e].scale * factor, a[e].offset * factor};
    }
    return a;
  }

  const Graph& graph_;
  std::vector<std::optional<AffineElements>> known_;
};

// Whether a node is affine in its operands, of which those in `varies` are not constant.
bool is_affine(const Node& node, const std::vector<bool>& varies) {
  switch (node.op) {
    case Op::add:
    case Op::subtract:
    case Op::negate:
    case Op::reduce_sum:
      return true;
    case Op::multiply:
    case Op::matmul:
      return !(varies[node.inputs[0]] && varies[node.inputs[1]]);
    case Op::divide:
      return !varies[node.inputs[1]];
    default:
      return copies(node.op);
  }
}

// The trees of a classifier as its logits see them: logits = base + sum over trees' targets of columns[target] times output.
struct Outputs {
  std::vector<ValueId> ensembles;
  std::vector<std::int64_t> first;  // the number of the first target of each ensemble
  std::vector<float> base;          // [C]
  std::vector<std::vector<float>> columns;
};

// The logits for given outputs of the ensembles.
std::vector<float> logits_for(const Graph& graph, const std::vector<bool>& varies, const std::map<ValueId, Tensor>& outputs) {
  std::vector<Tensor> values(graph.nodes.size());
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (const auto known = outputs.find(static_cast<ValueId>(id)); known != outputs.end()) {
      values[id] = known->second;
    } else if (varies[id]) {
      std::vector<const Tensor*> operands;
      for (const ValueId operand : node.inputs)
        operands.push_back(graph[operand].op == Op::constant ? &constant_value(graph, operand) : &values[operand]);
      values[id] = evaluated(node, operands);
    }
  }
  return values[graph.outputs[0]].data;
}

std::optional<Outputs> affine_outputs(const Graph& graph) {
  Outputs all;
  std::vector<bool> depends(graph.nodes.size(), false), varies(graph.nodes.size(), false);  // on x; on the trees' outputs
  std::map<ValueId, Tensor> zeros;
  std::int64_t targets = 0;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::tree_ensemble) {
      if (std::get<TreesAttribute>(node.attributes).trees->aggregate != Trees::Aggregate::sum) return std::nullopt;
      varies[id] = true;
      all.ensembles.push_back(static_cast<ValueId>(id));
      all.first.push_back(targets);
      targets += element_count(node.shape);
      zeros.emplace(static_cast<ValueId>(id), Tensor(node.shape));
      continue;
    }
    depends[id] = node.op == Op::input;
    for (const ValueId operand : node.inputs) {
      depends[id] = depends[id] || depends[operand];
      varies[id] = varies[id] || varies[operand];
    }
    if (varies[id] && (depends[id] || !is_affine(node, varies))) return std::nullopt;
  }
  const ValueId output = graph.outputs[0];
  if (all.ensembles.empty() || !varies[output]) return std::nullopt;
  // Constants that are computed by nodes would have been folded; if one remains, the classifier is not simple enough.
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const ValueId operand : graph.nodes[id].inputs) {
      if (varies[id] && graph.nodes[id].op != Op::tree_ensemble && !varies[operand] && graph[operand].op != Op::constant)
        return std::nullopt;
    }
  }
  if (targets * element_count(graph[output].shape) > kMostContributions) return std::nullopt;
  all.base = logits_for(graph, varies, zeros);
  for (const ValueId ensemble : all.ensembles) {
    Tensor& own = zeros.at(ensemble);
    for (std::int64_t target = 0; target < own.size(); ++target) {
      own.data[target] = 1;
      std::vector<float> column = logits_for(graph, varies, zeros);
      for (std::size_t c = 0; c < column.size(); ++c) column[c] -= all.base[c];
      all.columns.push_back(std::move(column));
      own.data[target] = 0;
    }
  }
  return all;
}

// Translates the nodes of one ensemble: the questions about a feature become cuts of an element of x.
class Translation {
 public:
  Translation(StepModel& model, const Trees& trees, const AffineElements& features, const Outputs& outputs, std::int64_t first)
      : model_(model), trees_(trees), features_(features), outputs_(outputs), first_(first), done_(trees.nodes.size(), -1) {}

  // Parents come before children, so nodes are translated from the last to the first, and the order is reversed afterwards.
  bool run() {
    for (std::size_t i = trees_.nodes.size(); i-- > 0;) {
      if (std::ssize(model_.nodes) > kMostNodes || !translate(i)) return false;
    }
    for (const std::int32_t root : trees_.roots) model_.roots.push_back(done_[root]);
    return true;
  }

 private:
  using Mode = TreeNode::Mode;

  bool translate(std::size_t i) {
    const TreeNode& node = trees_.nodes[i];
    if (node.mode == Mode::leaf) {
      done_[i] = leaf(node);
      return std::ssize(model_.contributions) <= kMostContributions;
    }
    const AffineElement& feature = features_[node.feature];
    if (!std::isfinite(feature.scale) || !std::isfinite(feature.offset) || std::isnan(node.threshold)) return false;
    const std::int32_t yes = done_[node.yes], no = done_[node.no];
    if (feature.source < 0 || feature.scale == 0) return false;
    const auto ask = [&](float threshold, bool inclusive, std::int32_t below, std::int32_t above, std::int32_t missing) {
      return question(feature, threshold, inclusive, below, above, missing);
    };
    const std::int32_t missing = node.missing_is_yes ? yes : no;
    switch (node.mode) {
      case Mode::leaf:
        break;
      case Mode::less_equal:
        done_[i] = ask(node.threshold, true, yes, no, missing);
        break;
      case Mode::less:
        done_[i] = ask(node.threshold, false, yes, no, missing);
        break;
      case Mode::greater_equal:
        done_[i] = ask(node.threshold, false, no, yes, missing);
        break;
      case Mode::greater:
        done_[i] = ask(node.threshold, true, no, yes, missing);
        break;
      case Mode::equal:
        done_[i] = equals(ask, node.threshold, yes, no, missing);
        break;
      case Mode::not_equal:
        done_[i] = equals(ask, node.threshold, no, yes, missing);
        break;
      case Mode::member:
        done_[i] = no;
        for (std::int32_t k = node.first; k < node.first + node.count; ++k)
          done_[i] = equals(ask, trees_.members[k], yes, done_[i], missing);
        break;
    }
    return true;
  }

  template <class Ask>
  std::int32_t equals(const Ask& ask, float value, std::int32_t yes, std::int32_t no, std::int32_t missing) {
    const std::int32_t at_most = ask(value, false, no, yes, missing);
    return ask(value, true, at_most, no, missing == yes ? at_most : no);
  }

  std::int32_t leaf(const TreeNode& node) {
    const auto classes = static_cast<std::size_t>(model_.classes);
    StepNode own;
    own.leaf = static_cast<std::int32_t>(model_.contributions.size() / classes);
    std::vector<float> sum(classes, 0.0F);
    for (std::int32_t w = node.first; w < node.first + node.count; ++w) {
      const auto& [target, weight] = trees_.weights[w];
      const std::vector<float>& column = outputs_.columns[first_ + target];
      for (std::size_t c = 0; c < classes; ++c) sum[c] += weight * column[c];
    }
    model_.contributions.insert(model_.contributions.end(), sum.begin(), sum.end());
    return append(own);
  }

  std::int32_t question(const AffineElement& feature, float threshold, bool inclusive, std::int32_t below, std::int32_t above,
                        std::int32_t missing) {
    StepNode own;
    own.element = static_cast<std::int32_t>(feature.source);
    const bool turned = feature.scale < 0;
    Cut cut{(double{threshold} - feature.offset) / feature.scale, turned ? !inclusive : inclusive};
    own.below = turned ? above : below;
    own.above = turned ? below : above;
    own.missing_is_below = missing == own.below;
    std::vector<Cut>& cuts = model_.cuts[feature.source];
    own.cut = static_cast<std::int32_t>(cuts.size());  // sorted later
    cuts.push_back(cut);
    return append(own);
  }

  std::int32_t append(const StepNode& node) {
    model_.nodes.push_back(node);
    return static_cast<std::int32_t>(model_.nodes.size()) - 1;
  }

  StepModel& model_;
  const Trees& trees_;
  const AffineElements& features_;
  const Outputs& outputs_;
  std::int64_t first_;
  std::vector<std::int32_t> done_;
};

// Sorts the cuts of each element, and removes duplicates.
void sort_cuts(StepModel& model) {
  const auto before = [](const Cut& a, const Cut& b) { return a.at < b.at || (a.at == b.at && !a.inclusive && b.inclusive); };
  std::vector<std::vector<Cut>> sorted = model.cuts;
  for (std::vector<Cut>& cuts : sorted) {
    std::sort(cuts.begin(), cuts.end(), before);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
  for (StepNode& node : model.nodes) {
    if (node.element < 0) continue;
    const std::vector<Cut>& cuts = sorted[node.element];
    const auto found = std::lower_bound(cuts.begin(), cuts.end(), model.cuts[node.element][node.cut], before);
    node.cut = static_cast<std::int32_t>(found - cuts.begin());
  }
  model.cuts = std::move(sorted);
}

// Reverses the order of the nodes, so that children come after their parents.
void reverse_nodes(StepModel& model) {
  const auto last = static_cast<std::int32_t>(model.nodes.size()) - 1;
  std::reverse(model.nodes.begin(), model.nodes.end());
  for (StepNode& node : model.nodes) {
    node.below = last - node.below;
    node.above = last - node.above;
  }
  for (std::int32_t& root : model.roots) root = last - root;
}

// Sums of n float32 numbers have relative errors of up to n times half a unit in the last place.
double rounding_bound(const StepModel& model) {
  double largest = 0, base = 0;
  for (const float value : model.contributions) largest = std::max(largest, std::fabs(double{value}));
  for (const float value : model.base) base = std::max(base, std::fabs(double{value}));
  const auto terms = static_cast<double>(model.roots.size());
  return 2 * (terms + 8) * std::numeric_limits<float>::epsilon() * (terms * largest + base);
}

}  // namespace

std::optional<StepModel> step_model(const Graph* graph) {
  if (graph == nullptr || graph->inputs().size() != 1 || graph->outputs.size() != 1) return std::nullopt;
  const Graph& classifier = *graph;
  const std::optional<Outputs> outputs = affine_outputs(classifier);
  if (!outputs) return std::nullopt;
  StepModel model;
  model.base = outputs->base;
  model.classes = std::ssize(model.base);
  model.cuts.resize(static_cast<std::size_t>(element_count(classifier[classifier.inputs()[0]].shape)));
  const ElementTrace trace(classifier);
  for (std::size_t k = 0; k < outputs->ensembles.size(); ++k) {
    const Node& node = classifier[outputs->ensembles[k]];
    const auto& features = trace[node.inputs[0]];
    if (!features || node.shape[0] != 1) return std::nullopt;
    if (!Translation(model, *std::get<TreesAttribute>(node.attributes).trees, *features, *outputs, outputs->first[k]).run())
      return std::nullopt;
  }
  sort_cuts(model);
  reverse_nodes(model);
  model.rounding = rounding_bound(model);
  return model;
}

}  // namespace probust
