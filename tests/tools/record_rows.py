#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records rows of `probust estimate` for every shared model, to verify that a change does not change any number.

Usage: record_rows.py PROBUST FOLDER         writes FOLDER/MODEL.jsonl
       record_rows.py --compare FOLDER FOLDER prints each difference; exit status 1 if there is one
The models and their data come from $PROBUST_SHARED. To be run by hand: all 43 models take about five minutes on two cores."""
import json
import os
import pathlib
import subprocess
import sys

SHARED = pathlib.Path(os.environ.get("PROBUST_SHARED", pathlib.Path(__file__).resolve().parents[2].parent / "shared"))
DATA = {"mnist": "mnist-test-open-images-idx3-ubyte.gz", "fashion": "fashion-test-open-images-idx3-ubyte.gz",
        "cifar10": "cifar10-lossless-test-open.bin", "gtsrb32": "gtsrb32-test-open-images.npy",
        "gtsrb30": "gtsrb30-test-open-images.npy", "iris": "iris.csv"}
NOISES = ["gaussian:0.1", "uniform:0.15", "laplace:0.05"]
GAUSSIAN_ONLY = ["mc:64:stratified", "subset:200"]  # with other noise, these are usage errors
ESTIMATORS = ["auto:100", "auto:24", "mc:64", "mc:±0.1", "mc:p>0.5", "probit:24", "probit:24:pooled",
              "regression:60", "regression:60:pooled", "regression:60:adf", "adf", "taylor", "taylor_mvs", "mmse:4", "mmse:4:centered",
              "mmse:4:loo", "mmse_mvs:4", "softmax"]
POINTS = 3


def data_options(name, record):
    """The file with the data and the options that convert them to the model's input, from its entry in models.json."""
    dataset, steps = record["dataset"], record["preprocess"]
    if dataset.startswith("none"):
        return [SHARED / "models" / record["oracle_inputs"]]
    options = [SHARED / "data" / DATA.get(dataset, "iris.csv")]
    if steps.get("divide_by_255") is False:
        options += ["--scale", "1"]
    for statistic in ("mean", "std"):
        if steps[statistic] is not None:
            options += [f"--{statistic}", ",".join(map(repr, steps[statistic]))]
    if steps["layout"] == "whflat":
        options += ["--layout", "whcn"]
    return options


def record(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    models = json.loads((SHARED / "models" / "models.json").read_text())
    for name, entry in models.items():
        noises = [part for noise in NOISES for part in ("--noise", noise)]
        written = ""
        for some_noises, estimators in ((noises, ESTIMATORS), (noises[:2], GAUSSIAN_ONLY)):
            command = [program, "estimate", SHARED / "models" / entry["model"], *data_options(name, entry), "--limit", POINTS,
                       *some_noises, "--estimator", ",".join(estimators), "--seed", 7, "--format", "jsonl", "--quiet"]
            run = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
            written += run.stdout + (f"exit status {run.returncode}: {run.stderr}" if run.returncode else "")
        (folder / f"{name}.jsonl").write_text(written)
        print(f"{name}: {len(written.splitlines())} lines", flush=True)


def numbers(line):
    """The fields of a row without status, method and note, which may change."""
    row = json.loads(line) if line.startswith("{") else {"line": line}
    return {key: value for key, value in row.items() if key not in ("status", "method", "note")}


def compare(first, second):
    differences = 0
    names = {path.name for folder in (first, second) for path in folder.glob("*.jsonl")}
    for name in sorted(names):
        sides = [[numbers(line) for line in (folder / name).read_text().splitlines()] for folder in (first, second)]
        for number, (left, right) in enumerate(zip(*sides), 1):
            if left != right:
                differences += 1
                changed = {key: (left.get(key), right.get(key)) for key in left | right if left.get(key) != right.get(key)}
                print(f"{name}:{number}: {left.get('noise')} {left.get('estimator')}: {changed}")
        if len(sides[0]) != len(sides[1]):
            differences += 1
            print(f"{name}: {len(sides[0])} rows and {len(sides[1])}")
    print(f"{len(names)} models, {differences} differences")
    return 1 if differences or not names else 0


if len(sys.argv) == 4 and sys.argv[1] == "--compare":
    sys.exit(compare(*map(pathlib.Path, sys.argv[2:])))
if len(sys.argv) != 3:
    sys.exit(__doc__)
record(sys.argv[1], pathlib.Path(sys.argv[2]))
