#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Smoothed sweeps against separate estimates at the same total cost.

    smoothed_sweeps.py PROBUST MODEL DATA SIGMAS [OPTION ...]

SIGMAS is a list such as 0.05,0.07,0.1; further options go to `probust estimate`. Runs probit:24 at every scale by
itself, and probit:24 and auto:24 with --smooth, for some seeds, and mc:10000 as the truth; prints the mean absolute errors and
their ratios to the first.
"""

import csv
import os
import subprocess
import sys
import tempfile

SEEDS = range(4)


def probabilities(command, estimator, seed, *options):
    """{(index, noise): p}"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run([*command, "--estimator", estimator, "--seed", str(seed), "--quiet", "-o", path, *options],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, newline="") as file:
            return {(row["index"], row["noise"]): float(row["p"]) for row in csv.DictReader(file) if row["p"]}


def mean_error(estimates, truth):
    return sum(abs(p - truth[key]) for key, p in estimates.items()) / len(estimates)


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    program, model, data, sigmas, *options = sys.argv[1:]
    command = [program, "estimate", model, data, "--sigma", sigmas, *options]
    truth = probabilities(command, "mc:10000", 1000)

    def error(estimator, *how):
        return sum(mean_error(probabilities(command, estimator, seed, *how), truth) for seed in SEEDS) / len(SEEDS)

    separate = error("probit:24")
    print(f"{model}: {len(truth)} probabilities, separate {separate:.4f}", end="", flush=True)
    for estimator in ("probit:24", "auto:24"):
        smoothed = error(estimator, "--smooth")
        print(f"; {estimator} smoothed {smoothed:.4f}, ratio {smoothed / separate:.2f}", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
