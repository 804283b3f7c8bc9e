#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares surrogate:N with mc:N:sobol and mc:N on perturbations with 1, 2, 3, 4 and 6 parameters, for docs/estimators.md.

    perturbation_frontier.py PROBUST SHARED FOLDER [--parameters 1,2,3,4,6] [--points 60] [--seeds 10]

Runs `probust bench --frontier` on six networks with two perturbations each. FOLDER keeps the reference probabilities, which take
most of the time, and one file of results for each number of parameters. Prints, for each, the mean absolute error divided by that
of mc with the same number of forward passes, the coverage of 95% intervals, and their width divided by that of mc's.
"""

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

from perturbation_survey import DATA, preprocessing

NETWORKS = [
    "pcelis_mnist_cnn_pool",
    "ort_cnn_mnist_pytorch",
    "codeman_mnist_cnn",
    "marabou_cifar10_small",
    "cifar10_resnet_2b",
    "dogun_gtsrb",
]
PERTURBATIONS = {
    1: ["rotate:15", "zoom:0.15"],
    2: ["shift:2", "rotate:12+zoom:0.12"],
    3: ["rotate:12+shift:1.5", "shift:1.5+zoom:0.1"],
    4: ["rotate:10+shift:1.3+zoom:0.1", "rotate:10+shear:0.1+brightness:0.1+contrast:0.25"],
    6: [
        "rotate:9+shift:1.2+zoom:0.08+brightness:0.1+contrast:0.25",
        "rotate:9+shear:0.1+zoom:0.08+shift:1+exposure:0.2",
    ],
}
WEAKER = 0.8  # scale of the perturbations for networks on CIFAR-10
REFERENCES = {1: "quadrature:2000", 2: "quadrature:128", 3: "mc:20000:sobol", 4: "mc:20000:sobol", 6: "mc:20000:sobol"}
FORWARDS = [5, 9, 16, 25, 50, 100]


def scaled(noise, factor):
    parts = [part.split(":") for part in noise.split("+")]
    return "+".join(f"{name}:{float(scale) * factor:.4g}" for name, scale in parts)


def problem(shared, name, noise):
    record = json.loads((shared / "models" / "models.json").read_text())[name]
    data = shared / "data" / DATA[record["dataset"]][1][0]
    noise = scaled(noise, WEAKER) if record["dataset"] == "cifar10" else noise
    return " ".join([str(shared / "models" / record["model"]), str(data), *preprocessing(record), "--noise", noise])


def measure(program, shared, folder, parameters, points, seeds):
    """One row per estimator, as `bench --frontier --json` prints them, for all networks and perturbations together and apart."""
    lines = [problem(shared, name, noise) for noise in PERTURBATIONS[parameters] for name in NETWORKS]
    problems = folder / f"problems-{parameters}.txt"
    problems.write_text("\n".join(lines) + "\n")
    estimators = [f"{name}:{n}{variant}" for n in FORWARDS for name, variant in (("surrogate", ""), ("mc", ":sobol"))]
    command = [program, "bench", "--frontier", str(problems), "--limit", str(points), "--seeds", str(seeds), "--seed", "100"]
    command += ["--reference", REFERENCES[parameters], "--references", str(folder / "references.jsonl"), "--json", "--quiet"]
    command += ["--estimator", ",".join(estimators)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (folder / f"results-{parameters}.jsonl").write_text(out)
    return [json.loads(line) for line in out.splitlines()]


def at_equal_forwards(entry, forwards):
    """bench compares at equal time; this compares at equal numbers of forward passes."""
    return entry["ratio"] * math.sqrt(forwards / entry["cost"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("shared", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parameters", default="1,2,3,4,6")
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=10)
    own = parser.parse_args()
    own.folder.mkdir(parents=True, exist_ok=True)
    print("| parameters | estimator | " + " | ".join(map(str, FORWARDS)) + " |\n|" + "---|" * (len(FORWARDS) + 2))
    for parameters in map(int, own.parameters.split(",")):
        rows = measure(own.program, own.shared, own.folder, parameters, own.points, 1 if parameters == 1 else own.seeds)
        for form in ("surrogate:{}", "mc:{}:sobol"):
            of = {n: next(row for row in rows if row["estimator"] == form.format(n)) for n in FORWARDS}
            cells = {
                "error": lambda row, n: statistics.mean(at_equal_forwards(each, n) for each in row["networks"].values()),
                "largest": lambda row, n: max(at_equal_forwards(each, n) for each in row["networks"].values()),
                "coverage": lambda row, n: row.get("coverage", math.nan),
                "width": lambda row, n: row.get("width", math.nan) * math.sqrt(n / row["cost"]),
                "algebra, us": lambda row, n: row["algebra_us"],
            }
            for name, value in cells.items():
                texts = [f"{value(of[n], n):.3g}" for n in FORWARDS]
                print(f"| {parameters} | `{form.format('N')}`, {name} | " + " | ".join(texts) + " |", flush=True)


if __name__ == "__main__":
    main()
