"""What an entry leaves out and its schema implies: the samples it is tested with, the layout of its results."""

from __future__ import annotations

import itertools

from codegen.formula.typed import FLOAT, SCALAR, TENSOR, formula_type
from codegen.read.model import Layout, NativeFunction
from codegen.schema.defaults import default_value
from codegen.schema.types import OptionalType
from codegen.words import LayoutKind

# Shapes per number of tensor arguments: plain, broadcast, 0-dim, zero-size.
_SHAPES = {
    1: (((3, 4),), ((),), ((0, 2),)),
    2: (((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (3,)), ((), ()), ((0, 2), (2,))),
    3: (((3, 4), (3, 4), (3, 4)), ((2, 1, 3), (4, 1), (3,)), ((), (), ()), ((0, 2), (2,), ())),
}
# What numbers are multiplied by, each with another one than those beside it.
_FACTORS = (1.25, 1.5, 0.75)


def samples_of(function: NativeFunction) -> tuple[str, ...]:
    """The calls to test `function` with; none for an operator that is not pointwise and lists none."""
    if function.samples:
        return tuple(str(sample) for sample in function.samples)
    if "pointwise" not in function.tags:
        return ()
    tensors = 0
    rest = []
    for argument in function.schema.positional:
        type = formula_type(argument.type)
        if type == TENSOR:
            tensors += 1
        elif argument.default is None and type == SCALAR:
            rest.append("1.5")
        elif argument.default is None and not isinstance(type, OptionalType):
            return ()
    if any(argument.default is None for argument in function.schema.kwarg_only):
        return ()
    limits = ""
    if function.domain is not None:
        low, high = function.domain
        limits = f", low={low}, high={high}"
    calls = []
    other_numbers = _other_numbers(function) if function.elementwise is not None else []
    for shapes in _SHAPES.get(tensors, ()):
        parts = [f"T({', '.join(map(str, shape))}{limits})".replace("(, ", "(") for shape in shapes]
        calls.append(", ".join([*parts, *rest]))
        if other_numbers and len(calls) == 1:
            calls.append(", ".join([*parts, *rest, *other_numbers]))
    return tuple(calls)


def _other_numbers(function: NativeFunction) -> list[str]:
    """Numbers beside the defaults: of a factor that is 1 nobody sees whether a formula has it."""
    numbers = []
    for argument in function.schema.arguments:
        has_default = argument.default is not None and formula_type(argument.type) in (SCALAR, FLOAT)
        value = default_value(argument) if has_default else None
        if isinstance(value, int | float):
            numbers.append((argument.name, value))
    return [f"{name}={(value or 1) * factor:.4g}" for (name, value), factor in zip(numbers, itertools.cycle(_FACTORS))]


def layout_rule(function: NativeFunction) -> Layout:
    """The rule that the entry names, or what follows from its schema."""
    default = LayoutKind.ITERATED if "pointwise" in function.tags else LayoutKind.CONTIGUOUS
    return function.layout or Layout(default, None, function.text)
