#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs of the size of ResNet-50 and of ViT-Tiny with random weights: they import, and their logits agree with PyTorch's.

Usage: large_models_test.py PROBUST [FOLDER]. With a folder, the models stay there. Exit status 77 means that numpy is not there;
without PyTorch the models are made and run, but compared with nothing. The networks are written down once: each step adds a node
to the ONNX graph and, where there is PyTorch, computes its value."""
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
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None


# Protocol buffers, as far as ONNX needs them here.
def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def integer(number, value):
    return varint(number << 3) + varint(value)


def message(number, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def tensor(name, array):
    kind = {"float32": 1, "int64": 7}[str(array.dtype)]
    return b"".join(integer(1, n) for n in array.shape) + integer(2, kind) + message(8, name) + message(9, array.tobytes())


def attribute(name, value):
    if isinstance(value, int):
        return message(1, name) + integer(3, value) + integer(20, 2)
    if isinstance(value, float):
        return message(1, name) + varint(2 << 3 | 5) + np.float32(value).tobytes() + integer(20, 1)
    return message(1, name) + b"".join(integer(8, v) for v in value) + integer(20, 7)


def port(name, shape):
    dims = b"".join(message(1, integer(1, n)) for n in shape)
    return message(1, name) + message(2, message(1, integer(1, 1) + message(2, dims)))


class Value:
    """A name in the ONNX graph and, where there is PyTorch, what it holds."""

    def __init__(self, name, data):
        self.name, self.data = name, data


class Network:
    def __init__(self, seed, shape):
        self.random = np.random.default_rng(seed)
        self.graph, self.count = b"", 0
        x = self.random.uniform(-1, 1, shape).astype(np.float32)
        self.sample, self.shape = x, shape
        self.input = Value("x", torch.from_numpy(x) if torch else None)

    def weight(self, array):
        array = np.ascontiguousarray(array, dtype=array.dtype if array.dtype == np.int64 else np.float32)
        name = f"w{self.count}"
        self.count += 1
        self.graph += message(5, tensor(name, array))
        return Value(name, torch.from_numpy(array) if torch else None)

    def normal(self, *shape, scale):
        return self.weight((self.random.standard_normal(shape) * scale).astype(np.float32))

    def node(self, op, inputs, compute, **attributes):
        name = f"{op.lower()}{self.count}"
        self.count += 1
        body = b"".join(message(1, v.name) for v in inputs) + message(2, name) + message(3, name) + message(4, op)
        self.graph += message(1, body + b"".join(message(5, attribute(k, v)) for k, v in attributes.items()))
        return Value(name, compute(*[v.data for v in inputs]) if torch else None)

    def bytes(self, output, classes):
        graph = self.graph + message(2, "network") + message(11, port("x", self.shape)) + message(12, port(output.name, [1, classes]))
        return integer(1, 8) + message(7, graph) + message(8, integer(2, 17))

    # Layers.
    def conv(self, x, channels_in, channels, kernel, stride=1, pad=0):
        w = self.normal(channels, channels_in, kernel, kernel, scale=np.sqrt(2 / (channels_in * kernel * kernel)))
        return self.node("Conv", [x, w], lambda a, b: F.conv2d(a, b, stride=stride, padding=pad),
                         kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def norm(self, x, channels):
        parts = [self.weight(self.random.uniform(low, high, channels).astype(np.float32))
                 for low, high in [(0.5, 1), (-0.1, 0.1), (-0.1, 0.1), (0.5, 1.5)]]
        return self.node("BatchNormalization", [x, *parts], lambda a, s, b, m, v: F.batch_norm(a, m, v, s, b), epsilon=1e-5)

    def relu(self, x):
        return self.node("Relu", [x], lambda a: F.relu(a))

    def add(self, a, b):
        return self.node("Add", [a, b], lambda p, q: p + q)

    def linear(self, x, size_in, size):
        w, b = self.normal(size_in, size, scale=1 / np.sqrt(size_in)), self.normal(size, scale=0.1)
        return self.add(self.node("MatMul", [x, w], lambda p, q: p @ q), b)

    def reshape(self, x, shape):
        target = self.weight(np.array(shape, dtype=np.int64))
        return self.node("Reshape", [x, target], lambda a, _: a.reshape(shape))

    def transpose(self, x, order):
        return self.node("Transpose", [x], lambda a: a.permute(order), perm=order)

    def layer_norm(self, x, size):
        s, b = self.weight(self.random.uniform(0.5, 1.5, size).astype(np.float32)), self.normal(size, scale=0.1)
        return self.node("LayerNormalization", [x, s, b], lambda a, p, q: F.layer_norm(a, [size], p, q), axis=-1, epsilon=1e-5)

    def gelu(self, x):
        root, one, half = (self.weight(np.float32(v).reshape(())) for v in (np.sqrt(2), 1, 0.5))
        curve = self.node("Erf", [self.node("Div", [x, root], lambda a, b: a / b)], lambda a: torch.erf(a))
        twice = self.node("Mul", [x, self.add(curve, one)], lambda a, b: a * b)
        return self.node("Mul", [twice, half], lambda a, b: a * b)


def resnet50():
    net = Network(1, [1, 3, 224, 224])
    x = net.relu(net.norm(net.conv(net.input, 3, 64, 7, 2, 3), 64))
    x = net.node("MaxPool", [x], lambda a: F.max_pool2d(a, 3, 2, 1), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    width_in = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.relu(net.norm(net.conv(x, width_in, width, 1), width))
            y = net.relu(net.norm(net.conv(y, width, width, 3, stride, 1), width))
            y = net.norm(net.conv(y, width, 4 * width, 1), 4 * width)
            if block == 0:
                x = net.norm(net.conv(x, width_in, 4 * width, 1, stride), 4 * width)
            x, width_in = net.relu(net.add(x, y)), 4 * width
    x = net.node("GlobalAveragePool", [x], lambda a: a.mean((2, 3), keepdim=True))
    x = net.node("Flatten", [x], lambda a: a.flatten(1))
    return net, net.linear(x, 2048, 1000), 1000


def vit_tiny():
    size, heads, tokens = 192, 3, 197
    net = Network(2, [1, 3, 224, 224])
    x = net.conv(net.input, 3, size, 16, 16)
    x = net.transpose(net.reshape(x, [1, size, 196]), [0, 2, 1])
    x = net.node("Concat", [net.normal(1, 1, size, scale=0.5), x], lambda a, b: torch.cat([a, b], 1), axis=1)
    x = net.add(x, net.normal(1, tokens, size, scale=0.5))
    for _ in range(12):
        y = net.layer_norm(x, size)
        parts = [net.transpose(net.reshape(net.linear(y, size, size), [1, tokens, heads, size // heads]), [0, 2, 1, 3])
                 for _ in range(3)]
        scores = net.node("MatMul", [parts[0], net.transpose(parts[1], [0, 1, 3, 2])], lambda a, b: a @ b)
        scale = net.weight(np.float32(np.sqrt(size // heads)).reshape(()))
        scores = net.node("Div", [scores, scale], lambda a, b: a / b)
        shares = net.node("Softmax", [scores], lambda a: F.softmax(a, -1), axis=-1)
        mixed = net.transpose(net.node("MatMul", [shares, parts[2]], lambda a, b: a @ b), [0, 2, 1, 3])
        x = net.add(x, net.linear(net.reshape(mixed, [1, tokens, size]), size, size))
        y = net.gelu(net.linear(net.layer_norm(x, size), size, 4 * size))
        x = net.add(x, net.linear(y, 4 * size, size))
    x = net.layer_norm(x, size)
    first = net.weight(np.array(0, dtype=np.int64))
    x = net.node("Gather", [x, first], lambda a, _: a[:, 0], axis=1)
    return net, net.linear(x, size, 1000), 1000


def run(program, name, make, folder):
    net, output, classes = make()
    model, points, logits = (os.path.join(folder, name + end) for end in (".onnx", ".points.npy", ".logits.npy"))
    with open(model, "wb") as file:
        file.write(net.bytes(output, classes))
    np.save(points, net.sample)
    start = time.monotonic()
    subprocess.run([program, "inspect", model], check=True, stdout=subprocess.DEVNULL)
    print(f"{name}: {os.path.getsize(model) >> 20} MiB, inspected in {time.monotonic() - start:.2f} s", end="")
    subprocess.run([program, "logits", model, points, "-o", logits, "--quiet"], check=True)
    if torch is None:
        print("; PyTorch is not installed, nothing to compare with")
        return np.isfinite(np.load(logits)).all()
    expected = output.data.numpy()
    worst = np.abs(np.load(logits) - expected).max() / np.abs(expected).max()
    print(f"; differs from PyTorch by {worst:.1e} of the largest logit")
    return worst < 1e-4


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[2] if len(sys.argv) > 2 else scratch
        agree = [run(program, name, make, folder) for name, make in (("resnet50", resnet50), ("vit_tiny", vit_tiny))]
    sys.exit(0 if all(agree) else 1)


main()
