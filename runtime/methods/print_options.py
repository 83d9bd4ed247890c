"""How Tensors are printed: what `set_printoptions` sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class PrintOptions(NamedTuple):
    """`threshold`: from how many elements on only `edgeitems` at each end are shown; `sci_mode` None: as fits."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def print_options() -> PrintOptions:
    """The options as they are."""
    return _options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how Tensors are printed.

    Args:
        precision: digits after the point.
        threshold: number of elements above which the middle is left out.
        edgeitems: elements shown at each end then.
        linewidth: characters in a line.
        profile: `default`, `short` or `full`, to start from.
        sci_mode: exponents always or never; None lets the values decide.
    """
    global _options
    options = _options
    if profile is not None:
        chosen = _PROFILES.get(profile)
        if chosen is None:
            raise ValueError(f"profile must be one of {', '.join(_PROFILES)}, not '{profile}'")
        options = chosen._replace(linewidth=80)
    values = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    _options = options._replace(sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """The options by name."""
    return _options._asdict()


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """`set_printoptions` for the length of a `with` block."""
    global _options
    before = _options
    try:
        set_printoptions(**{"sci_mode": before.sci_mode, **kwargs})
        yield
    finally:
        _options = before
