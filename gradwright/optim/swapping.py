"""Other parameters and another state in an optimizer, for the length of a block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gradwright.optim.optimizer import Group, Optimizer
from runtime.base.tensor import Tensor


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """A block in which an optimizer has other parameters, and their state and options.

    After it the optimizer is as before. What is written into the Tensors of the state stays in them; what is put in
    their place does not.

    Args:
        optimizer: it must have taken a step.
        swapin_parameters: by names, in the order of the optimizer's parameters.
        swapin_optim_state: what `state_dict()` of such an optimizer gives.

    Raises:
        RuntimeError: the optimizer has no state, or the parameters or the state do not fit to its groups.
    """
    groups, state = _checked(optimizer, swapin_optim_state)
    tensors = list(swapin_parameters.values())
    if sum(len(group["params"]) for group in groups) > len(tensors):
        raise _problem("as many parameters as the groups of the optimizer have")
    if unknown := [key for key in state if not any(key in group["params"] for group in groups)]:
        raise _problem(f"a state of parameters by their numbers in the groups, and it has {unknown}")
    state_before, groups_before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    swapped: defaultdict[Any, Any] = defaultdict(dict)
    remaining = iter(tensors)
    try:
        for mine, other in zip(optimizer.param_groups, groups, strict=True):
            numbers = other["params"]
            params = [next(remaining) for _ in numbers]
            mine.update({**other, "params": params})
            swapped.update({p: dict(state.get(number, {})) for p, number in zip(params, numbers, strict=True)})
        optimizer.state = swapped
        yield
    finally:
        optimizer.state = state_before
        for group, before in zip(optimizer.param_groups, groups_before, strict=True):
            group.clear()
            group.update(before)


def _checked(optimizer: Optimizer, given: Any) -> tuple[list[Group], dict[Any, Any]]:
    """The groups and the state in it, which fit to the optimizer's groups."""
    if not optimizer.state:
        raise _problem("an optimizer that has a state")
    groups, state = (given.get("param_groups"), given.get("state")) if isinstance(given, dict) else (None, None)
    if not isinstance(groups, list) or not isinstance(state, dict):
        raise _problem("a state of the form that `state_dict` gives")
    if not all(isinstance(each, dict) for each in state.values()):
        raise _problem("a dictionary for the state of each parameter")
    if len(groups) != len(optimizer.param_groups):
        raise _problem(f"{len(optimizer.param_groups)} groups, and there are {len(groups)}")
    for mine, other in zip(optimizer.param_groups, groups, strict=True):
        numbers = other.get("params") if isinstance(other, dict) else None
        if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
            raise _problem("groups with numbers of parameters")
        if len(numbers) != len(mine["params"]):
            raise _problem(f"a group of {len(mine['params'])} parameters, and it has {len(numbers)}")
        if set(other) != set(mine):
            raise _problem(f"groups with the options of the optimizer's, other than {sorted(set(other) ^ set(mine))}")
    return groups, state


def _problem(wanted: str) -> RuntimeError:
    return RuntimeError(f"swap_in_optimizer_params_and_state requires {wanted}.")
