"""Pages: formulas as text, their names and their types."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, KERNELS, NATIVE_FUNCTIONS, Page

_NAME = "- name: twice(Tensor self) -> Tensor\n"
_RIGHT = f"{_NAME}  self: grad * 2\n"
_SPLIT = "- name: halves(Tensor self) -> (Tensor first, Tensor second)\n"
_TWO_RESULTS = {
    NATIVE_FUNCTIONS: "- func: halves(Tensor self) -> (Tensor first, Tensor second)\n  dispatch:\n    CPU: halves\n"
    "  promotion: int_to_float\n  samples:\n  - T(3, 4)\n",
    KERNELS: "def halves(self):\n    return self * 0.5, self * 0.5\n",
}
_AN_ARGUMENT_GRAD = {
    NATIVE_FUNCTIONS: "- func: bent(Tensor self, Tensor grad) -> Tensor\n  dispatch:\n    CPU: bent\n"
    "  promotion: default\n  samples:\n  - T(3), T(3)\n",
    KERNELS: "def bent(self, grad):\n    return self * grad\n",
}

PAGES = (
    Page(
        Code.UNKNOWN_OPERATOR, "Formulas for an operator that is not declared",
        "Each entry of derivatives.yaml belongs to an operator of native_functions.yaml, overload and all.",
        DERIVATIVES,
        "- name: twise(Tensor self) -> Tensor\n  self: grad * 2\n",
        _RIGHT,
    ),
    Page(
        Code.SIGNATURE_DIFFERS, "The signature beside the formulas is not the operator's",
        "The 'name' of an entry in derivatives.yaml repeats the signature of native_functions.yaml, so that formulas "
        "can be read alone. It has to be the same.",
        DERIVATIVES,
        "- name: twice(Tensor input) -> Tensor\n  input: grad * 2\n",
        _RIGHT,
    ),
    Page(
        Code.FORMULA_SYNTAX, "A formula does not follow its grammar",
        "Formulas are expressions of C++: calls, methods, arithmetic, comparisons, '?:' and lists in braces. "
        "docs/formulas.md has the grammar.",
        DERIVATIVES,
        f"{_NAME}  self: grad * * 2 )\n",
        _RIGHT,
    ),
    Page(
        Code.UNKNOWN_NAME, "A formula uses a name that it does not have",
        "A formula sees the arguments, the results, 'grad' and 'grads'; one for forward mode sees tangents ('self_t') "
        "and primals ('self_p') instead of gradients.",
        DERIVATIVES,
        f"{_NAME}  self: gard * 2\n",
        _RIGHT,
    ),
    Page(
        Code.UNKNOWN_FUNCTION, "A formula calls what is not there",
        "A function is an operator, a helper, or one of the few that formulas bring themselves. A method is an "
        "operator with the variant 'method'.",
        DERIVATIVES,
        f"{_NAME}  self: grad.mull(2)\n",
        f"{_NAME}  self: grad.mul(2)\n",
    ),
    Page(
        Code.ARGUMENTS, "A call gives other arguments than its operator takes",
        "No overload takes arguments of these numbers and types.",
        DERIVATIVES,
        f"{_NAME}  self: grad.mul(2, 3)\n",
        f"{_NAME}  self: grad.mul(2)\n",
    ),
    Page(
        Code.TYPES, "A value has another type than is needed",
        "A formula for a Tensor gives a Tensor, an index is an int, both sides of '?:' are of one type. The quotient "
        "of two ints is an int, as in C++, and a fraction has to be written as one.",
        DERIVATIVES,
        f"{_NAME}  self: self.dim()\n",
        _RIGHT,
    ),
    Page(
        Code.NOT_A_VALUE, "A part of a formula is nothing that has a value here",
        "Attributes are methods and have to be called; lambdas stand in 'fmap' only; a formula is an expression and "
        "not a string. What an expression can not say goes into a helper.",
        DERIVATIVES,
        f"{_NAME}  self: grad * self.dim\n",
        f"{_NAME}  self: grad * self.dim()\n",
    ),
    Page(
        Code.AMBIGUOUS, "A name means two things",
        "An argument has a name that formulas use for something else, such as 'grad'.",
        DERIVATIVES,
        "- name: bent(Tensor self, Tensor grad) -> Tensor\n  self: grad * 2\n  grad: non_differentiable\n",
        "- name: bent(Tensor self, Tensor grad) -> Tensor\n  self: grads[0] * 2\n  grad: non_differentiable\n",
        _AN_ARGUMENT_GRAD,
    ),
    Page(
        Code.WHICH_GRADIENT, "It is not clear which gradient is meant",
        "Of several results each has a gradient: 'grads[0]', 'grads[1]', or 'grad_first' after the result's name. The "
        "formulas of an entry use one of these ways.",
        DERIVATIVES,
        f"{_SPLIT}  self: grads[0] * 0.5 + grads[2] * 0.5\n",
        f"{_SPLIT}  self: grads[0] * 0.5 + grads[1] * 0.5\n",
        _TWO_RESULTS,
    ),
)  # fmt: skip
