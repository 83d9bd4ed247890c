"""Calls made of the samples of an operator, which it takes: where else proofs look."""

from __future__ import annotations

import ast
import itertools
import linecache
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from codegen.module_names import INNER_PACKAGES, PUBLIC_PACKAGE, RUNTIME, short_name
from gradwright.testing import make_sample, operator_of
from gradwright.verify import first_order, kernels, references
from gradwright.verify.points import Point, all_tensors, array, tensors_in
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from gradwright.verify.variations import USUAL_RANGES, Variation, parsed, unparsed, variations
from runtime.base import dtypes
from runtime.base.errors import MissingDerivativeError
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad
from runtime.load.operator_info import OperatorInfo

# Bounds of an ordinary proof are counts, so that it does not depend on the machine: of calls that it looks at, of those
# that it tries to look at, and of elements of the arguments of all that it looks at.
_MOST, _TRIED, _ELEMENTS = 60, 150, 12_000
_LARGE = 400  # elements of a call
NUMBER = 0  # of a sample that is none of the operator's own
_REAL, _NARROW = "float64", "float32"
_FORMULAS = f"{RUNTIME}.operators.helpers"


def beside(info: OperatorInfo) -> Iterator[Point]:
    """The calls that an ordinary proof looks at beside the samples: the same ones each time, on each machine."""
    if "float" not in info.dtypes:
        return
    parameters = operator_of(info).signature.parameters
    made = [variations(text, parameters, info.samples, USUAL_RANGES, info.pointwise) for text in starts(info)]
    found = elements = 0
    for each in itertools.islice(_different(info, made), _TRIED):
        point = point_of(info, each.text) if is_taken(info, each.text) else None
        if point is not None:
            found += 1
            elements += sum(tensor.numel() for tensor in all_tensors(point.sample))
            yield point
        if found == _MOST or elements >= _ELEMENTS:
            return


def starts(info: OperatorInfo) -> list[str]:
    """The samples that others are made of: those that are not large, with the very integers that they have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [with_elements(info, text) for text in info.samples if _count(info, text) <= _LARGE]


def _different(info: OperatorInfo, made: Sequence[Iterator[Variation]]) -> Iterator[Variation]:
    """Calls of several sources in turn, each once."""
    seen = set(info.samples)
    for each in (each for row in itertools.zip_longest(*made) for each in row if each is not None):
        if each.text not in seen:
            seen.add(each.text)
            yield each


def beyond(point: Point) -> None:
    """What a kernel hands back, gradients and tangents are right where no sample is.

    A formula that refuses a call with words of its own says that there is no derivative. So does an error where there
    are no elements.

    Raises:
        Inapplicable: there is nothing to look at.
    """
    looked = 0
    for name, check in _CHECKS.items():
        if not _is_asked_for(name, point):
            continue
        try:
            check(point)
            looked += 1
        except (Inapplicable, Undecided, MissingDerivativeError):
            continue
        except Exception as error:
            if not is_refusal(error, point):
                raise
    if not looked:
        raise Inapplicable("there is nothing to look at")


def _is_asked_for(name: str, point: Point) -> bool:
    info = point.info
    if name in dict(info.unproven):
        return False
    is_derivative = info.differentiable or info.composite
    if name == "gradient":
        return is_derivative and info.convention is None
    return name in ("returns", "reference") or (is_derivative and not _is_empty(point))


def _returns(point: Point) -> None:
    narrow = point_of(point.info, point.sample.text, _NARROW)
    if narrow is None:
        raise Inapplicable("there is no such call")
    kernels.returns(narrow)


_CHECKS = {
    "returns": _returns,
    "reference": references.reference,
    "gradient": first_order.gradient_along,
    "forward": first_order.forward,
}


def _is_empty(point: Point) -> bool:
    """Whether a Tensor of a call has no elements."""
    return any(not each.numel() for each in all_tensors(point.sample))


def is_refusal(error: Exception, point: Point) -> bool:
    """Whether a formula or a kernel of somebody means that it takes no such call."""
    if isinstance(error, Refuted):
        return False
    if _is_empty(point) or any(not each.numel() for each in tensors_in(point.called())):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    module = trace.tb_frame.f_globals.get("__name__", "")
    raised = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).lstrip().startswith("raise ")
    ours = short_name(module).partition(".")[0] in (PUBLIC_PACKAGE, *INNER_PACKAGES)
    return raised and (not ours or module.startswith(_FORMULAS))


def point_of(info: OperatorInfo, text: str, dtype: str = _REAL) -> Point | None:
    """A call in a dtype; None where nothing makes it."""
    with suppress(Exception):  # a shape, a list, a word that no Tensor and no operator has
        return Point(info, make_sample(info, text, getattr(dtypes, dtype)), NUMBER, dtype)
    return None


def is_taken(info: OperatorInfo, text: str, dtype: str = _REAL) -> bool:
    """Whether an operator is defined for a call: it takes it, and its results are finite.

    Where it refuses a call, and where results are infinite or NaN, nothing is said about derivatives.
    """
    try:
        with no_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            point = Point(info, make_sample(info, text, getattr(dtypes, dtype), False), NUMBER, dtype)
            return all(np.isfinite(array(each)).all() for each in point.function())
    except Exception:
        return False


def with_elements(info: OperatorInfo, text: str) -> str:
    """A sample with the very integers that it has: other ones could be out of range, or the same ones twice."""
    tree = parsed(text)
    makers = [(node.func.id, node) for node in _calls(tree) if isinstance(node.func, ast.Name)]
    makers = [(name, node) for name, node in makers if name in "TDIBPVC"]
    tensors = all_tensors(make_sample(info, text, dtypes.float64, False))
    if len(makers) != len(tensors):
        return text
    pairs = zip(makers, tensors, strict=True)
    return unparsed(tree, {id(node): _elements_of(tensor) for (name, node), tensor in pairs if name == "I"})


def _elements_of(tensor: Tensor) -> ast.expr:
    values = array(tensor)
    dtype = "" if values.size else ', dtype="int64"'
    return ast.parse(f"C({values.tolist()}{dtype})", mode="eval").body


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The makers of a sample, in the order in which they are called."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            yield child
        else:
            yield from _calls(child)


def _count(info: OperatorInfo, text: str) -> int:
    return sum(each.numel() for each in all_tensors(make_sample(info, text, dtypes.float64, False)))
