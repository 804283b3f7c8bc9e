# SPDX-License-Identifier: MIT
"""Perturbations that are Python functions."""

import numpy as np
import pytest

import probust


@pytest.fixture
def model():
    weights = np.random.default_rng(1).normal(size=(3, 16)).astype(np.float32)
    return probust.model_from_function(lambda x: x.reshape(len(x), -1) @ weights.T, point_shape=(1, 4, 4), classes=3)


@pytest.fixture
def x():
    return np.random.default_rng(2).random((5, 1, 4, 4), dtype=np.float32)


def test_a_function_gives_the_same_as_the_family_that_it_writes_out(model, x):
    own = probust.perturbation(lambda x, z: np.clip(x + 0.4 * z[:, :, None, None], 0, 1), latents=1, name="own")
    mine = model.estimate(x, noise=own, estimators="mc:4000", check=False)
    built_in = model.estimate(x, noise="brightness:0.4", estimators="mc:4000", check=False)
    assert set(mine["noise"]) == {"transform:own:1|clip:0,1"}
    np.testing.assert_allclose(mine["p"], built_in["p"], atol=1e-3)


def test_functions_and_texts_can_be_given_together(model, x):
    own = probust.perturbation(lambda x, z: x, latents=2, name="nothing")
    rows = model.estimate(x, noise=[own, "gaussian:0.1"], estimators="mc:50", check=False)
    assert len(rows) == 10 and np.all(rows["p"][::2] == 1)


def test_what_is_no_perturbation_is_refused(model, x):
    with pytest.raises(probust.UsageError, match="number of normals is unknown"):
        model.estimate(x, noise=lambda x, z: x)
    with pytest.raises(probust.UsageError, match="latents is 0"):
        probust.perturbation(lambda x, z: x, latents=0)
    with pytest.raises(probust.UsageError, match="cannot be called"):
        probust.perturbation(3, latents=1)
    wrong = probust.perturbation(lambda x, z: x[:, 0], latents=1, name="wrong")
    with pytest.raises(probust.UsageError, match="returned an array of shape"):
        model.estimate(x, noise=wrong, estimators="mc:50")
    broken = probust.perturbation(lambda x, z: 1 / 0, latents=1, name="broken")
    with pytest.raises(ZeroDivisionError):
        model.estimate(x, noise=broken, estimators="mc:50")
