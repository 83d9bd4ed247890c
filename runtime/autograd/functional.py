"""Derivatives of functions: products with Jacobians and Hessians, and these matrices themselves.

A function takes Tensors and returns a Tensor or a tuple of them. It is called at new Tensors of the same values, which
tells an input apart from the same Tensor that the function may have captured. A vector times a Jacobian is one
backward. A Jacobian times a vector is two: the first is linear in the gradient it starts with, so that a backward
through it gives the transposed product (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from runtime import ops
from runtime.autograd import forward_ad
from runtime.autograd.backward import grad
from runtime.autograd.grad_mode import enable_grad
from runtime.base.modes import plain
from runtime.base.tensor import Tensor, wrap
from runtime.func.batched import batch
from runtime.func.calls import whole_batch
from runtime.func.vmap_calls import vmap_level
from runtime.graph import engine, forward

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function: TypeAlias = Callable[..., Any]
Tensors: TypeAlias = "Tensor | tuple[Tensor, ...]"
Gradients: TypeAlias = "Sequence[Tensor | None]"


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A vector times the Jacobian of `func` at `inputs`.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple of them.
        v: the vector, shaped as the outputs; may be left out for one output of one element.
        create_graph: make both results differentiable.
        strict: raise where an input has no part in the outputs, rather than give zeros.

    Returns:
        The outputs of `func`, and the product, shaped as `inputs`.

    Raises:
        TypeError: inputs, outputs or `v` are something else than Tensors.
        RuntimeError: `v` does not fit the outputs; a strict check failed.
    """
    with enable_grad():
        given = _bundle(inputs, "inputs", "vjp")
        points = _points(given.tensors, create_graph)
        outputs = _evaluate(func, points, "vjp", strict)
        if v is None and (len(outputs.tensors) != 1 or outputs.tensors[0].numel() != 1):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                "element."
            )
        vector = _vector(v, outputs, create_graph, "vjp")
        found = _gradients(outputs.tensors, points, vector, create_graph)
        product = _completed(found, points, _VJP if strict else None, create_graph)
    return outputs.like(_released(outputs.tensors, create_graph)), given.like(_released(product, create_graph))


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Jacobian of `func` at `inputs` times a vector, by two backward passes.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple of them.
        v: the vector, shaped as `inputs`; may be left out for one input of one element.
        create_graph: make both results differentiable.
        strict: raise where an input has no part in the outputs, rather than give zeros.

    Returns:
        The outputs of `func`, and the product, shaped as the outputs.

    Raises:
        TypeError: inputs, outputs or `v` are something else than Tensors.
        RuntimeError: `v` does not fit the inputs; a strict check failed.
    """
    with enable_grad():
        _, points, vector = _with_direction(inputs, v, create_graph, "jvp")
        outputs = _evaluate(func, points, "jvp", strict)
        starts = _zero_leaves(outputs.tensors)
        first = _gradients(outputs.tensors, points, starts, create_graph=True)
        if strict:
            _check_gradients(first, _CONSTANT_GRADIENT)
        found = _gradients(first, starts, vector, create_graph)
        product = _completed(found, outputs.tensors, _JVP if strict else None, create_graph)
    return outputs.like(_released(outputs.tensors, create_graph)), outputs.like(_released(product, create_graph))


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A vector times the Hessian of `func`, a function with one element as its result, at `inputs`.

    Args:
        func: takes Tensors, returns a Tensor of one element.
        inputs: a Tensor or a tuple of them.
        v: the vector, shaped as `inputs`; may be left out for one input of one element.
        create_graph: make both results differentiable.
        strict: raise where an input has no part in the output or in the gradient, rather than give zeros.

    Returns:
        The output of `func`, and the product, shaped as `inputs`.

    Raises:
        TypeError: inputs, the output or `v` are something else than Tensors.
        RuntimeError: `v` does not fit the inputs; the output is not a single element; a strict check failed.
    """
    with enable_grad():
        given, points, vector = _with_direction(inputs, v, create_graph, "vhp")
        output = _evaluate_scalar(func, points, "vhp", strict)
        first = _gradients([output], points, [None], create_graph=True)
        if strict:
            _check_gradients(first, _CONSTANT_JACOBIAN)
        found = _gradients(first, points, vector, create_graph)
        product = _completed(found, points, _VHP if strict else None, create_graph)
    return _released([output], create_graph)[0], given.like(_released(product, create_graph))


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Hessian of `func`, a function with one element as its result, at `inputs`, times a vector.

    It takes one backward pass more than `vhp`, which gives the same where the Hessian is symmetric.

    Args:
        func: takes Tensors, returns a Tensor of one element.
        inputs: a Tensor or a tuple of them.
        v: the vector, shaped as `inputs`; may be left out for one input of one element.
        create_graph: make both results differentiable.
        strict: raise where an input has no part in the output or in the gradient, rather than give zeros.

    Returns:
        The output of `func`, and the product, shaped as `inputs`.

    Raises:
        TypeError: inputs, the output or `v` are something else than Tensors.
        RuntimeError: `v` does not fit the inputs; the output is not a single element; a strict check failed.
    """
    with enable_grad():
        given, points, vector = _with_direction(inputs, v, create_graph, "hvp")
        output = _evaluate_scalar(func, points, "hvp", strict)
        first = _gradients([output], points, [None], create_graph=True)
        if strict:
            _check_gradients(first, _CONSTANT_JACOBIAN)
        starts = _zero_leaves(points)
        second = _gradients(first, points, starts, create_graph=True)
        found = _gradients(second, starts, vector, create_graph)
        product = _completed(found, points, _HVP if strict else None, create_graph)
    return _released([output], create_graph)[0], given.like(_released(product, create_graph))


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`.

    Args:
        func: takes Tensors, returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple of them.
        create_graph: make the result differentiable.
        strict: raise where an input has no part in an output, rather than give zeros; not with `vectorize`.
        vectorize: ask for all rows in one batch, and not for one after the other. Every row then starts with gradients
            for all outputs, zeros among them.
        strategy: "reverse-mode", or "forward-mode", which goes along the inputs and needs `vectorize`. It calls `func`
            once for each input element.

    Returns:
        `result[i][j]`, of the shape of output i followed by that of input j, holds the derivatives of output i along
        input j; where there is a single Tensor and not a tuple, that index falls away. It has the dtype of the input
        in reverse mode and of the output in forward mode.

    Raises:
        AssertionError: another strategy.
        TypeError: inputs or outputs are something else than Tensors.
        NotImplementedError: forward mode with `create_graph`, or without `vectorize`.
        RuntimeError: a complex output without `vectorize`; an output without elements; `strict` with `vectorize` or
            forward mode; a strict check failed.
    """
    _check_strategy(
        strategy,
        ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
        'prefer to use "reverse-mode".',
    )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        given = _bundle(inputs, "inputs", "jacobian")
        points = _points(given.tensors, create_graph)
        outputs = _evaluate(func, points, "jacobian", strict)
        if vectorize:
            if strict:
                raise RuntimeError(_unsupported("strict=True", "vectorized=True", "strict=False", "vectorize=False"))
            blocks = _batched_blocks(outputs.tensors, points, create_graph)
        else:
            blocks = [_blocks(i, out, points, create_graph, strict) for i, out in enumerate(outputs.tensors)]
    return outputs.like([given.like(_released(row, create_graph)) for row in blocks])


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of `func`, a function with one element as its result, at `inputs`.

    Args:
        func: takes Tensors, returns a Tensor of one element.
        inputs: a Tensor or a tuple of them.
        create_graph: make the result differentiable.
        strict: raise where an input has no part in the output or in the gradient, rather than give zeros.
        vectorize: ask for all rows in one batch, and not for one after the other.
        outer_jacobian_strategy: how the gradient, itself from reverse mode, is differentiated: "reverse-mode", or
            "forward-mode", which needs `vectorize`.

    Returns:
        `result[i][j]`, of the shape of input i followed by that of input j, holds the derivatives along both; both
        indices fall away where `inputs` is a Tensor.

    Raises:
        AssertionError: another strategy.
        TypeError: inputs or the output are something else than Tensors.
        NotImplementedError: forward mode with `create_graph`, or without `vectorize`.
        RuntimeError: the output is not a single element; what `jacobian` raises.
    """
    given = _bundle(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy, "")

    def gradient(*points: Tensor) -> tuple[Tensor, ...]:
        with enable_grad():
            if outer_jacobian_strategy == "forward-mode":
                points = tuple([point.requires_grad_() for point in points])
            output = _evaluate_scalar(func, points, "hessian", strict)
            found = _completed(_gradients([output], points, [None], create_graph=True), points)
            if strict:
                _check_gradients(found, _CONSTANT_JACOBIAN)
            return found

    found = jacobian(gradient, given.tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0][0] if given.single else found


# -- Tensors in and out


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Tensors as a user hands them over: a single one, or a tuple."""

    tensors: tuple[Tensor, ...]
    single: bool

    def like(self, results: Sequence[Any]) -> Any:
        """A result for each Tensor, with the structure these came in."""
        return results[0] if self.single else tuple(results)


def _bundle(value: Any, argument: str, function: str) -> _Bundle:
    single = not isinstance(value, tuple)
    tensors = (value,) if single else value
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            which = f"given {argument} has" if single else f"value at index {index} has"
            raise TypeError(
                f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the {which} "
                f"type {type(tensor)}."
            )
    return _Bundle(tensors, single)


def _points(tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """New Tensors of the same values, to be differentiated at; with `create_graph` they keep their history."""
    return tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in tensors])


def _vector(v: Tensors | None, other: _Bundle, create_graph: bool, function: str) -> tuple[Tensor | None, ...]:
    """The vector of a product, if it has the structure and the shapes of `other`."""
    if v is None:
        return (None,)
    given = _bundle(v, "v", function).tensors
    vector = tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach() for t in given])
    if len(vector) != len(other.tensors):
        if other.single:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(other.tensors)} but got {len(vector)}.")
    for index, (entry, tensor) in enumerate(zip(vector, other.tensors, strict=True)):
        if entry.shape != tensor.shape:
            which = "" if other.single else f"Entry {index} in "
            raise RuntimeError(f"{which}v has invalid size: should be {tensor.shape} but got {entry.shape}.")
    return vector


def _with_direction(
    inputs: Tensors, v: Tensors | None, create_graph: bool, function: str
) -> tuple[_Bundle, tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """The inputs, the points for them, and a vector that is shaped as they are."""
    given = _bundle(inputs, "inputs", function)
    points = _points(given.tensors, create_graph)
    if v is None:
        if len(points) != 1 or points[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                "single element."
            )
        return given, points, (None,)
    return given, points, _vector(v, given, create_graph, function)


def _evaluate(func: Function, points: Sequence[Tensor], function: str, strict: bool) -> _Bundle:
    outputs = _bundle(func(*points), "outputs of the user-provided function", function)
    if strict:
        for index, out in enumerate(outputs.tensors):
            if not out.requires_grad:
                raise RuntimeError(
                    f"Output {index} of the user-provided function does not require gradients. The outputs must be "
                    "computed in a differentiable manner from the input when running in strict mode."
                )
    return outputs


def _evaluate_scalar(func: Function, points: Sequence[Tensor], function: str, strict: bool) -> Tensor:
    outputs = _evaluate(func, points, function, strict)
    if not outputs.single:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    output = outputs.tensors[0]
    if output.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return output


def _released(results: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The results without history, unless it was asked for."""
    return tuple(results) if create_graph else tuple([result.detach() for result in results])


def _zero_leaves(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Zeros to start a backward with that is differentiated: it is linear in them, so any value would do."""
    return tuple([_zeros_like(tensor).requires_grad_() for tensor in tensors])


def _zeros_like(tensor: Tensor) -> Tensor:
    return wrap(np.zeros_like(tensor._array))


# -- Gradients, and what strict mode says about them


def _gradients(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    starts: Sequence[Tensor | None],
    create_graph: bool,
) -> Gradients:
    """The gradients of the outputs that have any; None for an input that they do not depend on."""
    roots: list[Tensor] = []
    cotangents: list[Tensor | None] = []
    for index, out in enumerate(outputs):
        if out is not None and out.requires_grad:
            roots.append(out)
            cotangents.append(starts[index])
    if not roots or not inputs:
        return [None] * len(inputs)
    return grad(roots, inputs, cotangents, create_graph=create_graph, allow_unused=True)


@dataclass(frozen=True, slots=True)
class _Strict:
    """What strict mode says of a missing gradient, and of one that is constant though its graph was asked for."""

    missing: str
    constant: str


_INDEPENDENT: Final = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_CONSTANT: Final = (
    "The {} of the user-provided function is independent of input {{}}. This is not allowed in strict mode when "
    "create_graph=True."
)
_VJP: Final = _Strict(_INDEPENDENT, _CONSTANT.format("jacobian"))
_JVP: Final = _Strict(
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    _CONSTANT.format("jacobian"),
)
_VHP: Final = _Strict(
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    _CONSTANT.format("hessian"),
)
_HVP: Final = _Strict(
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    _CONSTANT.format("hessian"),
)
_CONSTANT_GRADIENT: Final = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
_CONSTANT_JACOBIAN: Final = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)


def _check_gradients(gradients: Gradients, constant: str) -> None:
    """Raise where a first derivative is missing, or can not be differentiated once more."""
    for index, gradient in enumerate(gradients):
        if gradient is None:
            raise RuntimeError(_INDEPENDENT.format(index))
        if not gradient.requires_grad:
            raise RuntimeError(constant.format(index))


def _completed(
    gradients: Gradients, like: Sequence[Tensor], strict: _Strict | None = None, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """The gradients with zeros for those that are missing, or the errors of strict mode."""
    complete: list[Tensor] = []
    for index, (gradient, tensor) in enumerate(zip(gradients, like, strict=True)):
        if strict is not None:
            if gradient is None:
                raise RuntimeError(strict.missing.format(index))
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(strict.constant.format(index))
        complete.append(_zeros_like(tensor) if gradient is None else gradient)
    return tuple(complete)


# -- Jacobians in reverse mode


def _blocks(index: int, out: Tensor, points: Sequence[Tensor], create_graph: bool, strict: bool) -> list[Tensor]:
    """The derivatives of one output along each input, by a backward for each of its elements."""
    if not out.numel():
        raise RuntimeError("stack expects a non-empty TensorList")
    if not out.requires_grad:
        return [wrap(np.zeros(out.shape + point.shape, point._array.dtype)) for point in points]
    if out.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    rows = _rows(out, points, create_graph)
    if strict:
        rows = _strict_rows(rows, index, create_graph)
    if create_graph or type(out) not in plain:
        columns = zip(*rows, strict=True)
        stacked = [_stacked(column, point) for column, point in zip(columns, points, strict=True)]
        return [block.view(out.shape + block.shape[1:]) for block in stacked]
    # Without history the rows are written where they belong as they come, which is cheaper than to stack them.
    arrays = [np.zeros((out.numel(), *point.shape), point._array.dtype) for point in points]
    for number, row in enumerate(rows):
        for array, gradient in zip(arrays, row, strict=True):
            if gradient is not None:
                array[number] = gradient._array
    return [wrap(array.reshape(out.shape + point.shape)) for array, point in zip(arrays, points, strict=True)]


def _rows(out: Tensor, points: Sequence[Tensor], create_graph: bool) -> Iterator[Gradients]:
    """The gradients of the elements of an output, one after the other."""
    backward = engine.Repeated([out], points, create_graph)
    array = out._array
    for position in range(array.size):
        start = np.zeros(array.size, array.dtype)
        start[position] = 1
        yield backward([wrap(start.reshape(array.shape))])


def _strict_rows(rows: Iterator[Gradients], index: int, create_graph: bool) -> Iterator[Gradients]:
    for row in rows:
        for number, gradient in enumerate(row):
            if gradient is None:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {number}. This is not "
                    "allowed in strict mode."
                )
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(_VJP.constant.format(number))
        yield row


def _stacked(rows: Sequence[Tensor | None], point: Tensor) -> Tensor:
    if all(row is None for row in rows):
        return wrap(np.zeros((len(rows), *point.shape), point._array.dtype))
    return ops.stack([wrap(np.zeros_like(point._array)) if row is None else row for row in rows])


def _batched_blocks(outputs: Sequence[Tensor], points: Sequence[Tensor], create_graph: bool) -> list[list[Tensor]]:
    """The derivatives of each output along each input, by a backward with one batch for all elements of all outputs."""
    if not outputs:
        raise AssertionError("Expected at least one tensor")
    roots = [out for out in outputs if out.requires_grad]
    tables = _batched_grad(roots, points, create_graph) if roots and points else [None] * len(points)
    blocks = []
    first = 0
    for out in outputs:
        sizes = [out.shape + point.shape for point in points]
        count = out.numel() if out.requires_grad else 0
        blocks.append(
            [
                wrap(np.zeros(size, point._array.dtype))
                if table is None or not out.requires_grad
                else table.narrow(0, first, count).reshape(size)
                for table, point, size in zip(tables, points, sizes, strict=True)
            ]
        )
        first += count
    return blocks


def _batched_grad(outputs: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool) -> Gradients:
    """The rows of the Jacobian of all outputs together, for a batch of one-hot gradients to start with.

    Args:
        outputs: Tensors that require grad, with `n` elements altogether.
        inputs: Tensors that require grad.
        create_graph: make the result differentiable.

    Returns:
        For each input of shape `s` its gradients, of shape `(n, *s)`; None for one that has no part in the outputs.
    """
    size = sum(out.numel() for out in outputs)
    starts = []
    first = 0
    for out in outputs:
        start = np.zeros((size, out.numel()), out._array.dtype)
        np.fill_diagonal(start[first:], 1)
        starts.append(wrap(start.reshape((size, *out.shape))))
        first += out.numel()
    return grad(outputs, inputs, starts, create_graph=create_graph, allow_unused=True, is_grads_batched=True)


# -- Jacobians in forward mode


def _forward_jacobian(func: Function, inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    mode, other_mode = 'strategy="forward-mode"', 'strategy="reverse-mode"'
    if create_graph:
        raise NotImplementedError(_unsupported("create_graph=True", mode, "create_graph=False", other_mode))
    if strict:
        raise RuntimeError(_unsupported("strict=True", mode, "strict=False", other_mode))
    given = _bundle(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    if not given.tensors:
        raise AssertionError("Expected at least one tensor")
    outputs, tables = _batched_tangents(func, given.tensors)
    blocks = []
    for out, table in zip(outputs.tensors, tables, strict=True):
        ends = np.cumsum([tensor.numel() for tensor in given.tensors])
        row = [
            table.narrow(0, int(end) - tensor.numel(), tensor.numel())
            .movedim(0, -1)
            .reshape(out.shape + tensor.shape)
            .clone()
            for end, tensor in zip(ends, given.tensors, strict=True)
        ]
        # PyTorch gives lists here where reverse mode gives tuples.
        row = [block.clone() for block in row]  # of one input it is the table itself
        blocks.append(row[0] if given.single else row)
    return blocks[0] if outputs.single else tuple(blocks) if given.single else blocks


def _batched_tangents(func: Function, inputs: Sequence[Tensor]) -> tuple[_Bundle, list[Tensor]]:
    """What `func` returns, by one call, and for each output the tangents along each element of the inputs in turn."""
    sizes = [tensor.numel() for tensor in inputs]
    with vmap_level(sum(sizes), "error", of_tangents=True) as level, forward_ad.dual_level():
        duals = []
        first = 0
        for tensor, size in zip(inputs, sizes, strict=True):
            directions = np.zeros((sum(sizes), size), tensor._array.dtype)
            np.fill_diagonal(directions[first:], 1)
            first += size
            tangents = batch(wrap(directions.reshape((sum(sizes), *tensor.shape))), level)
            duals.append(forward_ad.make_dual(tensor, tangents))
        outputs = _bundle(func(*duals), "outputs", "jacobian")
        found = [forward.tangent_of(out, 0) for out in outputs.tensors]
        tables = [
            wrap(np.zeros((sum(sizes), *out.shape), out._array.dtype))
            if tangent is None
            else whole_batch(tangent, level)
            for out, tangent in zip(outputs.tensors, found, strict=True)
        ]
    return outputs, tables


# -- What does not go together


def _check_strategy(strategy: str, hint: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode".{hint}')


def _unsupported(first: str, second: str, instead: str, or_else: str) -> str:
    yet = " (yet)" if "strategy" in second else ""
    return (
        f"runtime.autograd.functional.jacobian: `{first}` and `{second}` are not supported together{yet}. Please "
        f"either set `{instead}` or `{or_else}`."
    )
