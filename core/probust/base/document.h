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

/// A value as in JSON and similar formats: null, a boolean, a whole or real number, a string, a list, or an object with ordered
/// members. Names are spelled as in files ("ci_low"). JSON and JavaScript write real numbers that are not finite as null.
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

  /// A list with one item for each element, converted by `describe`.
  template <typename Items, typename Describe>
  static Document list(const Items& items, const Describe& describe) {
    List list;
    for (const auto& item : items) list.push_back(describe(item));
    return list;
  }
  static Document object() { return Object{}; }
  /// Null instead of an empty text.
  static Document text_or_null(std::string_view text) { return text.empty() ? Document() : Document(text); }

  /// Adds a member to this object.
  void add(std::string name, Document value);
  /// Adds the members of another object.
  void add(const Document& object);
  /// The member of this name, added as null if it is missing. This must be an object.
  Document& operator[](std::string_view name);
  /// Adds an item to this list.
  void push_back(Document item);

  /// The value, or null if it is of a different type: bool, std::int64_t, double, std::string, List or Object.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  /// A whole or real number.
  std::optional<double> number() const;
  /// The value as this type. Throws std::out_of_range if it has a different type.
  template <typename T>
  const T& as() const {
    return get_if<T>() != nullptr ? *get_if<T>() : throw std::out_of_range("a value of another type");
  }
  double as_number() const;
  /// The first member of this name; null if there is none, or if this is not an object.
  const Document* find(std::string_view name) const;
  /// Item i of a list, or the member of this name. Throws std::out_of_range.
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
