// SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/pybind11.h>

namespace probust::python {

/// Adds the functions that read and generate points: read, read_names, make.
void bind_data(pybind11::module_& module);

}  // namespace probust::python
