"""Random programs of views, in-place writes and ordinary operators, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import gradwright

# Each operation takes the module's Tensors `a` and `b` and two small numbers; it must mean the same in both modules.
Operation = Callable[[Any, Any, int, int], Any]
# The name of an operation, which Tensors it is applied to, its numbers, whether under no_grad.
Step = tuple[str, int, int, int, int, bool]

VIEWS: dict[str, Operation] = {
    "select": lambda a, b, i, j: a.select(i % a.dim(), j % a.size(i % a.dim())),
    "narrow": lambda a, b, i, j: a.narrow(i % a.dim(), j % a.size(i % a.dim()), 1),
    "slice": lambda a, b, i, j: a.narrow(0, 0, max(1, a.size(0) - j)),
    "transpose": lambda a, b, i, j: a.transpose(i % a.dim(), j % a.dim()),
    "unsqueeze": lambda a, b, i, j: a.unsqueeze(i % (a.dim() + 1)),
    "squeeze": lambda a, b, i, j: a.squeeze(),
    "view": lambda a, b, i, j: a.view(-1),
    "diagonal": lambda a, b, i, j: a.diagonal(),
    "expand": lambda a, b, i, j: a.unsqueeze(0).expand(2, *a.shape),
    "detach": lambda a, b, i, j: a.detach(),
    "unbind": lambda a, b, i, j: a.unbind(i % a.dim())[0],
    "split": lambda a, b, i, j: a.split(1 + j, i % a.dim())[-1],
    "index": lambda a, b, i, j: a[..., :: 1 + j],
}
WRITES: dict[str, Operation] = {
    "mul_": lambda a, b, i, j: a.mul_(b),
    "add_": lambda a, b, i, j: a.add_(b),
    "mul_number": lambda a, b, i, j: a.mul_(1.5),
    "add_number": lambda a, b, i, j: a.add_(0.5),
    "sin_": lambda a, b, i, j: a.sin_(),
    "tanh_": lambda a, b, i, j: a.tanh_(),
    "copy_": lambda a, b, i, j: a.copy_(b),
    "zero_": lambda a, b, i, j: a.zero_(),
    "assign row": lambda a, b, i, j: a.__setitem__(i % a.size(0), b.flatten()[j % b.numel()]),
    "assign slice": lambda a, b, i, j: a.__setitem__((..., slice(0, None, 2)), 0.25 * (i + 1)),
    "assign mask": lambda a, b, i, j: a.__setitem__(a.detach() > 1.0, 0.5),
    "custom": lambda a, b, i, j: doubled_in_place(a),
}
PLAIN: dict[str, Operation] = {
    "mul": lambda a, b, i, j: a * b,
    "add": lambda a, b, i, j: a + b,
    "tanh": lambda a, b, i, j: a.tanh(),
    "times one": lambda a, b, i, j: a * 1.0,
}
_functions: dict[Any, Any] = {}


def doubled_in_place(tensor: Any) -> Any:
    """An in-place write by a custom Function."""
    library = torch if isinstance(tensor, torch.Tensor) else gradwright
    if library not in _functions:

        class Doubled(library.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        _functions[library] = Doubled
    return _functions[library].apply(tensor)


OPERATIONS = {**VIEWS, **WRITES, **PLAIN}

steps = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(sorted(VIEWS)), st.sampled_from(sorted(WRITES)), st.sampled_from(sorted(PLAIN))),
        st.integers(0, 30),
        st.integers(0, 30),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 9).map(lambda n: n == 0),  # one in ten runs under no_grad
    ),
    max_size=12,
)


class Program:
    """Runs the same steps in one of the two modules."""

    def __init__(self, module: Any) -> None:
        self.module = module
        values = np.random.default_rng(3).uniform(0.5, 1.5, (3, 3, 4))
        self.leaves = [module.tensor(v.tolist(), dtype=module.float64, requires_grad=True) for v in values[:2]]
        # A leaf; a result; a Tensor without a gradient that may come to have one.
        self.tensors = [*self.leaves, self.leaves[0] * 1.0, module.tensor(values[2].tolist(), dtype=module.float64)]

    def step(self, name: str, first: int, second: int, i: int, j: int, no_grad: bool) -> str | None:
        """Run one step; the kind of error, if it is refused."""
        a, b = self.tensors[first % len(self.tensors)], self.tensors[second % len(self.tensors)]
        # Writes to memory that several elements share: PyTorch refuses some, and others fail on the way back.
        if name in WRITES and any(n > 1 and stride == 0 for n, stride in zip(a.shape, a.stride(), strict=True)):
            return "skipped"
        # PyTorch's in-place kernels refuse some overlaps of source and target, and give rubbish for others.
        if name in WRITES and a is not b and np.shares_memory(a.detach().numpy(), b.detach().numpy()):
            b = b.detach() * 1.0
        try:
            if no_grad:
                with self.module.no_grad():
                    out = OPERATIONS[name](a, b, i, j)
            else:
                out = OPERATIONS[name](a, b, i, j)
        except (RuntimeError, IndexError, ZeroDivisionError) as error:
            return type(error).__name__
        if name not in WRITES:
            self.tensors.append(out)
        return None

    def gradients(self, create_graph: bool) -> list[Any] | str:
        """Gradients of the leaves of a sum of everything; second ones with `create_graph`."""
        try:
            total = sum([(t * (k + 1.0)).sin().sum() for k, t in enumerate(self.tensors)])
            grads = self.module.autograd.grad(total, self.leaves, create_graph=create_graph, allow_unused=True)
            if create_graph:
                second = sum([(g * g).sum() for g in grads if g is not None])
                grads = self.module.autograd.grad(second, self.leaves, allow_unused=True)
        except RuntimeError as error:
            with suppress(InvalidArgument):  # only hypothesis takes notes
                note(f"{self.module.__name__}: {error}")
            return str(error)
        return [None if g is None else g.detach().numpy().copy() for g in grads]


def _is_stale(tensor: Any) -> bool:
    """Whether a write made a view meaningless: nobody may look at its history."""
    try:
        tensor.grad_fn
    except RuntimeError:
        return True
    return False


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.booleans())
def test_views_and_writes(program: list[Step], twice: bool) -> None:
    compare(program, twice)


# PROGRAMS_A_TEST times the number of tests: 5,000 programs of more steps than hypothesis makes.
PROGRAMS_A_TEST = 100


@pytest.mark.parametrize("seed", range(50))
def test_random_programs(seed: int) -> None:
    """Hypothesis shrinks what fails above; here the number counts."""
    random = np.random.default_rng([7, seed])
    kinds = [sorted(VIEWS), sorted(WRITES), sorted(PLAIN)]
    for _ in range(PROGRAMS_A_TEST):
        program: list[Step] = []
        for _ in range(random.integers(3, 16)):
            names = kinds[random.integers(3)]
            numbers = [int(random.integers(high)) for high in (31, 31, 3, 3)]
            program.append((names[random.integers(len(names))], *numbers, bool(random.integers(10) == 0)))
        compare(program, twice=bool(random.integers(2)))


def compare(program: list[Step], twice: bool) -> None:
    """Run a program in both libraries: the same errors, values and gradients at every step."""
    ours, theirs = Program(gradwright), Program(torch)
    for step in program:
        written = step[1] % len(theirs.tensors)
        expected = theirs.step(*step)
        assert ours.step(*step) == expected, step
        stale, found = ([*map(_is_stale, each.tensors)] for each in (theirs, ours))
        if step[0] in WRITES and step[-1] and stale[written] and not found[written]:
            # A view of no_grad mode that is written in this mode has no gradient here: docs/deviations.md.
            assert not ours.tensors[written].requires_grad
            for each in (stale, found, theirs.tensors, ours.tensors):
                del each[written]
        assert found == stale, step
        if any(stale):
            break
        for a, b in zip(ours.tensors, theirs.tensors, strict=True):
            assert a.requires_grad == b.requires_grad, step
            assert a.is_leaf == b.is_leaf, step
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)
    expected = theirs.gradients(twice)
    found = ours.gradients(twice)
    if isinstance(found, str) and not isinstance(expected, str) and "modified by an inplace operation" in found:
        # PyTorch keeps nothing for a gradient that leads nowhere, so it does not notice when that was written.
        assert any(t.requires_grad and t.is_leaf and t._is_view() for t in ours.tensors)
        return
    assert isinstance(found, str) == isinstance(expected, str), (found, expected)
    if not isinstance(found, str) and not isinstance(expected, str):
        for a, b in zip(found, expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
