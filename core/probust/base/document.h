// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace probust {

/// A value with named parts, as JSON and other languages have them: null, a whole or a real number, a text, a list, or an object
/// whose parts are in order. Names are as in files ("ci_low"). A real number that is not finite is null.
class Document {
 public:
  using List = std::vector<Document>;
  using Object = std::vector<std::pair<std::string, Document>>;

  Document() = default;
  Document(std::int64_t value) : value_(value) {}
  Document(double value);
  Document(std::string_view text) : value_(std::string(text)) {}
  Document(const std::string& text) : value_(text) {}
  Document(const char* text) : value_(std::string(text)) {}
  Document(List list) : value_(std::move(list)) {}
  Document(Object object) : value_(std::move(object)) {}
  template <typename T>
  Document(const std::optional<T>& value) : Document(value ? Document(*value) : Document()) {}

  /// Each described by `describe`.
  template <typename Items, typename Describe>
  static Document list(const Items& items, const Describe& describe) {
    List list;
    for (const auto& item : items) list.push_back(describe(item));
    return list;
  }
  static Document object() { return Object{}; }

  /// Adds a part. This must be an object.
  void add(std::string name, Document value);
  /// Adds the parts of another object.
  void add(const Document& object);

  template <typename Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

 private:
  std::variant<std::monostate, std::int64_t, double, std::string, List, Object> value_;
};

}  // namespace probust
