"""`vmap`: functions of single elements, called with batches. What it is made of is loaded with its first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies `func` to each element of batches, at once.

    Args:
        func: takes and returns Tensors, in any nesting of tuples, lists and dictionaries.
        in_dims: which dimension of each input counts the batch; None for an input that is the same for all. A number
            for all inputs, or a tuple with an entry for each argument, which may be nested as the argument is.
        out_dims: where the batch stands in each output; a number for all, or nested as the outputs are.
        randomness: what random operators do: "error" raises, "same" draws once for all elements, "different" for each.
        chunk_size: do no more elements than this at a time.

    Returns:
        The function of batches. Keyword arguments are the same for all elements.

    Raises:
        ValueError: the dimensions do not fit the arguments, or an output is no Tensor.
        RuntimeError: an unknown `randomness`, or `func` does what has no meaning for a batch: it looks at values.
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def of_batches(*args: Any, **kwargs: Any) -> Any:
        from gradwright.batches.vectorize import run_batches  # it needs much that few programs do

        return run_batches(func, in_dims, out_dims, randomness, chunk_size, args, kwargs)

    return of_batches
