// SPDX-License-Identifier: MIT
// ai.onnx.ml: each operator is compared with values computed by hand. If an operator has no row, the test fails with its name.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "probust/onnx/import.h"
#include "probust/onnx/lower/lower.h"
#include "support/evaluate.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::OnnxAttribute;
using test::OnnxBuilder;
using Attribute = OnnxAttribute;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

Attribute numbers(const std::string& name, const Floats& values) { return Attribute::numbers(name, values); }
Attribute ints(const std::string& name, const Integers& values) { return Attribute::ints(name, values); }
Attribute text(const std::string& name, const std::string& value) { return Attribute::text(name, value); }
Attribute texts(const std::string& name, const std::vector<std::string>& values) { return Attribute::texts(name, values); }

struct MlRow {
  std::string op;
  Shape shape;
  Floats input;
  Floats expected;  ///< the requested output, flattened
  std::vector<Attribute> attributes;
  std::size_t output = 0;
  Integers second = {};  ///< a second operand, if any
};

// x0 <= 1 ? (x1 > 2 ? a : b) : c, as rows of attributes; leaves are nodes 2, 3 and 4.
std::vector<Attribute> one_tree() {
  return {ints("nodes_treeids", {0, 0, 0, 0, 0}),     ints("nodes_nodeids", {0, 1, 2, 3, 4}),
          ints("nodes_featureids", {0, 1, 0, 0, 0}),  texts("nodes_modes", {"BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"}),
          numbers("nodes_values", {1, 2, 0, 0, 0}),   ints("nodes_truenodeids", {1, 2, 0, 0, 0}),
          ints("nodes_falsenodeids", {4, 3, 0, 0, 0})};
}

std::vector<Attribute> classifier_tree(const Integers& classes, const Floats& weights) {
  auto attributes = one_tree();
  attributes.push_back(ints("class_treeids", {0, 0, 0}));
  attributes.push_back(ints("class_nodeids", {2, 3, 4}));
  attributes.push_back(ints("class_ids", classes));
  attributes.push_back(numbers("class_weights", weights));
  attributes.push_back(ints("classlabels_int64s", {10, 20}));
  return attributes;
}

std::vector<Attribute> regressor_tree(const std::string& aggregate) {
  auto attributes = one_tree();
  attributes.push_back(ints("target_treeids", {0, 0, 0}));
  attributes.push_back(ints("target_nodeids", {2, 3, 4}));
  attributes.push_back(ints("target_ids", {0, 0, 0}));
  attributes.push_back(numbers("target_weights", {5, 6, 7}));
  attributes.push_back(numbers("base_values", {100}));
  attributes.push_back(text("aggregate_function", aggregate));
  return attributes;
}

// A float64 model stores its numbers in tensors.
std::vector<Attribute> of_doubles(std::vector<Attribute> attributes) {
  const auto as_tensor = [](const std::string& name, const std::vector<double>& values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return Attribute::tensor(name + "_as_tensor", test::encode_tensor(shape, 11, test::raw_bytes(values)));
  };
  for (Attribute& attribute : attributes) {
    if (attribute.name == "nodes_values") attribute = as_tensor(attribute.name, {1, 2, 0, 0, 0});
    if (attribute.name == "target_weights") attribute = as_tensor(attribute.name, {5, 6, 7});
    if (attribute.name == "base_values") attribute = as_tensor(attribute.name, {100});
  }
  return attributes;
}

std::vector<Attribute> svm(std::vector<Attribute> more) {
  more.push_back(ints("vectors_per_class", {1, 1}));
  more.push_back(numbers("support_vectors", {1, 0, 0, 1}));
  more.push_back(numbers("coefficients", {1, -1}));
  more.push_back(numbers("rho", {0.5F}));
  more.push_back(ints("classlabels_ints", {0, 1}));
  return more;
}

const std::vector<MlRow>& ml_rows() {
  const float e = std::exp(1.F);
  const auto linear = [](const std::string& transform) {
    return std::vector<Attribute>{numbers("coefficients", {1, 0, 0, 2}), numbers("intercepts", {0, 1}),
                                  ints("classlabels_ints", {7, 9}), text("post_transform", transform)};
  };
  const std::vector<Attribute> one_of_two = {numbers("coefficients", {1, 1}), numbers("intercepts", {0}),
                                             ints("classlabels_ints", {7, 9}), text("post_transform", "LOGISTIC")};
  static const std::vector<MlRow> table = {
      {"LinearClassifier", {1, 2}, {3, 4}, {3, 9}, linear("NONE"), 1},
      {"LinearClassifier", {1, 2}, {3, 4}, {9}, linear("NONE")},
      {"LinearClassifier", {1, 2}, {1, 0}, {0.5F, 0.5F}, linear("SOFTMAX"), 1},
      {"LinearClassifier", {1, 2}, {0, 0}, {0.5F, e / (1 + e)}, linear("LOGISTIC"), 1},
      {"LinearClassifier", {1, 2}, {0, 0}, {0, 1}, linear("SOFTMAX_ZERO"), 1},
      {"LinearClassifier", {1, 2}, {0.5F, 0.5F}, {1 / (1 + e), e / (1 + e)}, one_of_two, 1},
      {"LinearRegressor", {1, 2}, {3, 4}, {12}, {numbers("coefficients", {1, 2}), numbers("intercepts", {1})}},
      {"SVMClassifier", {1, 2}, {3, 1}, {2.5F, 0}, svm({text("kernel_type", "LINEAR")}), 1},
      {"SVMClassifier",
       {1, 2},
       {1, 0},
       {1 - std::exp(-1.F) + 0.5F, 0},
       svm({text("kernel_type", "RBF"), numbers("kernel_params", {0.5F, 0, 0})}),
       1},
      {"SVMClassifier", {1, 2}, {0, 4}, {1}, svm({text("kernel_type", "LINEAR")})},
      {"SVMRegressor",
       {1, 2},
       {2, 3},
       {4 + 9 + 1},
       {text("kernel_type", "POLY"), numbers("kernel_params", {1, 0, 2}), numbers("support_vectors", {1, 0, 0, 1}),
        numbers("coefficients", {1, 1}), numbers("rho", {1}), Attribute::integer("n_supports", 2)}},
      {"Normalizer", {1, 2}, {2, 4}, {0.5F, 1}, {text("norm", "MAX")}},
      {"Normalizer", {1, 2}, {3, -1}, {0.75F, -0.25F}, {text("norm", "L1")}},
      {"Normalizer", {1, 2}, {3, -4}, {0.6F, -0.8F}, {text("norm", "L2")}},
      {"Scaler", {1, 2}, {3, 4}, {4, 30}, {numbers("offset", {1, 1}), numbers("scale", {2, 10})}},
      {"Imputer", {1, 2}, {0, 4}, {9, 4}, {numbers("imputed_value_floats", {9}), Attribute::number("replaced_value_float", 0)}},
      {"Binarizer", {1, 2}, {1, 2}, {0, 1}, {Attribute::number("threshold", 1)}},
      {"OneHotEncoder", {1, 2}, {2, 5}, {0, 1, 0, 0}, {ints("cats_int64s", {1, 2})}},
      {"LabelEncoder",
       {1, 3},
       {2, 1, 8},
       {20, 10, -5},
       {numbers("keys_floats", {1, 2}), numbers("values_floats", {10, 20}), Attribute::number("default_float", -5)}},
      {"ArrayFeatureExtractor", {1, 3}, {1, 2, 3}, {3, 1}, {}, 0, {2, 0}},
      {"FeatureVectorizer", {1, 2}, {1, 2}, {1, 2}, {ints("inputdimensions", {2})}},
      {"ZipMap", {1, 2}, {1, 2}, {1, 2}, {ints("classlabels_int64s", {0, 1})}},
      {"TreeEnsembleClassifier", {1, 2}, {1, 3}, {0.75F, 0.25F}, classifier_tree({1, 1, 1}, {0.25F, 0.5F, 1}), 1},
      {"TreeEnsembleClassifier", {1, 2}, {1, 3}, {10}, classifier_tree({1, 1, 1}, {0.25F, 0.5F, 1})},
      {"TreeEnsembleClassifier", {1, 2}, {2, 0}, {-4, 4}, classifier_tree({1, 1, 1}, {-1, -2, 4}), 1},
      {"TreeEnsembleClassifier", {1, 2}, {0, 0}, {0, 2}, classifier_tree({0, 1, 0}, {1, 2, 3}), 1},
      {"TreeEnsembleRegressor", {1, 2}, {1, 2}, {106}, regressor_tree("SUM")},
      {"TreeEnsembleRegressor", {1, 2}, {1, 2}, {106}, of_doubles(regressor_tree("SUM"))},
      {"TreeEnsembleRegressor", {1, 2}, {2, 2}, {107}, regressor_tree("AVERAGE")},
      {"TreeEnsemble",
       {1, 1},
       {3},
       {20},
       {Attribute::integer("n_targets", 1), ints("tree_roots", {0}), ints("nodes_featureids", {0}),
        Attribute::tensor("nodes_splits", Tensor({1}, {2})), Attribute::tensor("nodes_modes", Tensor({1}, {0})),
        ints("nodes_truenodeids", {0}), ints("nodes_trueleafs", {1}), ints("nodes_falsenodeids", {1}),
        ints("nodes_falseleafs", {1}), ints("leaf_targetids", {0, 0}), Attribute::tensor("leaf_weights", Tensor({2}, {10, 20}))}},
  };
  return table;
}

// As in onnx_operators_test.cpp: the output, flattened, plus zero times x.
std::string model_of(const MlRow& row) {
  OnnxBuilder builder;
  builder.input("x", row.shape);
  std::vector<std::string> operands{"x"}, outputs(row.output + 1);
  if (!row.second.empty()) operands.push_back("i");
  if (!row.second.empty()) builder.integers("i", row.second);
  outputs[row.output] = "value";
  builder.node(row.op, operands, outputs, row.attributes, "ai.onnx.ml");
  builder.integers("flat", {-1})
      .node("Cast", {"value"}, {"number"}, {Attribute::integer("to", 1)})
      .node("Reshape", {"number", "flat"}, {"vector"});
  builder.weight("zero", Tensor::scalar(0)).node("ReduceSum", {"x"}, {"total"}).node("Mul", {"total", "zero"}, {"nothing"});
  builder.node("Reshape", {"nothing", "flat"}, {"nothing flat"}).node("Add", {"vector", "nothing flat"}, {"y"}).output("y");
  return builder.bytes();
}

TEST(OnnxMl, OperatorsGiveTheValuesWorkedOutByHand) {
  for (const MlRow& row : ml_rows()) {
    const std::string bytes = model_of(row);
    const auto model = import_onnx(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(model) << row.op << ": " << model.error().message();
    const Floats actual = test::evaluate(model->graph, {Tensor(row.shape, row.input)})[0].data;
    ASSERT_EQ(actual.size(), row.expected.size()) << row.op;
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], row.expected[i], 1e-5 * (1 + std::fabs(row.expected[i]))) << row.op << ", element " << i;
  }
}

TEST(OnnxMl, EveryOperatorHasARow) {
  std::set<std::string> covered;
  for (const MlRow& row : ml_rows()) covered.insert(row.op);
  for (const onnx::OperatorFamily& family : onnx::operator_families()) {
    if (family.domain != "ai.onnx.ml") continue;
    for (const onnx::OnnxOperator& entry : family.operators)
      EXPECT_TRUE(covered.count(std::string(entry.op_type))) << "operator " << entry.op_type << " has no row in this file";
  }
}

// A node that is its own child, a child that does not exist, and a node with two parents.
TEST(OnnxMl, RejectsGraphsThatAreNotTrees) {
  for (const Integers& yes : {Integers{0, 2, 0, 0, 0}, Integers{9, 2, 0, 0, 0}, Integers{1, 4, 0, 0, 0}}) {
    MlRow row{"TreeEnsembleRegressor", {1, 2}, {0, 0}, {}, regressor_tree("SUM")};
    row.attributes[5] = ints("nodes_truenodeids", yes);
    const std::string bytes = model_of(row);
    const auto model = import_onnx(std::as_bytes(std::span(bytes)));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::unreadable) << model.error().message();
  }
}

TEST(OnnxMl, TheLogitsOfALinearClassifierAreFoundBeforeItsSoftmax) {
  OnnxBuilder builder;
  builder.input("x", {-1, 2});
  builder.node("LinearClassifier", {"x"}, {"label", "p"},
               {numbers("coefficients", {1, 0, 0, 2}), numbers("intercepts", {0, 1}), ints("classlabels_ints", {7, 9}),
                text("post_transform", "SOFTMAX")},
               "ai.onnx.ml");
  builder.node("Normalizer", {"p"}, {"n"}, {text("norm", "L1")}, "ai.onnx.ml").node("ZipMap", {"n"}, {"map"}, {}, "ai.onnx.ml");
  builder.output("label").output("map");
  const std::string bytes = builder.bytes();
  const Model model = import_onnx(std::as_bytes(std::span(bytes))).value();
  EXPECT_EQ(test::evaluate(model.graph, {Tensor({1, 2}, {3, 4})})[0].data, (Floats{3, 9}));
}

}  // namespace
}  // namespace probust
