#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Smoothed sweeps against separate estimates at the same total cost.

    smoothed_sweeps.py PROBUST MODEL DATA SIGMAS [OPTION ...]

SIGMAS is a list such as 0.05,0.07,0.1; further options go to `probust estimate`. Runs probit:24 at every scale, with and without
--smooth, for some seeds, and mc:20000 as the truth; prints both mean absolute errors and their ratio.
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
    truth = probabilities(command, "mc:20000", 1000)
    separate = [mean_error(probabilities(command, "probit:24", seed), truth) for seed in SEEDS]
    smoothed = [mean_error(probabilities(command, "probit:24", seed, "--smooth"), truth) for seed in SEEDS]
    a, b = sum(separate) / len(separate), sum(smoothed) / len(smoothed)
    print(f"{model}: {len(truth)} probabilities, separate {a:.4f}, smoothed {b:.4f}, ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
