// SPDX-License-Identifier: MIT
// Einsum as matrix products: operands are joined two at a time, each pair by one batched product. Labels that occur in only one
// operand and not in the output are summed first, repeated labels become a diagonal, and an ellipsis stands for unnamed labels.
#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

using Labels = std::vector<int>;  // letters; axes of an ellipsis count down from -1, the last axis first

// A value whose axes have labels, each at most once.
struct Term {
  ValueId value;
  Labels labels;
};

std::optional<std::size_t> find(const Labels& labels, int label) {
  const auto at = std::find(labels.begin(), labels.end(), label);
  if (at == labels.end()) return std::nullopt;
  return static_cast<std::size_t>(at - labels.begin());
}

// The labels of "ab...c" for a value of this rank. Without a rank, the ellipsis has `covered` axes.
Labels read_labels(Lowering& l, const std::string& text, std::optional<std::int64_t> rank, std::int64_t covered) {
  const auto letters =
      static_cast<std::int64_t>(std::count_if(text.begin(), text.end(), [](char c) { return c != '.' && c != ' '; }));
  const std::size_t dots = text.find("...");
  if (rank && dots != std::string::npos) covered = *rank - letters;
  if (covered < 0 || (rank && dots == std::string::npos && *rank != letters))
    l.malformed("has an equation whose labels do not fit the ranks of its operands");
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (i == dots) {
      for (std::int64_t axis = covered; axis-- > 0;) labels.push_back(static_cast<int>(-1 - axis));
      i += 2;
    } else if (text[i] == '.') {
      l.malformed("has an equation with a misplaced dot");
    } else {
      labels.push_back(text[i]);
    }
  }
  return labels;
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Merges axes i and j into one axis, by taking the diagonal.
Term take_diagonal(Lowering& l, Term t, std::size_t i, std::size_t j) {
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < t.labels.size(); ++axis) {
    if (axis != i && axis != j) order.push_back(static_cast<std::int64_t>(axis));
  }
  Labels labels;
  for (const std::int64_t axis : order) labels.push_back(t.labels[axis]);
  order.push_back(static_cast<std::int64_t>(i));
  order.push_back(static_cast<std::int64_t>(j));
  const ValueId last = build::transpose(l.graph, t.value, order);
  Shape shape = l.graph[last].shape;
  const std::int64_t n = shape.back();
  if (shape[shape.size() - 2] != n) l.malformed("uses one label for axes of different extents");
  shape.pop_back();
  shape.back() = n * n;
  GatherAttributes g{static_cast<std::int64_t>(shape.size()) - 1, {}, n * n};
  for (std::int64_t k = 0; k < n; ++k) g.indices.push_back(k * (n + 1));
  labels.push_back(t.labels[i]);
  return {l.add_node(Op::gather, {build::reshape(l.graph, last, shape)}, g), labels};
}

Term without_repetitions(Lowering& l, Term t) {
  for (std::size_t i = 0; i < t.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < t.labels.size(); ++j) {
      if (t.labels[i] == t.labels[j]) return without_repetitions(l, take_diagonal(l, std::move(t), i, j));
    }
  }
  return t;
}

// Sums over the labels that are not in `needed`.
Term sum_unneeded(Lowering& l, const Term& t, const std::set<int>& needed) {
  std::vector<std::int64_t> axes;
  Shape shape;
  Labels labels;
  for (std::size_t i = 0; i < t.labels.size(); ++i) {
    if (needed.count(t.labels[i]) == 0) {
      axes.push_back(static_cast<std::int64_t>(i));
    } else {
      labels.push_back(t.labels[i]);
      shape.push_back(l.graph[t.value].shape[i]);
    }
  }
  return {build::reshape(l.graph, build::reduce_sum(l.graph, t.value, axes), shape), labels};
}

// Transposes the axes to the order of `labels`; labels that the term does not have get extent 1.
ValueId arranged(Lowering& l, const Term& t, const Labels& labels) {
  std::vector<std::int64_t> order;
  Shape shape;
  for (const int label : labels) {
    if (const auto at = find(t.labels, label)) order.push_back(static_cast<std::int64_t>(*at));
  }
  const ValueId moved = build::transpose(l.graph, t.value, order);
  std::size_t next = 0;
  for (const int label : labels) shape.push_back(find(t.labels, label) ? l.graph[moved].shape[next++] : 1);
  return build::reshape(l.graph, moved, shape);
}

Shape extents(Lowering& l, const Term& a, const Term& b, const Labels& labels) {
  Shape shape;
  for (const int label : labels) {
    std::int64_t extent = 1;
    for (const Term* t : {&a, &b}) {
      const auto at = find(t->labels, label);
      const std::int64_t own = at ? l.graph[t->value].shape[*at] : 1;
      if (own != 1 && extent != 1 && own != extent) l.malformed("uses one label for axes of different extents");
      if (own != 1) extent = own;
    }
    shape.push_back(extent);
  }
  return shape;
}

// One batched product: [batch, left, inner] times [batch, inner, right].
Term join(Lowering& l, Term a, Term b, const std::set<int>& needed) {
  std::set<int> of_a(needed), of_b(needed);
  of_a.insert(b.labels.begin(), b.labels.end());
  of_b.insert(a.labels.begin(), a.labels.end());
  a = sum_unneeded(l, a, of_a);
  b = sum_unneeded(l, b, of_b);
  Labels batch, inner, left, right;
  for (const int label : a.labels) (!find(b.labels, label) ? left : needed.count(label) != 0 ? batch : inner).push_back(label);
  for (const int label : b.labels) {
    if (!find(a.labels, label)) right.push_back(label);
  }
  const auto side = [&](const Term& t, const Labels& second, const Labels& third) {
    Labels labels = batch;
    labels.insert(labels.end(), second.begin(), second.end());
    labels.insert(labels.end(), third.begin(), third.end());
    const Shape whole = extents(l, a, b, labels);  // an extent of 1 within an ellipsis is repeated
    const auto count = [&](std::size_t first, std::size_t size) {
      return element_count(
          {whole.begin() + static_cast<std::ptrdiff_t>(first), whole.begin() + static_cast<std::ptrdiff_t>(first + size)});
    };
    return build::reshape(
        l.graph, build::broadcast(l.graph, arranged(l, t, labels), whole),
        {count(0, batch.size()), count(batch.size(), second.size()), count(batch.size() + second.size(), third.size())});
  };
  const ValueId product = l.add_node(Op::matmul, {side(a, left, inner), side(b, inner, right)}, MatmulAttributes{});
  Labels labels = batch;
  labels.insert(labels.end(), left.begin(), left.end());
  labels.insert(labels.end(), right.begin(), right.end());
  return {build::reshape(l.graph, product, extents(l, a, b, labels)), labels};
}

// The output labels without "->": those of the ellipsis, then the letters that occur once, in alphabetical order.
Labels implicit_output(const std::vector<Term>& terms) {
  std::map<int, int> counts;
  for (const Term& t : terms) {
    for (const int label : t.labels) ++counts[label];
  }
  Labels output;
  for (const auto& [label, count] : counts) {
    if (label < 0 || count == 1) output.push_back(label);
  }
  return output;
}

void einsum(Lowering& l) {
  const std::string equation = l.attribute("equation", std::string());
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> parts = split_commas(equation.substr(0, arrow));
  if (parts.size() != l.inputs())
    l.malformed("has an equation of " + std::to_string(parts.size()) + " terms, but " + std::to_string(l.inputs()) + " operands");
  std::vector<Term> terms;
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    terms.push_back({l.in(i), read_labels(l, parts[i], static_cast<std::int64_t>(l.shape(i).size()), 0)});
    covered = std::max<std::int64_t>(
        covered, std::count_if(terms[i].labels.begin(), terms[i].labels.end(), [](int label) { return label < 0; }));
  }
  const Labels output =
      arrow == std::string::npos ? implicit_output(terms) : read_labels(l, equation.substr(arrow + 2), std::nullopt, covered);
  for (Term& t : terms) t = without_repetitions(l, std::move(t));
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    std::set<int> needed(output.begin(), output.end());
    for (std::size_t j = i + 1; j < terms.size(); ++j) needed.insert(terms[j].labels.begin(), terms[j].labels.end());
    result = join(l, result, terms[i], needed);
  }
  result = sum_unneeded(l, result, {output.begin(), output.end()});
  for (const int label : output) {
    if (!find(result.labels, label)) l.malformed("has an equation with a label in its result that no operand has");
  }
  l.set(arranged(l, result, output));
}

constexpr OnnxOperator kEinsumOperators[] = {
    {"Einsum", einsum, true, 12},
};

}  // namespace

std::span<const OnnxOperator> einsum_operators() { return kEinsumOperators; }

}  // namespace probust::onnx
