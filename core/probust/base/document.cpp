// SPDX-License-Identifier: MIT
#include "probust/base/document.h"

#include <cmath>

namespace probust {

Document::Document(double value) {
  if (std::isfinite(value)) value_ = value;
}

void Document::add(std::string name, Document value) { std::get<Object>(value_).emplace_back(std::move(name), std::move(value)); }

void Document::add(const Document& object) {
  for (const auto& [name, value] : std::get<Object>(object.value_)) add(name, value);
}

}  // namespace probust
