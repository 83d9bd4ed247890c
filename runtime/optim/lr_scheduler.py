"""Schedules of the learning rate: each `step` of one sets `lr` in the groups of its optimizer.

A schedule computes the next rate from the present one wherever it can, so that several may act on one optimizer.
"""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from runtime.base.tensor import Tensor
from runtime.optim.optimizer import Optimizer


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

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
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
        self.base_lrs = [_number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        # From here on the optimizer notes its steps.
        optimizer.__dict__.setdefault("_opt_called", False)
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False
        self._advance(None)
        self._is_initial = False

    def get_last_lr(self) -> list[Any]:
        """The learning rate of each group, as it was set last."""
        return self._last_lr

    def get_lr(self) -> list[float]:
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
            warnings.warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
                "Please use `scheduler.step()` to step the scheduler.",
                UserWarning,
                stacklevel=2,
            )
        self._advance(epoch)

    def _advance(self, epoch: int | None) -> None:
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].data.fill_(_number(rate))
            else:
                group["lr"] = rate
        self._last_lr = [_number(group["lr"]) for group in self.optimizer.param_groups]

    def _present(self) -> list[float]:
        """The learning rates as they are, for `get_lr` to start from."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All of this object's state but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

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
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        self._present()
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """As of LRScheduler; of callable objects their attributes, of functions nothing."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else dict(vars(function)) for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned; functions stay what they are."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                vars(function).update(attributes)
        super().load_state_dict(state)


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs; `last_epoch` as of LRScheduler."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return present
        return [rate * self.gamma for rate in present]

    def _get_closed_form_lr(self) -> list[float]:
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

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        present = self._present()
        if self.last_epoch not in self.milestones:
            return present
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in present]

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every epoch; `last_epoch` as of LRScheduler."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        present = self._present()
        return present if self._is_initial else [rate * self.gamma for rate in present]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


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

    def get_lr(self) -> list[float]:
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

    def _get_closed_form_lr(self) -> list[float]:
        half = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * half for base in self.base_lrs]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value
