"""The base of schedules of the learning rate: each `step` sets `lr` in the groups of an optimizer.

A schedule computes the next rate from the present one wherever it can, so that several may act on one optimizer.
"""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable
from typing import Any

from gradwright.optim.optimizer import Optimizer
from runtime.base.tensor import Tensor

EPOCH_IS_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler."
)


class LRScheduler:
    """Base class of schedules; a subclass defines `get_lr`, and `_get_closed_form_lr` if there is one.

    Args:
        optimizer: whose learning rates are set.
        last_epoch: the number of the last epoch, to go on from; -1 starts anew.

    Raises:
        TypeError: `optimizer` is none.
        KeyError: a group does not have the `initial_lr` that going on takes.
    """

    base_lrs: list[Any]
    _last_lr: list[Any]
    _is_initial: bool = False
    _get_lr_called_within_step: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0: load the state of the optimizer first, or start with last_epoch=-1"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        # From here on the optimizer notes its steps.
        optimizer.__dict__.setdefault("_opt_called", False)
        self._begin()

    def _begin(self) -> None:
        """Set the first rates: the step that no step of the optimizer goes before."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def _rewind(self) -> None:
        """Be as before `_begin`; the rates stay as they are."""
        self.last_epoch -= 1

    def _enter(self) -> None:
        """Set the rates of epoch 0 in the middle of a run, by the closed form if there is one."""
        self._advance(0)

    def get_last_lr(self) -> list[Any]:
        """The learning rate of each group, as it was set last."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rate of each group in epoch `last_epoch`, from the present one."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch; of epoch `epoch`, which is deprecated."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
                "learning rate schedule is skipped.",
                UserWarning,
                stacklevel=2,
            )
        if epoch is not None:
            warnings.warn(EPOCH_IS_DEPRECATED, UserWarning, stacklevel=2)
        self._step_count += 1
        self._advance(epoch)

    def _advance(self, epoch: int | None) -> None:
        """Set the rates of the next epoch, or of epoch `epoch`, by the closed form if there is one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set_rates(closed)

    def _set_rates(self, rates: Callable[[], list[Any]] | None = None) -> None:
        """Set what `rates` says, `get_lr` without it."""
        self._get_lr_called_within_step = True
        try:
            found = (self.get_lr if rates is None else rates)()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, found, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _present(self) -> list[Any]:
        """The learning rates as they are, for `get_lr` to start from."""
        self._warn_if_called_alone()
        return values_of(self.optimizer, "lr")

    def _warn_if_called_alone(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=4,
            )

    def state_dict(self) -> dict[str, Any]:
        """All of this object's state but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def values_of(optimizer: Optimizer, name: str) -> list[Any]:
    """An option of each group; of Tensors copies."""
    return [copied(group[name]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    """A copy of a Tensor; other values as they are."""
    return value.clone() if isinstance(value, Tensor) else value


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; a Tensor gets another value and stays the same."""
    if isinstance(group[name], Tensor):
        group[name].data.fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def one_for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that is one value for all groups, or a list of one for each.

    Raises:
        ValueError: the list has another length.
    """
    groups = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {groups}."
        )
    return [copied(one) for one in values]


def attributes_of(function: Any) -> dict[str, Any] | None:
    """What a state dict keeps of a function: of callable objects their attributes, of functions nothing."""
    return None if function is None or isinstance(function, types.FunctionType) else dict(vars(function))


def interpolate_by_cosine(start: Any, end: Any, part: float) -> Any:
    """From `start` to `end` along half a wave of the cosine (Loshchilov and Hutter 2017)."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def interpolate(start: Any, end: Any, part: float) -> Any:
    """From `start` to `end` along a line."""
    return (end - start) * part + start


class Momentum:
    """The momentum of an optimizer, which some schedules change against its learning rate.

    Raises:
        ValueError: it has neither `momentum` nor `betas`.
    """

    def __init__(self, optimizer: Optimizer, lowest: Any, highest: Any, begins: bool) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.is_beta = "betas" in optimizer.defaults
        self.lowest = one_for_each_group("base_momentum", optimizer, lowest)
        self.highest = one_for_each_group("max_momentum", optimizer, highest)
        if begins:
            for low, high, group in zip(self.lowest, self.highest, optimizer.param_groups, strict=True):
                set_momentum(group, high, self.is_beta)
                group["max_momentum"], group["base_momentum"] = high, low


def set_momentum(group: dict[str, Any], value: Any, is_beta: bool) -> None:
    """Set the momentum of a group, or its first beta."""
    if is_beta:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
