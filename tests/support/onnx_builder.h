// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "probust/base/tensor.h"

// Writes small ONNX files for tests, field by field.
namespace probust::test {

/// The values as bytes, in the form in which a file stores them.
template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A TensorProto whose ONNX data type is number `type`, with elements given as raw bytes.
inline std::string encode_tensor(const Shape& shape, std::int32_t type, const std::string& raw, const std::string& name = {}) {
  std::string bytes;
  protozero::pbf_writer w(bytes);
  for (const std::int64_t extent : shape) w.add_int64(1, extent);
  w.add_int32(2, type);
  w.add_string(8, name);
  w.add_bytes(9, raw);
  return bytes;
}

/// A TensorProto of float32.
inline std::string encode_tensor(const Tensor& tensor, const std::string& name = {}) {
  return encode_tensor(tensor.shape, 1, raw_bytes(tensor.data), name);
}

/// A TensorProto of float32 with external data: bytes offset .. offset + length - 1 of the file `location`.
inline std::string encode_external(const Shape& shape, const std::string& name, const std::string& location,
                                   const std::string& offset, const std::string& length) {
  const auto entry = [](const std::string& key, const std::string& value) {
    std::string bytes;
    protozero::pbf_writer w(bytes);
    w.add_string(1, key);
    w.add_string(2, value);
    return bytes;
  };
  std::string bytes;
  protozero::pbf_writer w(bytes);
  for (const std::int64_t extent : shape) w.add_int64(1, extent);
  w.add_int32(2, 1);
  w.add_string(8, name);
  w.add_message(13, entry("location", location));
  w.add_message(13, entry("offset", offset));
  w.add_message(13, entry("length", length));
  w.add_enum(14, 1);
  return bytes;
}

/// One attribute of a node.
class OnnxAttribute {
 public:
  static OnnxAttribute number(const std::string& name, float value) {
    return {name, 1, [&](Writer& w) { w.add_float(2, value); }};
  }
  static OnnxAttribute integer(const std::string& name, std::int64_t value) {
    return {name, 2, [&](Writer& w) { w.add_int64(3, value); }};
  }
  static OnnxAttribute text(const std::string& name, const std::string& value) {
    return {name, 3, [&](Writer& w) { w.add_string(4, value); }};
  }
  /// `encoded` is a TensorProto.
  static OnnxAttribute tensor(const std::string& name, const std::string& encoded) {
    return {name, 4, [&](Writer& w) { w.add_message(5, encoded); }};
  }
  static OnnxAttribute tensor(const std::string& name, const Tensor& value) { return tensor(name, encode_tensor(value)); }
  /// `encoded` is a GraphProto: OnnxBuilder::graph().
  static OnnxAttribute graph(const std::string& name, const std::string& encoded) {
    return {name, 5, [&](Writer& w) { w.add_message(6, encoded); }};
  }
  static OnnxAttribute numbers(const std::string& name, const std::vector<float>& values) {
    return {name, 6, [&](Writer& w) {
              for (const float value : values) w.add_float(7, value);
            }};
  }
  static OnnxAttribute ints(const std::string& name, const std::vector<std::int64_t>& values) {
    return {name, 7, [&](Writer& w) {
              for (const std::int64_t value : values) w.add_int64(8, value);
            }};
  }
  static OnnxAttribute texts(const std::string& name, const std::vector<std::string>& values) {
    return {name, 8, [&](Writer& w) {
              for (const std::string& value : values) w.add_string(9, value);
            }};
  }
  /// For use inside a function: refers to the caller's attribute `reference`.
  static OnnxAttribute from_caller(const std::string& name, const std::string& reference, std::int32_t type) {
    return {name, type, [&](Writer& w) { w.add_string(21, reference); }};
  }

  std::string name;
  std::string bytes;  ///< the encoded AttributeProto

 private:
  using Writer = protozero::pbf_writer;

  // Writes the fields common to all attributes; `write` adds those of its type.
  template <class Write>
  OnnxAttribute(const std::string& attribute_name, std::int32_t type, Write write) : name(attribute_name) {
    Writer w(bytes);
    w.add_string(1, name);
    write(w);
    w.add_enum(20, type);
  }
};

/// Collects a graph and encodes it as a ModelProto.
class OnnxBuilder {
 public:
  explicit OnnxBuilder(std::int64_t opset = 17) : opset_(opset) {}

  OnnxBuilder& input(const std::string& name, const Shape& shape) { return port(11, name, shape, 1); }
  OnnxBuilder& output(const std::string& name, const Shape& shape = {}) { return port(12, name, shape, 1); }
  OnnxBuilder& integer_input(const std::string& name, const Shape& shape) { return port(11, name, shape, 7); }

  OnnxBuilder& node(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out,
                    const std::vector<OnnxAttribute>& attributes = {}, const std::string& domain = {}) {
    std::string bytes;
    protozero::pbf_writer w(bytes);
    for (const std::string& name : in) w.add_string(1, name);
    for (const std::string& name : out) w.add_string(2, name);
    w.add_string(3, "n" + std::to_string(count_++));
    w.add_string(4, op);
    for (const OnnxAttribute& attribute : attributes) w.add_message(5, attribute.bytes);
    if (!domain.empty()) w.add_string(7, domain);
    protozero::pbf_writer(graph_).add_message(1, bytes);
    nodes_.push_back(bytes);
    return *this;
  }

  OnnxBuilder& weight(const std::string& name, const Tensor& tensor) { return initializer(encode_tensor(tensor, name)); }

  /// Adds a vector or, with `shape`, a tensor of integers.
  OnnxBuilder& integers(const std::string& name, const std::vector<std::int64_t>& values, const Shape& shape = {}) {
    std::string bytes;
    protozero::pbf_writer w(bytes);
    if (shape.empty()) w.add_int64(1, static_cast<std::int64_t>(values.size()));
    for (const std::int64_t extent : shape) w.add_int64(1, extent);
    w.add_int32(2, 7);
    w.add_packed_int64(7, values.begin(), values.end());
    w.add_string(8, name);
    return initializer(bytes);
  }

  /// Adds a vector of texts.
  OnnxBuilder& texts(const std::string& name, const std::vector<std::string>& values) {
    std::string bytes;
    protozero::pbf_writer w(bytes);
    w.add_int64(1, static_cast<std::int64_t>(values.size()));
    w.add_int32(2, 8);
    for (const std::string& value : values) w.add_string(6, value);
    w.add_string(8, name);
    return initializer(bytes);
  }

  /// Adds an entry to the model's metadata.
  OnnxBuilder& metadata(const std::string& key, const std::string& value) {
    metadata_.emplace_back(key, value);
    return *this;
  }

  OnnxBuilder& integer_output(const std::string& name, const Shape& shape) { return port(12, name, shape, 7); }
  OnnxBuilder& text_output(const std::string& name, const Shape& shape) { return port(12, name, shape, 8); }

  /// Adds an initializer that is given as an encoded TensorProto.
  OnnxBuilder& initializer(const std::string& bytes) {
    protozero::pbf_writer(graph_).add_message(5, bytes);
    return *this;
  }

  /// Adds a model-local function "custom.NAME" that consists of the nodes in `body`.
  OnnxBuilder& function(const std::string& name, const std::vector<std::string>& in, const std::vector<std::string>& out,
                        const OnnxBuilder& body) {
    std::string bytes, opset;
    protozero::pbf_writer(opset).add_int64(2, opset_);
    protozero::pbf_writer w(bytes);
    w.add_string(1, name);
    for (const std::string& operand : in) w.add_string(4, operand);
    for (const std::string& result : out) w.add_string(5, result);
    for (const std::string& node : body.nodes_) w.add_message(7, node);
    w.add_message(9, opset);
    w.add_string(10, "custom");
    functions_.push_back(bytes);
    return *this;
  }

  /// The graph alone, for an attribute that contains a graph.
  const std::string& graph() const { return graph_; }

  std::string bytes() const {
    std::string model, opset;
    protozero::pbf_writer(opset).add_int64(2, opset_);
    protozero::pbf_writer w(model);
    w.add_int64(1, 8);
    w.add_string(2, "test");
    w.add_message(7, graph_);
    w.add_message(8, opset);
    for (const auto& [key, value] : metadata_) {
      std::string entry;
      protozero::pbf_writer e(entry);
      e.add_string(1, key);
      e.add_string(2, value);
      w.add_message(14, entry);
    }
    for (const std::string& function : functions_) w.add_message(25, function);
    return model;
  }

 private:
  OnnxBuilder& port(protozero::pbf_tag_type field, const std::string& name, const Shape& shape, std::int32_t type) {
    std::string dims, tensor, whole, info;
    for (const std::int64_t extent : shape) {
      std::string dim;
      if (extent >= 0) {
        protozero::pbf_writer(dim).add_int64(1, extent);
      } else {
        protozero::pbf_writer(dim).add_string(2, "batch");
      }
      protozero::pbf_writer(dims).add_message(1, dim);
    }
    {
      protozero::pbf_writer w(tensor);
      w.add_int32(1, type);
      w.add_message(2, dims);
    }
    protozero::pbf_writer(whole).add_message(1, tensor);
    {
      protozero::pbf_writer w(info);
      w.add_string(1, name);
      w.add_message(2, whole);
    }
    protozero::pbf_writer(graph_).add_message(field, info);
    return *this;
  }

  std::int64_t opset_;
  int count_ = 0;
  std::string graph_;
  std::vector<std::string> nodes_, functions_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

/// The fields of a message, each with its tag and wire type as in the file.
inline std::vector<std::pair<protozero::pbf_tag_type, std::string>> encoded_fields(const std::string& bytes) {
  std::vector<std::pair<protozero::pbf_tag_type, std::string>> fields;
  for (protozero::pbf_reader message(bytes); message.next();) {
    const protozero::pbf_tag_type tag = message.tag();  // reading the field clears it
    std::string field;
    protozero::pbf_writer w(field);
    if (message.wire_type() == protozero::pbf_wire_type::varint) {
      w.add_int64(tag, message.get_int64());
    } else {
      w.add_bytes(tag, message.get_string());
    }
    fields.emplace_back(tag, field);
  }
  return fields;
}

/// The model with its nodes in reverse order, as keras2onnx may write them.
inline std::string with_reversed_nodes(const std::string& model) {
  std::string result;
  for (const auto& [tag, field] : encoded_fields(model)) {
    if (tag != 7) {
      result += field;
      continue;
    }
    protozero::pbf_reader reader(field);
    reader.next();
    std::string nodes, others;
    for (const auto& [inner, bytes] : encoded_fields(reader.get_string())) {
      if (inner == 1) {
        nodes.insert(0, bytes);
      } else {
        others += bytes;
      }
    }
    protozero::pbf_writer(result).add_message(7, others + nodes);
  }
  return result;
}

}  // namespace probust::test
