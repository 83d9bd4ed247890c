"""All properties, in the order in which they are looked at: what a wrong formula shows first comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradwright.verify import batching, boundary, first_order, kernels, layouts, saved, second_order, variants
from gradwright.verify.points import HALVES, Point
from runtime.load.operator_info import OperatorInfo

_REAL, _COMPLEX = "float64", "complex128"
BOTH = (_REAL, _COMPLEX)
_IN_KERNELS = ("float32", _REAL, "complex64", _COMPLEX, *HALVES, "int64", "bool")
EVERY = (*HALVES, "float32", _REAL, "complex64", _COMPLEX)


@dataclass(frozen=True, slots=True)
class Property:
    """What is proven of an operator.

    `check` takes a sample and raises where the property does not hold, or can not be looked at; `check_all` takes all
    of them at once. `dtypes` are those that samples are made in. With `of_values` it compares formulas with what the
    operator computes, or with second derivatives as functions have them: the same in either order.
    """

    name: str
    title: str
    check: Callable[[Point], None] | None
    dtypes: tuple[str, ...]
    of_derivatives: bool = True
    check_all: Callable[[Sequence[Point]], int] | None = None
    of_values: bool = False

    def applies_to(self, info: OperatorInfo) -> bool:
        """Whether an operator could have it."""
        return not self.of_derivatives or info.differentiable or info.composite


PROPERTIES = (
    Property("returns", "what kernels hand back", kernels.returns, _IN_KERNELS, of_derivatives=False),
    Property("gradient", "gradients against finite differences", first_order.gradient, (_REAL,), of_values=True),
    Property("gradient_complex", "the same of complex numbers", first_order.gradient, (_COMPLEX,), of_values=True),
    Property("complex_step", "gradients against complex steps", first_order.complex_step, (_REAL,), of_values=True),
    Property("boundary", "gradients at zeros, ties and kinks", boundary.boundary, BOTH, of_values=True),
    Property("linear", "linear in what comes back", first_order.linear, BOTH),
    Property("forward", "tangents against gradients", first_order.forward, (_REAL,)),
    Property("forward_complex", "the same of complex numbers", first_order.forward, (_COMPLEX,)),
    Property("transposed", "tangents from the backward formula", first_order.transposed, BOTH),
    Property("second", "second derivatives against finite differences", second_order.second, (_REAL,), of_values=True),
    Property("second_complex", "the same of complex numbers", second_order.second, (_COMPLEX,), of_values=True),
    Property("modes", "second derivatives by every pair of modes", second_order.modes, BOTH, of_values=True),
    Property("undefined", "output gradients that are left out", first_order.undefined, BOTH),
    Property("needed", "every subset of needed gradients", first_order.needed, BOTH),
    Property("saved", "what is saved is needed", None, BOTH, check_all=saved.saved),
    Property("dtypes", "dtype and shape of gradients", first_order.dtypes, EVERY),
    Property("layouts", "strided, transposed and expanded inputs", layouts.layouts, BOTH),
    Property("empty", "inputs without elements", first_order.empty, BOTH),
    Property("inplace", "the variant in place", variants.inplace, BOTH, of_derivatives=False),
    Property("out", "the variant with out=", variants.out, BOTH, of_derivatives=False),
    Property(
        "inputs", "arguments are left alone", variants.inputs, ("float32", "complex64", *BOTH), of_derivatives=False
    ),
    Property("batching", "a batch against a loop", batching.batching, BOTH, of_derivatives=False),
    Property("native", "C++ against Python", variants.in_cpp, ("float32", *BOTH), of_derivatives=False),
)
BY_NAME = {each.name: each for each in PROPERTIES}
