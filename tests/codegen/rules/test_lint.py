"""What `lint` sees in kernels, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import pipeline
from codegen.codes import Code
from codegen.paths import PythonPart
from codegen.project import read_project
from codegen.python_source import FunctionIndex, SourcePart
from codegen.rules.allowed import without_allowed
from codegen.rules.kernel_source import Elements, KernelSource, KernelSources
from codegen.source import Diagnostics, SourceFile, Span
from support.documents import ROOT
from support.own_project import own_analysis


def kernel(tmp_path: Path, body: str) -> KernelSource:
    """A kernel `f(self, other, dim)` with this body."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    file = tmp_path / "kernels.py"
    file.write_text(f"import numpy as np\n\n\ndef f(self, other, dim):\n{lines}", encoding="utf-8")
    index = FunctionIndex([SourcePart(PythonPart(file, "kernels", "kernels.py"), Diagnostics())])
    found = KernelSources(index).get("f")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("self += 1", "self"),
        ("self[0] = 1", "self"),
        ("self[other > 0] -= 1", "self"),
        ("self.T[0] = 1", "self"),
        ("np.add(self, 1, out=other)", "other"),
        ("np.copyto(self, other)", "self"),
        ("np.fill_diagonal(other, 0)", "other"),
        ("self.sort()", "self"),
        ("self.fill(0)", "self"),
        ("if dim:\n    other[:] = 0", "other"),
        ("self = self.copy()\nself += 1", None),
        ("result = self.copy()\nresult[0] = 1", None),
        ("np.add(self, 1, out=np.empty(3))", None),
        ("np.sort(self)", None),
        ("dim += 1", None),
        ("def inner(self):\n    self[0] = 1", None),
    ],
)
def test_writes(body: str, name: str | None, tmp_path: Path) -> None:
    written = [each for each, _ in kernel(tmp_path, body).writes(["self", "other"])]
    assert written == ([] if name is None else [name])


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("return self > other", [Elements.BOOL]),
        ("return ~(self > other) & np.isnan(other)", [Elements.BOOL]),
        ("return self & other", [None]),
        ("return np.argmax(self, dim)", [Elements.INTEGER]),
        ("return self.argsort()[::-1]", [Elements.INTEGER]),
        ("return self / 2", [Elements.FLOAT]),
        ("return 0.5 * self", [Elements.FLOAT]),
        ("x = np.exp(self)\nreturn x + 1", [Elements.FLOAT]),
        ("x = self > 0\nx[0] = 3\nreturn x", [None]),
        ("x = self > 0\nif dim:\n    x = self\nreturn x", [None]),
        ("if dim:\n    return self > 0\nreturn self < 0", [Elements.BOOL]),
        ("if dim:\n    return self > 0\nreturn self", [None]),
        ("return np.exp(self, dtype=self.dtype)", [None]),
        ("return self if dim is None else other", [None]),
        ("return self.max(dim), self.argmax(dim)", [None, Elements.INTEGER]),
        ("both = self, self > 0\nreturn both", [None, None]),
        ("raise NotImplementedError", [None]),
    ],
)
def test_what_results_are(body: str, kinds: list[Elements | None], tmp_path: Path) -> None:
    found = kernel(tmp_path, body).results(len(kinds))
    assert [None if each is None else each[0] for each in found] == kinds


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("return self - self.mean()", "self.mean()"),
        ("return np.add.reduce(self, axis=0)", "np.add.reduce(self, axis=0)"),
        ("return self @ other", "self @ other"),
        ("return np.maximum(self, other)", None),
        ("return max(0, dim) * self", None),
    ],
)
def test_reductions(body: str, call: str | None, tmp_path: Path) -> None:
    place = kernel(tmp_path, body).reduction()
    assert (None if place is None else place.file.text[place.start : place.end]) == call


@pytest.mark.parametrize(
    ("name", "kind", "reduces"),
    [("sin", Elements.FLOAT, False), ("isnan", Elements.BOOL, False), ("floor", None, False), ("sort", None, True)],
)
def test_other_names_of_functions_of_numpy(name: str, kind: Elements | None, reduces: bool, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(f"import numpy as np\n\nf = np.{name}\n", encoding="utf-8")
    index = FunctionIndex([SourcePart(PythonPart(file, "kernels", "kernels.py"), Diagnostics())])
    found = KernelSources(index).get("f")
    assert found is not None
    assert [None if each is None else each[0] for each in found.results(1)] == [kind]
    assert (found.reduction() is not None) is reduces
    assert not list(found.writes(["self"]))


def test_our_own_yaml_has_no_findings() -> None:
    result = own_analysis()
    assert result.findings.items == []


def test_the_example_has_no_findings() -> None:
    paths = read_project(ROOT / "examples" / "out_of_tree" / "pyproject.toml", Diagnostics())
    assert paths is not None
    assert pipeline.analyze(paths).findings.items == []


FILE = SourceFile("n.yaml", """\
# allow GW060: above, but apart

# allow GW061, GW062
# of the entry below
- func: a
  dispatch:
    CPU: a  # allow GW064
- func: b
  # allow GW061
  tags: c
""")  # fmt: skip


@pytest.mark.parametrize(
    ("code", "line", "allowed"),
    [
        (Code.NO_SAMPLES, 5, True),
        (Code.NOT_POINTWISE, 6, True),
        (Code.KERNEL_WRITES, 7, True),
        (Code.KERNEL_WRITES, 8, False),
        (Code.NO_SAMPLES, 8, True),
        (Code.NOT_POINTWISE, 9, False),
        (Code.NO_DERIVATIVE, 5, False),
    ],
)
def test_what_a_comment_allows(code: Code, line: int, allowed: bool) -> None:
    findings = Diagnostics()
    start = FILE.line_starts[line - 1]
    findings.error(code, Span(FILE, start, start + 1), "a finding")
    left = without_allowed(findings, (FILE,)).items
    assert (left[0].message != "a finding") is allowed
    in_vain = [item for item in left if item.code is Code.ALLOWS_NOTHING]
    assert len(in_vain) == 5 - allowed
