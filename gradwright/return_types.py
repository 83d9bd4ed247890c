"""The classes of what operators with several named results return: `isinstance(out, torch.return_types.max)`.

There is one for each operator, and one with `_out` behind its name for calls with `out=`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gradwright.utils._pytree import register_pytree_node
from runtime.base.types import named_result
from runtime.call import registered
from runtime.call.facts import BUILT_IN

# Functions that are no operators.
_FUNCTIONS: dict[str, tuple[str, ...]] = {"histogramdd": ("hist", "bin_edges")}


@cache
def _fields() -> dict[str, tuple[str, ...]]:
    """The names of results, by the name of the class."""
    fields = dict(_FUNCTIONS)
    for known in registered.generated_in(BUILT_IN).values():
        name, names = known.operator.name.partition(".")[0], known.operator.facts.result_names
        if names and not name.startswith("_"):
            fields[name] = fields[f"{name}_out"] = names
    return fields


def pytree_register_structseq(cls: type[Any]) -> None:
    """Let the objects of a class of results be containers; those of the classes here are from the start.

    Args:
        cls: a class of sequences that is made from an iterable, such as `time.struct_time`.

    Raises:
        ValueError: the class is registered already.
    """
    register_pytree_node(cls, lambda value: (list(value), None), lambda children, _: cls(children))


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name == "all_return_types":
        return [named_result(known, fields) for known, fields in sorted(_fields().items())]
    fields = None if name.startswith("_") else _fields().get(name)
    if fields is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return named_result(name, fields)


def __dir__() -> list[str]:
    return ["pytree_register_structseq", "all_return_types", *sorted(_fields())]
