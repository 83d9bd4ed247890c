"""Rows of a table, and bags of them, as Modules."""

from __future__ import annotations

from typing import Any, Self

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class _Table(Module):
    """A table of vectors, one of which may be zeros."""

    weight: Tensor

    def _make(
        self,
        padding_name: str,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        table: Tensor | None,
        requires_grad: bool,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        """Keep the sizes, and make the table or take the one that is given.

        Raises:
            AssertionError: `padding_idx` is no row, or a given table has another shape.
        """
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"{padding_name} must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if table is None:
            empty = ops.empty([num_embeddings, embedding_dim], dtype=dtype, device=device)
            self.weight = Parameter(empty, requires_grad=requires_grad)
            self.reset_parameters()
        else:
            if table.shape != (num_embeddings, embedding_dim):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(table, requires_grad=requires_grad)

    def _options(self, **usual: Any) -> list[str]:
        """The sizes, and those of the options that are not as usual, as they are shown."""
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        return parts + [f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]]

    def reset_parameters(self) -> None:
        """Draw the table anew from the normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Rows of a table, looked up by their numbers.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: their length.
        padding_idx: a row that starts as zeros and gets no gradient.
        max_norm: rows that are looked up are shortened to this norm first.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        sparse: the gradient of the table is a sparse Tensor.
        device: where the table lives.
        dtype: of the table.

    Raises:
        AssertionError: `padding_idx` is no row, or a given table has another shape.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self._make("Padding_idx", num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        """The rows: of shape (*, embedding_dim) for integers of shape (*)."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """The sizes, and options that are not the usual ones."""
        parts = self._options(padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False)
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding over the memory of a 2-dim Tensor, not to be trained if `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        return cls(
            rows,
            length,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a table.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: their length.
        max_norm: rows that are looked up are shortened to this norm first.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        mode: `sum`, `mean` or `max`.
        sparse: the gradient of the table is a sparse Tensor; not with `mode` "max".
        include_last_offset: whether the last offset is where the last bag ends.
        padding_idx: a row that starts as zeros, does not count and gets no gradient.
        device: where the table lives.
        dtype: of the table.

    Raises:
        AssertionError: `padding_idx` is no row, or a given table has another shape.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self._make("padding_idx", num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """The bags: of shape (B, embedding_dim) for integers of shape (B, N), or (N) with offsets of shape (B)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, options that are not the usual ones, and the mode."""
        parts = [*self._options(max_norm=None, norm_type=2, scale_grad_by_freq=False), f"mode={self.mode!r}"]
        return ", ".join(parts if self.padding_idx is None else [*parts, f"padding_idx={self.padding_idx}"])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """An EmbeddingBag over the memory of a 2-dim Tensor, not to be trained if `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        made = cls(
            rows,
            length,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
