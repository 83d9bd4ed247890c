"""Closed sets that plans are made of."""

from __future__ import annotations

import enum


class OperatorKind(enum.Enum):
    """What implements an operator on the CPU."""

    KERNEL = "a function on arrays"
    IMPLICIT = "a composite function on Tensors, which is traced through"
    EXPLICIT = "a composite function on Tensors, with a derivative of its own"
    DECLARED = "nothing: a call fails"


class ViewKind(enum.Enum):
    """How results of an operator share memory with its argument; the value is what the runtime calls it."""

    SINGLE = "single"  # the result does
    MULTI = "multi"  # each of several


class SavedKind(enum.Enum):
    """What a Node keeps under a name."""

    TENSOR = "an input"
    OPTIONAL = "an input, or None"
    LIST = "inputs, some of which may be None"
    RESULT = "an output of the operator itself"
    VALUE = "no Tensor"
