# SPDX-License-Identifier: MIT
"""Devices: those of this machine, and a GPU emulated on the CPU (PROBUST_EMULATED is the folder of its module)."""

import os
import pathlib
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import probust

DIGITS = pathlib.Path(__file__).parents[3] / "demos" / "digits"
EMULATED = os.environ.get("PROBUST_EMULATED")


def on_emulated_device(script, modules=EMULATED):
    """Runs a script that finds the emulated device, in a separate process, because a process loads a module only once."""
    head = f"""
        import warnings
        import numpy as np
        import probust
        path = {str(DIGITS / "digits.onnx")!r}
        x, labels = probust.read_data({str(DIGITS / "points.npz")!r})
    """
    environment = {**os.environ, "PROBUST_MODULES": str(modules)}
    command = [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_processor_is_a_device():
    names = [device.name for device in probust.devices() if device.problem is None]
    assert names[:3] == ["cpu", "eigen", "reference"]


def test_a_gpu_is_there_or_the_reason_is():
    gpus = [device for device in probust.devices() if device.name.startswith("cuda")]
    assert gpus
    if gpus[0].problem is None:
        pytest.skip("this machine has a GPU")
    assert gpus[0].name == "cuda"
    with pytest.raises(probust.ResourcesError) as error:
        probust.load_model(DIGITS / "digits.onnx", device="cuda")
    assert gpus[0].problem in str(error.value) and "device" in str(error.value)


def test_auto_takes_the_processor_without_a_gpu():
    if any(device.name == "cuda:0" for device in probust.devices()):
        pytest.skip("this machine has a GPU")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = probust.load_model(DIGITS / "digits.onnx", device="auto")
    assert model.classes == 10 and all("using the CPU" in str(each.message) for each in told)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"device": "gpu"}, "device cannot be 'gpu'; use one of cpu, eigen, reference, cuda, cuda:N, cuda:all or auto"),
        ({"device": "cuda:x"}, "device cannot be 'cuda:x'"),
        ({"precision": "bf16"}, "precision is bf16, but the CPU supports only float32"),
        ({"precision": "half"}, "precision cannot be 'half'; use float32, tf32 or bf16"),
        ({"memory": "8 apples"}, "memory is '8 apples', which is not an amount of memory; try 512M or 4G"),
    ],
)
def test_odd_devices_are_refused(options, words):
    with pytest.raises(probust.UsageError, match="^" + words):
        probust.load_model(DIGITS / "digits.onnx", **options)


@pytest.mark.skipif(EMULATED is None, reason="no emulated device was built")
def test_the_emulated_device_runs_perturbations_as_the_processor_does():
    on_emulated_device(
        """
        noise = ["rotate:20", "blur:1", "exposure:1", "rotate:5+gaussian:0.05", "jpeg:uniform(20,80)", "occlude:0.1"]
        estimators = ["mc:200", "probit:24"]
        ours, theirs = (
            probust.load_model(path, device=device).estimate(x[:6], noise=noise, estimators=estimators) for device in ("cpu", "cuda")
        )
        counted = ours["estimator"] == "mc:200"
        assert counted.sum() == 36 and (abs(ours["p"] - theirs["p"])[counted] <= 1 / 200).all()
        np.testing.assert_allclose(ours["p"], theirs["p"], atol=6e-3)
        """
    )


@pytest.mark.skipif(EMULATED is None, reason="no emulated device was built")
def test_the_emulated_device_agrees_with_the_processor():
    out = on_emulated_device(
        """
        print([device.name for device in probust.devices() if device.problem is None])
        estimators = ["mc:1000", "probit:24", "regression:24", "taylor", "mmse:5", "auto:50"]
        both = [
            probust.load_model(path, device=device).estimate(x, sigma=[0.1, 0.3], estimators=estimators, labels=labels)
            for device in ("cpu", "cuda")
        ]
        assert len(both[0]) == 40 * 2 * 6
        for name in ("index", "predicted", "target", "status", "method", "forwards", "backwards"):
            assert list(both[0][name]) == list(both[1][name]), name
        # A regression chooses gradients and rivals. If two are equally good, rounding decides.
        chooses = np.array([name.startswith(("regression", "auto")) for name in both[0]["estimator"]])
        allowed = 2e-5 + np.where(chooses, 0.02 * both[0]["std_error"], 0)
        print(float((np.abs(both[0]["p"] - both[1]["p"]) / allowed).max()))
        """
    )
    names, excess = out.splitlines()
    assert "'cuda:0', 'cuda:1'" in names
    assert float(excess) <= 1


@pytest.mark.skipif(EMULATED is None, reason="no emulated device was built")
def test_precision_and_memory_reach_the_device():
    on_emulated_device(
        """
        exact = probust.load_model(path, device="cuda", memory="64M").logits(x)
        model = probust.load_model(path, device="cuda:all", precision="bf16")
        rounded = model.logits(x)
        assert 1e-4 < np.abs(exact - rounded).max() < 0.5
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.estimate(x, sigma=0.1, estimators="mc:100")
        assert any("bf16 changes the logits of the first" in str(each.message) for each in told), told
        try:
            probust.load_model(path, device="cuda:7")
        except probust.ResourcesError:
            pass
        else:
            raise AssertionError
        try:
            probust.load_model(path, device="cuda", memory=1000)
        except probust.ResourcesError as error:
            assert "memory" in str(error)
        else:
            raise AssertionError
        """
    )


@pytest.mark.skipif(EMULATED is None, reason="no emulated device was built")
def test_a_module_of_another_version_is_refused(tmp_path):
    own = probust.__version__.encode() + b"\0"
    module = (pathlib.Path(EMULATED) / "probust_cuda.so").read_bytes()
    assert own in module
    (tmp_path / "probust_cuda.so").write_bytes(module.replace(own, b"9" * (len(own) - 1) + b"\0"))
    out = on_emulated_device("print(probust.devices()[-1])", modules=tmp_path)
    assert "belongs to a different version of probust" in out
    (tmp_path / "probust_cuda.so").write_text("no library")
    out = on_emulated_device("print(probust.devices()[-1])", modules=tmp_path)
    assert "probust_cuda.so cannot be loaded" in out
