// SPDX-License-Identifier: MIT
//
// probust-fuzz-corpus DIR: writes the fuzzer's seed corpus: each ONNX operator with a few arrangements of operands, and a small
// classifier.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "probust/onnx/lower.h"
#include "support/onnx_builder.h"

namespace probust::test {
namespace {

std::string classifier() {
  OnnxBuilder builder;
  builder.input("x", {-1, 1, 4, 4})
      .weight("w", Tensor({2, 1, 3, 3}, std::vector<float>(18, 0.5F)))
      .node("Conv", {"x", "w"}, {"c"}, {OnnxAttribute::ints("pads", {1, 1, 1, 1})})
      .node("Relu", {"c"}, {"r"})
      .node("MaxPool", {"r"}, {"p"}, {OnnxAttribute::ints("kernel_shape", {2, 2}), OnnxAttribute::ints("strides", {2, 2})})
      .integers("shape", {1, -1})
      .node("Reshape", {"p", "shape"}, {"f"})
      .weight("v", Tensor({8, 3}, std::vector<float>(24, 0.25F)))
      .node("MatMul", {"f", "v"}, {"logits"})
      .node("Softmax", {"logits"}, {"y"})
      .output("y", {-1, 3});
  return builder.bytes();
}

/// One node between an input and an output; other operands are weights or integers.
std::string one_node(const std::string& op, const Shape& shape, const std::vector<std::string>& further) {
  OnnxBuilder builder;
  builder.input("x", shape).weight("w", Tensor(shape)).integers("i", {0, 1}).weight("s", Tensor::scalar(0.5F));
  std::vector<std::string> operands = {"x"};
  operands.insert(operands.end(), further.begin(), further.end());
  builder.node(op, operands, {"h"}, {OnnxAttribute::integer("axis", 1), OnnxAttribute::ints("kernel_shape", {2, 2})});
  builder.node("Flatten", {"h"}, {"y"}).output("y", {1, -1});
  return builder.bytes();
}

void write(const std::filesystem::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

int make(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write(folder / "classifier.onnx", classifier());
  int count = 1;
  for (const onnx::OperatorFamily& family : onnx::operator_families()) {
    for (const onnx::OnnxOperator& entry : family.operators) {
      const std::string op(entry.op_type);
      for (const auto& further : std::vector<std::vector<std::string>>{{}, {"w"}, {"i"}, {"s", "w"}, {"i", "i", "i"}}) {
        for (const Shape& shape : {Shape{1, 4}, Shape{1, 2, 4, 4}})
          write(folder / (op + std::to_string(++count)), one_node(op, shape, further));
      }
    }
  }
  std::printf("%d models\n", count);
  return 0;
}

}  // namespace
}  // namespace probust::test

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: probust-fuzz-corpus DIR\n");
    return 2;
  }
  return probust::test::make(arguments[1]);
}
