#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Surveys perturbations of images with the networks in a shared directory, for docs/perturbation-results.md.

    perturbation_survey.py PROBUST SHARED survey OUTPUT.json    runs `probust survey`; adds to OUTPUT.json
    perturbation_survey.py PROBUST SHARED page OUTPUT.json      writes the tables of the page

SHARED/models/models.json lists the data and the preprocessing of each network. Uses the first 200 images of the data, and mc:50.
A network takes 10 to 60 seconds on two cores. `node docs/scripts/figures.mjs` draws the page's figure from its table.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "perturbation-results.md"
LABELS = ["--labels", "gtsrb-test-open-labels.npy"]
IMAGES, SAMPLES = 200, 50
DATA = {
    "mnist": ("MNIST", ["mnist-test-open-images-idx3-ubyte.gz"]),
    "fashion": ("Fashion", ["fashion-test-open-images-idx3-ubyte.gz"]),
    "gtsrb30": ("GTSRB", ["gtsrb30-test-open-images.npy", *LABELS]),
    "gtsrb32": ("GTSRB", ["gtsrb32-test-open-images.npy", *LABELS]),
    "cifar10": ("CIFAR", ["cifar10-lossless-test-open.bin"]),
}
# The networks, with the kind of robust training that their publishers or their file names state; empty if none is stated.
# Networks with such training are from VNN-COMP 2021 (cifar10_resnet, oval21) and 2022 (sri_resnet_a).
NETWORKS = {
    "mnistfc_256x2": "",
    "frenz86_mnist": "",
    "fyh_lenet": "",
    "ort_cnn_mnist_pytorch": "",
    "codeman_mnist_cnn": "",
    "zoo_mnist_cntk": "",
    "lazybogdi_fashion": "",
    "dogun_gtsrb": "",
    "refrain7_cifar_net": "",
    "housseme_cifar10_cnn": "",
    "marabou_cifar10_small": "",
    "marabou_cifar10_medium": "",
    "yashraj_cifar": "",
    "cifar10_resnet_2b": "adversarial",
    "sri_resnet_a": "adversarial",
    "oval21_cifar_base": "certified",
}


def preprocessing(record):
    """Options that make pixels range from 0 to 1, as perturbations require, even if the network expects bytes."""
    own = record["preprocess"]
    mean, std = own["mean"], own["std"]
    if not own["divide_by_255"]:
        mean, std = [0], [1 / 255]
    options = ["--mean=" + ",".join(map(repr, mean)), "--std", ",".join(map(repr, std))] if mean else []
    return options + (["--layout", "whcn"] if own["layout"] == "whflat" else [])


def survey(program, shared, name, record):
    """Returns {"clean_accuracy": share, "p": {family: means at weak, medium, strong}, "noisy_accuracy": like p, ...}."""
    data = [str(shared / "data" / word) if "." in word else word for word in DATA[record["dataset"]][1]]
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/{name}.sqlite"
        command = [program, "survey", str(shared / "models" / record["model"]), *data, *preprocessing(record), "--no-check", "--quiet"]
        command += ["--limit", str(IMAGES), "--samples", str(SAMPLES)]
        command += ["--run", run, "-o", f"{folder}/page.html", "--json"]
        families = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        summary = json.loads(subprocess.run([program, "summary", run, "--json"], check=True, capture_output=True, text=True).stdout)
    means = {
        column: {each["name"]: [strength[column]["mean"] for strength in each["strengths"]] for each in families}
        for column in ("p", "noisy_accuracy")
    }
    own = summary["models"][0]
    return {"data": DATA[record["dataset"]][0], "images": own["points"], "clean_accuracy": own["clean_accuracy"], **means}


def survey_all(program, shared, output):
    records = json.loads((shared / "models" / "models.json").read_text())
    results = json.loads(output.read_text()) if output.exists() else {}
    for name in [each for each in NETWORKS if each not in results]:
        results[name] = survey(program, shared, name, records[name])
        output.write_text(json.dumps(results, indent=1))
        print(name, results[name]["clean_accuracy"], flush=True)


def table(head, rows):
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in [head, *rows]]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def by_network(results, families):
    """A table of mean p at medium strength."""
    rows = [[name, own["data"], *(f"{own['p'][family][1]:.2f}" for family in families)] for name, own in results.items()]
    return table(["network", "data", *families], rows)


def by_accuracy(results, families):
    rows = []
    for name, own in results.items():
        noisy = {family: own["noisy_accuracy"][family][1] for family in families if family != "gaussian"}
        worst = min(noisy, key=noisy.get)
        mean_p = statistics.mean(own["p"][family][1] for family in noisy)
        cells = [f"{100 * value:.1f}%" for value in (own["clean_accuracy"], statistics.mean(noisy.values()), noisy[worst])]
        rows.append([name, own["data"], NETWORKS[name], *cells, f"`{worst}`", f"{mean_p:.2f}"])
    return table(["network", "data", "robust training", "accuracy", "mean under noise", "lowest", "with", "mean p"], rows)


def by_family(results, families):
    rows = []
    for family in families:
        cells = []
        for strength in range(3):
            values = [own["p"][family][strength] for own in results.values()]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})")
        most = sum(min(own["p"], key=lambda each: own["p"][each][1]) == family for own in results.values())
        rows.append([f"`{family}`", *cells, most or ""])
    return table(["perturbation", "weak", "medium", "strong", "lowest at medium"], rows)


def write_page(results):
    results = {name: results[name] for name in NETWORKS}
    medium = lambda family: statistics.median(own["p"][family][1] for own in results.values())
    families = sorted(next(iter(results.values()))["p"], key=medium)
    text = PAGE.read_text()
    for marker, made in (("networks", by_network), ("accuracy", by_accuracy), ("families", by_family)):
        block = f"<!-- begin: {marker} -->\n{made(results, families)}\n\n<!-- end -->"
        text, count = re.subn(f"<!-- begin: {marker} -->.*?<!-- end -->", lambda _: block, text, flags=re.S)
        assert count == 1, f"{PAGE} has no place for {marker}"
    PAGE.write_text(text)


def main():
    if len(sys.argv) != 5 or sys.argv[3] not in ("survey", "page"):
        sys.exit(__doc__)
    program, shared, action, output = sys.argv[1:]
    if action == "survey":
        survey_all(program, Path(shared), Path(output))
    else:
        write_page(json.loads(Path(output).read_text()))


if __name__ == "__main__":
    main()
