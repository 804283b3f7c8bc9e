# SPDX-License-Identifier: MIT
"""Noisy samples of images, recorded by a model that is a Python function and compared with NumPy and Pillow."""

import io

import numpy as np
import pytest

import probust


def noisy_samples(noise, image, count=1, seed=0):
    """Noisy samples [count, ...] of an image [rows, columns] or [channels, rows, columns]."""
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


@pytest.mark.parametrize("shape", [(8, 8), (21, 13), (3, 16, 16), (3, 19, 30), (3, 5, 4), (3, 32, 32)])
def test_jpeg_equals_pillow(shape):
    Image = pytest.importorskip("PIL.Image")
    image = picture(shape)
    differences = []
    for quality in (5, 30, 50, 75, 95, 100):
        file = io.BytesIO()
        Image.fromarray(image if len(shape) == 2 else image.transpose(1, 2, 0)).save(file, "JPEG", quality=quality)
        wanted = np.asarray(Image.open(file), float)
        (ours,) = noisy_samples(f"jpeg:{quality}", image.astype(np.float32) / 255)
        differences.append(np.abs((ours if len(shape) == 2 else ours.transpose(1, 2, 0)) * 255 - wanted))
    # libjpeg-turbo 2.1 gives the same bytes; another library may round some values differently.
    assert np.mean(np.concatenate([each.ravel() for each in differences]) < 1.5) > 0.99


def test_shot_noise_has_the_distribution_of_numpy():
    image = np.full((16, 16), 0.4, np.float32)
    for photons in (5, 100):
        ours = np.rint(noisy_samples(f"shot:{photons}", image, 200) * photons).ravel().astype(int)
        theirs = np.minimum(np.random.default_rng(1).poisson(0.4 * photons, ours.size), photons)  # clipped at white
        counts = np.stack([np.bincount(each, minlength=120)[:120] for each in (ours, theirs)])
        distance = np.abs(np.cumsum(counts[0] - counts[1])).max() / ours.size  # Kolmogorov-Smirnov distance
        assert distance < 1.95 * np.sqrt(2 / ours.size)


def test_pixelate_equals_pillow():
    Image = pytest.importorskip("PIL.Image")
    image = picture((32, 32))
    for severity, share in enumerate((0.95, 0.9, 0.85, 0.75, 0.65), 1):
        size = int(32 * share)
        wanted = np.asarray(Image.fromarray(image).resize((size, size), Image.BOX).resize((32, 32), Image.BOX), float)
        (ours,) = noisy_samples(f"corruption:pixelate:{severity}", image.astype(np.float32) / 255)
        assert np.abs(ours * 255 - wanted).max() < 1.01  # Pillow rounds to bytes twice


def enlarged(image, factor):
    """The centre of a square image, enlarged as by scipy.ndimage.zoom(order=1)."""
    size = len(image)
    part = int(np.ceil(size / factor))
    begin, width = (size - part) // 2, int(round(part * factor))
    places = np.linspace(0, part - 1, width)[(width - size) // 2 :][:size]
    middle = image[begin : begin + part, begin : begin + part]
    along = np.array([np.interp(places, np.arange(part), row) for row in middle])
    return np.array([np.interp(places, np.arange(part), column) for column in along.T]).T


@pytest.mark.parametrize("severity, end, size", [(1, 1.06, 32), (4, 1.21, 32), (1, 1.11, 96), (2, 1.16, 96)])
def test_zoom_blur(severity, end, size):
    image = picture((size, size)).astype(np.float32) / 255
    factors = np.arange(1, end, 0.01)
    wanted = (image + sum(enlarged(image, factor) for factor in factors)) / (len(factors) + 1)
    (ours,) = noisy_samples(f"corruption:zoom_blur:{severity}", image)
    assert np.abs(ours - wanted).max() < 1e-5


@pytest.mark.parametrize("severity, radius, smoothing, size", [(3, 0.5, 0.6, 32), (5, 1.5, 0.1, 32), (2, 4, 0.5, 90)])
def test_defocus_blur(severity, radius, smoothing, size):
    image = picture((size, size)).astype(np.float32) / 255
    axis = np.arange(-8, 9)
    disc = (axis**2 + axis[:, None] ** 2 <= radius**2).astype(float)
    weights = np.exp(-(np.arange(-1, 2) ** 2) / (2 * smoothing**2))
    for turn in range(2):
        disc = np.array([np.convolve(row, weights / weights.sum(), "same") for row in disc]).T
    padded = np.pad(image, 8, "reflect")
    wanted = sum(disc[i, j] * padded[i : i + size, j : j + size] for i in range(17) for j in range(17)) / disc.sum()
    (ours,) = noisy_samples(f"corruption:defocus_blur:{severity}", image)
    assert np.abs(ours - wanted).max() < 1e-5


def test_seeds_and_samples():
    image = picture((3, 32, 32)).astype(np.float32) / 255
    first = noisy_samples("corruption:snow:3", image, 4)
    assert np.array_equal(first, noisy_samples("corruption:snow:3", image, 4))
    assert not np.array_equal(first, noisy_samples("corruption:snow:3", image, 4, seed=1))
    assert len(np.unique(first.reshape(4, -1), axis=0)) == 4


def test_unknown_corruptions():
    image = np.zeros((1, 8, 8), np.float32)
    with pytest.raises(probust.UsageError, match="'corruption:smog:3' is not a known corruption"):
        noisy_samples("corruption:smog:3", image)
