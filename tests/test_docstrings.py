"""What `help` shows of operators: signatures, formulas, and examples that print what they say."""

from __future__ import annotations

import inspect
import pydoc
import re
from pathlib import Path
from types import FunctionType

import pytest

import gradwright
from codegen.read.examples import read_results
from generated import packets
from generated.registry import OPERATORS
from gradwright import examples
from runtime import native
from runtime.base.tensor import Tensor


@pytest.fixture(scope="module")
def outcomes() -> list[examples.Outcome]:
    return list(examples.outcomes())


def test_examples_print_what_they_say(outcomes: list[examples.Outcome]) -> None:
    wrong = [f"{each.code}\nwanted:\n{each.wanted}printed:\n{each.printed}" for each in outcomes if not each.holds]
    assert not wrong, "\n".join(wrong)


def test_all_that_examples_print_is_written_down(outcomes: list[examples.Outcome]) -> None:
    missing = [each.code for each in outcomes if not each.wanted]
    assert not missing, f"run: python -m {examples.__name__} --update && python -m codegen\n" + "\n".join(missing)


def test_what_is_written_down_is_of_examples(outcomes: list[examples.Outcome]) -> None:
    known = {each.code for each in outcomes}
    stale = ["\n".join(lines) for lines in read_results(Path(examples.file_of())) if "\n".join(lines) not in known]
    assert not stale, f"run: python -m {examples.__name__} --update && python -m codegen\n" + "\n".join(stale)


def test_every_operator_has_an_example() -> None:
    documented = {name: max((packet.__doc__ or "").count(">>> ") - 1, 0) for name, packet in packets.PACKETS.items()}
    wanted: dict[str, int] = {}
    for info in OPERATORS.values():
        name, shown = info.name.partition(".")[0], info.samples and not info.schema.endswith("-> ()")
        wanted[name] = wanted.get(name, 0) + bool(shown)
    assert {name: documented[name] for name in wanted} == wanted


def test_docstrings_begin_with_all_signatures() -> None:
    for info in OPERATORS.values():
        head = (packets.PACKETS[info.name.partition(".")[0]].__doc__ or "").partition("\n\n")[0]
        assert " ".join(info.schema.split()) in " ".join(head.split())


def test_functions_methods_and_overloads() -> None:
    text = gradwright.tanh.__doc__
    assert text == (
        "tanh(Tensor self) -> Tensor\n"
        "\n"
        "NumPy's `tanh`.\n"
        "\n"
        "Derivative:\n"
        "    self: tanh_backward(grad, result)\n"
        "    result: auto_element_wise\n"
        "\n"
        "Example:\n"
        "    >>> import gradwright\n"
        "    >>> gradwright.tanh(gradwright.tensor([1.95, 0.42, -1.10]))\n"
        "    tensor([ 0.9603,  0.3969, -0.8005])\n"
    )
    assert Tensor.tanh.__doc__ == text == gradwright.ops.tanh.__doc__
    assert Tensor.mul.__doc__ == gradwright.mul.__doc__
    assert Tensor.where.__doc__ == gradwright.where.__doc__  # a method whose `self` is not the first argument
    assert gradwright.mul.Tensor.__doc__ == "mul.Tensor(Tensor self, Tensor other) -> Tensor"
    assert Tensor.mul_.__doc__ == (
        "mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n"
        "mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)\n"
        "\n"
        "Writes the result of `mul` into `self`.\n"
    )


def test_what_computes_it_says_what_it_is() -> None:
    assert "\n\n`x / abs(x)`, and 0 at 0. A real NaN has the sign 0.\n\n" in (gradwright.ops.sgn.__doc__ or "")
    assert "\n\n`abs(self) <= lambd ? 0 : self`, element by element.\n\n" in (gradwright.ops.hardshrink.__doc__ or "")


def test_public_functions_say_what_they_compute() -> None:
    """By a sentence, the formula that they stand for, or NumPy's function."""
    other = re.compile(
        r"(\S+: )?(Differentiated through|Not differentiable|Declared only)|Derivative|Examples?:|\w+(\.\w+)?\(.*\) ->",
        re.S,
    )
    public = {
        base: packet.__doc__ or ""
        for base, packet in packets.PACKETS.items()
        if packets.PYTHON_MODULES.get(base) in (None, "fft", "linalg", "special")
        and not base.startswith("_")
        and "_backward" not in base
    }
    assert [base for base, text in public.items() if all(map(other.match, text.strip().split("\n\n")))] == []
    assert "numbers between 0 and 1 whose sum is 1" in public["softmax"]


def test_signatures() -> None:
    assert str(inspect.signature(gradwright.tanh)) == "(self, *, out=None)"
    assert str(inspect.signature(Tensor.sum)) == "(*args, **kwargs)"  # of several overloads there are several
    assert str(inspect.signature(gradwright.zeros)).startswith("(size, *, dtype=None, ")


def test_help_shows_them() -> None:
    for value in (gradwright.tanh, Tensor.tanh):
        text = pydoc.plain(pydoc.render_doc(value))
        assert "\ntanh(self, *, out=None)\n    tanh(Tensor self) -> Tensor\n" in text
        assert "tensor([ 0.9603,  0.3969, -0.8005])" in text


def test_an_example_that_fails_does_not_hold() -> None:
    failed = examples.Outcome("f", ">>> f()", "", f"{examples.FAILED}TypeError: no\n")
    assert not failed.holds
    assert examples.Outcome("f", ">>> f()", "", "3\n").holds
    assert not examples.Outcome("f", ">>> f()", "4\n", "3\n").holds


def test_functions_of_networks_have_the_text_of_their_operators() -> None:
    text = gradwright.nn.functional.mish.__doc__ or ""
    assert text.startswith(
        "Calls `gradwright.ops.mish`, with PyTorch's arguments of this function.\n\nmish(Tensor self) ->"
    )
    assert text.endswith(gradwright.ops.mish.__doc__ or " ")


@pytest.mark.skipif(native.core is None, reason="there is no native core")
def test_native_functions_have_them_too() -> None:
    assert type(gradwright.tanh) is not FunctionType
    assert "Derivative:" in (gradwright.tanh.__doc__ or "")


@pytest.mark.parametrize(
    ("wanted", "printed", "holds"),
    [
        ("tensor([1.2500, 3.])", "tensor([1.2501, 3.])", True),
        ("tensor([1.2500, 3.])", "tensor([1.2503, 3.])", False),
        ("tensor([-5.6564e-16,  1.0000e+00])", "tensor([1.4855e-15, 1.0000e+00])", True),
        ("tensor([-5.6564e-16,  1.0000e+00])", "tensor([0., 1.])", True),
        ("tensor([-5.6564e-16,  1.0000e+00])", "tensor([0.0010, 1.0000])", False),
        ("tensor([2.0000e-16, 4.0000e-16])", "tensor([2.0000e-16, 4.1000e-16])", False),
        ("tensor([0., -0.])", "tensor([-0., 0.])", True),
        ("tensor([1, 2])", "tensor([1, 3])", False),
        ("tensor([1., nan])", "tensor([nan, 1.])", False),
        ("tensor([1., 2.])", "tensor([1., 2.], dtype=torch.float64)", False),
        ("tensor([1.0000+0.0000j])", "tensor([1.0000-5.9605e-08j])", True),
    ],
)
def test_results_agree_but_for_rounding(wanted: str, printed: str, holds: bool) -> None:
    assert examples.agree(wanted, printed) is holds


def test_digits_of_examples_mean_something() -> None:
    """What is left of numbers that cancel is no example; a window of Blackman has such ends in every length."""
    results = read_results(Path(examples.file_of()))
    noisy = {lines[0].partition("(")[0] for lines, printed in results.items() if examples.noise_in("".join(printed))}
    assert len(results) > 1000
    assert noisy == {">>> gradwright.blackman_window"}
