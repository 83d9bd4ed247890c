"""Pages: formulas that can be read and bound, and are no derivatives; what `report` shows."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, KERNELS, NATIVE_FUNCTIONS, Page

_PLAIN = '\n- name: plain(Tensor self) -> Tensor\n  self: not_implemented("plain")\n'
_NAME = "- name: twice(Tensor self) -> Tensor\n"
_RIGHT = f"{_NAME}  self: grad * 2\n"
_WEIGHTED = "- name: weighted(Tensor self, Tensor weight, int times) -> Tensor\n"
_TWO_ARGUMENTS = {
    NATIVE_FUNCTIONS: "- func: weighted(Tensor self, Tensor weight, int times) -> Tensor\n  dispatch:\n"
    "    CPU: weighted\n  promotion: default(self, weight)\n  samples:\n  - T(3), T(3), 2\n",
    KERNELS: "def weighted(self, weight, times):\n    return self * weight * times\n",
}
_BACKWARD = f"{_WEIGHTED}  self: grad * weight.conj() * times\n  weight: grad * self.conj() * times\n"
_LARGEST = "- name: largest(Tensor self, int dim) -> (Tensor values, Tensor indices)\n"
_WITH_INDICES = {
    NATIVE_FUNCTIONS: "- func: largest(Tensor self, int dim) -> (Tensor values, Tensor indices)\n  dispatch:\n"
    "    CPU: largest\n  samples:\n  - T(3, 4), 0\n",
    KERNELS: "import numpy as np\n\n\ndef largest(self, dim):\n    indices = np.argmax(self, axis=dim)\n"
    "    return np.max(self, axis=dim), indices\n",
}
_PICKED = "  self: zeros_like(self).scatter(dim, indices.unsqueeze(dim), grad.unsqueeze(dim))\n"

_TWICE = "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n"
_FOURFOLD = f"{_TWICE}\n- func: fourfold(Tensor self) -> Tensor\n"
_WITHOUT_DERIVATIVE = "\n- func: plain(Tensor self) -> Tensor\n  dispatch:\n    CPU: plain\n  tags: pointwise\n"


def _expression(text: str, at: str = "") -> str:
    """An operator that is an expression over elements."""
    line = f"  slope_at: {at}\n" if at else ""
    return f"- func: bend(Tensor self) -> Tensor\n  elementwise: {text}\n{line}"


PAGES = (
    Page(
        Code.OUTPUTS, "'output_differentiability' does not fit the results",
        "It has an item for each result: True, False, or a condition in quotes.",
        DERIVATIVES,
        f"{_LARGEST}  output_differentiability: [True]\n{_PICKED}",
        f"{_LARGEST}  output_differentiability: [True, False]\n{_PICKED}",
        _WITH_INDICES,
    ),
    Page(
        Code.NO_FORMULA, "An argument has neither a formula nor a word that there is none",
        "Of an argument that is left out nobody can tell whether its derivative is zero or was forgotten. Write its "
        "formula, 'non_differentiable', or 'not_implemented(\"...\")', which raises an error when it is asked for.",
        DERIVATIVES,
        f"{_WEIGHTED}  self: grad * weight.conj() * times\n",
        f"{_WEIGHTED}  self: grad * weight.conj() * times\n  weight: grad * self.conj() * times\n",
        _TWO_ARGUMENTS,
    ),
    Page(
        Code.NOT_A_TENSOR, "A formula for an argument that is no Tensor",
        "Only Tensors have gradients.",
        DERIVATIVES,
        f"{_BACKWARD}  times: grad\n",
        _BACKWARD,
        _TWO_ARGUMENTS,
    ),
    Page(
        Code.NOT_LINEAR, "A formula is not linear",
        "A backward formula is a linear map of the gradient, a forward formula of the tangents: without a constant "
        "added, and no sine of it. The note says where a helper or composite on the way is not linear. A helper that "
        "is linear by an argument from mathematics, which its source does not show, is declared so: "
        "'@linear_in(\"grad\")' of 'gradwright.library' above it, which the proofs hold it to.",
        DERIVATIVES,
        f"{_NAME}  self: grad + 1\n",
        _RIGHT,
    ),
    Page(
        Code.AUTOMATIC, "An automatic forward formula does not hold",
        "'auto_linear' is for operators that are linear in all their Tensors, 'auto_element_wise' for those with the "
        "tag 'pointwise' and one differentiable Tensor. For others the formula of the tangents has to be written.",
        DERIVATIVES,
        f"{_BACKWARD}  result: auto_linear\n",
        f"{_BACKWARD}  result: (self_t * weight_p + weight_t * self_p) * times\n",
        _TWO_ARGUMENTS,
    ),
    Page(
        Code.TANGENT_FORGOTTEN, "A forward formula leaves a tangent out",
        "The gradient of an argument is not zero, and the formulas of the results do not use its tangent.",
        DERIVATIVES,
        f"{_BACKWARD}  result: self_t * weight_p * times\n",
        f"{_BACKWARD}  result: (self_t * weight_p + weight_t * self_p) * times\n",
        _TWO_ARGUMENTS,
    ),
    Page(
        Code.INDEX_OUTPUT, "A result counts as differentiable, and is used as an index",
        "Indices have no gradient. Say so with 'output_differentiability'.",
        DERIVATIVES,
        f"{_LARGEST}{_PICKED.replace('grad.', 'grads[0].')}",
        f"{_LARGEST}  output_differentiability: [True, False]\n{_PICKED}",
        _WITH_INDICES,
    ),
    Page(
        Code.TRACED_THROUGH, "Formulas that are never used",
        "An operator without a kernel of its own is traced through: its derivative follows from what it calls. Give "
        "it a kernel, write CompositeExplicitAutograd, or remove the formulas.",
        DERIVATIVES,
        f"{_RIGHT}\n- name: fourfold(Tensor self) -> Tensor\n  self: grad * 4\n",
        _RIGHT,
        {
            NATIVE_FUNCTIONS: f"{_FOURFOLD}  samples:\n  - T(3, 4)\n",
            "composites.py": "from gradwright import Tensor, ops\n\n\ndef fourfold(self: Tensor) -> Tensor:\n"
            "    return ops.mylib.twice(ops.mylib.twice(self))\n",
        },
    ),
    Page(
        Code.ENDLESS, "A formula comes back to its own operator",
        "The formula of 'composite' says an operator with others. One that calls itself, or an operator whose formula "
        "calls it, would never end.",
        NATIVE_FUNCTIONS,
        f"{_FOURFOLD}  composite: fourfold(self)\n  samples:\n  - T(3, 4)\n",
        f"{_FOURFOLD}  composite: twice(twice(self))\n  samples:\n  - T(3, 4)\n",
    ),
    Page(
        Code.NOT_ELEMENTWISE, "This is no expression over elements",
        "The key 'elementwise' gives each element of the result by an expression over elements of Tensors and numbers. "
        "It may call operators that are tagged 'pointwise', and no others; its operator has Tensors and numbers for "
        "arguments, and one Tensor for a result.",
        NATIVE_FUNCTIONS,
        _expression("self / self.sum()"),
        _expression("self / (self * self + 1)"),
        {DERIVATIVES: "[]\n"},
    ),
    Page(
        Code.UNREACHABLE, "A branch is never taken",
        "One side of a '?:' that no run can come to. It is a warning; of somebody else's YAML `report` shows it.",
        DERIVATIVES,
        f"{_NAME}  self: 'true ? grad * 2 : grad'\n",
        _RIGHT,
    ),
    Page(
        Code.SAVED_IN_VAIN, "A generator that goes by names would save too much",
        "A formula names a Tensor of which it needs no values, only its shape or dtype. Gradwright keeps just these; "
        "PyTorch's generator keeps the Tensor. `report` shows it; it is no error.",
        DERIVATIVES,
        f"{_NAME}  self: grad * 2 + grad.new_zeros(self.sizes())\n",
        _RIGHT,
    ),
    Page(
        Code.HISTORY_LOST, "There is no second derivative",
        "A backward formula gives the gradient to an operator whose derivative is not there. It is a warning; of "
        "somebody else's YAML `report` shows it.",
        DERIVATIVES,
        f"{_RIGHT}\n- name: once(Tensor self) -> Tensor\n  self: plain(grad)\n{_PLAIN}",
        f"{_RIGHT}\n- name: once(Tensor self) -> Tensor\n  self: twice(grad)\n{_PLAIN}",
        {
            NATIVE_FUNCTIONS: "".join(
                f"- func: {name}(Tensor self) -> Tensor\n  dispatch:\n    CPU: {name}\n  samples:\n  - T(3, 4)\n{end}"
                for name, end in (("twice", "\n"), ("once", "\n"), ("plain", ""))
            ),
            KERNELS: "def twice(self):\n    return self * 2\n\n\ndef once(self):\n    return self\n\n\n"
            "def plain(self):\n    return self\n",
        },
    ),
    Page(
        Code.NOT_DERIVED, "A derivative does not follow from an expression",
        "The formulas of an operator with the key 'elementwise' follow from those of the operators that it calls, and "
        "a gradient that is left out from the forward formulas, step by step. One of the operators that are called "
        "has no formula for an argument by itself, or is a helper. Write the formulas in derivatives.yaml: these "
        "count then.",
        NATIVE_FUNCTIONS,
        f"{_expression('plain(self) * 2')}{_WITHOUT_DERIVATIVE}",
        f"{_expression('self * 2')}{_WITHOUT_DERIVATIVE}",
        {DERIVATIVES: _PLAIN.lstrip(), KERNELS: "def plain(self):\n    return self\n"},
    ),
    Page(
        Code.KINK, "What the derivative is at a kink is not said",
        "An expression with 'abs', 'maximum', '?:' and their kin has points without a derivative, and one is used "
        "there all the same. The key 'slope_at' says which, by the value of the first Tensor: 'slope_at: {0: 0}'. "
        "Numbers among the arguments may stand in both; for several Tensors there is a list, with a derivative for "
        "each. Where the slopes on both sides agree nothing has to be said.",
        NATIVE_FUNCTIONS,
        _expression("abs(self)"),
        _expression("abs(self)", "{0: 0}"),
        {DERIVATIVES: "[]\n"},
    ),
    Page(
        Code.DERIVED_DIFFERS, "A formula differs from the one that follows from the expression",
        "An operator with the key 'elementwise' has an entry in derivatives.yaml, too. That entry counts, and is "
        "compared at some points with what the expression gives.",
        DERIVATIVES,
        "- name: bend(Tensor self) -> Tensor\n  self: grad * self\n",
        "- name: bend(Tensor self) -> Tensor\n  self: grad * (self * 2)\n",
        {NATIVE_FUNCTIONS: _expression("self * self") + "  dtypes: real\n"},
    ),
    Page(
        Code.NOT_CONJUGATED, "A factor is not conjugated",
        "The gradient of a holomorphic operator is the incoming one, times the conjugate of its derivative. That a "
        "formula does not conjugate 'grad' says that its operator is holomorphic in that argument; so what 'grad' is "
        "multiplied with depends on conjugates alone: of Tensors, of results, and of numbers. Without '.conj()' the "
        "gradients of real numbers are right, and those of complex ones are wrong. An operator whose 'dtypes' leaves "
        "complex numbers out is not looked at, and so is one with real results: its kernel shows it, as "
        "'np.abs(self) ** 2' does, or its 'promotion: complex_to_float'. Where neither can say it, and the proof of "
        "'gradient_complex' holds, say '# allow GW056: it is real'.",
        DERIVATIVES,
        "- name: squared(Tensor self) -> Tensor\n  self: grad * self * 2\n",
        "- name: squared(Tensor self) -> Tensor\n  self: grad * self.conj() * 2\n",
        {
            NATIVE_FUNCTIONS: "- func: squared(Tensor self) -> Tensor\n  dispatch:\n    CPU: squared\n  samples:\n"
            "  - T(3, 4)\n",
            KERNELS: "def squared(self):\n    return self * self\n",
        },
    ),
)  # fmt: skip
