"""Pages: operators, their signatures and samples."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, KERNELS, NATIVE_FUNCTIONS, Page

_REST = "  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n"
_TWO_ARGUMENTS = {
    DERIVATIVES: "- name: weighted(Tensor self, Tensor weight) -> Tensor\n  self: grad * weight.conj()\n"
    "  weight: grad * self.conj()\n",
    KERNELS: "def weighted(self, weight):\n    return self * weight\n",
}

PAGES = (
    Page(
        Code.SIGNATURE, "A signature does not follow its grammar",
        "Signatures are those of PyTorch's native_functions.yaml: 'name.overload(Type argument=default, *, Type "
        "keyword) -> Type'. What can be read and contradicts itself is refused as well.",
        NATIVE_FUNCTIONS,
        f"- func: twice(Tensr self) -> Tensor\n{_REST}",
        f"- func: twice(Tensor self) -> Tensor\n{_REST}",
        {DERIVATIVES: "[]\n", KERNELS: "def twice(self):\n    return self > 2\n"},
    ),
    Page(
        Code.DUPLICATE_ENTRY, "There are two entries for one operator",
        "Overloads have names of their own, after a dot: 'scale.Tensor(...)' and 'scale.Scalar(...)'. All formulas of "
        "an operator stand in one entry.",
        DERIVATIVES,
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n\n- name: twice(Tensor self) -> Tensor\n"
        "  result: auto_linear\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n  result: auto_linear\n",
    ),
    Page(
        Code.NO_SUCH_ARGUMENT, "A name is none of the operator's arguments or results",
        "A formula, a promotion, a layout or another key names an argument, and the signature has none of that name or "
        "type.",
        DERIVATIVES,
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n  input: grad\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    ),
    Page(
        Code.SIGN, "A sign can not be used so",
        "'python_operator' says with which sign of Python an operator is written: a call such as 'self + other', of "
        "an operator with these Tensors and no other arguments that must be given. No two operators are written alike. "
        "In a formula, a sign on Tensors needs an operator that is written with it.",
        NATIVE_FUNCTIONS,
        "- func: weighted(Tensor self, Tensor weight) -> Tensor\n  dispatch:\n    CPU: weighted\n"
        "  promotion: default\n  python_operator: self @@ weight\n  samples:\n  - T(3), T(3)\n",
        "- func: weighted(Tensor self, Tensor weight) -> Tensor\n  dispatch:\n    CPU: weighted\n"
        "  promotion: default\n  samples:\n  - T(3), T(3)\n",
        _TWO_ARGUMENTS,
    ),
    Page(
        Code.VARIANT, "A variant can not be made",
        "'autogen' names variants of its own operator: 'name_' works in place, 'name.out' writes into given Tensors. "
        "One in place needs a single result that takes the place of 'self'.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  autogen: double_\n  samples:\n"
        "  - T(3, 4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  autogen: twice_\n  samples:\n"
        "  - T(3, 4)\n",
    ),
    Page(
        Code.SAMPLE, "A sample is no call of the operator",
        "A sample is the inside of a call, made of numbers, lists and the makers that docs/yaml.md lists: 'T(3, 4), "
        "dim=1'. Its arguments are those of the signature.",
        NATIVE_FUNCTIONS,
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4), T(4)\n",
        "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n  samples:\n  - T(3, 4)\n",
    ),
)  # fmt: skip
