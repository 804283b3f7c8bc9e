// SPDX-License-Identifier: MIT
// The extension module for packages that contain the library once for each of several instruction sets (packaging/).
#include <pybind11/pybind11.h>

extern "C" void probust_bind(PyObject* module);

PYBIND11_MODULE(_probust, module) { probust_bind(module.ptr()); }
