"""All entries, in several processes: the table by mode, what is red and why, and what the ledger has lost or gained."""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import torch

import gradwright
from tools.opinfo import entries
from tools.opinfo.measuring import DTYPES, MODES, SAMPLES

Found = Mapping[str, Mapping[str, list[str]]]


def main() -> int:
    """1 where a cell that was green is red."""
    parser = argparse.ArgumentParser(prog="opinfo", description=__doc__)
    parser.add_argument("names", nargs="*", help="regular expressions: only entries that one of them fits")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="add to the ledger what is green now")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, help="of each entry and dtype, spread over what there is"
    )
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in entries.entries() if not options.names or any(re.search(x, name) for x in options.names)]
    # The entries are loaded: a process that is forked has them.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        measure = partial(cells_and_nodes, dtypes=tuple(options.dtypes), samples=options.samples)
        measured = dict(zip(names, pool.map(measure, names), strict=True))
    found = {name: each for name, (each, _) in measured.items()}
    print_tables(found)
    print_nodes({name: nodes for name, (_, nodes) in measured.items()})
    ledger = entries.read() if entries.LEDGER.exists() else {}
    lost = {
        name: [
            cell
            for cell in ledger.get(name, ())
            if cell.partition("/")[0] in options.dtypes and found[name].get(cell, True)
        ]
        for name in names
    }
    for name, gone in lost.items():
        if gone:
            print(f"was green: {name}: {', '.join(gone)}")
    if options.update:
        for name, each in found.items():
            ledger[name] = sorted({*ledger.get(name, ()), *(cell for cell, reasons in each.items() if not reasons)})
        entries.write(ledger)
    return 1 if any(lost.values()) else 0


def cells_and_nodes(name: str, dtypes: tuple[str, ...], samples: int) -> tuple[dict[str, list[str]], entries.Nodes]:
    """Those of an entry."""
    return entries.cells_and_nodes(name, gradwright, dtypes, samples)


def print_tables(found: Found) -> None:
    """By operator what is red, by mode how many are green."""
    for name, each in found.items():
        red = {cell: reasons for cell, reasons in each.items() if reasons}
        if red:
            print(f"{name}: {len(each) - len(red)} of {len(each)} green")
            for cell, reasons in red.items():
                print(f"    {cell}: {len(reasons)} samples, {reasons[0]}")
    print(f"{'':12}" + "".join(f"{mode:>14}" for mode in MODES))
    for dtype in DTYPES:
        row = []
        for mode in MODES:
            have = [each[f"{dtype}/{mode}"] for each in found.values() if f"{dtype}/{mode}" in each]
            row.append(f"{sum(not reasons for reasons in have)}/{len(have)}" if have else "")
        print(f"{dtype:12}" + "".join(f"{text:>14}" for text in row))
    with_cells = [each for each in found.values() if each]
    whole = sum(not any(each.values()) for each in with_cells)
    print(f"{len(found)} entries, {len(with_cells)} with samples, {whole} green in every mode")


def print_nodes(reached: Mapping[str, entries.Nodes]) -> None:
    """How many of the Nodes that PyTorch records pass on all samples that reach them, and which entries miss some."""
    by_node: dict[str, dict[str, tuple[int, int, int]]] = {}
    for name, nodes in reached.items():
        for node, counts in nodes.items():
            by_node.setdefault(node, {})[name] = counts
    whole = right = 0
    for node, each in sorted(by_node.items()):
        missed = [f"{name} ({failed} of {count})" for name, (count, failed, _) in each.items() if failed]
        whole += not missed
        right += all(failed == excused for _, failed, excused in each.values())
        if missed:
            print(f"{node}: not on all samples of {', '.join(missed)}")
    print(
        f"{len(by_node)} Nodes of PyTorch, {whole} pass on all samples, "
        f"{right} on all but those where PyTorch is wrong (docs/deviations.md)"
    )


if __name__ == "__main__":
    sys.exit(main())
