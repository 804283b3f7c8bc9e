# SPDX-License-Identifier: MIT
"""Compares the noise models of docs/noise.md with samplers in NumPy: moments, tails, and p of a linear model."""

import re

import numpy as np
import pytest
from samples import linear_onnx

import probust

N = 200_000
X = np.array([0.5, -1.0, 2.0, 0.25, 1.5, -0.75], np.float32)
WEIGHTS = np.array([0.9, 0.4, -0.3, 0.6, 0.2, -0.5])
RANDOM = np.random.default_rng(5)
DATA = (RANDOM.normal(size=(5, 6)) @ RANDOM.normal(size=(6, 6)) + [1, 2, 3, 4, 5, 6]).astype(np.float32)
DATA[0] = X
MEANS = np.array([0.1, -0.2, 0.3, 0, 0.5, -0.1])
STD = np.array([0.1, 0, 0.3, 0.2, 0.5, 0.4])
OF_DATA = re.compile("data-covariance|=mean|resample")
RECORDS = RANDOM.normal(size=(50, 6))


def samples(noise, x=X, count=N, seed=0, **named):
    """Noisy samples [count, ...] of x, the first point of the data if the noise depends on them, which a model that is a function
    records."""
    seen = []

    def scores(points):
        seen.append(np.array(points))
        return np.zeros((len(points), 2), np.float32) + [1, 0]

    model = probust.model_from_function(scores, 2, x.shape)
    points = DATA if OF_DATA.search(noise) else x[None]
    model.estimate(points, noise=noise, estimators=f"mc:{count}", seed=seed, check=False, **named)
    every = np.concatenate(seen)  # first the points, for their logits, then the samples of the first point
    np.testing.assert_array_equal(every[0], x)
    return every[len(points) : len(points) + count].reshape(count, -1)


def normals(random, *shape):
    return random.standard_normal((N, *shape))


def student(random):
    return X + 0.3 * random.standard_t(3, (N, 6))


def directions(random):
    z = normals(random, 6)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def ball(random):
    return X + 1.5 * directions(random) * random.random((N, 1)) ** (1 / 6)


def field(random):
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    return random.multivariate_normal(X, 0.16 * np.exp(-distance / 3), N)


def missing(random):
    return np.where(random.random((N, 6)) < 0.3, DATA.astype(float).mean(axis=0), X)


def resampled(random):
    drawn = np.stack([random.choice(DATA[:, e], N) for e in range(6)], axis=1)
    return np.where(random.random((N, 6)) < 0.4, drawn, X)


def gaps(random):
    first = random.integers(0, 4, N)  # gaps of 3 of 6 steps
    result = np.tile(X, (N, 1))
    for start in range(4):
        held = X[start - 1] if start > 0 else X[3]
        result[np.ix_(first == start, range(start, start + 3))] = held
    return result


def time_shift(random):
    """Catmull-Rom's spline through the series, which continues with its last values."""
    position = np.arange(6) - 0.7 * random.standard_normal((N, 1))
    low = np.floor(position).astype(int)
    t = position - low
    padded = np.pad(X.astype(float), 40, "edge")
    weights = [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, -(t**2) + t**3]
    return sum(weight / 2 * padded[low + 40 + k - 1] for k, weight in enumerate(weights))


def codes(random):
    """The value in column 1 is the code -1, which stays with probability 0.5 and becomes 4 or 9."""
    to = np.searchsorted([0.5, 0.8], random.random(N), "right")
    result = np.tile(X.astype(float), (N, 1))
    result[:, 1] = np.array([-1, 4, 9])[to]
    result[:, 3] += np.array([0, 0.5, -2])[to]
    return result


CODES = [
    {
        "columns": [1],
        "codes": [-1, 4, 9],
        "transitions": [[0.5, 0.3, 0.2], [0, 1, 0], [0, 0, 1]],
        "joint": [{"column": 3, "add": [[0, 0.5, -2], [0, 0, 0], [0, 0, 0]]}],
    }
]
CENTRED = DATA - DATA.astype(float).mean(axis=0)
COVARIANCE = CENTRED.T @ CENTRED / (len(DATA) - 1)

# noise, arrays, an independent sampler
MODELS = {
    "uniform:0.5": (None, lambda random: X + random.uniform(-0.5, 0.5, (N, 6))),
    "laplace:0.5": (None, lambda random: X + random.laplace(scale=0.5, size=(N, 6))),
    "student:0.3:df=3": (None, student),
    "ball:1.5": (None, ball),
    "sphere:1.5": (None, lambda random: X + 1.5 * directions(random)),
    "gaussian:1.2/sqrt(d)": (None, lambda random: X + 1.2 / np.sqrt(6) * normals(random, 6)),
    "uniform:1.2/sqrt(d)": (None, lambda random: X + 1.2 / np.sqrt(6) * random.uniform(-1, 1, (N, 6))),
    "data-covariance:0.2": (None, lambda random: random.multivariate_normal(X, 0.04 * COVARIANCE, N)),
    "data-covariance:1.5:unit-trace": (
        None,
        lambda random: random.multivariate_normal(X, 2.25 * COVARIANCE / np.trace(COVARIANCE), N),
    ),
    "field:0.4:length=3": (None, field),
    "gaussian:std=s": ({"s": STD}, lambda random: X + STD * normals(random, 6)),
    "gaussian:std=s:0.5": ({"s": np.stack([STD, STD[::-1]])}, lambda random: X + 0.5 * STD * normals(random, 6)),
    "samples:r": ({"r": RECORDS}, lambda random: X + RECORDS[random.integers(0, 50, N)]),
    "categorical:c": ({"c": CODES}, codes),
    "speckle:0.4": (None, lambda random: X * (1 + 0.4 * normals(random, 6))),
    "speckle:0.4@0..2": (None, lambda random: X * (1 + 0.4 * normals(random, 6) * [1, 1, 1, 0, 0, 0])),
    "lognormal:0.4": (None, lambda random: X * np.exp(0.4 * normals(random, 6))),
    "gain:0.4": (None, lambda random: X * (1 + 0.4 * normals(random, 1))),
    "missing:0.3=mean": (None, missing),
    "missing:0.3=7": (None, lambda random: np.where(random.random((N, 6)) < 0.3, 7, X)),
    "resample:0.4": (None, resampled),
    "gaps:0.5": (None, gaps),
    "time-shift:0.7": (None, time_shift),
    "drift:m+gaussian:0.3": ({"m": MEANS}, lambda random: X + MEANS + 0.3 * normals(random, 6)),
    "drift:m:2+speckle:0.4+gaussian:0.3@0": (
        {"m": MEANS},
        lambda random: (X + 2 * MEANS) * (1 + 0.4 * normals(random, 6)) + 0.3 * normals(random, 1) * [1, 0, 0, 0, 0, 0],
    ),
    "gain:0.2+gaussian:0.1+missing:0.3=0": (
        None,
        lambda random: (X * (1 + 0.2 * normals(random, 1)) + 0.1 * normals(random, 6)) * (random.random((N, 6)) >= 0.3),
    ),
    "resample:0.4@0,1+speckle:0.4": (
        None,
        lambda random: np.concatenate([resampled(random)[:, :2], np.tile(X[2:], (N, 1))], axis=1)
        * (1 + 0.4 * normals(random, 6)),
    ),
}
HEAVY = {"student:0.3:df=3"}  # whose third moment does not exist
LINEAR = {  # p of a linear model under noise of which Gaussian estimators have an exact view
    "gaussian:1.2/sqrt(d)",
    "data-covariance:0.2",
    "data-covariance:1.5:unit-trace",
    "field:0.4:length=3",
    "gaussian:std=s",
    "gaussian:std=s:0.5",
    "speckle:0.4",
    "speckle:0.4@0..2",
    "gain:0.4",
    "drift:m+gaussian:0.3",
}


def near(ours, theirs, text):
    """The means of two samples agree within four and a half standard errors; there are about a thousand comparisons."""
    error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
    difference = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    scale = 1e-5 * (1 + np.abs(theirs).max(axis=0))  # of values that are the same in all samples
    assert np.all(difference <= 4.5 * error + scale), (text, (difference / (error + scale)).max())


@pytest.mark.parametrize("text", MODELS)
def test_samples_have_the_distribution(text):
    named, sampler = MODELS[text]
    ours = samples(text, arrays=named).astype(float)
    theirs = sampler(np.random.default_rng(17))
    near(ours, theirs, "mean")
    mean, deviation = theirs.mean(axis=0), theirs.std(axis=0)
    ours, theirs = ours - mean, theirs - mean
    if text not in HEAVY:
        near(ours**2, theirs**2, "variance")
        pairs = np.triu_indices(6, 1)
        near(ours[:, pairs[0]] * ours[:, pairs[1]], theirs[:, pairs[0]] * theirs[:, pairs[1]], "covariance")
    for steps in (-3, -2, -1, 1, 2, 3, 5):  # tails; the small step keeps values with atoms away from the threshold
        threshold = (steps + 0.0137) * np.where(deviation > 1e-6, deviation, 1)
        near((ours > threshold) * 1.0, (theirs > threshold) * 1.0, f"beyond {steps} deviations")


@pytest.mark.parametrize("text", MODELS)
def test_p_of_a_linear_model(text, linear_model):
    named, sampler = MODELS[text]
    points = DATA if OF_DATA.search(text) else X[None]
    rows = linear_model.estimate(points, noise=text, arrays=named, estimators=["mc:200000", "taylor"], check=False)[:2]
    scores = sampler(np.random.default_rng(23)) @ WEIGHTS - 0.3
    wanted = np.mean((scores > 0) == (X @ WEIGHTS - 0.3 > 0))
    error = np.sqrt(2 * max(wanted * (1 - wanted), 1e-5) / N)
    assert abs(rows["p"][0] - wanted) <= 4 * error
    if text in LINEAR:
        assert rows["status"][1] == "ok" and abs(rows["p"][1] - wanted) <= 4 * error, rows["note"][1]


@pytest.fixture(scope="module")
def linear_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "linear.onnx"
    path.write_bytes(linear_onnx(np.stack([WEIGHTS, np.zeros(6)], axis=1), [-0.3, 0]))
    return probust.load_model(path)


def test_rows_of_series_have_their_own_gain_and_a_common_gap():
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    gained = samples("gain:0.4", x, 20000).reshape(-1, 3, 4) / x
    assert np.abs(gained - gained[:, :, :1]).max() < 1e-5
    assert np.abs(np.corrcoef(gained[:, :, 0].T) - np.eye(3)).max() < 0.04
    gapped = samples("gaps:0.5=0", x, 2000).reshape(-1, 3, 4) == 0
    assert np.all(gapped == gapped[:, :1]) and np.all(gapped.sum(axis=2) == 2)
    field = samples("field:1:length=2", x, 40000).reshape(-1, 3, 4) - x
    correlation = np.corrcoef(field.reshape(-1, 12).T)
    one_row = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 2)
    assert np.abs(correlation - np.kron(np.eye(3), one_row)).max() < 0.03


def test_noise_per_point_and_of_the_data_does_not_depend_on_blocks(linear_model):
    points = np.tile(DATA, (240, 1))
    names = {"s": np.abs(points) / 10, "m": points / 20}
    texts = ["gaussian:std=s", "drift:m+gaussian:0.1", "data-covariance:0.2", "missing:0.3=mean", "resample:0.4"]
    rows = linear_model.estimate(points, noise=texts, arrays=names, estimators="mc:50", check=False)
    assert len(rows) == 5 * 1200
    again = linear_model.estimate(points, noise=texts, arrays=names, estimators="mc:50", check=False)
    assert np.array_equal(rows["p"], again["p"])
    first = linear_model.estimate(points[:600], noise=texts[:2], arrays=names, estimators="mc:50", check=False)
    assert np.array_equal(first["p"], rows["p"].reshape(1200, 5)[:600, :2].reshape(-1))


@pytest.mark.parametrize(
    "text, message",
    {
        "student:0.1": "needs degrees of freedom from 1 to 1e6; try student:0.1:df=3",
        "student:0.1:df=0.5": "needs degrees of freedom",
        "student:df=3": "has no scale",
        "ball:0": "has a scale that is not a positive number; try ball:0.5",
        "field:0.1": "needs a positive correlation length; try field:0.1:length=3",
        "data-covariance:1:unit-traces": "unknown part 'unit-traces'",
        "missing:0.1": "does not name the replacement; write missing:0.1=mean or missing:0.1=0",
        "missing:1.5=mean": "needs a number above 0 and at most 1",
        "missing:0.1=median": "replaces values by 'median', which is not a number",
        "resample:0": "needs a number above 0 and at most 1 after its name; try resample:0.1",
        "resample:0.1=mean": "has a value, but draws values from the data",
        "gaps:0.1=x": "replaces values by 'x', which is not a number",
        "speckle:0.1/sqrt(d)": "divides by sqrt(d), but is not added",
        "drift:m": "is for points of 5 elements, but the data's points have 6",
        "drift:n": "contains a non-finite value",
        "drift:": "does not name a file; use drift:FILE.npy",
        "gaussian:std=s": "is for points of 5 elements",
        "categorical:twice": "has a code twice",
        "categorical:columns": "has a feature with codes and 2 columns; give one column",
        "categorical:joint": "a matrix to add with 1 numbers",
        "speckle:0.1@7": "has column 7, which does not exist",
        "gaussian:0.1+speckle:0.1@7": "has column 7, which does not exist",
    }.items(),
)
def test_bad_parameters_are_refused(text, message, linear_model):
    feature = {"columns": [1], "codes": [0, 1], "transitions": [[1, 0], [0, 1]]}
    named = {
        "m": MEANS[:5],
        "s": STD[:5],
        "n": np.full(6, np.nan),
        "twice": [{**feature, "codes": [1, 1]}],
        "columns": [{**feature, "columns": [1, 2]}],
        "joint": [{**feature, "joint": [{"column": 2, "add": [[1]]}]}],
    }
    with pytest.raises(probust.Error) as caught:
        linear_model.estimate(DATA[:3], noise=text, arrays=named, estimators="mc:10", check=False)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_bad_arrays_are_refused(linear_model):
    with pytest.raises(probust.UsageError, match="arrays is 3; give a dictionary"):
        linear_model.estimate(DATA[:1], noise="drift:m", arrays=3)
    with pytest.raises(probust.UsageError, match=r"arrays\['m'\] is 'x'; give an array of numbers"):
        linear_model.estimate(DATA[:1], noise="drift:m", arrays={"m": "x"})
    with pytest.raises(probust.UsageError, match="at least two points"):
        linear_model.estimate(DATA[:1], noise="data-covariance:1", check=False)
