"""What PyTorch calls Gradwright's operators: functions, methods, signs, and entries of `torch.ops`."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.plan.operator import OperatorPlan
from codegen.signs import Form, Notation
from codegen.words import BUILT_IN_NAMESPACE, SHORTENING_MODULES

ABSENT: frozenset[str] = frozenset()
"""Gradwright's own operators that PyTorch has not, or has with other arguments: none.

A test of parity looks for each of them in `torch.ops.aten`.
"""

# Entries that say `function` and have none of their name in the module `torch`, or one with other parameters.
_NO_FUNCTIONS = frozenset((
    "alias", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cauchy",
    "cdist", "chain_matmul", "copy", "einsum", "embedding_renorm", "exponential",
    "fake_quantize_per_channel_affine_cachemask", "fake_quantize_per_tensor_affine_cachemask", "geometric", "index",
    "istft", "log_normal", "matrix_H", "meshgrid", "nonzero_numpy", "norm", "normal_functional", "numpy_T", "slice",
    "split", "stft", "tensordot", "uniform", "unique_consecutive", "unique_dim", "unique_dim_consecutive",
    "unravel_index", "zero",
))  # fmt: skip

# Signs between two operands that calls are written with.
_SIGNS = frozenset(("+", "-", "*", "/", "@", "%", "**", "&", "|", "^", "==", "!=", "<", "<=", ">", ">="))


def entry_of(operator: OperatorPlan, namespace: str = BUILT_IN_NAMESPACE) -> str:
    """The overload in `torch.ops`, as PyTorch finds it: `torch.ops.aten.add.Tensor`."""
    return f"torch.ops.{namespace}.{operator.name.base}.{operator.name.overload or 'default'}"


def function_of(operator: OperatorPlan) -> str | None:
    """The function that users of PyTorch know: `torch.square`, `torch.linalg.det`; None where there is none."""
    base, module = operator.name.base, operator.source.python_module
    if "function" not in operator.source.variants or base in _NO_FUNCTIONS:
        return None
    if base.startswith("_") or base.endswith("_backward"):
        return None
    if module is None:
        return f"torch.{base}"
    if module in SHORTENING_MODULES and base.startswith(f"{module}_"):
        return f"torch.{module}.{base.removeprefix(f'{module}_')}"
    return None


def is_method(operator: OperatorPlan) -> bool:
    """Whether Tensors have it as a method, with the Tensor first."""
    arguments = operator.schema.arguments
    has_method = "method" in operator.source.variants and operator.name.base not in _NO_FUNCTIONS
    return has_method and bool(arguments) and arguments[0].name == "self"


@dataclass(frozen=True, slots=True)
class WrittenSign:
    """A sign of Python, and whether the first argument is the right operand."""

    text: str
    is_reflected: bool = False


def sign_of(operator: OperatorPlan, count: int) -> WrittenSign | None:
    """The sign that a call with `count` arguments is written with."""
    for use in operator.source.signs:
        text = use.sign.text
        if use.sign.is_binary and count == 2 and text in _SIGNS and use.form is not Form.INVERSE:
            return WrittenSign(text, use.form is Form.REFLECTED)
        if use.sign.notation is Notation.PREFIX and text == "-" and count == 1:
            return WrittenSign(text)
    return None
