"""Forward mode of a call: what gives the results of operators and Functions their tangents.

A call gives its results a tangent in each open level, from the outermost to the innermost: by the forward formula, and
where there is none by the backward formula, transposed once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.errors import MissingDerivativeError
from runtime.base.overriding import call_formula
from runtime.base.tensor import Tensor, wrap
from runtime.graph import jvp_by_transpose, regions, zero_tensors
from runtime.graph.fit import fit
from runtime.graph.forward import (
    Level,
    carry,
    copied,
    open_levels,
    outside,
    own_tangents,
    remember,
    tangent_at,
    tangents_of,
)
from runtime.graph.hooks import explain_tangents

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

# The tangents of the differentiable arguments: one for each, for a list of Tensors a list.
_Tangents = list[Any]


def apply(operator: Operator, out: Any, values: Sequence[Any], record: Callable[..., None] | None = None) -> None:
    """Give the results of a call their tangents.

    Args:
        operator: what was called.
        out: its results, recorded already if they are recorded at all.
        values: its arguments.
        record: makes the Node of the call, where it is not `operator.record`.

    Raises:
        NotImplementedError: a result would have a tangent, and the operator has no derivative, or none in an argument.
    """
    outputs: tuple[Tensor | None, ...]  # None: what a mask leaves out
    if isinstance(out, Tensor):
        outputs = (out,)
    elif isinstance(out, (list, tuple)):
        outputs = tuple(out)
    else:
        return
    remembered = False
    for number, level in enumerate(open_levels()):
        tangents = _given(operator, values, level)
        if tangents is None:
            if operator.view is not None:
                _leave_out(operator, outputs, values, level)
            continue
        if operator.unimplemented:
            _check_implemented(operator, tangents)
        if not remembered:
            remember(outputs)
            remembered = True
        record_by = record or operator.record
        call_formula(operator, outside, number, _propagate, operator, out, outputs, values, tangents, level, record_by)


def apply_function(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    jvp: Callable[[list[Tensor | None]], Sequence[Tensor | None]],
    written: set[int],
) -> None:
    """Give the results of a custom Function their tangents, by its own rule.

    Args:
        inputs: what it was called with.
        outputs: its results, recorded already if they are recorded at all.
        jvp: the tangents of the results from those of the inputs; those of what was written are written by it.
        written: the identities of the inputs that the Function wrote in place.
    """
    for number, level in enumerate(open_levels()):
        tangents = [tangent_at(value, level) if isinstance(value, Tensor) else None for value in inputs]
        if all(tangent is None for tangent in tangents):
            continue
        remember([out for out in outputs if isinstance(out, Tensor)])
        taken = {id(tangent) for tangent in tangents}
        for out, tangent in zip(outputs, outside(number, jvp, tangents), strict=True):
            if not isinstance(out, Tensor) or tangent is None:
                continue
            if id(out) in written:
                if tangent_at(out, level) is not tangent:
                    outside(number, _overwrite, out, tangent, level)
                continue
            if out._base is None and (id(tangent) in taken or tangent._base is not None):
                tangent = outside(number, copied, tangent, out)
            taken.add(id(tangent))
            outside(number, carry, out, tangent, level)


def carried(operator: Operator, values: Sequence[Any]) -> bool:
    """Whether an argument of a call carries a tangent that its results would have to carry on."""
    return any(_given(operator, values, level) is not None for level in open_levels())


def _given(operator: Operator, values: Sequence[Any], level: Level) -> _Tangents | None:
    """The tangents of the differentiable arguments, None for those without; None where no argument has one."""
    tangents: _Tangents = []
    any_tangent = False
    for position in operator.tangent_positions:
        value = values[position]
        if isinstance(value, (list, tuple)):
            item: Any = [tangent_at(each, level) if isinstance(each, Tensor) else None for each in value]
            any_tangent = any_tangent or any(tangent is not None for tangent in item)
        else:
            item = tangent_at(value, level) if isinstance(value, Tensor) else None
            any_tangent = any_tangent or item is not None
        tangents.append(item)
    return tangents if any_tangent else None


def _flat(item: Any) -> Sequence[Tensor | None]:
    return item if isinstance(item, list) else (item,)


def _check_implemented(operator: Operator, tangents: _Tangents) -> None:
    for position, item in zip(operator.tangent_positions, tangents, strict=True):
        name = operator.names[position]
        if name in operator.unimplemented and any(tangent is not None for tangent in _flat(item)):
            raise MissingDerivativeError(
                f"Trying to use forward AD with {operator.name} that does not support it because it has not been "
                f"implemented yet: the derivative of '{operator.unimplemented[name]}' for '{name}' is not implemented\n"
                f"  schema: {operator.schema}"
            )


def _leave_out(operator: Operator, outputs: Sequence[Tensor | None], values: Sequence[Any], level: Level) -> None:
    """A view of what has no tangent although its base has one has none either."""
    own = own_tangents(values[operator.base_position])
    if own is not None and level in own:
        for tensor in outputs:
            if tensor is not None:
                level.put(tangents_of(tensor), None)


def _propagate(
    operator: Operator,
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    tangents: _Tangents,
    level: Level,
    record: Callable[..., None] | None,
) -> None:
    results = _results(operator, out, outputs, values, tangents, record)
    taken = {id(tangent) for item in tangents for tangent in _flat(item)}
    for tensor, tangent in zip(outputs, results, strict=True):
        if tangent is None or tensor is None or tensor._array.dtype.kind in "biu":
            continue
        tangent = _fitted(tangent, tensor)
        if operator.view is None and (id(tangent) in taken or tangent._base is not None):
            tangent = copied(tangent, tensor)  # a write to the result must not be one to the argument's tangent
        taken.add(id(tangent))
        carry(tensor, tangent, level)


def _results(
    operator: Operator,
    out: Any,
    outputs: Sequence[Tensor | None],
    values: Sequence[Any],
    tangents: _Tangents,
    record: Callable[..., None] | None,
) -> list[Tensor | None]:
    """The tangents of the results: by the formula, and where there is none, by the backward formula."""
    results: list[Tensor | None] = [None] * len(outputs)
    depends = [True] * len(outputs)  # on the tangents that are given
    if operator.jvp is not None:
        filled = _filled(operator, values, tangents)
        try:
            computed = operator.jvp(out, *values, *filled)
        except Exception as error:
            explain_tangents(error, operator)
            raise
        results = [computed] if isinstance(out, Tensor) else list(computed)
        depends = [not zero_tensors.is_zeros(result) for result in results]
    elif operator.view is not None and len(operator.tangent_positions) == 1:
        position = operator.base_position  # a view is linear in what it is a view of
        tangent = tangents[0]
        computed = operator.call_composite(operator.function, [*values[:position], tangent, *values[position + 1 :]])
        results = [computed] if isinstance(out, Tensor) else list(computed)
    missing = [
        i
        for i, (result, tensor) in enumerate(zip(results, outputs, strict=True))
        if result is None and tensor is not None and tensor._array.dtype.kind in "fcV"
    ]
    results = [result if known else None for result, known in zip(results, depends, strict=True)]
    if not missing:
        return results
    if record is not None:
        computed = jvp_by_transpose.tangents(
            record, out, outputs, values, operator.tangent_positions, tangents, missing
        )
        for i in missing:
            results[i] = computed[i]
    elif operator.jvp is None and not operator.never_differentiable:
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.name} that does not support it because it has not been "
            "implemented yet: derivatives.yaml has no entry for it"
        )
    return results


def _filled(operator: Operator, values: Sequence[Any], tangents: _Tangents) -> list[Any]:
    """Tangents as formulas take them: for arguments that have none, zeros that take no part in a product."""
    filled: list[Any] = []
    for position, item in zip(operator.tangent_positions, tangents, strict=True):
        value = values[position]
        if isinstance(value, (list, tuple)):
            pairs = zip(value, item, strict=True)
            filled.append([zero_tensors.like(each) if t is None and each is not None else t for each, t in pairs])
        else:
            if item is not None and operator.is_writing and position in operator.targets:
                item = item.clone()  # `auto_linear` calls the operator itself, which writes what it is given
            filled.append(zero_tensors.like(value) if item is None and value is not None else item)
    return filled


def _fitted(tangent: Tensor, tensor: Tensor) -> Tensor:
    """A tangent in the shape and dtype of its Tensor."""
    shape, dtype = tensor._array.shape, tensor._array.dtype
    if tangent._array.shape != shape:
        tangent = ops.expand(tangent, shape)
    return fit(tangent, shape, dtype, "forward mode")


def overwrite(target: Tensor, written: Tensor) -> None:
    """Let `target` carry the tangents of `written`, in the memory of those that it carries already.

    Args:
        target: what was written in place; perhaps a view, whose base then carries the tangent too.
        written: a Tensor over the same memory, with the tangents of the new values.
    """
    for number, level in enumerate(open_levels()):
        own = own_tangents(written)
        outside(number, _overwrite, target, None if own is None else own.get(level), level)


def _overwrite(target: Tensor, tangent: Tensor | None, level: Level) -> None:
    known = tangent_at(target, level)
    if tangent is None:
        if known is not None:
            ops.zero_(known)
        return
    own = own_tangents(target)
    base = target._base
    if known is None and base is not None and (own is None or level not in own):
        # The rest of the base has a tangent of zeros now.
        level.put(tangents_of(base), wrap(regions.zeros_as(base._array)))
        known = tangent_at(target, level)
    if known is None:
        carry(target, tangent, level)
    else:
        ops.copy_(known, tangent)
