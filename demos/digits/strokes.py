# SPDX-License-Identifier: MIT
"""Digits drawn from strokes: lines and arcs in the unit square (x right, y down), bent, turned, and inked on 16 x 16 pixels."""
import struct
import zlib

import numpy as np

SIZE, CLASSES = 16, 10


def line(*points):
    return np.array(points, dtype=float)


def arc(rng, x, y, rx, ry, begin, end):
    """Part of an ellipse, angles in degrees clockwise from the right; centre, radii and ends vary a little."""
    x, y = np.array([x, y]) + rng.normal(0, 0.015, 2)
    rx, ry = np.array([rx, ry]) * rng.uniform(0.85, 1.12, 2)
    t = np.radians(np.linspace(begin + rng.normal(0, 8), end + rng.normal(0, 8), 14))
    return np.stack([x + rx * np.cos(t), y + ry * np.sin(t)], axis=1)


def joined(*strokes):
    return np.concatenate(strokes)


def strokes_of(digit, rng):
    """The strokes of a digit in one of the ways in which people write it."""
    other_way = rng.random() < 0.5
    if digit == 0:
        return [arc(rng, 0.5, 0.5, 0.25, 0.39, -90, 270)]
    if digit == 1:
        if not other_way:
            return [line((0.5, 0.1), (0.5, 0.9))]
        foot = [line((0.36, 0.9), (0.68, 0.9))] if rng.random() < 0.4 else []
        return [line((0.34, 0.3), (0.52, 0.1), (0.52, 0.9))] + foot
    if digit == 2:
        return [joined(arc(rng, 0.5, 0.33, 0.24, 0.22, -165, 25), line((0.25, 0.88), (0.78, 0.88)))]
    if digit == 3:
        return [joined(arc(rng, 0.46, 0.3, 0.23, 0.2, -150, 80), arc(rng, 0.46, 0.69, 0.27, 0.21, -80, 150))]
    if digit == 4:
        if other_way:
            return [line((0.3, 0.12), (0.24, 0.58), (0.8, 0.56)), line((0.64, 0.25), (0.62, 0.92))]
        return [line((0.62, 0.92), (0.62, 0.1), (0.2, 0.64), (0.82, 0.64))]
    if digit == 5:
        return [joined(line((0.76, 0.12), (0.34, 0.13), (0.3, 0.46)), arc(rng, 0.47, 0.65, 0.27, 0.24, -125, 145))]
    if digit == 6:
        return [joined(line((0.66, 0.1), (0.42, 0.3), (0.3, 0.56)), arc(rng, 0.51, 0.68, 0.22, 0.22, -170, 200))]
    if digit == 7:
        return [line((0.23, 0.13), (0.77, 0.13), (0.42, 0.92))] + ([line((0.36, 0.52), (0.68, 0.5))] if other_way else [])
    if digit == 8:
        return [arc(rng, 0.5, 0.3, 0.2, 0.19, 90, 450), arc(rng, 0.5, 0.7, 0.24, 0.21, -90, 270)]
    return [joined(arc(rng, 0.48, 0.34, 0.22, 0.23, 5, 365), line((0.7, 0.36), (0.68, 0.6), (0.58, 0.92)))]


def bent(points, rng):
    """A smooth wobble, then a turn, slant, stretch and shift around the middle."""
    wobble = rng.normal(0, 0.03, (2, 2))
    phase = rng.uniform(0, 2 * np.pi, (2, 2))

    def apply(p):
        waves = np.stack([wobble[:, k] * np.sin((3 + 3 * k) * p[:, ::-1] + phase[:, k]) for k in range(2)]).sum(axis=0)
        return (p + waves - 0.5) @ matrix.T + 0.5 + shift

    angle = np.radians(rng.normal(0, 11))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    slant = np.array([[1, -rng.normal(0.1, 0.18)], [0, 1]])
    matrix = turn @ slant * rng.uniform(0.6, 1.05, (2, 1))
    shift = rng.normal(0, 0.045, 2)
    return [apply(p) for p in points]


def draw(digit, rng):
    """One digit as [SIZE, SIZE] bytes: how dark a pixel is falls off with its distance from the nearest stroke."""
    strokes = bent(strokes_of(digit, rng), rng)
    a = np.concatenate([s[:-1] for s in strokes]) * SIZE
    step = np.concatenate([np.diff(s, axis=0) for s in strokes]) * SIZE
    pixels = np.stack(np.meshgrid(np.arange(SIZE) + 0.5, np.arange(SIZE) + 0.5), axis=-1).reshape(-1, 1, 2)
    along = ((pixels - a) * step).sum(-1) / np.maximum((step**2).sum(-1), 1e-9)
    distance = np.linalg.norm(pixels - a - np.clip(along, 0, 1)[..., None] * step, axis=-1).min(axis=1)
    half_width, blur = rng.uniform(0.4, 1.1), rng.uniform(0.8, 1.8)
    ink = rng.uniform(0.55, 1.0) * np.clip((half_width - distance) / blur + 0.5, 0, 1)
    paper = np.clip(ink + rng.normal(0, 0.04, ink.shape), 0, 1)
    return np.rint(255 * paper).astype(np.uint8).reshape(1, SIZE, SIZE)


def draw_many(count, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % CLASSES)
    return np.stack([draw(digit, rng) for digit in labels]), labels.astype(np.int64)


def write_sheet(path, images, columns=8, zoom=6):
    """All images side by side, enlarged, as a PNG file."""
    framed = np.pad(images[:, 0].repeat(zoom, axis=1).repeat(zoom, axis=2), ((0, 0), (2, 2), (2, 2)), constant_values=90)
    rows = [np.concatenate(list(framed[i : i + columns]), axis=1) for i in range(0, len(framed), columns)]
    sheet = np.pad(np.concatenate(rows), ((0, 0), (1, 0)))  # each line of a PNG begins with a zero: no filter

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", sheet.shape[1] - 1, sheet.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(sheet.tobytes())) + chunk(b"IEND", b""))
