"""Pages: what `verify` refutes."""

from __future__ import annotations

from codegen.codes import Code
from codegen.messages.page import DERIVATIVES, HELPERS, KERNELS, Page

_NAME = "- name: twice(Tensor self) -> Tensor\n"
_SQUARE = {
    DERIVATIVES: f"{_NAME}  self: square_backward(grad, self)\n",
    KERNELS: "def twice(self):\n    return self * self\n",
}
_SLOPE = "from gradwright import Tensor\n\n\ndef square_backward(grad: Tensor, self: Tensor) -> Tensor:\n"

PAGES = (
    Page(
        Code.WRONG_GRADIENT, "A gradient is wrong",
        "`verify` compares gradients with finite differences, whose error it knows: at random values, at zeros, ties "
        "and bounds, in real and in complex numbers. Where a simple mistake explains the difference, the message names "
        "it. What it says of 'again' shows the failure in Python.",
        DERIVATIVES,
        f"{_NAME}  self: grad * 4\n",
        f"{_NAME}  self: grad * 2\n",
    ),
    Page(
        Code.WRONG_TANGENT, "A tangent is not what the gradients say",
        "The tangent along a direction, and the gradient that comes back along another, are two ways to one number. "
        "The gradient is compared with finite differences besides: where only this message comes, the forward formula "
        "is wrong.",
        DERIVATIVES,
        f"{_NAME}  self: grad * 2\n  result: self_t * 4\n",
        f"{_NAME}  self: grad * 2\n  result: self_t * 2\n",
    ),
    Page(
        Code.WRONG_SECOND, "A second derivative is wrong",
        "The gradient is right, and its own derivative is not: the formula takes something for a constant that depends "
        "on an input, or it uses an operator whose second derivative is wrong. Each mode is tried over each.",
        HELPERS,
        f"{_SLOPE}    return grad * self.detach().conj() * 2\n",
        f"{_SLOPE}    return grad * self.conj() * 2\n",
        _SQUARE,
    ),
    Page(
        Code.UNPROVEN, "An operator has not a property that all have",
        "A call in place or with 'out=', for a batch, in C++, or of a Tensor that lies otherwise in memory gives other "
        "numbers; a kernel writes to an argument, or returns something else than its schema says: no array, the memory "
        "of an argument where no view is declared, a copy where one is, numbers of another width; something is saved "
        "that no gradient needs; or 'unproven' names a property that holds. Where there is a reason that it can not "
        "hold, 'unproven' of the operator says it.",
        KERNELS,
        'def twice(self):\n    return self.ravel(order="K").reshape(self.shape) * 2\n',
        "def twice(self):\n    return self * 2\n",
    ),
    Page(
        Code.NOT_PROVEN, "A rule is not proven as it is",
        "A run that generates proves the rules that have changed, and keeps what it finds in 'proofs.txt' beside the "
        "output, which is committed with it. 'lint' and '--check' prove nothing: they fail where the rule was refuted, "
        "or where nothing is known of it because the proofs were left out, interrupted, or ended by a crash. With "
        "'--no-verify' they do not ask.",
        DERIVATIVES,
        f"{_NAME}  self: grad * 4\n",
        f"{_NAME}  self: grad * 2\n",
    ),
)  # fmt: skip
