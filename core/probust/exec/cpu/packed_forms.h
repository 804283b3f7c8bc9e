// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "probust/base/tensor.h"

namespace probust::cpu {

/// The kind of a packed form of a constant, which depends on the kernel that reads it.
enum class Form : std::int64_t { matrix, strips, filter, tiles, coefficients };

/// A packed form of a constant, shared between programs such as the forward and backward sweeps of a network. `order`
/// distinguishes forms of the same kind. Calls make() to create the form if it does not exist yet.
std::shared_ptr<const void> shared_form(const std::shared_ptr<const Tensor>& constant, Form form, std::vector<std::int64_t> order,
                                        const std::function<std::shared_ptr<const void>()>& make);

/// shared_form for a make() that returns a std::shared_ptr<const T>.
template <class T, class Make>
std::shared_ptr<const T> shared_form(const std::shared_ptr<const Tensor>& constant, Form form, std::vector<std::int64_t> order,
                                     const Make& make) {
  const std::function<std::shared_ptr<const void>()> erased = [&] { return std::shared_ptr<const T>(make()); };
  return std::static_pointer_cast<const T>(shared_form(constant, form, std::move(order), erased));
}

}  // namespace probust::cpu
