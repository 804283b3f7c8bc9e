// SPDX-License-Identifier: MIT
// Field numbers are those of onnx.proto (ONNX IR versions 3 to 11).
#include "probust/onnx/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/onnx/elements.h"
#include "probust/onnx/protozero_reader.h"

namespace probust::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

[[noreturn]] void unreadable(const std::string& where, const std::string& what) {
  throw Error{ErrorCode::unreadable, where, what, "the file may be damaged"};
}

// Reads any name of a model, and escapes characters that control a terminal. Different names stay different, unless one imitates
// the escapes of another.
std::string read_name(pbf_reader& message) { return printable(message.get_string()); }

// Repeated numbers are either packed in one field or stored one by one.
template <class T, class Packed, class Single>
void collect(pbf_reader& message, std::vector<T>& to, Packed packed, Single single) {
  if (message.wire_type() == pbf_wire_type::length_delimited) {
    for (const auto value : packed()) to.push_back(static_cast<T>(value));
  } else {
    to.push_back(static_cast<T>(single()));
  }
}

// A TensorProto whose elements are not interpreted yet.
struct RawTensor {
  std::string name;
  Shape dims;
  std::int32_t type = 0;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;
  protozero::data_view raw;
  std::vector<std::string> texts;
  bool external = false;
  std::map<std::string, std::string> place;  // where external data are: location, offset, length
};

void read_entry(pbf_reader message, std::map<std::string, std::string>& entries) {
  std::string key, value;
  while (message.next()) {
    if (message.tag() == 1) {
      key = message.get_string();
    } else if (message.tag() == 2) {
      value = message.get_string();
    } else {
      message.skip();
    }
  }
  entries[key] = value;
}

RawTensor read_fields(pbf_reader message) {
  RawTensor t;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        collect(
            message, t.dims, [&] { return message.get_packed_int64(); }, [&] { return message.get_int64(); });
        break;
      case 2:
        t.type = message.get_int32();
        break;
      case 4:
        collect(
            message, t.floats, [&] { return message.get_packed_float(); }, [&] { return message.get_float(); });
        break;
      case 5:
        collect(
            message, t.integers, [&] { return message.get_packed_int32(); }, [&] { return message.get_int32(); });
        break;
      case 6:
        t.texts.push_back(message.get_string());
        break;
      case 7:
        collect(
            message, t.integers, [&] { return message.get_packed_int64(); }, [&] { return message.get_int64(); });
        break;
      case 8:
        t.name = read_name(message);
        break;
      case 9:
        t.raw = message.get_view();
        break;
      case 10:
        collect(
            message, t.doubles, [&] { return message.get_packed_double(); }, [&] { return message.get_double(); });
        break;
      case 11: {
        std::vector<std::uint64_t> values;
        collect(
            message, values, [&] { return message.get_packed_uint64(); }, [&] { return message.get_uint64(); });
        for (const std::uint64_t value : values) t.integers.push_back(from_unsigned(value));
        break;
      }
      case 13:
        t.external = true;
        read_entry(message.get_message(), t.place);
        break;
      case 14: {
        const bool elsewhere = message.get_int32() == 1;
        t.external = t.external || elsewhere;
        break;
      }
      default:
        message.skip();
    }
  }
  return t;
}

// The number of elements that a tensor declares. Callers must compare it with the number of bytes present.
std::int64_t declared_count(const Shape& dims, const std::string& where) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) {
    if (extent < 0) unreadable(where, "has a negative extent in its shape " + to_string(dims));
    count = extent > 0 && count > kMost / extent ? kMost : count * extent;
  }
  return count;
}

std::vector<float> elements_of(RawTensor& t, std::int64_t count, const std::string& where) {
  std::vector<float> values;
  const auto mismatch = [&](std::size_t found) {
    unreadable(where, "has " + std::to_string(found) + " values, but its shape " + to_string(t.dims) + " needs " +
                          std::to_string(count));
  };
  if (t.raw.size() > 0) {
    const std::size_t size = type_size(t.type);
    // Checked before memory for the elements is allocated.
    if (t.raw.size() % size != 0 || static_cast<std::int64_t>(t.raw.size() / size) != count) mismatch(t.raw.size() / size);
    values.resize(static_cast<std::size_t>(count));
    if (t.type == kFloat) {
      std::memcpy(values.data(), t.raw.data(), t.raw.size());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_from_raw(t.raw.data() + i * size, t.type, where);
    }
    return values;
  }
  const std::size_t found = std::max({t.floats.size(), t.doubles.size(), t.integers.size()});
  if (static_cast<std::int64_t>(found) != count) mismatch(found);
  if (!t.floats.empty()) return std::move(t.floats);
  values.reserve(found);
  if (values.empty()) {
    for (const double value : t.doubles) values.push_back(static_cast<float>(value));
  }
  if (values.empty()) {
    for (const std::int64_t value : t.integers) {
      const auto bits = static_cast<std::uint16_t>(value);  // 16-bit floats are stored as bit patterns in int32_data
      values.push_back(t.type == kFloat16    ? widen_float16(bits)
                       : t.type == kBfloat16 ? widen_bfloat16(bits)
                                             : exact_integer(value, where));
    }
  }
  return values;
}

// State shared by the reading functions.
struct Context {
  const ExternalFiles* external = nullptr;
  std::size_t* external_bytes = nullptr;
  int depth = 0;

  Context inner() const { return {external, external_bytes, depth + 1}; }
};

std::int64_t place_number(const RawTensor& t, const std::string& key, std::int64_t otherwise, const std::string& where) {
  const auto found = t.place.find(key);
  if (found == t.place.end()) return otherwise;
  const auto number = parse_integer(found->second);
  if (!number || *number < 0) unreadable(where, "has the " + key + " '" + found->second + "', which is not a whole number >= 0");
  return *number;
}

// Finds the bytes of a tensor that is stored in another file.
void find_external(RawTensor& t, const Context& context, const std::string& where) {
  if (context.external == nullptr || !*context.external)
    throw Error{ErrorCode::unsupported, where, "is stored in another file", "save the model and its weights as a single file"};
  const std::span<const std::byte> file = (*context.external)(t.place["location"]);
  const auto size = static_cast<std::int64_t>(file.size());
  const std::int64_t offset = place_number(t, "offset", 0, where);
  const std::int64_t length = place_number(t, "length", std::max<std::int64_t>(0, size - offset), where);
  if (offset > size || length > size - offset) unreadable(where, "extends beyond the end of '" + t.place["location"] + "'");
  t.raw = {reinterpret_cast<const char*>(file.data()) + offset, static_cast<std::size_t>(length)};
  if (context.external_bytes != nullptr) *context.external_bytes += static_cast<std::size_t>(length);
}

HostTensor read_named_tensor(pbf_reader message, const Context& context, std::string* name) {
  RawTensor t = read_fields(message);
  if (name != nullptr) *name = t.name;
  const std::string where = "tensor '" + t.name + "'";
  if (t.external) find_external(t, context, where);
  if (t.type == kString) return {nullptr, std::move(t.texts), false, kString};
  if (!t.texts.empty() || type_size(t.type) == 0)
    throw Error{ErrorCode::unsupported, where, "has " + type_name(t.type) + " values", "use numbers"};
  std::vector<float> values = elements_of(t, declared_count(t.dims, where), where);
  return {std::make_shared<const Tensor>(std::move(t.dims), std::move(values)), {}, is_integer(t.type), t.type};
}

// Attributes of nodes may contain graphs, which have nodes. This limit keeps deeply nested files from overflowing the stack.
constexpr int kDeepestGraph = 16;

GraphProto read_graph(pbf_reader message, const Context& context);

AttributeProto read_attribute(pbf_reader message, const Context& context) {
  AttributeProto a;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        a.name = read_name(message);
        break;
      case 2:
        a.f = message.get_float();
        break;
      case 3:
        a.i = message.get_int64();
        break;
      case 4:
        a.s = message.get_string();
        break;
      case 5:
        a.t = read_named_tensor(message.get_message(), context, nullptr);
        a.has_tensor = true;
        break;
      case 6:
        a.g = std::make_shared<const GraphProto>(read_graph(message.get_message(), context.inner()));
        break;
      case 7:
        collect(
            message, a.floats, [&] { return message.get_packed_float(); }, [&] { return message.get_float(); });
        break;
      case 8:
        collect(
            message, a.ints, [&] { return message.get_packed_int64(); }, [&] { return message.get_int64(); });
        break;
      case 9:
        a.strings.push_back(message.get_string());
        break;
      case 20:
        a.type = message.get_enum();
        break;
      case 21:
        a.reference = read_name(message);
        break;
      default:
        message.skip();
    }
  }
  return a;
}

NodeProto read_node(pbf_reader message, const Context& context) {
  NodeProto node;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        node.inputs.push_back(read_name(message));
        break;
      case 2:
        node.outputs.push_back(read_name(message));
        break;
      case 3:
        node.name = read_name(message);
        break;
      case 4:
        node.op_type = read_name(message);
        break;
      case 5: {
        AttributeProto attribute = read_attribute(message.get_message(), context);
        node.attributes[attribute.name] = std::move(attribute);
        break;
      }
      case 7:
        node.domain = read_name(message);
        break;
      default:
        message.skip();
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

std::int64_t read_dimension(pbf_reader message) {
  std::int64_t value = -1;
  while (message.next()) {
    if (message.tag() == 1) {
      value = message.get_int64();
    } else {
      message.skip();
    }
  }
  return value;
}

void read_tensor_type(pbf_reader message, ValueInfo& info) {
  while (message.next()) {
    if (message.tag() == 1) {
      info.element_type = message.get_int32();
      info.type = type_name(info.element_type);
    } else if (message.tag() == 2) {
      info.has_shape = true;
      pbf_reader shape = message.get_message();
      while (shape.next()) {
        if (shape.tag() == 1) {
          info.shape.push_back(read_dimension(shape.get_message()));
        } else {
          shape.skip();
        }
      }
    } else {
      message.skip();
    }
  }
}

ValueInfo read_value_info(pbf_reader message) {
  ValueInfo info;
  info.type = "other";
  while (message.next()) {
    if (message.tag() == 1) {
      info.name = read_name(message);
    } else if (message.tag() == 2) {
      pbf_reader type = message.get_message();
      while (type.next()) {
        if (type.tag() == 1) {
          read_tensor_type(type.get_message(), info);
        } else {
          if (type.tag() == 4) info.type = "sequence";
          type.skip();
        }
      }
    } else {
      message.skip();
    }
  }
  return info;
}

GraphProto read_graph(pbf_reader message, const Context& context) {
  if (context.depth > kDeepestGraph)
    unreadable("the model's graph", "has graphs nested more than " + std::to_string(kDeepestGraph) + " levels deep");
  GraphProto graph;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        graph.nodes.push_back(read_node(message.get_message(), context));
        break;
      case 2:
        graph.name = read_name(message);
        break;
      case 5: {
        std::string name;
        HostTensor tensor = read_named_tensor(message.get_message(), context, &name);
        if (!graph.initializers.emplace(name, std::move(tensor)).second) unreadable("tensor '" + name + "'", "is defined twice");
        break;
      }
      case 11:
        graph.inputs.push_back(read_value_info(message.get_message()));
        break;
      case 12:
        graph.outputs.push_back(read_value_info(message.get_message()));
        break;
      case 15:
        throw Error{ErrorCode::unsupported, "the model's graph", "has sparse weights", "save them as dense tensors"};
      default:
        message.skip();
    }
  }
  return graph;
}

void read_opset(pbf_reader message, Opsets& opsets) {
  std::string domain;
  std::int64_t version = 0;
  while (message.next()) {
    if (message.tag() == 1) {
      domain = read_name(message);
    } else if (message.tag() == 2) {
      version = message.get_int64();
    } else {
      message.skip();
    }
  }
  opsets[domain == "ai.onnx" ? "" : domain] = version;
}

FunctionProto read_function(pbf_reader message, const Context& context) {
  FunctionProto function;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        function.name = read_name(message);
        break;
      case 4:
        function.inputs.push_back(read_name(message));
        break;
      case 5:
        function.outputs.push_back(read_name(message));
        break;
      case 7:
        function.nodes.push_back(read_node(message.get_message(), context));
        break;
      case 9:
        read_opset(message.get_message(), function.opsets);
        break;
      case 10:
        function.domain = read_name(message);
        break;
      case 11: {
        AttributeProto attribute = read_attribute(message.get_message(), context);
        function.defaults[attribute.name] = std::move(attribute);
        break;
      }
      default:
        message.skip();
    }
  }
  if (function.domain == "ai.onnx") function.domain.clear();
  return function;
}

ModelProto read_fields_of_model(std::span<const std::byte> bytes, const ExternalFiles& external) {
  ModelProto model;
  const Context context{&external, &model.external_bytes};
  bool graph = false;
  pbf_reader message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        model.ir_version = message.get_int64();
        break;
      case 2:
        model.producer_name = read_name(message);
        break;
      case 3:
        model.producer_version = read_name(message);
        break;
      case 7:
        model.graph = read_graph(message.get_message(), context);
        graph = true;
        break;
      case 8:
        read_opset(message.get_message(), model.opsets);
        break;
      case 14:
        read_entry(message.get_message(), model.metadata);
        break;
      case 25: {
        FunctionProto function = read_function(message.get_message(), context);
        auto key = std::pair(function.domain, function.name);
        model.functions.insert_or_assign(std::move(key), std::move(function));
        break;
      }
      default:
        message.skip();
    }
  }
  if (!graph)
    throw Error{ErrorCode::unreadable, "the model", "is not an ONNX model: it has no graph", "give a file exported as .onnx"};
  return model;
}

}  // namespace

ModelProto read_model(std::span<const std::byte> bytes, const ExternalFiles& external) {
  if (bytes.empty()) throw Error{ErrorCode::unreadable, "the model", "is empty", "give an ONNX file"};
  if (is_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    throw Error{ErrorCode::unreadable, "the model", kLfsProblem, kLfsHint};
  try {
    return read_fields_of_model(bytes, external);
  } catch (const protozero::exception&) {
    throw Error{ErrorCode::unreadable, "the model", "is not an ONNX model, or is truncated", "give a file exported as .onnx"};
  }
}

HostTensor read_tensor(std::span<const std::byte> bytes) {
  try {
    return read_named_tensor(pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()), {}, nullptr);
  } catch (const protozero::exception&) {
    throw Error{ErrorCode::unreadable, "the tensor", "is not an ONNX tensor, or is truncated", ""};
  }
}

}  // namespace probust::onnx
