#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Well-known networks at full size with random weights: logits and Jacobians agree with PyTorch's.

Usage: architectures_test.py PROBUST ARCHITECTURES [--names all|NAME,NAME] [--folder FOLDER], where ARCHITECTURES is the program
probust-architectures. The default is two networks, which take a few seconds; all nine take eight minutes. With --folder, the models
are written to FOLDER and kept. Exit status 77 means that numpy is not installed; without PyTorch and onnx, the script only checks
that results are finite."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "support"))
try:
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
    from onnx_in_torch import OPERATORS, padded
except ImportError:
    torch = None

NAMES = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "efficientnet_b0", "densenet121", "convnext_t", "vit_b16", "mixer_s16"]
QUICK = ["resnet18", "mobilenet_v2"]
LOGITS, JACOBIAN = 1e-5, 1e-4  # largest difference, relative to the largest logit and to the Jacobian's norm


class Kink:
    """A unit whose slope depends on rounding: a rectifier near its corner, or a maximum of two nearly equal values.

    If float32 is on the other side than float64, the Jacobian changes by `sign` times the derivative of the logits with respect to
    the unit's output, times the gradient of the quantity whose sign decides."""

    NEAR = 2e-6  # of the root mean square of the layer's input

    def __init__(self, output, compared, sign):
        self.output, self.compared, self.sign = output, compared, sign


class Reference:
    """Runs a model with PyTorch in float64, one point at a time."""

    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.weights = {}
        for weight in self.graph.initializer:
            value = torch.from_numpy(np.array(numpy_helper.to_array(weight)))
            self.weights[weight.name] = value.double() if value.is_floating_point() else value

    def logits(self, x):
        values = dict(self.weights)
        values[self.graph.input[0].name] = x
        self.kinks = []
        for node in self.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            operands = [values[name] for name in node.input]
            values[node.output[0]] = OPERATORS[node.op_type](attributes, *operands)
            self.note_kinks(node.op_type, attributes, operands, values[node.output[0]])
        return values[self.graph.output[0].name][0]

    def note_kinks(self, op, attributes, operands, y):
        x = operands[0]
        near = Kink.NEAR * x.detach().square().mean().sqrt()
        if op in ("Relu", "Clip"):
            for corner in [0.0] if op == "Relu" else [o.item() for o in operands[1:]]:
                for unit in (x.detach() - corner).abs().flatten().lt(near).nonzero()[:, 0]:
                    slope_now = 1 if (x.flatten()[unit] > corner) == (corner == 0) else 0
                    self.kinks.append(Kink((y, unit), [(x, unit, 1.0)], 1 - 2 * slope_now))
        if op == "MaxPool":
            wide, kernel, stride = padded(x.detach(), attributes["pads"], -np.inf), attributes["kernel_shape"], attributes["strides"]
            windows = F.unfold(wide.transpose(0, 1), kernel, stride=stride)  # [channels, cells, windows]
            places = F.unfold(padded(torch.arange(x.numel()).double().reshape(x.shape).transpose(0, 1), attributes["pads"], -1.0),
                              kernel, stride=stride)
            best, at = windows.topk(2, dim=1)
            close = ((best[:, 0] - best[:, 1]) < near) & (best[:, 0] > 0)
            for channel, window in close.nonzero().tolist():
                first, second = (int(places[channel, at[channel, k, window], window]) for k in (0, 1))
                unit = channel * windows.shape[2] + window
                self.kinks.append(Kink((y, unit), [(x, second, 1.0), (x, first, -1.0)], 1))

    def jacobian(self, x):
        """The logits, their Jacobian [C, d], and for each kink the factors of the change that it may add: [C], [d]."""
        x = x.clone().requires_grad_(True)
        logits = self.logits(x)
        outputs = [kink.output[0] for kink in self.kinks]
        rows, slopes = [], []
        for logit in logits:
            gradient, *at_outputs = torch.autograd.grad(logit, [x, *outputs], retain_graph=True)
            rows.append(gradient.flatten())
            slopes.append([g.flatten()[kink.output[1]].item() for g, kink in zip(at_outputs, self.kinks)])
        changes = []
        for k, kink in enumerate(self.kinks):
            compared = sum(weight * value.flatten()[unit] for value, unit, weight in kink.compared)
            gradient = torch.autograd.grad(compared, x, retain_graph=True)[0].flatten()
            changes.append((kink.sign * np.array([row[k] for row in slopes]), gradient.numpy()))
        return logits.detach().numpy(), torch.stack(rows).numpy(), changes


def without_kinks(difference, changes):
    """The difference of two Jacobians after correction for kinks that are on different sides, and the number of these kinks."""
    chosen = 0
    for slopes, gradient in changes:
        change = np.outer(slopes, gradient)
        size = (change * change).sum()
        if size > 0 and (difference * change).sum() > 0.5 * size:
            difference, chosen = difference - change, chosen + 1
    return difference, chosen


def points(path, name):
    size = 32 if name == "resnet18" else 224
    x = np.random.default_rng(1).uniform(-1.7, 1.7, (1, 3, size, size)).astype(np.float32)
    np.save(path, x)
    return x


def probust(program, command, model, data, result):
    start = time.monotonic()
    subprocess.run([program, command, model, data, "-o", result, "--quiet"], check=True)
    return np.load(result), time.monotonic() - start


def agrees(program, architectures, name, folder):
    model, data, result = (os.path.join(folder, name + end) for end in (".onnx", ".points.npy", ".result.npy"))
    subprocess.run([architectures, name, folder], check=True, stdout=subprocess.DEVNULL)
    x = points(data, name)
    logits, forward_time = probust(program, "logits", model, data, result)
    jacobians, backward_time = probust(program, "jacobian", model, data, result)
    line = f"{name}: logits in {forward_time:.1f} s, Jacobians in {backward_time:.1f} s"
    if torch is None:
        print(line + "; PyTorch or onnx is not installed: nothing to compare with")
        return bool(np.isfinite(logits).all() and np.isfinite(jacobians).all() and np.abs(jacobians).max() > 0)
    reference = Reference(model)
    expected, slopes, changes = reference.jacobian(torch.from_numpy(x).double())
    difference, kinks = without_kinks(jacobians[0].reshape(slopes.shape) - slopes, changes)
    worst = np.abs(logits[0] - expected).max() / np.abs(expected).max(), np.linalg.norm(difference) / np.linalg.norm(slopes)
    if kinks:
        line += f"; {kinks} of {len(changes)} units near a kink are on its other side"
    print(f"{line}; differ from PyTorch's in float64 by {worst[0]:.1e} and {worst[1]:.1e}", flush=True)
    return worst[0] < LOGITS and worst[1] < JACOBIAN


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("probust")
    parser.add_argument("architectures")
    parser.add_argument("--names", default=",".join(QUICK))
    parser.add_argument("--folder")
    options = parser.parse_args()
    names = NAMES if options.names == "all" else options.names.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or scratch
        wrong = [n for n in names if not agrees(options.probust, options.architectures, n, folder)]
    if wrong:
        print("differ by more than they may:", ", ".join(wrong))
    sys.exit(1 if wrong else 0)


main()
