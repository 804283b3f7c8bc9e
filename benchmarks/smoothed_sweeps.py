#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares smoothed sweeps with separate estimates at the same total cost.

    smoothed_sweeps.py PROBUST MODEL DATA SIGMAS [OPTION ...]

SIGMAS is a list such as 0.05,0.07,0.1; further options are passed to `probust estimate`. For several seeds, runs probit:24
separately at every scale, and with --smooth; uses mc:10000 as the truth. Prints the mean absolute errors, their ratio, and the
fraction of smoothed 95% intervals that overlap the interval of the truth. """

import csv
import os
import subprocess
import sys
import tempfile

SEEDS = range(8)


def rows(command, estimator, seed, *options):
    """Runs an estimate. Returns its rows as {(index, noise): row}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run([*command, "--estimator", estimator, "--seed", str(seed), "--quiet", "-o", path, *options],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, newline="") as file:
            return {(row["index"], row["noise"]): row for row in csv.DictReader(file) if row["p"]}


def mean_error(estimates, truth):
    return sum(abs(float(row["p"]) - float(truth[key]["p"])) for key, row in estimates.items()) / len(estimates)


def coverage(estimates, truth):
    def covers(row, true):
        return float(row["ci_low"]) <= float(true["ci_high"]) and float(true["ci_low"]) <= float(row["ci_high"])

    return sum(covers(row, truth[key]) for key, row in estimates.items()) / len(estimates)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    program, model, data, sigmas, *options = sys.argv[1:]
    command = [program, "estimate", model, data, "--sigma", sigmas, *options]
    truth = rows(command, "mc:10000", 1000)
    separate = mean(mean_error(rows(command, "probit:24", seed), truth) for seed in SEEDS)
    runs = [rows(command, "probit:24", 100 + seed, "--smooth") for seed in SEEDS]
    smoothed = mean(mean_error(run, truth) for run in runs)
    print(f"{os.path.basename(model)}: {len(truth)} probabilities, separate {separate:.4f}, smoothed {smoothed:.4f}, "
          f"ratio {smoothed / separate:.2f}, coverage {mean(coverage(run, truth) for run in runs):.3f}", flush=True)


if __name__ == "__main__":
    main()
