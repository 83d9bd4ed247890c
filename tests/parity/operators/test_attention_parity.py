"""Attention and transformers beside PyTorch: values, derivatives, state dicts, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from gradwright.nn.attention import SDPBackend, sdpa_kernel
from support.both import assert_same, with_weights
from support.kernel_cases import cases

pytestmark = pytest.mark.filterwarnings("ignore")

RANDOM = np.random.default_rng(0)
ARRAYS = {
    "q": RANDOM.standard_normal((3, 2, 4)),
    "k": RANDOM.standard_normal((5, 2, 4)),
    "v": RANDOM.standard_normal((5, 2, 4)),
    "m": RANDOM.standard_normal((3, 5)),
    "e": RANDOM.standard_normal((4, 3, 5)),
    "k3": RANDOM.standard_normal((5, 2, 3)),
    "v6": RANDOM.standard_normal((5, 2, 6)),
    "a": np.array([[True, False, False, True, False]] * 3),
    "p": np.array([[True, False, False, True, False], [False] * 5]),
    "s": np.array([[False, True, False], [False, False, False]]),
    "t": np.array([[False, True, False], [False, False, True], [False, True, True]]),
}
WEIGHTS = RANDOM.standard_normal(4000) / 2


def made(library: Any, text: str) -> Any:
    """A module of float64, with the same weights in both libraries."""
    return with_weights(library, eval(text, {"nn": library.nn, "F": library.nn.functional}).double(), WEIGHTS)


def names(library: Any) -> dict[str, Any]:
    found = {name: library.tensor(array) for name, array in ARRAYS.items()}
    for name in ("q", "k", "v", "k3", "v6"):
        found[name].requires_grad_()
    return found


def derivatives(library: Any, inputs: list[Any], out: Any) -> list[Any]:
    """Gradients of a sum of squares, and those of the sum of their squares."""
    first = library.autograd.grad((out * out).sum(), inputs, create_graph=True, allow_unused=True)
    inner = [each for each in first if each is not None]
    second = library.autograd.grad(sum((each * each).sum() for each in inner), inputs, allow_unused=True)
    return [*first, *second]


@pytest.fixture(autouse=True)
def _attention_by_other_operators() -> Iterator[None]:
    """PyTorch's fast kernels have no second derivative, and nor has ours on PyTorch's formulas."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), sdpa_kernel(SDPBackend.MATH):
        yield


CALLS = """
nn.MultiheadAttention(4, 2) @ q, k, v | nn.MultiheadAttention(4, 2, bias=False) @ q, q, q
nn.MultiheadAttention(4, 1, add_bias_kv=True) @ q, k, v, p | nn.MultiheadAttention(4, 2, add_zero_attn=True) @ q, k, v
nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) @ q, k, v, p, False, m
nn.MultiheadAttention(4, 2, kdim=3, vdim=6) @ q, k3, v6
nn.MultiheadAttention(4, 2, kdim=3, vdim=6) @ q[:, 0], k3[:, 0], v6[:, 0]
nn.MultiheadAttention(4, 2) @ q, k, v, None, True, a | nn.MultiheadAttention(4, 2) @ q, k, v, None, False, a
nn.MultiheadAttention(4, 2) @ q, k, v, p, True, a, False | nn.MultiheadAttention(4, 2) @ q, k, v, p, False, m
nn.MultiheadAttention(4, 2) @ q, k, v, None, False, e | nn.MultiheadAttention(4, 2) @ q, k, v, p, True, e
nn.MultiheadAttention(4, 2) @ q[:, 0], k[:, 0], v[:, 0], p[0], True, m
nn.MultiheadAttention(4, 2, batch_first=True) @ k, k, k
nn.MultiheadAttention(4, 2, batch_first=True) @ q, q, q, None, False
nn.MultiheadAttention(4, 2) @ q, q, q, None, False, C, True, True | nn.MultiheadAttention(4, 2, 1.0) @ q, k, v
nn.TransformerEncoderLayer(4, 2, 5, 0.0) @ q | nn.TransformerEncoderLayer(4, 2, 5, 0.0, "gelu", norm_first=True) @ q
nn.TransformerEncoderLayer(4, 2, 5, 0.0, F.tanh, bias=False) @ q, t | nn.TransformerEncoderLayer(4, 1, 5, 0.0) @ q, t, s
nn.TransformerEncoderLayer(4, 2, 5, 0.0, batch_first=True) @ q | nn.TransformerEncoderLayer(4, 2, 5, 0.0) @ q[:, 0]
nn.TransformerDecoderLayer(4, 2, 5, 0.0) @ q, k | nn.TransformerDecoderLayer(4, 2, 5, 0.0, norm_first=True) @ q, k, t, m
nn.TransformerDecoderLayer(4, 2, 5, 0.0, batch_first=True) @ k, k
nn.TransformerDecoderLayer(4, 2, 5, 0.0) @ q, k, t, a, s, p
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5, 0.0), 2) @ q, C
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5, 0.0), 1, nn.LayerNorm(4)) @ q, t, s
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 5, 0.0), 2, nn.LayerNorm(4)) @ q, k, C
nn.Transformer(4, 2, 1, 1, 5, 0.0) @ k, q | nn.Transformer(4, 2, 1, 2, 5, 0.0, norm_first=True) @ k, q, None, C
"""


@pytest.mark.parametrize("text", cases(CALLS))
@pytest.mark.parametrize("training", [True, False])
def test_module(text: str, training: bool) -> None:
    def body(library: Any) -> Any:
        module_text, _, call = text.partition(" @ ")
        module = made(library, module_text).train(training)
        tensors = names(library)
        causal = library.nn.Transformer.generate_square_subsequent_mask(3, dtype=library.float64)
        out = module(*eval(f"({call},)", {"C": causal, **tensors}))
        results = list(out) if isinstance(out, tuple) else [out]
        inputs = [*(tensors[name] for name in ("q", "k", "v", "k3", "v6")), *module.parameters()]
        state = dict(module.state_dict())
        return [repr(module), state, results, derivatives(library, inputs, results[0])]

    assert_same(body)


ATTENTION = """
q, k, v | q, k, v, m | q, k, v, a | q, k, v, dropout_p=1.0 | q, q, q, is_causal=True | q, k, v, is_causal=True
q, k, v, scale=0.3 | q.repeat(4, 1, 1), k, v, enable_gqa=True | q, k, v, o | q, k, v, z
q.float(), k.float(), v.float(), a
"""


@pytest.mark.parametrize("text", cases(ATTENTION))
def test_scaled_dot_product_attention(text: str) -> None:
    def body(library: Any) -> Any:
        tensors = {name: value for name, value in names(library).items() if name in "qkvma"}
        if "float" in text:  # gradients of single precision, which are known as such
            tensors |= {name: tensors[name].detach().float().requires_grad_() for name in "qkv"}
        given = {name: tensors[name].transpose(0, 1) for name in "qkv"}
        mask = {
            "o": tensors["m"].masked_fill(tensors["a"], -float("inf")),
            "z": library.zeros(3, 5, dtype=library.bool),
        }
        call = library.nn.functional.scaled_dot_product_attention
        out = eval(f"f({text})", {"f": call, **tensors, **given, **mask})
        return [out, derivatives(library, [tensors[name] for name in "qkv"], out)]

    assert_same(body)


def test_a_query_that_sees_nothing() -> None:
    """A row of minus infinity gives zeros, and gradients that are 0 and not NaN."""
    q = gradwright.tensor(ARRAYS["q"], requires_grad=True)
    mask = gradwright.zeros(3, 3, dtype=gradwright.float64)
    mask[1] = -float("inf")
    x = q.transpose(0, 1)
    out = gradwright.nn.functional.scaled_dot_product_attention(x, x, x, mask)
    assert out[:, 1].abs().sum() == 0
    (grad,) = gradwright.autograd.grad(out.sum(), q)
    assert grad.isfinite().all()


ERRORS = """
nn.MultiheadAttention(0, 2) | nn.MultiheadAttention(5, 2) | nn.TransformerEncoderLayer(4, 2, activation="tanh")
mha(q, k, k[:3]) | mha(q[:, 0], k, v) | mha(q, k[:, 0], v) | mha(q[None], k, v) | mha(q, k, v, p[0]) | mha(q, k, v, a)
mha(q, k, v, None, True, m[0]) | mha(q, k, v, None, True, m[:2])
mha(q, k, v, None, True, e[:2])
mha(q, k, v, p.long())
mha(q, k, v, None, False, None, True, True) | mha(k3, k3, k3) | mha(q[:, 0], k[:, 0], v[:, 0], None, True, e)
nn.Transformer(4, 2, 1, 1, 5).double()(k, q[:, :1]) | nn.Transformer(4, 2, 1, 1, 5).double()(k3, q)
f(q, k, v, m, is_causal=True) | f(q, k.float(), v) | f(q[0, 0], k, v) | f(q, k, v, dropout_p=-1.0)
f(q, k, v, m.long())
f(q.transpose(0, 1), k[:3].transpose(0, 1).repeat(3, 1, 1), v.transpose(0, 1), enable_gqa=True)
"""


@pytest.mark.parametrize("text", cases(ERRORS))
def test_error(text: str) -> None:
    def raised(library: Any) -> str:
        call = library.nn.functional.scaled_dot_product_attention
        mha = made(library, "nn.MultiheadAttention(4, 2)")
        try:
            eval(text, {"nn": library.nn, "f": call, "mha": mha, **names(library)})
        except Exception as error:
            return type(error).__name__
        return "nothing"

    assert raised(gradwright) == raised(torch) != "nothing"
