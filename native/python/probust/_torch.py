# SPDX-License-Identifier: MIT
"""PyTorch models, by way of ONNX."""

import io

import numpy as np

from ._errors import InternalError, UsageError
from ._model import Model, load_model


def model_from_torch(module, example, *, tolerance: float = 1e-3, opset: int = 13, **options) -> Model:
    """Exports a torch.nn.Module to ONNX, loads it, and checks that both give the same logits.

    example    input [n, ...] of the module
    tolerance  the largest difference of logits at the example, as a share of the largest logit
    options    as for load_model; mean, std and layout are for data that the module would not take itself
    """
    import torch

    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            expected = module(example).cpu().numpy()
            file = io.BytesIO()
            names = {"input_names": ["x"], "output_names": ["logits"], "dynamic_axes": {"x": {0: "n"}, "logits": {0: "n"}}}
            torch.onnx.export(module, example, file, opset_version=opset, **names)
    finally:
        module.train(was_training)
    if expected.ndim != 2:
        raise UsageError(f"module: returned {list(expected.shape)}; a classifier returns [n, C]")
    model = load_model(file.getvalue())
    check(model.logits(example.cpu().numpy()), expected, tolerance)
    return load_model(file.getvalue(), **options) if options else model


def check(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Raises InternalError unless both logits agree."""
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), np.finfo(np.float32).tiny)
    if not error <= tolerance:
        raise InternalError(f"module: the exported model's logits differ by {error:.1e} of the largest; please report this")
