// SPDX-License-Identifier: MIT
// How the class of a model is determined: every decision rule is compared with the model's own output at many inputs, and must
// not saturate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "probust/onnx/class_names.h"
#include "probust/onnx/import.h"
#include "support/evaluate.h"
#include "support/imported.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::import_bytes;
using test::OnnxAttribute;
using test::OnnxBuilder;

std::vector<float> values_at(const Model& model, const std::vector<float>& x) {
  return test::evaluate(model.graph, {Tensor(model.graph[model.graph.inputs()[0]].shape, x)})[0].data;
}

std::int64_t largest(const std::vector<float>& values) { return std::max_element(values.begin(), values.end()) - values.begin(); }

Result<Model> decided(const OnnxBuilder& builder, ImportOptions options = {}) {
  options.decide = true;
  return import_bytes(builder.bytes(), options);
}

// Random inputs of dimension d, with scores up to about `size`.
std::vector<std::vector<float>> trial_inputs(std::int64_t d, double size) {
  std::mt19937 generator(7);
  std::normal_distribution<double> normal(0, size);
  std::vector<std::vector<float>> inputs(200, std::vector<float>(static_cast<std::size_t>(d)));
  for (auto& x : inputs) std::generate(x.begin(), x.end(), [&] { return static_cast<float>(normal(generator)); });
  return inputs;
}

struct Tail {
  std::string name;
  std::function<void(OnnxBuilder&)> add;  // nodes from "s" to "y"
  double threshold = 0;                   // of y
  double size = 1;                        // range of scores that y distinguishes in float32
};

// s = x w for x [1, 2], one number.
OnnxBuilder one_score() {
  OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 1}, {1, -0.5F})).node("MatMul", {"x", "w"}, {"s"});
  return builder;
}

const Tensor kFourScores({3, 4}, {1, -1, 0.5F, 0, 0.3F, 1, -1, 0.2F, -0.4F, 0.1F, 1, -0.7F});

// s = x W for x [1, 3], four scores.
OnnxBuilder four_scores() {
  OnnxBuilder builder;
  builder.input("x", {-1, 3}).weight("w", kFourScores);
  builder.node("MatMul", {"x", "w"}, {"s"});
  return builder;
}

OnnxBuilder& scalar(OnnxBuilder& builder, const std::string& name, float value) {
  return builder.weight(name, Tensor({1}, {value}));
}

// p and q, sigmoids of s and of 2 s + 0.5.
OnnxBuilder& two_sigmoids(OnnxBuilder& builder) {
  scalar(scalar(builder, "slope", 2), "shift", 0.5F).node("Mul", {"s", "slope"}, {"s2"}).node("Add", {"s2", "shift"}, {"s3"});
  return builder.node("Sigmoid", {"s"}, {"p"}).node("Sigmoid", {"s3"}, {"q"});
}

// p, the softmax of s, 2 s and -s - 1.
OnnxBuilder& softmax_of_three(OnnxBuilder& builder) {
  builder.weight("slopes", Tensor({1, 3}, {1, 2, -1})).weight("shifts", Tensor({1, 3}, {0.25F, 0, -1}));
  builder.node("Mul", {"s", "slopes"}, {"m"}).node("Add", {"m", "shifts"}, {"all"});
  return builder.node("Softmax", {"all"}, {"p"});
}

const std::vector<Tail>& number_tails() {
  static const std::vector<Tail> tails{
      {"a logit", [](OnnxBuilder& b) { b.node("Identity", {"s"}, {"y"}); }},
      {"a shifted logit",
       [](OnnxBuilder& b) {
         scalar(b, "c", 0.25F).node("Add", {"s", "c"}, {"y"});
       }},
      {"a logit over a temperature",
       [](OnnxBuilder& b) {
         scalar(b, "c", 2).node("Div", {"s", "c"}, {"y"});
       }},
      {"a sigmoid", [](OnnxBuilder& b) { b.node("Sigmoid", {"s"}, {"y"}); }, 0.5},
      {"one minus a sigmoid",
       [](OnnxBuilder& b) {
         scalar(b, "c", 1).node("Sigmoid", {"s"}, {"p"}).node("Sub", {"c", "p"}, {"y"});
       },
       0.5},
      {"a sigmoid that is clipped",
       [](OnnxBuilder& b) {
         scalar(scalar(b, "lo", 1e-3F), "hi", 0.999F).node("Sigmoid", {"s"}, {"p"}).node("Clip", {"p", "lo", "hi"}, {"y"});
       },
       0.5},
      {"a sigmoid clipped on one side",
       [](OnnxBuilder& b) {
         scalar(b, "lo", 0.2F).node("Sigmoid", {"s"}, {"p"}).node("Max", {"p", "lo"}, {"y"});
       },
       0.5},
      {"a rounded percentage",
       [](OnnxBuilder& b) {
         scalar(b, "c", 100).node("Sigmoid", {"s"}, {"p"}).node("Mul", {"p", "c"}, {"q"}).node("Round", {"q"}, {"y"});
       },
       50, 8},
      {"a sigmoid from its parts",
       [](OnnxBuilder& b) {
         scalar(b, "c", 1).node("Neg", {"s"}, {"n"}).node("Exp", {"n"}, {"e"}).node("Add", {"e", "c"}, {"d"});
         b.node("Div", {"c", "d"}, {"y"});
       },
       0.5},
      {"the reciprocal form of a sigmoid",
       [](OnnxBuilder& b) {
         scalar(b, "c", 1).node("Neg", {"s"}, {"n"}).node("Exp", {"n"}, {"e"}).node("Add", {"c", "e"}, {"d"});
         b.node("Reciprocal", {"d"}, {"y"});
       },
       0.5},
      {"a hyperbolic tangent", [](OnnxBuilder& b) { b.node("Tanh", {"s"}, {"y"}); }},
      {"half a tangent and a half",
       [](OnnxBuilder& b) {
         scalar(b, "c", 0.5F).node("Tanh", {"s"}, {"t"}).node("Mul", {"t", "c"}, {"h"}).node("Add", {"h", "c"}, {"y"});
       },
       0.5},
      {"a label",
       [](OnnxBuilder& b) {
         scalar(b, "c", 0.5F).node("Sigmoid", {"s"}, {"p"}).node("Greater", {"p", "c"}, {"g"});
         b.node("Cast", {"g"}, {"y"}, {OnnxAttribute::integer("to", 7)});
       },
       0.5},
      {"a sign", [](OnnxBuilder& b) { b.node("Sign", {"s"}, {"y"}); }},
      {"labels one and two",
       [](OnnxBuilder& b) {
         scalar(scalar(scalar(b, "c", 0.3F), "one", 1), "two", 2).node("Less", {"s", "c"}, {"g"});
         b.node("Where", {"g", "one", "two"}, {"y"});
       },
       1.5},
      {"a hard sigmoid", [](OnnxBuilder& b) { b.node("HardSigmoid", {"s"}, {"y"}); }, 0.5},
      {"a softsign", [](OnnxBuilder& b) { b.node("Softsign", {"s"}, {"y"}); }},
      {"a product of sigmoids",
       [](OnnxBuilder& b) {
         two_sigmoids(b).node("Mul", {"p", "q"}, {"y"});
       },
       0.5},
      {"a geometric mean of sigmoids",
       [](OnnxBuilder& b) {
         two_sigmoids(b).node("Mul", {"p", "q"}, {"pq"}).node("Sqrt", {"pq"}, {"y"});
       },
       0.5},
      {"a mean of sigmoids",
       [](OnnxBuilder& b) {
         two_sigmoids(b).node("Mean", {"p", "q"}, {"y"});
       },
       0.5},
      {"a weighted mean of sigmoids",
       [](OnnxBuilder& b) {
         scalar(scalar(two_sigmoids(b), "v", 0.7F), "u", 0.3F).node("Mul", {"p", "v"}, {"pv"}).node("Mul", {"q", "u"}, {"qw"});
         b.node("Add", {"pv", "qw"}, {"y"});
       },
       0.5},
      {"a mean of five sigmoids",
       [](OnnxBuilder& b) {
         b.weight("c", Tensor({1, 5}, {0, 1, -1, 0.5F, 2})).node("Add", {"s", "c"}, {"all"}).node("Sigmoid", {"all"}, {"p"});
         b.node("ReduceMean", {"p"}, {"y"}, {OnnxAttribute::ints("axes", {1})});
       },
       0.5},
      {"one of two that may happen",
       [](OnnxBuilder& b) {
         scalar(two_sigmoids(b), "one", 1).node("Sub", {"one", "p"}, {"np"}).node("Sub", {"one", "q"}, {"nq"});
         b.node("Mul", {"np", "nq"}, {"none"}).node("Sub", {"one", "none"}, {"y"});
       },
       0.5},
      {"a share of two sigmoids",
       [](OnnxBuilder& b) {
         b.node("Neg", {"s"}, {"n"}).node("Sigmoid", {"s"}, {"p"}).node("Sigmoid", {"n"}, {"q"});
         b.node("Add", {"p", "q"}, {"all"}).node("Div", {"p", "all"}, {"y"});
       },
       0.5},
      {"one entry of a softmax over three",
       [](OnnxBuilder& b) {
         softmax_of_three(b).integers("k", {0}).node("Gather", {"p", "k"}, {"y"}, {OnnxAttribute::integer("axis", 1)});
       },
       0.5},
      {"two entries of a softmax over three, added",
       [](OnnxBuilder& b) {
         softmax_of_three(b).integers("from", {0}).integers("to", {2}).integers("axes", {1});
         b.node("Slice", {"p", "from", "to", "axes"}, {"two"}).node("ReduceSum", {"two", "axes"}, {"y"});
       },
       0.5},
      {"the label of a product",
       [](OnnxBuilder& b) {
         scalar(two_sigmoids(b), "c", 0.5F).node("Mul", {"p", "q"}, {"pq"}).node("Greater", {"pq", "c"}, {"g"});
         b.node("Cast", {"g"}, {"y"}, {OnnxAttribute::integer("to", 7)});
       },
       0.5},
  };
  return tails;
}

TEST(Decision, OneNumberIsComparedWithTheThresholdOfItsKind) {
  for (const Tail& tail : number_tails()) {
    OnnxBuilder builder = one_score();
    tail.add(builder);
    builder.output("y", {-1, 1});
    const Result<Model> model = decided(builder);
    ASSERT_TRUE(model) << tail.name << ": " << model.error().message();
    ASSERT_EQ(model->classes, 2) << tail.name;
    const Model raw = import_bytes(builder.bytes()).value();
    for (const auto& x : trial_inputs(2, 1)) {
      const float y = values_at(raw, x)[0];
      if (std::fabs(y - tail.threshold) < 1e-6) continue;
      EXPECT_EQ(largest(values_at(*model, x)), y > tail.threshold ? 1 : 0)
          << tail.name << ", y = " << y << "; " << model->decision;
    }
  }
}

// Far from the boundary, sigmoids in float32 are exactly 0 and 1; logits still differ from point to point.
TEST(Decision, ProbabilitiesOfOneNumberDoNotSaturate) {
  for (const Tail& tail : number_tails()) {
    if (tail.threshold == 0) continue;
    OnnxBuilder builder = one_score();
    tail.add(builder);
    const Model model = decided(builder.output("y", {-1, 1})).value();
    const auto margin = [&](float s) {
      const auto logits = values_at(model, {s, 0});
      return logits[1] - logits[0];
    };
    EXPECT_GT(std::fabs(margin(60) - margin(50)), 1) << tail.name;
  }
}

TEST(Decision, AGivenThresholdIsInTheUnitsOfTheOutput) {
  for (const Tail& tail : number_tails()) {
    for (const double threshold : {0.3, 0.7}) {
      if (tail.name.starts_with("label")) continue;
      OnnxBuilder builder = one_score();
      tail.add(builder);
      builder.output("y", {-1, 1});
      ImportOptions options;
      options.threshold = threshold;
      const Result<Model> model = decided(builder, options);
      ASSERT_TRUE(model) << tail.name << ": " << model.error().message();
      const Model raw = import_bytes(builder.bytes()).value();
      for (const auto& x : trial_inputs(2, 1)) {
        const float y = values_at(raw, x)[0];
        if (std::fabs(y - threshold) < 1e-6) continue;
        EXPECT_EQ(largest(values_at(*model, x)), y > threshold ? 1 : 0) << tail.name << ", " << threshold;
      }
    }
  }
}

TEST(Decision, AThresholdThatIsNeverCrossedIsRefused) {
  OnnxBuilder builder = one_score();
  builder.node("Sigmoid", {"s"}, {"y"}).output("y", {-1, 1});
  for (const double threshold : {-0.5, 1.0, 30.0}) {
    ImportOptions options;
    options.threshold = threshold;
    const Result<Model> model = decided(builder, options);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::usage);
    EXPECT_NE(model.error().message().find("never crosses"), std::string::npos) << model.error().message();
  }
}

TEST(Decision, ANumberWithoutATwoSidedRangeNeedsAThreshold) {
  for (const char* op : {"Exp", "Softplus"}) {
    OnnxBuilder builder = one_score();
    builder.node(op, {"s"}, {"y"}).output("y", {-1, 1});
    const Result<Model> model = decided(builder);
    ASSERT_FALSE(model) << op;
    EXPECT_NE(model.error().message().find("threshold"), std::string::npos) << model.error().message();
    ImportOptions options;
    options.threshold = 1;
    EXPECT_TRUE(decided(builder, options)) << op;
  }
}

// A value that is never negative has no class below zero.
TEST(Decision, ANumberThatIsNeverNegativeNeedsAThreshold) {
  const std::vector<std::pair<std::string, std::function<void(OnnxBuilder&)>>> tails{
      {"odds",
       [](OnnxBuilder& b) {
         scalar(b, "one", 1).node("Sigmoid", {"s"}, {"p"}).node("Sub", {"one", "p"}, {"q"}).node("Div", {"p", "q"}, {"y"});
       }},
      {"a mean squared error",
       [](OnnxBuilder& b) {
         b.node("Tanh", {"s"}, {"t"}).node("Sub", {"x", "t"}, {"e"}).node("Mul", {"e", "e"}, {"ee"});
         b.node("ReduceMean", {"ee"}, {"y"}, {OnnxAttribute::ints("axes", {1})});
       }},
      {"an entropy",
       [](OnnxBuilder& b) {
         softmax_of_three(b).node("Log", {"p"}, {"l"}).node("Mul", {"p", "l"}, {"pl"});
         b.integers("axes", {1}).node("ReduceSum", {"pl", "axes"}, {"h"}).node("Neg", {"h"}, {"y"});
       }},
      {"a spread",
       [](OnnxBuilder& b) {
         softmax_of_three(b).node("ReduceMax", {"all"}, {"most"}, {OnnxAttribute::ints("axes", {1})});
         b.node("ReduceMin", {"all"}, {"least"}, {OnnxAttribute::ints("axes", {1})}).node("Sub", {"most", "least"}, {"y"});
       }},
  };
  for (const auto& [name, add] : tails) {
    OnnxBuilder builder = one_score();
    add(builder);
    builder.output("y", {-1, 1});
    const Result<Model> model = decided(builder);
    ASSERT_FALSE(model) << name << ": " << model->decision;
    EXPECT_NE(model.error().message().find("threshold"), std::string::npos) << model.error().message();
    ImportOptions options;
    options.threshold = 0.5;
    EXPECT_TRUE(decided(builder, options)) << name;
  }
}

TEST(Decision, ADifferenceOfScoresOfBothSignsIsComparedWithZero) {
  OnnxBuilder builder = one_score();
  two_sigmoids(builder).node("Sub", {"p", "q"}, {"y"});
  EXPECT_NE(decided(builder.output("y", {-1, 1})).value().decision.find("'y' > 0"), std::string::npos);
}

// A gate of zero makes all classes equal, and the first one wins.
TEST(Decision, AFactorThatCanBeZeroIsKept) {
  OnnxBuilder builder = four_scores();
  builder.weight("v", Tensor({4, 1}, {1, 0, 0, 0})).node("MatMul", {"s", "v"}, {"g"}).node("Relu", {"g"}, {"gate"});
  builder.node("Softmax", {"s"}, {"p"}).node("Mul", {"p", "gate"}, {"y"}).output("y");
  const Model model = decided(builder).value(), raw = import_bytes(builder.bytes()).value();
  for (const auto& x : trial_inputs(3, 1)) EXPECT_EQ(largest(values_at(model, x)), largest(values_at(raw, x))) << model.decision;
}

// Its range does not follow from the operators, but y = s² / (s² + 1) stays within 0..1.
TEST(Decision, ANumberWithinTheUnitIntervalIsAProbability) {
  OnnxBuilder builder = one_score();
  scalar(builder, "c", 1).node("Mul", {"s", "s"}, {"q"}).node("Sin", {"s"}, {"h"}).node("Mul", {"h", "h"}, {"hh"});
  builder.node("Cos", {"s"}, {"k"}).node("Mul", {"k", "k"}, {"kk"}).node("Add", {"q", "hh"}, {"num"});
  builder.node("Add", {"num", "kk"}, {"den"}).node("Sub", {"den", "c"}, {"z"}).node("Div", {"z", "den"}, {"y"});
  const Model model = decided(builder.output("y", {-1, 1})).value();
  EXPECT_NE(model.decision.find("> 0.5"), std::string::npos) << model.decision;
}

const std::vector<Tail>& vector_tails() {
  static const std::vector<Tail> tails{
      {"logits", [](OnnxBuilder& b) { b.node("Identity", {"s"}, {"y"}); }},
      {"a softmax", [](OnnxBuilder& b) { b.node("Softmax", {"s"}, {"y"}); }},
      {"two softmaxes", [](OnnxBuilder& b) { b.node("Softmax", {"s"}, {"p"}).node("Softmax", {"p"}, {"y"}); }},
      {"a percentage",
       [](OnnxBuilder& b) {
         scalar(b, "c", 100).node("Softmax", {"s"}, {"p"}).node("Mul", {"p", "c"}, {"y"});
       }},
      {"a logarithm with an offset",
       [](OnnxBuilder& b) {
         scalar(b, "c", 1e-6F).node("Softmax", {"s"}, {"p"}).node("Add", {"p", "c"}, {"q"}).node("Log", {"q"}, {"y"});
       }},
      {"a clipped softmax",
       [](OnnxBuilder& b) {
         scalar(scalar(b, "lo", 1e-6F), "hi", 1 - 1e-6F).node("Softmax", {"s"}, {"p"}).node("Clip", {"p", "lo", "hi"}, {"y"});
       }},
      {"independent sigmoids", [](OnnxBuilder& b) { b.node("Sigmoid", {"s"}, {"y"}); }},
      {"sigmoids over their sum",
       [](OnnxBuilder& b) {
         b.integers("axes", {1})
             .node("Sigmoid", {"s"}, {"p"})
             .node("ReduceSum", {"p", "axes"}, {"t"})
             .node("Div", {"p", "t"}, {"y"});
       }},
      {"an L1 normalisation",
       [](OnnxBuilder& b) {
         b.node("Sigmoid", {"s"}, {"p"}).node("Normalizer", {"p"}, {"y"}, {OnnxAttribute::text("norm", "L1")}, "ai.onnx.ml");
       }},
      {"the logarithm of a log-softmax's exponential",
       [](OnnxBuilder& b) { b.node("LogSoftmax", {"s"}, {"l"}).node("Exp", {"l"}, {"e"}).node("Log", {"e"}, {"y"}); }},
      {"a flattened column",
       [](OnnxBuilder& b) {
         b.integers("to", {1, 4, 1, 1}).node("Softmax", {"s"}, {"p"}).node("Reshape", {"p", "to"}, {"y"});
       }},
  };
  return tails;
}

TEST(Decision, TheLargestValueDecidesWhateverKeepsTheOrder) {
  for (const Tail& tail : vector_tails()) {
    OnnxBuilder builder = four_scores();
    tail.add(builder);
    const Result<Model> model = decided(builder.output("y"));
    ASSERT_TRUE(model) << tail.name << ": " << model.error().message();
    const Model raw = import_bytes(four_scores().node("Identity", {"s"}, {"y"}).output("y").bytes()).value();
    for (const auto& x : trial_inputs(3, 1)) EXPECT_EQ(largest(values_at(*model, x)), largest(values_at(raw, x))) << tail.name;
    for (const auto& x : trial_inputs(3, 100)) {  // probabilities that are all exactly 1 or 0
      std::vector<float> logits = values_at(*model, x);
      EXPECT_EQ(largest(logits), largest(values_at(raw, x))) << tail.name;
      std::sort(logits.begin(), logits.end());
      EXPECT_GT(logits[3] - logits[2], 0) << tail.name;
    }
  }
}

// Tails that change the order of scores, so that the operands of a tail do not determine the class.
const std::vector<Tail>& mixing_tails() {
  static const std::vector<Tail> tails{
      {"class weights times a softmax",
       [](OnnxBuilder& b) {
         b.weight("factors", Tensor({4}, {0.2F, 3, 1, 0.7F})).node("Softmax", {"s"}, {"p"}).node("Mul", {"p", "factors"}, {"y"});
       }},
      {"normalised class weights times a softmax",
       [](OnnxBuilder& b) {
         b.weight("factors", Tensor({4}, {0.2F, 3, 1, 0.7F})).integers("axes", {1}).node("Softmax", {"s"}, {"p"});
         b.node("Mul", {"p", "factors"}, {"q"}).node("ReduceSum", {"q", "axes"}, {"t"}).node("Div", {"q", "t"}, {"y"});
       }},
      {"some classes of a softmax",
       [](OnnxBuilder& b) {
         b.integers("k", {3, 0, 2}).node("Softmax", {"s"}, {"p"});
         b.node("Gather", {"p", "k"}, {"y"}, {OnnxAttribute::integer("axis", 1)});
       }},
      {"a softmax without its background",
       [](OnnxBuilder& b) {
         b.integers("from", {1}).integers("to", {4}).integers("axes", {1}).node("Softmax", {"s"}, {"p"});
         b.node("Slice", {"p", "from", "to", "axes"}, {"y"});
       }},
      {"groups of classes",
       [](OnnxBuilder& b) {
         b.weight("g", Tensor({4, 2}, {1, 0, 0, 1, 0, 1, 1, 0})).node("Softmax", {"s"}, {"p"}).node("MatMul", {"p", "g"}, {"y"});
       }},
      {"a mean of two softmaxes",
       [](OnnxBuilder& b) {
         b.weight("c", Tensor({4}, {0.5F, -1, 0.2F, 0})).node("Add", {"s", "c"}, {"s2"}).node("Softmax", {"s"}, {"p"});
         b.node("Softmax", {"s2"}, {"q"}).node("Mean", {"p", "q"}, {"y"});
       }},
      {"an objectness times classes, in pairs",
       [](OnnxBuilder& b) {
         b.weight("c", Tensor({4}, {0.5F, -1, 0.2F, 0})).node("Mul", {"s", "c"}, {"s2"}).node("Sigmoid", {"s"}, {"p"});
         b.node("Sigmoid", {"s2"}, {"q"}).node("Mul", {"p", "q"}, {"y"});
       }},
      {"log-probabilities and priors",
       [](OnnxBuilder& b) {
         b.weight("c", Tensor({4}, {0.5F, -1, 0.2F, 0})).node("Softmax", {"s"}, {"p"}).node("Log", {"p"}, {"l"});
         b.node("Add", {"l", "c"}, {"y"});
       }},
      {"a background that is what is left",
       [](OnnxBuilder& b) {
         scalar(b, "one", 1).integers("k", {0}).node("Sigmoid", {"s"}, {"p"});
         b.node("Gather", {"p", "k"}, {"f"}, {OnnxAttribute::integer("axis", 1)}).node("Mul", {"f", "f"}, {"f2"});
         b.node("Sub", {"one", "f2"}, {"r"}).node("Concat", {"r", "f2"}, {"y"}, {OnnxAttribute::integer("axis", 1)});
       }},
  };
  return tails;
}

TEST(Decision, MixedProbabilitiesAreComparedAsLogarithms) {
  for (const Tail& tail : mixing_tails()) {
    OnnxBuilder builder = four_scores();
    tail.add(builder);
    builder.output("y");
    const Result<Model> model = decided(builder);
    ASSERT_TRUE(model) << tail.name << ": " << model.error().message();
    const Model raw = import_bytes(builder.bytes()).value();
    for (const auto& x : trial_inputs(3, 1)) {
      std::vector<float> values = values_at(raw, x);
      const std::int64_t winner = largest(values);
      std::sort(values.begin(), values.end());
      if (values.back() - values[values.size() - 2] < 1e-6) continue;
      EXPECT_EQ(largest(values_at(*model, x)), winner) << tail.name << "; " << model->decision;
    }
    for (const auto& x : trial_inputs(3, 60)) {
      std::vector<float> near = values_at(*model, x), far = values_at(*model, {1.5F * x[0], 1.5F * x[1], 1.5F * x[2]});
      std::sort(near.begin(), near.end());
      std::sort(far.begin(), far.end());
      EXPECT_TRUE(std::isfinite(near.front()) && std::isfinite(far.front())) << tail.name;
      EXPECT_NE(near.back() - near.front(), far.back() - far.front()) << tail.name << "; " << model->decision;
    }
  }
}

// The class for which softmax(x V) + softmax(x W) is largest, computed with 19 digits.
std::int64_t winner_of_sum(const std::vector<float>& x, const Tensor& v, const Tensor& w) {
  std::vector<long double> total(4, 0);
  for (const Tensor* weights : {&v, &w}) {
    std::vector<long double> terms(4, 0);
    for (std::size_t k = 0; k < 12; ++k) terms[k % 4] += static_cast<long double>(x[k / 4]) * weights->data[k];
    for (long double& term : terms) term = std::exp(term);
    const long double sum = std::accumulate(terms.begin(), terms.end(), 0.0L);
    for (std::size_t i = 0; i < 4; ++i) total[i] += terms[i] / sum;
  }
  return std::max_element(total.begin(), total.end()) - total.begin();
}

// In float32, both classes have 0.5; they really differ by 1e-9.
TEST(Decision, SaturatedSoftmaxesThatDisagreeAreDistinguished) {
  const Tensor others({3, 4}, {-1, 0.5F, 1, 0, 1, -0.3F, 0.2F, 1, 0.4F, -1, -0.1F, 0.7F});
  for (const bool weighted : {false, true}) {
    OnnxBuilder builder = four_scores();
    builder.weight("v", others).node("MatMul", {"x", "v"}, {"t"});
    scalar(builder, "half", 0.5F).node("Softmax", {"s"}, {"p"}).node("Softmax", {"t"}, {"q"});
    if (weighted) {
      builder.node("Mul", {"p", "half"}, {"p2"}).node("Mul", {"q", "half"}, {"q2"}).node("Add", {"p2", "q2"}, {"y"});
    } else {
      builder.node("Mean", {"p", "q"}, {"y"});
    }
    builder.output("y");
    const Model model = decided(builder).value(), raw = import_bytes(builder.bytes()).value();
    int ties = 0, wrong = 0;
    for (const auto& x : trial_inputs(3, 15)) {
      std::vector<float> values = values_at(raw, x);
      wrong += largest(values_at(model, x)) == winner_of_sum(x, kFourScores, others) ? 0 : 1;
      std::sort(values.begin(), values.end());
      ties += values[3] - values[2] < 1e-7F ? 1 : 0;
    }
    EXPECT_GE(ties, 20);
    EXPECT_EQ(wrong, 0) << model.decision;
  }
}

TEST(Decision, WeightsMayAddUpToLessThanOne) {
  OnnxBuilder builder = one_score();
  scalar(scalar(two_sigmoids(builder), "v", 0.5F), "u", 0.3F).node("Mul", {"p", "v"}, {"pv"}).node("Mul", {"q", "u"}, {"qu"});
  builder.node("Add", {"pv", "qu"}, {"y"}).output("y", {-1, 1});
  const Model model = decided(builder).value(), raw = import_bytes(builder.bytes()).value();
  for (const auto& x : trial_inputs(2, 1)) EXPECT_EQ(largest(values_at(model, x)), values_at(raw, x)[0] > 0.5F ? 1 : 0);
}

// Votes of sigmoids near 0 and 1 have no gradients, however they are compared.
TEST(Decision, ValuesThatLevelOffAreNoted) {
  const std::vector<std::pair<std::function<void(OnnxBuilder&)>, bool>> cases{
      {[](OnnxBuilder& b) {
         two_sigmoids(b).node("Mean", {"p", "q"}, {"y"});
       },
       true},
      {[](OnnxBuilder& b) {
         two_sigmoids(b).node("Sub", {"p", "q"}, {"y"});
       },
       true},
      {[](OnnxBuilder& b) {
         two_sigmoids(b).node("Mul", {"p", "q"}, {"y"});
       },
       false},
      {[](OnnxBuilder& b) {
         b.node("Tanh", {"s"}, {"h"}).weight("v", Tensor({1, 1}, {2})).node("MatMul", {"h", "v"}, {"y"});
       },
       false},
  };
  for (const auto& [add, level] : cases) {
    OnnxBuilder builder = one_score();
    add(builder);
    const Model model = decided(builder.output("y", {-1, 1})).value();
    EXPECT_EQ(model.decision.find("gradients vanish") != std::string::npos, level) << model.decision;
  }
  OnnxBuilder costs = four_scores();
  costs.weight("c", Tensor({4, 4}, {0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1, 5, 2, 1, 0})).node("Softmax", {"s"}, {"p"});
  costs.node("MatMul", {"p", "c"}, {"cost"}).node("Neg", {"cost"}, {"y"});
  EXPECT_NE(decided(costs.output("y")).value().decision.find("gradients vanish"), std::string::npos);
}

// A residual chain that doubles in every step must not be visited once per path.
TEST(Decision, LongChainsOfProbabilitiesAreVisitedOnce) {
  OnnxBuilder builder = one_score();
  builder.node("Sigmoid", {"s"}, {"v0"});
  for (int i = 0; i < 60; ++i) {
    const std::string from = "v" + std::to_string(i), to = i == 59 ? "y" : "v" + std::to_string(i + 1);
    builder.node("Mul", {from, from}, {to});
  }
  EXPECT_TRUE(decided(builder.output("y", {-1, 1})));
}

// A ReLU or a clip of the logits creates ties that are part of the model.
TEST(Decision, ClippedLogitsStayClipped) {
  OnnxBuilder builder = four_scores();
  const Model model = decided(builder.node("Relu", {"s"}, {"r"}).node("LogSoftmax", {"r"}, {"y"}).output("y")).value();
  for (const float value : values_at(model, {-1, -1, 0})) EXPECT_GE(value, 0);
}

TEST(Decision, TwoProbabilitiesAreDecidedByOneLogit) {
  for (const bool swapped : {false, true}) {
    OnnxBuilder builder = one_score();
    scalar(builder, "c", 1).node("Sigmoid", {"s"}, {"p"}).node("Sub", {"c", "p"}, {"q"});
    builder.node("Concat", {swapped ? "p" : "q", swapped ? "q" : "p"}, {"y"}, {OnnxAttribute::integer("axis", 1)});
    const Model model = decided(builder.output("y", {-1, 2})).value();
    EXPECT_EQ(largest(values_at(model, {3, 0})), swapped ? 0 : 1);
    EXPECT_EQ(largest(values_at(model, {-3, 0})), swapped ? 1 : 0);
    const auto far = values_at(model, {60, 0}), farther = values_at(model, {90, 0});
    EXPECT_NE(far[0] - far[1], farther[0] - farther[1]) << "swapped: " << swapped;
  }
}

TEST(Decision, ASoftmaxOverTwoGivesOneProbability) {
  for (const std::int64_t entry : {0, 1}) {
    OnnxBuilder builder;
    builder.input("x", {-1, 2}).integers("k", {entry}).node("Softmax", {"x"}, {"p"});
    builder.node("Gather", {"p", "k"}, {"y"}, {OnnxAttribute::integer("axis", 1)}).output("y", {-1, 1});
    const Model model = decided(builder).value();
    EXPECT_EQ(largest(values_at(model, {50, 90})), entry);
    EXPECT_EQ(largest(values_at(model, {90, 50})), 1 - entry);
    EXPECT_NE(values_at(model, {50, 90}), values_at(model, {50, 95}));
  }
}

TEST(Decision, LabelsLeadToTheirScores) {
  const std::vector<std::function<void(OnnxBuilder&)>> labels{
      [](OnnxBuilder& b) { b.node("ArgMax", {"s"}, {"y"}, {OnnxAttribute::integer("axis", 1)}); },
      [](OnnxBuilder& b) {  // labels that begin at 1
        b.integers("one", {1}).node("ArgMax", {"s"}, {"a"}, {OnnxAttribute::integer("axis", 1)}).node("Add", {"a", "one"}, {"y"});
      },
      [](OnnxBuilder& b) {  // a table of labels
        b.integers("table", {7, 3, 5, 11}).node("ArgMax", {"s"}, {"a"}, {OnnxAttribute::integer("axis", 1)});
        b.node("Gather", {"table", "a"}, {"y"});
      },
      [](OnnxBuilder& b) {  // the indices of a TopK
        b.integers("k", {2}).node("TopK", {"s", "k"}, {"v", "y"});
      },
      [](OnnxBuilder& b) {
        b.integers("k", {1}).node("TopK", {"s", "k"}, {"v", "i"}).node("Squeeze", {"i"}, {"y"});
      },
  };
  const Model raw = import_bytes(four_scores().node("Identity", {"s"}, {"y"}).output("y").bytes()).value();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    OnnxBuilder builder = four_scores();
    labels[i](builder);
    const Result<Model> model = decided(builder.integer_output("y", {-1, 1}));
    ASSERT_TRUE(model) << i << ": " << model.error().message();
    ASSERT_EQ(model->classes, 4) << i;
    for (const auto& x : trial_inputs(3, 1)) EXPECT_EQ(values_at(*model, x), values_at(raw, x)) << i;
  }
}

TEST(Decision, SortedScoresAreNotClasses) {
  for (const std::int64_t k : {2, 3, 4}) {
    OnnxBuilder builder = four_scores();
    builder.integers("k", {k}).node("Softmax", {"s"}, {"p"}).node("TopK", {"p", "k"}, {"scores", "ids"});
    const Model model = decided(builder.output("scores", {-1, k}).integer_output("ids", {-1, k})).value();
    EXPECT_EQ(model.classes, 4);
    const Model raw = import_bytes(four_scores().node("Identity", {"s"}, {"y"}).output("y").bytes()).value();
    for (const auto& x : trial_inputs(3, 30)) EXPECT_EQ(largest(values_at(model, x)), largest(values_at(raw, x)));
  }
}

TEST(Decision, TheSmallestScoresOfATopKAreRefused) {
  OnnxBuilder builder = four_scores();
  builder.integers("k", {2}).node("TopK", {"s", "k"}, {"y", "ids"}, {OnnxAttribute::integer("largest", 0)});
  const Result<Model> model = decided(builder.output("y", {-1, 2}));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("'s' [1, 4]"), std::string::npos) << model.error().message();
}

// e = Relu(x), y = e W: two outputs.
OnnxBuilder embedding_and_logits(const std::string& embedding, const std::string& logits) {
  OnnxBuilder builder;
  builder.input("x", {-1, 3}).weight("w", Tensor({3, 2}, {1, 0, 0, 1, 1, 1})).node("Relu", {"x"}, {embedding});
  builder.node("MatMul", {embedding, "w"}, {logits}).output(embedding, {-1, 3}).output(logits, {-1, 2});
  return builder;
}

TEST(Decision, AnEmbeddingBeforeTheLogitsDoesNotDecide) {
  EXPECT_EQ(decided(embedding_and_logits("embedding", "label"))->output_name, "label");
  EXPECT_EQ(decided(embedding_and_logits("a", "b"))->output_name, "b") << "by what is computed from what";
  EXPECT_EQ(decided(embedding_and_logits("features", "a"))->output_name, "a");
}

TEST(Decision, AmbiguousOutputsAreRejectedWithTheirShapes) {
  OnnxBuilder builder;
  builder.input("x", {-1, 3})
      .weight("w", Tensor({3, 2}, {1, 0, 0, 1, 1, 1}))
      .weight("v", Tensor({3, 4}, std::vector<float>(12, 1)));
  builder.node("MatMul", {"x", "w"}, {"a"}).node("MatMul", {"x", "v"}, {"b"}).output("a", {-1, 2}).output("b", {-1, 4});
  const Result<Model> model = decided(builder);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::unsupported);
  for (const char* part : {"'a' [1, 2]", "'b' [1, 4]", "output"})
    EXPECT_NE(model.error().message().find(part), std::string::npos) << model.error().message();
  ImportOptions options;
  options.output_name = "b";
  EXPECT_EQ(decided(builder, options)->classes, 4);
  options = {};
  options.data_classes = 4;
  EXPECT_EQ(decided(builder, options)->output_name, "b") << "the labels of the data decide";
}

TEST(Decision, ASoftmaxOrANameDecidesBetweenOutputs) {
  const auto two = [](const std::string& first, const std::string& second, bool softmax) {
    OnnxBuilder builder;
    builder.input("x", {-1, 3})
        .weight("w", Tensor({3, 2}, {1, 0, 0, 1, 1, 1}))
        .weight("v", Tensor({3, 4}, std::vector<float>(12, 1)));
    builder.node("MatMul", {"x", "v"}, {first}).node("MatMul", {"x", "w"}, {softmax ? "z" : second});
    if (softmax) builder.node("Softmax", {"z"}, {second});
    return builder.output(first, {-1, 4}).output(second, {-1, 2});
  };
  EXPECT_EQ(decided(two("a", "b", true))->output_name, "b");
  EXPECT_EQ(decided(two("reconstruction", "b", false))->output_name, "b");
  EXPECT_EQ(decided(two("a", "class_scores", false))->output_name, "class_scores");
  EXPECT_EQ(decided(two("aux_logits", "logits", false))->output_name, "logits");
}

TEST(Decision, ACopyOfTheInputIsNotAClassifier) {
  for (const char* op : {"Identity", "Flatten", "Neg"}) {
    OnnxBuilder builder;
    builder.input("x", {-1, 3}).weight("w", Tensor({3, 2}, {1, 0, 0, 1, 1, 1})).weight("m", Tensor({3}, {1, 2, 3}));
    builder.node("Sub", {"x", "m"}, {"scaled"}).node(op, {"scaled"}, {"a"}).node("MatMul", {"scaled", "w"}, {"b"});
    EXPECT_EQ(decided(builder.output("a", {-1, 3}).output("b", {-1, 2}))->output_name, "b") << op;
    OnnxBuilder alone;
    alone.input("x", {-1, 3}).node(op, {"x"}, {"a"}).output("a", {-1, 3});
    const Result<Model> model = decided(alone);
    ASSERT_FALSE(model) << op;
    EXPECT_NE(model.error().message().find("copy of the input"), std::string::npos) << model.error().message();
  }
}

TEST(Decision, TextOutputsAreIgnored) {
  OnnxBuilder builder = four_scores();
  builder.texts("classes", {"ant", "bee", "cat", "dog"}).integers("m1", {-1}).node("Softmax", {"s"}, {"probabilities"});
  builder.node("ArgMax", {"probabilities"}, {"a"}, {OnnxAttribute::integer("axis", 1)});
  builder.node("ArrayFeatureExtractor", {"classes", "a"}, {"t"}, {}, "ai.onnx.ml").node("Reshape", {"t", "m1"}, {"label"});
  OnnxBuilder both = builder;
  const Model model = decided(both.text_output("label", {-1}).output("probabilities", {-1, 4})).value();
  EXPECT_EQ(model.classes, 4);
  EXPECT_EQ(model.class_names, (std::vector<std::string>{"ant", "bee", "cat", "dog"}));
  const Model label = decided(builder.text_output("label", {-1})).value();
  EXPECT_EQ(label.classes, 4) << "the text alone leads to its scores";
}

TEST(Decision, ErrorsListTensorsThatCouldDecide) {
  OnnxBuilder map;  // one vector for each pixel
  map.input("x", {-1, 3, 4, 4}).weight("w", Tensor({5, 3, 1, 1}, std::vector<float>(15, 1))).node("Conv", {"x", "w"}, {"y"});
  const Result<Model> pixels = decided(map.output("y", {-1, 5, 4, 4}));
  ASSERT_FALSE(pixels);
  EXPECT_NE(pixels.error().message().find("[1, 5, 4, 4]"), std::string::npos) << pixels.error().message();
  EXPECT_EQ(pixels.error().message().find("its outputs are"), std::string::npos) << pixels.error().message();
  OnnxBuilder inner;
  inner.input("x", {-1, 3}).weight("w", Tensor({3, 2}, {1, 0, 0, 1, 1, 1})).node("MatMul", {"x", "w"}, {"scores"});
  inner.integers("big", {5, 2}).node("Expand", {"scores", "big"}, {"y"});
  const Result<Model> expanded = decided(inner.output("y", {5, 2}));
  ASSERT_FALSE(expanded);
  EXPECT_NE(expanded.error().message().find("'scores' [1, 2]"), std::string::npos) << expanded.error().message();
}

TEST(Decision, AnInnerTensorCanDecide) {
  OnnxBuilder builder = four_scores();
  builder.integers("big", {3, 4}).node("Expand", {"s", "big"}, {"y"}).output("y", {3, 4});
  ImportOptions options;
  options.output_name = "s";
  EXPECT_EQ(decided(builder, options)->classes, 4);
}

TEST(Decision, OutputsRestrictTheClasses) {
  OnnxBuilder builder = four_scores();
  builder.node("Softmax", {"s"}, {"y"}).output("y", {-1, 4}).metadata("names", R"(["ant", "bee", "cat", "dog"])");
  ImportOptions options;
  options.outputs = {3, 1};
  const Model model = decided(builder, options).value();
  EXPECT_EQ(model.classes, 2);
  EXPECT_EQ(model.class_names, (std::vector<std::string>{"dog", "bee"}));
  const Model raw = import_bytes(four_scores().node("Identity", {"s"}, {"y"}).output("y").bytes()).value();
  for (const auto& x : trial_inputs(3, 1)) {
    const auto all = values_at(raw, x);
    EXPECT_EQ(values_at(model, x), (std::vector<float>{all[3], all[1]}));
  }
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{1}, {0, 4}, {1, 1}, {-1, 0}}) {
    options.outputs = wrong;
    const Result<Model> refused = decided(builder, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
  }
}

TEST(Decision, AScoreComputedFromAnEmbeddingDecides) {
  OnnxBuilder builder;
  builder.input("x", {-1, 3}).weight("w", Tensor({3, 1}, {1, 0, 1})).node("Relu", {"x"}, {"e"}).node("MatMul", {"e", "w"}, {"s"});
  const Model model = decided(builder.node("Sigmoid", {"s"}, {"p"}).output("e", {-1, 3}).output("p", {-1, 1})).value();
  EXPECT_EQ(model.output_name, "p");
  EXPECT_EQ(model.classes, 2);
}

TEST(Decision, LabelsThatSeveralClassesShareAreRefused) {
  const std::vector<std::function<void(OnnxBuilder&)>> labels{
      [](OnnxBuilder& b) {
        b.integers("table", {0, 0, 1, 1}).node("Gather", {"table", "a"}, {"y"});
      },
      [](OnnxBuilder& b) {
        b.integers("one", {1}).node("Min", {"a", "one"}, {"y"});
      },
      [](OnnxBuilder& b) {
        b.integers("two", {2}).node("Div", {"a", "two"}, {"y"});
      },
  };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    OnnxBuilder builder = four_scores();
    builder.node("ArgMax", {"s"}, {"a"}, {OnnxAttribute::integer("axis", 1)});
    labels[i](builder);
    EXPECT_FALSE(decided(builder.integer_output("y", {-1, 1}))) << i;
  }
}

TEST(Decision, TheConfidenceOfTheTopClassCannotDecide) {
  OnnxBuilder builder = four_scores();
  builder.node("Softmax", {"s"}, {"p"}).node("ReduceMax", {"p"}, {"y"}, {OnnxAttribute::ints("axes", {1})}).output("y", {-1, 1});
  const Result<Model> model = decided(builder);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("'p' [1, 4]"), std::string::npos) << model.error().message();
}

TEST(Decision, DistancesAreNotScores) {
  OnnxBuilder builder = four_scores();
  builder.integers("axes", {2}).integers("to", {1, 4, 1}).node("Reshape", {"s", "to"}, {"d"}).node("Mul", {"d", "d"}, {"q"});
  builder.node("ReduceSum", {"q", "axes"}, {"y"}, {OnnxAttribute::integer("keepdims", 0)}).output("y", {-1, 4});
  EXPECT_FALSE(decided(builder));
}

// p - 0.3 is compared with 0, and sqrt(p) with 0.5: the reported rule is the one that is applied.
TEST(Decision, OffsetsAndRootsOfProbabilitiesKeepTheirOwnThreshold) {
  OnnxBuilder offset = one_score();
  scalar(offset, "c", 0.3F).node("Sigmoid", {"s"}, {"p"}).node("Sub", {"p", "c"}, {"y"}).output("y", {-1, 1});
  OnnxBuilder root = one_score();
  root.node("Sigmoid", {"s"}, {"p"}).node("Sqrt", {"p"}, {"y"}).output("y", {-1, 1});
  const Model first = decided(offset).value(), second = decided(root).value();
  for (const float s : {-3.0F, -1.5F, -1.0F, -0.9F, -0.5F, 0.5F}) {
    const double p = 1 / (1 + std::exp(-s));
    EXPECT_EQ(largest(values_at(first, {s, 0})), p > 0.3 ? 1 : 0) << s;
    EXPECT_EQ(largest(values_at(second, {s, 0})), p > 0.25 ? 1 : 0) << s;
  }
}

TEST(Decision, ClassNamesAreReadAsPeopleStoreThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(onnx::parse_class_names("{0: 'person', 1: \"it's\", 2: 'a, b'}"), (Names{"person", "it's", "a, b"}));
  EXPECT_EQ(onnx::parse_class_names(R"({"0": "cat", "1": "dog"})"), (Names{"cat", "dog"}));
  EXPECT_EQ(onnx::parse_class_names(R"({"dog": 1, "cat": 0})"), (Names{"cat", "dog"}));
  EXPECT_EQ(onnx::parse_class_names("['cat', 'dog']"), (Names{"cat", "dog"}));
  EXPECT_EQ(onnx::parse_class_names("cat,dog"), (Names{"cat", "dog"}));
  for (const char* broken : {"", "{", "[", "{0: 'a'", "{0 'a'}", "{0: 'a', 2: 'b'}", "['a' 'b']", "{'a': 'b'}", "['a"})
    EXPECT_TRUE(onnx::parse_class_names(broken).empty()) << broken;
}

// A label that is not the position: a number from a table, or the position counted from 1.
TEST(Decision, NumericLabelsOfTheGraphAreClassNames) {
  using Names = std::vector<std::string>;
  const auto labelled = [](bool from_table) {
    OnnxBuilder builder = four_scores();
    builder.integers("table", {3, 5, 8, 9}).integers("one", {1});
    builder.node("ArgMax", {"s"}, {"a"}, {OnnxAttribute::integer("axis", 1), OnnxAttribute::integer("keepdims", 0)});
    if (from_table) return builder.node("Gather", {"table", "a"}, {"label"});
    return builder.node("Cast", {"a"}, {"b"}, {OnnxAttribute::integer("to", 7)}).node("Add", {"one", "b"}, {"label"});
  };
  for (const bool from_table : {false, true}) {
    const Names expected = from_table ? Names{"3", "5", "8", "9"} : Names{"1", "2", "3", "4"};
    OnnxBuilder builder = labelled(from_table);
    builder.node("Softmax", {"s"}, {"y"}).output("y", {-1, 4}).output("label", {-1});
    EXPECT_EQ(decided(builder)->class_names, expected);
    const std::string bytes = builder.bytes();
    EXPECT_EQ(summarize_onnx(std::as_bytes(std::span(bytes)))->class_names, expected) << "before the data are known";
  }
}

TEST(Decision, ClassNamesComeFromMetadataIfTheirNumberFits) {
  for (const auto& [key, text] : {std::pair{"id2label", R"({"0": "a", "1": "b", "2": "c", "3": "d"})"},
                                  std::pair{"names", "{0: 'a', 1: 'b', 2: 'c', 3: 'd'}"}, std::pair{"classes", "a,b,c,d"}}) {
    OnnxBuilder builder = four_scores();
    builder.metadata(key, text);
    EXPECT_EQ(decided(builder.node("Identity", {"s"}, {"y"}).output("y"))->class_names,
              (std::vector<std::string>{"a", "b", "c", "d"}))
        << key;
  }
  OnnxBuilder other = four_scores();
  other.metadata("names", "{0: 'a', 1: 'b'}");
  EXPECT_TRUE(decided(other.node("Identity", {"s"}, {"y"}).output("y"))->class_names.empty());
}

}  // namespace
}  // namespace probust
