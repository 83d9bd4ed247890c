"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from gradwright.optim.optimizer import Optimizer
from gradwright.optim.schedules.base import LRScheduler, set_value, values_of
from gradwright.optim.schedules.plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """The base: it checks its members and keeps their states."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer: that at index {number} does not"
                )

    def state_dict(self) -> dict[str, Any]:
        """As of LRScheduler, with the states of the members."""
        state = super().state_dict()
        del state["_schedulers"]
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned."""
        state = dict(state_dict)
        members = state.pop("_schedulers")
        super().load_state_dict(state)
        for scheduler, kept in zip(self._schedulers, members, strict=True):
            scheduler.load_state_dict(kept)


class SequentialLR(_Combined):
    """One schedule after the other.

    Args:
        optimizer: whose learning rates are set.
        schedulers: schedules of that optimizer.
        milestones: the epochs in which the second one begins, the third one, and so on.
        last_epoch: as of LRScheduler.

    Raises:
        TypeError: one is no schedule.
        ValueError: there is no schedule, one is of another optimizer or a ReduceLROnPlateau, or there is not one
            milestone less than schedules.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # All members have set their first rates: that is undone, but for the first one of them.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            scheduler._rewind()
        self._first()._begin()
        self._last_lr = self._first().get_last_lr()

    def _first(self) -> LRScheduler:
        return self._schedulers[bisect_right(self._milestones, 0)]

    def _begin(self) -> None:
        self.last_epoch += 1
        self._first()._begin()
        self._last_lr = self._first().get_last_lr()

    def _rewind(self) -> None:
        """Be as before `_begin`: of the members, only the first one has begun."""
        self.last_epoch -= 1
        self._first()._rewind()

    def _enter(self) -> None:
        self.last_epoch = 0
        self._first()._enter()
        self._last_lr = self._first().get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Set the learning rates of the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._enter()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedules at once: each changes the rate that the one before it has set.

    Args:
        schedulers: schedules of one optimizer.
        optimizer: that optimizer; None for that of the first one.

    Raises:
        TypeError: one is no schedule.
        ValueError: there is no schedule, or one is of another optimizer or a ReduceLROnPlateau.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        self._check(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = values_of(optimizer, "lr")

    def _begin(self) -> None:
        for scheduler in self._schedulers:
            scheduler._begin()
        self._last_lr = values_of(self.optimizer, "lr")

    def _rewind(self) -> None:
        for scheduler in self._schedulers:
            scheduler._rewind()

    def _enter(self) -> None:
        """Set the rates of epoch 0: after the first one, members begin with the rate that they find."""
        first, *others = self._schedulers
        first._enter()
        for scheduler in others:
            scheduler._begin()
        self._last_lr = values_of(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Let all of them set the learning rates of the next epoch, one after the other."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")
