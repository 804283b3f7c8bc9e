#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws digits from strokes, trains a small classifier on them, and writes the demo's files beside itself:

    digits.onnx   pixels in [0, 1], float32 [batch, 1, 16, 16] -> logits [batch, 10]
    points.npz    x: uint8 [40, 1, 16, 16], y: int64 [40]; four test points a digit, easy and hard ones

Run it as `python3 demos/digits/make_digits.py`; on Debian 12 it needs python3-numpy and python3-onnx, and about a minute and a
half on one core. All seeds are fixed, and a second run writes the same bytes; another machine's BLAS may round sums otherwise,
which changes the weights and with them the choice of points. `--sheet FILE.png` also draws the points as one image.
"""
import argparse
import io
import os
import time
import zipfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # sums in one order

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from numpy.lib.stride_tricks import sliding_window_view

from strokes import CLASSES, SIZE, draw_many, write_sheet

TRAINING, TEST, EPOCHS, BATCH = 20000, 4000, 12, 50
NOISE_IN_TRAINING = 0.4  # largest standard deviation of the Gaussian noise added to a training image

# ---- The network: each layer computes forward, and backward turns the gradient of its output into that of its input. ---------


class Conv:
    """3 x 3, stride 1, padded by 1. x: [B, C, H, W]."""

    def __init__(self, rng, inputs, outputs):
        self.weight = rng.normal(0, np.sqrt(2 / (9 * inputs)), (outputs, inputs, 3, 3)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def columns(self, x):
        windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))
        return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)  # [B H W, C 9]

    def forward(self, x):
        self.shape, self.seen = x.shape, self.columns(x)
        y = self.seen @ self.weight.reshape(len(self.weight), -1).T + self.bias
        return y.reshape(x.shape[0], *x.shape[2:], -1).transpose(0, 3, 1, 2)

    def backward(self, g):
        rows = g.transpose(0, 2, 3, 1).reshape(-1, g.shape[1])
        self.gradients = [(rows.T @ self.seen).reshape(self.weight.shape), rows.sum(axis=0)]
        turned = self.weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)  # the transpose is a convolution with the turned kernel
        x = self.columns(g) @ turned.reshape(len(turned), -1).T
        return x.reshape(g.shape[0], *g.shape[2:], -1).transpose(0, 3, 1, 2)


class Dense:
    def __init__(self, rng, inputs, outputs):
        self.weight = rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)

    def forward(self, x):
        self.shape, self.seen = x.shape, x.reshape(len(x), -1)
        return self.seen @ self.weight.T + self.bias

    def backward(self, g):
        self.gradients = [g.T @ self.seen, g.sum(axis=0)]
        return (g @ self.weight).reshape(self.shape)


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, g):
        return g * self.on


class MaxPool:
    """2 x 2, stride 2."""

    def forward(self, x):
        b, c, h, w = x.shape
        tiles = x.reshape(b, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(b, c, h // 2, w // 2, 4)
        self.winner = tiles.argmax(axis=-1)
        return tiles.max(axis=-1)

    def backward(self, g):
        b, c, h, w = g.shape
        tiles = (np.arange(4) == self.winner[..., None]) * g[..., None]
        return tiles.reshape(b, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(b, c, 2 * h, 2 * w)


def new_network(seed):
    rng = np.random.default_rng(seed)
    features = [Conv(rng, 1, 8), Relu(), MaxPool(), Conv(rng, 8, 16), Relu(), MaxPool()]
    return features + [Dense(rng, 16 * (SIZE // 4) ** 2, 32), Relu(), Dense(rng, 32, CLASSES)]


def forward(network, x):
    for layer in network:
        x = layer.forward(x)
    return x


def probabilities(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def train(network, x, y, seed):
    """Adam on the cross entropy, its step falling to zero along half a cosine; each image carries noise of its own strength."""
    rng = np.random.default_rng(seed)
    layers = [layer for layer in network if hasattr(layer, "weight")]
    first = [[np.zeros_like(p) for p in (l.weight, l.bias)] for l in layers]
    second = [[np.zeros_like(p) for p in (l.weight, l.bias)] for l in layers]
    steps, step = EPOCHS * len(x) // BATCH, 0
    for epoch in range(EPOCHS):
        begin, loss = time.time(), 0.0
        for batch in rng.permutation(len(x)).reshape(-1, BATCH):
            sigma = NOISE_IN_TRAINING * rng.random((BATCH, 1, 1, 1), dtype=np.float32)
            p = probabilities(forward(network, x[batch] + sigma * rng.standard_normal(x[batch].shape, dtype=np.float32)))
            loss -= np.log(p[np.arange(BATCH), y[batch]] + 1e-12).sum()
            g = (p - np.eye(CLASSES, dtype=np.float32)[y[batch]]) / BATCH
            for layer in reversed(network):
                g = layer.backward(g)
            step += 1
            rate = 0.003 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for layer, m, v in zip(layers, first, second):
                for i, (value, gradient) in enumerate(zip((layer.weight, layer.bias), layer.gradients)):
                    m[i] += 0.1 * (gradient - m[i])
                    v[i] += 0.01 * (gradient**2 - v[i])
                    value -= rate * (m[i] / (1 - 0.9**step)) / (np.sqrt(v[i] / (1 - 0.99**step)) + 1e-8)
        print(f"epoch {epoch + 1}/{EPOCHS}: loss {loss / len(x):.4f}, {time.time() - begin:.0f} s", flush=True)


# ---- Files. -----------------------------------------------------------------------------------------------------------------


def as_onnx(network):
    """The network as ONNX operators, opset 13."""
    nodes, weights, value = [], [], "pixels"
    for i, layer in enumerate(network):
        inputs, result = [value], f"v{i}" if i + 1 < len(network) else "logits"
        if hasattr(layer, "weight"):
            inputs += [f"weight{i}", f"bias{i}"]
            weights += [numpy_helper.from_array(layer.weight, inputs[1]), numpy_helper.from_array(layer.bias, inputs[2])]
        if isinstance(layer, Dense) and layer.shape != layer.seen.shape:
            nodes.append(helper.make_node("Flatten", [value], ["flat"], axis=1))
            inputs[0] = "flat"
        kind, options = {
            Conv: ("Conv", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
            Dense: ("Gemm", {"transB": 1}),
            MaxPool: ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            Relu: ("Relu", {}),
        }[type(layer)]
        nodes.append(helper.make_node(kind, inputs, [result], **options))
        value = result
    ends = [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 1, SIZE, SIZE]),
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])]
    graph = helper.make_graph(nodes, "digits", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, producer_name="make_digits.py", opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    return model


def write_npz(path, **arrays):
    """As numpy.savez_compressed, but without the time of day, so that the same arrays give the same file."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(zipfile.ZipInfo(name + ".npy"), member.getvalue(), zipfile.ZIP_DEFLATED)


def mixed_points(images, labels, logits):
    """Four points a digit at fixed places in the order of their margins: easy, middling, hard, hardest, taken in turns."""
    others = np.where(np.eye(CLASSES, dtype=bool)[labels], -np.inf, logits)
    margin = logits[np.arange(len(labels)), labels] - others.max(axis=1)
    places, chosen = (0.875, 0.5, 0.15, 0.015), []
    for k in range(4 * CLASSES):
        mine = np.flatnonzero(labels == k % CLASSES)
        place = places[(k + k // CLASSES) % 4]
        chosen.append(mine[np.argsort(margin[mine], kind="stable")[int(place * len(mine))]])
    return images[chosen], labels[chosen]


def main():
    parser = argparse.ArgumentParser(description="Make the digits demo: digits.onnx and points.npz beside this script.")
    parser.add_argument("--sheet", help="also draw the points into this PNG file")
    arguments = parser.parse_args()
    folder = os.path.dirname(os.path.abspath(__file__))
    (images, labels), (test_images, test_labels) = draw_many(TRAINING, seed=1), draw_many(TEST, seed=2)
    network = new_network(seed=3)
    train(network, images.astype(np.float32) / 255, labels, seed=4)
    logits = forward(network, test_images.astype(np.float32) / 255)
    print(f"test accuracy: {100 * (logits.argmax(axis=1) == test_labels).mean():.2f} % of {TEST} digits not seen in training")
    points, point_labels = mixed_points(test_images, test_labels, logits)
    onnx.save(as_onnx(network), os.path.join(folder, "digits.onnx"))
    write_npz(os.path.join(folder, "points.npz"), x=points, y=point_labels)
    if arguments.sheet:
        write_sheet(arguments.sheet, points)


if __name__ == "__main__":
    main()
