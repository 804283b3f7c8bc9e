// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/graph/attributes.h"

// Field numbers are those of AttributeProto in onnx.proto.
namespace probust::onnx {

/// The attributes of an exported node, written so far.
class NodeAttributes {
 public:
  NodeAttributes& add(std::string_view name, float value) {
    return write(name, 1, [&](auto& writer) { writer.add_float(2, value); });
  }
  NodeAttributes& add(std::string_view name, std::int64_t value) {
    return write(name, 2, [&](auto& writer) { writer.add_int64(3, value); });
  }
  NodeAttributes& add(std::string_view name, std::string_view value) {
    return write(name, 3, [&](auto& writer) { writer.add_bytes(4, value.data(), value.size()); });
  }
  NodeAttributes& add(std::string_view name, const std::vector<float>& values) {
    return write(name, 6, [&](auto& writer) {
      for (const float value : values) writer.add_float(7, value);
    });
  }
  NodeAttributes& add(std::string_view name, const std::vector<std::int64_t>& values) {
    return write(name, 7, [&](auto& writer) {
      for (const std::int64_t value : values) writer.add_int64(8, value);
    });
  }
  NodeAttributes& add(std::string_view name, const std::vector<std::string_view>& values) {
    return write(name, 8, [&](auto& writer) {
      for (const std::string_view value : values) writer.add_bytes(9, value.data(), value.size());
    });
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  template <class Value>
  NodeAttributes& write(std::string_view name, std::int32_t type, const Value& value) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(1, name.data(), name.size());
    value(writer);
    writer.add_int32(20, type);
    all_.push_back(std::move(bytes));
    return *this;
  }

  std::vector<std::string> all_;
};

/// The attributes of a TreeEnsembleRegressor. Empty if it cannot represent the trees: a membership test, or a node with two
/// parents.
std::optional<NodeAttributes> tree_attributes(const Trees& trees);

}  // namespace probust::onnx
