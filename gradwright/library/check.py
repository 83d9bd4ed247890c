"""opcheck: whether an operator does what it was registered to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.dispatch_keys import COMPOSITE_IMPLICIT, CPU
from codegen.schema.types import Alias
from gradwright.library.custom import CustomOpDef, memory_of
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.call.facts import flat_tensors
from runtime.call.kernel_table import backend_of, check_results, resolve
from runtime.call.overloads import OpOverload, OpOverloadPacket


class OpCheckError(Exception):
    """A check of `opcheck` failed."""


class MetadataMismatchError(Exception):
    """What a fake implementation says about results is not how they are."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration", "test_faketensor"),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an operator on one set of arguments; whether its derivative is right is for `gradcheck`.

    - `test_schema`: it writes and shares the memory that its schema says, and no other.
    - `test_autograd_registration`: results that require grad come from a kernel for autograd, and not from recording
      inside of the kernel for a device.
    - `test_faketensor`: its fake implementation gives results of the right number, shapes and dtypes. It is run on
      arguments of zeros, so that it can not read their data.

    Args:
        op: an operator of one overload.
        args: its arguments; they are copied, not written.
        kwargs: those by keyword.
        test_utils: the checks to run.
        raise_exception: whether to raise the first failure.
        atol: accepted together with `rtol`; no check here compares values.
        rtol: see `atol`.

    Returns:
        For each check "SUCCESS" or the exception.

    Raises:
        OpCheckError: a check failed.
        ValueError: an unknown check, something that is no operator, or one tolerance without the other.
    """
    if (atol is None) != (rtol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    overload, shown = _overload(op), op
    wanted = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(wanted) <= set(_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of {tuple(_CHECKS)} but it was "
            "not"
        )
    results: dict[str, Any] = {}
    for name in wanted:
        # Each check gets its own copies, so that none sees what another wrote.
        copies: dict[int, Tensor] = {}
        copied = (_copied(tuple(args), copies), _copied(dict(kwargs or {}), copies))
        try:
            _CHECKS[name](overload, shown, *copied)
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results


def _overload(op: object) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = op.overloads()
        if len(names) == 1:
            overload: OpOverload = getattr(op, names[0])
            return overload
        raise ValueError(f"opcheck(op, ...): op must be one overload, and {op} has {', '.join(names)}")
    if isinstance(op, OpOverload):
        return op
    raise ValueError(f"opcheck(op, ...): op must be instance of OpOverload, e.g. ops.aten.sin.default, got {type(op)}")


def _copied(value: Any, copies: dict[int, Tensor]) -> Any:
    """A copy with new Tensors; those that were one Tensor still are."""
    if isinstance(value, Tensor):
        if id(value) not in copies:
            copy = wrap(value._array.copy())
            if value._edge is not None:
                copy._edge = LEAF
            copies[id(value)] = copy if type(value) is Tensor else _of_class(value, copy)
        return copies[id(value)]
    if isinstance(value, dict):
        return {name: _copied(item, copies) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_copied(item, copies) for item in value])
    return value


def _of_class(value: Tensor, copy: Tensor) -> Tensor:
    out = Tensor._make_subclass(type(value), copy)
    out._edge = copy._edge
    return out


# -- the checks


def _check_schema(overload: OpOverload, shown: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Compare what is written and shared with what the schema says."""
    schema = overload._schema._parsed
    values = _bound(overload, args, kwargs)
    before = [[tensor._array.copy() for tensor in flat_tensors([value])] for value in values]
    out = overload(*args, **kwargs)
    outputs = list(_outputs(out, len(schema.returns)))
    for argument, value, arrays in zip(schema.all_arguments, values, before, strict=True):
        tensors = flat_tensors([value])
        if not argument.is_write and not all(
            _same(tensor._array, array) for tensor, array in zip(tensors, arrays, strict=True)
        ):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        for result, output in zip(schema.returns, outputs, strict=True):
            if _share(tensors, flat_tensors([output])) and not _may_share(argument.alias, result.alias):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
    for number, output in enumerate(outputs):
        for other in range(number + 1, len(outputs)):
            declared = _may_share(schema.returns[number].alias, schema.returns[other].alias)
            if not declared and _share(flat_tensors([output]), flat_tensors([outputs[other]])):
                raise RuntimeError(f"Outputs {number} and {other} alias unexpectedly")


def _outputs(out: Any, count: int) -> Iterator[Any]:
    if count == 1:
        yield out
    elif count:
        yield from out


def _same(now: np.ndarray, before: np.ndarray) -> bool:
    return now.shape == before.shape and np.ascontiguousarray(now).tobytes() == np.ascontiguousarray(before).tobytes()


def _share(left: Sequence[Tensor], right: Sequence[Tensor]) -> bool:
    memories = {memory_of(tensor) for tensor in left if tensor._array.size}
    return any(memory_of(tensor) in memories for tensor in right if tensor._array.size)


def _may_share(left: Alias | None, right: Alias | None) -> bool:
    return left is not None and right is not None and bool({"*", *left.sets} & {"*", *right.sets})


def _check_autograd(overload: OpOverload, shown: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Look for the kernel that results requiring grad should come from."""
    tensors = flat_tensors([*args, *kwargs.values()])
    if not any(tensor._edge is not None for tensor in tensors):
        return
    backend = backend_of(tensors)
    chosen = resolve(overload.operator, backend)
    if overload.has_autograd_kernel(backend) or (chosen is not None and chosen[0] == COMPOSITE_IMPLICIT):
        return
    if any(tensor._edge is not None for tensor in flat_tensors([overload(*args, **kwargs)])):
        raise AssertionError(
            f"{overload.name()}: at least one output of this operator has requires_grad=True but the operator does not "
            "have an autograd kernel defined at an autograd key (e.g. Autograd). Its gradients are those of what its "
            "kernel is made of. Use register_autograd, or register the kernel for CompositeImplicitAutograd."
        )


def _check_fake(overload: OpOverload, shown: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Compare what the fake implementation says with the results. Operators that need none pass."""
    operator = overload.operator
    real = overload(*args, **kwargs)
    if operator.fake is None:
        chosen = resolve(operator, CPU)
        traced = chosen is not None and chosen[0] == COMPOSITE_IMPLICIT
        if traced or operator.built_in or not overload._schema.returns:
            return
        raise RuntimeError(
            f"There was no fake impl registered for {shown!r}. Please use `register_fake` to say what the shapes and "
            "dtypes of its results are."
        )
    fakes: dict[int, Tensor] = {}
    fake_args, fake_kwargs = _without_data(args, fakes), _without_data(kwargs, fakes)
    fake = check_results(operator, operator.fake(*fake_args, **fake_kwargs))
    wanted, faked = flat_tensors([real]), flat_tensors([fake])
    where = (
        f"When comparing the output of {overload} on FakeTensor and concrete Tensors, found mismatched tensor metadata"
    )
    if len(wanted) != len(faked):
        raise MetadataMismatchError(f"{where}: {len(wanted)} and {len(faked)} Tensors")
    for one, other in zip(wanted, faked, strict=True):
        if one.shape != other.shape:
            raise MetadataMismatchError(f"{where}: Shapes {one.shape} and {other.shape} are not equal!")
        if one.dtype is not other.dtype:
            raise MetadataMismatchError(f"{where}: Dtypes {one.dtype} and {other.dtype} are not equal!")
        if one.stride() != other.stride():
            raise MetadataMismatchError(f"{where}: Strides {one.stride()} and {other.stride()} are not equal!")


def _without_data(value: Any, known: dict[int, Tensor]) -> Any:
    """`value` with Tensors of zeros in place of those in it, laid out as they are."""
    if isinstance(value, Tensor):
        if id(value) not in known:
            known[id(value)] = wrap(np.zeros_like(value._array))
        return known[id(value)]
    if isinstance(value, dict):
        return {name: _without_data(item, known) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_without_data(item, known) for item in value])
    return value


def _bound(overload: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments in the order of the schema, those to be written included."""
    rest = dict(kwargs)
    out = [rest.pop("out", None)] if overload.accepts_out else []
    misfit, values = overload._bind(args, rest)
    if misfit is not None:
        raise misfit
    return [*values, *out]


_CHECKS: dict[str, Callable[[OpOverload, object, tuple[Any, ...], dict[str, Any]], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
}
