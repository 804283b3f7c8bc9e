#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the multivariate normal probability against scipy's, on the same problems in the same run.

    normal_against_scipy.py NATIVE [--wasm "NODE MODULE"] [--each 5] [--seed 1]

NATIVE is the program probust-normal-bench, MODULE the same loop as WebAssembly (probust-normal-timing.js). Problems look like
a classifier's: rows of U are differences w_t - w_i of random class vectors, so correlations scatter around 0.5, and z is scaled
until p is near the cell's value. The truth is computed here, by separation of variables on scrambled Sobol points (Genz 1992;
Owen 1997), with far more points than either side spends. scipy runs at the paper's settings (below).
Prints a table in Markdown. Needs numpy and scipy.
"""

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

# Of the code published with Han, Srinivas and Lakkaraju (2024).
PAPER = {"maxpts": 10000, "abseps": 1e-4, "releps": 1e-4}

CELLS = [(9, 0.5), (9, 0.9), (9, 0.99), (9, 0.9999), (99, 0.5), (99, 0.9), (99, 0.99), (99, 0.9999)]


def conditional_mean(limit):
    """The mean of a standard normal variable below `limit`."""
    mass = max(ndtr(limit), 1e-300)
    return -np.exp(-0.5 * limit * limit) / np.sqrt(2 * np.pi) / mass


def ordered_cholesky(z, R):
    """Cholesky factor with the variable that binds most first (Gibson, Glasbey and Elston 1994); R of full rank."""
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
    """(q, standard error) by separation of variables; q adds positive terms, so that small values keep their digits."""
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


def class_problem(rng, m, target):
    """Rows of U (m x d) and limits z with P(X <= z) near the target."""
    d = 4 * m
    w = rng.normal(size=(m + 1, d)) * rng.uniform(0.7, 1.4, size=(m + 1, 1))
    U = w[0] - w[1:]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    shape = rng.exponential(size=m) + 0.7
    x = rng.normal(size=(100000, d)) @ U.T
    # P(all x_i <= s shape_i) is the distribution of the largest ratio.
    return U, shape * max(np.quantile((x / shape).max(1), target), 0.05)


def low_rank_problem(rng, m, rank, target):
    U = rng.normal(size=(m, rank)) + np.r_[2.0, np.zeros(rank - 1)]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    shape = rng.exponential(size=m) + 0.7
    x = rng.normal(size=(20000, rank)) @ U.T
    return U, shape * np.quantile((x / shape).max(1), target)


def write(path, problems):
    """One problem a line: name, m, d, the limits, the rows of U."""
    with open(path, "w") as file:
        for name, U, z in problems:
            numbers = " ".join(repr(float(x)) for x in np.r_[z, U.ravel()])
            file.write(f"{name} {U.shape[0]} {U.shape[1]} {numbers}\n")


def run_native(program, path):
    """{name: (seconds, q, error)} of the Google Benchmark program."""
    out = subprocess.run(
        [program, f"--problems={path}", "--benchmark_format=json", "--benchmark_min_time=0.05"],
        check=True, capture_output=True, text=True,
    ).stdout
    return {
        b["name"]: (b["cpu_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[b["time_unit"]], b["p_fail"], b["error"], b["method"])
        for b in ({**b, "method": b.get("label", "")} for b in json.loads(out)["benchmarks"])
    }


def run_wasm(command, path):
    out = subprocess.run([*command, path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: (float(row[1]), float(row[2]), float(row[3]), row[4]) for row in rows}


def run_scipy(U, z):
    start = time.process_time()
    p = multivariate_normal.cdf(z, mean=np.zeros(len(z)), cov=U @ U.T, allow_singular=True, **PAPER)
    return time.process_time() - start, float(p)


def duration(seconds):
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("native")
    arguments.add_argument("--wasm", type=str.split, help="the command that starts the WebAssembly program")
    arguments.add_argument("--each", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    rng = np.random.default_rng(options.seed)
    cells = {}
    for m, target in CELLS:
        cells[(m, target)] = [(f"m{m}-p{target}-{k}", *class_problem(rng, m, target)) for k in range(options.each)]
    large = [(f"m999-rank{rank}-p{target}", *low_rank_problem(rng, 999, rank, target)) for rank in (2, 10) for target in (0.5, 0.9, 0.99)]

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problems.txt")
        write(path, [problem for cell in cells.values() for problem in cell] + large)
        ours = run_native(options.native, path)
        wasm = run_wasm(options.wasm, path) if options.wasm else {}

    print(f"One core; medians over {options.each} problems a cell, errors the largest; scipy {scipy.__version__}.\n")
    print("| m | p | scipy | probust | ratio | wasm | ratio | error of p: scipy | probust | rel. error of q: scipy | probust |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for (m, target), problems in cells.items():
        rows = []
        for name, U, z in problems:
            q, deviation = truth(z, U @ U.T)
            seconds, p = run_scipy(U, z)
            mine = ours[name]
            rows.append((seconds, mine[0], wasm[name][0] if wasm else np.nan, abs(1 - p - q), abs(mine[1] - q), abs(1 - p - q) / q, abs(mine[1] - q) / q, deviation / q))
        median, most = np.median(rows, axis=0), np.max(rows, axis=0)
        wasm_text = (duration(median[2]), f"{median[0] / median[2]:.0f}x") if wasm else ("", "")
        print(f"| {m} | {target} | {duration(median[0])} | {duration(median[1])} | {median[0] / median[1]:.0f}x | {wasm_text[0]} | {wasm_text[1]} "
              f"| {most[3]:.1e} | {most[4]:.1e} | {most[5]:.1e} | {most[6]:.1e} |", flush=True)
        for row, (name, _, _) in zip(rows, problems):
            print("   ", name, " ".join(f"{x:.2e}" for x in row), ours[name][2:])
    for name, U, z in large:
        print(name, ours[name], wasm.get(name))


if __name__ == "__main__":
    main()
