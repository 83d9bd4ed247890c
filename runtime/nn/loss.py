"""Losses as Modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from runtime.base.tensor import Tensor
from runtime.nn import functional as F
from runtime.nn.module import Module


class _Loss(Module):
    """Calls `function(input, target, **options)`; a subclass names the attributes that are options.

    Args:
        size_average: older than `reduction`, as is `reduce`; deprecated.
        reduce: see there.
        reduction: `none`, `mean` or `sum` over the elements.
    """

    function: ClassVar[Callable[..., Tensor]]
    _options: ClassVar[tuple[str, ...]] = ("reduction",)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = F.reduction_of_flags(size_average, reduce)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return self.function(input, target, **{name: getattr(self, name) for name in self._options})


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element, which is a buffer."""

    weight: Tensor | None
    _options: ClassVar[tuple[str, ...]] = ("weight", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|input - target|."""

    function = staticmethod(F.l1_loss)


class MSELoss(_Loss):
    """(input - target)^2."""

    function = staticmethod(F.mse_loss)


class SmoothL1Loss(_Loss):
    """|input - target| - beta / 2, and half the square over `beta` where the difference is below `beta`."""

    function = staticmethod(F.smooth_l1_loss)
    _options = ("reduction", "beta")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """SmoothL1Loss times `delta`, which is its `beta`."""

    function = staticmethod(F.huber_loss)
    _options = ("reduction", "delta")

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss):
    """Minus the input at the class that the target names; the input holds logarithms of probabilities.

    `weight` has a number for each class; targets that are `ignore_index` do not count.
    """

    function = staticmethod(F.nll_loss)
    _options = ("weight", "ignore_index", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy between the softmax of the input and the target: classes, or probabilities of all classes.

    `label_smoothing` is the part of the target that is spread over all classes; see NLLLoss for the others.
    """

    function = staticmethod(F.cross_entropy)
    _options = ("weight", "ignore_index", "reduction", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class BCELoss(_WeightedLoss):
    """The cross entropy between probabilities of one event; `weight` has a number for each element."""

    function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_WeightedLoss):
    """BCELoss of the sigmoid of the input; `pos_weight` multiplies the part of the event that happened."""

    pos_weight: Tensor | None
    function = staticmethod(F.binary_cross_entropy_with_logits)
    _options = ("weight", "reduction", "pos_weight")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence from the input, logarithms of probabilities, to the target.

    `log_target` tells that the target holds logarithms too; `reduction` may also be `batchmean`.
    """

    function = staticmethod(F.kl_div)
    _options = ("reduction", "log_target")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target
