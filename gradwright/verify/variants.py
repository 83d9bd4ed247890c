"""Properties of other ways to call an operator: in place, with `out=`, in Python instead of C++; and of arguments."""

from __future__ import annotations

import re
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from gradwright.autograd import forward_ad
from gradwright.autograd import grad as autograd_grad
from gradwright.testing import determined, make_sample, on_copies, operator_function, operator_of, writes_others
from gradwright.verify.points import (
    Point,
    all_tensors,
    array,
    assert_close,
    call,
    functional_of,
    gives_nothing,
    gradients,
    random_like,
    tensors_in,
    variant_of,
)
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from runtime import native, ops
from runtime.base import dtypes
from runtime.base.errors import MissingDerivativeError
from runtime.base.tensor import Tensor, wrap
from runtime.load.operator_info import OperatorInfo
from runtime.random import manual_seed


def out(point: Point) -> None:
    """With `out=` the same numbers are written to what was given."""
    if point.info.out is None:
        raise Inapplicable("there is no such variant")
    point = plain(point)
    wanted = point.called()
    several = isinstance(wanted, tuple | list)
    if several and any(each is None for each in wanted):
        raise Inapplicable("a mask leaves a result out")
    room = [ops.empty_like(each) for each in tensors_in(wanted)]
    given = tensors_in(point.called(out=room if several else room[0]))
    if [*map(id, given)] != [*map(id, room)]:
        raise Refuted("out= gives something else than what was given")
    for place, (written, want) in enumerate(zip(room, tensors_in(wanted), strict=True)):
        assert_equal(array(written), array(want), f"result {place} with out=")
        if not written._version:
            raise Refuted("a write to out= is not counted")


def plain(point: Point) -> Point:
    """The same call of Tensors that want no gradient."""
    dtype = getattr(dtypes, point.dtype)
    return Point(point.info, make_sample(point.info, point.sample.text, dtype, False), point.number, point.dtype)


def inplace(point: Point) -> None:
    """In place the same numbers are written, with the same gradients and tangents."""
    info = point.info
    if gives_nothing(info) and functional_of(info) is not None:
        _written(point)
        return
    if writes_others(info):
        _others_written(point)
        return
    point, write, give = _in_place_and_not(point)
    sample = point.sample
    first = sample.args[0]
    manual_seed(0)
    wanted = give(*sample.args, **sample.kwargs)
    becomes_view = info.schema.endswith("Tensor(a)")  # such as `t_`: the Tensor takes the shape of the result
    if not becomes_view and (wanted.shape != first.shape or not dtypes.can_cast(wanted.dtype, first.dtype)):
        try:
            write(first.detach().clone(), *sample.args[1:], **sample.kwargs)
        except RuntimeError:
            return
        raise Refuted("in place takes a result of another shape or dtype")
    target = first.clone()
    manual_seed(0)
    if write(target, *sample.args[1:], **sample.kwargs) is not target:
        raise Refuted("in place gives something else than its argument")
    if target._version != 1:
        raise Refuted(f"in place counts {target._version} writes")
    assert_equal(array(target), array(wanted).astype(array(target).dtype), "in place")
    inputs = sample.tensors()
    if wanted.requires_grad and wanted.dtype == target.dtype:
        cotangent = wrap(random_like(point.random, wanted))
        found, expected = (gradients([each], inputs, [cotangent]) for each in (target, wanted))
        for name, one, other in zip(point.names(), found, expected, strict=True):
            assert_close(array(one), array(other), f"gradient of '{name}' in place", 1e-12, name)
        if wanted.shape == first.shape:
            _tangents_in_place(point, write, give, becomes_view)
    if not becomes_view:
        manual_seed(0)
        _through_a_view(point, write, give(*sample.args, **sample.kwargs))


def _through_a_view(point: Point, write: Any, wanted: Tensor) -> None:
    """Through a view that leaves gaps the same is written, no more, and the base gets the gradients."""
    sample = point.sample
    first = sample.args[0]
    room = ops.stack([first, first], -1)
    manual_seed(0)
    write(ops.select(room, -1, 1), *sample.args[1:], **sample.kwargs)
    if room._version != 1:
        raise Refuted(f"in place, through a view, counts {room._version} writes")
    target, beside = array(room)[..., 1], array(room)[..., 0]
    assert_close(target, array(wanted).astype(target.dtype), "in place, through a view", 1e-13)
    if not np.array_equal(beside, array(first), equal_nan=beside.dtype.kind in "fc"):
        raise Refuted("in place, through a view, more is written than the view")
    if wanted.requires_grad and wanted.dtype == first.dtype:
        inputs = sample.tensors()
        cotangent = random_like(point.random, wanted)
        seed = np.stack([np.zeros_like(cotangent), cotangent], -1)
        found, expected = gradients([room], inputs, [wrap(seed)]), gradients([wanted], inputs, [wrap(cotangent)])
        for name, one, other in zip(point.names(), found, expected, strict=True):
            assert_close(array(one), array(other), f"gradient of '{name}' in place, through a view", 1e-12, name)


def _others_written(point: Point) -> None:
    """Arguments that are written and are no results: through views that leave gaps the same, and each write counts."""
    point = plain(point)
    operator = operator_of(point.info)
    names = [operator.names[place] for place in operator.targets]
    given = {**dict(zip(operator.names, point.sample.args, strict=False)), **point.sample.kwargs}
    runs = []
    for through_views in (False, True):
        held = {name: _laid(given[name], through_views) for name in names if name in given}
        values = {**given, **held}
        args = list(values.values())[: len(point.sample.args)]
        manual_seed(0)
        out = operator_function(point.info)(*args, **{name: values[name] for name in point.sample.kwargs})
        written = tensors_in(list(held.values()))
        for tensor in written:
            if tensor._version != 1:
                raise Refuted(f"of an argument that is written {tensor._version} writes are counted")
        runs.append([*tensors_in(determined(point.info, out)), *written])
    for place, (one, other) in enumerate(zip(*runs, strict=True)):
        assert_close(array(other), array(one), f"what is written or given {place}, through a view", 1e-13)


def _laid(value: Any, as_view: bool) -> Any:
    if isinstance(value, list | tuple):
        return [_laid(item, as_view) for item in value]
    if not isinstance(value, Tensor):
        return value
    return ops.select(ops.stack([value, value], -1), -1, 1) if as_view else value.clone()


def _in_place_and_not(point: Point) -> tuple[Point, Any, Any]:
    """Where to look, the callable that writes, and the one that gives, for operators that give what they write.

    Raises:
        Inapplicable: nothing writes.
    """
    info = point.info
    if info.inplace is not None:
        return point, variant_of(info, info.inplace), operator_function(info)
    functional = functional_of(info)
    if functional is None and not info.composite and operator_of(info).given_back == 0:
        return point, operator_function(info), on_copies(info)  # a kernel of its own
    if functional is None:
        raise Inapplicable("there is no such variant")
    # A variant in place that has an entry of its own: its samples want no gradient; copies of others can be written to.
    made = make_sample(info, _DETACHED.sub("T(", point.sample.text), getattr(dtypes, point.dtype))
    return Point(info, made, point.number, point.dtype), operator_function(info), _by_names(info, functional)


def _by_names(info: OperatorInfo, other: OperatorInfo) -> Any:
    """An operator as a function that takes the arguments of another one in their order; both have the same names."""
    function = operator_function(other)
    parameters = operator_of(info).signature.parameters
    defaults = {each.name: each.default for each in parameters if not each.required}
    names = [each.name for each in parameters]
    return lambda *args, **kwargs: function(**{**defaults, **dict(zip(names, args, strict=False)), **kwargs})


_DETACHED = re.compile(r"\bD\(")


def _written(point: Point) -> None:
    """What only writes leaves in its first argument what the operator without the underscore gives, as that records it.

    Its samples are made of Tensors that want no gradient, for these can not be written to; copies of others can.
    """
    functional = functional_of(point.info)
    if functional is None:
        raise Inapplicable("there is no such operator that gives a result")
    made = make_sample(functional, _DETACHED.sub("T(", point.sample.text), getattr(dtypes, point.dtype))
    wanted_point = Point(functional, made, point.number, point.dtype)
    first = made.args[0]
    wanted = tensors_in(wanted_point.called())
    fits = [dtypes.can_cast(one.dtype, other.dtype) for one, other in zip(wanted, first, strict=True)]
    targets = [each.clone() for each in first]
    manual_seed(0)
    try:
        given = operator_function(point.info)(targets, *made.args[1:], **made.kwargs)
    except RuntimeError:
        if all(fits):
            raise
        return
    if given is not None:
        raise Refuted("in place gives something")
    if not all(fits):
        raise Refuted("in place takes a result of another dtype")
    for place, (target, want) in enumerate(zip(targets, wanted, strict=True)):
        if not target._version:
            raise Refuted(f"a write to element {place} is not counted")
        assert_equal(array(target), array(want).astype(array(target).dtype), f"element {place} in place")
    pairs = [(a, b) for a, b in zip(targets, wanted, strict=True) if b.requires_grad and a.dtype == b.dtype]
    if pairs:
        inputs = made.tensors()
        seeds = [wrap(random_like(point.random, want)) for _, want in pairs]
        found = gradients([target for target, _ in pairs], inputs, seeds)
        expected = gradients([want for _, want in pairs], inputs, seeds)
        for name, one, other in zip(wanted_point.names(), found, expected, strict=True):
            assert_close(array(one), array(other), f"gradient of '{name}' in place", 1e-12, name)
        _tangents_written(wanted_point, on_copies(point.info))


def _tangents_written(point: Point, write: Any) -> None:
    tangents = []
    for function in (operator_function(point.info), write):
        with forward_ad.dual_level():
            ways = np.random.default_rng(0)
            args = _duals(point.sample.args, ways)
            manual_seed(0)
            results = tensors_in(function(*args, **point.sample.kwargs))
            found = [forward_ad.unpack_dual(each).tangent for each in results]
            tangents.append([np.zeros(r.shape) if t is None else array(t) for r, t in zip(results, found, strict=True)])
    for place, (wanted, found_) in enumerate(zip(*tangents, strict=True)):
        assert_close(found_, wanted, f"tangent of element {place} in place", 1e-12, "result")


def _duals(value: Any, ways: np.random.Generator) -> Any:
    """A value, and what is in it, with a tangent for each Tensor that can have one."""
    if isinstance(value, list | tuple):
        return type(value)(_duals(each, ways) for each in value)
    if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
        return forward_ad.make_dual(value.detach(), wrap(random_like(ways, value)))
    return value


def _tangents_in_place(point: Point, write: Any, give: Any, becomes_view: bool) -> None:
    sample = point.sample
    for recorded in (False, True):
        with forward_ad.dual_level():
            args = [
                forward_ad.make_dual(
                    arg if recorded else arg.detach(), wrap(random_like(np.random.default_rng(place), arg))
                )
                if isinstance(arg, Tensor) and (arg.is_floating_point() or arg.is_complex())
                else arg
                for place, arg in enumerate(sample.args)
            ]
            manual_seed(0)
            wanted = forward_ad.unpack_dual(give(*args, **sample.kwargs))
            expected = np.zeros(wanted.primal.shape) if wanted.tangent is None else array(wanted.tangent)
            room = ops.stack([args[0], args[0]])  # so that a view is written, too
            for target, whole in ((args[0].clone(), None), *(() if becomes_view else ((room[1], room),))):
                manual_seed(0)
                write(target, *args[1:], **sample.kwargs)
                for written in (target,) if whole is None else (target, whole[1]):
                    found = forward_ad.unpack_dual(written).tangent
                    assert_close(array(found), expected, "tangent in place", 1e-12, "result")


def assert_equal(written: Any, wanted: Any, what: str) -> None:
    """To the last bit; to rounding where the native core has a loop for one and Python's kernel writes the other."""
    if native.is_available() and wanted.dtype.kind in "fc":
        assert_close(written, wanted, what, 1e-14)
    elif not np.array_equal(written, wanted, equal_nan=wanted.dtype.kind in "fc"):
        raise Refuted(f"{what}: other numbers")


def in_cpp(point: Point) -> None:
    """C++ gives what Python gives, in values, in gradients and in gradients of these."""
    if not native.is_available():
        raise Undecided("there is no native core")
    fast, slow = operator_function(point.info), operator_of(point.info).function
    if fast is slow or isinstance(fast, FunctionType):
        raise Inapplicable("Python does it")
    sample = point.sample
    found: list[list[Tensor]] = []
    wanted: list[list[Tensor]] = []
    for function, kept in ((fast, found), (slow, wanted)):
        manual_seed(0)
        results = tensors_in(determined(point.info, function(*sample.args, **sample.kwargs)))
        kept.append(results)
        outs = [each for each in results if each.requires_grad]
        if not outs:
            continue
        seeds = [wrap(np.cos(np.arange(o.numel())).reshape(o.shape).astype(o._array.dtype)) for o in outs]
        first = autograd_grad(outs, point.inputs, seeds, allow_unused=True, create_graph=True)
        kept.append([each for each in first if each is not None])
        again = [each for each in kept[1] if each.requires_grad]
        if again:
            total: Any = sum((each * each.conj()).real.sum() for each in again)
            with suppress(MissingDerivativeError):
                second = autograd_grad(total, point.inputs, allow_unused=True)
                kept.append([each for each in second if each is not None])
    if len(found) != len(wanted):
        raise Refuted(f"C++ can be differentiated {len(found) - 1} times, Python {len(wanted) - 1}")
    for what, one, other in zip(("results", "gradients", "second derivatives"), found, wanted, strict=False):
        if len(one) != len(other):
            raise Refuted(f"C++ has {len(one)} {what}, Python {len(other)}")
        for a, b in zip(one, other, strict=True):
            if (a.dtype, a.shape) != (b.dtype, b.shape):
                raise Refuted(f"{what} in C++ are {a.dtype} of shape {tuple(a.shape)}, in Python {b.dtype}")
            assert_close(array(a), array(b), f"{what} in C++ against Python", 1e-10 if a.itemsize >= 8 else 1e-4)


def inputs(point: Point) -> None:
    """Neither the call nor its derivatives write to an argument or to what came back."""
    given = all_tensors(point.sample)
    before = [each._array.copy() for each in given]
    outs = [each for each in tensors_in(determined(point.info, call(point.info, point.sample))) if each.requires_grad]
    if outs and point.inputs:
        seeds = [wrap(random_like(point.random, each)) for each in outs]
        kept = [each._array.copy() for each in seeds]
        gradients(outs, point.inputs, seeds)
        if not all(np.array_equal(a, b._array, equal_nan=True) for a, b in zip(kept, seeds, strict=True)):
            raise Refuted("backward writes to what comes back")
    for old, new in zip(before, given, strict=True):
        same = np.array_equal(old, new._array, equal_nan=old.dtype.kind in "fc")
        if not same:
            raise Refuted("a kernel writes to an argument")
