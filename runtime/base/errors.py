"""Errors of operators as PyTorch raises them: what NumPy and SciPy raise goes out in no class of theirs."""

from __future__ import annotations

import dis
from typing import Final

import numpy as np

from runtime.base.identity import PACKAGES


class LinAlgError(RuntimeError):
    """A matrix that has no inverse, or not the factors that were asked for."""


class MissingDerivativeError(NotImplementedError):
    """A derivative that derivatives.yaml says is `not_implemented`."""


class AcceleratorError(RuntimeError):
    """An error of a device, which can not happen here."""


class OutOfMemoryError(RuntimeError):
    """The memory of a device is used up, which can not happen here."""


def flag(function: str, name: str, value: object) -> bool:
    """An argument that is to be a bool, of Python or of NumPy.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")
    return bool(value)


_LIBRARIES = ("numpy", "scipy", "ml_dtypes")
_RAISE: Final = dis.opmap["RAISE_VARARGS"]
# What libraries say about sizes, values and memory; the same classes from our own `raise` stay as they are.
_ABOUT_VALUES = (ValueError, OverflowError, ZeroDivisionError, MemoryError)


def translated(error: Exception, operator: str, dtypes: str) -> Exception:
    """`error`, raised in a kernel or a composite function, in the class that users know.

    Args:
        error: what was raised.
        operator: the name of the operator.
        dtypes: those of its Tensors, for an error that is about them.
    """
    text = str(error)
    if isinstance(error, np.linalg.LinAlgError):
        return LinAlgError(text)
    if isinstance(error, np.exceptions.AxisError):
        return IndexError(f"Dimension out of range: {text}")
    if isinstance(error, TypeError) and (type(error) is not TypeError or "ufunc" in text):
        return NotImplementedError(f'"{operator}" not implemented for {dtypes}')
    if isinstance(error, _ABOUT_VALUES) and not _is_our_own(error):
        return RuntimeError(text or type(error).__name__)
    return error


def _is_our_own(error: Exception) -> bool:
    """Whether a `raise` of this project or of its user raised it, and not a function of a library."""
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
    if package in PACKAGES:  # where a library's function in C raised it, the last frame is ours
        return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE
    return package not in _LIBRARIES
