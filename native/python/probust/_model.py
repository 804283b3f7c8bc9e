# SPDX-License-Identifier: MIT
"""Models and their estimates."""

from __future__ import annotations

import json
import os
import warnings
from typing import Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arguments, _probust
from ._errors import UsageError
from ._perturbation import Perturbation, texts_and_values
from ._progress import reporter

Texts = Union[str, Iterable[str]]
Numbers = Union[float, Iterable[float]]
Noises = Union[Texts, Perturbation, Iterable[Union[str, Perturbation]]]
Function = Callable[[np.ndarray], np.ndarray]
Vjp = Callable[[np.ndarray, np.ndarray], np.ndarray]
Progress = Union[bool, Callable[[int, int], None]]

_TWO_GIB = 2 << 30


def _noises(sigma: Optional[Numbers], noise: Optional[Noises], arrays: Optional[dict] = None) -> tuple:
    if (sigma is None) == (noise is None):
        found = "missing" if sigma is None else "given"
        raise UsageError(f'sigma and noise are both {found}; give one of them, such as sigma=0.1 or noise="laplace:0.1"')
    if sigma is None:
        return texts_and_values(noise, arrays)
    return [f"gaussian:{each:.17g}" for each in _arguments.numbers("sigma", sigma)], {}


def _target(target) -> tuple:
    """A pair: one target for all points as a string, and the targets [N], or None if they are all the same."""
    if isinstance(target, str):
        return target, None
    if np.ndim(target) == 0:
        return str(_arguments.whole("target", target)), None
    return "predicted", _arguments.wholes("target", target)


def _rows(columns: dict) -> np.ndarray:
    """Combines columns into one structured array."""
    arrays = {name: np.array(column, dtype=str) if isinstance(column, list) else column for name, column in columns.items()}
    rows = np.empty(len(columns["p"]), dtype=[(name, each.dtype) for name, each in arrays.items()])
    for name, each in arrays.items():
        rows[name] = each
    return rows


class Model:
    """A classifier, returned by `load_model`, `model_from_function` and `model_from_torch`.

    Calls from several threads are serialised. Computations release the interpreter lock; Ctrl-C stops them.
    """

    def __init__(self, handle: _probust.Model, scale: Optional[float] = None, *, function: bool = False):
        self._handle = handle
        self._scale = scale
        self._function = function

    def _points(self, x, scale: Optional[float] = None) -> np.ndarray:
        scale = _arguments.scale("scale", scale)
        return _arguments.points("x", x, self._scale if scale is None else scale, of_function=self._function)

    @property
    def classes(self) -> int:
        """The number of classes, C; 2 K + 1 for a regression model with K outputs and a tolerance."""
        return self._handle.classes

    @property
    def point_shape(self) -> Tuple[int, ...]:
        """The shape of one point, such as (3, 32, 32)."""
        return self._handle.point_shape

    @property
    def decision(self) -> str:
        """How the class is determined, in one line, such as "class 1 if 'score' > 0"; empty for functions."""
        return self._handle.decision

    @property
    def class_names(self) -> list:
        """The names of the classes, from the model's metadata or operators; empty if it has none."""
        return self._handle.class_names

    @property
    def notes(self) -> list:
        """Decisions that were made during import, one sentence each."""
        return self._handle.notes

    def __repr__(self) -> str:
        return f"<probust.Model: {self.classes} classes, points {list(self.point_shape)}>"

    def logits(self, x, *, scale: Optional[float] = None) -> np.ndarray:
        """The logits [N, C] of points x [N, ...], or the outputs [N, K] of a regression model, as float32. `scale` as in estimate."""
        return self._handle.logits(self._points(x, scale))

    def margins(self, x, targets=None, *, scale: Optional[float] = None) -> np.ndarray:
        """The margins [N, C - 1] of the targets [N] (by default the predicted classes) over the other classes, in class order."""
        return self._handle.margins(self._points(x, scale), _arguments.wholes("targets", targets))

    def p_gradient(
        self,
        x,
        *,
        sigma: Optional[float] = None,
        noise: Optional[Union[str, Perturbation]] = None,
        estimator: str = "taylor",
        labels=None,
        target: Union[str, int, Sequence[int]] = "predicted",
        std_error: bool = False,
        seed: int = 0,
        first_index: int = 0,
        scale: Optional[float] = None,
        progress: Progress = False,
    ) -> Union[np.ndarray, Tuple[np.ndarray, Optional[np.ndarray]]]:
        """The gradient of p with respect to each element of each point, as float32, shaped like x.

        sigma, noise   one noise model, as in estimate; it must be additive
        estimator      "taylor", "taylor_mvs", "adf", "mmse:N" or "mmse_mvs:N" and their variants: the derivative of this estimator's own p.
                       "mc:N": an unbiased estimate for the true p, from N noisy samples
        std_error      also returns the standard errors of "mc:N", shaped like x; None for other estimators

        The other arguments are as in estimate. Warnings name what the gradient ignores, such as that noise is not Gaussian. Raises
        UsageError for an estimator without gradient and for NaN, and UnsupportedError for models and noise that it does not suit.
        """
        one, each = _target(target)
        points = self._points(x, scale)
        noises, functions = _noises(sigma, noise)
        arguments = (
            points,
            noises,
            functions,
            _arguments.text("estimator", estimator),
            _arguments.wholes("labels", labels),
            one,
            each,
            _arguments.whole("seed", seed, 0, 2**64 - 1),
            _arguments.whole("first_index", first_index, 0, 2**62),
        )
        wanted = _arguments.flag("std_error", std_error)
        with reporter(progress) as report:
            gradient, errors, _, notes = self._handle.p_gradient(*arguments, report)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return (gradient, errors) if wanted else gradient

    def estimate(
        self,
        x,
        *others,
        sigma: Optional[Numbers] = None,
        estimators: Texts = "auto",
        noise: Optional[Noises] = None,
        arrays: Optional[dict] = None,
        labels=None,
        target: Union[str, int, Sequence[int]] = "predicted",
        groups: Optional[str] = None,
        top: int = 1,
        per_class: bool = False,
        share: Optional[str] = None,
        seed: int = 0,
        first_index: int = 0,
        scale: Optional[float] = None,
        progress: Progress = False,
        check: bool = True,
    ) -> np.ndarray:
        """Estimates the probability that the target of each point survives noise.

        All arguments except the points are keyword-only: estimate(x, sigma=0.1, labels=y).

        x            points [N, ...], or one point, in the units of the data; contiguous float32 arrays are not copied
        sigma        standard deviations of Gaussian noise, in the same units, after `scale`
        estimators   such as "auto", "mc:1000" or ["taylor", "probit:50"]; docs/estimators.md describes them
        noise        instead of sigma, such as "laplace:0.1", "rotate:10", "gaussian:cov=FILE.npy" or a `perturbation`
        arrays       what names in `noise` stand for, instead of files: {"s": std} with noise="gaussian:std=s"; for categorical noise, a
                     list of features {"columns": [2, 3], "transitions": [[0.9, 0.1], [0.2, 0.8]]}
        labels       [N] true classes from 0 to C - 1, returned in rows and used by target="label"
        target       what has to survive: "predicted", "label", a class, or classes [N]
        groups       "0,1/2,3": the prediction survives if any class of the target's group wins
        top          the target only needs to be among this many largest logits
        per_class    adds columns p_class_0, p_class_1, ...: the probability that each class wins
        share        what points share in "probit" and "regression" without a variant: "none" (the default), "pooled", "learned" or
                     "draws". If given, "none" also applies to "auto", so that the errors of different points are independent
        seed         random seed; the noise of point i depends on the seed and on its position, first_index + i
        scale        factor for x; by default that of load_model, otherwise 1/255 for bytes (uint8), as in read_data, and 1 for other
                     types
        check        whether to check first, on at most 100 points, that points, preprocessing and labels match the model. A problem
                     causes a warning and a note in every row (probust.check reports more)
        progress     True shows a progress bar; a function is called with the numbers of completed and planned passes

        Returns one row for each point, noise model and estimator, in this order: a structured array with the columns index, label (-1
        if none was given), predicted, target, noise, sigma, estimator, p, p_fail (1 - p, computed directly), std_error, ci_low and
        ci_high (95% interval of p; NaN if there is none), forwards, backwards, status ("ok", or a word that docs/estimators.md
        explains), method (the estimator that was used, such as the one that "auto" picked), note, and, if labels are given, p_label
        (probability that a noisy sample is classified as the label; NaN without a label), p_label_low and p_label_high.

        Raises Error, such as UnsupportedError if an estimator needs gradients that the model does not have, and KeyboardInterrupt on
        Ctrl-C. If no estimate can be computed for a point, the status and note of its row give the reason.
        """
        if others:
            raise UsageError("estimate takes one positional argument; call model.estimate(x, sigma=0.1, labels=y)")
        one, each = _target(target)
        x = self._points(x, scale)
        count = x.shape[0] if x.ndim > 0 else 1
        noises, named = _noises(sigma, noise, arrays)
        arguments = (
            x,
            noises,
            named,
            _arguments.texts("estimators", estimators),
            _arguments.wholes("labels", labels),
            one,
            each,
            "" if groups is None else _arguments.text("groups", groups),
            _arguments.flag("per_class", per_class),
            _arguments.whole("top", top, 1),
            _arguments.whole("seed", seed, 0, 2**64 - 1),
            _arguments.whole("first_index", first_index, 0, 2**63 - 1 - count),
            _arguments.flag("check", check),
            "" if share is None else _arguments.text("share", share),
        )
        with reporter(progress) as report:
            columns = self._handle.estimate(*arguments, report)
        for warning in columns.pop("warnings"):
            warnings.warn(warning, stacklevel=2)
        return _rows(columns)


class CheckReport(dict):
    """The result of `check`: a dictionary that str() and print() show as a table."""

    def __init__(self, report: dict, words: str):
        super().__init__(report)
        self._words = words

    def __str__(self) -> str:
        return self._words

    __repr__ = __str__


def check(model: Model, x, labels=None, sigma: Optional[Numbers] = None) -> CheckReport:
    """Checks whether points, preprocessing, layout and labels match a model, on at most 500 of the points.

    model    from load_model, model_from_function or model_from_torch
    x        points [N, ...], in the units of the data, as for estimate
    labels   [N] true classes; if given, the accuracy under common alternatives is compared
    sigma    noise scales that are compared with the range of the data

    Returns a dictionary with "suspicious", "accuracy", "alternatives", "findings" and "options" (the options to add). print() shows it
    as a table. docs/check.md describes its content.
    """
    report, words = model._handle.check(
        _arguments.points("x", x), _arguments.wholes("labels", labels), _arguments.numbers("sigma", sigma)
    )
    return CheckReport(json.loads(report), words)


def load_model(
    model: Union[str, os.PathLike, bytes],
    *,
    mean: Optional[Numbers] = None,
    std: Optional[Numbers] = None,
    layout: str = "auto",
    point_shape: Optional[Sequence[int]] = None,
    input_shape: Optional[Sequence[int]] = None,
    output_name: str = "",
    threshold: Optional[float] = None,
    outputs: Optional[Sequence[int]] = None,
    scale: Optional[float] = None,
    device: str = "cpu",
    threads: int = 0,
    memory: Optional[Union[int, str]] = None,
    precision: str = "float32",
    tolerance: Optional[Numbers] = None,
) -> Model:
    """Loads an ONNX classifier or regression model from a path, including external weights in its folder, or from bytes.

    mean, std     the mean is subtracted from the data, which are then divided by std: one number each, or one per channel. Noise is
                  added before that.
    layout        the order of the axes of the model's input: "auto", "nchw", "nhwc" or "whcn"
    point_shape   shape of one point of the data, if it differs from the model's input
    input_shape   shape of the model's input for one example, if the model has dynamic dimensions
    output_name   output or inner tensor that determines the class (default: the only suitable one)
    threshold     for a model with one output number: class 1 if it is above this (default: 0 for scores, 0.5 for probabilities)
    outputs       the values of the output to use as classes, such as [0, 1] or range(10) (default: all)
    scale         factor for points; by default 1/255 for bytes (uint8), 1 for other types
    device        a name from devices(): "cpu", "eigen" (slower, needs less memory) or "cuda"; "auto" uses a GPU if there is one
    threads       number of threads; 0: as many as there are processors available to this process
    memory        bytes for activations and gradients, or a text such as "4G" (default: 2 GiB; on a GPU, 80% of the free memory)
    precision     precision of products and convolutions on a GPU: "float32", "tf32" or "bf16"
    tolerance     for a regression model with K outputs: p is the probability that every output changes by less than this, or each by
                  less than its own number of a list [K]. There are 2 K + 1 classes: output k too low (K), output k too high (K), and all
                  within. Without it, the model is a classifier
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
        None if threshold is None else _arguments.number("threshold", threshold),
        [] if outputs is None else _arguments.wholes("outputs", list(outputs)).tolist(),
        _arguments.text("device", device),
        _arguments.whole("threads", threads, most=4096),
        "" if memory is None else memory if isinstance(memory, str) else str(_arguments.whole("memory", memory, 1)),
        _arguments.text("precision", precision),
        _arguments.numbers("tolerance", tolerance),
    )
    if isinstance(model, (bytes, bytearray, memoryview)):
        loaded = _probust.model_of_bytes(bytes(model), *options)
    else:
        loaded = _probust.model_of_file(_arguments.path("model", model), *options)
    for warning in loaded.take_warnings():
        warnings.warn(warning, stacklevel=2)
    return Model(loaded, _arguments.scale("scale", scale))


class Device(NamedTuple):
    """A device of this machine."""

    name: str
    problem: Optional[str]
    """why the device cannot be used; None if it can be used"""


def devices() -> List[Device]:
    """The devices of this machine. Without a GPU, "cuda" is listed with the reason why it cannot be used."""
    return [Device(name, problem or None) for name, problem in _probust.devices()]


def model_from_function(
    f: Function,
    classes: int,
    point_shape: Optional[Sequence[int]] = None,
    vjp: Optional[Vjp] = None,
    *,
    batch: int = 0,
    memory: int = _TWO_GIB,
) -> Model:
    """Creates a model from a function, such as a remote service or a method of a scikit-learn model.

    f            returns the logits [n, C] of points x [n, ...] (float32), or for two classes the score [n] of the second. Probabilities,
                 such as those of forest.predict_proba, work with "mc:N"; other estimators need unbounded scores whose differences are
                 nearly normal, such as those of decision_function
    point_shape  shape of one point, such as (4,); not needed for methods of scikit-learn models
    vjp          returns the gradients [n, ...] with respect to x of sum_c cotangents[i, c] logits[i, c], given x and cotangents [n, C];
                 without it, estimators that need gradients are not available
    batch        the largest number of points per call; 0: as many as fit into memory, but at most 8192 points and 64 MB
    memory       bytes for noisy samples and gradients, not including the memory that f uses

    A point's logits must not depend on the other points of the call. Bytes (uint8) as points need scale= in each call, because f may
    expect 0 to 255 or 0 to 1. f is called in the thread that requests an estimate; an exception in f ends the estimate and is passed on
    to the caller.
    """
    _arguments.function("f", f)
    classes = _arguments.whole("classes", classes, 2)
    if point_shape is None:
        features = getattr(getattr(f, "__self__", None), "n_features_in_", None)
        if features is None:
            raise UsageError("point_shape is missing; give the shape of one point, such as (4,)")
        point_shape = (features,)
    return Model(
        _probust.model_of_functions(
            _of_two(f) if classes == 2 else f,
            None if vjp is None else _arguments.function("vjp", vjp),
            _arguments.shape("point_shape", point_shape),
            classes,
            _arguments.whole("batch", batch),
            _arguments.whole("memory", memory, 1),
        ),
        function=True,
    )


def _of_two(f: Function) -> Function:
    """A function that returns logits [n, 2], from one that may also return scores [n], such as decision_function."""

    def logits(x):
        scores = np.asarray(f(x))
        return np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores

    return logits


class Labels(np.ndarray):
    """The labels [N] that read_data returns: class numbers, together with the names of the classes.

    class_names  names by class number; [] if unknown
    mapping      how the labels in the file became class numbers, in one sentence; "" for plain class numbers
    """

    class_names: list = []
    mapping: str = ""

    def __array_finalize__(self, source):
        self.class_names = getattr(source, "class_names", [])
        self.mapping = getattr(source, "mapping", "")


def _class_names(classes) -> list:
    """Class names in order, from a list or from a file with one name per line; [] for None."""
    if classes is None:
        return []
    if isinstance(classes, (str, bytes, os.PathLike)):
        return _probust.read_names(_arguments.path("classes", classes))
    return _arguments.texts("classes", classes)


def read_data(
    path: Union[str, os.PathLike],
    *,
    offset: int = 0,
    limit: Optional[int] = None,
    scale: Optional[float] = None,
    labels_path: Optional[Union[str, os.PathLike]] = None,
    label_column: Union[str, int] = "last",
    classes: Optional[Union[str, os.PathLike, Iterable[str]]] = None,
    skip_bad: bool = False,
    resize: int = 0,
    crop: int = 0,
):
    """Reads points [N, ...] and labels [N] (None if there are none) from a .npy, .npz, IDX, CIFAR .bin or CSV file, or from a folder of
    images.

    offset, limit  the first point, and the number of points (None: all)
    scale          factor for stored values; by default 1/255 for bytes, otherwise 1
    labels_path    a file of labels, which replace those in the data
    label_column   label column of a CSV file: a column counted from 0, a name in the first row, "last" or "none"
    classes        names in the order of the model's classes, or a file with one name per line: text labels and class folders are
                   matched with these names. Without them, numbers are class numbers, and names are numbered in sorted order
    skip_bad       skips points that cannot be read, with a warning that lists them, instead of raising UnreadableError
    resize         for images: the length of the shorter side after resizing; 0: no resizing
    crop           for images: the side of the central square to which they are then cropped; 0: no cropping

    Labels are an integer array with the attributes `class_names` and `mapping`. Warnings report decisions, such as how text labels were
    numbered, and points that were skipped.
    """
    x, labels, bad, names, notes, mapping = _probust.read(
        _arguments.path("path", path),
        _arguments.whole("offset", offset),
        -1 if limit is None else _arguments.whole("limit", limit, 1),
        None if scale is None else _arguments.number("scale", scale),
        "" if labels_path is None else _arguments.path("labels_path", labels_path),
        label_column if isinstance(label_column, str) else str(_arguments.whole("label_column", label_column)),
        _arguments.flag("skip_bad", skip_bad),
        _class_names(classes),
        [],
        _arguments.whole("resize", resize),
        _arguments.whole("crop", crop),
    )
    name = os.fsdecode(_arguments.path("path", path))
    for note in notes:
        warnings.warn(f"{name}: {os.fsdecode(note)}", stacklevel=2)
    for position, message in bad:
        warnings.warn(f"point {position} was left out: {os.fsdecode(message)}", stacklevel=2)
    if labels is not None:
        labels = labels.view(Labels)
        labels.class_names = [os.fsdecode(each) for each in names]
        labels.mapping = os.fsdecode(mapping)
    return x, labels


def made_data(kind: str, count: int, *, seed: int = 0):
    """Generates points and labels: "digits" [N, 1, 28, 28], or "moons", "blobs", "spirals", "xor" or "rings" [N, 2]."""
    return _probust.make(
        _arguments.text("kind", kind), _arguments.whole("count", count, 1), _arguments.whole("seed", seed, 0, 2**64 - 1)
    )
