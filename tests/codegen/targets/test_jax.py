"""The target of JAX: text in which functions take no namespace, and that it is for packages."""

from __future__ import annotations

import pytest

from codegen.targets.jax.namespace import over_jnp
from support.in_process import codegen


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(xp: Namespace, x: Array) -> Array:", "def f(x: Array) -> Array:"),
        ("def f(xp: Namespace) -> Array:", "def f() -> Array:"),
        ("return xp.sum(g(xp, x), axis=0)", "return jnp.sum(g(x), axis=0)"),
        ("h(\n    xp,\n    x,\n)", "h(\n    x,\n)"),
        ("h(xp)", "h()"),
        ("exp(x), xpath", "exp(x), xpath"),
        ("h(x, xp)", None),
        ("[xp]", None),
    ],
)
def test_functions_over_a_namespace_are_functions_over_a_module(text: str, wanted: str | None) -> None:
    assert over_jnp(text) == wanted


@pytest.mark.parametrize("words", [["--target", "jax"], ["explain", "sin", "--target", "jax"]])
def test_own_operators_are_not_written_for_a_framework(words: list[str]) -> None:
    finished = codegen(*words)
    assert finished.returncode == 2
    assert "--target jax is for the operators of a package, in whose folder it is called" in finished.stderr
