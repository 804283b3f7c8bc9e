// SPDX-License-Identifier: MIT
//
// Converts documents to and from JSON and CBOR.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/document.h"

namespace probust::datasets {

/// JSON on one line or, with a non-negative `indent`, on several indented lines. Names from users need not be UTF-8: invalid
/// bytes become U+FFFD. Numbers that are not finite become null.
std::string json_text(const Document& document, int indent = -1);

/// Parses JSON; empty if the text is not JSON. An object may contain a key several times. Integers beyond 64 bits become real
/// numbers.
std::optional<Document> parse_json(std::string_view text);

/// CBOR preserves the bits of numbers, including NaN.
std::vector<std::byte> to_cbor(const Document& document);
std::optional<Document> parse_cbor(std::span<const std::byte> bytes);

}  // namespace probust::datasets
