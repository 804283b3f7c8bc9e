// SPDX-License-Identifier: MIT
// Noise whose texts name Python objects.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "datasets/noise_files.h"
#include "probust/perturb/noise_text.h"
#include "python/arrays.h"
#include "python/worker.h"

namespace probust::python {

// Calls a Python function with these arrays, and converts its result to a tensor.
template <class... Arrays>
Tensor numbers_of(const char* name, const py::object& function, const Arrays&... arrays) {
  const py::object result = result_of(function, arrays...);
  try {
    return call_python([&] { return tensor_of(py::cast<Floats>(result)); });
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    throw Error{ErrorCode::usage, name, "did not return numbers: " + std::string(py::str(error.value())), "return an array"};
  } catch (const py::cast_error&) {
    throw Error{ErrorCode::usage, name, "did not return numbers", "return an array"};
  }
}

// Converts a tuple (function, latents) from Python. Only one worker thread at a time calls the function.
inline OwnPerturbation perturbation_of(const py::tuple& entry, const std::shared_ptr<Worker>& worker) {
  const auto function = std::make_shared<py::object>(entry[0]);
  const auto turn = std::make_shared<std::mutex>();
  OwnPerturbation own;
  own.latents = py::cast<std::int64_t>(entry[1]);
  own.function = [=](Tensor x, Tensor z) {
    const std::lock_guard lock(*turn);
    Tensor result;
    worker->in_python([&] { result = numbers_of("noise", *function, array_of(std::move(x)), array_of(std::move(z))); });
    return result;
  };
  return own;
}

// `named` maps names in the texts to what stands for their files: an array, JSON text of categories, or a perturbation (function,
// latents). Other names are those of files.
inline std::vector<Noise> noises_of(const std::vector<std::string>& texts, const py::dict& named,
                                    const std::shared_ptr<Worker>& worker) {
  NoiseSource source = datasets::noise_files();
  source.array = [files = source.array, named](const std::string& name) {
    if (!named.contains(name) || !py::isinstance<py::array>(named[name.c_str()])) return files(name);
    const auto array = py::cast<py::array_t<double, py::array::c_style | py::array::forcecast>>(named[name.c_str()]);
    return NoiseArray{{array.shape(), array.shape() + array.ndim()}, {array.data(), array.data() + array.size()}, name};
  };
  source.categories = [files = source.categories, named](const std::string& name) {
    if (!named.contains(name) || !py::isinstance<py::str>(named[name.c_str()])) return files(name);
    return datasets::categories_of(py::cast<std::string>(named[name.c_str()]), name);
  };
  source.perturbation = [files = source.perturbation, named, worker](const std::string& name) {
    if (!named.contains(name) || !py::isinstance<py::tuple>(named[name.c_str()])) return files(name);
    return perturbation_of(named[name.c_str()], worker);
  };
  std::vector<Noise> noises;
  noises.reserve(texts.size());
  for (const std::string& text : texts) noises.push_back(parse_noise(text, source));
  return noises;
}

}  // namespace probust::python
