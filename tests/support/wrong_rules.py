"""Rules that are wrong as rules of others have been: dropped factors and terms, lost conjugates, statistics taken for
constants, ties, branches that nobody samples; and a package made of some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.commands.init import make_package
from support.own_packages import Project


@dataclass(frozen=True)
class Rule:
    """An operator that is computed rightly, and its wrong derivative."""

    name: str
    arguments: str
    kernel: str
    formulas: tuple[str, ...]
    samples: tuple[str, ...] = ("T(3, 4)",)
    helper: str = ""
    results: str = "Tensor"
    dtypes: str = ""
    unproven: tuple[str, ...] = ()
    reference: str = ""


PRODUCT = ("T(3, 3), T(3, 3)",)
RULES = (
    Rule("factor_dropped", "Tensor self", "self * self", ("self: grad * self.conj()",)),
    Rule("sign_flipped", "Tensor self", "np.cos(self)", ("self: grad * self.sin().conj()",)),
    Rule("conj_dropped", "Tensor self", "np.exp(self)", ("self: grad * result",)),
    Rule("conj_not_undone", "Tensor self", "np.conj(self) * 1", ("self: grad",)),
    Rule("conj_of_number_dropped", "Tensor self, Scalar by", "self * by", ("self: grad * by",), ("T(3), 2",)),
    Rule("operands_swapped", "Tensor self, Tensor other", "self - other", ("self: -grad", "other: grad"), PRODUCT),
    Rule(
        "wrong_order", "Tensor self, Tensor other", "self @ other",
        ("self: other.t().conj().mm(grad)", "other: grad.mm(self.t().conj())"), PRODUCT,
    ),
    Rule(
        "transpose_dropped", "Tensor self, Tensor other", "self @ other",
        ("self: grad.mm(other.conj())", "other: self.t().conj().mm(grad)"), PRODUCT,
    ),
    Rule("result_for_self", "Tensor self", "np.log(self)", ("self: grad / result.conj()",), ("T(3, low=1.5, high=3)",)),
    Rule(
        "second_order_term_dropped", "Tensor self", "self ** 3", ("self: cube_slope(grad, self)",),
        helper="def cube_slope(grad: Tensor, self: Tensor) -> Tensor:\n"
        "    return grad * (self * self.detach() * 3).conj()",
    ),
    Rule(
        "result_taken_for_a_constant", "Tensor self", "np.tanh(self)", ("self: tanh_slope(grad, result)",),
        helper="def tanh_slope(grad: Tensor, result: Tensor) -> Tensor:\n"
        "    return grad * (1 - result.detach() * result.detach()).conj()",
    ),
    Rule("mean_taken_for_a_constant", "Tensor self", "self - self.mean()", ("self: grad",)),
    Rule(
        "deviation_taken_for_a_constant", "Tensor self", "self / np.sqrt((self * self).mean())",
        ("self: grad * result / self",), ("T(3, 4, low=0.5, high=2)",), dtypes="floating",
    ),
    Rule(
        "wrong_dim", "Tensor self", "self.sum(axis=1)", ("self: grad.unsqueeze(0).expand(self.sizes())",), ("T(3, 3)",)
    ),
    Rule("one_flip_of_two", "Tensor self", "np.cumsum(self, axis=0)", ("self: grad.flip({0}).cumsum(0)",)),
    Rule("tangent_off", "Tensor self", "self * 2", ("self: grad * 2", "result: self_t * 4")),
    Rule(
        "tangent_of_another", "Tensor self, Tensor other", "self * other",
        ("self: grad * other.conj()", "other: grad * self.conj()", "result: self_t * other_p + other_t * other_p"),
        PRODUCT,
    ),
    Rule(
        "tangent_conjugated", "Tensor self", "self * self",
        ("self: grad * self.conj() * 2", "result: self_t * self_p.conj() * 2"),
    ),
    Rule(
        "both_at_a_tie", "Tensor self, Tensor other", "np.maximum(self, other)",
        ("self: grad.masked_fill(self < other, 0)", "other: grad.masked_fill(other < self, 0)"), PRODUCT,
        dtypes="floating",
    ),
    Rule(
        "masked_by_a_product", "Tensor self", "np.where(self > 0, np.sqrt(np.maximum(self, 0)), 0)",
        ("self: grad * (self > 0) / (result * 2)",), dtypes="floating",
    ),
    Rule(
        "one_of_two_signs", "Tensor self", "(np.sin(self), np.cos(self))",
        ("self: grads[0] * self.cos().conj() + grads[1] * self.sin().conj()",), results="(Tensor sine, Tensor cosine)",
    ),
    Rule(
        "one_result_forgotten", "Tensor self", "(np.sin(self), self * 2)",
        ("self: grads[0] * self.cos().conj() + grads[1] * 0",), results="(Tensor sine, Tensor double)",
    ),
    Rule(
        "alpha_forgotten", "Tensor self, Tensor other, Scalar alpha", "self + alpha * other",
        ("self: grad", "other: grad"), ("T(3), T(3), 2.5",),
    ),
    Rule(
        "wrong_count", "Tensor self", "self.mean(axis=1)",
        ("self: grad.unsqueeze(1).expand(self.sizes()) / self.numel()",),
    ),
    Rule(
        "biased", "Tensor self", "self.var(ddof=1)", ("self: grad * (self - self.mean()) * 2 / self.numel()",),
        dtypes="floating",
    ),
    Rule(
        "softmax_without_its_sum", "Tensor self", "np.exp(self) / np.exp(self).sum(axis=1, keepdims=True)",
        ("self: grad * result.conj()",),
    ),
    Rule(
        "log_softmax_without_its_sum", "Tensor self", "self - np.log(np.exp(self).sum(axis=1, keepdims=True))",
        ("self: grad - grad * result.exp().conj()",),
    ),
    Rule("flip_not_undone", "Tensor self", "self[::-1] * 1", ("self: grad",)),
    Rule(
        "sides_swapped", "Tensor condition, Tensor self", "np.where(condition, self, 0)",
        ("condition: non_differentiable", "self: grad.masked_fill(condition, 0)"), ("B(3, 4), T(3, 4)",),
    ),
    Rule(
        "power_not_lowered", "Tensor self, Scalar by", "self ** by", ("self: grad * (self.pow(by) * by).conj()",),
        ("T(3, low=0.5, high=2), 2.5",),
    ),
    Rule(
        "power_of_zero", "Tensor self, Scalar by", "self ** by", ("self: grad * (self.pow(by - 1) * by).conj()",),
        ("T(3, low=0.2, high=2), 0",),
    ),
    Rule("product_by_division", "Tensor self", "self.prod()", ("self: grad * (result / self).conj()",)),
    Rule(
        "inverse_not_transposed", "Tensor self", "np.linalg.inv(self)", ("self: -result.mm(grad).mm(result)",),
        ("T(3, 3)",),
    ),
    Rule("trace_everywhere", "Tensor self", "np.trace(self)", ("self: grad.expand(self.sizes())",), ("T(3, 3)",)),
    Rule("norm_not_divided", "Tensor self", "np.sqrt((self * self).sum())", ("self: grad * self",), dtypes="floating"),
    Rule("off_in_the_ninth_digit", "Tensor self", "np.exp(self)", ("self: grad * result * 1.000000002",),
         dtypes="floating"),
    Rule("off_in_the_ninth_digit_of_a_small_slope", "Tensor self", "self / 60", ("self: grad / 60 * 1.000000001",),
         dtypes="floating"),
    Rule("wide_gradient", "Tensor self", "self * 2", ("self: doubled_in_double(grad)",), dtypes="floating",
         helper="def doubled_in_double(grad: Tensor) -> Tensor:\n    return grad.double() * 2"),
    Rule("second_wrong_at_zero", "Tensor self", "self ** 2", ("self: slope_of_square(grad, self)",), dtypes="floating",
         helper="def slope_of_square(grad: Tensor, self: Tensor) -> Tensor:\n"
         "    return grad * 2 * self.masked_fill(self == 0, 0)"),
    Rule("argument_written", "Tensor self", "np.multiply(self, 2, out=self) * 1", ("self: grad * 2",)),
    Rule("about_memory", "Tensor self", 'self.ravel(order="K").reshape(self.shape) * 2', ("self: grad * 2",)),
)  # fmt: skip


KERNELS = """import numpy as np


def replaced_at(self, index, value):
    out = self.copy()
    out[index] = value
    return out
"""
NUMBERS = ("T(3, low=0.5, high=2), 2.0",)
# Each is right in its samples.
ELSEWHERE_WRONG = (
    Rule(
        "handed_back_for_one", "Tensor self, Scalar by", "self * by if by != 1 else self",
        ("self: grad * by.conj()",), ("T(3), 2",),
    ),
    Rule(
        "wide_for_another_sign", "Tensor self, Scalar by", "self * by if np.real(by) > 0 else self * np.float64(by)",
        ("self: grad * by.conj()",), ("T(3), 2",), dtypes="floating",
    ),
    Rule(
        "broadcast_one_way", "Tensor self, Tensor other", "self + other", ("self: grad", "other: grad.sum(0)"),
        ("T(3, 4), T(4)",),
    ),
    Rule(
        "axes_in_the_order_of_the_sample", "Tensor self, int[] dims", "self.sum(axis=tuple(dims))",
        ("self: axes_put_back(grad, dims, self.sizes())",), ("T(2, 3, 4), [0, 2]",),
        helper="def axes_put_back(grad: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:\n"
        "    for dim in dims:\n        grad = grad.unsqueeze(dim)\n    return grad.expand(sizes)",
    ),
    Rule(
        "axes_from_the_front", "Tensor self, int dim", "np.cumsum(self, axis=dim)",
        ("self: cumsum_back(grad, dim)",), ("T(3, 4), 1",),
        helper="def cumsum_back(grad: Tensor, dim: int) -> Tensor:\n"
        "    return grad.flip([dim]).cumsum(dim).flip([dim]) if dim >= 0 else grad.flip([dim]).cumsum(dim)",
    ),
    Rule("one_number", "Tensor self, float by", "np.power(self, by)", ("self: grad * 2 * self",), NUMBERS,
         dtypes="floating"),
    Rule("one_scalar", "Tensor self, Scalar by", "self * by * by", ("self: grad * by * 2",), ("T(3), 2",),
         dtypes="floating"),
    Rule(
        "one_weight", "Tensor self, Tensor weight", "self * weight",
        ("self: grad", "weight: non_differentiable"), ("T(3), C([1.0, 1.0, 1.0])",), dtypes="floating",
    ),
    Rule("one_diagonal", "Tensor self, int diagonal", "np.triu(self, diagonal)", ("self: grad.triu(1)",),
         ("T(3, 3), 1",)),
    Rule("one_choice", "Tensor self, bool twice", "self * 2 if twice else self * 1", ("self: grad * 2",),
         ("T(3), True",)),
    Rule(
        "kept_dims_forgotten", "Tensor self, bool keepdim", "self.sum(axis=1, keepdims=keepdim)",
        ("self: grad.unsqueeze(1).expand(self.sizes())",), ("T(3, 4), False",),
    ),
    Rule(
        "one_word", "Tensor self, str mode", "self * 3 if mode == 'three' else self * 2", ("self: grad * 3",),
        ("T(3), 'three'", "D(3), 'two'"),
    ),
    Rule("rows_alone", "Tensor self", "self.sum(axis=0)", ("self: of_rows(grad, self.sizes())",),
         helper="def of_rows(grad: Tensor, sizes: Sequence[int]) -> Tensor:\n"
         "    return grad.unsqueeze(0).expand(sizes) if sizes[1] > 1 else grad.unsqueeze(0) * 2"),
    Rule(
        "beyond_two", "Tensor self", "np.tanh(self)", ("self: within_two(grad, self)",), dtypes="floating",
        helper="def within_two(grad: Tensor, self: Tensor) -> Tensor:\n"
        "    return grad * (1 - self.clamp(-2, 2).tanh() ** 2)",
    ),
    Rule("overflow", "Tensor self", "np.logaddexp(self, 0)", ("self: grad * self.exp() / (self.exp() + 1)",),
         dtypes="floating"),
)  # fmt: skip
# These are right wherever their kernels take a call.
RIGHT = (
    Rule("broadcasts", "Tensor self, Tensor other", "self + other", ("self: grad", "other: grad"), ("T(3, 4), T(4)",)),
    Rule(
        "any_axes", "Tensor self, int[] dims", "self.sum(axis=tuple(dims))",
        ("self: every_axis_put_back(grad, dims, self.sizes())",), ("T(2, 3, 4), [0, 2]",),
        helper="def every_axis_put_back(grad: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:\n"
        "    for dim in sorted(dim % len(sizes) for dim in dims):\n        grad = grad.unsqueeze(dim)\n"
        "    return grad.expand(sizes)",
    ),
    Rule("staircase", "Tensor self", "np.trunc(self)", ("self: grad * 0",), dtypes="floating"),
    Rule("kink", "Tensor self, float at", "np.maximum(self, at)", ("self: grad * (self > at)",), ("T(3, 4), 0.5",),
         dtypes="floating"),
    Rule("in_its_domain", "Tensor self", "np.log(self)", ("self: grad / self",), ("T(3, low=0.1, high=2)",),
         dtypes="floating"),
    Rule("steep", "Tensor self", "np.exp(self)", ("self: grad * result",), dtypes="floating"),
    Rule(
        "refuses", "Tensor self, bool whole", "self.sum() if whole else self * 1", ("self: of_parts(grad, whole)",),
        ("T(3), False",),
        helper="def of_parts(grad: Tensor, whole: bool) -> Tensor:\n    if whole:\n"
        "        raise RuntimeError('the sum has no derivative here')\n    return grad",
    ),
    Rule(
        "weighted", "Tensor self, Tensor weight", "self * weight",
        ("self: grad * weight", "weight: non_differentiable"), ("T(3), C([1.0, 1.0, 1.0])",), dtypes="floating",
    ),
    Rule(
        "replaced", "Tensor self, Tensor index, Tensor value", "replaced_at(self, index, value)",
        ("self: grad.index_fill(0, index, 0)", "index: non_differentiable", "value: grad.index_select(0, index)"),
        ("T(4), I(1, high=4), T(1)",), dtypes="floating(self)",
    ),
)  # fmt: skip


def package_of(rules: Sequence[Rule], folder: Path) -> Project:
    """A package in a folder, with these rules; nothing is generated yet."""
    assert make_package("wrong", folder) == 0
    project = Project(folder, "wrong")
    for name in ("native_functions.yaml", "derivatives.yaml"):
        project.file(name).write_text("")
    project.file("kernels.py").write_text(KERNELS)
    project.file("helpers.py").write_text("from collections.abc import Sequence\n\nfrom gradwright import Tensor\n")
    for rule in rules:
        _add(rule, project)
    return project


def _add(rule: Rule, project: Project) -> None:
    schema = f"{rule.name}({rule.arguments}) -> {rule.results}"
    lines = [f"- func: {schema}", "  dispatch:", f"    CPU: {rule.name}"]
    lines += [f"  dtypes: {rule.dtypes}"] if rule.dtypes else []
    lines += [f"  reference: {rule.reference}"] if rule.reference else []
    lines += ["  unproven:", *(f"    {line}" for line in rule.unproven)] if rule.unproven else []
    lines += ["  samples:", *(f"  - {sample}" for sample in rule.samples)]
    project.append("native_functions.yaml", "\n".join([*lines, "", ""]))
    formulas = "".join(f"  {formula}\n" for formula in rule.formulas)
    project.append("derivatives.yaml", f"- name: {schema}\n{formulas}\n")
    names = [argument.split()[1] for argument in rule.arguments.split(", ")]
    project.append("kernels.py", f"\n\ndef {rule.name}({', '.join(names)}):\n    return {rule.kernel}\n")
    if rule.helper:
        project.append("helpers.py", f"\n\n{rule.helper}\n")
