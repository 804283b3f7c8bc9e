# SPDX-License-Identifier: MIT
"""Exceptions. Their text is one sentence on one line: what is wrong, and what to do."""


class Error(Exception):
    """Base class of all exceptions of probust. `kind` is a word for the kind of error, such as "usage"."""

    kind = "internal"


class UsageError(Error, ValueError):
    """An option or argument is wrong."""

    kind = "usage"


class UnreadableError(Error, ValueError):
    """A model or data file is missing or truncated, or its format, width or content is wrong."""

    kind = "unreadable"


class UnsupportedError(Error, NotImplementedError):
    """The model uses something that probust does not support, or the estimator needs what the model does not have."""

    kind = "unsupported"


class ResourcesError(Error, MemoryError):
    """Not enough memory, or no such device."""

    kind = "resources"


class NumericalError(Error, ArithmeticError):
    """No number could be computed."""

    kind = "numerical"


class InternalError(Error, RuntimeError):
    """A bug in probust, or an error in a classifier that is a function."""


_BY_CODE = {2: UsageError, 3: UnreadableError, 4: UnsupportedError, 5: ResourcesError, 6: NumericalError, 130: KeyboardInterrupt}


def exception(code, message):
    """The exception for an error code of core/probust/base/error.h."""
    return _BY_CODE.get(code, InternalError)(message)
