# SPDX-License-Identifier: MIT
"""Images, noisy samples of them (recorded by a model that is a Python function), and image operations in NumPy."""

import numpy as np

import probust


def noisy_samples(noise, image, count=1, seed=0):
    """Noisy samples [count, ...] of an image [rows, columns], [channels, rows, columns] or [rows, columns, channels]."""
    seen = []

    def scores(x):
        seen.append(np.array(x))
        return np.zeros((len(x), 2), np.float32) + [1, 0]

    model = probust.model_from_function(scores, 2, image.shape)
    model.estimate(image[None], noise=noise, estimators=f"mc:{count}", seed=seed)
    samples = np.concatenate(seen)
    assert len(samples) >= count
    return samples[-count:]


def picture(shape, seed=0):
    """A smooth image with noise, as bytes."""
    random = np.random.default_rng(seed)
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])
    speeds = random.uniform(0.1, 1, (2, *shape[:-2], 1, 1))
    image = 128 + 90 * np.sin(speeds[0] * rows) * np.cos(speeds[1] * columns) + random.normal(scale=15, size=shape)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def continued(planes, margin, border):
    """Adds a margin to planes [..., rows, columns]: "nearest", "symmetric", "reflect" (about the outermost pixels) or a number."""
    widths = [(0, 0)] * (planes.ndim - 2) + [(margin, margin)] * 2
    if isinstance(border, str):
        return np.pad(planes, widths, "edge" if border == "nearest" else border)
    return np.pad(planes, widths, constant_values=border)


def interpolated(planes, rows, columns, weights, border):
    """Planes [..., R, C] at positions [R, C]. weights(fraction) are those of the 2 or 4 pixels around a position along an axis."""
    low = [np.floor(each).astype(int) for each in (rows, columns)]
    shares = [weights(each - floor) for each, floor in zip((rows, columns), low)]
    before = len(shares[0]) // 2 - 1
    margin = 3 + int(max(np.abs(low).max(), *planes.shape[-2:]))
    padded = continued(planes, margin, border)
    return sum(
        down * across * padded[..., low[0] + margin - before + i, low[1] + margin - before + j]
        for i, down in enumerate(shares[0])
        for j, across in enumerate(shares[1])
    )


def linear(t):
    return np.stack([1 - t, t])


def catmull_rom(t):
    """The weights of the four pixels around a position that is a fraction t after the second."""
    return np.stack([-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, -(t**2) + t**3]) / 2


def gaussian_blurred(planes, width, radius, border):
    """Planes filtered along both axes with a Gaussian that is cut off after `radius` pixels."""
    if width == 0:
        return planes
    weights = np.exp(-np.arange(-radius, radius + 1) ** 2 / (2 * width**2))
    weights /= weights.sum()
    padded = continued(planes, radius, border)
    size = planes.shape[-2:]
    down = sum(weight * padded[..., i : i + size[0], :] for i, weight in enumerate(weights))
    return sum(weight * down[..., i : i + size[1]] for i, weight in enumerate(weights))


def largest_distance(ours, theirs):
    """The Kolmogorov distance of two samples, divided by the value that 1 in 1000 pairs of samples of the same distribution exceeds."""
    places = np.sort(np.concatenate([ours, theirs]))
    shares = [np.searchsorted(np.sort(each), places, "right") / len(each) for each in (ours, theirs)]
    return np.abs(shares[0] - shares[1]).max() / (1.95 * np.sqrt(1 / len(ours) + 1 / len(theirs)))


def linear_onnx(matrix, bias):
    """The bytes of an ONNX model with the logits x @ matrix + bias."""

    def varint(value):
        return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)

    def field(number, value):
        if isinstance(value, int):
            return varint(number * 8) + varint(value)
        value = value.encode() if isinstance(value, str) else value
        return varint(number * 8 + 2) + varint(len(value)) + value

    def tensor(name, array):
        array = np.asarray(array, "<f4")
        dims = b"".join(field(1, extent) for extent in array.shape)
        return field(5, dims + field(2, 1) + field(8, name) + field(9, array.tobytes()))

    def port(number, name, extent):
        shape = field(1, field(2, "N")) + field(1, field(1, extent))
        return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))

    def node(op, inputs, output):
        return field(1, b"".join(field(1, each) for each in inputs) + field(2, output) + field(4, op))

    nodes = node("MatMul", ["x", "W"], "m") + node("Add", ["m", "b"], "y")
    ports = port(11, "x", matrix.shape[0]) + port(12, "y", matrix.shape[1])
    graph = nodes + field(2, "linear") + tensor("W", matrix) + tensor("b", bias) + ports
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))
