"""Transformers: layers of attention and of linear maps, of an encoder and a decoder."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.attention import MultiheadAttention
from gradwright.nn.containers import ModuleList
from gradwright.nn.dropout import Dropout
from gradwright.nn.functional_attention import added_mask
from gradwright.nn.linear import Linear
from gradwright.nn.module import Module
from gradwright.nn.normalization import LayerNorm
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType

Activation = Callable[[Tensor], Tensor]


def _activation(given: str | Activation) -> Activation:
    if not isinstance(given, str):
        return given
    known: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if given not in known:
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return known[given]


def _causal_mask(size: int, device: Device | str | None = None, dtype: DType | None = None) -> Tensor:
    return ops.triu(ops.full([size, size], -math.inf, dtype=dtype, device=device), 1)


def _is_causal(mask: Tensor | None, hint: bool | None, size: int) -> bool:
    """The hint; without one, whether the mask lets nobody see what is later."""
    if hint is not None or mask is None:
        return bool(hint)
    if tuple(mask.shape) != (size, size) or not mask.is_floating_point():
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.shape[1] if batch_first and x.dim() == 3 else x.shape[0]


class _Layer(Module):
    """What layers of encoder and decoder have in common.

    Args:
        d_model: the size of an element of a sequence.
        nhead: how many heads attention has.
        dim_feedforward: the size between the two linear maps.
        dropout: the probability of a zero, in training.
        activation: between the two linear maps: `relu`, `gelu` or a function.
        layer_norm_eps: added to variances.
        batch_first: sequences are of shape (batch, time, d_model), and not (time, batch, d_model).
        norm_first: each part normalizes what it takes, and not what it gives.
        bias: whether linear maps and normalizations have shifts.
        device: where the parameters live.
        dtype: of the parameters.
    """

    _attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, device=device, dtype=dtype
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, device=device, dtype=dtype)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for part in parts:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
            setattr(self, f"norm{part}", norm)
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(dropout))
        self.activation = _activation(activation)

    def _add(self, number: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """What a part makes of `x`, added to it; the norm and dropout of that number are its own."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        out: Tensor = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return out

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))  # type: ignore[no-any-return]


def _see(
    attention: MultiheadAttention,
    x: Tensor,
    memory: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    is_causal: bool,
) -> Tensor:
    """What each element of `x` sees of `memory`."""
    out: Tensor = attention(
        x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
    )[0]
    return out


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, and two linear maps. The arguments are those of all layers.

    The results of PyTorch's path for inference are the same, but for rounding.
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence, changed; the masks are those of MultiheadAttention."""
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask)
        mask = added_mask(src_mask, "src_mask", src.dtype)
        x = self._add(1, src, lambda x: _see(self.self_attn, x, x, mask, padding, is_causal))
        return self._add(2, x, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """As TransformerEncoderLayer, with attention to what an encoder made of another sequence between the two."""

    _attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence, changed; the masks are those of MultiheadAttention."""
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._add(1, tgt, lambda x: _see(self.self_attn, x, x, *own))
        x = self._add(2, x, lambda x: _see(self.multihead_attn, x, memory, *other))
        return self._add(3, x, self._feed_forward)


class _Layers(Module):
    """Copies of a layer one after the other.

    Args:
        layer: what is copied.
        num_layers: how many.
        norm: a Module after the last, if there is to be one.
    """

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _run(self, x: Tensor, call: Callable[[Any, Tensor], Tensor]) -> Tensor:
        for layer in self.layers:
            x = call(layer, x)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Layers):
    """Layers of an encoder.

    Args:
        encoder_layer: what is copied.
        num_layers: how many.
        norm: a Module after the last, if there is to be one.
        enable_nested_tensor: accepted; padding is always computed, and never made zeros.
        mask_check: accepted.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers; `is_causal` is found out from the mask, if it is left out."""
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask)
        mask = added_mask(mask, "mask", src.dtype)
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        options = {"src_mask": mask, "is_causal": causal, "src_key_padding_mask": padding}
        return self._run(src, lambda layer, x: layer(x, **options))


class TransformerDecoder(_Layers):
    """Layers of a decoder: copies of `decoder_layer`, and a norm after the last."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after all layers; `tgt_is_causal` is found out from the mask, if it is left out."""
        options = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
            "tgt_is_causal": _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first)),
            "memory_is_causal": memory_is_causal,
        }
        return self._run(tgt, lambda layer, x: layer(x, memory, **options))


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that sees what the encoder made.

    Args:
        d_model: the size of an element of the sequences.
        nhead: how many heads attention has.
        num_encoder_layers: how many layers the encoder has.
        num_decoder_layers: how many layers the decoder has.
        dim_feedforward: see the layers, as for all that follow.
        dropout: the probability of a zero, in training.
        activation: `relu`, `gelu` or a function.
        custom_encoder: a Module in the place of the encoder.
        custom_decoder: a Module in the place of the decoder.
        layer_norm_eps: added to variances.
        batch_first: sequences are of shape (batch, time, d_model).
        norm_first: each part normalizes what it takes.
        bias: whether there are shifts.
        device: where the parameters live.
        dtype: of the parameters.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        options: Any = {
            "dim_feedforward": dim_feedforward,
            "dropout": dropout,
            "activation": activation,
            "layer_norm_eps": layer_norm_eps,
            "batch_first": batch_first,
            "norm_first": norm_first,
            "bias": bias,
            "device": device,
            "dtype": dtype,
        }

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder: Module = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, **options), num_encoder_layers, norm()
        )
        self.decoder: Module = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(d_model, nhead, **options), num_decoder_layers, norm()
        )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The second sequence after the decoder; the masks are those of MultiheadAttention."""
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """A mask that lets nobody see what is later: minus infinity above the diagonal, zeros elsewhere."""
        return _causal_mask(sz, device, dtype)
