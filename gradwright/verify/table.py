"""All properties, in the order in which they are looked at: what a wrong formula shows first comes first."""

from __future__ import annotations

from collections.abc import Mapping

from gradwright.verify import (
    batching,
    boundary,
    first_order,
    kernels,
    layouts,
    references,
    saved,
    search,
    second_order,
    variants,
)
from gradwright.verify.points import HALVES
from gradwright.verify.property import BOTH, COMPLEX, EVERY, REAL, Property

_IN_KERNELS = ("float32", REAL, "complex64", COMPLEX, *HALVES, "int64", "bool")

PROPERTIES = (
    Property("returns", "what kernels hand back", kernels.returns, _IN_KERNELS, of_derivatives=False),
    Property("gradient", "gradients against finite differences", first_order.gradient, (REAL,), of_values=True),
    Property("gradient_complex", "the same of complex numbers", first_order.gradient, (COMPLEX,), of_values=True),
    Property("complex_step", "gradients against complex steps", first_order.complex_step, (REAL,), of_values=True),
    Property("boundary", "gradients at zeros, ties and kinks", boundary.boundary, BOTH, of_values=True),
    Property("linear", "linear in what comes back", first_order.linear, BOTH),
    Property("forward", "tangents against gradients", first_order.forward, (REAL,)),
    Property("forward_complex", "the same of complex numbers", first_order.forward, (COMPLEX,)),
    Property("transposed", "tangents from the backward formula", first_order.transposed, BOTH),
    Property("second", "second derivatives against finite differences", second_order.second, (REAL,), of_values=True),
    Property("second_complex", "the same of complex numbers", second_order.second, (COMPLEX,), of_values=True),
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
    Property("reference", "values against NumPy, SciPy or mpmath", references.reference, BOTH, of_derivatives=False),
    Property(
        "beyond",
        "results, gradients and tangents beside the samples",
        search.beyond,
        (REAL,),
        of_derivatives=False,
        points=search.beside,
    ),
    Property("native", "C++ against Python", variants.in_cpp, ("float32", *BOTH), of_derivatives=False),
)


def table_of(target: str | None) -> Mapping[str, Property]:
    """The properties of the runtime's operators, or of those of another framework, by their names."""
    if target is None:
        return BY_NAME
    from gradwright.verify.frameworks.table import properties_of

    return {each.name: each for each in properties_of(target)}


BY_NAME = {each.name: each for each in PROPERTIES}
