// SPDX-License-Identifier: MIT
// For any bytes, import returns a model or one Error: truncated, flipped, inconsistent and hostile files.
#include <gtest/gtest.h>

#include <random>

#include "probust/onnx/import.h"
#include "support/imported.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using test::import_bytes;
using test::OnnxAttribute;
using test::OnnxBuilder;

std::string small_model() {
  OnnxBuilder builder;
  builder.input("x", {-1, 1, 4, 4})
      .weight("w", Tensor({2, 1, 3, 3}, std::vector<float>(18, 0.5F)))
      .weight("b", Tensor({2}, {1, 2}));
  builder.node("Conv", {"x", "w", "b"}, {"c"}, {OnnxAttribute::ints("pads", {1, 1, 1, 1})}).node("Relu", {"c"}, {"r"});
  builder.node("MaxPool", {"r"}, {"p"}, {OnnxAttribute::ints("kernel_shape", {2, 2}), OnnxAttribute::ints("strides", {2, 2})});
  builder.integers("shape", {1, -1})
      .node("Reshape", {"p", "shape"}, {"f"})
      .weight("v", Tensor({8, 3}, std::vector<float>(24, 0.25F)));
  builder.node("MatMul", {"f", "v"}, {"logits"}).node("Softmax", {"logits"}, {"y"}).output("y", {-1, 3});
  return builder.bytes();
}

// An Error must have one printable line, and the status for an invalid or an unsupported file.
void expect_clean(const Result<Model>& result, const std::string& what) {
  if (result) return;
  const Error& error = result.error();
  EXPECT_TRUE(error.code == ErrorCode::unreadable || error.code == ErrorCode::unsupported || error.code == ErrorCode::resources)
      << what << error.message();
  EXPECT_EQ(error.message().find('\n'), std::string::npos) << what;
  EXPECT_FALSE(error.problem.empty()) << what;
}

TEST(OnnxReject, TheModelItselfIsFine) {
  ASSERT_TRUE(import_bytes(small_model())) << import_bytes(small_model()).error().message();
}

TEST(OnnxReject, EveryTruncation) {
  const std::string whole = small_model();
  for (std::size_t length = 0; length < whole.size(); ++length)
    expect_clean(import_bytes(whole.substr(0, length)), "length " + std::to_string(length) + ": ");
  EXPECT_FALSE(import_bytes(""));
  EXPECT_FALSE(import_bytes(whole.substr(0, whole.size() / 2)));
}

// With 32-bit pointers, a length of 2 GB or more is negative.
TEST(OnnxReject, FieldsLongerThanHalfOfTheAddresses) {
  const std::string length = "\xf0\xff\xff\xff\x0f";         // 2^32 - 16
  for (const char tag : {'\x3a', '\x12', '\x42', '\x0a'}) {  // the graph, the producer, opsets, an unknown field
    for (const std::string& before : {std::string(), small_model()}) {
      const auto result = import_bytes(before + tag + length + std::string(64, 'a'));
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::unreadable);
    }
  }
}

TEST(OnnxReject, RandomlyFlippedBytes) {
  const std::string whole = small_model();
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto result = import_bytes(damaged);
    expect_clean(result, "round " + std::to_string(round) + ": ");
    refused += result ? 0 : 1;
  }
  EXPECT_GT(refused, 5000);
}

TEST(OnnxReject, OtherFiles) {
  for (const std::string& bytes : {std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), std::string("hello, this is text\n"),
                                   std::string(1000, '\0'), std::string(1000, '\xff')}) {
    const auto result = import_bytes(bytes);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::unreadable);
  }
}

Error error_of(const OnnxBuilder& builder) {
  const auto result = import_bytes(builder.bytes());
  EXPECT_FALSE(result);
  return result ? Error{ErrorCode::internal, "", "", ""} : result.error();
}

TEST(OnnxReject, AWeightWithoutItsValues) {
  const std::string bytes = test::encode_tensor({100000, 30000}, 1, std::string(8, 'a'), "w");
  OnnxBuilder builder;
  builder.input("x", {1, 2}).initializer(bytes).node("MatMul", {"x", "w"}, {"y"}).output("y");
  const Error error = error_of(builder);
  EXPECT_EQ(error.code, ErrorCode::unreadable);
  EXPECT_NE(error.message().find("'w'"), std::string::npos) << error.message();
}

void expect_mentions(const Error& error, const std::string& text) {
  EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
}

TEST(OnnxReject, NodesThatReadTheirOwnResults) {
  OnnxBuilder cycle;
  cycle.input("x", {1, 2}).node("Relu", {"c"}, {"y"}).node("Add", {"x", "b"}, {"a"}).node("Neg", {"a"}, {"b"});
  cycle.node("Exp", {"b"}, {"c"}).output("y");
  const Error error = error_of(cycle);
  EXPECT_EQ(error.code, ErrorCode::unreadable);
  // The message names either node of the cycle and the value that it reads, but not n0 or n3, which only lead there.
  const std::string message = error.message();
  EXPECT_TRUE(message.find("node 'n1' (Add, opset 17) reads 'b'") == 0 ||
              message.find("node 'n2' (Neg, opset 17) reads 'a'") == 0)
      << message;
  OnnxBuilder own;
  own.input("x", {1, 2}).node("Add", {"x", "y"}, {"y"}).output("y");
  expect_mentions(error_of(own), "node 'n0' (Add, opset 17) reads 'y', which is computed from this node's own output");
}

TEST(OnnxReject, AGraphThatReadsAnUndefinedValue) {
  OnnxBuilder undefined;
  undefined.input("x", {1, 2}).node("Relu", {"a"}, {"y"}).node("Add", {"x", "b"}, {"a"}).output("y");
  EXPECT_EQ(error_of(undefined).code, ErrorCode::unreadable);
  expect_mentions(error_of(undefined), "node 'n1' (Add, opset 17) reads 'b', which the model does not define");
  OnnxBuilder missing;
  missing.input("x", {1, 2}).node("Relu", {"x"}, {"a"}).output("nowhere");
  EXPECT_EQ(error_of(missing).code, ErrorCode::unreadable);
}

TEST(OnnxReject, SizesThatASmallFileMustNotAskFor) {
  OnnxBuilder fill;
  fill.input("x", {1, 2})
      .integers("huge", {1 << 20, 1 << 20})
      .node("ConstantOfShape", {"huge"}, {"c"})
      .node("Add", {"x", "c"}, {"y"})
      .output("y");
  EXPECT_FALSE(import_bytes(fill.bytes()));
  OnnxBuilder tile;
  tile.input("x", {1, 2})
      .integers("repeats", {1, 1 << 24})
      .node("Tile", {"x", "repeats"}, {"t"})
      .node("Tile", {"t", "repeats"}, {"y"})
      .output("y");
  EXPECT_FALSE(import_bytes(tile.bytes()));
  OnnxBuilder pad;
  pad.input("x", {1, 2}).integers("pads", {0, 1LL << 40, 0, 1LL << 40}).node("Pad", {"x", "pads"}, {"y"}).output("y");
  EXPECT_FALSE(import_bytes(pad.bytes()));
}

TEST(OnnxReject, InputsThatAreNotOneFloatTensor) {
  OnnxBuilder two;
  two.input("x", {1, 2}).input("z", {1, 2}).node("Add", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(error_of(two).code, ErrorCode::unsupported);
  OnnxBuilder integer;
  integer.integer_input("x", {1, 2}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of(integer).code, ErrorCode::unsupported);
  OnnxBuilder open;
  open.input("x", {-1, -1}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of(open).code, ErrorCode::unsupported);
}

TEST(OnnxReject, AttributesAndOperandsThatDoNotFit) {
  const auto conv = [](const std::vector<OnnxAttribute>& attributes) {
    OnnxBuilder builder;
    builder.input("x", {1, 2, 4, 4})
        .weight("w", Tensor({2, 2, 3, 3}))
        .node("Conv", {"x", "w"}, {"c"}, attributes)
        .node("Flatten", {"c"}, {"y"})
        .output("y");
    return builder;
  };
  EXPECT_TRUE(import_bytes(conv({}).bytes()));
  EXPECT_EQ(error_of(conv({OnnxAttribute::ints("strides", {0, 0})})).code, ErrorCode::unreadable);
  EXPECT_EQ(error_of(conv({OnnxAttribute::ints("strides", {1})})).code, ErrorCode::unreadable);
  EXPECT_EQ(error_of(conv({OnnxAttribute::ints("pads", {-5, 0, 0, 0})})).code, ErrorCode::unreadable);
  EXPECT_EQ(error_of(conv({OnnxAttribute::integer("group", 3)})).code, ErrorCode::unreadable);
  EXPECT_EQ(error_of(conv({OnnxAttribute::ints("dilations", {9, 9})})).code, ErrorCode::unreadable);
}

}  // namespace
}  // namespace probust
