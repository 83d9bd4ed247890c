"""Functions of neural networks with PyTorch's signatures: `import gradwright.nn.functional as F`.

They add to the operators what the operators leave out: names for reductions, checks of sizes, `inplace`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import FunctionType

from gradwright.nn import grad as grad
from gradwright.nn.functional_attention import *  # noqa: F403
from gradwright.nn.functional_convolution import *  # noqa: F403
from gradwright.nn.functional_distance import *  # noqa: F403
from gradwright.nn.functional_dropout import *  # noqa: F403
from gradwright.nn.functional_embedding import *  # noqa: F403
from gradwright.nn.functional_images import *  # noqa: F403
from gradwright.nn.functional_losses import *  # noqa: F403
from gradwright.nn.functional_normalization import *  # noqa: F403
from gradwright.nn.functional_pooling import *  # noqa: F403
from runtime import ops
from runtime.base.overriding import has_torch_function as has_torch_function
from runtime.base.overriding import has_torch_function_unary as has_torch_function_unary
from runtime.base.overriding import has_torch_function_variadic as has_torch_function_variadic
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar


def assert_int_or_pair(arg: int | Sequence[int], arg_name: str, message: str) -> None:
    """Raise an AssertionError of `message`, with `arg_name` for `{}`, unless there are one or two numbers."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


# Activation functions.


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return ops.leaky_relu_(input, negative_slope) if inplace else ops.leaky_relu(input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    return ops.prelu(input, weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return ops.elu_(input, alpha) if inplace else ops.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return ops.celu_(input, alpha) if inplace else ops.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.selu_(input) if inplace else ops.selu(input)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    function = ops.rrelu_ if inplace else ops.rrelu
    return function(input, lower, upper, training)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    return ops.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.silu_(input) if inplace else ops.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.mish_(input) if inplace else ops.mish(input)


def softplus(input: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Tensor:
    return ops.softplus(input, beta, threshold)


def sigmoid(input: Tensor) -> Tensor:
    return ops.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    return ops.log_sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    return ops.tanh(input)


def tanhshrink(input: Tensor) -> Tensor:
    return input - ops.tanh(input)


def softsign(input: Tensor) -> Tensor:
    return input / (ops.abs(input) + 1)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return ops.hardtanh_(input, min_val, max_val) if inplace else ops.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.hardsigmoid_(input) if inplace else ops.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.hardswish_(input) if inplace else ops.hardswish(input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return ops.softshrink(input, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return ops.hardshrink(input, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return ops.threshold_(input, threshold, value) if inplace else ops.threshold(input, threshold, value)


# Their names for writing in place.
relu_ = ops.relu_
leaky_relu_ = ops.leaky_relu_
elu_ = ops.elu_
celu_ = ops.celu_
selu_ = ops.selu_
rrelu_ = ops.rrelu_
hardtanh_ = ops.hardtanh_
threshold_ = ops.threshold_


def glu(input: Tensor, dim: int = -1) -> Tensor:
    return ops.glu(input, dim)


def _softmax_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    return ops.softmax(input, _softmax_dim("softmax", input.dim()) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    return ops.softmax(-input, _softmax_dim("softmin", input.dim()) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    return ops.log_softmax(input, _softmax_dim("log_softmax", input.dim()) if dim is None else dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Softmax of `logits` with noise of Gumbel's distribution, divided by `tau`: a sample that has a gradient.

    The largest element is where a draw from the distribution of `logits` would be (Jang, Gu, Poole: ICLR 2017).

    Args:
        logits: logarithms of probabilities, which need not be normalized.
        tau: the temperature; towards 0 a sample is one-hot.
        hard: whether it is one-hot, with the gradient of the soft one.
        eps: has no meaning any more.
        dim: along which the elements of a sample lie.
    """
    noise = -ops.empty_like(logits.detach()).exponential_().log()
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    largest = soft.max(dim, True)[1]
    return ops.zeros_like(logits.detach()).scatter_(dim, largest, 1.0) - soft.detach() + soft


# Layers.


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return ops.linear(input, weight, bias)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    return ops._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    return ops.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    return ops.rms_norm(input, normalized_shape, weight, eps)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divided by the p-norm along `dim`, or by `eps` where that is larger."""
    length = ops.linalg_vector_norm(input, p, [dim], True).clamp_min(eps)
    return ops.div(input, length.expand_as(input), out=out)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    return ops.one_hot(tensor, num_classes)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    return ops.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    return ops.cosine_similarity(x1, x2, dim, eps)


native_channel_shuffle = ops.native_channel_shuffle

# Padding.


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Made larger at the ends of its dimensions: `pad` holds two numbers for each, the last dimension first."""
    return ops.pad(input, pad, mode, value)


def _take_docstrings() -> None:
    """Functions say of themselves what the operators of their names do."""
    for name, function in globals().items():
        text = getattr(vars(ops).get(name), "__doc__", None)
        ours = isinstance(function, FunctionType) and function.__module__.startswith(__name__)
        if ours and function.__doc__ is None and text:
            function.__doc__ = f"Calls `gradwright.ops.{name}`, with PyTorch's arguments of this function.\n\n{text}"


_take_docstrings()
