// SPDX-License-Identifier: MIT
//
// probust-fuzz-seeds FOLDER: writes the seeds of the fuzz targets, one folder per target: ONNX operators with a few
// arrangements of operands, small files of every kind, and texts.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "probust/onnx/lower/lower.h"
#include "support/images.h"
#include "support/onnx_builder.h"
#include "support/run_file_of.h"
#include "support/run_rows.h"

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

/// A model with one node between input and output; other operands are weights or integers.
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

void make_models(const std::filesystem::path& folder) {
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
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of points, with several choices of options (data_fuzz.cpp).
void write_points(const std::filesystem::path& folder, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(folder);
  for (const char choice : {'\0', '\1', '\4', '\x0f'}) write(folder / (name + std::to_string(choice)), choice + bytes);
}

void make_points(const std::filesystem::path& folder) {
  const Tensor x({4, 1, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  const std::vector<std::int64_t> labels = {0, 1, 2, 1};
  const std::string file = (folder / "file").string();
  write_npy(file, x);
  write_points(folder / "npy", "float", bytes_of(file));
  write_npy(file, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  write_points(folder / "npy", "double", bytes_of(file));
  write_npz(file, x, labels);
  write_points(folder / "npz", "labelled", bytes_of(file));
  std::filesystem::remove(file);
  write_points(folder / "csv", "header", "a,b,label\n1,2.5,0\n-3e2,nan,1\n");
  write_points(folder / "csv", "semicolons", "1;2;x\n3;4;y\n");
  write_points(folder / "csv", "quoted", "\"a \"\"b\"\"\",1\r\n\"c\",2\r\n");
  write_points(folder / "idx", "images", std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16) + "abcdefghijkl");
  write_points(folder / "cifar", "rows", std::string(2 * 3073, '\1'));
  write_points(folder / "image", "gray", plain_png(6, 5, 77));
  write_points(folder / "image", "colour", png(2, 2, std::string(12, 'c'), {8, kPngColour}));
  write_points(folder / "image", "jpeg", plain_jpeg(3));
}

void make_runs(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string run = (folder / "run").string();
  run_file_of(run, rows_of_p({0.5, 1, 0.25, std::nan("")}), {{"data", "one"}, {"seed", "0"}}, {{"command", "probust estimate"}},
              {{.index = 0, .label = 1, .predicted = 0, .logits = {0.5F, 0.25F}}});
  write(folder / "empty", "");
}

void make_texts(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int count = 0;
  for (const char* text :
       {"gaussian:0.1", "laplace:2@0..3", "uniform:0.1@!4,5+categorical:FILE.json", "gaussian:cov=FILE.npy:0.5",
        "samples:FILE.npy", "mmse:10:centered", "mc:p>0.9",
        "mc:\xc2\xb1"
        "0.01",
        "auto:50:independent", "0,1/2,3", "nchw", R"({"groups": [{"columns": [4, 5], "transitions": [[0.9, 0.1], [0.2, 0.8]]}]})",
        R"({"z": [0, "inf", -1], "R": [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]], "id": 7})", R"({"z": [1], "U": [[0.5]]})"})
    write(folder / std::to_string(++count), text);
}

int make(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "import");
  make_models(folder / "import");
  make_points(folder);
  make_runs(folder / "run");
  make_texts(folder / "text");
  return 0;
}

}  // namespace
}  // namespace probust::test

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: probust-fuzz-seeds FOLDER\n");
    return 2;
  }
  return probust::test::make(arguments[1]);
}
