# SPDX-License-Identifier: MIT
"""Compares the perturbations of docs/noise.md with NumPy and Pillow."""

import io

import numpy as np
import pytest
from samples import catmull_rom, gaussian_blurred, interpolated, largest_distance, noisy_samples, picture

import probust

SHAPES = {
    "gray": (12, 17),
    "one channel": (1, 9, 14),
    "colour": (3, 16, 11),
    "channels last": (10, 15, 3),
    "one pixel": (1, 1),
    "one pixel of three colours": (3, 1, 1),
}


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


def image_for(shape, low=0.05, high=0.95):
    return np.random.default_rng(3).uniform(low, high, shape).astype(np.float32)


def changed(planes_to_planes, image):
    """Applies a function of planes [channels, rows, columns] to an image of any layout."""
    last = image.ndim == 3 and image.shape[2] == 3 != image.shape[0]
    planes = np.moveaxis(image, 2, 0) if last else image.reshape(-1, *image.shape[-2:])
    result = planes_to_planes(planes.astype(float))
    return np.moveaxis(result, 0, 2) if last else result.reshape(image.shape)


def moved(source, border="nearest"):
    """A function that reads planes at the positions source(down, across), relative to the centre."""

    def read(planes):
        middle, centre = (np.array(planes.shape[1:]) - 1) / 2
        down, across = np.meshgrid(np.arange(planes.shape[1]) - middle, np.arange(planes.shape[2]) - centre, indexing="ij")
        rows, columns = source(down, across)
        return interpolated(planes, rows + middle, columns + centre, catmull_rom, border)

    return read


def turned(degrees):
    """Positive angles turn the image counterclockwise: a pixel to the right of the centre reads from below the centre."""
    sine, cosine = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    return lambda down, across: (cosine * down + sine * across, cosine * across - sine * down)


GEOMETRY = {
    "rotate:{}fixed(10)": turned(10),
    "rotate:{}fixed(-123)": turned(-123),
    "shift:{}fixed(1.3)": lambda down, across: (down - 1.3, across - 1.3),
    "shift-x:{}fixed(2.25)": lambda down, across: (down, across - 2.25),
    "shift-y:{}fixed(-0.5)": lambda down, across: (down + 0.5, across),
    "zoom:{}fixed(1.3)": lambda down, across: (down / 1.3, across / 1.3),
    "zoom:{}fixed(0.6)": lambda down, across: (down / 0.6, across / 0.6),
    "shear:{}fixed(0.3)": lambda down, across: (down, across + 0.3 * down),
}
BORDERS = {"": "nearest", "fill=nearest:": "nearest", "fill=reflect:": "reflect", "fill=0:": 0, "fill=0.7:": 0.7}


@pytest.mark.parametrize("text", GEOMETRY)
@pytest.mark.parametrize("fill", BORDERS)
def test_geometry(text, fill, shape):
    image = image_for(shape)
    wanted = np.clip(changed(moved(GEOMETRY[text], BORDERS[fill]), image), 0, 1)
    (ours,) = noisy_samples(text.format(fill), image)
    np.testing.assert_allclose(ours, wanted, atol=3e-5)


def test_signs_of_geometry():
    image = image_for((3, 9, 9))
    for text, wanted in {
        "rotate:fixed(90)": np.rot90(image, axes=(1, 2)),
        "shift-x:fixed(2)": np.concatenate([image[:, :, [0, 0]], image[:, :, :-2]], axis=2),
        "shift-y:fixed(2)": np.concatenate([image[:, [0, 0]], image[:, :-2]], axis=1),
        "shear:fixed(1)": np.stack([image[:, i, np.clip(np.arange(9) + i - 4, 0, 8)] for i in range(9)], axis=1),
    }.items():
        np.testing.assert_allclose(noisy_samples(text, image)[0], wanted, atol=2e-5, err_msg=text)


LIGHT = {
    "brightness:fixed(0.15)": lambda x: x + 0.15,
    "brightness:fixed(-0.3)": lambda x: x - 0.3,
    "exposure:fixed(0.7)": lambda x: x * 2**0.7,
    "exposure:fixed(-1)": lambda x: x / 2,
    "contrast:fixed(1.6)": lambda x: x.mean() + 1.6 * (x - x.mean()),
    "contrast:fixed(0)": lambda x: np.full_like(x, x.mean()),
    "gamma:fixed(0.5)": lambda x: np.sqrt(np.maximum(x, 0)),
    "gamma:fixed(2.2)": lambda x: np.maximum(x, 0) ** 2.2,
}


@pytest.mark.parametrize("text", LIGHT)
@pytest.mark.parametrize("low, high", [(0.05, 0.95), (-0.4, 1.7)])
def test_light(text, low, high, shape):
    image = image_for(shape, low, high)
    wanted = changed(LIGHT[text], image)
    if 0 <= image.min() and image.max() <= 1:
        wanted = np.clip(wanted, 0, 1)
    np.testing.assert_allclose(noisy_samples(text, image)[0], wanted, atol=3e-6)


@pytest.mark.parametrize("width", [0.3, 1.3, 4])
@pytest.mark.parametrize("fill", BORDERS)
def test_blur(width, fill, shape):
    image = image_for(shape)

    def blurred(planes):  # cut off where weights are 1e-5 of the largest, or at the length of the longer side
        radius = min(int(width * np.sqrt(-2 * np.log(1e-5))), max(planes.shape[1:]))
        return gaussian_blurred(planes, width, radius, BORDERS[fill])

    (ours,) = noisy_samples(f"blur:{fill}fixed({width})", image)
    np.testing.assert_allclose(ours, changed(blurred, image), atol=3e-6)


@pytest.mark.parametrize("length", [0.8, -3])
@pytest.mark.parametrize("fill", BORDERS)
def test_motion(length, fill, shape):
    image = image_for(shape)
    places = length * (np.arange(9) / 8 - 0.5)  # across and down
    weights = np.array([1, 4, 2, 4, 2, 4, 2, 4, 1]) / 24
    wanted = sum(
        weight * changed(moved(lambda down, across: (down + place, across + place), BORDERS[fill]), image)
        for place, weight in zip(places, weights)
    )
    np.testing.assert_allclose(noisy_samples(f"motion:{fill}fixed({length})", image)[0], np.clip(wanted, 0, 1), atol=1e-5)


def test_motion_is_the_mean_along_its_path():
    rows, columns = np.meshgrid(np.arange(20), np.arange(30), indexing="ij")
    image = (0.5 + 0.3 * np.sin(0.3 * rows) * np.cos(0.25 * columns)).astype(np.float32)
    places = 4 * ((np.arange(200) + 0.5) / 200 - 0.5)
    wanted = np.mean([changed(moved(lambda down, across: (down + t, across + t)), image) for t in places], axis=0)
    np.testing.assert_allclose(noisy_samples("motion:fixed(4)", image)[0], wanted, atol=2e-3)


IDENTITIES = ["rotate:fixed(0)", "shift:fixed(0)", "shift-x:fixed(0)", "shift-y:fixed(0)", "zoom:fixed(1)", "shear:fixed(0)"]
IDENTITIES += ["brightness:fixed(0)", "exposure:fixed(0)", "contrast:fixed(1)", "gamma:fixed(1)", "blur:fixed(0)"]
IDENTITIES += ["motion:fixed(0)", "occlude:fixed(0)", "salt-pepper:fixed(0)"]


@pytest.mark.parametrize("text", IDENTITIES)
def test_identity(text, shape):
    image = image_for(shape)
    np.testing.assert_allclose(noisy_samples(text, image)[0], image, atol=3e-6)


@pytest.mark.parametrize("text", ["rotate:20", "shift:2", "zoom:0.3", "shear:0.3", "contrast:1", "blur:2", "motion:2"])
def test_constant_images_stay(text, shape):
    image = np.full(shape, 0.4, np.float32)
    np.testing.assert_allclose(noisy_samples(text, image, 4), np.broadcast_to(image, (4, *shape)), atol=1e-5)


# By noise: the parameter as a function of a pixel of an image of twos, which is not clipped, and draws of the parameter in NumPy.
PARAMETERS = {
    "brightness:0.3": (lambda v: v - 2, lambda random, n: random.normal(0, 0.3, n)),
    "brightness:uniform(-0.1,0.4)": (lambda v: v - 2, lambda random, n: random.uniform(-0.1, 0.4, n)),
    "exposure:0.5": (lambda v: np.log2(v / 2), lambda random, n: random.normal(0, 0.5, n)),
    "gamma:0.4": (lambda v: np.log(np.log2(v)), lambda random, n: random.normal(0, 0.4, n)),
    "gamma:uniform(0.5,2)": (np.log2, lambda random, n: random.uniform(0.5, 2, n)),
}


@pytest.mark.parametrize("text", PARAMETERS)
def test_distributions_of_parameters(text):
    parameter, draws = PARAMETERS[text]
    values = noisy_samples(text, np.full((2, 2), 2, np.float32), 3000)
    assert np.ptp(values, axis=(1, 2)).max() < 1e-5  # the same for all pixels
    assert largest_distance(parameter(values[:, 0, 0].astype(float)), draws(np.random.default_rng(1), 3000)) < 1


def covered(n, start, width):
    """The share of each of n cells that an interval covers."""
    cells = np.arange(n)
    return np.clip(np.minimum(cells + 1, start[:, None] + width) - np.maximum(cells, start[:, None]), 0, None)


@pytest.mark.parametrize("shape, share, fill", [((12, 17), 0.1, 0), ((3, 16, 11), 0.3, 0), ((10, 15, 3), 0.2, 0.25)])
def test_occlude(shape, share, fill):
    image = np.ones(shape, np.float32)
    samples = noisy_samples(f"occlude:fill={fill}:{share}", image, 1000).astype(float)
    channel = {2: samples, 3: samples[..., 0] if shape[-1] == 3 else samples[:, 0]}[len(shape)]
    patch = (1 - channel) / (1 - fill)
    starts = []
    for axis in (1, 2):
        profile = patch.max(axis=3 - axis)
        width = np.sqrt(share) * profile.shape[1]
        first = (profile > 1e-5).argmax(axis=1)
        starts.append(first + 1 - profile[np.arange(1000), first])
        np.testing.assert_allclose(profile, covered(profile.shape[1], starts[-1], width), atol=1e-4)
        places = starts[-1] / (profile.shape[1] - width)
        assert largest_distance(places, np.random.default_rng(axis).uniform(size=100000)) < 1
    widths = np.sqrt(share) * np.array(patch.shape[1:])
    each = [covered(n, start, width) for n, start, width in zip(patch.shape[1:], starts, widths)]
    np.testing.assert_allclose(patch, each[0][:, :, None] * each[1][:, None], atol=1e-4)
    assert abs(np.corrcoef(*starts)[0, 1]) < 0.13


@pytest.mark.parametrize("shape", [(16, 16), (3, 12, 14), (12, 14, 3)])
def test_salt_and_pepper(shape):
    samples = noisy_samples("salt-pepper:0.1", np.full(shape, 0.4, np.float32), 200)
    pixels = samples.reshape(200, *shape) if len(shape) == 2 else samples.max(axis=-1 if shape[-1] == 3 else 1)
    lowest = samples if len(shape) == 2 else samples.min(axis=-1 if shape[-1] == 3 else 1)
    assert np.array_equal(pixels, lowest)  # all channels of a pixel are replaced together
    for value in (0, 1):
        share, n = np.mean(pixels == value), pixels.size
        assert abs(share - 0.05) < 4.5 * np.sqrt(0.05 * 0.95 / n)
    assert np.isin(pixels, np.float32([0, 0.4, 1])).all()


@pytest.mark.parametrize("shape", [(8, 8), (21, 13), (3, 16, 16), (3, 19, 30), (3, 5, 4), (3, 32, 32), (13, 18, 3), (1, 1)])
def test_jpeg_equals_pillow(shape):
    Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    planes = picture((3, *shape[:2]) if shape[-1] == 3 else shape)
    image = planes.transpose(1, 2, 0) if planes.ndim == 3 else planes
    differences = []
    for quality in (5, 30, 50, 75, 95, 100):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        wanted = np.asarray(Image.open(file), float)
        (ours,) = noisy_samples(f"jpeg:{quality}", (planes if shape[0] == 3 else image).astype(np.float32) / 255)
        differences.append(np.abs((ours.transpose(1, 2, 0) if shape[0] == 3 else ours) * 255 - wanted))
    # libjpeg-turbo 2.1 produces the same bytes; another library may round some values differently.
    assert np.mean(np.concatenate([each.ravel() for each in differences]) < 1.5) > 0.99


@pytest.mark.parametrize("shape", [(16, 16), (3, 9, 10), (9, 10, 3)])
def test_shot_noise_has_the_distribution_of_numpy(shape):
    image = np.full(shape, 0.4, np.float32)
    for photons in (5, 100):
        ours = np.rint(noisy_samples(f"shot:{photons}", image, 200) * photons).ravel().astype(int)
        theirs = np.minimum(np.random.default_rng(1).poisson(0.4 * photons, ours.size), photons)  # clipped at white
        assert largest_distance(ours, theirs) < 1


def test_sequences_apply_one_after_the_other():
    image = image_for((3, 12, 9))
    wanted = gaussian_blurred(changed(moved(turned(30)), image), 1, 4, "nearest") * 2**0.5
    (ours,) = noisy_samples("rotate:fixed(30)+blur:fixed(1)+exposure:fixed(0.5)", image)
    np.testing.assert_allclose(ours, np.clip(wanted, 0, 1), atol=3e-5)  # clipped once, at the end


def test_tables_are_refused():
    with pytest.raises(probust.UsageError, match="needs images"):
        noisy_samples("rotate:10", np.zeros(8, np.float32))
