# SPDX-License-Identifier: MIT
"""PyTorch models, converted to ONNX."""

import contextlib
import io

import numpy as np

from . import _arguments
from ._errors import InternalError, UsageError
from ._model import Model, load_model


def model_from_torch(module, example, *, tolerance: float = 1e-3, opset: int = 13, **options) -> Model:
    """Exports a torch.nn.Module to ONNX, loads it, and checks that both compute the same logits.

    example    an example input [n, ...] of the module
    tolerance  the largest allowed difference of the logits at the example, as a share of the largest logit
    options    as for load_model; mean, std and layout are needed only if the data are preprocessed differently than the module expects

    A final softmax or log-softmax is removed, because estimators need logits; this does not change the prediction.
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise _arguments.refusal("module", f"is {_arguments.shown(module)}", "give a torch.nn.Module")
    tolerance = _arguments.number("tolerance", tolerance)
    if not isinstance(example, torch.Tensor) or example.ndim == 0 or len(example) == 0:
        raise UsageError("example is not a tensor with at least one input; give one [n, ...]")
    with torch.no_grad(), _evaluating(module):
        expected = module(example)
        if not isinstance(expected, torch.Tensor) or expected.ndim != 2:
            found = list(expected.shape) if isinstance(expected, torch.Tensor) else f"a {type(expected).__name__}"
            raise UsageError(f"module returned {found}; wrap it in a module that returns logits [n, C]")
        file = io.BytesIO()
        names = {"input_names": ["x"], "output_names": ["logits"], "dynamic_axes": {"x": {0: "n"}, "logits": {0: "n"}}}
        torch.onnx.export(module, example, file, opset_version=opset, **names)
    model = load_model(file.getvalue())
    check(model.logits(example), expected.cpu().float().numpy(), tolerance)
    return load_model(file.getvalue(), **options) if options else model


@contextlib.contextmanager
def _evaluating(module):
    """Sets the module to evaluation mode, and afterwards restores the mode of each part."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        module.train(modes[0][1])  # some modules' train() does more than set flags
        for part, training in modes:
            part.training = training


def check(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Raises InternalError unless `found`, its softmax or its log-softmax agrees with `expected`."""
    shifted = found - found.max(axis=1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    scale = max(np.abs(expected).max(), np.finfo(np.float32).tiny)
    error = min(np.abs(each - expected).max() / scale for each in (found, log_softmax, np.exp(log_softmax)))
    if not error <= tolerance:
        hint = "they must be finite and must not depend on the other inputs; half precision needs a larger tolerance; otherwise, please report this"
        raise InternalError(f"the exported model's logits differ from the module's by {error:.1e} of the largest; {hint}")
