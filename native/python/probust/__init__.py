# SPDX-License-Identifier: MIT
"""The probability that a classifier's prediction survives noise, P[argmax f(x + eps) = argmax f(x)].

    >>> import probust
    >>> model = probust.load_model("digits.onnx")
    >>> x, labels = probust.read_data("points.npz", limit=20)
    >>> rows = model.estimate(x, sigma=0.1, labels=labels)
    >>> rows["p"].mean()

`rows` is a NumPy structured array; pandas.DataFrame(rows) accepts it.
"""

import atexit
import os

from . import _probust
from ._errors import Error, InternalError, NumericalError, ResourcesError, UnreadableError, UnsupportedError, UsageError
from ._evaluate import Evaluation, Mean, evaluate
from ._model import CheckReport, Device, Model, check, devices, load_model, made_data, model_from_function, read_data
from ._perturbation import Perturbation, perturbation
from ._probust import version as __version__
from ._torch import model_from_torch

atexit.register(_probust.end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_probust.forget_all)

__all__ = [
    "CheckReport",
    "Device",
    "Error",
    "Evaluation",
    "InternalError",
    "Mean",
    "Model",
    "NumericalError",
    "Perturbation",
    "ResourcesError",
    "UnreadableError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "check",
    "devices",
    "evaluate",
    "load_model",
    "made_data",
    "model_from_function",
    "model_from_torch",
    "perturbation",
    "read_data",
]
