"""`utils._pytree` and `utils.hooks`, against PyTorch."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
import torch
import torch.utils._pytree
import torch.utils.hooks

import gradwright

Pair = namedtuple("Pair", "first second")

TREES: list[Any] = [
    1, None, [], (), {}, [1, (2, {"b": 3, "a": None})], Pair(1, [2, 3]), deque([1, 2], maxlen=3),
    defaultdict(list, {"x": 1, "y": [2]}), OrderedDict(b=1, a=(2, 3)), [[[[1]]], "text"], {"k": Pair([1], {"z": 2})},
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees(tree):
    outcomes = []
    for m in (gradwright, torch):
        p = m.utils._pytree
        leaves, spec = p.tree_flatten(tree)
        again = p.tree_unflatten(leaves, spec)
        assert again == tree
        assert type(again) is type(tree)
        assert isinstance(spec, p.TreeSpec)
        assert spec == p.tree_structure(tree)
        assert hash(spec) == hash(p.tree_structure(tree))
        lists = p.tree_flatten(tree, is_leaf=lambda value: isinstance(value, list))[0]
        outcomes.append(
            [
                leaves, lists, repr(spec), spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(),
                p.tree_leaves(tree), list(p.tree_iter(tree)), p.tree_map(lambda x: (x, 0), tree),
                p.tree_map_only(int, lambda x: x + 1, tree), p.tree_all(lambda x: x is not None, tree),
                p.tree_any(lambda x: x is None, tree), p.tree_all_only(int, lambda x: x > 1, tree),
                p.tree_any_only(int, lambda x: x > 1, tree), p.tree_is_leaf(tree), p.arg_tree_leaves(tree, a=tree),
                p.tree_map_only((int, str), str, tree), p.tree_map_only(lambda x: x == 2, str, tree),
                p.treespec_pprint(spec),
            ]
        )  # fmt: skip
    assert outcomes[0] == outcomes[1]


def test_several_trees():
    for m in (gradwright, torch):
        p = m.utils._pytree
        assert p.tree_map(lambda x, y: (x, y), [1, {"a": 2, "b": 3}], [4, {"b": 5, "a": [6]}]) == [
            (1, 4), {"a": (2, [6]), "b": (3, 5)},
        ]  # fmt: skip
        for other in ((1, 2), [1], {"a": 1}):
            with pytest.raises(ValueError, match="ismatch"):
                p.tree_map(lambda x, y: x, [1, 2], other)
        with pytest.raises(ValueError, match="holds 2"):
            p.tree_unflatten([1], p.tree_structure([0, 0]))
        assert isinstance(p.tree_structure(1), p.TreeSpec)


def test_registered_classes():
    for m in (gradwright, torch):
        p = m.utils._pytree

        class Box:
            def __init__(self, inner, label):
                self.inner, self.label = inner, label

        p.register_pytree_node(Box, lambda box: ([box.inner], box.label), lambda inner, label: Box(*inner, label))
        made = p.tree_map(lambda x: x * 2, {"k": Box([1, 2], "name")})
        assert (made["k"].inner, made["k"].label) == ([2, 4], "name")
        with pytest.raises(ValueError, match="already registered"):
            p.register_pytree_node(Box, None, None)


def test_handles():
    for m in (gradwright, torch):
        hooks: OrderedDict[int, Any] = OrderedDict()
        marks: OrderedDict[int, Any] = OrderedDict()
        handle = m.utils.hooks.RemovableHandle(hooks, extra_dict=marks)
        assert not hooks
        hooks[handle.id] = marks[handle.id] = print
        handle.remove()
        handle.remove()
        assert not hooks
        assert not marks
        x = m.ones(2, requires_grad=True)
        assert isinstance(x.register_hook(print), m.utils.hooks.RemovableHandle)
        module = m.nn.Linear(1, 1)
        first = module.register_forward_pre_hook(print)
        second = module.register_forward_hook(max, with_kwargs=True, always_call=True)
        assert isinstance(first, m.utils.hooks.RemovableHandle)
        assert list(module._forward_pre_hooks.values()) == [print]
        assert list(module._forward_hooks.values()) == [max]
        assert list(module._forward_hooks_with_kwargs) == list(module._forward_hooks_always_called) == [second.id]
        second.remove()
        assert not module._forward_hooks_with_kwargs
        assert not module._forward_hooks_always_called


def test_gradients_at_the_borders():
    outcomes = []
    for m in (gradwright, torch):
        seen: list[Any] = []
        hook = m.utils.hooks.BackwardHook(
            None,
            [lambda module, grads, out: seen.append([[g.tolist() for g in each] for each in (grads, out)])],  # noqa: B023
            [lambda module, out: seen.append([g.tolist() for g in out])],  # noqa: B023
        )
        x = m.ones(2, requires_grad=True)
        (inner,) = hook.setup_input_hook((x,))
        out = hook.setup_output_hook(inner * 3)
        out.sum().backward()
        outcomes.append((seen, x.grad.tolist()))
    assert outcomes[0] == outcomes[1]


def test_results_of_operators():
    outcomes = []
    for m in (gradwright, torch):
        p = m.utils._pytree
        results = m.tensor([[1.0, 3.0], [2.0, 0.0]]).max(0)
        mapped = p.tree_map(lambda value: value + 1, [results])[0]
        leaves, spec = p.tree_flatten(results)
        outcomes.append(
            [
                type(mapped) is type(results), mapped.values.tolist(), mapped.indices.tolist(), repr(spec), len(leaves),
                p.is_namedtuple(results), p.is_structseq(results), p.is_structseq((1, 2)),
                p.is_structseq(type(results)),
            ]
        )  # fmt: skip
    assert outcomes[0] == outcomes[1]


def test_classes_of_results_are_registered():
    outcomes = []
    for m in (gradwright, torch):
        p, kinds = m.utils._pytree, m.return_types

        class Triple(tuple):
            __slots__ = ()

        registered = []
        for kind in (kinds.topk, kinds.sort_out):  # of these no object has been taken apart before
            for register in (kinds.pytree_register_structseq, lambda kind: p.register_pytree_node(kind, list, list)):  # noqa: B023
                with pytest.raises(ValueError, match="already registered"):
                    register(kind)
                registered.append(kind.__name__)
        triple = Triple((1, 2, 3))
        leaf = p.tree_leaves(triple) == [triple]
        kinds.pytree_register_structseq(Triple)
        mapped = p.tree_map(lambda value: value + 1, {"k": triple})["k"]
        listed = {"all_return_types", "pytree_register_structseq", "max"} <= set(kinds.__all__)
        outcomes.append((registered, leaf, type(mapped).__name__, list(mapped), listed))
    assert outcomes[0] == outcomes[1]
