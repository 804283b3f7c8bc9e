// SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace probust::python {

/// Blocks until the process ends.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Makes a call that may wait for the interpreter's lock. Before Python 3.14, a finalizing interpreter ends the threads that
/// wait for its lock, and glibc unwinds their stacks as if for an exception. Destructors and handlers do not expect that, so
/// such a thread waits here until the process ends, as it does in later versions.
template <class Call>
auto call_python(const Call& call) {
#ifdef _CXXABI_FORCED_H
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
#else
  return call();
#endif
}

/// Releases the interpreter's lock for its lifetime.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    call_python([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Runs `work`, which must not call Python, without the interpreter's lock.
template <class Work>
auto unlocked(const Work& work) {
  const Unlocked released;
  return work();
}

/// Calls a Python function. Throws the function's exceptions.
template <class... Objects>
pybind11::object result_of(const pybind11::object& function, const Objects&... arguments) {
  PyObject* const result = call_python([&] { return PyObject_CallFunctionObjArgs(function.ptr(), arguments.ptr()..., nullptr); });
  if (result == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(result);
}

}  // namespace probust::python
