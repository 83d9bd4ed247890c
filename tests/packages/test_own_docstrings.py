"""Docstrings of operators of a package, and what their examples print."""

from __future__ import annotations

from support.own_packages import Project


def test_docstrings_of_a_package(project: Project) -> None:
    assert project.generate().returncode == 0
    text = (
        "squareplus(Tensor self, Scalar b=4) -> Tensor\n\n"
        "Derivative:\n"
        "    self: grad * (self / (self * self + b).sqrt() + 1) / 2\n"
        "    result: auto_element_wise\n\n"
        "Example:\n"
        "    >>> import gradwright\n"
        "    >>> gradwright.ops.mylib.squareplus(gradwright.tensor([1.95, 0.42, -1.10]))\n"
    )
    program = "import mylib, gradwright; print({}.__doc__, end='')"
    for place in ("mylib.squareplus", "gradwright.Tensor.squareplus", "gradwright.ops.mylib.squareplus"):
        assert project.output(program.format(place)) == text.strip()
    command = ("-m", "gradwright.examples", "mylib._generated")
    assert "1 examples, 0 print something else, 1 are not written down" in project.run(*command).stdout
    assert project.run(*command, "--update").returncode == 0
    assert project.file("examples.txt").read_text().startswith(">>> gradwright.ops.mylib.squareplus(")
    assert project.generate().returncode == 0
    assert "\n    tensor([" in project.output(program.format("mylib.squareplus"))
    assert "1 examples, 0 print something else, 0 are not written down" in project.run(*command).stdout


def test_an_example_that_prints_something_else_fails(project: Project) -> None:
    assert project.generate().returncode == 0
    command = ("-m", "gradwright.examples", "mylib._generated")
    assert project.run(*command, "--update").returncode == 0
    file = project.file("examples.txt")
    file.write_text(
        file.read_text().replace("tensor([", "tensor([7, ", 2).replace("gradwright.tensor([7, ", "gradwright.tensor([")
    )
    assert project.generate().returncode == 0
    finished = project.run(*command)
    assert finished.returncode == 1
    assert "1 print something else" in finished.stdout
