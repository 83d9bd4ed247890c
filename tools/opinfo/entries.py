"""The entries of OpInfo by name, their cells, and the ledger of those that are green."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tools.opinfo.measuring import DTYPES, MODES, SAMPLES, WITH_SECOND, Measured, measure

LEDGER = Path(__file__).with_name("ledger.json")

Ledger = dict[str, list[str]]
# Of the Nodes of an entry in PyTorch: how many samples reach each, how many of these do not pass, and how many of those
# only where PyTorch is wrong.
Nodes = dict[str, tuple[int, int, int]]


@cache
def entries() -> dict[str, Any]:
    """All entries but those that compile kernels for GPUs; a name that comes again is numbered."""
    from torch.testing._internal.common_methods_invocations import op_db  # takes seconds

    found: dict[str, Any] = {}
    times: Counter[str] = Counter()
    for op in op_db:
        times[op.formatted_name] += 1
        number = times[op.formatted_name]
        if not op.name.startswith("jiterator"):
            found[op.formatted_name + (f"#{number}" if number > 1 else "")] = op
    return found


def cells(name: str, library: Any) -> dict[str, list[str]]:
    """For each cell of an entry that PyTorch has, why it is not green: nothing where it is."""
    return cells_and_nodes(name, library)[0]


def cells_and_nodes(
    name: str, library: Any, dtypes: tuple[str, ...] = DTYPES, samples: int = SAMPLES
) -> tuple[dict[str, list[str]], Nodes]:
    """The cells of an entry, and the Nodes that its samples reach in the dtypes with second derivatives."""
    op = entries()[name]
    found = {}
    reached: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    excused: Counter[str] = Counter()
    for dtype in dtypes:
        if getattr(torch, dtype) not in op.supported_dtypes("cpu"):
            continue
        try:
            measured = measure(name, op, dtype, library, samples)
        except Exception as error:  # of the samples themselves
            measured = Measured()
            measured.reasons["forward"].append(f"{type(error).__name__}: {error}"[:300])
        for mode in MODES:
            if measured.passed[mode] or measured.reasons[mode]:
                found[f"{dtype}/{mode}"] = measured.reasons[mode]
        if dtype in WITH_SECOND:
            reached += measured.reached
            failed += measured.failed
            excused += measured.excused
    return found, {node: (count, failed[node], excused[node]) for node, count in reached.items()}


def read() -> Ledger:
    """The green cells of each entry."""
    stored: dict[str, dict[str, str]] = json.loads(LEDGER.read_text(encoding="utf-8"))
    return {
        name: [f"{dtype}/{mode}" for dtype, modes in rows.items() for mode in modes.split()]
        for name, rows in stored.items()
    }


def write(ledger: Ledger) -> None:
    """One line for each entry."""
    lines = []
    for name, green in sorted(ledger.items()):
        rows = {
            dtype: " ".join(mode for mode in MODES if f"{dtype}/{mode}" in green)
            for dtype in DTYPES
            if any(cell.startswith(f"{dtype}/") for cell in green)
        }
        if rows:
            lines.append(f"  {json.dumps(name)}: {json.dumps(rows)}")
    LEDGER.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
