"""Averages of the parameters of a model over training (Izmailov et al. 2018; Polyak and Juditsky 1992)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

from gradwright.autograd import no_grad
from gradwright.nn.batch_norm import _BatchNorm
from gradwright.nn.module import Module
from gradwright.optim.optimizer import Optimizer
from gradwright.optim.schedules.base import LRScheduler, one_for_each_group
from gradwright.optim.schedules.cycles import check_strategy
from runtime import ops
from runtime.base.dtypes import int64
from runtime.base.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Tensor | int], Tensor]
MultiAverage = Callable[[list[Tensor], list[Tensor], Tensor | int], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function for the running mean of parameters, of which `decay` is kept each time.

    Raises:
        ValueError: `decay` is not from 0 to 1.
    """
    _check_decay(decay)

    @no_grad()
    def average(averaged: Tensor, current: Tensor, number: Tensor | int) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Average:
    """A function for the mean of all parameters so far, which are `number`."""

    @no_grad()
    def average(averaged: Tensor, current: Tensor, number: Tensor | int) -> Tensor:
        return averaged + (current - averaged) / (number + 1)

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """As `get_ema_avg_fn`, of lists, in place.

    Raises:
        ValueError: `decay` is not from 0 to 1.
    """
    _check_decay(decay)
    return _of_lists(lambda number: 1 - decay, get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> MultiAverage:
    """As `get_swa_avg_fn`, of lists, in place."""
    return _of_lists(lambda number: 1 / (number + 1), get_swa_avg_fn())


def _of_lists(weight: Callable[[Any], Any], average: Average) -> MultiAverage:
    """An average of lists: by the weight of what is new, of integers by `average`."""

    @no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], number: Tensor | int) -> None:
        for one, new in zip(averaged, current, strict=True):
            if one.is_floating_point() or one.is_complex():
                one.lerp_(new, float(weight(number)))
            else:
                one.copy_(average(one, new, number))

    return update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages of those of the model over time.

    Args:
        model: the model, which is copied.
        device: where the copy lies; None for where the model is.
        avg_fn: the new average of an average, a parameter and the number of parameters in the average; without it, and
            without `multi_avg_fn`, the mean.
        multi_avg_fn: as `avg_fn`, of lists, in place.
        use_buffers: average buffers, too; otherwise they are those of the model.

    Raises:
        AssertionError: `avg_fn` and `multi_avg_fn` are both given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.zeros((), dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the copy gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the averages; the first ones are taken as they are."""
        averaged = [tensor.detach() for tensor in self._averaged(self.module)]
        current = [tensor.detach().to(one.device) for one, tensor in zip(averaged, self._averaged(model), strict=False)]
        if self.n_averaged == 0:
            for one, new in zip(averaged, current, strict=True):
                one.copy_(new)
        elif self.avg_fn is not None:
            for one, new in zip(averaged, current, strict=True):
                one.copy_(self.avg_fn(one, new, self.n_averaged.to(one.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for ones, news in _alike(averaged, current):
                update(ones, news, self.n_averaged.to(ones[0].device))
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(buffer.detach().to(kept.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


def _alike(averaged: list[Tensor], current: list[Tensor]) -> Iterable[tuple[list[Tensor], list[Tensor]]]:
    """The lists in parts of one device and dtype."""
    parts: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for one, new in zip(averaged, current, strict=True):
        ones, news = parts.setdefault((str(one.device), one.dtype), ([], []))
        ones.append(one)
        news.append(new)
    return parts.values()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalization anew: the mean over all batches.

    Args:
        loader: gives batches, or lists and tuples that begin with one.
        model: is called with each, in training mode.
        device: where batches are brought to.
    """
    layers = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not layers:
        return
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present rates to `swa_lr` in `anneal_epochs` epochs; then they stay.

    Args:
        optimizer: whose learning rates are set.
        swa_lr: the last rate, or a list of one for each group.
        anneal_epochs: the number of epochs.
        anneal_strategy: "cos" for half a wave of the cosine, "linear" for a line.
        last_epoch: as of LRScheduler.

    Raises:
        ValueError: an option is out of its range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(one_for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        check_strategy(anneal_strategy)
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        present = self._present()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, present, strict=True):
            last = group["swa_lr"]
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates

    def _part(self, step: int) -> float:
        """Which part of the way is done after `step` steps."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2
