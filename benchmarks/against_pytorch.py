#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forwards and margin Jacobians of the same networks in probust and in PyTorch, in turn; prints PyTorch's time divided by ours.

Usage: against_pytorch.py PROBUST [--architectures PROGRAM] [--models FILE.onnx ...] [--names NAME,NAME] [--threads 1] [--rounds 3]

A forward is one example of a batch. A Jacobian is the gradients of all C - 1 margins at a point, with their Gram matrix. PyTorch gets
the fastest of several formulations and batches; ours is what `probust bench` reports. --architectures names the program
probust-architectures, which writes well-known networks with random weights and 10 classes."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "support"))
from onnx_in_torch import Network  # noqa: E402

NAMES = ["resnet18", "resnet50", "mobilenet_v2", "densenet121", "vit_b16"]
SECONDS = 1.0  # for each formulation and batch
BATCHES = [1, 4, 16, 64, 256]
MOST_NUMBERS = 5e8  # activations of a batch, which bound its memory


class PaperCnn(torch.nn.Sequential):
    """The small network of Han, Srinivas and Lakkaraju, for 28 x 28 images."""

    def __init__(self):
        nn = torch.nn
        super().__init__(nn.Conv2d(1, 10, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(10, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))


def best_time(body, batch):
    """Seconds per example of the fastest repetition."""
    body()
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        body()
        best = min(best, time.perf_counter() - start)
    return best / batch


def forwards(network, x):
    """Formulations of a forward, by name."""
    with torch.inference_mode():
        traced = torch.jit.freeze(torch.jit.trace(network.eval(), x))
        fused = torch.jit.optimize_for_inference(torch.jit.trace(network.eval(), x))
    last = x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x

    def run(function, argument):
        with torch.inference_mode():
            function(argument)

    return {"eager": lambda: run(network, x), "frozen": lambda: run(traced, x), "fused": lambda: run(fused, x),
            "channels last": lambda: run(network, last)}


def gram(jacobians):
    j = jacobians.flatten(2)  # [N, C - 1, d]
    return j @ j.transpose(1, 2)


def margins(logits):
    """[N, C - 1]: the largest logit minus each other one."""
    target = logits.argmax(1, keepdim=True)
    rivals = torch.arange(logits.shape[1] - 1).repeat(len(logits), 1)
    rivals = rivals + (rivals >= target)
    return logits.gather(1, target) - logits.gather(1, rivals)


def jacobians(network, x, classes):
    """Formulations of the margins' Jacobian and its Gram matrix, by name."""

    def repeated():  # one sweep over C - 1 copies of each point
        copies = x.repeat_interleave(classes - 1, 0).requires_grad_(True)
        g = margins(network(copies)).reshape(len(x), classes - 1, classes - 1)
        j, = torch.autograd.grad(g.diagonal(dim1=1, dim2=2).sum(), copies)
        gram(j.reshape(len(x), classes - 1, -1))

    def one_by_one():  # one forward, C - 1 sweeps
        leaf = x.clone().requires_grad_(True)
        g = margins(network(leaf))
        rows = [torch.autograd.grad(g[:, i].sum(), leaf, retain_graph=True)[0] for i in range(classes - 1)]
        gram(torch.stack(rows, 1).flatten(2))

    return {"repeated": repeated, "one by one": one_by_one}


def fastest(network, shape, classes, kind):
    """The best (seconds, formulation, batch) of PyTorch."""
    best, last = None, {}
    for batch in BATCHES:
        x = torch.rand(batch, *shape)
        if network.activations(shape) * batch * (classes if kind == "jacobian" else 1) > MOST_NUMBERS:
            break
        for name, body in (forwards(network, x) if kind == "forward" else jacobians(network, x, classes)).items():
            if last.get(name, 0) > 1.3 * (best[0] if best else float("inf")):
                continue  # slower already, and larger batches rarely turn that around
            last[name] = best_time(body, batch)
            if best is None or last[name] < best[0]:
                best = (last[name], name, batch)
    return best


def bench(program, model, threads):
    done = subprocess.run([program, "bench", model, "--threads", str(threads), "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def compare(program, model, threads, rounds):
    network = Network(model)
    shape = network.example_shape()
    with torch.inference_mode():
        classes = network(torch.rand(1, *shape)).shape[1]
    ratios = {"forward": [], "jacobian": []}
    ours_us, chosen = {"forward": [], "jacobian": []}, {}
    for _ in range(rounds):
        ours = bench(program, model, threads)
        for kind in ratios:
            seconds, name, batch = fastest(network, shape, classes, kind)
            ours_us[kind].append(ours[kind + "_us"])
            ratios[kind].append(1e6 * seconds / ours[kind + "_us"])
            chosen[kind] = f"{name}, {batch}"
    middle = statistics.median
    cells = [os.path.splitext(os.path.basename(model))[0]]
    for kind in ratios:
        cells += [f"{middle(ours_us[kind]):.0f}", f"**{middle(ratios[kind]):.2f}**", f"{min(ratios[kind]):.2f}..{max(ratios[kind]):.2f}",
                  chosen[kind]]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probust")
    parser.add_argument("--architectures")
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s), medians of {options.rounds} rounds. Ratios above 1: probust is faster.\n")
    print("| network | forward, us | ratio | range | PyTorch's best | Jacobian, us | ratio | range | PyTorch's best |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        paper = os.path.join(folder, "paper_cnn.onnx")
        torch.onnx.export(PaperCnn().eval(), torch.rand(1, 1, 28, 28), paper, input_names=["x"], dynamic_axes={"x": {0: "n"}})
        models = [paper] + options.models
        if options.architectures:
            for name in options.names.split(","):
                subprocess.run([options.architectures, name, folder], check=True, stdout=subprocess.DEVNULL)
                models.append(os.path.join(folder, name + ".onnx"))
        for model in models:
            compare(options.probust, model, options.threads, options.rounds)


main()
