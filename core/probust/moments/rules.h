// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "probust/moments/moments.h"

namespace probust {

/// Appends what a node makes of the moments of its operands, at least one of which is random. The one place to add an operator's
/// rule is the table in rules.cpp. Throws Error{unsupported} for an operator without one.
Moments moments_of(Graph& g, const Node& node, std::span<const Moments> operands);

}  // namespace probust
