"""Transforms by forward mode: jvp, the Jacobian by columns, and what is made of both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from gradwright.func.arguments import ArgNums, check_real, check_tensors, chosen_positions, split_aux, with_chosen
from gradwright.func.captured import unchanged
from gradwright.func.reverse import jacrev, one_hot, vjp
from runtime import ops
from runtime.base.pytree import Tree, flatten, tree_map
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.operators.batching.batched import BatchedTensor, batch, dress, peel
from runtime.operators.batching.levels import VmapLevel, open_vmaps
from runtime.operators.batching.vmap_calls import vmap_level


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The output of `func` at `primals`, and its Jacobian times `tangents`.

    Args:
        func: takes and returns Tensors, or nested collections of them.
        primals: a tuple of all arguments.
        tangents: a tuple nested as `primals`, of Tensors of the same shapes.
        strict: refuse an output that does not depend on the inputs, rather than give zeros.
        has_aux: whether `func` returns a tuple of its output and anything else.

    Returns:
        The output and its tangent, nested alike; with `has_aux` also what came beside.

    Raises:
        RuntimeError: the arguments are no tuples of Tensors of one structure, or an output is no Tensor.
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    (points, tree), (directions, other) = flatten(primals), flatten(tangents)
    if tree != other:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {tree} and tangents with structure "
            f"{other}"
        )
    if not points:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    for leaf in (*points, *directions):
        if not isinstance(leaf, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    run = _Tangents(open_vmaps())
    outputs, structure, columns, aux = run.of(func, points, tree, directions, has_aux, strict)
    result = (structure.join(outputs), structure.join(columns))
    return (*result, aux) if has_aux else result


class _Tangents:
    """Calls of functions at Tensors that carry tangents; batches of `vmaps` are taken whole."""

    def __init__(self, vmaps: Sequence[VmapLevel]) -> None:
        self.vmaps = vmaps

    def of(
        self,
        func: Callable[..., Any],
        primals: Sequence[Tensor],
        tree: Tree,
        tangents: Sequence[Tensor],
        has_aux: bool = False,
        strict: bool = False,
    ) -> tuple[list[Tensor], Tree, list[Tensor], Any]:
        """The outputs, their structure, their tangents, and what the function returned beside."""
        level = forward.enter()
        try:
            duals = [self._dual(primal, tangent, level) for primal, tangent in zip(primals, tangents, strict=True)]
            with unchanged(func):
                result = func(*tree.join(duals))
            out, aux = split_aux(result, has_aux, "jvp(f, primals, tangents)")
            outputs, structure = flatten(out)
            check_tensors(outputs, "jvp(f, primals, tangents)")
            out_tangents = [_tangent_of(tensor, level, strict) for tensor in outputs]
        finally:
            forward.leave(level)
        return outputs, structure, out_tangents, aux

    def _dual(self, primal: Tensor, tangent: Tensor, level: int) -> Tensor:
        if primal._array.dtype.kind not in "fcV":
            raise ValueError(f"Expected primal to be floating point or complex, but got: {primal.dtype}")
        forward.check_size(primal, tangent)
        tangent = tangent._cast(primal.dtype)
        common = [vmap for vmap in self.vmaps if _is_batched(primal, vmap) or _is_batched(tangent, vmap)]
        for vmap in reversed(common):
            primal, tangent = peel(primal, vmap), peel(tangent, vmap)
        dual = ops.alias(primal)
        forward.set_tangent(dual, tangent, level)
        for vmap in common:
            dual = dress(dual, vmap)
        return dual


def _is_batched(tensor: Tensor, level: VmapLevel) -> bool:
    while type(tensor) is BatchedTensor:
        if tensor.level is level:
            return True
        tensor = tensor.value
    return False


def _tangent_of(tensor: Tensor, level: int, strict: bool) -> Tensor:
    """The tangent of an output, batched as the output is; zeros where it has none."""
    vmaps = []
    whole = tensor
    while type(whole) is BatchedTensor:
        vmaps.append(whole.level)
        whole = whole.value
    tangent = forward.tangent_of(whole, level)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        return ops.zeros_like(tensor)
    for vmap in reversed(vmaps):
        tangent = dress(tangent, vmap)
    return tangent


# -- Jacobians


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by one call with the tangents of all columns at once.

    Args:
        func: takes and returns Tensors, or nested collections of them.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `func` returns a tuple of its output and anything else, which is then returned beside.
        randomness: what random operators in `func` do, as for `vmap`.

    Returns:
        The function; its results are those of `jacrev`.

    Raises:
        RuntimeError: an output is no real Tensor, or there is no such argument.
    """

    @wraps(func)
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        positions = chosen_positions(argnums, len(args))
        chosen = tuple([args[position] for position in positions])
        check_real(chosen, "jacfwd", "input")
        points, tree = flatten(chosen)
        for leaf in points:
            if not isinstance(leaf, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        function = with_chosen(func, args, kwargs, positions)
        outputs, structure, columns, aux = _columns(function, points, tree, has_aux, randomness)
        result = structure.join(
            [_blocks(column, out, points, tree, argnums) for column, out in zip(columns, outputs, strict=True)]
        )
        return (result, aux) if has_aux else result

    return of_arguments


def _columns(
    func: Callable[..., Any], points: Sequence[Tensor], tree: Tree, has_aux: bool, randomness: str
) -> tuple[list[Tensor], Tree, list[Tensor], Any]:
    """The outputs, and for each the tangents for all elements of all inputs, along a first dimension."""
    count = sum(point.numel() for point in points)
    # The values are the same for all columns, so they are computed once and carry a batch of tangents; unless each
    # column has random numbers of its own.
    shared = randomness != "different"
    vmaps = open_vmaps()
    with vmap_level(count, randomness, of_tangents=shared) as level:
        directions = [batch(tensor, level) for tensor in one_hot(points, 0, count)]
        run = _Tangents(vmaps if shared else (*vmaps, level))
        outputs, structure, tangents, aux = run.of(func, points, tree, directions, has_aux)
        check_real(outputs, "jacfwd", "output")
        columns = [peel(tensor, level) for tensor in tangents]
        if not shared:
            outputs = [_first(tensor, level) for tensor in outputs]
            aux = tree_map(lambda leaf: _first(leaf, level), aux) if has_aux else None
    return outputs, structure, columns, aux


def _first(value: Any, level: VmapLevel) -> Any:
    """The first element of a batch: all have one shape."""
    return ops.select(peel(value, level), 0, 0) if isinstance(value, Tensor) and _is_batched(value, level) else value


def _blocks(columns: Tensor, out: Tensor, points: Sequence[Tensor], tree: Tree, argnums: ArgNums) -> Any:
    """The Jacobian of one output: for each input a Tensor of the output's shape followed by the input's."""
    shape = out._array.shape
    moved = ops.movedim(columns, 0, -1)
    blocks, start = [], 0
    for point in points:
        size = point.numel()
        part = moved if len(points) == 1 else ops.narrow(moved, -1, start, size)
        blocks.append(ops.reshape(part, shape + point._array.shape))
        start += size
    joined = tree.join(blocks)
    return joined[0] if isinstance(argnums, int) else joined


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of `func`: the Jacobian of its Jacobian.

    Args:
        func: takes and returns Tensors, or nested collections of them.
        argnums: the positional arguments to differentiate with respect to.
    """
    return jacrev(jacrev(func, argnums), argnums)


# -- a linear map for many directions


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func` at `primals`, and its Jacobian as a function of tangents, which does not call `func` again.

    The products with the Jacobian from the left are linear in what they multiply, so their own derivative, taken once,
    gives the products from the right (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).

    Args:
        func: takes and returns Tensors, or nested collections of them.
        primals: its arguments.

    Returns:
        The output, and a function that takes a tangent for each of `primals`, of its shape and dtype, and returns one
        nested as the output.

    Raises:
        RuntimeError: tangents do not fit the primals.
    """
    constant: list[Any] = []

    def of_tensors(*args: Any) -> Any:
        outputs, tree = flatten(func(*args))
        constant[:] = [tree, outputs]
        return [out for out in outputs if isinstance(out, Tensor)]

    points, expected = flatten(primals)
    outputs, pull = vjp(of_tensors, *primals)
    tree, leaves = constant
    starts = [wrap(np.zeros(out._array.shape, out._array.dtype)) for out in outputs]
    _, push = vjp(pull, starts) if outputs else (None, None)

    def joined(tensors: Sequence[Tensor]) -> Any:
        rest = iter(tensors)
        return tree.join([next(rest) if isinstance(leaf, Tensor) else leaf for leaf in leaves])

    def jvp_fn(*tangents: Any) -> Any:
        directions, structure = flatten(tangents)
        if structure != expected:
            raise RuntimeError(f"Expected the tangents {structure} to have the same argspec as the primals {expected}")
        for place, (tangent, point) in enumerate(zip(directions, points, strict=True)):
            for what, mine, its in (("shape", tangent.shape, point.shape), ("dtype", tangent.dtype, point.dtype)):
                if mine != its:
                    raise RuntimeError(
                        f"tangent:{place} with {what} {mine} in flattened pytree doesn't match the {what} {its} of the "
                        "corresponding primal."
                    )
        return joined(push(tangents)[0] if push is not None else ())

    return joined(outputs), jvp_fn
