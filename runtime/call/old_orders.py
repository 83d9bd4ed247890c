"""Orders of arguments that PyTorch had first, and still takes: `add(x, 2, y)` is `x + 2 * y`.

Factors that schemas now have by keyword stood by position.  The key `old_orders` of native_functions.yaml says where.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def readings(
    orders: Iterable[Sequence[str]], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The arguments by name, in each of the orders that they may be in."""
    if not args:
        return
    for order in orders:
        if len(args) + len(kwargs) == len(order):
            named = dict(zip(order, args, strict=False))
            if not named.keys() & kwargs.keys():
                yield {**named, **kwargs}


def warn(base: str, schema: str) -> None:
    """Tell the caller of a packet that there is another order now."""
    text = f"This overload of {base} is deprecated: factors go by keyword, as in\n\t{schema}"
    warnings.warn(text, UserWarning, stacklevel=4)
