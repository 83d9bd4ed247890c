"""A softmax over many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from gradwright.nn import functional as F
from gradwright.nn.containers import ModuleList, Sequential
from gradwright.nn.linear import Linear
from gradwright.nn.module import Module
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class _ASMoutput(NamedTuple):
    """The logarithms of the probabilities of the targets, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithm of a softmax over classes that are sorted by frequency, the most frequent ones first.

    The head has the frequent classes, and one element for each cluster of others; a cluster has a smaller projection
    of its own (Grave, Joulin, Cisse, Grangier, Jegou: Efficient softmax approximation for GPUs, ICML 2017).

    Args:
        in_features: the size of the input.
        n_classes: how many classes there are.
        cutoffs: the classes at which clusters begin, in order.
        div_value: the projection of each cluster is smaller than that of the one before by this factor.
        head_bias: whether the head has a bias.
        device: where the parameters live.
        dtype: of the parameters.

    Raises:
        ValueError: the cutoffs are none, or not in order, or no classes but the first.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        places = list(cutoffs)
        if not places:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if any(int(place) != place for place in places) or any(
            low >= high for low, high in pairwise([0, *places, n_classes])
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*places, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = places[0]
        self.n_clusters = len(places)
        self.head_size = self.shortlist_size + self.n_clusters
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            inner = int(in_features // div_value**number)
            projection = Linear(in_features, inner, bias=False, **factory)
            self.tail.append(Sequential(projection, Linear(inner, high - low, bias=False, **factory)))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.head.reset_parameters()
        for module in self.tail.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The logarithms of the probabilities of the target classes, and the loss.

        Args:
            input_: (N, in_features), or without N.
            target_: classes, (N), or without N.

        Raises:
            RuntimeError: the shapes do not fit, or a target is no class.
        """
        _check(input_, target_)
        single = target_.dim() == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if bool(((target < 0).logical_or(target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        places = target  # in the head
        output = input.new_zeros(list(target.shape))
        for number, (low, high) in enumerate(pairwise(self.cutoffs)):
            inside = (target >= low).logical_and(target < high)
            rows = inside.nonzero().reshape([-1])
            if rows.numel() == 0:
                continue
            scores = F.log_softmax(self.tail[number](input.index_select(0, rows)), 1)
            own = scores.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, own)
            places = places.masked_fill(inside, self.shortlist_size + number)
        head = F.log_softmax(self.head(input), 1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _parts(self, input: Tensor, head: Tensor) -> Iterator[Tensor]:
        scores = F.log_softmax(head, 1)
        yield scores[:, : self.shortlist_size]
        for number, cluster in enumerate(self.tail):
            yield F.log_softmax(cluster(input), 1) + scores[:, self.shortlist_size + number].unsqueeze(1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes: (N, n_classes) for an input of shape (N, in_features)."""
        return ops.cat(list(self._parts(input, self.head(input))), 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row of the input.

        Clusters are computed for the rows alone in which the head has one in the first place.
        """
        head = self.head(input)
        classes: Tensor = head.argmax(1)
        rows = (classes >= self.shortlist_size).nonzero().reshape([-1])
        if rows.numel() == 0:
            return classes
        parts = self._parts(input.index_select(0, rows), head.index_select(0, rows))
        return classes.index_copy(0, rows, ops.cat(list(parts), 1).argmax(1))


def _check(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.shape[0] != target.shape[0]:
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
            f"{input.shape}"
        )
