"""PyTorch: its Tensors, `torch.autograd`, `torch.func` and `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradwright.verify.frameworks.framework import Framework, Function, Pullback
from gradwright.verify.points import Array
from gradwright.verify.results import Undecided

# What an operator without forward formula says, be it one of the package or one of PyTorch.
_NO_FORWARD = "Trying to use forward AD with"
_HALVES = (torch.float16, torch.bfloat16)


class PyTorch(Framework):
    """Gradients by `torch.autograd.grad`."""

    name = "torch"

    def overload(self, name: str) -> Any:
        """The operator as PyTorch has registered it."""
        base, _, overload = name.partition(".")
        return getattr(getattr(getattr(torch.ops, self.namespace), base), overload or "default")

    def operator(self, name: str) -> Callable[..., Any]:
        operator: Callable[..., Any] = self.overload(name)
        return operator

    def array(self, values: Array) -> Any:
        if values.dtype.name == "bfloat16":
            return torch.tensor(values.astype("float32")).to(torch.bfloat16)
        return torch.tensor(values)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def numpy(self, value: Any) -> Array:
        values: Array = (value.float() if value.dtype in _HALVES else value).numpy(force=True)
        return values

    def dtype(self, name: str) -> Any:
        return getattr(torch, name)

    def dtype_name(self, value: Any) -> str:
        return str(value.dtype).removeprefix("torch.")

    def vjp(self, function: Function, inputs: Sequence[Any]) -> tuple[Sequence[Any], Pullback]:
        inputs = [each if each.requires_grad else each.detach().requires_grad_() for each in inputs]
        results = function(*inputs)

        def pullback(cotangents: Sequence[Any]) -> Sequence[Any]:
            used = [pair for pair in zip(results, cotangents, strict=True) if pair[0].requires_grad]
            if not used:
                return [torch.zeros_like(each) for each in inputs]
            gradients = torch.autograd.grad(
                [result for result, _ in used], inputs, [cotangent for _, cotangent in used], create_graph=True,
                allow_unused=True,
            )  # fmt: skip
            return [torch.zeros_like(x) if each is None else each for x, each in zip(inputs, gradients, strict=True)]

        return results, pullback

    def jvp(self, function: Function, inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        try:
            results: tuple[Any, Sequence[Any]] = torch.func.jvp(function, tuple(inputs), tuple(tangents))
        except NotImplementedError as error:
            if _NO_FORWARD in str(error):
                raise Undecided("no formula gives tangents of what it calls") from error
            raise
        return results

    def vmap(self, function: Function, in_dims: Sequence[int | None]) -> Function:
        batched: Function = torch.func.vmap(function, in_dims=tuple(in_dims))
        return batched

    def compiled(self, function: Function) -> Function:
        torch.compiler.reset()
        compiled: Function = torch.compile(function, backend="aot_eager", fullgraph=True)
        return compiled

    def transforming(self) -> Framework:
        return _Transforms(self)

    def out_names(self, name: str) -> list[str]:
        """The arguments that an operator writes its results to, and gives."""
        return [each.name for each in self.overload(name)._schema.arguments if each.is_out]

    def check_registration(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """All tests that PyTorch has of an operator's registration.

        Raises:
            torch.testing._internal.optests.OpCheckError: one fails.
        """
        torch.library.opcheck(self.overload(name), tuple(args), kwargs)


class _Transforms(PyTorch):
    """Gradients by `torch.func.vjp`."""

    def __init__(self, of: PyTorch) -> None:
        self.module, self.namespace = of.module, of.namespace

    def vjp(self, function: Function, inputs: Sequence[Any]) -> tuple[Sequence[Any], Pullback]:
        results, pullback = torch.func.vjp(function, *inputs)
        return results, lambda cotangents: pullback(tuple(cotangents))


FRAMEWORK = PyTorch
