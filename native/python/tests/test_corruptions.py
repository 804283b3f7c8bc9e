# SPDX-License-Identifier: MIT
"""Compares corruption:NAME:SEVERITY with NumPy, Pillow and colorsys: exactly if nothing is random, otherwise statistically.

The constants are those of CIFAR-10-C, Tiny-ImageNet-C and ImageNet-C (Hendrycks and Dietterich, ICLR 2019), by severity.
"""

import colorsys
import io

import numpy as np
import pytest
from samples import continued, gaussian_blurred, interpolated, largest_distance, linear, noisy_samples, picture

import probust

SIZES = (32, 64, 224)
CONSTANTS = {
    "gaussian_noise": [[0.04, 0.06, 0.08, 0.09, 0.1], [0.04, 0.08, 0.12, 0.15, 0.18], [0.08, 0.12, 0.18, 0.26, 0.38]],
    "shot_noise": [[500, 250, 100, 75, 50], [250, 100, 50, 30, 15], [60, 25, 12, 5, 3]],
    "impulse_noise": [[0.01, 0.02, 0.03, 0.05, 0.07], [0.01, 0.02, 0.05, 0.08, 0.14], [0.03, 0.06, 0.09, 0.17, 0.27]],
    "defocus_blur": [
        [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)],
        [(0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)],
        [(3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)],
    ],
    "glass_blur": [
        [(0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)],
        [(0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)],
        [(0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)],
    ],
    "motion_blur": [
        [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)],
        [(10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)],
        [(10, 3), (15, 5), (15, 8), (15, 12), (20, 15)],
    ],
    "zoom_blur": [
        [(1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)],
        [(1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)],
        [(1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)],
    ],
    "snow": [
        [
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ],
        [
            (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
        ],
        [
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ],
    ],
    "fog": [
        [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)],
        [(0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)],
        [(1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)],
    ],
    "brightness": [[0.05, 0.1, 0.15, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5]],
    "contrast": [[0.75, 0.5, 0.4, 0.3, 0.15], [0.4, 0.3, 0.2, 0.1, 0.05], [0.4, 0.3, 0.2, 0.1, 0.05]],
    "elastic_transform": [  # relative to sides of 32, 64 and 244 pixels (a slip of the authors for 224)
        [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)],
        [(0, 0, 0.08), (0.05, 0.3, 0.06), (0.1, 0.08, 0.06), (0.1, 0.03, 0.03), (0.16, 0.03, 0.02)],
        [(2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)],
    ],
    "pixelate": [[0.95, 0.9, 0.85, 0.75, 0.65], [0.9, 0.8, 0.7, 0.6, 0.5], [0.6, 0.5, 0.4, 0.3, 0.25]],
    "jpeg_compression": [[80, 65, 58, 50, 40], [65, 58, 50, 40, 25], [25, 18, 15, 10, 7]],
}

# The size whose constants apply to the image, the side of the image, and the severity.
CASES = [(32, 32, severity) for severity in range(1, 6)] + [(64, 64, severity) for severity in range(1, 6)]
CASES += [(224, 121, severity) for severity in range(1, 6)]
cases = pytest.mark.parametrize("size, side, severity", CASES, ids=[f"{size}:{severity}" for size, _, severity in CASES])


def constants(name, size, severity):
    return CONSTANTS[name][SIZES.index(size)][severity - 1]


def corrupted(name, severity, image, count=1):
    return noisy_samples(f"corruption:{name}:{severity}", image, count).astype(float)


def photograph(side, columns=None):
    return picture((3, side, columns or side)).astype(np.float32) / 255


def enlarged(planes, factor):
    """The middle of planes, enlarged linearly to the size of the planes. Sizes are rounded as in scipy.ndimage.zoom."""
    for axis in (-2, -1):
        size = planes.shape[axis]
        part = int(np.ceil(size / factor))
        begin, width = (size - part) // 2, int(round(part * factor))
        places = begin + (np.linspace(0, part - 1, width)[(width - size) // 2 :][:size] if width > 1 else np.zeros(1))
        low = np.minimum(places.astype(int), size - 2)
        lower, upper = np.take(planes, low, axis), np.take(planes, low + 1, axis)
        share = (places - low)[:, None] if axis == -2 else places - low
        planes = lower + share * (upper - lower)
    return planes


@cases
def test_zoom_blur(size, side, severity):
    image = photograph(side, side + 3)
    factors = np.arange(1, *constants("zoom_blur", size, severity))
    wanted = (image + sum(enlarged(image.astype(float), factor) for factor in factors)) / (len(factors) + 1)
    np.testing.assert_allclose(corrupted("zoom_blur", severity, image)[0], wanted, atol=1e-5)


@cases
def test_defocus_blur(size, side, severity):
    image = photograph(side, side + 3)
    radius, smoothing = constants("defocus_blur", size, severity)
    reach = 8 if radius <= 8 else 10
    axis = np.arange(-reach, reach + 1)
    disc = (axis**2 + axis[:, None] ** 2 <= radius**2).astype(float)
    disc = gaussian_blurred(disc, smoothing, 1 if radius <= 8 else 2, "reflect") / disc.sum()
    padded = continued(image, reach, "reflect")
    wanted = sum(weight * padded[:, i : i + side, j : j + side + 3] for (i, j), weight in np.ndenumerate(disc))
    np.testing.assert_allclose(corrupted("defocus_blur", severity, image)[0], np.clip(wanted, 0, 1), atol=2e-5)


@cases
def test_brightness_and_contrast(size, side, severity):
    image = photograph(side)[:, :16, :16] if size == 32 else photograph(side)
    more, factor = constants("brightness", size, severity), constants("contrast", size, severity)
    wanted = np.empty(image.shape)
    for i, j in np.ndindex(image.shape[1:]):
        hue, saturation, value = colorsys.rgb_to_hsv(*image[:, i, j].astype(float))
        wanted[:, i, j] = colorsys.hsv_to_rgb(hue, saturation, min(value + more, 1))
    np.testing.assert_allclose(corrupted("brightness", severity, image)[0], wanted, atol=2e-6)
    mean = image.mean(axis=(1, 2), keepdims=True, dtype=float)
    np.testing.assert_allclose(corrupted("contrast", severity, image)[0], np.clip(mean + factor * (image - mean), 0, 1), atol=2e-6)
    gray = image[0]
    np.testing.assert_allclose(corrupted("brightness", severity, gray)[0], np.clip(gray + more, 0, 1), atol=2e-6)


@cases
def test_pixelate_equals_pillow(size, side, severity):
    Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    image = picture((side, side + 9))
    share = constants("pixelate", size, severity)
    smaller = Image.fromarray(image).resize((int((side + 9) * share), int(side * share)), Image.BOX)
    wanted = np.asarray(smaller.resize((side + 9, side), Image.BOX), float)
    ours = corrupted("pixelate", severity, image.astype(np.float32) / 255)[0]
    assert np.abs(ours * 255 - wanted).max() < 1.01  # Pillow rounds to bytes twice


@cases
def test_jpeg_compression_equals_pillow(size, side, severity):
    Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    image = picture((3, side, side))
    file = io.BytesIO()
    Image.fromarray(image.transpose(1, 2, 0)).save(file, "JPEG", quality=constants("jpeg_compression", size, severity))
    wanted = np.asarray(Image.open(file), float).transpose(2, 0, 1)
    ours = corrupted("jpeg_compression", severity, image.astype(np.float32) / 255)[0]
    assert np.mean(np.abs(ours * 255 - wanted) < 1.5) > 0.99


def motion_weights(radius, width):
    weights = np.exp(-np.arange(2 * radius + 1) ** 2 / (2 * width**2))
    return weights / weights.sum()


def motion_blurred(planes, radius, width, degrees):
    """For each pixel, the mean of the nearest pixels to a line that starts there, with the weights of half a Gaussian."""
    size = planes.shape[-2:]
    padded = continued(planes, 2 * radius + 1, "nearest")
    result = 0
    for i, weight in enumerate(motion_weights(radius, width)):
        down, across = (int(np.ceil(i * each - 0.5)) + 2 * radius + 1 for each in (np.sin(degrees), np.cos(degrees)))
        result = result + weight * padded[..., down : down + size[0], across : across + size[1]]
    return result


@cases
def test_motion_blur(size, side, severity):
    """Each sample is the image blurred in one of the directions between -45 and 45 degrees."""
    image = photograph(side)[0]
    radius, width = constants("motion_blur", size, severity)
    samples = corrupted("motion_blur", severity, image, 24 if size == 32 else 2)
    steps = np.arange(2 * radius + 1)
    paths = {}
    for angle in np.deg2rad(np.linspace(-45, 45, 9001)[1:-1]):
        paths.setdefault(tuple(np.ceil(steps * np.sin(angle) - 0.5)) + tuple(np.ceil(steps * np.cos(angle) - 0.5)), angle)
    # Only few directions result in the sample's value at the middle pixel. For these, whole images are compared.
    middle = side // 2
    at_middle = {}
    for path, angle in paths.items():
        rows, columns = np.clip(middle + np.array(path).reshape(2, -1).astype(int), 0, side - 1)
        at_middle[angle] = motion_weights(radius, width) @ image[rows, columns]
    found = []
    for sample in samples:
        near = [angle for angle, value in at_middle.items() if abs(value - sample[middle, middle]) < 1e-5]
        distances = [np.abs(motion_blurred(image, radius, width, angle) - sample).max() for angle in near]
        assert min(distances, default=1) < 1e-5
        found.append(near[int(np.argmin(distances))])
    if size == 32:
        assert np.min(found) < -0.3 and np.max(found) > 0.3


def statistics(samples):
    """[samples, numbers]: for each channel, its mean, its standard deviation, and statistics of differences of adjacent pixels."""
    axes = (2, 3)
    numbers = [samples.mean(axes), samples.std(axes)]
    for axis in axes:
        differences = np.diff(samples, axis=axis)
        numbers += [np.abs(differences).mean(axes), differences.std(axes), differences.max(axes)]
    return np.concatenate(numbers, axis=1)


def expect_same_statistics(ours, theirs):
    ours, theirs = statistics(ours), statistics(theirs)
    error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
    assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error + 1e-5)
    spreads = (ours.std(axis=0) + 1e-5) / (theirs.std(axis=0) + 1e-5)
    assert np.all(np.abs(np.log(spreads)) < 6 / np.sqrt(2 * min(len(ours), len(theirs))) * 1.7)


def gaussian_noise(image, random, deviation):
    return image + random.normal(0, deviation, image.shape)


def shot_noise(image, random, photons):
    return random.poisson(image * photons) / photons


def impulse_noise(image, random, share):
    hit, white = random.uniform(size=image.shape) < share, random.uniform(size=image.shape) < 0.5
    return np.where(hit, white, image)


def glass_blur(image, random, width, reach, times):
    """Between two blurs, each pixel gets the value of a pixel near it, in order from the lower right; the border stays unchanged."""
    blurred = gaussian_blurred(image, width, int(4 * width + 0.5), "nearest")
    rows, columns = image.shape[1:]
    for _ in range(times):
        for i in range(rows - reach, reach, -1):
            for j in range(columns - reach, reach, -1):
                down, across = random.integers(-reach, reach, 2)
                blurred[:, i, j] = blurred[:, i + down, j + across]
    return gaussian_blurred(blurred, width, int(4 * width + 0.5), "nearest")


def snow(image, random, mean, deviation, factor, least, radius, width, kept):
    flakes = enlarged(random.normal(mean, deviation, image.shape[1:]), factor)
    flakes = np.clip(np.where(flakes < least, 0, flakes), 0, 1)
    flakes = motion_blurred(flakes, radius, width, np.deg2rad(random.uniform(-135, -45)))
    light = np.tensordot([0.299, 0.587, 0.114], image, 1)
    whitened = kept * image + (1 - kept) * np.maximum(image, 1.5 * light + 0.5)
    return whitened + flakes + flakes[::-1, ::-1]


def cloud(size, decay, random):
    """A periodic square of random numbers from 0 to 1, by the diamond-square algorithm."""
    heights, amount, step = np.zeros((size, size)), 1.0, size
    while step > 1:
        half, corners = step // 2, np.arange(0, size, step)

        def mean(rows, columns, moves):
            around = [heights[np.ix_((rows + down) % size, (columns + across) % size)] for down, across in moves]
            return sum(around) / 4 + random.uniform(-amount, amount, around[0].shape)

        diagonal = [(down, across) for down in (-half, half) for across in (-half, half)]
        straight = [(-half, 0), (half, 0), (0, -half), (0, half)]
        heights[np.ix_(corners + half, corners + half)] = mean(corners + half, corners + half, diagonal)
        edges = mean(corners, corners + half, straight), mean(corners + half, corners, straight)
        heights[np.ix_(corners, corners + half)], heights[np.ix_(corners + half, corners)] = edges
        amount, step = amount / decay**2, half
    return (heights - heights.min()) / np.ptp(heights)


def fog(image, random, strength, decay):
    rows, columns = image.shape[1:]
    size = 1 << (max(rows, columns) - 1).bit_length()
    white = image.max()
    return (image + strength * cloud(size, decay, random)[:rows, :columns]) * white / (white + strength)


def elastic_transform(image, random, strength, width, corner):
    """Random moves of three points define an affine map of the image. Then each pixel moves by a smooth random field."""
    size = image.shape[1:]
    side = min(size) * (244 / 224 if min(size) > 119 else 1)
    before = np.array([1.0, 1]) * [size[1] // 2, size[0] // 2] + min(size) // 3 * np.array([[1, 1], [1, -1], [-1, -1]])
    after = before + random.uniform(-corner * side, corner * side, (3, 2))
    map_ = np.linalg.solve(np.column_stack([before, np.ones(3)]), after)  # (column, row, 1) @ map_ is where a point goes
    rows, columns = np.meshgrid(*map(np.arange, size), indexing="ij")
    source = (np.stack([columns, rows], axis=-1) - map_[2]) @ np.linalg.inv(map_[:2])
    moved = interpolated(image, source[..., 1], source[..., 0], linear, "reflect")
    across, down = (
        strength * side * gaussian_blurred(random.uniform(-1, 1, size), width * side, int(3 * width * side + 0.5), "symmetric")
        for _ in range(2)
    )
    return interpolated(moved, rows + down, columns + across, linear, "symmetric")


RANDOM = [gaussian_noise, shot_noise, impulse_noise, glass_blur, snow, fog, elastic_transform]
SOME = [case for case in CASES if case[0] == 32 or case[2] in (2, 5)]


@pytest.mark.parametrize("corruption", RANDOM, ids=lambda each: each.__name__)
@pytest.mark.parametrize("size, side, severity", SOME, ids=[f"{size}:{severity}" for size, _, severity in SOME])
def test_random_corruptions_have_the_statistics_of_numpy(corruption, size, side, severity):
    name = corruption.__name__
    image = photograph(side)
    if name == "elastic_transform":  # its first two channels then encode where each pixel comes from
        image[:2] = np.stack(np.meshgrid(*[np.linspace(0.1, 0.9, side)] * 2))
    count = {32: 160, 64: 48, 224: 16}[size] // (4 if name == "glass_blur" else 1)  # its loop in Python is slow
    values = constants(name, size, severity)
    values = values if isinstance(values, tuple) else (values,)
    random = np.random.default_rng(severity)
    theirs = np.stack([corruption(image.astype(float), random, *values) for _ in range(count)])
    expect_same_statistics(corrupted(name, severity, image, count), np.clip(theirs, 0, 1))


@cases
def test_noise_of_constant_images_has_its_distribution(size, side, severity):
    image, random = np.full((3, side, side), 0.4, np.float32), np.random.default_rng(severity)
    for corruption in (gaussian_noise, shot_noise, impulse_noise):
        name = corruption.__name__
        theirs = np.clip(corruption(image.astype(float), random, constants(name, size, severity)), 0, 1).astype(np.float32)
        ours = corrupted(name, severity, image)
        assert largest_distance(np.round(ours.ravel(), 5), np.round(theirs.ravel().astype(float), 5)) < 1, name


def test_channels_last_and_gray():
    image = photograph(32)
    for name in CONSTANTS:
        last = np.ascontiguousarray(image.transpose(1, 2, 0))
        np.testing.assert_array_equal(corrupted(name, 3, last)[0].transpose(2, 0, 1), corrupted(name, 3, image)[0], err_msg=name)
        assert corrupted(name, 3, image[0]).shape == (1, 32, 32)


def test_seeds_and_samples():
    image = photograph(32)
    first = noisy_samples("corruption:snow:3", image, 4)
    assert np.array_equal(first, noisy_samples("corruption:snow:3", image, 4))
    assert not np.array_equal(first, noisy_samples("corruption:snow:3", image, 4, seed=1))
    assert len(np.unique(first.reshape(4, -1), axis=0)) == 4


def test_unknown_corruptions():
    with pytest.raises(probust.UsageError, match="'corruption:smog:3' is not a known corruption"):
        noisy_samples("corruption:smog:3", np.zeros((1, 8, 8), np.float32))
