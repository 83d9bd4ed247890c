"""Schedules that go up and down: in cycles, in one, or with restarts."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from gradwright.optim.optimizer import Optimizer
from gradwright.optim.schedules.base import (
    LRScheduler,
    Momentum,
    check_optimizer,
    interpolate,
    interpolate_by_cosine,
    one_for_each_group,
    set_momentum,
    set_value,
)


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` along a line and down again, for ever (Smith 2017); a step is a batch.

    Args:
        optimizer: whose learning rates are set.
        base_lr: the lowest rate, or a list of one for each group.
        max_lr: the highest rate of the first cycle, or a list of one for each group.
        step_size_up: the number of steps upwards.
        step_size_down: that downwards; None for the same number.
        mode: how cycles get lower: "triangular" not at all, "triangular2" to half, "exp_range" by `gamma` every step.
        gamma: see `mode`.
        scale_fn: a function to multiply the height of a cycle by instead.
        scale_mode: whether that is a function of the number of the cycle, from 1 ("cycle"), or of the step
            ("iterations").
        cycle_momentum: change the momentum against the rate.
        base_momentum: the lowest momentum, or a list of one for each group.
        max_momentum: the highest, or a list of one for each group.
        last_epoch: as of LRScheduler.

    Raises:
        TypeError: `optimizer` is none.
        ValueError: `mode` is unknown, the optimizer has no momentum to change, or a list has not one of each group.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        base_lrs = one_for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = one_for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momentum = Momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.use_beta1 = momentum.is_beta
            self.base_momentums, self.max_momentums = momentum.lowest, momentum.highest
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle: of number `x`, or at step `x`."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list[Any]:
        """The rates of this step; it sets momenta, too."""
        self._warn_if_called_alone()
        done = self.last_epoch / self.total_size
        cycle = math.floor(1 + done)
        part = 1.0 + done - cycle
        height = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in momenta:
                set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """As of LRScheduler; of a callable object that scales its attributes, of a function nothing."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        is_kept = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = dict(vars(function)) if is_kept else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned; a function that scales stays what it is."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if attributes is not None:
            vars(self._scale_fn_custom).update(attributes)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along half a wave of the cosine, again and again (Loshchilov and Hutter 2017).

    Args:
        optimizer: whose learning rates are set.
        T_0: the number of epochs before the first restart.
        T_mult: times that many are before the next one.
        eta_min: the lowest rate.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: `T_0` or `T_mult` is no positive integer, or `eta_min` no number.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        self._warn_if_called_alone()
        half = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * half for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next epoch; of `epoch`, which may be between two.

        Raises:
            ValueError: `epoch` is negative.
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates()

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            # Restart number n comes after T_0 (T_mult**n - 1) / (T_mult - 1) epochs.
            restart = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restart - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restart


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, and down far below where it began, in one cycle (Smith and Topin 2019); a step is a batch.

    Args:
        optimizer: whose learning rates are set.
        max_lr: the highest rate, or a list of one for each group.
        total_steps: the number of steps; None for `epochs` times `steps_per_epoch`.
        epochs: see `total_steps`.
        steps_per_epoch: see `total_steps`.
        pct_start: which part of the steps goes upwards.
        anneal_strategy: "cos" for half waves of the cosine, "linear" for lines.
        cycle_momentum: change the momentum against the rate.
        base_momentum: the lowest momentum, or a list of one for each group.
        max_momentum: the highest, or a list of one for each group.
        div_factor: the first rate is `max_lr` divided by that.
        final_div_factor: the last rate is the first one divided by that.
        three_phase: go down to the first rate in as many steps as up, and further down in those that are left.
        last_epoch: as of LRScheduler.

    Raises:
        TypeError: `optimizer` is none.
        ValueError: an option is out of its range, or the number of steps is not given.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highest = one_for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = Momentum(optimizer, base_momentum, max_momentum, last_epoch == -1).is_beta
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step; it sets momenta, too.

        Raises:
            ValueError: there are no more steps.
        """
        self._warn_if_called_alone()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if step <= phase["end_step"]:
                break
            start, phase = phase["end_step"], following
        part = (step - start) / (phase["end_step"] - start)
        between = interpolate_by_cosine if self._anneal_func_type == "cos" else interpolate
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                value = between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                set_momentum(group, value, self.use_beta1)
        return rates


def check_strategy(strategy: Any) -> None:
    """Refuse an unknown way from one rate to another.

    Raises:
        ValueError: it is neither "cos" nor "linear".
    """
    if strategy not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}")


def _number_of_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    number = 1
    for name, value in (given if total_steps is None else {"total_steps": total_steps}).items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        number *= value
    return number


def _phases(total: int, part: float, three: bool) -> list[dict[str, Any]]:
    """For each phase its last step, and the options that the rate and the momentum go between."""
    up = float(part * total)

    def phase(end: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        (start_lr, end_lr), (start, stop) = rates, momenta
        return {
            "end_step": end,
            "start_lr": start_lr,
            "end_lr": end_lr,
            "start_momentum": start,
            "end_momentum": stop,
        }

    down = "max_momentum", "base_momentum"
    first = phase(up - 1, ("initial_lr", "max_lr"), down)
    if not three:
        return [first, phase(total - 1, ("max_lr", "min_lr"), down[::-1])]
    return [
        first,
        phase(2 * up - 2, ("max_lr", "initial_lr"), down[::-1]),
        phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]
