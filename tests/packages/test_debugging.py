"""GRADWRIGHT_DEBUG=1: kernels that break the rules are named, and Gradwright's own keep them."""

from __future__ import annotations

import pytest

from support.own_packages import Project

BODIES = {
    "self += 1\n    return self.copy()": "wrote to an argument",
    "return self": "returned memory of an argument, and the schema declares no view: return a copy",
    "return self[:1] * 2": "returned shape (1,) for arguments of shape (3,): it works element by element",
    "return self * np.float64(2) * np.ones(3)": "returned float64 for float32: a constant of another type, perhaps",
    "return self.astype(object)": "returned elements of type object, which Tensors do not have",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("way", ["fast", "general"])
def test_a_kernel_that_breaks_a_rule_is_named(body: str, way: str, project: Project) -> None:
    project.append(
        "native_functions.yaml", "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n  tags: pointwise\n"
    )
    project.append("kernels.py", f"\n\ndef f(self: Array) -> Array:\n    {body}\n")
    assert project.generate().returncode == 0
    call = "mylib.f(x)" if way == "fast" else "gradwright.ops.mylib.f.default.operator(x)"
    program = f"import gradwright, mylib; x = gradwright.ones(3); {call}"
    finished = project.run("-c", program, GRADWRIGHT_DEBUG="1")
    (line,) = [line for line in finished.stderr.splitlines() if line.startswith("RuntimeError: ")]
    assert line.startswith("RuntimeError: mylib::f: its kernel "), finished.stderr
    assert line.endswith(f"mylib/kernels.py:16 {BODIES[body]}")


def test_a_view_that_copies_is_named(project: Project) -> None:
    project.append("native_functions.yaml", "- func: f(Tensor(a) self) -> Tensor(a)\n  dispatch: {CPU: f}\n")
    project.append("kernels.py", "\n\ndef f(self: Array) -> Array:\n    return self.T.copy()\n")
    assert project.generate().returncode == 0
    finished = project.run("-c", "import gradwright, mylib; mylib.f(gradwright.ones(2, 3))", GRADWRIGHT_DEBUG="1")
    assert "returned a copy, and the schema declares a view" in finished.stderr


def test_without_the_variable_nothing_is_looked_at(project: Project) -> None:
    assert project.generate().returncode == 0
    program = "import mylib; print(mylib._generated.operators.squareplus_default_kernel is mylib.kernels.squareplus)"
    assert project.output(program) == "True"
    assert project.run("-c", program, GRADWRIGHT_DEBUG="1").stdout == "False\n"


def test_the_kernels_of_gradwright_keep_the_rules(project: Project) -> None:
    program = """
from generated.registry import OPERATORS
from runtime.native import why_not
from gradwright.testing import operator_function, sample_inputs
assert why_not().startswith("GRADWRIGHT_DEBUG=1 ")
calls = 0
for name, info in OPERATORS.items():
    for dtype in ("float64", "float32", "bfloat16", "complex64", "int64", "bool"):
        for sample in sample_inputs(info, dtype, requires_grad=False):
            calls += 1
            try:
                operator_function(info)(*sample.args, **sample.kwargs)
            except (NotImplementedError, TypeError, ValueError, IndexError):
                pass
            except RuntimeError as error:
                if "its kernel" in str(error):
                    print(name, sample.text, dtype, error)
print(calls > 5000)
"""
    finished = project.run("-W", "ignore", "-c", program, GRADWRIGHT_DEBUG="1", GRADWRIGHT_NATIVE="")
    assert finished.stdout == "True\n", finished.stderr
