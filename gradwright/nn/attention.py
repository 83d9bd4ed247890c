"""Attention of several heads, and which kernels compute it."""

from __future__ import annotations

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.linear import Linear
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType
from runtime.operators.attention_kernels import SDPBackend as SDPBackend
from runtime.operators.attention_kernels import sdpa_kernel as sdpa_kernel


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear, under the name that PyTorch prints for the last map of an attention."""


class MultiheadAttention(Module):
    """Each query sees a mean of the values, weighted by how well their keys fit; several heads do so side by side.

    Args:
        embed_dim: the size of a query.
        num_heads: how many heads it is divided into.
        dropout: the probability that a weight is 0, in training.
        bias: whether the linear maps have shifts.
        add_bias_kv: whether there is one more key and value, which are learned.
        add_zero_attn: whether there is one more key and value of zeros.
        kdim: the size of a key; `embed_dim`, if left out.
        vdim: the size of a value; `embed_dim`, if left out.
        batch_first: Tensors are of shape (batch, time, size), and not (time, batch, size).
        device: where the parameters live.
        dtype: of the parameters.

    Raises:
        ValueError: a size that is not greater than 0.
        AssertionError: `embed_dim` can not be divided by `num_heads`.
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        separate = {
            "q_proj_weight": [embed_dim, embed_dim],
            "k_proj_weight": [embed_dim, self.kdim],
            "v_proj_weight": [embed_dim, self.vdim],
        }
        together = {"in_proj_weight": [3 * embed_dim, embed_dim]}
        made, left = (together, separate) if self._qkv_same_embed_dim else (separate, together)
        if bias:
            made["in_proj_bias"] = [3 * embed_dim]
        else:
            left["in_proj_bias"] = []
        for name, shape in made.items():
            self.register_parameter(name, Parameter(ops.empty(shape, dtype=dtype, device=device)))
        for name in left:
            self.register_parameter(name, None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            more = Parameter(ops.empty([1, 1, embed_dim], dtype=dtype, device=device)) if add_bias_kv else None
            self.register_parameter(name, more)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for more in (self.bias_k, self.bias_v):
            if more is not None:
                init.xavier_normal_(more)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What the queries see, and how much each sees of each key.

        Args:
            query: of shape (time, batch, embed_dim), or without the batch.
            key: of shape (time, batch, kdim), or without the batch.
            value: of shape (time, batch, vdim), or without the batch.
            key_padding_mask: of shape (batch, time): which keys nobody sees, or what is added to their scores.
            need_weights: whether the weights are returned.
            attn_mask: which keys a query does not see, or what is added to the scores, for all or for each head.
            average_attn_weights: whether the weights are the mean of all heads.
            is_causal: a hint that `attn_mask` lets no query see later keys.
        """
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            same = query is key, key is value
            query = query.transpose(0, 1)
            key = query if same[0] else key.transpose(0, 1)
            value = key if same[1] else value.transpose(0, 1)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if swapped else out), weights
