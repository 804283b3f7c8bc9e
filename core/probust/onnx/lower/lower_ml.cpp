// SPDX-License-Identifier: MIT
// ai.onnx.ml: linear models, support vector machines, and the preprocessing exported with them.
#include "probust/onnx/lower/lower_ml.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "probust/base/error.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

Integers integer_labels(Lowering& l) {
  for (const char* name : {"classlabels_ints", "classlabels_int64s"}) {
    if (l.has_attribute(name)) return l.attribute(name, Integers{});
  }
  return {};
}

std::vector<std::string> text_labels(Lowering& l) { return l.attribute("classlabels_strings", std::vector<std::string>{}); }

Tensor matrix(Lowering& l, const Floats& values, std::int64_t rows, std::int64_t columns) {
  if (static_cast<std::int64_t>(values.size()) != rows * columns)
    l.malformed("has " + std::to_string(values.size()) + " coefficients instead of " + std::to_string(rows * columns));
  return Tensor({rows, columns}, values);
}

// Softmax over the nonzero scores. Zeros remain zero.
ValueId softmax_of_nonzero(Lowering& l, ValueId scores) {
  const ValueId present = l.add_node(Op::absolute, {scores});
  const ValueId masked = l.add_node(Op::select, {present, scores, l.scalar(-std::numeric_limits<float>::max())});
  return l.add_node(Op::select, {present, l.add_node(Op::softmax, {masked}, AxisAttribute{1}), l.scalar(0)});
}

// Expands the score of one of two classes to both. With a logistic function, the two scores are a softmax of (0, s).
ValueId both_of_two(Lowering& l, ValueId score, const std::string& transform) {
  const bool logistic = transform == "LOGISTIC";
  const ValueId other = logistic ? l.add_node(Op::multiply, {score, l.scalar(0)}) : l.add_node(Op::negate, {score});
  const ValueId both = l.add_node(Op::concat, {other, score}, AxisAttribute{1});
  return logistic ? l.add_node(Op::softmax, {both}, AxisAttribute{1}) : post_transform(l, both, transform);
}

// x Wᵀ + b
ValueId linear(Lowering& l, const Floats& coefficients, const Floats& intercepts, std::int64_t outputs) {
  const ValueId x = rows_of(l);
  Tensor weights = matrix(l, coefficients, outputs, l.graph[x].shape[1]);
  ValueId y = l.add_node(Op::matmul, {x, l.tensor(std::move(weights))}, MatmulAttributes{false, true});
  if (intercepts.empty()) return y;
  if (static_cast<std::int64_t>(intercepts.size()) != outputs)
    l.malformed("has " + std::to_string(intercepts.size()) + " intercepts instead of " + std::to_string(outputs));
  return l.add_node(Op::add, {y, l.tensor(Tensor({outputs}, intercepts))});
}

std::string transform_name(Lowering& l) { return l.attribute("post_transform", std::string("NONE")); }

void linear_classifier(Lowering& l) {
  const Floats coefficients = l.attribute("coefficients", Floats{}), intercepts = l.attribute("intercepts", Floats{});
  const std::int64_t classes = class_count(l), features = l.graph[rows_of(l)].shape[1];
  const bool one_of_two = classes == 2 && static_cast<std::int64_t>(coefficients.size()) == features;
  const ValueId scores = linear(l, coefficients, intercepts, one_of_two ? 1 : classes);
  set_classes(l, one_of_two ? both_of_two(l, scores, transform_name(l)) : post_transform(l, scores, transform_name(l)));
}

void linear_regressor(Lowering& l) {
  const std::int64_t targets = l.attribute("targets", std::int64_t{1});
  if (targets < 1 || targets > (1 << 24))
    l.malformed("has " + std::to_string(targets) + " targets, which is outside 1..16777216");
  const ValueId y = linear(l, l.attribute("coefficients", Floats{}), l.attribute("intercepts", Floats{}), targets);
  l.set(0, post_transform(l, y, transform_name(l)));
}

// K(x, v) for each support vector v: [N, vectors].
ValueId kernel_values(Lowering& l, ValueId x, const Floats& vectors) {
  const std::int64_t features = l.graph[x].shape[1],
                     count = features == 0 ? 0 : static_cast<std::int64_t>(vectors.size()) / features;
  const ValueId v = l.tensor(matrix(l, vectors, count, features));
  const Floats given = l.attribute("kernel_params", Floats{});
  const auto parameter = [&](std::size_t i) { return l.scalar(i < given.size() ? given[i] : 0.0F); };
  const std::string type = l.attribute("kernel_type", std::string("LINEAR"));
  const auto squares = [&](ValueId a) { return build::reduce_sum(l.graph, l.add_node(Op::multiply, {a, a}), {1}); };
  const ValueId product = l.add_node(Op::matmul, {x, v}, MatmulAttributes{false, true});
  if (type == "LINEAR") return product;
  if (type == "RBF") {
    const ValueId sums = l.add_node(Op::add, {squares(x), build::reshape(l.graph, squares(v), {1, count})});
    const ValueId distance = l.add_node(Op::subtract, {sums, l.add_node(Op::multiply, {product, l.scalar(2)})});
    return l.add_node(Op::exp, {l.add_node(Op::negate, {l.add_node(Op::multiply, {distance, parameter(0)})})});
  }
  const ValueId line = l.add_node(Op::add, {l.add_node(Op::multiply, {product, parameter(0)}), parameter(1)});
  if (type == "SIGMOID") return l.add_node(Op::tanh, {line});
  if (type == "POLY") return l.add_node(Op::power, {line, parameter(2)});
  l.malformed("has an unknown kernel_type '" + type + "'");
}

// The coefficients of the support vectors for each pair of classes, as a matrix [vectors, pairs], for machines that separate
// pairs of classes.
Tensor pair_coefficients(Lowering& l, const Integers& per_class, std::int64_t vectors) {
  const Floats coefficients = l.attribute("coefficients", Floats{});
  const auto classes = static_cast<std::int64_t>(per_class.size()), pairs = classes * (classes - 1) / 2;
  matrix(l, coefficients, classes - 1, vectors);
  Integers start(per_class.size() + 1, 0);
  for (std::size_t c = 0; c < per_class.size(); ++c) start[c + 1] = start[c] + per_class[c];
  Tensor result({vectors, pairs});
  for (std::int64_t i = 0, pair = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      for (std::int64_t v = start[i]; v < start[i + 1]; ++v) result.data[v * pairs + pair] = coefficients[(j - 1) * vectors + v];
      for (std::int64_t v = start[j]; v < start[j + 1]; ++v) result.data[v * pairs + pair] = coefficients[i * vectors + v];
    }
  }
  return result;
}

// Votes per class: a pair votes for its first class if its score is positive, otherwise for its second.
ValueId votes(Lowering& l, ValueId scores, std::int64_t classes) {
  const std::int64_t pairs = classes * (classes - 1) / 2;
  Tensor first({pairs, classes}), second({pairs, classes});
  for (std::int64_t i = 0, pair = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) first.data[pair * classes + i] = second.data[pair * classes + j] = 1;
  }
  const ValueId wins = l.add_node(Op::step, {scores}), losses = l.add_node(Op::subtract, {l.scalar(1), wins});
  return l.add_node(Op::add, {l.add_node(Op::matmul, {wins, l.tensor(std::move(first))}, MatmulAttributes{}),
                              l.add_node(Op::matmul, {losses, l.tensor(std::move(second))}, MatmulAttributes{})});
}

// Platt's probabilities of two classes: 1 / (1 + e^(a s + b)), as a softmax of (-(a s + b), 0).
ValueId platt(Lowering& l, ValueId score) {
  const Floats a = l.attribute("prob_a", Floats{}), b = l.attribute("prob_b", Floats{});
  if (a.size() != 1 || b.size() != 1)
    l.malformed("has " + std::to_string(a.size()) + " values in prob_a and " + std::to_string(b.size()) +
                " in prob_b instead of one each");
  const ValueId line = l.add_node(Op::add, {l.add_node(Op::multiply, {score, l.scalar(a[0])}), l.scalar(b[0])});
  const ValueId zero = l.add_node(Op::multiply, {score, l.scalar(0)});
  return l.add_node(Op::softmax, {l.add_node(Op::concat, {l.add_node(Op::negate, {line}), zero}, AxisAttribute{1})},
                    AxisAttribute{1});
}

void svm_classifier(Lowering& l) {
  const Integers per_class = l.attribute("vectors_per_class", Integers{});
  const Floats rho = l.attribute("rho", Floats{}), vectors = l.attribute("support_vectors", Floats{});
  const std::int64_t classes = class_count(l);
  if (per_class.empty()) {  // one linear function per class
    Floats intercepts(static_cast<std::size_t>(classes), rho.empty() ? 0.0F : rho[0]);
    return set_classes(
        l, post_transform(l, linear(l, l.attribute("coefficients", Floats{}), intercepts, classes), transform_name(l)));
  }
  const std::int64_t pairs = classes * (classes - 1) / 2;
  if (static_cast<std::int64_t>(per_class.size()) != classes || static_cast<std::int64_t>(rho.size()) != pairs)
    l.malformed("has " + std::to_string(per_class.size()) + " vectors_per_class and " + std::to_string(rho.size()) + " rho for " +
                std::to_string(classes) + " classes");
  const bool probabilities = l.has_attribute("prob_a") && !l.attribute("prob_a", Floats{}).empty();
  if (probabilities && classes > 2)
    l.unsupported("computes probabilities of " + std::to_string(classes) + " classes, but only two are supported",
                  "export it without probabilities");
  const ValueId kernels = kernel_values(l, rows_of(l), vectors);
  const std::int64_t count = l.graph[kernels].shape[1];
  if (std::accumulate(per_class.begin(), per_class.end(), std::int64_t{0}) != count ||
      std::any_of(per_class.begin(), per_class.end(), [](std::int64_t n) { return n < 0; }))
    l.malformed("has vectors_per_class with a sum that is not the number of support vectors, " + std::to_string(count));
  l.spend(element_count({count, pairs}));
  const ValueId sums = l.add_node(Op::matmul, {kernels, l.tensor(pair_coefficients(l, per_class, count))}, MatmulAttributes{});
  const ValueId scores = l.add_node(Op::add, {sums, l.tensor(Tensor({pairs}, rho))});
  if (probabilities) return set_classes(l, platt(l, scores));
  if (classes == 2) {
    const ValueId zero = l.add_node(Op::multiply, {scores, l.scalar(0)});
    return set_classes(l, l.add_node(Op::concat, {scores, zero}, AxisAttribute{1}));
  }
  set_classes(l, votes(l, scores, classes));
}

void svm_regressor(Lowering& l) {
  const Floats vectors = l.attribute("support_vectors", Floats{}), coefficients = l.attribute("coefficients", Floats{}),
               rho = l.attribute("rho", Floats{});
  if (rho.size() != 1) l.malformed("has " + std::to_string(rho.size()) + " values in rho instead of one");
  if (l.attribute("n_supports", std::int64_t{0}) == 0) return l.set(0, linear(l, coefficients, rho, 1));
  const ValueId kernels = kernel_values(l, rows_of(l), vectors);
  Tensor weights = matrix(l, coefficients, l.graph[kernels].shape[1], 1);
  const ValueId sum = l.add_node(Op::matmul, {kernels, l.tensor(std::move(weights))}, MatmulAttributes{});
  const ValueId y = l.add_node(Op::add, {sum, l.scalar(rho[0])});
  l.set(0, l.attribute("one_class", std::int64_t{0}) != 0 ? l.add_node(Op::select, {y, l.scalar(1), l.scalar(-1)}) : y);
}

bool is_softmax_over(Lowering& l, ValueId x, std::int64_t axis) {
  const Node& node = l.graph[x];
  return node.op == Op::softmax && std::get<AxisAttribute>(node.attributes).axis == axis;
}

// Divides each row by its norm. Rows of a softmax already have L1 norm 1.
void normalizer(Lowering& l) {
  const ValueId x = l.in(0);
  const auto axis = static_cast<std::int64_t>(l.shape(0).size()) - 1;
  if (axis < 0) l.malformed("has an operand that is a single number");
  const std::string norm = l.attribute("norm", std::string("MAX"));
  if (norm == "L1" && is_softmax_over(l, x, axis)) return l.set(x);
  ValueId size = kNoValue;
  if (norm == "L1") size = build::reduce_sum(l.graph, l.add_node(Op::absolute, {x}), {axis});
  if (norm == "L2") size = norm_root(l, build::reduce_sum(l.graph, l.add_node(Op::multiply, {x, x}), {axis}));
  if (norm == "MAX") {
    const ValueId best = l.add_node(Op::top_index, {x}, AxisExtent{axis, 1});
    size = l.add_node(Op::take, {x, best}, AxisAttribute{axis});
  }
  if (size == kNoValue) l.malformed("has an unknown norm '" + norm + "'");
  const ValueId nonzero = l.add_node(Op::select, {l.add_node(Op::absolute, {size}), size, l.scalar(1)});
  l.set(0, l.add_node(Op::divide, {x, nonzero}));
}

ValueId row_vector(Lowering& l, const Floats& values, const std::string& name) {
  const std::int64_t features = l.shape(0).empty() ? 1 : l.shape(0).back(), count = static_cast<std::int64_t>(values.size());
  if (count != 1 && count != features)
    l.malformed("has " + std::to_string(count) + " values in attribute " + name + ", but " + std::to_string(features) +
                " features");
  return l.tensor(Tensor({count}, values));
}

// (x - offset) scale
void scaler(Lowering& l) {
  const ValueId shifted = l.add_node(Op::subtract, {l.in(0), row_vector(l, l.attribute("offset", Floats{0}), "offset")});
  l.set(0, l.add_node(Op::multiply, {shifted, row_vector(l, l.attribute("scale", Floats{1}), "scale")}));
}

// Replaces NaN, or another number that marks missing values, by one value.
void imputer(Lowering& l) {
  const Floats values = l.attribute("imputed_value_floats", Floats{});
  if (values.empty()) l.unsupported("replaces integers, which is not supported", "use floating-point values");
  const float replaced = l.attribute("replaced_value_float", 0.0F);
  const ValueId x = l.in(0), marker = l.scalar(replaced);
  const ValueId there = std::isnan(replaced) ? l.add_node(Op::greater_equal, {x, x})
                                             : l.add_node(Op::absolute, {l.add_node(Op::subtract, {x, marker})});
  l.set(0, l.add_node(Op::select, {there, x, row_vector(l, values, "imputed_value_floats")}));
}

void binarizer(Lowering& l) {
  const ValueId above = l.add_node(Op::subtract, {l.in(0), l.scalar(l.attribute("threshold", 0.0F))});
  l.set(0, l.add_node(Op::step, {above}));
}

// One-hot encoding on a new last axis, [..., keys]: 1 if x equals the key.
ValueId matches(Lowering& l, const Floats& keys) {
  Shape column = l.shape(0);
  column.push_back(1);
  l.spend(element_count(column) * static_cast<std::int64_t>(keys.size()));
  const ValueId x = build::reshape(l.graph, l.in(0), column),
                k = l.tensor(Tensor({static_cast<std::int64_t>(keys.size())}, keys));
  return l.add_node(Op::multiply, {l.add_node(Op::greater_equal, {x, k}), l.add_node(Op::greater_equal, {k, x})});
}

Floats as_floats(const Integers& values) { return {values.begin(), values.end()}; }

void one_hot_encoder(Lowering& l) {
  const Integers categories = l.attribute("cats_int64s", Integers{});
  if (categories.empty()) l.unsupported("has categories that are text", "use numbers");
  l.set(0, matches(l, as_floats(categories)));
}

// The numbers in the attribute `stem`, in any of the forms that LabelEncoder allows.
Floats label_numbers(Lowering& l, const std::string& stem, bool& integers) {
  integers = l.has_attribute(stem + "_int64s");
  if (integers) return as_floats(l.attribute(stem + "_int64s", Integers{}));
  if (l.has_attribute(stem + "_floats")) return l.attribute(stem + "_floats", Floats{});
  const auto found = l.node.attributes.find(stem + "_tensor");
  if (found == l.node.attributes.end() || !found->second.has_tensor)
    l.unsupported("has " + stem + " that are text", "use numbers");
  integers = found->second.t.integer;
  return found->second.t.values->data;
}

// Maps each key to its value, and other x to the default.
void label_encoder(Lowering& l) {
  bool integer_keys = false, integer_values = false;
  const Floats keys = label_numbers(l, "keys", integer_keys), values = label_numbers(l, "values", integer_values);
  if (keys.size() != values.size())
    l.malformed("has " + std::to_string(keys.size()) + " keys, but " + std::to_string(values.size()) + " values");
  const float otherwise =
      integer_values ? static_cast<float>(l.attribute("default_int64", std::int64_t{-1})) : l.attribute("default_float", -0.0F);
  const ValueId hit = matches(l, keys);
  const auto axis = static_cast<std::int64_t>(l.shape(0).size());
  const ValueId table = l.tensor(Tensor({static_cast<std::int64_t>(values.size())}, values));
  const ValueId found = build::reduce_sum(l.graph, l.add_node(Op::multiply, {hit, table}), {axis});
  const ValueId any = build::reduce_sum(l.graph, hit, {axis});
  l.set(0, build::reshape(l.graph, l.add_node(Op::select, {any, found, l.scalar(otherwise)}), l.shape(0)), integer_values);
}

// Selects columns of x by number; the numbers may depend on the input, e.g. when a label is looked up.
void array_feature_extractor(Lowering& l) {
  const Shape shape = l.shape(0);
  if (shape.empty()) l.malformed("has an operand that is a single number");
  const std::int64_t extent = shape.back(), rows = element_count({shape.begin(), shape.end() - 1}),
                     count = element_count(l.shape(1));
  const ValueId parts = build::reshape(l.graph, l.in(0), {rows, extent});
  Shape to(shape.begin(), shape.end() - 1);
  if (to.empty()) to.push_back(1);
  to.push_back(count);
  ValueId picked = kNoValue;
  if (l.is_constant(1)) {
    picked = l.add_node(Op::gather, {parts}, GatherAttributes{1, l.integers(1), extent});
  } else {
    const ValueId index = build::broadcast(l.graph, build::reshape(l.graph, l.in(1), {1, count}), {rows, count});
    picked = l.add_node(Op::take, {parts, index}, AxisAttribute{1});
  }
  l.set(0, build::reshape(l.graph, picked, to), l.integer(0));
}

// Concatenates operands [N, ...].
void feature_vectorizer(Lowering& l) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < l.inputs(); ++i) {
    const Shape shape = l.shape(i);
    const std::int64_t rows = shape.empty() ? 1 : shape[0];
    parts.push_back(build::reshape(l.graph, l.in(i), {rows, element_count(shape) / std::max<std::int64_t>(1, rows)}));
  }
  l.set(0, l.add_node(Op::concat, parts, AxisAttribute{1}));
}

// A map from labels to scores is represented by the scores, in the order of the labels.
void zip_map(Lowering& l) { l.set(0, l.in(0)); }

constexpr OnnxOperator kMlOperators[] = {
    {"ArrayFeatureExtractor", array_feature_extractor, true},
    {"Binarizer", binarizer, false},
    {"FeatureVectorizer", feature_vectorizer, true},
    {"Imputer", imputer, true},
    {"LabelEncoder", label_encoder, false, 2},
    {"LinearClassifier", linear_classifier, true},
    {"LinearRegressor", linear_regressor, true},
    {"Normalizer", normalizer, true},
    {"OneHotEncoder", one_hot_encoder, false},
    {"SVMClassifier", svm_classifier, true},
    {"SVMRegressor", svm_regressor, true},
    {"Scaler", scaler, true},
    {"ZipMap", zip_map, true},
};

}  // namespace

std::int64_t class_count(Lowering& l) {
  const auto count = static_cast<std::int64_t>(std::max(integer_labels(l).size(), text_labels(l).size()));
  if (count == 0) l.malformed("has no class labels");
  return count;
}

ValueId rows_of(Lowering& l) {
  const Shape shape = l.shape(0);
  if (shape.size() == 2) return l.in(0);
  if (shape.size() != 1) l.malformed("needs an input of shape [N, features], not " + to_string(shape));
  return build::reshape(l.graph, l.in(0), {1, shape[0]});
}

ValueId post_transform(Lowering& l, ValueId scores, const std::string& name) {
  if (name == "NONE") return scores;
  if (name == "SOFTMAX") return l.add_node(Op::softmax, {scores}, AxisAttribute{1});
  if (name == "LOGISTIC") return l.add_node(Op::sigmoid, {scores});
  if (name == "SOFTMAX_ZERO") return softmax_of_nonzero(l, scores);
  l.unsupported("has the post_transform " + name + ", which is not supported", "export it with NONE, SOFTMAX or LOGISTIC");
}

void set_classes(Lowering& l, ValueId scores) {
  l.set(1, scores);
  const Integers labels = integer_labels(l);
  const std::int64_t rows = l.graph[scores].shape[0], classes = l.graph[scores].shape[1];
  if (static_cast<std::int64_t>(labels.size()) != classes || l.node.outputs.empty() || l.node.outputs[0].empty()) return;
  const ValueId best = l.add_node(Op::top_index, {scores}, AxisExtent{1, 1});
  const ValueId table = build::broadcast(l.graph, l.tensor(Tensor({1, classes}, as_floats(labels))), {rows, classes});
  l.set(0, build::reshape(l.graph, l.add_node(Op::take, {table, best}, AxisAttribute{1}), {rows}), true);
}

std::span<const OnnxOperator> ml_operators() { return kMlOperators; }

}  // namespace probust::onnx
