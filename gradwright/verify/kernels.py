"""What kernels hand back: results as the schema says, in memory of their own or in that of what they are views of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from codegen.dispatch_keys import CPU
from gradwright.testing import on_copies, operator_of
from gradwright.verify.points import Point, all_tensors, tensors_in
from gradwright.verify.results import Inapplicable, Refuted
from runtime.call.dispatch import Operator
from runtime.call.kernel_table import check_results
from runtime.graph.grad_mode import no_grad
from runtime.load.kernel_rules import watched
from runtime.load.operator_info import OperatorInfo
from runtime.random import manual_seed


def returns(point: Point) -> None:
    """A kernel writes to nothing but what its schema says, and returns what that says, in the widths of its arguments.

    A call that raises says nothing about what would be returned: other properties are about those.
    """
    operator = operator_of(point.info)
    problems: list[str] = []
    with no_grad(), _watching(operator, point.info, problems):
        manual_seed(0)
        try:
            out = on_copies(point.info, operator)(*point.sample.args, **point.sample.kwargs)
        except Exception as error:
            if not problems:
                raise Inapplicable("such a call is refused") from error
    if problems:
        raise Refuted(f"the kernel {_name(operator)} {problems[0]}")
    if point.info.schema.endswith("-> ()"):
        return
    check_results(operator, out)
    if not (CPU in operator.built_in or point.info.composite or operator.given_back is not None or operator.view):
        _check_memory(point, out)


@contextmanager
def _watching(operator: Operator, info: OperatorInfo, problems: list[str]) -> Iterator[None]:
    """Let what is wrong with a call of the kernel on arrays that an operator has be noted."""
    kernel = operator.loaded_kernel(CPU)
    if kernel is None:
        yield
        return
    operator.built_in[CPU] = watched(operator, info, kernel, problems.append)
    try:
        yield
    finally:
        operator.built_in[CPU] = kernel


def _check_memory(point: Point, out: Any) -> None:
    """The results of a kernel on Tensors lie in memory of their own."""
    given = [tensor._array for tensor in all_tensors(point.sample)]
    if point.info.may_alias:
        return
    for tensor in tensors_in(out):
        if any(np.shares_memory(tensor._array, array) for array in given):
            raise Refuted("the kernel returned memory of an argument, and the schema declares no view: return a copy")


def _name(operator: Operator) -> str:
    return f"'{getattr(operator.built_in.get(CPU), '__name__', operator.name)}'"
