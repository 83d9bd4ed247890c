"""`python -m gradwright.verify [OPERATOR ...]`: proves what `python -m codegen verify` asks for."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from codegen.module_names import GENERATED
from codegen.ranks import processors
from codegen.words import FRAMEWORK_PROPERTIES, FRAMEWORKS, INTERRUPTED
from codegen.writing import write_text
from gradwright.verify import printing
from gradwright.verify.deep import SECONDS, Deep
from gradwright.verify.ledger import Ledger
from gradwright.verify.results import Cell, Status
from gradwright.verify.running import chosen, operators_of, part_of, prove_all
from gradwright.verify.table import table_of

OK, REFUTED, USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Prove, print and write what was asked for; the exit status: 0, 1 (something is wrong), 2 (wrong usage)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    table = table_of(arguments.target)
    unknown = next((name for name in arguments.property or () if name not in table), None)
    if unknown is not None:
        parser.error(f"'{unknown}' is no property that is proven {_where(arguments.target)}")
    deep = None
    if arguments.deep:
        deep = Deep(secrets.randbelow(10**6) if arguments.seed is None else arguments.seed, arguments.seconds)
        print(f"seed: {deep.seed}", file=sys.stderr)
    started = time.perf_counter()
    operators = operators_of(arguments.package)
    try:
        names = part_of(chosen(operators, arguments.operators, arguments.exact), arguments.part)
    except ValueError as error:
        parser.error(str(error))
    properties = [
        name for name in table if name in (arguments.property or table) and name not in (arguments.without or ())
    ]
    if arguments.found:
        others = [json.loads(file.read_text(encoding="utf-8")) for file in arguments.found]
        seconds = max(each["seconds"] for each in others)
        by_operator: dict[str, list[Cell]] = {}
        for found in (each for other in others for each in other["cells"]):
            cell = Cell.from_json(found, arguments.package, arguments.target)
            by_operator.setdefault(cell.operator, []).append(cell)
        cells = [cell for name in names for cell in by_operator[name]]
    else:
        with printing.progress(len(names)) as report:
            cells = prove_all(
                arguments.package,
                names,
                properties,
                arguments.jobs,
                report,
                arguments.incomplete,
                arguments.target,
                deep,
            )
        seconds = time.perf_counter() - started
    if arguments.json is not None:
        found = {
            "seconds": round(seconds, 2),
            "summary": printing.summary(cells, seconds),
            "properties": [{"name": name, "title": table[name].title} for name in properties],
            "cells": [cell.as_json() for cell in cells],
        }
        text = json.dumps(found, indent=1)
        if str(arguments.json) == "-":
            print(text)
        else:
            write_text(arguments.json, text + "\n")
    if not arguments.quiet:
        if not arguments.places:
            printing.print_failures(cells)
        if arguments.skipped:
            printing.print_skipped(cells)
        if str(arguments.json) != "-":
            printing.print_table(cells, seconds, list(table.values()))
    status = REFUTED if any(cell.status is Status.REFUTED for cell in cells) else OK
    if arguments.ledger is not None:
        ledger = Ledger.read(arguments.ledger)
        for line in ledger.worse(cells):
            print(f"error: {line}", file=sys.stderr)
            status = REFUTED
    if arguments.update_ledger is not None and status == OK:
        Ledger.of(cells, operators if not arguments.operators else None, arguments.update_ledger).write(
            arguments.update_ledger
        )
    return status


def _where(target: str | None) -> str:
    return "of the runtime's operators" if target is None else f"of operators of {target}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gradwright.verify", description="Proves the derivative rules of generated operators."
    )
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="such as mul.Tensor, or mul; default: all")
    parser.add_argument("--exact", action="store_true", help="names are whole ones: mul is not mul.Tensor")
    parser.add_argument("--package", default=GENERATED, help="the generated package that they are in")
    parser.add_argument(
        "--property", action="append", choices=FRAMEWORK_PROPERTIES, help="may be given again; default: all"
    )
    parser.add_argument("--without", action="append", choices=FRAMEWORK_PROPERTIES, help="all but this one")
    parser.add_argument("--target", choices=FRAMEWORKS, help="of the operators as this framework has them")
    parser.add_argument("--deep", action="store_true", help="search for calls beside the samples that refute a rule")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="what a deep search begins with (default: another each time)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="how long a deep search is, for each operator (default: %(default)s)",
    )
    parser.add_argument("--jobs", type=int, default=processors(), help="how many processes (default: all processors)")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth of the operators, from the Kth")
    parser.add_argument(
        "--found", action="append", type=Path, metavar="FILE",
        help="prove nothing, and report what a part of the operators came to, by its --json; given for each part",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found; - is standard output")
    parser.add_argument("--skipped", action="store_true", help="say what was skipped, and why")
    parser.add_argument("--quiet", action="store_true", help="print neither what is wrong nor the table")
    parser.add_argument("--places", action="store_true", help="leave what is wrong to a caller that knows its places")
    parser.add_argument("--incomplete", action="store_true", help="skip what needs something that is not implemented")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="fail where less is proven than this says")
    parser.add_argument("--update-ledger", type=Path, metavar="FILE", help="write what is proven, where nothing failed")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
