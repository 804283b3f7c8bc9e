# SPDX-License-Identifier: MIT
"""The Python package, compared with the command line (PROBUST_PROGRAM)."""

import csv
import gc
import io
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
import zlib

import numpy as np
import pytest

import probust

ROOT = pathlib.Path(__file__).resolve().parents[3]
DIGITS = ROOT / "demos/digits/digits.onnx"
POINTS = ROOT / "demos/digits/points.npz"
PROGRAM = os.environ["PROBUST_PROGRAM"]


@pytest.fixture(scope="module")
def model():
    return probust.load_model(DIGITS)


@pytest.fixture(scope="module")
def data():
    return probust.read_data(POINTS, limit=20)


def command(*arguments):
    text = subprocess.run(
        [PROGRAM, "estimate", DIGITS, POINTS, *arguments, "--format", "csv", "--quiet"], check=True, capture_output=True, text=True
    ).stdout
    return list(csv.DictReader(io.StringIO(text)))


def assert_equal(rows, wanted):
    assert len(rows) == len(wanted)
    for row, other in zip(rows, wanted):
        for name, text in other.items():
            value = row[name]
            if isinstance(value, str):
                assert value == text
            elif text == "":
                assert np.isnan(value) or value == -1
            else:
                assert value == pytest.approx(float(text), rel=1e-6, abs=1e-300), name


def test_what_decides_can_be_asked_and_restricted(model, data):
    assert model.decision.startswith("the largest of 10 values of ")
    two = probust.load_model(DIGITS, outputs=[8, 3])
    assert two.classes == 2
    assert np.array_equal(two.logits(data[0]), model.logits(data[0])[:, [8, 3]])
    for wrong in ([3], [3, 10], [3, 3], [-1, 3]):
        with pytest.raises(probust.UsageError, match="outputs"):
            probust.load_model(DIGITS, outputs=wrong)
    with pytest.raises(probust.UsageError, match="threshold applies to one number"):
        probust.load_model(DIGITS, threshold=0.5)


def test_regression_models_have_a_tolerance(data):
    x, labels = data
    within = probust.load_model(DIGITS, tolerance=4)
    assert within.classes == 21
    assert within.decision.endswith("changes by less than 4")
    assert within.logits(x).shape == (20, 10)
    rows = within.estimate(x, sigma=0.1, estimators=["taylor", "mc:300"])
    assert_equal(rows, command("--sigma", "0.1", "--estimator", "taylor,mc:300", "--limit", "20", "--tolerance", "4"))
    for refused in ({"labels": labels}, {"target": 3}, {"groups": "0,1"}, {"top": 2}):
        with pytest.raises(probust.UsageError, match="applies to classifiers, but tolerance applies to regression models"):
            within.estimate(x, sigma=0.1, **refused)
    each = probust.load_model(DIGITS, tolerance=[4] * 9 + [0.5]).estimate(x, sigma=0.1, estimators="mc:300")
    assert np.all(each["p"] <= rows["p"][1::2]) and np.any(each["p"] < rows["p"][1::2])
    with pytest.raises(probust.UsageError, match="check is for classifiers"):
        probust.check(within, x)
    assert len(within.estimate(x[:0], sigma=0.1)) == 0
    for wrong in (0, -1, float("nan"), [0.5, 3]):
        with pytest.raises(probust.UsageError, match="tolerance"):
            probust.load_model(DIGITS, tolerance=wrong)


def test_rows_are_those_of_the_command_line(model, data):
    x, labels = data
    estimators = "auto,taylor,mmse:5,mc:300"
    rows = model.estimate(x, sigma=[0.1, 0.4], estimators=estimators.split(","), labels=labels, seed=3)
    assert_equal(rows, command("--sigma", "0.1,0.4", "--estimator", estimators, "--limit", "20", "--seed", "3"))


def test_what_points_share_can_be_chosen(model, data):
    named = model.estimate(data[0], sigma=0.3, estimators=["probit:20:shared", "regression:20:learned", "mc:20"])
    chosen = model.estimate(data[0], sigma=0.3, estimators=["probit:20", "regression:20", "mc:20"], share="draws")
    assert np.array_equal(named["estimator"], chosen["estimator"]) and np.array_equal(named["p"], chosen["p"])
    with pytest.raises(probust.UsageError, match="share cannot be 'all'; use none, pooled, learned or draws"):
        model.estimate(data[0], sigma=0.3, share="all")


def test_labels_have_a_probability(model, data):
    x, labels = data
    others = (labels + 1) % 10
    rows = model.estimate(x, sigma=0.4, estimators="mc:2000", labels=others)
    target = model.estimate(x, sigma=0.4, estimators="mc:2000", target=others)
    assert np.array_equal(rows["p_label"], target["p"])
    assert (rows["p_label_low"] <= rows["p_label"]).all() and (rows["p_label"] <= rows["p_label_high"]).all()
    assert np.isnan(model.estimate(x, sigma=0.4, estimators="taylor")["p_label"]).all()


def test_evaluate(model, data):
    x, labels = data
    results = probust.evaluate(model, x, labels, sigma=[0.2, 0.6], estimator="mc:500", seed=2)
    assert list(results) == ["gaussian:0.2", "gaussian:0.6"]
    rows = model.estimate(x, sigma=0.6, estimators="mc:500", labels=labels, seed=2)
    hard = results["gaussian:0.6"]
    assert np.array_equal(hard.rows, rows)
    assert hard.clean_accuracy.mean == (rows["label"] == rows["predicted"]).mean()
    assert hard.noisy_accuracy.mean == pytest.approx(rows["p_label"].mean())
    assert hard.mean_p.mean == pytest.approx(rows["p"].mean())
    assert hard.noisy_accuracy.ci_low < hard.noisy_accuracy.mean < hard.noisy_accuracy.ci_high
    assert hard.noisy_accuracy.count == hard.mean_p.count == hard.clean_accuracy.count == 20
    wrong = probust.evaluate(model, x, (labels + 1) % 10, sigma=0.2, estimator="mc:500")["gaussian:0.2"]
    assert wrong.clean_accuracy.mean == 0 and wrong.noisy_accuracy.mean < 0.1 < wrong.mean_p.mean
    with pytest.raises(probust.UsageError, match="y is missing"):
        probust.evaluate(model, x, None, sigma=0.2)


def test_options(model, data):
    x, labels = data
    rows = model.estimate(x, noise="laplace:0.2", estimators="mc:200", target="label", labels=labels, per_class=True)
    wanted = command("--noise", "laplace:0.2", "--estimator", "mc:200", "--target", "label", "--limit", "20")
    assert_equal(rows, wanted)
    classes = np.stack([rows[f"p_class_{c}"] for c in range(10)], axis=1)
    assert np.allclose(classes.sum(axis=1), 1)
    assert np.array_equal(classes[np.arange(20), rows["target"]], rows["p"])
    alone = model.estimate(x, sigma=0.4, estimators="mc:200")["p"]
    assert (model.estimate(x, sigma=0.4, estimators="mc:200", top=3)["p"] >= alone).all()
    others = (rows["predicted"] + 1) % 10
    assert np.array_equal(model.estimate(x, sigma=0.4, estimators="mc:200", target=list(others))["target"], others)
    moved = model.estimate(x[5:], sigma=0.4, estimators="mc:200", first_index=5)
    assert np.array_equal(moved["p"], alone[5:])


def test_arrays(model, data):
    x, _ = data
    assert model.classes == 10 and model.point_shape == (1, 16, 16)
    logits = model.logits(x)
    assert logits.dtype == np.float32 and logits.shape == (20, 10)
    assert np.array_equal(model.logits(x.astype(np.float64)), logits)
    assert np.array_equal(model.logits(np.asfortranarray(x)), logits)
    margins = model.margins(x)
    predicted = logits.argmax(axis=1)
    assert margins[3, 0] == logits[3, predicted[3]] - logits[3, 1 if predicted[3] == 0 else 0]
    assert len(model.estimate(x[0], sigma=0.1, estimators="taylor")) == 1


def test_p_gradient(model, data):
    x, labels = data
    gradient = model.p_gradient(x, sigma=0.3)
    assert gradient.dtype == np.float32 and gradient.shape == x.shape
    assert np.array_equal(model.p_gradient(x[3], sigma=0.3), gradient[3])
    smooth = model.p_gradient(x, sigma=0.3, estimator="adf")  # unlike taylor's, its p has no kinks
    target = list(model.estimate(x, sigma=0.3, estimators="adf")["target"])
    length = np.sqrt((smooth.astype(np.float64) ** 2).sum(axis=(1, 2, 3)))
    step = 0.01 * smooth / np.maximum(length, 1e-12)[:, None, None, None]
    up, down = (model.estimate(x + s, sigma=0.3, estimators="adf", target=target)["p"] for s in (step, -step))
    assert np.abs((up - down) / 0.02 - length).max() < 0.01 * length.max()
    assert not np.array_equal(model.p_gradient(x, sigma=0.3, target="label", labels=(labels + 1) % 10), gradient)
    sampled, errors = model.p_gradient(x[:2], sigma=0.3, estimator="mc:4000", std_error=True)
    assert errors.shape == sampled.shape == x[:2].shape
    assert np.abs(sampled - model.p_gradient(x[:2], sigma=0.3, estimator="mmse:200")).max() < 6 * errors.max() + 0.02
    assert model.p_gradient(x[:2], sigma=0.3, std_error=True)[1] is None
    with pytest.warns(UserWarning, match="approximated as Gaussian"):
        model.p_gradient(x[:2], noise="uniform:0.3")


def test_bytes_and_preprocessing(data):
    x, _ = data
    half = probust.load_model(DIGITS.read_bytes(), std=0.5, threads=1)
    whole = probust.load_model(str(DIGITS))
    assert np.allclose(half.logits(x / 2), whole.logits(x), atol=1e-4)
    assert "1, 16, 16" in repr(half)


def test_pandas(model, data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(model.estimate(data[0], sigma=[0.1, 0.2], estimators=["taylor", "mc:50"]))
    assert list(frame.groupby("estimator").p.count()) == [40, 40]


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (probust.UsageError, "gaussian:-1", lambda model, x: model.estimate(x, sigma=-1)),
        (probust.UsageError, "sigma", lambda model, x: model.estimate(x)),
        (probust.UsageError, "nothing:3", lambda model, x: model.estimate(x, sigma=0.1, estimators="nothing:3")),
        (probust.UnreadableError, "no-such.onnx", lambda model, x: probust.load_model("no-such.onnx")),
        (probust.UnreadableError, "model", lambda model, x: probust.load_model(b"nonsense")),
        (probust.UnreadableError, "", lambda model, x: model.logits(np.zeros((2, 3), np.float32))),
        (probust.UsageError, "not 2 for 20 points", lambda model, x: model.estimate(x, sigma=0.1, estimators="mc:9", labels=[1, 2])),
        (probust.UsageError, "not 2 for 20 points", lambda model, x: model.margins(x, [1, 2])),
        (probust.UsageError, "has no gradient of p", lambda model, x: model.p_gradient(x, sigma=0.1, estimator="probit:24")),
        (probust.UsageError, "one noise model", lambda model, x: model.p_gradient(x, sigma=[0.1, 0.2])),
        (probust.UsageError, "contains NaN", lambda model, x: model.p_gradient(x * np.nan, sigma=0.1)),
        (probust.UnsupportedError, "additive noise", lambda model, x: model.p_gradient(x, noise="rotate:10")),
        (probust.UsageError, "point_shape", lambda model, x: probust.model_from_function(linear, 3)),
        (probust.UsageError, "layout", lambda model, x: probust.load_model(DIGITS, layout="sideways")),
        (probust.UnreadableError, "missing.npz", lambda model, x: probust.read_data("missing.npz")),
    ],
)
def test_errors(model, data, error, text, call):
    with pytest.raises(error, match=re.escape(text)) as caught:
        call(model, data[0])
    assert "\n" not in str(caught.value) and isinstance(caught.value, probust.Error)
    assert type(caught.value).__name__.lower() == caught.value.kind + "error"


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("seed is -1; give 0 or more", lambda model, x: model.estimate(x, sigma=0.1, seed=-1)),
        ("seed is 1.5; give a whole number", lambda model, x: model.estimate(x, sigma=0.1, seed=1.5)),
        ("seed is 18446744073709551616; give at most", lambda model, x: model.estimate(x, sigma=0.1, seed=2**64)),
        ("top is None; give a whole number", lambda model, x: model.estimate(x, sigma=0.1, top=None)),
        ("groups is 3; give a string", lambda model, x: model.estimate(x, sigma=0.1, groups=3)),
        ("estimators is None; give one or several strings", lambda model, x: model.estimate(x, sigma=0.1, estimators=None)),
        ("estimators is 7; give a string", lambda model, x: model.estimate(x, sigma=0.1, estimators=[7])),
        ("sigma is 'abc'; give a number", lambda model, x: model.estimate(x, sigma="abc")),
        ("sigma has the shape [1, 1]", lambda model, x: model.estimate(x, sigma=[[0.1]])),
        ("first_index is -1", lambda model, x: model.estimate(x, sigma=0.1, first_index=-1)),
        (
            "first_index is 9223372036854775807; give at most 9223372036854775787",
            lambda model, x: model.estimate(x, sigma=0.1, first_index=2**63 - 1),
        ),
        ("labels has 1.5 at position 1", lambda model, x: model.estimate(x[:2], sigma=0.1, labels=[1, 1.5])),
        ("labels has nan at position 0", lambda model, x: model.estimate(x[:2], sigma=0.1, labels=[np.nan, 1])),
        ("labels has 'cat' at position 0; give a whole number", lambda model, x: model.estimate(x[:2], sigma=0.1, labels=["cat", "dog"])),
        ("at position 0", lambda model, x: model.estimate(x[:1], sigma=0.1, labels=np.array([2**63], np.uint64))),
        ("labels has None at position 1", lambda model, x: model.estimate(x[:2], sigma=0.1, labels=[1, None])),
        ("sigma is 1000", lambda model, x: model.estimate(x, sigma=10**400)),
        ("sigma has the shape [0]", lambda model, x: model.estimate(x, sigma=[])),
        ("x is [[1000", lambda model, x: model.logits([[10**400]])),
        ("estimators is empty", lambda model, x: model.estimate(x, sigma=0.1, estimators=[])),
        ("estimators is 'mc\\ud800'", lambda model, x: model.estimate(x, sigma=0.1, estimators="mc\ud800")),
        ("per_class is 'no'; give True or False", lambda model, x: model.estimate(x, sigma=0.1, per_class="no")),
        ("progress is 3", lambda model, x: model.estimate(x, sigma=0.1, progress=3)),
        ("target is 1.5", lambda model, x: model.estimate(x, sigma=0.1, target=1.5)),
        ("x has elements of the type <U3; give an array", lambda model, x: model.estimate("abc", sigma=0.1)),
        ("x is [[1], [1, 2]]; give an array", lambda model, x: model.logits([[1], [1, 2]])),
        ("x has elements of the type complex128", lambda model, x: model.logits(np.zeros((1, 1, 16, 16), complex))),
        ("f is 3; give a function", lambda model, x: probust.model_from_function(3, 2, (1,))),
        ("vjp is 3; give a function", lambda model, x: probust.model_from_function(linear, 3, (2,), vjp=3)),
        ("classes is 3.0", lambda model, x: probust.model_from_function(linear, 3.0, (2,))),
        ("classes is 1; give 2 or more", lambda model, x: probust.model_from_function(linear, 1, (2,))),
        ("batch is -1", lambda model, x: probust.model_from_function(linear, 3, (2,), batch=-1)),
        ("point_shape is 'ab'; give extents", lambda model, x: probust.model_from_function(linear, 3, "ab")),
        ("threads is -1", lambda model, x: probust.load_model(DIGITS, threads=-1)),
        ("threads is None", lambda model, x: probust.load_model(DIGITS, threads=None)),
        ("device cannot be 'abacus'", lambda model, x: probust.load_model(DIGITS, device="abacus")),
        ("model is None; give the path of a file", lambda model, x: probust.load_model(None)),
        ("give a path without zero bytes", lambda model, x: probust.read_data("points.npz\0.npy")),
        ("limit is -5", lambda model, x: probust.read_data(POINTS, limit=-5)),
        ("kind is 3; give a string", lambda model, x: probust.made_data(3, 10)),
    ],
)
def test_arguments(model, data, text, call):
    with pytest.raises(probust.UsageError, match=re.escape(text)) as caught:
        call(model, data[0])
    assert "\n" not in str(caught.value)


def test_numbers_in_other_forms(model, data):
    x, labels = data
    wanted = model.estimate(x[:2], sigma=0.1, estimators="mc:50", labels=labels[:2])
    for sigma, each in ((np.array(0.1), labels[:2].astype(float)), ([0.1], list(labels[:2])), (np.float64(0.1), labels[:2])):
        assert np.array_equal(model.estimate(x[:2].tolist(), sigma=sigma, estimators="mc:50", labels=each)["p"], wanted["p"])
    assert probust.model_from_function(lambda x: np.stack([x, -x], 1), 2, 1).point_shape == (1,)
    assert np.array_equal(probust.load_model(DIGITS, device="eigen").logits(x).argmax(1), model.logits(x).argmax(1))


def test_names_of_files_need_not_be_utf_8(tmp_path, model, data):
    folder = os.fsencode(tmp_path)
    with open(folder + b"/\xff.onnx", "wb") as file:
        file.write(DIGITS.read_bytes())
    assert np.array_equal(probust.load_model(os.fsdecode(folder + b"/\xff.onnx")).logits(data[0]), model.logits(data[0]))
    with pytest.raises(probust.UnreadableError, match="fe.npz"):
        probust.read_data(os.fsdecode(folder + b"/\xfe.npz"))


def test_whole_numbers_of_objects(model, data):
    rows = model.estimate(data[0][:3], sigma=0.1, estimators="taylor", labels=np.array([1, 0, 1], object))
    assert list(rows["label"]) == [1, 0, 1]
    assert len(model.estimate(data[0][:0], sigma=0.1, estimators="taylor", labels=np.array([], "U1"))) == 0


def png(pixels):
    """The bytes of a PNG file with gray levels [height, width]."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels.astype(np.uint8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def test_folders_of_images(tmp_path):
    for label in (0, 1):
        (tmp_path / str(label)).mkdir()
        (tmp_path / str(label) / "a.png").write_bytes(png(np.full((6, 8), 51 * (label + 1))))
    x, labels = probust.read_data(tmp_path)
    assert x.shape == (2, 1, 6, 8) and labels.tolist() == [0, 1]
    x, labels = probust.read_data(tmp_path, resize=3, crop=2)
    assert x.shape == (2, 1, 2, 2) and np.allclose(x[0], 0.2) and np.allclose(x[1], 0.4)
    with pytest.raises(probust.UsageError, match="crop is larger"):
        probust.read_data(tmp_path, resize=3, crop=4)


def test_csv_files(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("1,2\n3,oops\n5,6\n")
    with pytest.raises(probust.UnreadableError, match="skip_bad"):
        probust.read_data(file, label_column="none")
    with pytest.warns(UserWarning, match="point 1 was left out: .*oops"):
        x, labels = probust.read_data(file, label_column="none", skip_bad=True)
    assert x.tolist() == [[1, 2], [5, 6]] and labels is None
    file.write_text("1,2\n5,6\n")
    x, labels = probust.read_data(file, label_column=0, scale=0.5)
    assert x.tolist() == [[1], [3]] and labels.tolist() == [1, 5]


def test_the_points_are_the_only_positional_argument(model, data):
    x, labels = data
    with pytest.raises(probust.UsageError, match=re.escape("call model.estimate(x, sigma=0.1, labels=y)")):
        model.estimate(x, labels)
    with pytest.raises(ValueError, match="one positional argument"):
        model.estimate(x, labels, sigma=0.1)


@pytest.mark.parametrize("label", [10, 99, -2])
def test_labels_are_classes_of_the_model(model, data, label):
    labels = data[1][:3].copy()
    labels[2] = label
    with pytest.raises(probust.UsageError, match=f"labels must be classes of the model, not {label} at position 2; the model has classes 0..9"):
        model.estimate(data[0][:3], sigma=0.1, estimators="taylor", labels=labels)


def test_labels_minus_one_and_one_are_refused_for_two_classes(data):
    two = probust.load_model(DIGITS, outputs=[8, 3])
    signs = [1, -1, 1]
    for call in (lambda: two.estimate(data[0][:3], sigma=0.1, labels=signs), lambda: probust.check(two, data[0][:3], signs)):
        with pytest.raises(probust.UsageError, match="labels cannot be -1 and 1, because -1 means unlabelled; give 0 and 1"):
            call()


def test_labels_beyond_the_first_block_are_checked_first(model, data):
    x = np.repeat(data[0][:1], 300, axis=0)
    labels = np.zeros(300, int)
    labels[290] = 10
    with pytest.raises(probust.UsageError, match="not 10 at position 290"):
        model.estimate(x, sigma=0.1, estimators="mc:10", labels=labels)


def test_bytes_are_scaled_as_in_files(model, data):
    pixels = np.load(POINTS)["x"][:4]
    assert pixels.dtype == np.uint8
    assert np.array_equal(model.logits(pixels), model.logits(data[0][:4]))
    wanted = model.estimate(data[0][:4], sigma=0.2, estimators="mc:100")["p"]
    assert np.array_equal(model.estimate(pixels, sigma=0.2, estimators="mc:100")["p"], wanted)
    assert np.array_equal(model.estimate(pixels.astype(int), sigma=0.2, estimators="mc:100", scale=1 / 255)["p"], wanted)
    unscaled = probust.load_model(DIGITS, scale=1)
    assert np.array_equal(unscaled.logits(pixels), model.logits(pixels.astype(np.float32)))
    assert np.array_equal(unscaled.logits(pixels, scale=1 / 255), model.logits(pixels))
    with pytest.raises(probust.UsageError, match="scale is 0"):
        model.estimate(pixels, sigma=0.2, scale=0)


def test_bytes_for_a_function_need_a_scale():
    model = probust.model_from_function(linear, 3, (2,))
    pixels = np.array([[1, 255]], np.uint8)
    with pytest.raises(probust.UsageError, match="x contains bytes.* scale=1"):
        model.logits(pixels)
    assert np.array_equal(model.logits(pixels, scale=1), linear(pixels.astype(np.float32)))


def test_masked_values_are_refused(model, data):
    x = np.ma.masked_array(data[0][:2], mask=False)
    assert np.array_equal(model.logits(x), model.logits(data[0][:2]))
    x[1, 0, 2, 3] = np.ma.masked
    with pytest.raises(probust.UsageError, match=re.escape("x has masked values, the first at [1, 0, 2, 3]")):
        model.estimate(x, sigma=0.1)
    with pytest.raises(probust.UsageError, match="labels has masked values"):
        model.estimate(data[0][:2], sigma=0.1, labels=np.ma.masked_array([1, 2], mask=[0, 1]))


def test_dummies_of_pandas_are_numbers():
    pandas = pytest.importorskip("pandas")
    model = probust.model_from_function(linear, 3, (2,))
    for kind in (bool, np.uint8):
        frame = pandas.DataFrame({"red": [1, 0], "blue": [0, 1]}).astype(kind)
        assert np.array_equal(model.logits(frame), linear(np.eye(2, dtype=np.float32)))
    mixed = pandas.DataFrame({"a": [0.5], "red": [True]})
    assert np.array_equal(model.logits(mixed), linear(np.array([[0.5, 1]], np.float32)))


def test_errors_name_the_file(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    for name, call in (("m.onnx", probust.load_model), ("x.npz", probust.read_data), ("x.csv", probust.read_data)):
        (tmp_path / name).write_bytes(pointer)
        with pytest.raises(probust.UnreadableError, match=f"{name} is a Git LFS pointer, .*; run git lfs pull"):
            call(tmp_path / name)
    (tmp_path / "m.onnx").write_bytes(b"nonsense")
    with pytest.raises(probust.UnreadableError, match="m.onnx is not an ONNX model"):
        probust.load_model(tmp_path / "m.onnx")


def test_text_labels_are_matched(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("1,2,pear\n3,4,apple\n5,6,pear\n")
    with pytest.warns(UserWarning, match="points.csv: text labels are numbered in sorted order: apple = 0, pear = 1"):
        labels = probust.read_data(file)[1]
    assert labels.tolist() == [1, 0, 1] and labels.class_names == ["apple", "pear"] and "sorted" in labels.mapping
    with pytest.warns(UserWarning, match="matched with the class names of classes"):
        labels = probust.read_data(file, classes=["fig", "Pear", "apple"])[1]
    assert labels.tolist() == [1, 2, 1] and labels.class_names == ["fig", "Pear", "apple"]
    (tmp_path / "names.txt").write_text("pear\nfig\n")
    with pytest.raises(probust.UnreadableError, match="label 'apple', which is not a class name"):
        probust.read_data(file, classes=tmp_path / "names.txt")


def test_made_data():
    x, labels = probust.made_data("digits", 30, seed=2)
    assert x.shape == (30, 1, 28, 28) and list(labels[:11]) == [*range(10), 0]
    assert np.array_equal(probust.made_data("digits", 10, seed=2)[0], x[:10])


# f(x) = W x + b
W = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]], np.float32)


def linear(x):
    assert x.dtype == np.float32
    return x @ W.T


def test_functions():
    x = np.array([[0.3, 0.1], [-0.5, 0.2], [1.0, 1.0]], np.float32)
    counted = probust.model_from_function(linear, 3, (2,)).estimate(x, sigma=0.5, estimators="mc:4000")
    exact = probust.model_from_function(linear, 3, (2,), vjp=lambda x, c: c @ W).estimate(x, sigma=0.5, estimators="taylor")
    assert np.abs(counted["p"] - exact["p"]).max() < 0.04
    assert np.array_equal(
        counted["p"], probust.model_from_function(linear, 3, (2,), batch=7).estimate(x, sigma=0.5, estimators="mc:4000")["p"]
    )
    with pytest.raises(probust.UnsupportedError, match="gradients"):
        probust.model_from_function(linear, 3, (2,)).estimate(x, sigma=0.5, estimators="taylor")


def test_moments_need_the_network():
    model = probust.model_from_function(linear, 3, (2,), vjp=lambda x, c: c @ W)
    with pytest.raises(probust.UnsupportedError, match="moments are not available from .*; use an estimator other than adf"):
        model.estimate(np.zeros((1, 2)), sigma=0.5, estimators="adf")


def test_models_that_refer_to_themselves_are_collected():
    class Service:
        def __init__(self):
            self.model = probust.model_from_function(self.logits, 3, (2,))

        def logits(self, x):
            return linear(x)

    service = Service()
    assert service.model.logits(np.ones((1, 2))).shape == (1, 3)
    gone = weakref.ref(service)
    del service
    gc.collect()
    assert gone() is None
    empty = [probust._probust.Model.__new__(probust._probust.Model) for _ in range(100)]
    gc.collect()  # objects that were never initialised
    assert len(empty) == 100


# Each runs as a separate process, because it ends or forks while a thread is working.
PROGRAMS = {
    "the end of the interpreter": """
        threading.Thread(target=lambda: model.estimate(x, sigma=0.3, estimators="mc:100000000"), daemon=True).start()
        time.sleep(0.3)
    """,
    "the end of the interpreter within a function": """
        def slow(x):
            time.sleep(0.01)
            return np.zeros((len(x), 3), np.float32)

        slow_model = probust.model_from_function(slow, 3, (2,), batch=5)
        for _ in range(4):
            threading.Thread(target=lambda: slow_model.estimate(np.zeros((9, 2)), sigma=0.3, estimators="mc:100000"), daemon=True).start()
        time.sleep(0.3)
    """,
    "a fork within a function": """
        children = []

        def forking(x):
            children.append(os.fork())
            if children[-1] == 0 and len(children) == 2:
                sys.exit(5)
            return np.zeros((len(x), 3), np.float32)

        forked = probust.model_from_function(forking, 3, (2,))
        parent = os.getpid()
        try:
            forked.logits(np.zeros((2, 2)))
        except probust.UsageError as error:
            assert os.getpid() != parent and "forked" in str(error)
            try:
                forked.logits(np.zeros((2, 2)))
            except probust.UsageError as error:
                os._exit(4)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 4
        forked.logits(np.zeros((2, 2)))
        assert os.waitstatus_to_exitcode(os.waitpid(children[1], 0)[1]) == 5
    """,
    "a fork": """
        thread = threading.Thread(target=lambda: model.estimate(x, sigma=0.3, estimators="mc:300000"))
        thread.start()
        time.sleep(0.3)
        child = os.fork()
        if child == 0:
            try:
                model.logits(x)
                sys.exit(1)
            except probust.UsageError as error:
                sys.exit(0 if "forked" in str(error) else 2)
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        child = os.fork()
        if child == 0:
            model.estimate(x, sigma=0.3, estimators="mc:100")
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_end_well(program):
    head = "import os, sys, threading, time\nimport numpy as np\nimport probust\n"
    head += f"model = probust.load_model({str(DIGITS)!r})\nx, _ = probust.read_data({str(POINTS)!r}, limit=20)\n"
    ended = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(PROGRAMS[program])], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_exceptions_of_functions_reach_the_caller():
    class Lost(Exception):
        pass

    calls = []

    def f(x):
        calls.append(len(x))
        if len(calls) == 3:
            raise Lost("the connection")
        return linear(x)

    model = probust.model_from_function(f, 3, (2,), batch=1000)
    with pytest.raises(Lost, match="the connection"):
        model.estimate(np.zeros((1, 2)), sigma=1, estimators="mc:5000")
    assert len(model.estimate(np.zeros((1, 2)), sigma=1, estimators="mc:100")) == 1
    wrong = probust.model_from_function(lambda x: x, 3, (2,))
    with pytest.raises(probust.UsageError, match=r"returned an array of shape \[1, 2\] with 2 numbers; return \[1, 3\]"):
        wrong.estimate(np.zeros((1, 2)), sigma=1, estimators="mc:10")
    with pytest.raises(probust.UsageError, match="f did not return numbers: .*'no'"):
        probust.model_from_function(lambda x: "no", 3, (2,)).logits(np.zeros((1, 2)))


def test_functions_belong_to_the_thread_that_asks():
    threads = set()

    def f(x):
        threads.add(threading.get_ident())
        return linear(x)

    probust.model_from_function(f, 3, (2,), batch=10).estimate(np.zeros((50, 2)), sigma=1, estimators="mc:100")
    assert threads == {threading.get_ident()}


def test_a_model_within_its_own_function_is_refused():
    model = probust.model_from_function(lambda x: model.logits(x), 3, (2,))
    with pytest.raises(probust.UsageError, match="its own function"):
        model.logits(np.zeros((1, 2)))


def test_ctrl_c_within_a_function():
    def f(x):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return linear(x)

    with pytest.raises(KeyboardInterrupt):
        probust.model_from_function(f, 3, (2,)).estimate(np.zeros((1, 2)), sigma=1, estimators="mc:5000")


def test_scores_of_two_classes():
    x = np.array([[0.3], [-0.2]], np.float32)
    rows = probust.model_from_function(lambda x: x[:, 0], 2, (1,)).estimate(x, sigma=1.0, estimators="mc:20000")
    assert list(rows["predicted"]) == [1, 0]
    assert np.allclose(rows["p"], [0.6179, 0.5793], atol=0.015)  # Phi(0.3), Phi(0.2)


def test_progress(model, data, capsys):
    seen = []
    model.estimate(data[0], sigma=0.3, estimators="mc:20000", progress=lambda done, planned: seen.append((done, planned)))
    assert seen and all(0 <= done <= planned for done, planned in seen)
    model.estimate(data[0][:2], sigma=0.3, estimators="mc:100", progress=True)
    assert "probust" in capsys.readouterr().err


def test_ctrl_c_ends_an_estimate_and_leaves_the_model(model, data):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.estimate(data[0], sigma=0.3, estimators="mc:50000000")
    assert time.monotonic() - begun < 5
    assert len(model.estimate(data[0], sigma=0.3, estimators="taylor")) == 20


def test_threads_take_turns_and_the_interpreter_runs(model, data):
    wanted = model.estimate(data[0], sigma=0.3, estimators="mc:3000")["p"]
    found, ticks = [], 0
    workers = [threading.Thread(target=lambda: found.append(model.estimate(data[0], sigma=0.3, estimators="mc:3000")["p"])) for _ in range(3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        ticks += 1
        time.sleep(0.001)
    assert ticks > 1
    assert len(found) == 3 and all(np.array_equal(each, wanted) for each in found)


def test_scikit_learn_forest():
    ensemble = pytest.importorskip("sklearn.ensemble")
    x, labels = probust.made_data("moons", 400)
    forest = ensemble.RandomForestClassifier(20, random_state=0).fit(x, labels)
    model = probust.model_from_function(forest.predict_proba, 2)
    assert model.point_shape == (2,)
    rows = model.estimate(x[:5], sigma=0.2, estimators="mc:1000")
    assert np.array_equal(rows["predicted"], forest.predict_proba(x[:5]).argmax(axis=1))
    noisy = x[:5, None] + np.random.default_rng(0).normal(0, 0.2, (5, 1000, 2)).astype(np.float32)
    own = [(forest.predict_proba(copies).argmax(axis=1) == row["predicted"]).mean() for copies, row in zip(noisy, rows)]
    assert np.abs(rows["p"] - own).max() < 0.08


def test_torch_network():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
    )
    example = torch.randn(3, 1, 8, 8)
    network(example)  # changes the running statistics of the batch normalisation
    model = probust.model_from_torch(network, example)
    with torch.no_grad():
        assert np.allclose(model.logits(example.numpy()), network.eval()(example).numpy(), atol=1e-5)
    assert network.training is False and model.point_shape == (1, 8, 8)
    network.train()
    network[1].eval()
    for last in (nn.Softmax(1), nn.LogSoftmax(1)):
        same = probust.model_from_torch(nn.Sequential(network, last), example)
        assert np.allclose(same.logits(example), model.logits(example), atol=1e-5)
    assert network.training and not network[1].training
    with pytest.raises(probust.UsageError, match="module returned a tuple"):
        probust.model_from_torch(nn.LSTM(8, 5), torch.zeros(2, 8))
    with pytest.raises(probust.UsageError, match="example is not a tensor"):
        probust.model_from_torch(network, example[:0])
    rows = model.estimate(example.numpy(), sigma=0.3, estimators=["auto", "mc:2000"])
    assert np.abs(rows["p"][::2] - rows["p"][1::2]).max() < 0.08


def test_the_readme(tmp_path, monkeypatch):
    """Runs the examples of the README in order, in one scope."""
    monkeypatch.chdir(tmp_path)
    for name in ("digits.onnx", "points.npz"):
        (tmp_path / name).symlink_to(ROOT / "demos/digits" / name)
    text = (ROOT / "native/python/README.md").read_text()
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        if "torch" in block or "sklearn" in block:
            continue  # tested above
        exec(compile(block, "README.md", "exec"), scope)
    assert 0 < scope["mean"] < 1


def test_the_stub_names_what_the_module_has():
    stub = (ROOT / "native/python/probust/_probust.pyi").read_text()
    wanted = {name for name in dir(probust._probust) if not name.startswith("_")}
    assert set(re.findall(r"^(?:def |class )?(\w+)(?:\(|:)", stub, re.M)) == wanted


def test_check_names_what_repairs_a_broken_model(model):
    x, labels = probust.read_data(POINTS)
    fine = probust.check(model, x, labels, sigma=0.1)
    assert not fine["suspicious"] and str(fine).endswith("nothing suspicious\n")
    assert fine["accuracy"] > 0.9 and fine["points"] == len(x)
    broken = probust.load_model(DIGITS, mean=0.5, std=0.1)
    report = probust.check(broken, x, labels)
    assert report["suspicious"] and report["options"]["leave_out"] == ["mean", "std"]
    assert report["findings"][0]["severity"] == "warning"
    assert "leave out mean, std" in str(report)
    assert probust.check(model, x * 255, sigma=0.1)["findings"][0]["kind"] == "range"
    assert probust.check(model, x, 9 - labels)["findings"][0]["kind"] == "labels"


def test_estimates_warn_and_say_so_in_their_notes(model):
    x, labels = probust.read_data(POINTS)
    broken = probust.load_model(DIGITS, mean=0.5, std=0.1)
    with pytest.warns(UserWarning, match="accuracy is .* as given"):
        rows = broken.estimate(x, sigma=0.1, estimators="taylor", labels=labels)
    assert all("may be wrong" in note for note in rows["note"])
    with pytest.warns(UserWarning, match="sigma is 0.1"):
        model.estimate(x * 255, sigma=0.1, estimators="taylor", labels=labels)
    with pytest.warns(UserWarning, match="all 30 points get class"):
        model.estimate(np.repeat(x[:1], 30, axis=0), sigma=0.1, estimators="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any("may be wrong" in note for note in model.estimate(x, sigma=0.1, estimators="taylor", labels=labels)["note"])
        assert not any("may be wrong" in note for note in broken.estimate(x, sigma=0.1, estimators="taylor", labels=labels, check=False)["note"])


def test_data_of_both_layouts_give_the_same(model):
    x, _ = probust.read_data(POINTS, limit=10)
    last = np.moveaxis(x, 1, -1)
    other = probust.load_model(DIGITS, point_shape=last.shape[1:])
    assert np.allclose(other.logits(last), model.logits(x))
