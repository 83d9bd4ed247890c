"""Schedules that multiply learning rates from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from gradwright.optim.optimizer import Optimizer
from gradwright.optim.schedules.base import LRScheduler, attributes_of, interpolate


class _ByFunctions(LRScheduler):
    """A schedule by functions of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: one function, or a list of one for each group.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: there are more or fewer functions than groups.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As of LRScheduler; of callable objects their attributes, of functions nothing."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [attributes_of(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned; functions stay what they are."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                vars(function).update(attributes)
        super().load_state_dict(state)


class LambdaLR(_ByFunctions):
    """The initial rate times a function of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: one function, or a list of one for each group.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: there are more or fewer functions than groups.
    """

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        self._warn_if_called_alone()
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The rate times a function of the epoch, every epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: one function, or a list of one for each group.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: there are more or fewer functions than groups.
        TypeError: one is none.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self._is_initial:
            return present
        return [rate * function(self.last_epoch) for rate, function in zip(present, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs; `last_epoch` as of LRScheduler."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return present
        return [rate * self.gamma for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the epochs in `milestones`; `last_epoch` as of LRScheduler."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch not in self.milestones:
            return present
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every epoch; `last_epoch` as of LRScheduler."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        return present if self._is_initial else [rate * self.gamma for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` in the first `total_iters` epochs; `last_epoch` as of LRScheduler.

    Raises:
        ValueError: `factor` is not from 0 to 1.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in present]
        if self.last_epoch != self.total_iters:
            return present
        return [rate * (1.0 / self.factor) for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the rate, along a line.

    Args:
        optimizer: whose learning rates are set.
        start_factor: of the first epoch, above 0, at most 1.
        end_factor: of epoch `total_iters` and those after it.
        total_iters: the number of epochs.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: a factor is out of its range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in present]
        if self._is_initial or self.last_epoch > self.total_iters:
            return present
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return [rate * (1.0 + change / before) for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * interpolate(self.start_factor, self.end_factor, part) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Down to 0 in `total_iters` epochs, as that `power` of what is left of them; `last_epoch` as of LRScheduler."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self._is_initial or self.last_epoch > self.total_iters:
            return present
        ratio = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return [rate * ratio**self.power for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs along half a wave of the cosine (Loshchilov and Hutter 2017), then up again.

    Args:
        optimizer: whose learning rates are set.
        T_max: the number of epochs.
        eta_min: the lowest rate.
        last_epoch: as of LRScheduler.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        if self._is_initial:
            return present
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The epoch before was the lowest point, where the ratio below would divide by zero.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, present, strict=True)]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in present]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        half = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * half for base in self.base_lrs]
