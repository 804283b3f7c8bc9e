#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On a linear model, `taylor` is exact (Han et al., Lemma 1): its p agrees with four million samples drawn by numpy within four
standard errors, at five sigmas. Usage: linear_model_test.py PROBUST. Exit status 77 means that numpy is not installed."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)


def field(number, wire, payload):
    return varint(number << 3 | wire) + payload


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(number, payload):
    return field(number, 2, varint(len(payload)) + payload)


def tensor(name, values):
    dims = b"".join(field(1, 0, varint(d)) for d in values.shape)
    return message(5, dims + field(2, 0, varint(1)) + message(8, name) + message(9, values.astype("<f4").tobytes()))


def port(number, name, shape):
    dims = b"".join(message(1, field(1, 0, varint(d))) for d in shape)
    return message(number, message(1, name) + message(2, message(1, field(1, 0, varint(1)) + message(2, dims))))


def linear_onnx(weights, bias):
    """Gemm(x, weights, bias) with x [1, d], weights [d, C]."""
    node = message(1, b"x") + message(1, b"w") + message(1, b"b") + message(2, b"y") + message(4, b"Gemm")
    d, classes = weights.shape
    graph = message(1, node) + tensor(b"w", weights) + tensor(b"b", bias) + port(11, b"x", (1, d)) + port(12, b"y", (1, classes))
    return field(1, 0, varint(8)) + message(7, graph) + message(8, field(2, 0, varint(17)))


def sampled(weights, bias, x, target, sigma, rng, samples=4_000_000, chunk=500_000):
    kept = 0
    for _ in range(samples // chunk):
        noisy = x + sigma * rng.standard_normal((chunk, len(x)))
        kept += int(np.count_nonzero(np.argmax(noisy @ weights + bias, axis=1) == target))
    p = kept / samples
    return p, np.sqrt(max(p * (1 - p), 1 / samples) / samples)


def main():
    rng = np.random.default_rng(20)
    weights, bias = rng.standard_normal((6, 5)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    x = rng.standard_normal(6).astype(np.float32)
    target = int(np.argmax(x @ weights + bias))
    sigmas = [0.1, 0.2, 0.5, 1.0, 3.0]
    with tempfile.TemporaryDirectory() as folder:
        model, data = os.path.join(folder, "linear.onnx"), os.path.join(folder, "x.npy")
        with open(model, "wb") as file:
            file.write(linear_onnx(weights, bias))
        np.save(data, x[None])
        command = [sys.argv[1], "estimate", model, data, "--sigma", ",".join(map(str, sigmas)), "--estimator", "taylor", "--quiet"]
        rows = [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]
    failures = 0
    for row, sigma in zip(rows, sigmas, strict=True):
        p, error = sampled(weights.astype(float), bias.astype(float), x.astype(float), target, sigma, rng)
        gap = (row["p"] - p) / error
        print(f"sigma {sigma}: taylor {row['p']:.6f}, numpy {p:.6f} +- {error:.6f}, {gap:+.2f} standard errors")
        failures += row["predicted"] != target or abs(gap) > 4
    sys.exit(1 if failures else 0)


main()
