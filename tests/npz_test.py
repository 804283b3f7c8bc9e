#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loads the output of `probust export -o RUN.npz` with NumPy and compares it with the rows of the same run as JSON lines. Usage:
npz_test.py PROBUST. Exit status 77 means that numpy is not installed."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

PROBUST = sys.argv[1]
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "demos", "digits")
INTEGERS = ["index", "label", "predicted", "target", "forwards", "backwards"]
NUMBERS = ["sigma", "p", "p_fail", "std_error", "ci_low", "ci_high", "p_label", "p_label_low", "p_label_high"]
TEXTS = ["noise", "estimator", "status", "method"]


def call(*arguments):
    return subprocess.run([PROBUST, *arguments], check=True, capture_output=True, text=True).stdout


with tempfile.TemporaryDirectory() as folder:
    run, arrays = os.path.join(folder, "run.sqlite"), os.path.join(folder, "run.npz")
    model, points = f"{DIGITS}/digits.onnx", np.load(f"{DIGITS}/points.npz")
    x = points["x"].astype("<f4") * np.float32(1 / 255 if points["x"].dtype == np.uint8 else 1)
    x[3] = np.nan
    np.save(os.path.join(folder, "x.npy"), x)
    call("estimate", model, os.path.join(folder, "x.npy"), "--sigma", "0.2,0.4", "--estimator", "auto:50,mc:200,taylor",
         "--per-class", "--quiet", "-o", run)
    rows = [json.loads(line) for line in call("export", run, "--format", "jsonl").splitlines()]
    call("export", run, "-o", arrays)
    assert zipfile.ZipFile(arrays).testzip() is None
    a = np.load(arrays)  # without pickle
    for name in INTEGERS:
        assert a[name].dtype == np.int64 and a[name].shape == (len(rows),), name
        assert a[name].tolist() == [-1 if row[name] is None else row[name] for row in rows], name
    for name in NUMBERS:
        assert a[name].dtype == np.float64, name
        expected = np.array([np.nan if row[name] is None else row[name] for row in rows])
        assert np.array_equal(a[name], expected, equal_nan=True), name
    for name in TEXTS:
        assert a[name].dtype.kind == "U" and a[name].tolist() == [row[name] for row in rows], name
    assert "nonfinite" in set(a["status"]) and (a["label"] == -1).all() and np.isnan(a["p"]).any()
    notes = [None if code < 0 else a["notes"][code] for code in a["note_code"]]
    assert notes == [row["note"] for row in rows]
    for row, classes in zip(rows, a["classes"]):
        assert np.array_equal(classes, row.get("classes", [np.nan] * 10), equal_nan=True)
    chosen = (a["noise"] == "gaussian:0.4") & (a["estimator"] == "taylor")
    assert chosen.sum() == len(x)
    if "logits" in a:
        assert a["logits"].dtype == np.float32 and a["logits"].shape == (len(x), 10)
        out = os.path.join(folder, "logits.npy")
        call("logits", model, os.path.join(folder, "x.npy"), "-o", out, "--quiet")
        assert np.array_equal(a["logits"], np.load(out), equal_nan=True)
        assert a["point_index"].tolist() == list(range(len(x)))
        assert np.array_equal(a["point_predicted"][:3], a["logits"][:3].argmax(axis=1))
    # Points of several models: one model has no logits, and another has fewer classes.
    database = sqlite3.connect(run)
    database.execute("DELETE FROM points")
    points = [("large", 0, 1, 2, [1, 2, 3]), ("large", 1, None, 0, []), ("small", 0, 1, 1, [7, 8])]
    for model, index, label, predicted, logits in points:
        database.execute('INSERT INTO points (model, "index", label, predicted, logits) VALUES (?, ?, ?, ?, ?)',
                         (model, index, label, predicted, np.array(logits, "<f4").tobytes()))
    database.commit()
    database.close()
    call("export", run, "-o", arrays)
    a = np.load(arrays)
    assert a["point_model"].tolist() == ["large", "large", "small"] and a["point_index"].tolist() == [0, 1, 0]
    assert a["point_label"].tolist() == [1, -1, 1] and a["point_predicted"].tolist() == [2, 0, 1]
    nan = np.nan
    assert a["logits"].dtype == np.float32
    assert np.array_equal(a["logits"], [[1, 2, 3], [nan, nan, nan], [7, 8, nan]], equal_nan=True)
print("NumPy reads what was exported")
