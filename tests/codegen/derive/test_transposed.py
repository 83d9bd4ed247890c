"""Gradients that are left out follow from forward formulas, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

import pytest

from codegen.codes import Code
from codegen.paths import project_paths
from codegen.pipeline import Result, analyze

PATHS = project_paths()
FUNCTIONS = PATHS.native_functions.read_text(encoding="utf-8")
DERIVATIVES = PATHS.derivatives.read_text(encoding="utf-8")

# Each with the gradients that follow, in the place of those that are written.
FOLLOWING = {
    "lerp.Tensor": {
        "self": "grad * (1 - weight).conj()",
        "end": "grad * weight.conj()",
        "weight": "grad * (end - self).conj()",
    },
    "hypot": {"self": "grad / result.conj() * self.conj()", "other": "grad / result.conj() * other.conj()"},
    "fmod.Tensor": {"self": "grad", "other": '-grad * div(self, other, "trunc").conj()'},
    "addmm": {
        "self": "grad * beta.conj()",
        "mat1": "mm((grad * alpha.conj()).sum_to_size(mm(mat1, mat2).sym_sizes()), t(mat2).conj())",
        "mat2": "laid_out_product(t(mat1).conj(), (grad * alpha.conj()).sum_to_size(mm(mat1, mat2).sym_sizes()), "
        "mat2.is_contiguous())",
    },
}


@cache
def without_backward() -> Result:
    """Our own operators, of which those above say how tangents go forward alone."""
    text = DERIVATIVES
    for name in FOLLOWING:
        entry = re.search(rf"(?m)^- name: {re.escape(name)}\(.*\n(?:  .*\n)+", text)
        assert entry is not None
        lines = entry[0].splitlines(keepends=True)
        kept = [line for line in lines if line.startswith(("- name", "  result"))]
        text = text.replace(entry[0], "".join(kept))
    return analyze(PATHS, {PATHS.derivatives: text})


@pytest.mark.parametrize("name", FOLLOWING)
def test_what_follows(name: str) -> None:
    result = without_backward()
    assert not result.diagnostics, [each.message for each in result.diagnostics.items]
    assert gradients(result, name) == FOLLOWING[name]


def gradients(result: Result, name: str) -> dict[str, str]:
    (entry,) = (each for each in result.resolved if str(each.function.name) == name)
    return {", ".join(formula.names): str(formula.source.text) for formula in entry.backward}


_ONE = "(Tensor self) -> Tensor"
_TWO = "(Tensor self, Tensor other) -> Tensor"
# One more operator each: its kernel, its signature, the lines of its entry, and the gradients that follow.
OWN = {
    "used_twice": (
        "hypot", _TWO, "  other: non_differentiable\n  result: self_t * other_p + self_t\n",
        {"self": "(grad * other.conj()).sum_to_size(self.sym_sizes()) + grad.sum_to_size(self.sym_sizes())",
         "other": "non_differentiable"},
    ),
    "depends_on_shape": (
        "hypot", _TWO, "  result: 'self_p.dim() == 2 ? self_t.t() : other_t * 2'\n",
        {"self": "self.dim() == 2 ? t(grad) : zeros_like(self)",
         "other": "self.dim() == 2 ? zeros_like(other) : grad * 2"},
    ),
    "reduced_and_used": (
        "exp", _ONE, "  result: (self_t * self_p).sum(0).cumsum(0)\n",
        {"self": "expand_reduced(flip(cumsum(flip(grad, {0}), 0), {0}).sum_to_size(sum(self * self, {0}).sym_sizes()), "
                 "self.sym_sizes(), {0}, false) * self.conj()"},
    ),
    "joined_pair": (
        "hypot", _TWO, "  result: at::cat({self_t, other_t}, 0)\n",
        {"self": "cat_backward(grad, to_args_sizes({self, other}), 0)[0]",
         "other": "cat_backward(grad, to_args_sizes({self, other}), 0)[1]"},
    ),
    "solved_upper": (
        "hypot", _TWO, "  self: zeros_like(grad)\n  result: linalg_solve_triangular(self_p, other_t, true)\n",
        {"self": "zeros_like(grad)",
         "other": "solve_triangular_backward(grad, self, linalg_solve_triangular(self, other, true), true, true, "
                  "false, {false, true})[1]"},
    ),
    "no_slope": (
        "hypot", _TWO, "  result: zeros_like(self_t) + other_t\n", {"self": "zeros_like(self)", "other": "grad"},
    ),
    "two_results": (
        "aminmax", "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor first, Tensor second)",
        "  first: self_t * 2\n  second: self_t * self_p\n",
        {"self": "grads[0] * 2 + (grads[1] * self.conj()).sum_to_size(self.sym_sizes())"},
    ),
}  # fmt: skip
# What can not be transposed, and why.
REFUSED = {
    "helper": ("scaled(self_t, 2)", "'scaled' is a helper, whose adjoint is not known"),
    "composite": ("self_t.matmul(self_p)", "'matmul' is composite: write what it calls"),
    "itself": ("itself(self_t)", "'itself' has no formula for 'self'"),
    "one_of_several": ("std::get<0>(self_t.sort(0))", "it is made of several Tensors"),
}


def with_own(operators: Mapping[str, tuple[str, str, str]]) -> Result:
    """Our operators and more: each with its kernel, its signature and its lines."""
    native, derivatives = [FUNCTIONS], [DERIVATIVES]
    for name, (kernel, signature, lines) in operators.items():
        native.append(f"- func: {name}{signature}\n  dispatch:\n    CPU: {kernel}\n")
        derivatives.append(f"- name: {name}{signature}\n{lines}")
    return analyze(PATHS, {PATHS.native_functions: "\n".join(native), PATHS.derivatives: "\n".join(derivatives)})


@cache
def own() -> Result:
    return with_own({name: own[:3] for name, own in OWN.items()})


@pytest.mark.parametrize("name", OWN)
def test_each_kind_of_step(name: str) -> None:
    result = own()
    assert not result.diagnostics, [each.message for each in result.diagnostics.items]
    assert gradients(result, name) == OWN[name][3]


def test_steps_that_can_not_be_transposed_are_named() -> None:
    result = with_own({name: ("exp", _ONE, f"  result: {formula}\n") for name, (formula, _) in REFUSED.items()})
    found = {each.message.split("'")[3]: each for each in result.diagnostics.items}
    for name, (formula, why) in REFUSED.items():
        assert found[name].message.endswith(f"this step can not be transposed: {why}")
        assert found[name].code is Code.NOT_DERIVED
        assert found[name].span.file.line(found[name].span.line) == f"  result: {formula}"
    assert len(result.diagnostics.items) == len(REFUSED)


def test_an_argument_without_a_tangent_needs_a_formula() -> None:
    result = with_own({"forgotten": ("hypot", _TWO, "  self: grad\n  result: self_t\n")})
    assert [each.code for each in result.diagnostics.items] == [Code.NO_FORMULA]


def test_operators_that_are_missing_are_named(analysed: Callable[..., Result]) -> None:
    native = (
        "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  variants: function, method\n"
        "  dispatch:\n    CPU: mul\n  python_operator: self * other, other * self\n  tags: pointwise\n"
        "- func: double(Tensor self) -> Tensor\n  dispatch:\n    CPU: double\n"
    )
    entries = (
        "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self\n"
        "- name: double(Tensor self) -> Tensor\n  result: self_t * self_p * (self_t * self_p)\n"
    )
    kernels = "def mul(self, other):\n    return self * other\n\n\ndef double(self):\n    return self * self\n"
    result = analysed(native, entries, "", kernels)
    assert any("it takes 'sum_to_size', which is no operator here" in each.message for each in result.diagnostics.items)
