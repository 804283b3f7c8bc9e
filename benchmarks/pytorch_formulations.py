# SPDX-License-Identifier: MIT
"""Ways to compute forward passes, margin Jacobians and estimators with PyTorch. against_pytorch.py uses the fastest of them.

All of them run the operators of an ONNX file (tests/support/onnx_in_torch.py). As in deployment, batch normalisation after a
convolution is first folded into its weights. "channels last" means that images and convolution weights are stored that way."""
import copy
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "support"))
from onnx_in_torch import OPERATORS, Network  # noqa: E402

LAST = ", channels last"
FORWARDS = ["eager", "eager" + LAST, "frozen", "frozen" + LAST, "fused"]
JACOBIANS = ["repeated", "repeated" + LAST, "one by one", "one by one" + LAST, "vectorized"]
COPIES = 5  # the noisy samples of mmse:5
MOST_NUMBERS = 5e8  # number of activations at a time; this limits the memory to a few GB
TOLERANCE = 1e-3  # the largest error of the compiled network's logits, relative to the largest logit


def concat(attributes, *parts):
    """Concat for batches: a constant for one example, such as the class token of a vision transformer, is repeated for every
    example."""
    batch = max(len(part) for part in parts)
    if attributes["axis"] != 0:
        parts = [part.expand(batch, *part.shape[1:]) if len(part) == 1 else part for part in parts]
    return torch.cat(parts, attributes["axis"])


# Replaces operators of Network in this process.
OPERATORS["Concat"] = concat
OPERATORS["Clip"] = lambda a, x, low, high: torch.nn.functional.hardtanh(x, low.item(), high.item())  # faster than clamp


def fold_batch_norms(network):
    """Folds each batch normalisation that follows a convolution into the convolution's weights."""
    makers = {outputs[0]: k for k, (_, _, _, outputs) in enumerate(network.nodes)}
    uses = [name for _, _, operands, _ in network.nodes for name in operands]
    kept = []
    for op, attributes, operands, outputs in network.nodes:
        k = makers.get(operands[0], -1) if op == "BatchNormalization" else -1
        if k < 0 or network.nodes[k][0] != "Conv" or uses.count(operands[0]) != 1:
            kept.append((op, attributes, operands, outputs))
            continue
        scale, bias, mean, variance = (network.weights[name] for name in operands[1:])
        factor = scale / torch.sqrt(variance + attributes["epsilon"])
        _, conv_attributes, conv, _ = network.nodes[k]
        before = network.weights[conv[2]] if len(conv) > 2 else 0
        names = [conv[1] + " folded " + outputs[0], "bias folded " + outputs[0]]
        network.weights[names[0]] = network.weights[conv[1]] * factor[:, None, None, None]
        network.weights[names[1]] = (before - mean) * factor + bias
        kept = [node for node in kept if node[3] != network.nodes[k][3]]
        kept.append(("Conv", conv_attributes, [conv[0], *names], outputs))
    network.nodes = kept
    needed = {name for _, _, operands, _ in kept for name in operands}
    network.weights = {name: value for name, value in network.weights.items() if name in needed}


def with_channels_last(network):
    """The same network with convolution weights stored channels last; None if it has no convolution."""
    filters = {operands[1] for op, _, operands, _ in network.nodes if op == "Conv"}
    if not filters:
        return None
    result = copy.copy(network)
    result.weights = {name: channels_last(value) if name in filters else value for name, value in network.weights.items()}
    return result


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


def as_it_is(x):
    return x


# ---- forward passes


def compiled(network, style, example):
    """Compiles the network for batches with the shape of the example. Raises an error if the result computes different logits,
    which happens with optimize_for_inference of PyTorch 1.13 for a narrow MobileNetV2."""
    if style == "eager":
        return network
    with torch.no_grad():
        traced = torch.jit.trace(network, example, check_trace=False)
        result = torch.jit.freeze(traced) if style == "frozen" else torch.jit.optimize_for_inference(traced)
        expected, got = network(example), result(example)
    if not (expected - got).abs().max() <= TOLERANCE * expected.abs().max():
        raise RuntimeError(f"{style} logits are wrong")
    return result


def forward_pass(logits):
    def run(x):
        with torch.inference_mode():
            return logits(x)

    return run


def monte_carlo(logits, copies, sigma):
    """Returns a function that counts the noisy samples of a point at which class 0 wins. Each call overwrites `copies`."""

    def run(x):
        with torch.inference_mode():
            return (logits(copies.normal_(0, sigma).add_(x)).argmax(1) == 0).sum()

    return run


# ---- Jacobians: functions that return margins [N, C - 1] and their gradients [N, C - 1, d]


def margins(logits, target, rivals):
    """Margins f_t - f_i, [N, number of rivals]. Rivals are numbered without the target."""
    rivals = rivals + (rivals >= target).long()
    return logits.gather(1, target) - logits.gather(1, rivals)


def targets_of(logits, target):
    return logits.detach().argmax(1, keepdim=True) if target is None else target


def repeated(network, place, x, target, classes, most):
    """Repeats each point for each rival, and runs one backward sweep, or several with at most `most` rivals each."""
    parts = []
    for first in range(0, classes - 1, most):
        rivals = torch.arange(first, min(first + most, classes - 1))
        copies = place(x.repeat_interleave(len(rivals), 0)).requires_grad_(True)
        logits = network(copies)
        own = targets_of(logits, None if target is None else target.repeat_interleave(len(rivals), 0))
        g = margins(logits, own, rivals.repeat(len(x)).unsqueeze(1))
        j, = torch.autograd.grad(g.sum(), copies)
        parts.append((g.detach().reshape(len(x), -1), j.reshape(len(x), len(rivals), -1)))
    return parts[0] if len(parts) == 1 else tuple(torch.cat(part, 1) for part in zip(*parts))


def recorded(network, place, x, target, classes):
    """Returns the points as a leaf of the autograd graph, and their margins in that graph."""
    leaf = place(x).detach().clone().requires_grad_(True)
    logits = network(leaf)
    return leaf, margins(logits, targets_of(logits, target), torch.arange(classes - 1).repeat(len(x), 1))


def one_by_one(network, place, x, target, classes, _):
    """One forward pass, then one backward sweep per rival."""
    leaf, g = recorded(network, place, x, target, classes)
    rows = [torch.autograd.grad(g[:, i].sum(), leaf, retain_graph=i < classes - 2)[0] for i in range(classes - 1)]
    return g.detach(), torch.stack(rows, 1).flatten(2)


def vectorized(network, place, x, target, classes, _):
    """One forward pass, then all backward sweeps at once, with PyTorch's vmap."""
    leaf, g = recorded(network, place, x, target, classes)
    seeds = torch.eye(classes - 1).unsqueeze(1).expand(classes - 1, len(x), classes - 1)
    j, = torch.autograd.grad(g, leaf, seeds, is_grads_batched=True)
    return g.detach(), j.flatten(2).transpose(0, 1)


SWEEPS = {"repeated": repeated, "one by one": one_by_one, "vectorized": vectorized}


def gram(g, j):
    return g, j @ j.transpose(1, 2)


def normal_problem(g, j, sigma):
    """The limits z and correlations R of P(Z <= z) with Z ~ N(0, R), according to Lemma 1 and Definition 2 of the paper."""
    products = j @ j.transpose(1, 2)
    norms = products.diagonal(dim1=1, dim2=2).clamp_min(1e-30).sqrt()
    return g / (sigma * norms), products / (norms.unsqueeze(1) * norms.unsqueeze(2))


class Formulations:
    """A model in the formulations above. The kinds of work are forward, jacobian, mc, taylor and mmse."""

    def __init__(self, path, sigma):
        self.network, self.sigma = Network(path).eval(), sigma
        fold_batch_norms(self.network)
        self.last = with_channels_last(self.network)
        self.shape = self.network.example_shape()
        self.numbers = self.network.activations(self.shape)
        with torch.inference_mode():
            self.classes = self.network(torch.rand(1, *self.shape)).shape[1]

    def names(self, kind):
        names = FORWARDS if kind in ("forward", "mc") else JACOBIANS
        return [name for name in names if self.last is not None or not name.endswith(LAST)]

    def fits(self, kind, name, batch):
        """Whether a batch needs at most a few GB. A single example is always tried, unless the formulation is vectorized."""
        examples = batch * (COPIES if kind == "mmse" else 1) * (self.classes - 1 if name == "vectorized" else 1)
        return (batch == 1 and name != "vectorized") or examples * self.numbers <= MOST_NUMBERS

    def points(self, kind, name, count):
        """Random points for a function of `make`: `count` points, but only one for mc."""
        x = torch.rand(1 if kind == "mc" else count, *self.shape)
        return channels_last(x) if name.endswith(LAST) else x

    def make(self, kind, name, batch):
        """Returns a function of `batch` points; for mc, of one point, for which it draws `batch` noisy samples."""
        place = channels_last if name.endswith(LAST) else as_it_is
        network, style = self.last if name.endswith(LAST) else self.network, name.removesuffix(LAST)
        if kind in ("forward", "mc"):
            example = place(torch.rand(batch, *self.shape))
            logits = compiled(network, style, example)
            return forward_pass(logits) if kind == "forward" else monte_carlo(logits, example, self.sigma)

        def linearize(x, target=None):
            most = int(max(1, min(self.classes - 1, MOST_NUMBERS / (self.numbers * len(x)))))
            return SWEEPS[style](network, place, x, target, self.classes, most)

        if kind == "jacobian":
            return lambda x: gram(*linearize(x))
        if kind == "taylor":
            return lambda x: normal_problem(*linearize(x), self.sigma)
        return lambda x: self.mmse(network, place, linearize, x)

    def mmse(self, network, place, linearize, x):
        """The normal problem of margins and gradients averaged over noisy samples. The target is the prediction at the
        point."""
        with torch.no_grad():
            target = network(x).argmax(1, keepdim=True).repeat_interleave(COPIES, 0)
            copies = x.repeat_interleave(COPIES, 0)
            copies = place(copies + self.sigma * torch.randn_like(copies))
        g, j = linearize(copies, target)
        return normal_problem(*(part.reshape(len(x), COPIES, *part.shape[1:]).mean(1) for part in (g, j)), self.sigma)
