"""Losses as Modules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import ClassVar

from gradwright.nn import functional as F
from gradwright.nn.distance import PairwiseDistance
from gradwright.nn.linear import Linear
from gradwright.nn.linear_cross_entropy import LinearCrossEntropyOptions
from gradwright.nn.module import Module
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


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


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), for targets 1 and -1."""

    function = staticmethod(F.soft_margin_loss)


class MultiLabelMarginLoss(_Loss):
    """By how much other classes come nearer than 1 to each label of a sample; labels end before the first -1."""

    function = staticmethod(F.multilabel_margin_loss)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the cross entropy between logits and zeros and ones; `weight` is one of each class."""

    function = staticmethod(F.multilabel_soft_margin_loss)


class MultiMarginLoss(_WeightedLoss):
    """By how much, to the power `p`, other classes come nearer than `margin` to the one that the target names.

    Raises:
        ValueError: `p` is neither 1 nor 2, or `weight` has not one dimension.
    """

    function = staticmethod(F.multi_margin_loss)
    _options = ("p", "margin", "weight", "reduction")

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"weight must be None or 1-dimensional, got {weight.dim()} dimensions")
        self.p = p
        self.margin = margin


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, and what it lacks to `margin` where it is -1."""

    function = staticmethod(F.hinge_embedding_loss)
    _options = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class PoissonNLLLoss(_Loss):
    """Minus the logarithm of the Poisson distribution's probability of the target.

    Args:
        log_input: whether the input is the logarithm of the expectation.
        full: adds Stirling's approximation of log(target!).
        size_average: older than `reduction`, as is `reduce`; deprecated.
        eps: added to an input that is no logarithm.
        reduce: see there.
        reduction: `none`, `mean` or `sum`.
    """

    function = staticmethod(F.poisson_nll_loss)
    _options = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps


class _LossOfSeveral(_Loss):
    """A loss of other inputs than one and a target."""

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        """The loss."""
        return self.function(*inputs, **named, **{name: getattr(self, name) for name in self._options})


class GaussianNLLLoss(_LossOfSeveral):
    """Minus the logarithm of the normal density of a target, from input (the mean), target and variance.

    `full` adds the constant; variances count as at least `eps`.
    """

    function = staticmethod(F.gaussian_nll_loss)
    _options = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps


class MarginRankingLoss(_LossOfSeveral):
    """max(0, margin - target * (input1 - input2)): a target of 1 says that input1 is to be larger."""

    function = staticmethod(F.margin_ranking_loss)
    _options = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_LossOfSeveral):
    """1 - cos of two inputs where the target is 1, and max(0, cos - margin) where it is -1."""

    function = staticmethod(F.cosine_embedding_loss)
    _options = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class TripletMarginLoss(_LossOfSeveral):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), of distances by a p-norm.

    Args:
        margin: above 0.
        p: of the norm.
        eps: added to the differences.
        swap: whether the negative sample's distance from the positive one counts where it is less.
        size_average: older than `reduction`, as is `reduce`; deprecated.
        reduce: see there.
        reduction: `none`, `mean` or `sum`.

    Raises:
        ValueError: the margin is not above 0.
    """

    function = staticmethod(F.triplet_margin_loss)
    _options = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap


class TripletMarginWithDistanceLoss(_LossOfSeveral):
    """TripletMarginLoss by any distance, which is PairwiseDistance if left out.

    Raises:
        ValueError: the margin is not above 0.
    """

    function = staticmethod(F.triplet_margin_with_distance_loss)
    _options = ("distance_function", "margin", "swap", "reduction")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")


class CTCLoss(_Loss):
    """Minus the logarithm of the probability of all paths that give a sequence of labels.

    Args:
        blank: the class that stands for no label.
        reduction: `none`, `sum`, or `mean` of the losses by the lengths of their targets.
        zero_infinity: whether losses of targets that do not fit into the input are 0, with their gradients.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(  # type: ignore[override]
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        """The loss of logarithms of probabilities (T, N, C), or (T, C); see `nn.functional.ctc_loss`."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class NLLLoss2d(NLLLoss):
    """An older name of NLLLoss."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "NLLLoss2d has been deprecated. Please use NLLLoss instead as a drop-in replacement.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear map of the input, which is a part of this Module.

    Args:
        in_features: the size of the input.
        num_classes: how many classes there are.
        out_features: the sizes of places that have a class each.
        bias: whether the map adds something.
        device: where its parameters live.
        dtype: of its parameters.
        reduction: `none`, `mean` or `sum`.
        weight: a number for each class.
        ignore_index: a class that does not count.
        label_smoothing: the part of the target that is spread over all classes.
        options: how the batch is divided; see LinearCrossEntropyOptions.

    Raises:
        RuntimeError: the weight has another shape, or the part is none.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss; see `nn.functional.linear_cross_entropy`."""
        sizes = [self.num_classes, *self.out_features]
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape([*sizes, self.linear.in_features]),
            target,
            linear_bias=None if bias is None else bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The sizes and all options."""
        names = ("out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        values = {"bias": self.linear.bias is not None}
        options = ", ".join(f"{name}={values[name] if name in values else getattr(self, name)}" for name in names)
        return f"in_features={self.linear.in_features}, num_classes={self.num_classes}, {options}"
