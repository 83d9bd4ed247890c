"""The error of a check that failed."""

from __future__ import annotations


class GradcheckError(RuntimeError):
    """A derivative is wrong; the message says which one and how."""


# The module that users import it from.
GradcheckError.__module__ = "gradwright.autograd.gradcheck"
