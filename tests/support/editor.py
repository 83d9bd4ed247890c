"""A small project that an editor has open: YAML and Python as text, and places in it that are marked with a caret."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.lsp.analysis import State, analyze, open_project
from codegen.lsp.project import Project
from codegen.paths import Paths

FUNCTIONS = """\
- func: scale(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: scale
  promotion: default(self, other)
  dtypes: floating
  tags: pointwise
  python_operator: self * other

- func: plus(Tensor self, Tensor other) -> Tensor
  dispatch: CPU
  promotion: default
  tags: pointwise
  python_operator: self + other

- func: times(Tensor self, Scalar factor=2) -> Tensor
  variants: function, method
  dispatch:
    CPU: times_number
  dtypes: floating
  tags: core

- func: double(Tensor self) -> Tensor
  composite: scale(self, self).times(2)
"""
FORMULAS = """\
- name: scale(Tensor self, Tensor other) -> Tensor
  self: twice(grad) * other
  other: scale(grad, self)
  result: self_t * other_p + other_t * self_p

- name: plus(Tensor self, Tensor other) -> Tensor
  self: grad
  other: grad
  result: self_t + other_t

- name: times(Tensor self, Scalar factor=2) -> Tensor
  self: "grad.times(factor)"
  result: auto_linear
"""
SAMPLES = """\
- scale:
  - T(3, 4), T(4)

- double:
  - T(3)

- plus:
  - T(3, 4), T(4)

- times:
  - T(2, 3), factor=3
"""
KERNELS = '''\
"""Kernels of the tests."""


def scale(self, other):
    """Multiply two arrays."""
    return self * other


def plus(self, other):
    return self + other


def times_number(self, factor):
    """Multiply an array with a number."""
    return self * factor
'''
HELPERS = '''\
"""Helpers of the tests."""


def twice(grad: Tensor) -> Tensor:
    """A gradient, as it is.

    Nothing more.
    """
    return grad
'''


@dataclass
class Opened:
    """A project in an editor."""

    paths: Paths
    state: State

    @property
    def files(self) -> dict[str, Path]:
        return {
            "functions": self.paths.native_functions,
            "formulas": self.paths.derivatives,
            "samples": self.paths.native_functions.with_name("samples.yaml"),
            "kernels": self.paths.operators / "kernels" / "small.py",
            "helpers": self.paths.operators / "helpers" / "small.py",
        }

    def text(self, name: str) -> str:
        return self.state.file(self.files[name]).text

    def edit(self, name: str, old: str, new: str) -> int:
        """Replace a text that stands in a file once; the place of the first character of the new one."""
        text = self.text(name)
        assert text.count(old) == 1, f"{old!r} stands in {name} {text.count(old)} times"
        self.state = self.state.with_text(self.files[name], text.replace(old, new))
        return text.index(old)

    def place(self, name: str, marked: str) -> tuple[Path, int]:
        """The file, and the place of the caret `^` in a text that stands in it once."""
        before, _, after = marked.partition("^")
        text = self.text(name)
        assert text.count(before + after) == 1, (
            f"{before + after!r} stands in {name} {text.count(before + after)} times"
        )
        return self.files[name], text.index(before + after) + len(before)

    def typed(self, name: str, old: str, marked: str) -> tuple[Path, int]:
        """Replace a text by one with a caret, and give the caret's place."""
        start = self.edit(name, old, marked.replace("^", ""))
        return self.files[name], start + marked.index("^")

    def analyze(self) -> None:
        """A whole analysis of what is open."""
        texts = {path: file.text for path, file in self.state.texts.items()}
        self.state = State(analyze(self.state.project, texts, self.state.analysis), self.state.texts)


def open_small(paths: Paths) -> Opened:
    """The project, written into a folder and analyzed, with all of its files open."""
    opened = Opened(paths, None)  # type: ignore[arg-type]
    texts = {"functions": FUNCTIONS, "formulas": FORMULAS, "samples": SAMPLES, "kernels": KERNELS, "helpers": HELPERS}
    for name, text in texts.items():
        opened.files[name].write_text(text, encoding="utf-8")
    opened.state = open_project(Project(paths), {opened.files[name]: text for name, text in texts.items()})
    found = opened.state.analysis.result.diagnostics.items
    assert not found, [item.message for item in found]
    assert not opened.state.analysis.result.findings
    return opened
