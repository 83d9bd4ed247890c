"""gradcheck on functions that are right and on functions that are wrong in every way it looks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwright
from gradwright.autograd import GradcheckError, gradcheck, gradgradcheck
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.graph.node import Node

MODES = pytest.mark.parametrize("fast_mode", [False, True])


class Scaled(Node):
    """A linear step whose way back is multiplied by some factor, and by another each time it runs."""

    __slots__ = ("drift", "factor")

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        self.factor += self.drift
        return (grad * self.factor,)


def scaled(x: Tensor, factor: complex = 1.0, drift: float = 0.0) -> Tensor:
    out = wrap(x._array.copy())
    if x._edge is not None:
        node = Scaled((x if x._edge is LEAF else x._edge,), out._array.shape, out._array.dtype)
        node.factor, node.drift = factor, drift
        out._edge = node
    return out


def real(*shape: int) -> Tensor:
    return wrap(np.asarray(np.random.default_rng(0).uniform(0.5, 1.5, shape))).requires_grad_()


def complex_(*shape: int) -> Tensor:
    random = np.random.default_rng(1)
    values = random.uniform(0.5, 1.5, shape) + 1j * random.uniform(0.5, 1.5, shape)
    return wrap(values).requires_grad_()


@MODES
@pytest.mark.parametrize("make", [real, complex_])
def test_right_functions(make: Any, fast_mode: bool) -> None:
    x, y = make(2, 3), make(3)
    assert gradcheck(lambda a, b: a * b + a.exp(), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda a, b: a * a * b, (x, y), fast_mode=fast_mode)
    assert gradcheck(lambda a, b: (a * b, b.sum(), a + 1.0), [x, y], fast_mode=fast_mode)


@MODES
def test_between_real_and_complex(fast_mode: bool) -> None:
    z = complex_(3)
    assert gradcheck(lambda a: a.abs(), z, fast_mode=fast_mode)
    assert gradcheck(lambda a: a.real * a.imag, z, fast_mode=fast_mode)
    assert gradcheck(lambda a, b: a * b, (real(3), z), fast_mode=fast_mode)
    assert gradgradcheck(lambda a: (a * a.conj()).real, z, fast_mode=fast_mode)


def test_forward_mode() -> None:
    assert gradcheck(lambda a, b: (a * b, a.exp()), (real(3), real(3)), check_forward_ad=True)
    assert gradcheck(lambda a: a * a.conj(), complex_(3), check_forward_ad=True, check_backward_ad=False)
    assert gradcheck(lambda a: a * a, real(3), check_forward_ad=True, check_backward_ad=False, fast_mode=True)


@MODES
@pytest.mark.parametrize("make", [real, complex_])
def test_wrong_gradient(make: Any, fast_mode: bool) -> None:
    x = make(3)
    message = r"(?s)for output 0 with respect to input 0,\nnumerical:.*\nanalytical:.*tensor"
    with pytest.raises(GradcheckError, match=message):
        gradcheck(lambda a: scaled(a, 1.01), x, fast_mode=fast_mode)
    assert not gradcheck(lambda a: scaled(a, 1.01), x, fast_mode=fast_mode, raise_exception=False)


def test_message_names_the_pair() -> None:
    with pytest.raises(GradcheckError, match=r"for output 1 with respect to input 2,"):
        gradcheck(lambda a, n, b: (a * n, a * scaled(b, 2.0)), (real(2), 3.0, real(2)))


def test_conjugate_gradient_is_seen() -> None:
    with pytest.raises(GradcheckError, match=r"While considering the (real|imaginary) part of complex outputs only"):
        gradcheck(lambda a: scaled(a, 1j), complex_(2))


def test_wrong_second_derivative() -> None:
    class Square(Node):
        __slots__ = ("x",)

        def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
            return (grad * self.x.detach() * 2.0,)

    def square(a: Tensor) -> Tensor:
        out = wrap(a._array**2)
        node = Square((a,), out._array.shape, out._array.dtype)
        node.x = a
        out._edge = node
        return out

    assert gradcheck(square, real(3))
    with pytest.raises(GradcheckError, match="mismatch"):
        gradgradcheck(square, real(3))


def test_nondeterministic_backward() -> None:
    nodes: list[Scaled] = []

    def drifting(a: Tensor) -> Tensor:
        out = scaled(a, 1.0, 1e-9)
        assert isinstance(out._edge, Scaled)
        nodes.append(out._edge)
        return out

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(drifting, real(2))
    assert gradcheck(drifting, real(2), nondet_tol=1e-6)


class Pair(Node):
    """Two copies; the way back forgets one when the other's gradient is missing."""

    __slots__ = ("right",)
    num_outputs = 2

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        first, second = grad
        if first is None or second is None:
            if self.right:
                return (first if second is None else second,)
            return (None,)
        return (first + second,)


def pair(a: Tensor, right: bool) -> tuple[Tensor, Tensor]:
    from runtime.graph.recording import set_edges

    outs = (wrap(a._array.copy()), wrap(a._array.copy()))
    node = Pair((a,), (a._array.shape,) * 2, (a._array.dtype,) * 2)
    node.right = right
    set_edges(outs, node)
    return outs


def test_undefined_gradients() -> None:
    assert gradcheck(lambda a: pair(a, True), real(2))
    with pytest.raises(GradcheckError):
        gradcheck(lambda a: pair(a, False), real(2))


def test_inputs_that_do_not_require_grad_are_left_alone() -> None:
    fixed = gradwright.tensor([2.0, 3.0], dtype=gradwright.float64)
    assert gradcheck(lambda a, b: a * b, (real(2), fixed))


def test_other_layouts() -> None:
    x = wrap(np.asfortranarray(np.random.default_rng(2).random((3, 2)))).requires_grad_()
    assert gradcheck(lambda a: a * a, x)
    assert gradgradcheck(lambda a: a * a * a, x, gen_non_contig_grad_outputs=True)
    y = real(2, 3) * 1.0
    assert gradcheck(lambda a: a.transpose(0, 1) * 2.0, y)


def test_empty_and_zero_dim() -> None:
    assert gradcheck(lambda a: a * a, real(0, 3))
    assert gradcheck(lambda a: a * a, real())


def test_in_place_functions() -> None:
    def function(a: Tensor, b: Tensor) -> Tensor:
        c = a * 1.0
        c.narrow(0, 0, 1).mul_(b.narrow(0, 1, 1))
        return c

    assert gradcheck(function, (real(3), real(3)))
    assert gradgradcheck(function, (real(3), real(3)))


def test_in_place_through_the_parts_of_complex_numbers() -> None:
    def function(a: Tensor) -> Tensor:
        b = a * 1.0
        b.real.mul_(a.imag)
        return b * b

    assert gradcheck(function, complex_(2))
    assert gradgradcheck(function, complex_(2))


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda a: a, gradwright.tensor([1.0]))
    with pytest.raises(AssertionError, match="check_forward_ad or check_backward_ad"):
        gradcheck(lambda a: a, real(1), check_backward_ad=False)
    overlapping = wrap(np.broadcast_to(np.ones(1), (3,))).requires_grad_()
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(lambda a: a * a, overlapping)
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda a: a * 2.0, gradwright.tensor([1.0]).requires_grad_(), eps=1e-2, atol=1e-1)


def test_constant_function() -> None:
    assert gradcheck(lambda a: gradwright.tensor([1.0], dtype=gradwright.float64), real(2))
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda a: a.detach() * 2.0, real(2))


def test_second_derivative_of_a_write_that_saves_its_result() -> None:
    def function(a: Tensor) -> Tensor:
        b = a * 1.0
        b.narrow(0, 0, 2).tanh_()
        return b * b

    assert gradcheck(function, real(3))
    assert gradgradcheck(function, real(3))


def test_fast_mode_says_how_to_see_more() -> None:
    for options in ({}, {"check_forward_ad": True, "check_backward_ad": False}):
        with pytest.raises(GradcheckError) as caught:
            gradcheck(lambda a: a * 2.0 + (a - a.detach()), real(2), fast_mode=True, **options)
        text = str(caught.value)
        assert "random vectors" in text
        assert "fast_mode=False" in text
        assert "Numerical:\ntensor([[2.0000, 0.0000]" in text
        assert "Analytical:\ntensor([[3., 0.]" in text
        assert "max per-element difference is: 1.0" in text


def test_a_gradient_that_is_not_multiplied() -> None:
    class Constant(Node):
        __slots__ = ()

        def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
            return (gradwright.ones_like(grad),)

    def function(a: Tensor) -> Tensor:
        out = wrap(a._array.copy())
        if a._edge is not None:
            out._edge = Constant((a if a._edge is LEAF else a._edge,), out._array.shape, out._array.dtype)
        return out

    with pytest.raises(GradcheckError, match="not multiplied by grad_output: that of input 0"):
        gradcheck(function, real(1))


class First(Node):
    """Three copies; the way back takes the last gradient for missing when the middle one is."""

    __slots__ = ()
    num_outputs = 3

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        first, second, third = grad
        total: Any = None
        for part in (first, second, None if second is None and first is not None else third):
            if part is not None:
                total = part if total is None else total + part
        return (total,)


def test_one_missing_gradient_of_three() -> None:
    from runtime.graph.recording import set_edges

    def function(a: Tensor) -> tuple[Tensor, ...]:
        outs = tuple([wrap(a._array.copy()) for _ in range(3)])
        set_edges(outs, First((a,), (a._array.shape,) * 3, (a._array.dtype,) * 3))
        return outs

    with pytest.raises(GradcheckError, match=r"undefined output grads as if they were zeros.*outputs \[1\] had none"):
        gradcheck(function, real(2))
    assert gradcheck(function, real(2), check_undefined_grad=False)


def test_missing_tangents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula that is wrong only where a tangent is zeros that somebody gave."""
    from generated import operators
    from runtime.graph import zero_tensors

    formula = operators.mul_Tensor_op.jvp
    assert formula is not None

    def wrong(out: Tensor, a: Tensor, b: Tensor, a_t: Tensor, b_t: Tensor) -> Any:
        given = not zero_tensors.is_zeros(a_t) and not a_t.numpy().any()
        return formula(out, a, b, a_t, b_t) * (2.0 if given else 1.0)

    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(lambda a, b: a * b, (real(2), real(2)), **options)
    monkeypatch.setattr(operators.mul_Tensor_op, "jvp", wrong)
    assert gradcheck(lambda a, b: a * b, (real(2), real(2)), check_undefined_grad=False, **options)
    with pytest.raises(GradcheckError, match="output 0 when input 0 has an undefined tangent"):
        gradcheck(lambda a, b: a * b, (real(2), real(2)), **options)


def test_batched_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradwright.autograd.gradcheck import analytical

    options = {"check_batched_grad": True, "check_batched_forward_grad": True, "check_forward_ad": True}
    for x in (real(2, 2), complex_(2)):
        assert gradcheck(lambda a: (a * a, a.sum()), x, **options)
        assert gradgradcheck(lambda a: a * a * a, x, check_batched_grad=True)
    for name in ("batched_gradients", "batched_tangents"):
        whole = getattr(analytical, name)
        swapped = lambda *args, whole=whole: whole(*args[:2], args[2][::-1])  # noqa: E731
        monkeypatch.setattr(analytical, name, swapped)
    with pytest.raises(GradcheckError, match="Mismatch in batched gradients, for output 0 and input 0"):
        gradcheck(lambda a: a * a, real(2), check_batched_grad=True)
    with pytest.raises(GradcheckError, match="Mismatch in batched forward gradients, for output 0 and input 0"):
        gradcheck(lambda a: a * a, real(2), check_forward_ad=True, check_batched_forward_grad=True)


def test_dtypes_of_gradients() -> None:
    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="not a double precision"):
        assert gradcheck(
            lambda a: a.double() * 2.0, x, eps=1e-2, atol=1e-2, check_grad_dtypes=True, check_forward_ad=True
        )
