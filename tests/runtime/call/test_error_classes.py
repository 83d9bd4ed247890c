"""The classes of errors: those of PyTorch, and never one of NumPy or SciPy."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable

import numpy as np
import pytest

import gradwright
from codegen.inputs import input_files
from generated import operators
from generated.registry import OPERATORS
from gradwright import linalg, tensor
from gradwright.testing import sample_inputs
from runtime.base import errors
from runtime.base.errors import LinAlgError, translated
from runtime.operators.helpers import distances

SINGULAR = [[1.0, 2.0], [0.0, 0.0]]


def test_singular_matrices() -> None:
    zeros, m = gradwright.zeros(2, 2), tensor([[1.0, 2.0], [3.0, 4.0]])
    assert linalg.LinAlgError is LinAlgError
    assert issubclass(LinAlgError, RuntimeError)
    assert not issubclass(LinAlgError, ValueError)
    for call in (lambda: linalg.inv(zeros), lambda: linalg.solve(zeros, m), lambda: gradwright.inverse(zeros)):
        with pytest.raises(LinAlgError, match="singular") as raised:
            call()
        assert "in " in raised.value.__notes__[0]


@pytest.mark.parametrize("dtype", [gradwright.float32, gradwright.float64, gradwright.complex64])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_singular_triangles_give_infinities(dtype, left: bool, upper: bool) -> None:
    triangle = tensor(SINGULAR, dtype=dtype)
    triangle = triangle if upper else triangle.t()
    out = linalg.solve_triangular(triangle, gradwright.ones(2, 2, dtype=dtype), upper=upper, left=left)
    assert not out.isfinite().all()
    whole = tensor([[2.0, 1.0], [0.0, 4.0]], dtype=dtype)
    whole = whole if upper else whole.t()
    sides = tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)
    out = linalg.solve_triangular(whole, sides, upper=upper, left=left)
    assert (whole @ out if left else out @ whole).tolist() == sides.tolist()


def test_index_out_of_range() -> None:
    x, m, far = tensor([1.0, 2.0, 3.0]), gradwright.ones(2, 2), tensor([5])
    for call in (
        lambda: x.index_add(0, far, x[:1]),
        lambda: x.index_add_(0, far, x[:1].clone()),
        lambda: gradwright.ones(2, 2, 2).index_add(0, far, gradwright.ones(1, 2, 2)),
        lambda: x.index_copy(0, far, x[:1]),
        lambda: x.index_fill(0, far, 1.0),
        lambda: x.index_select(0, far),
        lambda: x.take(far),
        lambda: x.put(far, x[:1]),
        lambda: x[far],
        lambda: x[5],
        lambda: x.index_put((far,), x[:1]),
        lambda: gradwright.embedding(m, far),
        lambda: x.select(0, 5),
    ):
        with pytest.raises(IndexError):
            call()
    for call in (
        lambda: m.index_add(0, far, m[:1]),
        lambda: x.gather(0, far),
        lambda: x.scatter(0, far, 1.0),
        lambda: x.scatter_add(0, far, x),
        lambda: x.index_fill(0, tensor([[0]]), 1.0),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_wrong_arguments_of_composite_operators() -> None:
    """What the function behind an operator makes of them is not what is wrong."""
    x = tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="argument 'rtol'"):
        gradwright.isclose(x, x, x)
    with pytest.raises(TypeError, match="argument 'sizes'"):
        x.unflatten(0, [1.5, 1.5])


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: np.linalg.inv(np.zeros((2, 2))), LinAlgError),
        (lambda: np.zeros(3).sum(axis=2), IndexError),
        (lambda: np.zeros(3).reshape(7), RuntimeError),
        (lambda: np.zeros(2**62), RuntimeError),
        (lambda: np.diagonal(np.zeros((2, 2)), 2**62), RuntimeError),
        (lambda: np.zeros(2) @ np.zeros(3), RuntimeError),
        (lambda: np.invert(np.zeros(2)), NotImplementedError),
        (lambda: np.max(np.zeros(0)), RuntimeError),
    ],
)
def test_translation(call, kind: type) -> None:
    """Each exception of a library becomes one of ours; here the last frame is one of NumPy's or of no project."""
    globals_of_a_kernel = {"__name__": "runtime.operators.kernels.made", "call": call.__code__, "np": np}
    exec("import types\nrun = types.FunctionType(call, globals())", globals_of_a_kernel)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        globals_of_a_kernel["run"]()
    found = translated(raised.value, "made", "gradwright.float64")
    assert type(found) is kind
    assert not type(found).__module__.startswith(("numpy", "scipy"))


def test_our_own_errors_stay() -> None:
    def raised_in(name: str, statement: str) -> Exception:
        with pytest.raises(Exception) as raised:  # noqa: PT011
            exec(statement, {"__name__": name})
        assert isinstance(raised.value, Exception)
        return translated(raised.value, "made", "")

    for name in ("runtime.operators.kernels.made", "generated.operators", "mine"):
        assert type(raised_in(name, "raise ValueError('x')")) is ValueError
    assert type(raised_in("runtime.operators.kernels.made", "int('x')")) is RuntimeError
    assert type(raised_in("runtime.operators.kernels.made", "1 / 0")) is RuntimeError
    assert type(raised_in("mine", "int('x')")) is ValueError
    assert "numpy" in errors._LIBRARIES


def test_an_error_of_a_tangent_names_its_formula_and_shows_the_generated_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(operators, "add_Tensor", fail)  # the formula's call
    with pytest.raises(ValueError, match="broken") as caught:
        gradwright.func.jvp(
            gradwright.mul, (gradwright.ones(3), gradwright.ones(3)), (gradwright.ones(3), gradwright.ones(3))
        )
    note, place = caught.value.__notes__
    assert note == "in the forward derivative of mul.Tensor"
    assert re.fullmatch(r"  derivatives\.yaml:\d+  result: self_t \* other_p \+ other_t \* self_p", place)
    shown = "".join(traceback.format_exception(caught.value))
    assert "return ops.add_Tensor(ops.mul_Tensor(self_t, other), ops.mul_Tensor(other_t, self))" in shown


def test_an_error_of_a_transposed_formula_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ValueError("broken")

    info = OPERATORS["_euclidean_dist"]  # it has no forward formula
    sample = sample_inputs(info, "float64", requires_grad=False)[0]
    monkeypatch.setattr(distances, "_euclidean_dist_backward", fail)
    with pytest.raises(ValueError, match="broken") as caught:
        gradwright.func.jvp(gradwright.ops._euclidean_dist, sample.args, tuple(map(gradwright.ones_like, sample.args)))
    assert "in the derivative of _euclidean_dist (EuclideanDistBackward0)" in caught.value.__notes__
    assert any("derivatives.yaml:" in note and "_euclidean_dist_backward(" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("mm", lambda: gradwright.mm(gradwright.ones(2), gradwright.ones(2))),
        ("dot", lambda: gradwright.dot(gradwright.ones(2), gradwright.ones(3))),
        ("linear", lambda: gradwright.nn.functional.linear(gradwright.ones(2), gradwright.ones(3, 3))),
    ],
)
def test_an_error_of_a_kernel_or_a_composite_names_the_place_of_the_declaration(
    name: str, call: Callable[[], object]
) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    found = re.match(r"in (\w+)\(.*, native_functions\.yaml:(\d+)\ngiven ", caught.value.__notes__[0])
    assert found is not None
    with open(input_files()[0], encoding="utf-8") as file:
        assert file.read().splitlines()[int(found[2]) - 1].startswith(f"- func: {found[1]}(")


def test_an_error_of_a_generated_node_names_its_formulas() -> None:
    x, w = gradwright.ones(3, requires_grad=True), gradwright.ones(3)
    y = x * w
    w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    note, *places = caught.value.__notes__[-3:]
    assert note == "in the derivative of mul.Tensor (MulBackward0)"
    formulas = [re.fullmatch(r"  derivatives\.yaml:\d+  (.*)", place) for place in places]
    assert [found and found[1] for found in formulas] == ["self: grad * other.conj()", "other: grad * self.conj()"]
