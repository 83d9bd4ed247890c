"""Compares emitted rules with the runtime: gradients and tangents on the samples of an operator."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen.paths import project_paths
from codegen.pipeline import analyze
from codegen.targets.rules import target
from generated.registry import OPERATORS
from gradwright.autograd import forward_ad
from gradwright.autograd import grad as autograd_grad
from gradwright.testing import Sample, operator_of
from gradwright.verify.points import Point, call, points, random_like, tensors_in
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType
from runtime.load.operator_info import OperatorInfo
from runtime.random import manual_seed

TOLERANCE = 1e-10
Convert = Callable[[np.ndarray[Any, Any]], Any]  # an array of NumPy as one of the library
Back = Callable[[Any], np.ndarray[Any, Any]]


def compared(
    info: OperatorInfo, rule: Any, dtype: str, convert: Convert, back: Back, dtypes: Callable[[str], Any]
) -> Iterator[tuple[str, float]]:
    """Each comparison of one operator in one dtype: what is compared, and the largest relative difference.

    Args:
        info: the operator.
        rule: what was emitted for it.
        dtype: of the samples.
        convert: makes an array of the library.
        back: makes an array of NumPy of one.
        dtypes: the element type of the library of this name.
    """
    for point in points(info, dtype):
        yield from _compared_at(point, rule, convert, back, dtypes)


def _compared_at(
    point: Point, rule: Any, convert: Convert, back: Back, dtypes: Callable[[str], Any]
) -> Iterator[tuple[str, float]]:
    operator = operator_of(point.info)
    values = operator.signature.bind(point.sample.args, point.sample.kwargs)
    names = [parameter.name for parameter in operator.signature.parameters]

    def given(value: Any) -> Any:
        if isinstance(value, Tensor):
            return convert(np.asarray(value.detach().resolve_conj().numpy()))
        if isinstance(value, list | tuple):
            return tuple(map(given, value))
        return dtypes(value.name) if isinstance(value, DType) else value

    out = _called(point.info, point.sample)
    results = list(out) if isinstance(out, list | tuple) else [out]
    if not any(isinstance(result, Tensor) and result.requires_grad for result in results):
        return
    arrays = [given(value) for value in values]
    out_arrays = given(out)
    cotangents = [random_like(point.random, result) if isinstance(result, Tensor) else None for result in results]
    needs = [any(each.requires_grad for each in tensors_in(values[names.index(name)])) for name in rule.inputs]
    saved = rule.save(out_arrays, *arrays, needs=needs)
    is_list = isinstance(out, list | tuple) and len(operator.facts.results) == 1
    chosen = range(len(results)) if is_list else rule.results
    grads = tuple(None if cotangents[place] is None else convert(cotangents[place]) for place in chosen)
    one = len(rule.results) == 1 and not is_list
    gradients = rule.vjp(saved, grads[0] if one else grads, needs)
    kept = [place for place in chosen if cotangents[place] is not None and results[place].requires_grad]
    used = [(results[place], wrap(cotangents[place])) for place in kept]
    inputs = [each for name in rule.inputs for each in tensors_in(values[names.index(name)])]
    asked = [each for each in inputs if each.requires_grad]
    wanted = autograd_grad([r for r, _ in used], asked, [c for _, c in used], allow_unused=True)
    by_id = {id(tensor): gradient for tensor, gradient in zip(asked, wanted, strict=True)}
    for name, gradient in zip(rule.inputs, gradients, strict=True):
        value = values[names.index(name)]
        pairs = [(value, gradient)] if not isinstance(value, list | tuple) else list(zip(value, gradient, strict=True))
        for tensor, each in pairs:
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                yield f"gradient of {name}: {point.sample.text}", _difference(by_id[id(tensor)], each, tensor, back)
    if rule.jvp is not None:
        yield from _tangents(point, rule, values, names, arrays, out_arrays, convert, back)


def _called(info: OperatorInfo, sample: Sample) -> Any:
    """What a sample gives. What an operator writes besides (its noise) is seen: rules need it as it is afterwards."""
    operator = operator_of(info)
    if not operator.is_writing:
        return call(info, sample)
    manual_seed(0)
    return operator(*sample.args, **sample.kwargs)


def _tangents(
    point: Point, rule: Any, values: Sequence[Any], names: Sequence[str], arrays: Sequence[Any], out_arrays: Any,
    convert: Convert, back: Back,
) -> Iterator[tuple[str, float]]:  # fmt: skip
    differentiable = [each for name in rule.inputs for each in tensors_in(values[names.index(name)])]
    tangents: Mapping[int, Any] = {
        id(each): random_like(point.random, each) for each in differentiable if each.requires_grad
    }
    with forward_ad.dual_level():
        duals = {}

        def dual(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return type(value)(map(dual, value))
            if id(value) in tangents:
                if id(value) not in duals:
                    duals[id(value)] = forward_ad.make_dual(value.detach(), wrap(tangents[id(value)]))
                return duals[id(value)]
            return value

        sample_args = [dual(value) for value in point.sample.args]
        keywords = {name: dual(value) for name, value in point.sample.kwargs.items()}
        dual_sample = replace(point.sample, args=tuple(sample_args), kwargs=keywords)
        computed = _called(point.info, dual_sample)
        results = computed if isinstance(computed, list | tuple) else [computed]
        wanted = [forward_ad.unpack_dual(each).tangent if isinstance(each, Tensor) else None for each in results]

    def tangent(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [tangent(each) for each in value]
        return convert(tangents[id(value)]) if id(value) in tangents else None

    got = rule.jvp(out_arrays, *arrays, *[tangent(values[names.index(name)]) for name in rule.inputs])
    parts = got if isinstance(got, list | tuple) else [got]
    for number, (mine, theirs) in enumerate(zip(parts, wanted, strict=True)):
        if mine is not None and isinstance(results[number], Tensor) and (theirs is not None):
            yield f"tangent {number}: {point.sample.text}", _difference(theirs, mine, results[number], back)


def _difference(wanted: Tensor | None, got: Any, like: Tensor, back: Back) -> float:
    """The largest difference over the largest number, or over 1; infinite for other shapes and dtypes."""
    array = np.zeros(like.shape, like.detach().numpy().dtype) if got is None else np.asarray(back(got))
    right = np.zeros(array.shape) if wanted is None else np.asarray(wanted.detach().resolve_conj().numpy())
    if wanted is not None and (array.shape != right.shape or array.dtype != right.dtype):
        return np.inf
    same = (array == right) | (np.isnan(array) & np.isnan(right))
    if same.all():
        return 0.0
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.max(np.abs(right[np.isfinite(right)]), initial=0)))
        away = np.where(same, 0, np.abs(array - right))
    return float(np.max(away)) / scale if not np.isnan(away).any() else np.inf


@dataclass
class Agreement:
    """What came of comparing all rules: operators that agree, numbers of comparisons, and what differs."""

    agreeing: list[str] = field(default_factory=list)
    comparisons: int = 0
    wrong: list[str] = field(default_factory=list)


def compare_all(
    rules: Mapping[str, Any],
    convert: Convert,
    back: Back,
    dtypes: Callable[[str], Any],
    operators: Mapping[str, OperatorInfo] = OPERATORS,
) -> Agreement:
    """Compare every rule in float64, and in complex128 where the operator takes complex numbers.

    The operators are the project's own, or those of a package.
    """
    found = Agreement()
    for name, rule in rules.items():
        info = operators[name]
        counted, before = found.comparisons, len(found.wrong)
        for dtype, kind in (("float64", "float"), ("complex128", "complex")):
            if kind in info.dtypes:
                with np.errstate(all="ignore"):
                    for what, difference in compared(info, rule, dtype, convert, back, dtypes):
                        found.comparisons += 1
                        if difference > TOLERANCE:
                            found.wrong.append(f"{name} in {dtype}, {what}: {difference}")
        if found.comparisons > counted and len(found.wrong) == before:
            found.agreeing.append(name)
    return found


def written_rules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The rules of the project's own operators, written to a folder and imported from there."""
    package = folder / "written_rules"
    package.mkdir()
    plan = analyze(project_paths(), checks=False).plan
    assert plan is not None
    for name, text in target.emit(plan, project_paths()):
        (package / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    rules: Mapping[str, Any] = importlib.import_module("written_rules").RULES
    for name in [name for name in sys.modules if name.partition(".")[0] == "written_rules"]:
        monkeypatch.delitem(sys.modules, name)
    return rules
