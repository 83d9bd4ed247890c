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
    Rule("argument_written", "Tensor self", "np.multiply(self, 2, out=self) * 1", ("self: grad * 2",)),
    Rule("about_memory", "Tensor self", 'self.ravel(order="K").reshape(self.shape) * 2', ("self: grad * 2",)),
)  # fmt: skip


def package_of(rules: Sequence[Rule], folder: Path) -> Project:
    """A package in a folder, with these rules; nothing is generated yet."""
    assert make_package("wrong", folder) == 0
    project = Project(folder, "wrong")
    for name in ("native_functions.yaml", "derivatives.yaml"):
        project.file(name).write_text("")
    project.file("kernels.py").write_text("import numpy as np\n")
    project.file("helpers.py").write_text("from gradwright import Tensor\n")
    for rule in rules:
        _add(rule, project)
    return project


def _add(rule: Rule, project: Project) -> None:
    schema = f"{rule.name}({rule.arguments}) -> {rule.results}"
    lines = [f"- func: {schema}", "  dispatch:", f"    CPU: {rule.name}"]
    lines += [f"  dtypes: {rule.dtypes}"] if rule.dtypes else []
    lines += ["  unproven:", *(f"    {line}" for line in rule.unproven)] if rule.unproven else []
    lines += ["  samples:", *(f"  - {sample}" for sample in rule.samples)]
    project.append("native_functions.yaml", "\n".join([*lines, "", ""]))
    formulas = "".join(f"  {formula}\n" for formula in rule.formulas)
    project.append("derivatives.yaml", f"- name: {schema}\n{formulas}\n")
    names = [argument.split()[1] for argument in rule.arguments.split(", ")]
    project.append("kernels.py", f"\n\ndef {rule.name}({', '.join(names)}):\n    return {rule.kernel}\n")
    if rule.helper:
        project.append("helpers.py", f"\n\n{rule.helper}\n")
