// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/onnx/external.h"

// ONNX's protobuf messages as plain structs with the fields that probust reads, bounds-checked. Nothing here depends on
// operators.
namespace probust::onnx {

/// A tensor converted to float32. Integers and booleans are also stored as floats. As sizes, axes and indices, they are exact up
/// to 2^24, and sentinels near 2^63 stay huge; integers in between, which float32 would round, are rejected.
struct HostTensor {
  std::shared_ptr<const Tensor> values;  ///< shared with the graph, so that weights exist only once; null for texts
  std::vector<std::string> texts;        ///< for a tensor of texts, such as class names
  bool integer = false;
  std::int32_t type = 0;  ///< ONNX's number for the element type
};

struct GraphProto;

struct AttributeProto {
  std::string name;
  std::string reference;  ///< in a function, the name of the caller's attribute to use instead; otherwise empty
  std::int64_t type = 0;  ///< an AttributeType: the declared type; 0 if not declared
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  HostTensor t;
  bool has_tensor = false;
  std::shared_ptr<const GraphProto> g;  ///< null if the attribute has no graph
};

/// The type that an attribute declares.
enum AttributeType : std::int64_t {
  kFloatAttribute = 1,
  kIntAttribute = 2,
  kStringAttribute = 3,
  kFloatsAttribute = 6,
  kIntsAttribute = 7,
  kStringsAttribute = 8
};

struct NodeProto {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;  ///< an empty name is an omitted operand
  std::map<std::string, AttributeProto> attributes;
};

struct ValueInfo {
  std::string name;
  std::string type;  ///< "float32", "int64", ..., "sequence" or "other"
  std::int32_t element_type = 0;
  Shape shape;  ///< -1 where symbolic or missing
  bool has_shape = false;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::map<std::string, HostTensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

using Opsets = std::map<std::string, std::int64_t>;  ///< versions by domain; "" is ai.onnx

/// An operator that the model defines as a graph of others.
struct FunctionProto {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<NodeProto> nodes;
  std::map<std::string, AttributeProto> defaults;  ///< attributes that a caller may omit
  Opsets opsets;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version;
  Opsets opsets;
  GraphProto graph;
  std::map<std::string, std::string> metadata;                             ///< the model's properties
  std::size_t external_bytes = 0;                                          ///< bytes of weights read from other files
  std::map<std::pair<std::string, std::string>, FunctionProto> functions;  ///< by domain and name
};

/// Reads a model. Throws Error{unreadable} if the bytes are not a model, or if a tensor's data are not at the declared location;
/// Error{unsupported} if weights are in other files and `external` is not set.
ModelProto read_model(std::span<const std::byte> bytes, const ExternalFiles& external = {});

/// Reads one tensor in the format of ONNX's test inputs and outputs. Throws like read_model.
HostTensor read_tensor(std::span<const std::byte> bytes);

}  // namespace probust::onnx
