# SPDX-License-Identifier: MIT
"""ONNX models as PyTorch functions: the operators of the networks that tests and benchmarks compare with PyTorch."""
import math

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper


def padded(x, pads, value):
    return F.pad(x, [pads[1], pads[3], pads[0], pads[2]], value=value)


def conv(a, x, w, b=None):
    top, left, bottom, right = a.get("pads", [0, 0, 0, 0])
    stride, groups = a.get("strides", [1, 1]), a.get("group", 1)
    if top == bottom and left == right:
        return F.conv2d(x, w, b, stride=stride, padding=(top, left), groups=groups)
    return F.conv2d(padded(x, a["pads"], 0.0), w, b, stride=stride, groups=groups)


def max_pool(a, x):
    pads, kernel, stride = a.get("pads", [0, 0, 0, 0]), a["kernel_shape"], a.get("strides", [1, 1])
    if any(pads):
        x = padded(x, pads, -np.inf)
    return F.max_pool2d(x, kernel, stride)


def average_pool(a, x):
    assert not any(a.get("pads", []))
    return F.avg_pool2d(x, a["kernel_shape"], a["strides"])


def gemm(a, x, w, b):
    assert a.get("alpha", 1.0) == 1.0 and a.get("beta", 1.0) == 1.0
    return F.linear(x, w if a.get("transB") else w.T, b)


# The operators as functions of attributes, then operands.
OPERATORS = {
    "Identity": lambda a, x: x,
    "Conv": conv,
    "BatchNormalization": lambda a, x, s, b, m, v: F.batch_norm(x, m, v, s, b, eps=a["epsilon"]),
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "Flatten": lambda a, x: x.flatten(a.get("axis", 1)),
    "Gemm": gemm,
    "MatMul": lambda a, x, y: x @ y,
    "Add": lambda a, x, y: x + y,
    "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y,
    "Relu": lambda a, x: F.relu(x),
    "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Erf": lambda a, x: torch.erf(x),
    "Clip": lambda a, x, low, high: torch.clamp(x, low.item(), high.item()),
    "Softmax": lambda a, x: F.softmax(x, a["axis"]),
    "LayerNormalization": lambda a, x, s, b: F.layer_norm(x, [len(s)], s, b, eps=a["epsilon"]),
    "ReduceMean": lambda a, x: x.mean(a["axes"], keepdim=bool(a["keepdims"])),
    "Gather": lambda a, x, i: x.index_select(a["axis"], i),
    "Concat": lambda a, *parts: torch.cat(parts, a["axis"]),
    "Reshape": lambda a, x, shape: x.reshape(shape.tolist()),
    "Transpose": lambda a, x: x.permute(a["perm"]),
}


class Network(torch.nn.Module):
    """A model in float32, on batches of examples."""

    def __init__(self, path):
        super().__init__()
        graph = onnx.load(path).graph
        self.weights = {w.name: torch.from_numpy(np.array(numpy_helper.to_array(w))) for w in graph.initializer}
        inputs = [i for i in graph.input if i.name not in self.weights]
        self.input, self.output = inputs[0], graph.output[0].name
        self.nodes = [(n.op_type, {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}, list(n.input), list(n.output))
                      for n in graph.node]
        self.batch = self.input.type.tensor_type.shape.dim[0].dim_value  # 0 if it is dynamic

    def example_shape(self):
        return [d.dim_value for d in self.input.type.tensor_type.shape.dim[1:]]

    def activations(self, shape):
        """The number of values that all nodes write for one example."""
        total = 0
        with torch.inference_mode():
            for value in self.values(torch.zeros(1, *shape)).values():
                total += math.prod(value.shape)
        return total

    def values(self, x):
        values = {**self.weights, self.input.name: x}
        results = {}
        for op, attributes, operands, outputs in self.nodes:
            given = [values[name] for name in operands if name]
            if op == "Constant":
                y = torch.from_numpy(np.array(numpy_helper.to_array(attributes["value"])))
            elif op == "Reshape":  # a batch of one that was fixed at export may have any size
                shape = given[1].tolist()
                y = given[0].reshape([len(x)] + shape[1:]) if shape[0] in (0, self.batch) and given[0].shape[0] == len(x) \
                    else given[0].reshape(shape)
            else:
                y = OPERATORS[op](attributes, *given)
            values[outputs[0]] = results[outputs[0]] = y
        return results

    def forward(self, x):
        return self.values(x)[self.output]
