// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/moments/moments.h"

namespace probust {

/// Appends the moments of a node's value, given the moments of its operands, at least one of which is random. To add an
/// operator's rule, add it to the table in rules.cpp. Throws Error{unsupported} for an operator without a rule.
Moments moments_of(Graph& g, const Node& node, std::span<const Moments> operands);

}  // namespace probust
