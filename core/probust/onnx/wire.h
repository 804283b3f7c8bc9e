// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probust/base/tensor.h"

// ONNX's protobuf messages as plain values: the fields that probust reads, bounds-checked, without any knowledge of operators.
namespace probust::onnx {

/// A tensor widened to float32. Integers and booleans are carried as floats too: they are sizes, axes and indices, exact up to
/// 2^24, and the sentinels near 2^63 stay huge. An integer between, which float32 would round, is refused.
struct HostTensor {
  std::shared_ptr<const Tensor> values;  ///< shared with the graph, so that there is one copy of the weights
  bool integer = false;
};

struct AttributeProto {
  std::string name;
  std::int64_t type = 0;  ///< of AttributeType: what the attribute says it holds; 0 where it does not say
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  HostTensor t;
  bool has_tensor = false, has_graph = false;
};

/// What an attribute may say it holds.
enum AttributeType : std::int64_t { kFloatAttribute = 1, kIntAttribute = 2, kStringAttribute = 3, kIntsAttribute = 7 };

struct NodeProto {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;  ///< an empty name is an operand left out
  std::map<std::string, AttributeProto> attributes;
};

struct ValueInfo {
  std::string name;
  std::string type;  ///< "float32", "int64", ..., "sequence" or "other"
  Shape shape;       ///< -1 where symbolic or missing
  bool has_shape = false;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version;
  std::map<std::string, std::int64_t> opsets;  ///< by domain; "" is ai.onnx
  std::string graph_name;
  std::vector<NodeProto> nodes;
  std::map<std::string, HostTensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

/// Reads a model. Throws Error{unreadable} where the bytes are not one, Error{unsupported} for weights in other files.
ModelProto read_model(std::span<const std::byte> bytes);

}  // namespace probust::onnx
