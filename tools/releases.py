"""The YAML of PyTorch's releases, read as it is: `make releases`.

Each release is read with the tags and the header of helpers that lie in its wheel, and emitted. What there is of it is
printed, and, of all releases, written into the table of docs/upstream.md; a release with an error fails.

    python -m tools.releases             downloads the wheels with pip, into build/wheels
    python -m tools.releases FOLDER      takes the wheels that lie in a folder
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # run as a script, of a checkout that is not installed
    sys.path.insert(0, str(ROOT))

from codegen import pipeline  # noqa: E402
from codegen.commands.diagnostics import print_diagnostics  # noqa: E402
from codegen.paths import Paths  # noqa: E402
from codegen.words import TARGETS  # noqa: E402
from tools.upstream import (  # noqa: E402
    declared_operators,
    foreign_entries,
    formulas_of,
    helpers_of,
    paths_of,
)

PAGE = ROOT / "docs/upstream.md"
WHEELS = ROOT / "build/wheels"
# The last one of each minor release.
RELEASES = (
    "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0",
    "2.13.0",
)  # fmt: skip
# Of the wheels for these, which are the smallest ones, all that is wanted is the same as in others.
_PLATFORM = ("--platform", "macosx_11_0_arm64", "--platform", "macosx_14_0_arm64", "--python-version", "3.11")
_YAML = "torchgen/packaged"
_HEADER = "torch/include/torch/csrc/autograd/FunctionsManual.h"
_WANTED = (
    f"{_YAML}/ATen/native/native_functions.yaml", f"{_YAML}/ATen/native/tags.yaml",
    f"{_YAML}/autograd/derivatives.yaml", _HEADER,
)  # fmt: skip
_HEAD = (
    "| release | operators | derivative entries | formulas | Node classes | helpers | of these implemented | findings |"
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is of a release: a row of the table."""

    release: str
    operators: int
    entries: int
    formulas: int
    nodes: int
    helpers: int
    implemented: int
    findings: int

    def __str__(self) -> str:
        values = (getattr(self, field.name) for field in fields(self))
        return f"| {' | '.join(f'{value:,}' if isinstance(value, int) else value for value in values)} |"


def wheels_in(folder: Path) -> dict[str, Path]:
    """The wheels of a folder by their releases, the oldest one first."""
    named = {match[1]: path for path in sorted(folder.glob("torch-*.whl")) if (match := _version(path))}
    return {release: named[release] for release in sorted(named, key=_numbers)}


def _version(path: Path) -> re.Match[str] | None:
    return re.match(r"torch-(\d+(?:\.\d+)+)", path.name)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def download(folder: Path, releases: Iterable[str] = RELEASES) -> None:
    """Download the wheels of releases that are not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    there = wheels_in(folder)
    for release in releases:
        if release not in there:
            print(f"downloading {release}", flush=True)
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                *_PLATFORM,
            ]
            subprocess.run([*command, f"torch=={release}", "--dest", str(folder)], check=True)


def unpack(wheel: Path, folder: Path) -> Paths:
    """Take the YAML and the header out of a wheel, and give the paths of a run on them."""
    with zipfile.ZipFile(wheel) as archive:
        for name in _WANTED:
            archive.extract(name, folder)
    paths = paths_of(folder / _YAML)
    return replace(paths, root=folder, helpers=(folder / _HEADER, *paths.helpers))


def counts(release: str, paths: Paths, result: pipeline.Result) -> Counts:
    """What there is of a release that has no errors."""
    assert result.plan is not None
    entries = foreign_entries(paths, result)
    formulas = formulas_of(entries)
    helpers = helpers_of(formulas)
    names = {str(entry.function.name) for entry in entries}
    return Counts(
        release,
        len(declared_operators(paths)),
        len(names),
        len(formulas),
        sum(node.operator in names for node in result.plan.nodes),
        len(helpers),
        sum(helper.function is not None for helper in helpers.values()),
        len(result.findings.items),
    )


def with_table(text: str, rows: Sequence[Counts]) -> str:
    """A page with the rows in the place of those that its table has."""
    lines = text.splitlines(keepends=True)
    start = lines.index(f"{_HEAD}\n") + 2
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("|")), len(lines))
    return "".join((*lines[:start], *(f"{row}\n" for row in rows), *lines[end:]))


def read(wheels: dict[str, Path]) -> Iterator[tuple[str, Counts | None]]:
    """The counts of each release; None where it has errors, which are printed."""
    for release, wheel in wheels.items():
        with tempfile.TemporaryDirectory() as folder:
            paths = unpack(wheel, Path(folder))
            result = pipeline.analyze(paths)
            if result.plan is None:
                print(f"{release}:", file=sys.stderr)
                print_diagnostics(result.diagnostics, sys.stderr)
                yield release, None
                continue
            for target in TARGETS:
                pipeline.emit(paths, result.plan, target)
            yield release, counts(release, paths, result)


def main(words: Sequence[str]) -> int:
    """Read the releases, and write the table; the status says whether all could be read."""
    folder = Path(words[0]) if words else WHEELS
    if not words:
        download(folder)
    wheels = wheels_in(folder)
    if not wheels:
        print(f"no wheels of torch in {folder}", file=sys.stderr)
        return 2
    print(_HEAD)
    rows = []
    for _, row in read(wheels):
        if row is not None:
            rows.append(row)
            print(row, flush=True)
    if len(rows) < len(wheels):
        return 1
    if [row.release for row in rows] != list(RELEASES):
        print("these are not all releases, or others as well: no table is written")
        return 0
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(f"table written to {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
