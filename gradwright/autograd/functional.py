"""Derivatives of functions: products with Jacobians and Hessians, and these matrices themselves.

A function takes Tensors and returns a Tensor or a tuple of them. It is called at new Tensors of the same values, which
tells an input apart from the same Tensor that the function may have captured. A vector times a Jacobian is one
backward. A Jacobian times a vector is two: the first is linear in the gradient it starts with, so that a backward
through it gives the transposed product (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from typing import Any

from gradwright.autograd.functional_arguments import (
    Function,
    Tensors,
    bundle,
    evaluate,
    evaluate_scalar,
    gradients_of,
    new_points,
    released,
    vector_like,
    with_direction,
    zero_leaves,
)
from gradwright.autograd.jacobians import (
    blocks_by_row,
    blocks_by_tangents,
    blocks_in_batch,
    check_strategy,
    unsupported,
)
from gradwright.autograd.strict_mode import (
    CONSTANT_GRADIENT,
    CONSTANT_JACOBIAN,
    HVP,
    JVP,
    VHP,
    VJP,
    check_gradients,
    completed,
)
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


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
        bundled = bundle(inputs, "inputs", "vjp")
        points = new_points(bundled.tensors, create_graph)
        outputs = evaluate(func, points, "vjp", strict)
        if v is None and (len(outputs.tensors) != 1 or outputs.tensors[0].numel() != 1):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                "element."
            )
        vector = vector_like(v, outputs, create_graph, "vjp")
        gradients = gradients_of(outputs.tensors, points, vector, create_graph)
        product = completed(gradients, points, VJP if strict else None, create_graph)
    return outputs.like(released(outputs.tensors, create_graph)), bundled.like(released(product, create_graph))


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
        _, points, vector = with_direction(inputs, v, create_graph, "jvp")
        outputs = evaluate(func, points, "jvp", strict)
        starts = zero_leaves(outputs.tensors)
        first = gradients_of(outputs.tensors, points, starts, create_graph=True)
        if strict:
            check_gradients(first, CONSTANT_GRADIENT)
        gradients = gradients_of(first, starts, vector, create_graph)
        product = completed(gradients, outputs.tensors, JVP if strict else None, create_graph)
    return outputs.like(released(outputs.tensors, create_graph)), outputs.like(released(product, create_graph))


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
        bundled, points, vector = with_direction(inputs, v, create_graph, "vhp")
        output = evaluate_scalar(func, points, "vhp", strict)
        first = gradients_of([output], points, [None], create_graph=True)
        if strict:
            check_gradients(first, CONSTANT_JACOBIAN)
        gradients = gradients_of(first, points, vector, create_graph)
        product = completed(gradients, points, VHP if strict else None, create_graph)
    return released([output], create_graph)[0], bundled.like(released(product, create_graph))


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
        bundled, points, vector = with_direction(inputs, v, create_graph, "hvp")
        output = evaluate_scalar(func, points, "hvp", strict)
        first = gradients_of([output], points, [None], create_graph=True)
        if strict:
            check_gradients(first, CONSTANT_JACOBIAN)
        starts = zero_leaves(points)
        second = gradients_of(first, points, starts, create_graph=True)
        gradients = gradients_of(second, starts, vector, create_graph)
        product = completed(gradients, points, HVP if strict else None, create_graph)
    return released([output], create_graph)[0], bundled.like(released(product, create_graph))


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
    check_strategy(
        strategy,
        ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
        'prefer to use "reverse-mode".',
    )
    if strategy == "forward-mode":
        return blocks_by_tangents(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        bundled = bundle(inputs, "inputs", "jacobian")
        points = new_points(bundled.tensors, create_graph)
        outputs = evaluate(func, points, "jacobian", strict)
        if vectorize:
            if strict:
                raise RuntimeError(unsupported("strict=True", "vectorized=True", "strict=False", "vectorize=False"))
            blocks = blocks_in_batch(outputs.tensors, points, create_graph)
        else:
            blocks = [blocks_by_row(i, out, points, create_graph, strict) for i, out in enumerate(outputs.tensors)]
    return outputs.like([bundled.like(released(row, create_graph)) for row in blocks])


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
    bundled = bundle(inputs, "inputs", "hessian")
    check_strategy(outer_jacobian_strategy, "")

    def gradient(*points: Tensor) -> tuple[Tensor, ...]:
        with enable_grad():
            if outer_jacobian_strategy == "forward-mode":
                points = tuple([point.requires_grad_() for point in points])
            output = evaluate_scalar(func, points, "hessian", strict)
            gradients = completed(gradients_of([output], points, [None], create_graph=True), points)
            if strict:
                check_gradients(gradients, CONSTANT_JACOBIAN)
            return gradients

    blocks = jacobian(gradient, bundled.tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks[0][0] if bundled.single else blocks
