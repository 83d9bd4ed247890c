"""Trees of Python collections: tuples, lists and dictionaries, in any nesting, with anything else as leaves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tree:
    """The structure of a tree without its leaves.

    `kind` is the class of the collection, None for a leaf; `keys` are those of a dictionary.
    """

    kind: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[Tree, ...] = ()

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.size for child in self.children)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inner = ", ".join(map(str, self.children))
        if self.keys:
            return (
                "{" + ", ".join(f"{key!r}: {child}" for key, child in zip(self.keys, self.children, strict=True)) + "}"
            )
        if self.kind is list:
            return f"[{inner}]"
        return f"({inner},)" if len(self.children) == 1 else f"({inner})"

    def join(self, leaves: Sequence[Any]) -> Any:
        """The tree with these leaves.

        Raises:
            ValueError: their number is another.
        """
        if len(leaves) != self.size:
            raise ValueError(f"a tree of {self.size} leaves can not be made of {len(leaves)}")
        return self._join(iter(leaves))

    def _join(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        items = [child._join(leaves) for child in self.children]
        if issubclass(self.kind, dict):
            return self.kind(zip(self.keys, items, strict=True))
        # A namedtuple takes its fields one by one, other collections and the results of operators all at once.
        make: Callable[[list[Any]], Any] = getattr(self.kind, "_make", self.kind)
        return make(items)


LEAF_TREE = Tree(None)


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """The leaves of a tree, from left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Tree:
    items = _children(value)
    if items is None:
        leaves.append(value)
        return LEAF_TREE
    keys = tuple(value) if isinstance(value, dict) else ()
    return Tree(type(value), keys, tuple([_flatten(item, leaves) for item in items]))


def _children(value: Any) -> Sequence[Any] | None:
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        return list(value.values())
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return value  # type: ignore[no-any-return]
    return None


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """The tree with `function` applied to each leaf."""
    leaves, tree = flatten(value)
    return tree.join([function(leaf) for leaf in leaves])


def spread(prefix: Any, tree: Tree, is_value: Callable[[Any], bool]) -> list[Any] | None:
    """One value for each leaf, where a value in `prefix` counts for all leaves below its place.

    Args:
        prefix: a tree that is cut off above the leaves of `tree`.
        tree: the structure to fill.
        is_value: whether something is a value, and no collection of them.

    Returns:
        The values; None where the structures contradict each other.
    """
    if is_value(prefix) or (tree.kind is None and _children(prefix) is None):
        return [prefix] * tree.size
    items = _children(prefix)
    if items is None or tree.kind is None or type(prefix) is not tree.kind or len(items) != len(tree.children):
        return None
    if isinstance(prefix, dict):
        if set(prefix) != set(tree.keys):
            return None
        items = [prefix[key] for key in tree.keys]
    spread_out = []
    for item, child in zip(items, tree.children, strict=True):
        part = spread(item, child, is_value)
        if part is None:
            return None
        spread_out += part
    return spread_out
