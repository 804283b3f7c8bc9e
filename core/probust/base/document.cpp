// SPDX-License-Identifier: MIT
#include "probust/base/document.h"

namespace probust {

void Document::add(std::string name, Document value) { std::get<Object>(value_).emplace_back(std::move(name), std::move(value)); }

void Document::add(const Document& object) {
  for (const auto& [name, value] : std::get<Object>(object.value_)) add(name, value);
}

Document& Document::operator[](std::string_view name) {
  Object& object = std::get<Object>(value_);
  for (auto& [known, value] : object) {
    if (known == name) return value;
  }
  return object.emplace_back(name, Document()).second;
}

void Document::push_back(Document item) { std::get<List>(value_).push_back(std::move(item)); }

std::optional<double> Document::number() const {
  if (const auto* whole = get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* real = get_if<double>()) return *real;
  return {};
}

double Document::as_number() const {
  const std::optional<double> value = number();
  return value ? *value : throw std::out_of_range("not a number");
}

const Document* Document::find(std::string_view name) const {
  const auto* object = get_if<Object>();
  if (object == nullptr) return nullptr;
  for (const auto& [known, value] : *object) {
    if (known == name) return &value;
  }
  return nullptr;
}

const Document& Document::at(std::size_t i) const { return as<List>().at(i); }

const Document& Document::at(std::string_view name) const {
  const Document* part = find(name);
  if (part == nullptr) throw std::out_of_range("no part '" + std::string(name) + "'");
  return *part;
}

}  // namespace probust
