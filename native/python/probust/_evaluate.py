# SPDX-License-Identifier: MIT
"""The accuracy of a model without noise and under noise."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Union

import numpy as np

from . import _arguments, _probust
from ._errors import UsageError
from ._model import Model, Noises, Numbers, Progress


class Mean(NamedTuple):
    """A mean over `count` points, with its 95% interval."""

    mean: float
    ci_low: float
    ci_high: float
    count: int


class Evaluation(NamedTuple):
    """The result of `evaluate` for one noise model."""

    clean_accuracy: Mean  #: share of points whose prediction without noise is correct
    noisy_accuracy: Mean  #: share of noisy samples that are classified as the label: the mean of p_label
    mean_p: Mean  #: share of noisy samples that keep the model's prediction, correct or not: the mean of p
    rows: np.ndarray  #: as returned by Model.estimate


def evaluate(
    model: Model,
    x,
    y,
    *,
    sigma: Optional[Numbers] = None,
    noise: Optional[Noises] = None,
    arrays: Optional[dict] = None,
    estimator: str = "auto",
    seed: int = 0,
    progress: Progress = False,
) -> Dict[str, Evaluation]:
    """Estimates clean accuracy, accuracy under noise and mean p of a model on points x with labels y, for each noise model.

    sigma, noise, arrays, seed, progress   as in Model.estimate
    estimator                              one estimator, such as "auto:50"

    >>> for noise, result in probust.evaluate(model, x, labels, sigma=[0.1, 0.2]).items():
    ...     print(noise, result.clean_accuracy.mean, result.noisy_accuracy.mean, result.mean_p.mean)
    """
    if y is None:
        raise UsageError("y is missing; give the labels of the points, or use Model.estimate")
    asked = _arguments.text("estimator", estimator)
    rows = model.estimate(x, sigma=sigma, estimators=asked, noise=noise, arrays=arrays, labels=y, seed=seed, progress=progress)
    names = ("label", "predicted", "noise", "estimator", "method", "p", "std_error", "p_label", "status", "p_fail")
    results = {}
    for clean, noisy, p, name in _probust.accuracies(*(rows[each].tolist() for each in names)):
        results[name] = Evaluation(Mean(*clean), Mean(*noisy), Mean(*p), rows[rows["noise"] == name])
    return results
