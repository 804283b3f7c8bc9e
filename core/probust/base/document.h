// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace probust {

/// A value with named parts, as JSON and other languages have them: null, a truth value, a whole or a real number, a text, a
/// list, or an object whose parts are in order. Names are as in files ("ci_low"). JSON and JavaScript write a real number that is
/// not finite as null.
class Document {
 public:
  using List = std::vector<Document>;
  using Object = std::vector<std::pair<std::string, Document>>;

  Document() = default;
  Document(std::nullptr_t) {}
  Document(bool value) : value_(value) {}
  template <std::integral T>
  Document(T value) : value_(static_cast<std::int64_t>(value)) {}
  Document(double value) : value_(value) {}
  Document(std::string_view text) : value_(std::string(text)) {}
  Document(const std::string& text) : value_(text) {}
  Document(const char* text) : value_(std::string(text)) {}
  Document(List list) : value_(std::move(list)) {}
  Document(Object object) : value_(std::move(object)) {}
  template <typename T>
  Document(const std::optional<T>& value) : Document(value ? Document(*value) : Document()) {}
  template <typename T>
  Document(const std::vector<T>& values) : value_(List(values.begin(), values.end())) {}

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
  /// The part of this name, added as null if there is none. This must be an object.
  Document& operator[](std::string_view name);
  /// Adds an item. This must be a list.
  void push_back(Document item);

  /// The value, or null if it is of another type: bool, std::int64_t, double, std::string, List or Object.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  /// A whole or a real number.
  std::optional<double> number() const;
  /// The value, of this type. Throws std::out_of_range.
  template <typename T>
  const T& as() const {
    return get_if<T>() != nullptr ? *get_if<T>() : throw std::out_of_range("a value of another type");
  }
  double as_number() const;
  /// The first part of this name; null if there is none, or if this is no object.
  const Document* find(std::string_view name) const;
  /// Item i of a list, or the part of this name. Throws std::out_of_range.
  const Document& at(std::size_t i) const;
  const Document& at(std::string_view name) const;

  template <typename Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value_;
};

}  // namespace probust
