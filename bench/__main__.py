"""`python -m bench`: Gradwright's speed as a ratio to PyTorch's, in one process, one thread each."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench import THREADS, THREADS_VARIABLE
from bench.budget import budget_of
from bench.measure import Measurement, compare
from bench.report import Failure, Row, print_json, print_report
from bench.workloads import SMOKE, WHOLE, Scale, Workload, workloads


def mean_row(measurements: list[Measurement]) -> Measurement:
    """The mean over the rows of a workload; its ratio is that of the sums, so that no cheap operator counts double."""
    label = measurements[0].row.split(":")[0] + ": mean"
    count = len(measurements)
    subject = sum(m.subject for m in measurements) / count
    references = [m.reference for m in measurements if m.reference is not None]
    if len(references) < count:
        return Measurement(label, subject, None, None, measurements[0].rounds)
    reference = sum(references) / count
    return Measurement(label, subject, reference, subject / reference, measurements[0].rounds)


def run_workload(workload: Workload, subject: Any, reference: Any | None, scale: Scale, rounds: int) -> list[Row]:
    """Measure one workload: its rows, the mean last."""
    ours = workload.prepare(subject, scale)
    theirs = None
    if workload.of_itself:
        assert workload.reference is not None
        theirs = workload.reference(subject, scale)
    elif reference is not None and workload.compared:
        theirs = (workload.reference or workload.prepare)(reference, scale)
    measurements = compare(ours, theirs, min(rounds, workload.most_rounds), warm_up=workload.warm_up)
    budget = budget_of(subject).get(workload.group)
    rows = [Row(workload.group, m, budget if m.unit == "s" else None) for m in measurements]
    if workload.mean:
        rows.append(Row(workload.group, mean_row(measurements), budget))
    return rows


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", default="", help="only groups that contain one of these words, e.g. forward,chain")
    parser.add_argument("--rounds", type=int, help="rounds at most for each workload (15, or 1 with --smoke)")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads for both libraries (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--smoke", action="store_true", help="small inputs: does everything run?  The ratios mean little"
    )
    parser.add_argument("--subject", default="gradwright", help="the library to measure (default: gradwright)")
    parser.add_argument("--reference", default="torch", help="the library to compare with (default: torch)")
    return parser.parse_args(argv)


def load(name: str) -> Any:
    """A library, on as many threads as are measured."""
    library = importlib.import_module(name)
    if hasattr(library, "set_num_threads"):
        library.set_num_threads(THREADS)
    return library


def restart(threads: int, argv: list[str]) -> None:
    """Go on in a fresh interpreter: numeric libraries are told the number of threads before they load."""
    os.environ[THREADS_VARIABLE] = str(threads)
    os.execv(sys.executable, [sys.executable, "-m", "bench", *argv])


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    if options.threads != THREADS:
        restart(options.threads, sys.argv[1:] if argv is None else argv)
    words = [word.strip() for word in options.rows.split(",") if word.strip()]
    scale = SMOKE if options.smoke else WHOLE
    rounds = options.rounds or (1 if options.smoke else 15)
    subject = load(options.subject)
    # Where there is nothing to compare with, times are absolute.
    reference = load(options.reference) if importlib.util.find_spec(options.reference) is not None else None
    rows: list[Row] = []
    failures: list[Failure] = []
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads(Path(folder), scale):
            if words and not any(word in workload.group for word in words):
                continue
            if workload.group == "codegen" and reference is None:
                continue  # PyTorch's YAML comes with PyTorch
            lacking = workload.lacks()
            if lacking is not None:
                skipped[workload.group] = lacking
                continue
            try:
                rows += run_workload(workload, subject, reference, scale, rounds)
            except Exception as error:
                failures.append(Failure(workload.group, f"{type(error).__name__}: {error}"))
            if not options.json and sys.stderr.isatty():
                print(f"{workload.group} done", file=sys.stderr)
    about = {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        options.reference: getattr(reference, "__version__", "not installed"),
        "threads": THREADS,
        "rounds": rounds,
    }
    if options.json:
        print_json(rows, failures, about, skipped)
    else:
        print_report(
            rows, failures, (options.subject, None if reference is None else options.reference), about, skipped
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
