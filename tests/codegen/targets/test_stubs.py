"""The generated stubs know every name that there is at run time, and type checkers accept them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import generated
from generated import methods, packets
from support.documents import ROOT

GENERATED = Path(generated.__file__).parent


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_packet_is_in_the_stubs() -> None:
    names = {function.__name__ for function in packets.PACKETS.values()}
    missing = names - functions(GENERATED / "packets.pyi") - {"and", "or"}
    assert not missing


def test_every_method_is_in_the_stubs() -> None:
    assert not set(methods.METHODS) - functions(GENERATED / "_methods.pyi")


PROGRAM = """\
import gradwright
from runtime.base.tensor import Tensor

x: Tensor = gradwright.randn(2, 3, requires_grad=True)
y: Tensor = gradwright.add(x, 2.0, alpha=3) @ x.t()
z: Tensor = x.sum([0], keepdim=True).expand(2, 3) + 1 - x * x
w: Tensor = x.mul_(2).view(-1)[1:]
parts: tuple[Tensor, ...] = x.split(1)
found: Tensor = x.sort().values + gradwright.linalg.qr(x).Q
{extra}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stubs are read once, and kept for the programs that follow."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("", ""),
        ("x.tanh(1)", "Too many positional arguments"),
        ("gradwright.mm(x, 'a')", "incompatible type"),
        ("x.no_such_operator()", "no attribute"),
        ("gradwright.sort(x).place", "no attribute"),
        ("gradwright.linalg.no_such_operator(x)", "no attribute"),
    ],
)
def test_mypy_reads_the_stubs(extra: str, message: str, tmp_path: Path, cache: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(extra=extra))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", cache, program],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) == bool(message), done.stdout
    assert message in done.stdout
