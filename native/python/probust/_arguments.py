# SPDX-License-Identifier: MIT
"""Converts arguments to the types that the core expects. An invalid one raises a UsageError with its name and a suggestion."""

import operator
import os

import numpy as np

from ._errors import UsageError

_MOST = 2**63 - 1


def refusal(name, found, hint):
    return UsageError(f"{name} {found}; {hint}")


def shown(value):
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def whole(name, value, least=0, most=_MOST):
    """A whole number in [least, most]."""
    try:
        number = operator.index(value)
    except TypeError:
        raise refusal(name, f"is {shown(value)}", "give a whole number") from None
    if not least <= number <= most:
        raise refusal(name, f"is {number}", f"give {least} or more" if number < least else f"give at most {most}")
    return number


def wholes(name, values):
    """Whole numbers [N] as int64, or None."""
    if values is None:
        return None
    hint = "give a whole number for each point"
    try:
        array = _array_of(name, values)
    except UsageError:
        raise
    except (TypeError, ValueError, RuntimeError):
        raise refusal(name, f"is {shown(values)}", hint) from None
    if array.ndim != 1:
        raise refusal(name, f"has the shape {list(array.shape)}", hint)
    if array.dtype.kind not in "biuf":
        return np.array([_whole_at(name, position, each, hint) for position, each in enumerate(array.tolist())], np.int64)
    with np.errstate(invalid="ignore"):
        result = array.astype(np.int64)
    changed = np.flatnonzero((result != array) | ((result < 0) & (array > 0)))
    if changed.size:
        raise refusal(name, f"has {array[changed[0]]} at position {changed[0]}", hint)
    return result


def _whole_at(name, position, value, hint):
    try:
        return np.int64(operator.index(value))
    except (TypeError, OverflowError):
        raise refusal(name, f"has {shown(value)} at position {position}", hint) from None


def _array_of(name, given):
    """Converts the argument to an array. Masked values are refused, because they are not data."""
    array = np.asanyarray(_of_torch(given))
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        first = np.argwhere(np.ma.getmaskarray(array))[0].tolist()
        raise refusal(name, f"has masked values, the first at {first}", f"leave these points out, or fill them with {name}.filled(value)")
    return np.asarray(array)


def _of_torch(given):
    """Converts a PyTorch tensor to an array, and returns anything else unchanged."""
    if not (hasattr(given, "detach") and hasattr(given, "cpu")):
        return given
    tensor = given.detach().cpu()
    # NumPy has no bfloat16.
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def numbers(name, given):
    """One number or several, as a list; [] for None."""
    if given is None:
        return []
    try:
        array = np.asarray(given if hasattr(given, "__array__") or np.isscalar(given) else list(given), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refusal(name, f"is {shown(given)}", "give a number, or several") from None
    if array.ndim > 1 or array.size == 0:
        raise refusal(name, f"has the shape {list(array.shape)}", "give a number, or several")
    return array.reshape(-1).tolist()


def number(name, given):
    """One number."""
    found = numbers(name, given)
    if len(found) != 1:
        raise refusal(name, f"is {shown(given)}", "give one number")
    return found[0]


def text(name, given):
    if not isinstance(given, str):
        raise refusal(name, f"is {shown(given)}", "give a string")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise refusal(name, f"is {shown(given)}", "give a string that UTF-8 can encode") from None
    return given


def texts(name, given):
    """One string or several, as a list."""
    if isinstance(given, str):
        return [text(name, given)]
    try:
        all_texts = [text(name, each) for each in given]
    except TypeError:
        raise refusal(name, f"is {shown(given)}", "give one or several strings") from None
    if not all_texts:
        raise refusal(name, "is empty", "give one or several strings")
    return all_texts


def flag(name, given):
    if not isinstance(given, (bool, np.bool_)):
        raise refusal(name, f"is {shown(given)}", "give True or False")
    return bool(given)


def shape(name, given):
    """The extents of a shape, as a list; [] for None."""
    if given is None:
        return []
    try:
        return [whole(name, each, 1) for each in (given if hasattr(given, "__iter__") else [given])]
    except UsageError:
        raise refusal(name, f"is {shown(given)}", "give extents, such as (3, 32, 32)") from None


def path(name, given):
    """A path as bytes, because file names need not be UTF-8."""
    try:
        result = os.fsencode(given)
    except (TypeError, UnicodeEncodeError):
        raise refusal(name, f"is {shown(given)}", "give the path of a file") from None
    if b"\0" in result:
        raise refusal(name, f"is {shown(given)}", "give a path without zero bytes")
    return result


def points(name, given, scale=None, of_function=False):
    """Converts points (an array, list, data frame or PyTorch tensor) to float32. Contiguous float32 arrays are not copied.

    Values are multiplied by `scale`. If it is None, bytes (uint8), as in stored images, are multiplied by 1/255, and other types are
    not scaled. A model that is a function may expect unscaled bytes, so bytes need an explicit scale there.
    """
    hint = "give an array of numbers [N, ...]"
    try:
        array = _array_of(name, given)
        if array.dtype.kind not in "biufO":
            raise refusal(name, f"has elements of the type {array.dtype}", hint)
        if scale is None and array.dtype == np.uint8 and not _are_dummies(given, array):
            if of_function:
                raise refusal(name, "contains bytes, but the model is a function", "give scale=1 to pass 0 to 255, or scale=1/255")
            scale = 1 / 255
        if scale is None or scale == 1:
            return np.asarray(array, dtype=np.float32, order="C")
        if array.dtype == np.uint8:
            return (np.arange(256) * scale).astype(np.float32)[array]
        return np.asarray(array.astype(np.float64) * scale, dtype=np.float32, order="C")
    except UsageError:
        raise
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise refusal(name, f"is {shown(given)}", hint) from None


def _are_dummies(given, array):
    """Whether the bytes are 0/1 columns of a data frame. pandas.get_dummies encodes categories in this way."""
    return hasattr(given, "columns") and not (array > 1).any()


def scale(name, given):
    """A factor, or None."""
    if given is None:
        return None
    found = number(name, given)
    if not np.isfinite(found) or found == 0:
        raise refusal(name, f"is {found}", "try 1/255")
    return found


def function(name, given):
    if not callable(given):
        raise refusal(name, f"is {shown(given)}", "give a function")
    return given
