"""What vmap does: a function of single elements, called with batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ops
from runtime.base.pytree import Tree, flatten, spread
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import is_batched, whole_batch
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.vmap_calls import vmap_level
from runtime.random import default_generator


def run_batches(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What `gradwright.vmap(func, in_dims, out_dims, randomness, chunk_size)(*args, **kwargs)` gives."""
    batches = _Batches(func, in_dims, args, kwargs)
    if chunk_size is None or chunk_size >= batches.size:
        return _Outputs(func, out_dims, randomness).of(batches.leaves, batches)
    return _in_chunks(func, out_dims, randomness, batches, chunk_size)


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", None) or repr(func)


class _Batches:
    """The arguments of a call: their leaves, which dimension of each counts the batch, and its size."""

    def __init__(self, func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
        if not isinstance(in_dims, (int, tuple, list)):
            raise ValueError(
                f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                f"inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                "vmap over a function with no inputs. The latter is unsupported."
            )
        self.leaves, self.tree = flatten(args)
        dims_of_arguments = tuple(in_dims) if isinstance(in_dims, list) else in_dims
        dims = spread(dims_of_arguments, self.tree, _is_dim)
        if dims is None:
            raise ValueError(
                f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{flatten(in_dims)[1]} but inputs has structure {self.tree}."
            )
        self.dims = [_checked(call, dim, leaf) for dim, leaf in zip(dims, self.leaves, strict=True)]
        self.kwargs = kwargs
        self.size = _batch_size([(leaf, dim) for leaf, dim in zip(self.leaves, self.dims, strict=True)])

    def call(self, func: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """Call the function with these leaves in place of the given ones."""
        return func(*self.tree.join(leaves), **self.kwargs)


def _is_dim(value: Any) -> bool:
    return value is None or isinstance(value, int)


def _checked(call: str, dim: Any, leaf: Any) -> int | None:
    """A dimension of an input, counted from the front."""
    if not _is_dim(dim):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if dim is None:
        return None
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    ndim = leaf.dim()
    if not -ndim <= dim < ndim:
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected "
            f"in_dim to satisfy -{ndim} <= in_dim < {ndim}."
        )
    counted: int = dim % ndim
    return counted


def _batch_size(pairs: Sequence[tuple[Any, int | None]]) -> int:
    sizes: list[int] = [leaf._array.shape[dim] for leaf, dim in pairs if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


class _Outputs:
    """The calls of a function at a level of vmap, and where the batch goes in its outputs."""

    def __init__(self, func: Callable[..., Any], out_dims: Any, randomness: str) -> None:
        self.func = func
        self.out_dims = out_dims
        self.randomness = randomness
        self.name = f"vmap({_name(func)}, ...)"

    def of(self, leaves: Sequence[Any], batches: _Batches, size: int | None = None) -> Any:
        """The outputs for batches that are leaves of the arguments, perhaps parts of the given ones."""
        with vmap_level(batches.size if size is None else size, self.randomness) as level:
            elements = [
                leaf if dim is None else batch(ops.movedim(leaf, dim, 0) if dim else leaf, level)
                for leaf, dim in zip(leaves, batches.dims, strict=True)
            ]
            outputs, tree = flatten(batches.call(self.func, elements))
            dims = self._dims(tree)
            return tree.join([self._unwrapped(out, dim, level) for out, dim in zip(outputs, dims, strict=True)])

    def _dims(self, tree: Tree) -> list[int | None]:
        out_dims = self.out_dims
        if not all(_is_dim(dim) for dim in flatten(out_dims)[0]):
            raise ValueError(
                f"vmap({_name(self.func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )
        dims = spread(out_dims, tree, _is_dim)
        if dims is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and tree.kind is None:
            return [out_dims[0]]
        if dims is None:
            raise ValueError(
                f"vmap({_name(self.func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure "
                f"{tree}."
            )
        return dims

    def _unwrapped(self, out: Any, dim: int | None, level: VmapLevel) -> Any:
        if dim is None:
            if is_batched(out, level):
                raise ValueError(
                    f"{self.name}: `{_name(self.func)}` can not return a BatchedTensor when out_dim is None"
                )
            return out
        if not isinstance(out, Tensor):
            raise ValueError(
                f"{self.name}: `{_name(self.func)}` must only return Tensors, got type {type(out)}. Did you mean to "
                "set out_dims= to None for output?"
            )
        value = whole_batch(out, level)
        return ops.movedim(value, 0, dim) if dim else value


def _in_chunks(func: Callable[..., Any], out_dims: Any, randomness: str, batches: _Batches, chunk_size: int) -> Any:
    """Some elements at a time; the outputs are joined."""
    outputs = _Outputs(func, out_dims, randomness)
    state = default_generator.get_state() if randomness == "same" else None
    parts = []
    for start in range(0, batches.size, chunk_size):
        if state is not None:
            default_generator.set_state(state)  # the elements of all parts draw the same numbers
        length = min(chunk_size, batches.size - start)
        leaves = [
            leaf if dim is None else ops.narrow(leaf, dim, start, length)
            for leaf, dim in zip(batches.leaves, batches.dims, strict=True)
        ]
        parts.append(flatten(outputs.of(leaves, batches, length)))
    tree = parts[0][1]
    dims = outputs._dims(tree)
    columns = zip(*[leaves for leaves, _ in parts], strict=True)
    return tree.join(
        [column[0] if dim is None else ops.cat(list(column), dim) for column, dim in zip(columns, dims, strict=True)]
    )
