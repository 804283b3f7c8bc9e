#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares probust's multivariate normal probability with scipy's, in time and error, on the same problems in one run.

    normal_against_scipy.py NATIVE [--wasm "NODE MODULE"]

NATIVE is the program probust-normal-bench, and MODULE is the same loop as WebAssembly (probust-normal-timing.js). Problems are like
those of a classifier: rows of U are differences w_t - w_i of random class vectors, so correlations scatter around 0.5, and z is
scaled so that p is near the value in CELLS. The true values are computed here, by separation of variables on scrambled Sobol
points (Genz 1992; Owen 1997) or, if failure is rare, by importance sampling, with far more points than probust or scipy uses.
scipy runs with the settings in PAPER. Prints tables in Markdown. Needs numpy and scipy. """

import argparse
import json
import os
import subprocess
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, qmc

# The settings in the code published with Han, Srinivas and Lakkaraju (2024).
PAPER = {"maxpts": 10000, "abseps": 1e-4, "releps": 1e-4}

CELLS = [(9, 0.5), (9, 0.9), (9, 0.99), (9, 0.9999), (99, 0.5), (99, 0.9), (99, 0.99), (99, 0.9999)]


def conditional_mean(limit):
    """The mean of a standard normal variable, given that it is below `limit`."""
    mass = max(ndtr(limit), 1e-300)
    return -np.exp(-0.5 * limit * limit) / np.sqrt(2 * np.pi) / mass


def ordered_cholesky(z, R):
    """Returns the limits and the Cholesky factor with the variables reordered so that the variable with the lowest conditional
    limit comes first (Gibson, Glasbey and Elston 1994). R must have full rank."""
    m = len(z)
    z, R, L, y = z.copy(), R.copy(), np.zeros((m, m)), np.zeros(m)
    for k in range(m):
        variance = np.diag(R)[k:] - (L[k:, :k] ** 2).sum(1)
        best = k + int(np.argmin((z[k:] - L[k:, :k] @ y[:k]) / np.sqrt(variance)))
        for array in (z, L):
            array[[k, best]] = array[[best, k]]
        R[[k, best]] = R[[best, k]]
        R[:, [k, best]] = R[:, [best, k]]
        L[k, k] = np.sqrt(R[k, k] - (L[k, :k] ** 2).sum())
        L[k + 1 :, k] = (R[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k]) / L[k, k]
        y[k] = conditional_mean((z[k] - L[k, :k] @ y[:k]) / L[k, k])
    return z, L


def truth(z, R, shifts=8, log2_points=15):
    """Returns q = 1 - p and its standard error, by separation of variables. q is a sum of positive terms, so small values keep
    their digits."""
    z, L = ordered_cholesky(z, R)
    m, means = len(z), []
    for shift in range(shifts):
        u = qmc.Sobol(max(m - 1, 1), scramble=True, seed=1000 + shift).random_base2(log2_points)
        y = np.empty((m, u.shape[0]))
        p, q = np.ones(u.shape[0]), np.zeros(u.shape[0])
        for k in range(m):
            limit = (z[k] - L[k, :k] @ y[:k]) / L[k, k]
            below = ndtr(limit)
            q += p * ndtr(-limit)
            p *= below
            if k < m - 1:
                y[k] = ndtri(np.clip(u[:, k] * below, 1e-300, 1 - 1e-16))
        means.append(q.mean())
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(shifts))


def rare_truth(z, R, chunks=16, samples=1 << 15):
    """Returns q = 1 - p and its standard error if failure is rare, by importance sampling from the union of single failures
    (Owen, Maximov and Chertkov 2019): q is the mean of sum_i P(X_i > z_i) divided by the number of exceeded limits."""
    rng = np.random.default_rng(7)
    tails = ndtr(-z)
    L = np.linalg.cholesky(R)
    means = []
    for _ in range(chunks):
        x = rng.normal(size=(samples, len(z))) @ L.T
        first = rng.choice(len(z), size=samples, p=tails / tails.sum())
        level = -ndtri(rng.random(samples) * tails[first])
        x += R[first] * (level - x[np.arange(samples), first])[:, None]
        means.append((tails.sum() / np.maximum((x > z).sum(1), 1)).mean())
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(chunks))


def class_problem(rng, m, target):
    """Returns U (m x d, with rows of length 1) and limits z such that P(X <= z) is near the target."""
    d = 4 * m
    w = rng.normal(size=(m + 1, d)) * rng.uniform(0.7, 1.4, size=(m + 1, 1))
    U = w[0] - w[1:]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    shape = rng.exponential(size=m) + 0.7
    x = rng.normal(size=(100000, d)) @ U.T
    # P(all x_i <= s shape_i) is the CDF of the largest ratio x_i / shape_i at s.
    return U, shape * max(np.quantile((x / shape).max(1), target), 0.05)


def low_rank_problem(rng, m, rank, target):
    U = rng.normal(size=(m, rank)) + np.r_[2.0, np.zeros(rank - 1)]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    shape = rng.exponential(size=m) + 0.7
    x = rng.normal(size=(20000, rank)) @ U.T
    return U, shape * np.quantile((x / shape).max(1), target)


def write(path, problems):
    """Writes one problem per line: name, m, d, the limits, the rows of U."""
    with open(path, "w") as file:
        for name, U, z in problems:
            numbers = " ".join(repr(float(x)) for x in np.r_[z, U.ravel()])
            file.write(f"{name} {U.shape[0]} {U.shape[1]} {numbers}\n")


def run_native(program, path, tolerance):
    """Returns {name: (seconds, p_fail, error, method)}, from the Google Benchmark program."""
    command = [program, "--benchmark_format=json", "--benchmark_min_time=0.05", path, str(tolerance)]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    return {row["name"]: (row["cpu_time"] * unit[row["time_unit"]], row["p_fail"], row["error"], row["label"]) for row in rows}


def run_wasm(command, path, tolerance):
    """Returns {name: (seconds, p_fail, error, method)}, from the WebAssembly program."""
    lines = subprocess.run([*command, path, str(tolerance)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {row[0]: (float(row[1]), float(row[2]), float(row[3]), row[4]) for row in map(str.split, lines)}


def run_scipy(U, z):
    """Returns the time that scipy takes, in seconds, and its p."""
    R = U @ U.T
    start = time.process_time()
    p = multivariate_normal.cdf(z, mean=np.zeros(len(z)), cov=R, allow_singular=True, **PAPER)
    return time.process_time() - start, float(p)


def duration(seconds):
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def compare(cells, reference, ours, wasm, tolerance):
    """Prints one table with the median times and the largest errors."""
    print(f"\n**Asked for: |p - p_hat| <= {tolerance:g} and 1 % of q**\n")
    row("m", "p", "scipy", "probust", "faster", *(["WASM", "faster"] if wasm else []), "error of p, scipy", "probust", "of q / q, scipy", "probust", "method")
    row(*["---"] * (12 if wasm else 10))
    for (m, target), problems in cells.items():
        measured = []
        for name, _, _ in problems:
            seconds, p, q = reference[name]
            mine = ours[name]
            measured.append((seconds, mine[0], wasm[name][0] if wasm else 1.0, abs(1 - p - q), abs(mine[1] - q), abs(1 - p - q) / q, abs(mine[1] - q) / q))
        time_scipy, time_ours, time_wasm = np.median(measured, axis=0)[:3]
        worst = np.max(measured, axis=0)[3:]
        methods = sorted({ours[name][3] for name, _, _ in problems})
        row(m, target, duration(time_scipy), duration(time_ours), f"{time_scipy / time_ours:.0f}x",
            *([duration(time_wasm), f"{time_scipy / time_wasm:.0f}x"] if wasm else []), *(f"{x:.1e}" for x in worst), ", ".join(methods))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("native")
    arguments.add_argument("--wasm", type=str.split, help="the command that starts the WebAssembly program")
    arguments.add_argument("--each", type=int, default=9, help="problems a cell")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    rng = np.random.default_rng(options.seed)
    cells = {(m, p): [(f"m{m}-p{p}-{k}", *class_problem(rng, m, p)) for k in range(options.each)] for m, p in CELLS}
    large = [(f"m999-rank{rank}-p{p}", *low_rank_problem(rng, 999, rank, p)) for rank in (1, 2, 5, 10) for p in (0.5, 0.9, 0.99)]

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problems.txt")
        write(path, [problem for cell in cells.values() for problem in cell] + large)
        runs = [(t, run_native(options.native, path, t), run_wasm(options.wasm, path, t) if options.wasm else {}) for t in (1e-4, 1e-3)]
    reference = {}
    for problems in cells.values():
        for name, U, z in problems:
            known = rare_truth if ndtr(-z).sum() < 0.5 else truth
            reference[name] = (*run_scipy(U, z), known(z, U @ U.T)[0])

    print(f"One core; medians of times and largest errors over {options.each} problems a cell; scipy {scipy.__version__}, "
          + ", ".join(f"{key} {value:g}" for key, value in PAPER.items()) + ".")
    for tolerance, ours, wasm in runs:
        compare(cells, reference, ours, wasm, tolerance)

    print("\n**m = 999 from a factor of low rank** (scipy gives 0.0 beyond m = 500)\n")
    row("rank", "p", "probust", *(["WASM"] if options.wasm else []), "q", "its error", "method")
    row(*["---"] * (7 if options.wasm else 6))
    _, ours, wasm = runs[0]
    for name, U, _ in large:
        seconds, q, error, method = ours[name]
        row(U.shape[1], name.split("-p")[1], duration(seconds), *([duration(wasm[name][0])] if wasm else []), f"{q:.5f}", f"{error:.1e}", method)


if __name__ == "__main__":
    main()
