"""What the examples of operators print: a text file that is written by running them (`python -m gradwright.examples`).

It is a list of examples as an interpreter shows them, with an empty line between two.  An example that is not in it is
one that nobody has run yet, and is documented without what it prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def read_results(path: Path) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """What is printed, by the lines of the example; nothing where there is no such file."""
    if not path.is_file():
        return {}
    found = {}
    for part in path.read_text(encoding="utf-8-sig").split("\n\n"):
        lines = tuple(part.strip("\n").splitlines())
        count = sum(line.startswith((">>> ", "... ")) for line in lines)
        found[lines[:count]] = lines[count:]
    return found
