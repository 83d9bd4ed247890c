"""Lists and dictionaries that do not change: the arguments of Nodes, whose users are known from them."""

from __future__ import annotations

from typing import Any, NoReturn

from gradwright.utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. The arguments of a Node are changed by giving it "
        "new ones:\n    new_args = ...  # a changed copy of node.args\n    node.args = new_args"
    )


class immutable_list(list[Any]):
    """A list that is hashable and refuses to be changed."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that is hashable and refuses to be changed."""

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)


register_pytree_node(
    immutable_list, lambda values: (list(values), None), lambda children, context: immutable_list(children)
)
register_pytree_node(
    immutable_dict,
    lambda values: (list(values.values()), list(values)),
    lambda children, context: immutable_dict(zip(context, children, strict=True)),
)
