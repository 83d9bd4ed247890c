"""A package on top of the YAML of the PyTorch that is installed."""

from __future__ import annotations

from pathlib import Path

from codegen.commands.init import make_package
from codegen.pytorch_files import installed_pytorch
from support.own_packages import Project


def test_a_package_stands_on_top_of_the_installed_pytorch(tmp_path: Path) -> None:
    assert make_package("mylib", tmp_path) == 0
    project = Project(tmp_path)
    project.configure('base = "pytorch"')
    project.append(
        "native_functions.yaml", "- func: theirs(Tensor self) -> Tensor\n  dispatch: {PrivateUse1: a::theirs}\n"
    )
    project.append("derivatives.yaml", "- name: theirs(Tensor self) -> Tensor\n  self: theirs(grad).sin()\n")
    done = project.generate()
    assert (done.returncode, done.stderr) == (0, "")
    files = installed_pytorch()
    assert files is not None
    assert files.header is not None
    program = (
        "import gradwright, mylib\n"
        "x = gradwright.tensor([1.0, 2.0], requires_grad=True)\n"
        "mylib.squareplus(x).sum().backward()\n"
        "print([round(v, 4) for v in x.grad.tolist()], type(mylib.sin(x).grad_fn).__name__)\n"
    )
    assert project.output(program) == "[0.7236, 0.8536] SinBackward0"
    reached = project.generate("coverage", "--backend", "PrivateUse1").stdout.splitlines()
    assert "theirs\tkernel\t-\tsin" in reached
    assert len(reached) > 1500
