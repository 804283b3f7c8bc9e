# SPDX-License-Identifier: MIT
"""Perturbations that are Python functions."""

from __future__ import annotations

import json
from typing import Callable, NamedTuple, Optional

import numpy as np

from . import _arguments
from ._errors import UsageError


class Perturbation(NamedTuple):
    """A function that perturbs points, returned by `perturbation`."""

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    latents: int
    name: str


def perturbation(function, latents: int, name: Optional[str] = None) -> Perturbation:
    """A perturbation x' = function(x, z), for the argument `noise` of Model.estimate.

    function   returns n perturbed points, given points x [n, ...] and independent standard normal numbers z [n, latents], both float32
    latents    the number of normal numbers per noisy sample
    name       the name of the noise in the rows; by default the function's name

    >>> darker = probust.perturbation(lambda x, z: x * np.exp(-abs(z[:, :1, None])), latents=1, name="darker")
    >>> model.estimate(x, noise=darker, estimators="mc:1000")
    """
    if not callable(function):
        raise UsageError("function cannot be called; give a function of x and z")
    name = getattr(function, "__name__", "function") if name is None else _arguments.text("name", name)
    if not name or set(name) & set(":+@"):
        raise UsageError(f"name is '{name}'; give a name without : + and @")
    return Perturbation(function, _arguments.whole("latents", latents, 1, 1 << 20), name)


def texts_and_values(noise, arrays=None) -> tuple:
    """The noises as strings, and a dictionary with the values of names in these strings: an array [...], the JSON text of categories, or
    (function, latents) for each Perturbation."""
    noises = [noise] if isinstance(noise, (str, Perturbation)) or callable(noise) else list(noise)
    functions = {}
    for position, each in enumerate(noises):
        if isinstance(each, Perturbation):
            if functions.setdefault(each.name, each[:2]) != each[:2]:
                raise UsageError(f"noise has two functions with the name '{each.name}'; give each its own name")
            noises[position] = "transform:" + each.name
        elif callable(each):
            raise UsageError("noise is a function, and its number of normals is unknown; give perturbation(function, latents=1)")
    return _arguments.texts("noise", noises), {**_values(arrays), **functions}


def _values(arrays) -> dict:
    if arrays is None:
        return {}
    if not isinstance(arrays, dict):
        raise _arguments.refusal("arrays", f"is {_arguments.shown(arrays)}", "give a dictionary, such as {'s': std}")
    values = {}
    for name, given in arrays.items():
        name = _arguments.text("arrays", name)
        try:
            if isinstance(given, (list, tuple)) and given and isinstance(given[0], dict):
                values[name] = json.dumps({"groups": given}, default=lambda each: np.asarray(each).tolist())
            else:
                values[name] = np.ascontiguousarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            hint = "give an array of numbers, or a list of categorical features"
            raise _arguments.refusal(f"arrays['{name}']", f"is {_arguments.shown(given)}", hint) from None
    return values
