// SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/pybind11.h>

namespace probust::python {

/// Adds the function `accuracies` to the module.
void bind_accuracies(pybind11::module_& module);

}  // namespace probust::python
