"""Pages: what `lint` finds, which is no error."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, KERNELS, NATIVE_FUNCTIONS, Page

_TWICE = "- func: twice(Tensor self) -> Tensor\n"
_REST = "  samples:\n  - T(3, 4)\n"
_WEIGHTED = (
    "- func: weighted(Tensor self, Tensor weight) -> Tensor\n  dispatch:\n    CPU: weighted\n{}  tags: pointwise\n"
)
_WEIGHTED_FILES = {
    DERIVATIVES: "- name: weighted(Tensor self, Tensor weight) -> Tensor\n  self: grad * weight.conj()\n"
    "  weight: grad * self.conj()\n",
    KERNELS: "def weighted(self, weight):\n    return self * weight\n",
}
_LARGEST = "- name: largest(Tensor self, int dim) -> (Tensor values, Tensor indices)\n"

PAGES = (
    Page(
        Code.NO_DERIVATIVE, "An operator with a kernel has no derivative",
        "It is called while gradients are recorded, and a gradient that reaches it is an error then. Write its "
        "formulas, or an entry that says 'output_differentiability: [False]'. Of results that are integers or bools, "
        "as far as the kernel shows it, nothing has to be said.",
        DERIVATIVES,
        "[]\n",
        "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n",
    ),
    Page(
        Code.NO_SAMPLES, "An operator has no samples",
        "Samples are the calls that tests make: of its kernel, and of its derivatives beside finite differences. "
        "Operators with the tag 'pointwise' that take Tensors and numbers have some without being asked.",
        NATIVE_FUNCTIONS,
        f"{_TWICE}  dispatch:\n    CPU: twice\n",
        f"{_TWICE}  dispatch:\n    CPU: twice\n{_REST}",
    ),
    Page(
        Code.NOT_POINTWISE, "The tag 'pointwise' stands at a kernel that looks at several elements",
        "Each element of the result is said to depend on the same element of the arguments alone. The usual samples, "
        "'vmap' and 'auto_element_wise' go by that. The kernel's source has a sum, a sort, a product of matrices or "
        "another call along an axis.",
        NATIVE_FUNCTIONS,
        "- func: centred(Tensor self) -> Tensor\n  dispatch:\n    CPU: centred\n  promotion: int_to_float\n"
        f"  tags: pointwise\n{_REST}",
        f"- func: centred(Tensor self) -> Tensor\n  dispatch:\n    CPU: centred\n  promotion: int_to_float\n{_REST}",
        {
            DERIVATIVES: "- name: centred(Tensor self) -> Tensor\n  self: grad - grad.mean()\n",
            KERNELS: "def centred(self):\n    return self - self.mean()\n",
        },
    ),
    Page(
        Code.NO_PROMOTION, "Nothing brings the dtypes of arguments together",
        "A kernel gets its arrays as they are, unless 'promotion' says otherwise. Then NumPy's rules decide about "
        "Tensors of several dtypes, and not PyTorch's; and integers become float64 where a kernel divides. A kernel "
        "that asks for dtypes itself is left alone, and so is an operator whose 'dtypes' leaves no choice.",
        NATIVE_FUNCTIONS,
        _WEIGHTED.format(""),
        _WEIGHTED.format("  promotion: default(self, weight)\n"),
        _WEIGHTED_FILES,
    ),
    Page(
        Code.KERNEL_WRITES, "A kernel writes to its argument",
        "The array belongs to a Tensor that the caller still has, and that may be saved for a backward pass. What the "
        "source shows is found here; 'GRADWRIGHT_DEBUG=1' finds the rest when the kernel runs.",
        KERNELS,
        "def twice(self):\n    self *= 2\n    return self.copy()\n",
        "def twice(self):\n    return self * 2\n",
    ),
    Page(
        Code.DIFFERENTIABLE_INTEGER, "A result of integers or bools counts as differentiable",
        "It would get a gradient, which it can not have. Say so with 'output_differentiability'.",
        DERIVATIVES,
        f"{_LARGEST}  self: grads[0].unsqueeze(dim) * self.conj()\n",
        f"{_LARGEST}  output_differentiability: [True, False]\n  self: grad.unsqueeze(dim) * self.conj()\n",
        {
            NATIVE_FUNCTIONS: "- func: largest(Tensor self, int dim) -> (Tensor values, Tensor indices)\n  dispatch:\n"
            "    CPU: largest\n  samples:\n  - T(3, 4), 0\n",
            KERNELS: "import numpy as np\n\n\ndef largest(self, dim):\n"
            "    return np.max(self, axis=dim), np.argmax(self, axis=dim)\n",
        },
    ),
    Page(
        Code.ALLOWS_NOTHING, "What a comment allows is not found",
        "'# allow GW061' in an entry, or in the comment right above it, keeps `lint` silent about that finding there. "
        "Where there is none, the comment says something that is no longer so. Errors can not be allowed.",
        NATIVE_FUNCTIONS,
        f"# allow GW061: it is slow\n{_TWICE}  dispatch:\n    CPU: twice\n{_REST}",
        f"# allow GW061: it is slow\n{_TWICE}  dispatch:\n    CPU: twice\n",
    ),
    Page(
        Code.FORMER_WORD, "A key is called otherwise now",
        "It is read by the name that it had before, for one release. 'python -m codegen fix' writes the new one.",
        NATIVE_FUNCTIONS,
        f"{_TWICE}  dispatch:\n    CPU: twice\n  exclusive: True\n{_REST}",
        f"{_TWICE}  dispatch:\n    CPU: twice\n  no_overlap: True\n{_REST}",
    ),
)  # fmt: skip
