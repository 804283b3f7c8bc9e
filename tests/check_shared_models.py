#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks `probust check` on the labelled shared models whose record names a mean, a std, a layout or unscaled bytes: with that
preprocessing, it must find nothing suspicious, except for at most one model; without it, if that costs more than 5 points of
accuracy, it must name options that restore the accuracy. Usage: check_shared_models.py PROBUST SHARED. Exit status 77 means that
the shared models are missing."""
import json
import os
import re
import subprocess
import sys

PROBUST, SHARED = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.environ.get("PROBUST_SHARED", "")
RECORDS = os.path.join(SHARED, "models", "models.json")
if not SHARED or not os.path.exists(RECORDS):
    print("skipped: the shared models are missing")
    sys.exit(77)

DATA = {
    "mnist": ["mnist-test-open-images-idx3-ubyte.gz"],
    "fashion": ["fashion-test-open-images-idx3-ubyte.gz"],
    "cifar10": ["cifar10-jpeg-test-1000.bin"],
    "gtsrb30": ["gtsrb30-test-open-images.npy", "--labels", "gtsrb-test-open-labels.npy"],
    "gtsrb32": ["gtsrb32-test-open-images.npy", "--labels", "gtsrb-test-open-labels.npy"],
    "iris": ["iris.csv"],
}


def check(model, dataset, options):
    words = [os.path.join(SHARED, "data", word) if "." in word else word for word in DATA[dataset]]
    command = [PROBUST, "check", os.path.join(SHARED, "models", model), *words, *options, "--json", "--quiet", "--threads", "1"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def flags(options):
    return [word for field, value in options["add"].items() for word in ("--" + field.replace("_", "-"), value)]


def true_options(preprocess, dataset):
    options = []
    if preprocess["mean"]:
        options += ["--mean=" + ",".join(map(repr, preprocess["mean"])), "--std", ",".join(map(repr, preprocess["std"]))]
    if preprocess["layout"] == "whflat":
        options += ["--layout", "whcn"]
    if not preprocess["divide_by_255"] and dataset != "iris":
        options += ["--scale", "1"]
    return options


models = suspicious = losing = failed = 0
for name, record in json.load(open(RECORDS)).items():
    preprocess, dataset = record.get("preprocess"), record.get("dataset")
    if dataset not in DATA or not isinstance(preprocess, dict):
        continue
    unscaled = not preprocess["divide_by_255"] and dataset != "iris"
    if not preprocess["mean"] and preprocess["layout"] in ("nchw", "flat") and not unscaled:
        continue
    models += 1
    right = check(record["model"], dataset, true_options(preprocess, dataset))
    bare = check(record["model"], dataset, [])
    line = f"{name}: {right['accuracy']:.3f} as it should be, {bare['accuracy']:.3f} without options"
    if right["suspicious"]:
        suspicious += 1
        line += "; suspicious as it should be: " + "; ".join(f["text"] for f in right["findings"] if f["severity"] == "warning")
    if right["accuracy"] - bare["accuracy"] > 0.05:
        losing += 1
        repaired = check(record["model"], dataset, flags(bare["options"])) if bare["options"]["add"] else bare
        line += f"; {repaired['accuracy']:.3f} with {bare['text']}"
        if repaired["accuracy"] < right["accuracy"] - 0.05:
            failed += 1
            line += " FAILED"
        if repaired["suspicious"]:
            failed += 1
            line += " FAILED: still suspicious"
    print(line)
print(f"{models} models; {losing} lose more than 5 points, {failed} of them failed; {suspicious} suspicious as they should be")
sys.exit(1 if failed or suspicious > 1 or models < 22 or losing < 15 else 0)
