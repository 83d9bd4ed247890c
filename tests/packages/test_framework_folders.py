"""What a run does about files by hand in the folders of the targets `torch` and `jax`."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.commands.init import make_package
from support.own_packages import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A package for PyTorch that nothing has been written for."""
    assert make_package("mylib", tmp_path, ("torch",)) == 0
    return Project(tmp_path, "mylib")


def test_modules_by_hand_stay(project: Project) -> None:
    assert project.generate("--no-verify").returncode == 0
    by_hand = project.file("torch/layers.py")
    by_hand.write_text("from .operators import squareplus\n")
    project.append("derivatives.yaml", "\n# changed\n")
    assert project.generate("--no-verify").returncode == 0
    assert by_hand.read_text() == "from .operators import squareplus\n"
    assert project.generate("--check", "--no-verify").returncode == 0


def test_what_is_no_longer_written_is_removed(project: Project) -> None:
    assert project.generate("--no-verify").returncode == 0
    manifest = project.file("torch/manifest.json")
    manifest.write_text(manifest.read_text().replace('"files": {', '"files": {\n  "old.py": "",'))
    project.file("torch/old.py").write_text("")
    assert project.generate("--no-verify").returncode == 0
    assert not project.file("torch/old.py").exists()


@pytest.mark.parametrize("name", ["torch/__init__.py", "torch/operators.py", "torch.py"])
def test_files_in_the_way_are_errors(project: Project, name: str) -> None:
    by_hand = project.file(name)
    by_hand.parent.mkdir(exist_ok=True)
    by_hand.write_text("MINE = 1\n")
    finished = project.generate("--no-verify")
    assert finished.returncode == 1
    assert (
        f"error: mylib/{name} is not the generator's, and what a target writes would take its place" in finished.stderr
    )
    assert by_hand.read_text() == "MINE = 1\n"
    assert not project.file("_generated").exists()
    by_hand.unlink()
    assert project.generate("--no-verify").returncode == 0


def test_a_target_that_is_left_out_is_told(project: Project) -> None:
    assert project.generate("--no-verify").returncode == 0
    table = project.folder / "pyproject.toml"
    table.write_text(table.read_text().replace('targets = ["torch"]', "targets = []"))
    finished = project.generate("--no-verify")
    assert finished.returncode == 0
    assert (
        "note: mylib/torch was written for the target 'torch', which the table does not name any more"
        in finished.stderr
    )


def test_a_folder_loses_nothing_that_is_by_hand(project: Project, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    for _ in range(2):
        assert project.generate("--no-verify", "--out", str(place)).returncode == 0
        project.append("derivatives.yaml", "\n# changed\n")
    assert (place / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my-lib", "can not be imported: write letters, digits and underscores"),
        ("class", "is a word of Python"),
        ("torch", "is what the package imports: it would find itself"),
        ("numpy", "is what the package imports: it would find itself"),
        ("runtime", "is a package of Gradwright"),
    ],
)
def test_names_that_packages_can_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, reason: str
) -> None:
    assert make_package(name, tmp_path) == 2
    assert capsys.readouterr().err == f"error: '{name}' {reason}\n"
    assert not any(tmp_path.iterdir())
