"""Attention as one kernel, beside PyTorch's: Nodes, values, layouts, and which kernels a program allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.both import assert_same
from support.kernel_cases import cases

pytestmark = pytest.mark.filterwarnings("ignore")

RANDOM = np.random.default_rng(0)
ARRAYS = {
    "q": RANDOM.standard_normal((2, 5, 3, 4)),
    "k": RANDOM.standard_normal((2, 6, 3, 4)),
    "v": RANDOM.standard_normal((2, 6, 3, 4)),
    "m": RANDOM.standard_normal((5, 6)),
    "e": RANDOM.standard_normal((2, 3, 5, 6)),
    "b": RANDOM.standard_normal((5, 6)) > 0,
}


def names(library: Any, dtype: str = "float64") -> dict[str, Any]:
    """Queries and others as heads of a linear map lie in memory, which require grad; and masks."""
    found = {name: library.tensor(array) for name, array in ARRAYS.items()}
    for name in "qkvme":
        found[name] = found[name].to(getattr(library, dtype))
    for name in "qkv":
        found[name] = found[name].transpose(1, 2).requires_grad_()
    hides_all = found["m"].clone()
    hides_all[2] = -float("inf")
    return {**found, "n": hides_all, "backend": library.nn.attention.SDPBackend, "library": library}


def is_one_kernel(out: Any) -> bool:
    return type(out.grad_fn).__name__ == "ScaledDotProductFlashAttentionForCpuBackward0"


CALLS = """
f(q, k, v) | f(q, k, v, is_causal=True) | f(q, q, q, is_causal=True) | f(q, k, v, m) | f(q, k, v, e) | f(q, k, v, b)
f(q, k, v, m[:1]) | f(q, k, v, e[:, :1]) | f(q, k, v, n) | f(q, k, v, scale=0.3) | f(q.contiguous(), k, v)
f(q, k[:, :1], v) | f(q[0], k[0], v[0]) | f(q, k, v, m.clone().requires_grad_()) | f(q, k, v, dropout_p=1.0)
f(q, k[:, :, :0], v[:, :, :0]) | f(q.repeat(1, 2, 1, 1), k, v, enable_gqa=True)
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", cases(CALLS))
def test_values_nodes_and_layouts(text: str, dtype: str) -> None:
    def body(library: Any) -> Any:
        tensors = names(library, dtype)
        try:
            out = eval(text, {"f": library.nn.functional.scaled_dot_product_attention, **tensors})
        except RuntimeError as error:
            return type(error).__name__
        inputs = [tensors[name] for name in "qkv"]
        gradients = library.autograd.grad((out * out).sum(), inputs, allow_unused=True)
        if not is_one_kernel(out):
            return [out, False, *gradients]
        # Heads that several queries share are repeated before the kernel here, and read in place by PyTorch.
        laid_out = (out,) if "enable_gqa" in text else (out, *gradients)
        return [out, True, *gradients, [each.stride() for each in laid_out]]

    assert_same(body)


KERNELS = """
backend.MATH | backend.FLASH_ATTENTION | [backend.MATH, backend.FLASH_ATTENTION] | [] | "flash"
backend.CUDNN_ATTENTION | [backend.EFFICIENT_ATTENTION] | backend.ERROR
"""


@pytest.mark.parametrize("text", cases(KERNELS))
def test_kernels_that_are_allowed(text: str) -> None:
    """Of what one kernel takes, and of what only operators one by one do."""

    def body(library: Any) -> Any:
        tensors = names(library)
        found = []
        for call in ("f(q, k, v)", "f(q[0], k[0], v[0])"):
            try:
                with library.nn.attention.sdpa_kernel(eval(text, tensors)):
                    out = eval(call, {"f": library.nn.functional.scaled_dot_product_attention, **tensors})
                    found.append(is_one_kernel(out))
            except (AssertionError, RuntimeError) as error:
                found.append(type(error).__name__)
        return [found, library.backends.cuda.flash_sdp_enabled(), library.backends.cuda.math_sdp_enabled()]

    assert body(gradwright) == body(torch)


def test_flags_of_kernels() -> None:
    def body(library: Any) -> Any:
        tensors = names(library)
        library.backends.cuda.enable_flash_sdp(False)
        try:
            out = library.nn.functional.scaled_dot_product_attention(*(tensors[name] for name in "qkv"))
            return is_one_kernel(out)
        finally:
            library.backends.cuda.enable_flash_sdp(True)

    assert body(gradwright) == body(torch)
    with gradwright.backends.cuda.sdp_kernel(enable_flash=False):
        assert not gradwright.backends.cuda.flash_sdp_enabled()
    assert gradwright.backends.cuda.flash_sdp_enabled()


def test_the_operator_refuses_what_pytorch_refuses() -> None:
    texts = (
        "f(q[0], k[0], v[0])", "f(q, k, v, 0.5)", "f(q, k[..., :2], v)", "f(q.double(), k.float(), v)",
        "f(q, k, v, attn_mask=m[0])", "f(q, k, v, attn_mask=b)", "f(q.int(), k.int(), v.int())",
    )  # fmt: skip

    def body(library: Any) -> Any:
        found = []
        for text in texts:
            try:
                eval(text, {"f": library.ops.aten._scaled_dot_product_flash_attention_for_cpu, **names(library)})
            except Exception as error:
                found.append(type(error).__name__)
        return found

    assert body(gradwright) == body(torch)
    assert len(body(torch)) == len(texts)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    """The logarithm is of float32, and results are rounded once."""

    def body(library: Any) -> Any:
        tensors = names(library, dtype)
        out, logarithm = library.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            *(tensors[name] for name in "qkv")
        )
        return out.detach().double().numpy(), logarithm.detach().numpy()

    for one, other in zip(body(gradwright), body(torch), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 2e-2, 2e-2)


def test_under_vmap() -> None:
    """A batch of batches, with masks that are one for all and that are batched, and the gradients."""

    def body(library: Any) -> Any:
        tensors = {name: value.detach() for name, value in names(library).items() if name in "qkvme"}
        more = {name: library.stack([tensors[name], 2 * tensors[name]]) for name in "qkvme"}
        call = library.nn.functional.scaled_dot_product_attention
        out = []
        for mask, place in ((None, None), (tensors["m"], None), (more["m"], 0), (tensors["e"], None), (more["e"], 0)):
            dims = (0, 0, None, place)
            out.append(library.vmap(call, dims)(more["q"], more["k"], tensors["v"], mask))

            def total(q: Any, k: Any, v: Any, mask: Any) -> Any:
                return call(q, k, v, mask).square().sum()

            out += library.vmap(library.func.grad(total, (0, 1, 2)), dims)(more["q"], more["k"], tensors["v"], mask)
        return out

    assert_same(body)


def test_a_query_with_nan() -> None:
    """It spreads over its row, which PyTorch fills with zeros where the processor has AVX-512."""

    def row(library: Any) -> Any:
        tensors = {name: value.detach() for name, value in names(library).items() if name in "qkv"}
        tensors["q"][0, 0, 1, 0] = float("nan")
        out = library.nn.functional.scaled_dot_product_attention(*(tensors[name] for name in "qkv"))
        return out[0, 0, 1].tolist()

    theirs = row(torch)
    assert theirs == [0.0] * 4 or np.isnan(theirs).all()
    assert np.isnan(row(gradwright)).all()


def test_the_gradient_of_a_mask() -> None:
    """It is followed, by functions of functions too, and as a tangent."""

    def body(library: Any) -> Any:
        tensors = {name: value.detach() for name, value in names(library).items() if name in "qkvm"}

        def total(mask: Any) -> Any:
            call = library.nn.functional.scaled_dot_product_attention
            return call(tensors["q"], tensors["k"], tensors["v"], mask).square().sum()

        gradient = library.func.grad(total)
        with library.nn.attention.sdpa_kernel(library.nn.attention.SDPBackend.MATH):  # PyTorch's kernel drops tangents
            tangent = library.func.jvp(total, (tensors["m"],), (tensors["m"],))
        return [gradient(tensors["m"]), library.func.grad(lambda x: gradient(x).sum())(tensors["m"]), tangent]

    assert_same(body)
    mask = names(gradwright)["m"]
    inputs = [names(gradwright)[name].detach() for name in "qkv"]
    function = gradwright.nn.functional.scaled_dot_product_attention
    _, tangent = gradwright.func.jvp(lambda x: function(*inputs, x), (mask,), (mask,))
    with gradwright.nn.attention.sdpa_kernel(gradwright.nn.attention.SDPBackend.MATH):
        _, wanted = gradwright.func.jvp(lambda x: function(*inputs, x), (mask,), (mask,))
    np.testing.assert_allclose(tangent.numpy(), wanted.numpy())
    assert wanted.abs().sum() > 0
