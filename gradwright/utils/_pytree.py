"""Trees of Python containers: their leaves, what else they are made of, and functions on each leaf.

Dictionaries keep the order of their keys. A class that is registered is a container like any other; everything else,
None included, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from runtime.base.types import NamedResult

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "arg_tree_leaves",
    "map_only",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
    "treespec_pprint",
]

IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: type[Any]
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


SUPPORTED_NODES: dict[type[Any], NodeDef] = {}


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **names: Any,
) -> None:
    """Let the objects of a class be containers.

    Args:
        cls: the class; subclasses are not meant.
        flatten_fn: the children of an object, and what else it takes to make one.
        unflatten_fn: an object of children and the rest.
        names: what PyTorch takes for writing trees down; without a meaning here.

    Raises:
        ValueError: the class is registered already.
    """
    if cls in SUPPORTED_NODES or issubclass(cls, NamedResult):
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _register_builtin() -> None:
    def of_dict(kind: Callable[[Any], Any]) -> tuple[Any, Any]:
        return (
            lambda value: (list(value.values()), list(value)),
            lambda children, keys: kind(zip(keys, children, strict=True)),
        )

    register_pytree_node(tuple, lambda value: (list(value), None), lambda children, _: tuple(children))
    register_pytree_node(list, lambda value: (list(value), None), lambda children, _: list(children))
    register_pytree_node(dict, *of_dict(dict))
    register_pytree_node(OrderedDict, *of_dict(OrderedDict))
    register_pytree_node(
        defaultdict,
        lambda value: (list(value.values()), [value.default_factory, list(value)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    )
    register_pytree_node(
        deque, lambda value: (list(value), value.maxlen), lambda children, length: deque(children, maxlen=length)
    )


_register_builtin()
# Of named tuples the context tells the class; the function that makes such classes stands for all of them.
_named_tuple = NodeDef(
    namedtuple,  # type: ignore[arg-type]
    lambda value: (list(value), type(value)),
    lambda children, kind: kind(*children),
)
SUPPORTED_NODES[_named_tuple.type] = _named_tuple


def is_namedtuple(obj: Any) -> bool:
    """Whether this is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether this is a class of named tuples."""
    if not (isinstance(cls, type) and issubclass(cls, tuple)) or issubclass(cls, NamedResult):
        return False
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)


def is_structseq(obj: Any) -> bool:
    """Whether these are the results of an operator, by position and by name, or a class of them."""
    return issubclass(obj if isinstance(obj, type) else type(obj), NamedResult)


def _node_of(tree: Any) -> NodeDef | None:
    kind = type(tree)
    found = SUPPORTED_NODES.get(kind)
    if found is not None:
        return found
    if is_structseq(kind):  # each operator has a class of its own, which is made when it is asked for
        return SUPPORTED_NODES.setdefault(
            kind, NodeDef(kind, lambda value: (list(value), None), lambda children, _: kind(children))
        )
    return _named_tuple if is_namedtuple_class(kind) else None


class TreeSpec:
    """A tree without its leaves: the class of a container, what else it takes to make one, and its children."""

    __slots__ = ("children_specs", "context", "num_children", "num_leaves", "num_nodes", "type")

    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)

    def is_leaf(self) -> bool:
        """Whether this is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Those of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """That of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves.

        Raises:
            ValueError: there are more or fewer of them.
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._unflatten(iter(given))

    def _unflatten(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._unflatten(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree of this structure, or a larger one, has where this has leaves.

        Raises:
            ValueError: the tree is another one.
        """
        if self.type is None:
            return [tree]
        node = _node_of(tree)
        if node is None or node.type is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        if isinstance(tree, Mapping) and len(children) == self.num_children:
            keys = self.context[1] if isinstance(tree, defaultdict) else self.context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(keys)!r}, but got {list(tree)!r}.")
            children = [tree[key] for key in keys]
        elif len(children) != self.num_children or context != self.context:
            raise ValueError(
                f"Node mismatch; expected {self.num_children} children and {self.context!r}, but got {len(children)} "
                f"and {context!r}."
            )
        pairs = zip(self.children_specs, children, strict=True)
        return [leaf for spec, child in pairs for leaf in spec.flatten_up_to(child)]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, TreeSpec)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        context = repr(self.context) if isinstance(self.context, (list, dict)) else self.context
        return hash((self.type, context, tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join([child.__repr__(indent + 2) for child in self.children_specs])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


class LeafSpec(TreeSpec):
    """That of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_leaf = LeafSpec()


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the rest of the tree.

    Args:
        tree: any object.
        is_leaf: what else is a leaf.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _leaf
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of these leaves.

    Raises:
        TypeError: `treespec` is none.
        ValueError: there are more or fewer leaves.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether this is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """The leaves one after the other."""
    yield from tree_leaves(tree, is_leaf)


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments of a call."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """A tree without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree of what a function gives for each leaf, and for what other trees have at its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(leaves, *others, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function for each leaf; the tree comes back as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooses(kinds: Any) -> Callable[[Any], bool]:
    """A class, several, or a function as a function."""
    if isinstance(kinds, type) or not callable(kinds):
        return lambda value: isinstance(value, kinds)
    choose: Callable[[Any], bool] = kinds
    return choose


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes functions leave all as it is that is not of a class, of one of several, or chosen by a function."""
    chooses = _chooses(type_or_types_or_pred)
    return lambda func: lambda value: func(value) if chooses(value) else value


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, where other leaves stay as they are; see `map_only`."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map_`, of some of the leaves; see `map_only`."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for every leaf of some classes."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether something holds for a leaf of some classes."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as it looks with stars for leaves."""

    class _Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))
