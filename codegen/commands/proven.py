"""What is proven of each operator, from the ledger that `verify --update-ledger` keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codegen.commands.process import ERRORS, OK
from codegen.paths import BASE, Paths
from codegen.words import PROPERTIES

LEDGER = "docs/reports/coverage.json"
_SIGNS = {"proven": "+", "skipped": "?", "conventions": "c"}
_NONE = "-"


def ledger_file(paths: Paths) -> Path:
    """Where the ledger of a project is: in `docs` of Gradwright itself, and beside the output of a package."""
    return paths.root / LEDGER if paths.package == BASE else paths.output.parent / Path(LEDGER).name


def ledger(paths: Paths) -> Mapping[str, Mapping[str, Any]] | None:
    """What is known of each operator; None where there is no ledger."""
    try:
        known: Mapping[str, Mapping[str, Any]] = json.loads(ledger_file(paths).read_text(encoding="utf-8"))["operators"]
    except FileNotFoundError:
        return None
    return known


def print_proven(paths: Paths, missing: bool, as_json: bool) -> int:
    """Print a line for each operator, with a mark for each property.

    + is proven, ? skipped, c a convention, - not of this operator.

    Args:
        paths: of the project.
        missing: only operators of which something is skipped.
        as_json: print it as JSON, with the reasons.
    """
    known = ledger(paths)
    if known is None:
        print(
            f"error: there is no {ledger_file(paths).name}\nhint: 'verify --update-ledger' writes it", file=sys.stderr
        )
        return ERRORS
    rows = [
        {"name": name, "proven": row["proven"].split()}
        | {kind: row.get(kind, {}) for kind in ("skipped", "conventions")}
        for name, row in known.items()
    ]
    shown = [row for row in rows if row["skipped"] or not missing]
    if as_json:
        print(json.dumps(shown, indent=1))
        return OK
    print("\t".join(("operator", *PROPERTIES)))
    for row in shown:
        marks = (next((sign for kind, sign in _SIGNS.items() if p in row[kind]), _NONE) for p in PROPERTIES)
        print("\t".join((row["name"], *marks)))
    done, skips, conventions = (sum(len(row[kind]) for row in rows) for kind in _SIGNS)
    besides = f", {conventions} conventions" if conventions else ""
    print(f"{len(rows)} operators: {done} cells are proven, {skips} skipped{besides}", file=sys.stderr)
    return OK
