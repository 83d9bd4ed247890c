"""What `make releases` does, with a small wheel of our own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tools import releases

NATIVE = """\
- func: near(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: near_cpu}
  tags: of_its_release
- func: far(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: far_cpu}
"""
FORMULAS = """\
- name: near(Tensor self) -> Tensor
  self: near_backward(grad, self, 2)
- name: far(Tensor self, Tensor other) -> Tensor
  self: near(grad)
"""
HEADER = "namespace torch {\nTensor near_backward(const Tensor& grad, const Tensor& self, int64_t n);\n}\n"


def wheel(folder: Path, release: str, native: str = NATIVE) -> Path:
    path = folder / f"torch-{release}-cp311-none-any.whl"
    texts = (native, "- tag: of_its_release\n  desc: |\n    here alone\n", FORMULAS, HEADER)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in zip(releases._WANTED, texts, strict=True):
            archive.writestr(name, text)
    return path


def test_wheels_are_read_in_the_order_of_their_releases(tmp_path: Path) -> None:
    for release in ("2.10.0", "2.9.1", "2.1.2"):
        wheel(tmp_path, release)
    (tmp_path / "torchgen-1.0.whl").touch()
    assert [*releases.wheels_in(tmp_path)] == ["2.1.2", "2.9.1", "2.10.0"]


def test_a_release_is_counted(tmp_path: Path) -> None:
    wheel(tmp_path, "2.9.1")
    ((release, row),) = releases.read(releases.wheels_in(tmp_path))
    assert release == "2.9.1"
    assert str(row) == "| 2.9.1 | 2 | 2 | 2 | 2 | 1 | 0 | 1 |"  # the finding: nothing is said of `other`


def test_a_release_with_errors_fails_and_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(releases, "PAGE", page)
    wheel(tmp_path, "2.9.1", NATIVE.replace("of_its_release", "of_another"))
    assert releases.main([str(tmp_path)]) == 1
    assert "native_functions.yaml:4:9: error: unknown tag 'of_another'" in capsys.readouterr().err
    assert not page.exists()
    assert releases.main([str(tmp_path / "nothing")]) == 2


def test_the_table_takes_the_place_of_the_one_before() -> None:
    page = releases.PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(releases._HEAD)
    row = releases.Counts("2.1.2", 2546, 1, 1288, 2, 3, 4, 5)
    made = releases.with_table(page, [row])
    assert made.startswith(head)
    assert "\n|---|---|---|---|---|---|---|---|\n| 2.1.2 | 2,546 | 1 | 1,288 | 2 | 3 | 4 | 5 |\n\n" in made
    assert made.endswith(rest.partition("\n\n")[2])
    written = [line.split("|")[1].strip() for line in rest.partition("\n\n")[0].splitlines()[2:]]
    assert written == list(releases.RELEASES)
