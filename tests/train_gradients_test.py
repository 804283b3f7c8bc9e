#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the training objective and its gradients, with and without the gradient penalty, agree with PyTorch's in float64.

Usage: train_gradients_test.py PROGRAM [--time], where PROGRAM is probust-train-gradients. With --time, also compares the processor
time of a step of the CNN with a batch of 64 on one thread. Exit status 77 means that PyTorch is not installed."""
import json
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

TOLERANCE = 1e-4  # relative to the largest element of any gradient


def tensor(entry):
    return torch.tensor(entry["data"], dtype=torch.float64).reshape(entry["shape"])


def cnn(w, x):
    for k in (1, 2):
        x = F.relu(F.max_pool2d(F.conv2d(x, w[f"conv{k}.filter"], w[f"conv{k}.bias"].flatten()), 2))
    x = F.relu(x.flatten(1) @ w["dense1.weight"] + w["dense1.bias"])
    return x @ w["dense2.weight"] + w["dense2.bias"]


def resnet18(w, x):
    count = 0

    def conv(x, stride):
        nonlocal count
        count += 1
        kernel = w[f"conv{count}.filter"]
        y = F.conv2d(x, kernel, stride=stride, padding=kernel.shape[2] // 2)
        name = f"batch_norm{count}."
        return F.batch_norm(y, None, None, w[name + "scale"].flatten(), w[name + "shift"].flatten(), training=True)

    x = F.relu(conv(x, 1))
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            y = conv(F.relu(conv(x, stride)), 1)
            x = F.relu(y + (conv(x, stride) if stride == 2 else x))
    return x.mean((2, 3)) @ w["dense1.weight"] + w["dense1.bias"]


def vit(w, x):
    x = F.conv2d(x, w["conv1.filter"], w["conv1.bias"].flatten(), stride=4).flatten(2).transpose(1, 2) + w["tokens1.positions"]
    norms = denses = 0

    def norm(x):
        nonlocal norms
        norms += 1
        return F.layer_norm(x, x.shape[-1:], w[f"layer_norm{norms}.scale"].flatten(), w[f"layer_norm{norms}.shift"].flatten())

    def dense(x):
        nonlocal denses
        denses += 1
        return x @ w[f"dense{denses}.weight"] + w[f"dense{denses}.bias"]

    for _ in range(2):
        y = norm(x)
        q, k, v = (dense(y).unflatten(2, (2, 4)).transpose(1, 2) for _ in range(3))
        mixed = torch.softmax(q @ k.transpose(2, 3) / 2, -1) @ v
        x = x + dense(mixed.transpose(1, 2).flatten(2))
        x = x + dense(F.gelu(dense(norm(x))))
    return dense(norm(x).mean(1))


def objective(network, weights, x, labels, penalty):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(network(weights, x), labels, reduction="sum")
    if penalty > 0:
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        loss = loss + penalty * (slope * slope).sum()
    return loss / len(labels)


def check(problem):
    weights = {name: tensor(entry).requires_grad_(True) for name, entry in problem["weights"].items()}
    network = {"cnn": cnn, "resnet18": resnet18, "vit": vit}[problem["name"]]
    loss = objective(network, weights, tensor(problem["x"]), torch.tensor(problem["labels"]), problem["lambda"])
    loss.backward()
    size = max(float(weight.grad.abs().max()) for weight in weights.values())
    worst = max(float((tensor(problem["gradients"][name]) - weight.grad).abs().max()) for name, weight in weights.items())
    off = abs(problem["loss"] - float(loss)) / max(1, abs(float(loss)))
    good = worst <= TOLERANCE * size and off <= TOLERANCE
    print(f"{'' if good else 'WRONG: '}{problem['name']}, lambda {problem['lambda']}: loss off by {off:.1e}, gradients by {worst / size:.1e}")
    return good


def step_milliseconds(penalty):
    torch.set_num_threads(1)
    net = torch.nn.ModuleList([torch.nn.Conv2d(1, 10, 5), torch.nn.Conv2d(10, 20, 5), torch.nn.Linear(320, 50), torch.nn.Linear(50, 10)])
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    x, labels = torch.randn(64, 1, 28, 28), torch.arange(64) % 10

    def logits(_, x):
        for k in (0, 1):
            x = F.relu(F.max_pool2d(net[k](x), 2))
        return net[3](F.relu(net[2](x.flatten(1))))

    seconds = []
    for _ in range(45):
        start = time.process_time()
        optimizer.zero_grad()
        objective(logits, None, x, labels, penalty).backward()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return 1e3 * sorted(seconds[5:])[20]


def main():
    program = sys.argv[1]
    problems = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    good = all([check(problem) for problem in problems])
    if "--time" in sys.argv:
        own = json.loads(subprocess.run([program, "--time"], check=True, capture_output=True).stdout)
        for penalty, milliseconds in zip((0, 0.1), own):
            other = step_milliseconds(penalty)
            print(f"step of the CNN, lambda {penalty}: {milliseconds:.2f} ms, PyTorch {other:.2f} ms, ratio {milliseconds / other:.2f}")
    return 0 if good and problems else 1


sys.exit(main())
