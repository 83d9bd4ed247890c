"""JAX: its arrays and transformations, in 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gradwright.verify.frameworks.framework import Framework, Function, Pullback
from gradwright.verify.points import Array
from gradwright.verify.results import Inapplicable, Undecided

jax.config.update("jax_enable_x64", True)

# What JAX says of forward mode through a function that has only a backward rule, and through the gradient of one.
_NO_FORWARD = ("can't apply forward-mode", "Differentiation rule for 'custom_lin' not implemented")


class Jax(Framework):
    """Gradients by `jax.vjp`, whose cotangents are the conjugates of PyTorch's."""

    name = "jax"
    default_dtype = "float64"

    def operator(self, name: str) -> Callable[..., Any]:
        base, _, overload = name.partition(".")
        # Named by its overload as well where there is another one of its name.
        operator: Callable[..., Any] | None = next(
            (getattr(self.module, each) for each in (f"{base}_{overload}", base) if each in self.module.__all__), None
        )
        if operator is None:
            raise Inapplicable("arrays of JAX are not written")
        return operator

    def array(self, values: Array) -> Any:
        return jax.numpy.asarray(values)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def numpy(self, value: Any) -> Array:
        values = np.asarray(value)
        return values.astype(np.float32) if value.dtype.name in ("float16", "bfloat16") else values

    def dtype(self, name: str) -> Any:
        return jax.numpy.dtype(name)

    def dtype_name(self, value: Any) -> str:
        return str(value.dtype.name)

    def vjp(self, function: Function, inputs: Sequence[Any]) -> tuple[Sequence[Any], Pullback]:
        results, pullback = jax.vjp(lambda *arrays: tuple(function(*arrays)), *inputs)
        return results, lambda cotangents: _conjugates(pullback(tuple(_conjugates(cotangents))))

    def jvp(self, function: Function, inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        try:
            results: tuple[Any, Sequence[Any]] = jax.jvp(
                lambda *arrays: tuple(function(*arrays)), tuple(inputs), tuple(tangents)
            )
        except (TypeError, NotImplementedError) as error:
            if any(text in str(error) for text in _NO_FORWARD):
                raise Undecided("JAX knows its gradients alone") from error
            raise
        return results

    def vmap(self, function: Function, in_dims: Sequence[int | None]) -> Function:
        batched: Function = jax.vmap(function, in_axes=tuple(in_dims))
        return batched

    def compiled(self, function: Function) -> Function:
        compiled: Function = jax.jit(function)
        return compiled


def _conjugates(arrays: Sequence[Any]) -> list[Any]:
    return [jax.numpy.conj(each) if jax.numpy.iscomplexobj(each) else each for each in arrays]


FRAMEWORK = Jax
