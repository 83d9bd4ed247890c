"""The cross entropy of an affine map, computed for a part of the batch at a time."""

from __future__ import annotations

from dataclasses import dataclass

from gradwright.utils.checkpoint import checkpoint
from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType

_POLICIES = ("auto", "accurate", "balanced", "compact")
_DTYPES = (None, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How `nn.functional.linear_cross_entropy` divides the batch, so that its logits are never all in memory.

    The logits of a part are computed again for its gradient. Derivatives of any order are those of the whole.

    Args:
        allow_retain_graph: accepted; a graph can be kept in any case.
        batch_chunk_size: the rows of a part; all of them if left out, unless `chunking_method` says it.
        chunking_method: `aspect_ratio`, with which the logits of a part are about as large as the input; the same with
            `:N` behind it, for parts smaller by that factor; `auto`, which chooses one of these if there is no
            `batch_chunk_size`; None.
        acc_policy: accepted: `auto`, `accurate`, `balanced` or `compact`, all of which are as accurate here.
        acc_dtype: in which logits and losses are computed; the dtype of the input if left out, with float32 for float16
            and bfloat16.

    Raises:
        ValueError: an option is none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            number = factor if colon else "1"
            if name != "aspect_ratio" or not number.isdigit() or int(number) == 0:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if not any(self.acc_dtype is dtype for dtype in _DTYPES):
            raise ValueError(
                f"acc_dtype must be None or one of {', '.join(map(str, _DTYPES[1:]))}, got {self.acc_dtype!r}"
            )

    def rows(self, batch: int, features: int, classes: int, half: bool) -> int:
        """How many rows a part has.

        Raises:
            ValueError: size and method of parts are both given, and differ.
        """
        method, size = self.chunking_method, self.batch_chunk_size
        if method == "auto":
            method = None if size is not None else "aspect_ratio" if half else "aspect_ratio:2"
        if method is None:
            return max(min(size or batch, batch), 1)
        parts = -(-classes // max(features, 1))
        wanted = -(-batch // parts)
        chosen = min((1 << max(wanted - 1, 0).bit_length()) // int(method.partition(":")[2] or 1), batch)
        if size is not None and size != chosen:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{self.chunking_method}') give different chunk sizes "
                f"({size} vs {chosen}); pass only one."
            )
        return max(chosen, 1)

    def by_parts(
        self,
        input: Tensor,
        linear_weight: Tensor,
        target: Tensor,
        linear_bias: Tensor | None,
        weight: Tensor | None,
        reduction: str,
        ignore_index: int,
    ) -> Tensor:
        """The cross entropy of classes; the arguments are those of `linear_cross_entropy`."""
        single = input.dim() == 1
        rows, labels = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        half = input.dtype in (dtypes.float16, dtypes.bfloat16)
        inner = self.acc_dtype or (dtypes.float32 if half else input.dtype)
        size = self.rows(rows.shape[0], rows.shape[1], linear_weight.shape[0], half)

        def losses(x: Tensor, classes: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
            logits = ops.linear(x.to(inner), matrix.to(inner), None if bias is None else bias.to(inner))
            by_class = None if weight is None else weight.to(inner)
            return ops.cross_entropy_loss(logits, classes, by_class, 0, ignore_index)

        parts = [
            checkpoint(losses, x, classes, linear_weight, linear_bias, use_reentrant=False)
            for x, classes in zip(ops.split(rows, size), ops.split(labels, size), strict=True)
        ]
        loss = ops.cat(parts) if parts else losses(rows, labels, linear_weight, linear_bias)
        if reduction == "none":
            out = loss.squeeze(0) if single else loss
        else:
            out = loss.sum()
            if reduction == "mean":
                counted = labels != ignore_index
                if weight is None:
                    out = out / counted.sum()
                else:
                    classes = labels.masked_fill(counted.logical_not(), 0)
                    out = out / weight.to(inner).index_select(0, classes).masked_fill(counted.logical_not(), 0).sum()
        return out.to(input.dtype)
