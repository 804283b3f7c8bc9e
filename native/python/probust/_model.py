# SPDX-License-Identifier: MIT
"""Models and their estimates."""

from __future__ import annotations

import os
import warnings
from typing import Callable, Iterable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arguments, _probust
from ._errors import UsageError
from ._progress import reporter

Texts = Union[str, Iterable[str]]
Numbers = Union[float, Iterable[float]]
Function = Callable[[np.ndarray], np.ndarray]
Vjp = Callable[[np.ndarray, np.ndarray], np.ndarray]
Progress = Union[bool, Callable[[int, int], None]]

_TWO_GIB = 2 << 30
_COLUMNS = [
    ("index", np.int64),
    ("label", np.int64),
    ("predicted", np.int64),
    ("target", np.int64),
    ("noise", str),
    ("sigma", np.float64),
    ("estimator", str),
    ("p", np.float64),
    ("p_fail", np.float64),
    ("std_error", np.float64),
    ("ci_low", np.float64),
    ("ci_high", np.float64),
    ("forwards", np.int64),
    ("backwards", np.int64),
    ("status", str),
    ("method", str),
    ("note", str),
]


def _noises(sigma: Optional[Numbers], noise: Optional[Texts]) -> list:
    if (sigma is None) == (noise is None):
        raise UsageError('sigma: give either sigma=0.1 or noise="laplace:0.1"')
    if sigma is None:
        return _arguments.texts("noise", noise)
    return [f"gaussian:{each:.17g}" for each in _arguments.numbers("sigma", sigma)]


def _target(target) -> tuple:
    """One target for all points as a text, and the targets [N] if each has its own."""
    if isinstance(target, str):
        return target, None
    if np.ndim(target) == 0:
        return str(_arguments.whole("target", target)), None
    return "predicted", _arguments.wholes("target", target)


def _rows(columns: dict) -> np.ndarray:
    """Columns as one structured array."""
    kinds = dict(_COLUMNS)
    arrays = {name: np.array(column, dtype=kinds.get(name, np.float64)) for name, column in columns.items()}
    rows = np.empty(len(columns["p"]), dtype=[(name, each.dtype) for name, each in arrays.items()])
    for name, each in arrays.items():
        rows[name] = each
    return rows


class Model:
    """A classifier. `load_model`, `model_from_function` and `model_from_torch` make it.

    Calls from several threads wait for each other. Work releases the interpreter's lock; Ctrl-C ends it.
    """

    def __init__(self, handle: _probust.Model):
        self._handle = handle

    @property
    def classes(self) -> int:
        """The number of logits, C."""
        return self._handle.classes

    @property
    def point_shape(self) -> Tuple[int, ...]:
        """The shape of one point, such as (3, 32, 32)."""
        return self._handle.point_shape

    @property
    def notes(self) -> list:
        """Decisions made during import, one sentence each."""
        return self._handle.notes

    def __repr__(self) -> str:
        return f"<probust.Model: {self.classes} classes, points {list(self.point_shape)}>"

    def logits(self, x) -> np.ndarray:
        """Logits [N, C] of the points x [N, ...], float32."""
        return self._handle.logits(_arguments.points("x", x))

    def margins(self, x, targets=None) -> np.ndarray:
        """Margins [N, C - 1] of the targets [N] (by default the predicted classes) over their rivals, in order."""
        return self._handle.margins(_arguments.points("x", x), _arguments.wholes("targets", targets))

    def estimate(
        self,
        x,
        sigma: Optional[Numbers] = None,
        estimators: Texts = "auto",
        *,
        noise: Optional[Texts] = None,
        labels=None,
        target: Union[str, int, Sequence[int]] = "predicted",
        groups: Optional[str] = None,
        top: int = 1,
        per_class: bool = False,
        seed: int = 0,
        first_index: int = 0,
        progress: Progress = False,
    ) -> np.ndarray:
        """Estimates the probability that each point keeps its target under noise.

        x            [N, ...], or one point, in the units of the data; contiguous arrays of float32 are read where they are
        sigma        standard deviations of Gaussian noise, in the same units
        estimators   such as "auto", "mc:1000" or ["taylor", "probit:50"]; docs/estimators.md describes them
        noise        in place of sigma, such as "laplace:0.1" or "gaussian:cov=FILE.npy"
        labels       [N] true classes, which rows repeat and target="label" uses
        target       what has to survive: "predicted", "label", a class, or classes [N]
        groups       "0,1/2,3": any class of the target's group will do
        top          the target need only be among so many largest logits
        per_class    adds columns p_class_0, p_class_1, ...: the probability of each class to win
        seed         of the noise, which depends on it and on the position of a point, first_index + i
        progress     True shows a bar; a function is called with the passes done and planned

        Returns one row for each point, noise and estimator, in this order: a structured array with the columns index, label (-1:
        none), predicted, target, noise, sigma, estimator, p, p_fail (1 - p, computed directly), std_error, ci_low, ci_high (95%
        interval of p; NaN if there is none), forwards, backwards, status ("ok" or a word), method (what "auto" chose) and note.

        Raises Error, such as UnsupportedError if an estimator needs gradients that the model does not have; KeyboardInterrupt on
        Ctrl-C. What an estimator cannot say of a point is in the row's status and note.
        """
        one, each = _target(target)
        x = _arguments.points("x", x)
        count = x.shape[0] if x.ndim > 0 else 1
        arguments = (
            x,
            _noises(sigma, noise),
            _arguments.texts("estimators", estimators),
            _arguments.wholes("labels", labels),
            one,
            each,
            "" if groups is None else _arguments.text("groups", groups),
            _arguments.flag("per_class", per_class),
            _arguments.whole("top", top, 1),
            _arguments.whole("seed", seed, 0, 2**64 - 1),
            _arguments.whole("first_index", first_index, 0, 2**63 - 1 - count),
        )
        with reporter(progress) as report:
            columns = self._handle.estimate(*arguments, report)
        return _rows(columns)


def load_model(
    model: Union[str, os.PathLike, bytes],
    *,
    mean: Optional[Numbers] = None,
    std: Optional[Numbers] = None,
    layout: str = "auto",
    point_shape: Optional[Sequence[int]] = None,
    input_shape: Optional[Sequence[int]] = None,
    output_name: str = "",
    device: str = "cpu",
    threads: int = 0,
    memory: int = _TWO_GIB,
) -> Model:
    """Loads an ONNX classifier from a path, with weights that it keeps in its folder, or from bytes.

    mean, std     subtracted from the data, then divided by: one number, or one per channel. Noise is added before that.
    layout        how the model takes images: "auto", "nchw", "nhwc" or "whcn"
    point_shape   of one point of the data, if it differs from the model's input
    input_shape   of the model's input for one example, if the model leaves extents open
    output_name   the output to take as logits, if there are several
    device        "cpu", or "eigen", which is slower and takes less memory
    threads       0: all processors that this process may use
    memory        bytes for activations and gradients
    """
    if threads == 0:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options = (
        _arguments.numbers("mean", mean),
        _arguments.numbers("std", std),
        _arguments.text("layout", layout),
        _arguments.shape("point_shape", point_shape),
        _arguments.shape("input_shape", input_shape),
        _arguments.text("output_name", output_name),
        _arguments.text("device", device),
        _arguments.whole("threads", threads, most=4096),
        _arguments.whole("memory", memory, 1),
    )
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Model(_probust.model_of_bytes(bytes(model), *options))
    return Model(_probust.model_of_file(_arguments.path("model", model), *options))


def model_from_function(
    f: Function,
    classes: int,
    point_shape: Optional[Sequence[int]] = None,
    vjp: Optional[Vjp] = None,
    *,
    batch: int = 0,
    memory: int = _TWO_GIB,
) -> Model:
    """Makes a model of a function, such as a remote service, or a method of scikit-learn.

    f            logits [n, C] of points x [n, ...] (float32), or of two classes the score [n] of the second; for example
                 forest.predict_proba, with counting ("mc:N"): other estimators need unbounded scores whose differences are nearly
                 normal, such as decision_function's
    point_shape  of one point, such as (4,); not needed for methods of scikit-learn's models
    vjp          gradients [n, ...] with respect to x of sum_c cotangents[i, c] logits[i, c], from x and cotangents [n, C]; without it,
                 estimators that need gradients are refused
    batch        the most points per call; 0: as many as fit the memory, but at most 8192 points and 64 MB
    memory       bytes for noisy copies and gradients, without what f takes

    A point's logits must not depend on the other points of the call. f is called by the thread that asks for an estimate; an
    exception in it ends the estimate and reaches the caller as it is.
    """
    _arguments.function("f", f)
    classes = _arguments.whole("classes", classes, 2)
    if point_shape is None:
        features = getattr(getattr(f, "__self__", None), "n_features_in_", None)
        if features is None:
            raise UsageError("point_shape: is missing; give the shape of one point, such as (4,)")
        point_shape = (features,)
    return Model(
        _probust.model_of_functions(
            _of_two(f) if classes == 2 else f,
            None if vjp is None else _arguments.function("vjp", vjp),
            _arguments.shape("point_shape", point_shape),
            classes,
            _arguments.whole("batch", batch),
            _arguments.whole("memory", memory, 1),
        )
    )


def _of_two(f: Function) -> Function:
    """Logits [n, 2] of a function that may return scores [n], such as decision_function."""

    def logits(x):
        scores = np.asarray(f(x))
        return np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores

    return logits


def read_data(
    path: Union[str, os.PathLike],
    *,
    offset: int = 0,
    limit: Optional[int] = None,
    scale: Optional[float] = None,
    labels_path: Optional[Union[str, os.PathLike]] = None,
    label_column: Union[str, int] = "last",
    skip_bad: bool = False,
):
    """Points [N, ...] and labels [N] (None if there are none) of a .npy, .npz, IDX, CIFAR .bin or CSV file, or a folder of images.

    offset, limit  which points: so many (None: all) from this one on
    scale          stored values are multiplied by it; by default 1/255 for bytes, else 1
    labels_path    a file of labels, in place of those in the data
    label_column   of CSV: a column counted from 0, a name in the first row, "last" or "none"
    skip_bad       leaves out points that cannot be read, with a warning that names them, instead of raising UnreadableError
    """
    x, labels, bad = _probust.read(
        _arguments.path("path", path),
        _arguments.whole("offset", offset),
        -1 if limit is None else _arguments.whole("limit", limit, 1),
        None if scale is None else _arguments.number("scale", scale),
        "" if labels_path is None else _arguments.path("labels_path", labels_path),
        label_column if isinstance(label_column, str) else str(_arguments.whole("label_column", label_column)),
        _arguments.flag("skip_bad", skip_bad),
    )
    for position, message in bad:
        warnings.warn(f"point {position} was left out: {os.fsdecode(message)}", stacklevel=2)
    return x, labels


def made_data(kind: str, count: int, *, seed: int = 0):
    """Generated points and labels: "digits" [N, 1, 28, 28], or "moons", "blobs", "spirals", "xor", "rings" [N, 2]."""
    return _probust.make(
        _arguments.text("kind", kind), _arguments.whole("count", count, 1), _arguments.whole("seed", seed, 0, 2**64 - 1)
    )
