// SPDX-License-Identifier: MIT
// The extension module of packages whose library is installed for several instruction sets (packaging/).
#include <pybind11/pybind11.h>

extern "C" void probust_bind(PyObject* module);

PYBIND11_MODULE(_probust, module) { probust_bind(module.ptr()); }
