"""Writes the output of the YAML files, and proves the rules that are not proven as they are."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codegen import output, proof_outcomes
from codegen.commands import proofs
from codegen.commands.chosen import add_files, add_json, chosen_paths, refuse_frameworks
from codegen.commands.process import ERRORS, OK, program
from codegen.inputs import MANIFEST
from codegen.paths import Paths
from codegen.words import ALL_TARGETS, BUILT_IN_NAMESPACE, FRAMEWORKS, TARGETS

if TYPE_CHECKING:
    from codegen.commands.partial import PartialResult
    from codegen.pipeline import Result
    from codegen.plan.plan import Plan


def add_options(parser: argparse.ArgumentParser) -> None:
    add_generation(parser)
    add_json(parser)
    parser.add_argument(
        "--target",
        choices=ALL_TARGETS,
        action="append",
        help="what to emit; may be given again (default: python and cpp)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if the output is missing or not what would be written, or if a rule is not proven",
    )
    parser.add_argument(
        "--keep-going", action="store_true",
        help="where entries have errors, generate what is right without them, say what is left out, and fail all the "
        "same",
    )  # fmt: skip


def add_generation(parser: argparse.ArgumentParser) -> None:
    """The options of each command that generates."""
    judged = parser.add_mutually_exclusive_group()
    add_files(parser, judged)
    parser.set_defaults(keep_going=False)
    judged.add_argument(
        "--warn", action="store_true",
        help="say what is seldom meant where nothing has changed, too, and of somebody else's operators",
    )  # fmt: skip
    parser.add_argument(
        "--long-names", action="store_true",
        help="let the output import modules by the names that they have in a wheel, such as gradwright.runtime",
    )  # fmt: skip
    proofs.add_no_verify(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    started = time.perf_counter()
    if arguments.warn and (arguments.check or arguments.json):
        parser.error("--warn is for a run that writes, without --check and --json")
    if arguments.keep_going and arguments.check:
        parser.error("--keep-going is for a run that writes, without --check")
    paths = chosen_paths(arguments, parser, about_ours=arguments.out is not None)
    if paths is None:
        return ERRORS
    in_package = paths.namespace != BUILT_IN_NAMESPACE
    targets = dict.fromkeys(arguments.target or ((*TARGETS[:1], *paths.targets) if in_package else TARGETS))
    refuse_frameworks(targets, paths, parser)
    for target in FRAMEWORKS if in_package else ():
        folder = paths.for_target(target).output
        if target not in paths.targets and (folder / MANIFEST).exists():
            print(
                f"note: {paths.shown(folder)} was written for the target '{target}', which the table does not name "
                "any more: it stays as it was; delete it",
                file=sys.stderr,
            )
    if arguments.check or arguments.json:
        return generate(arguments, paths, tuple(targets), started)
    return generate_changed(arguments, paths, tuple(targets), started)


def generate_changed(arguments: argparse.Namespace, paths: Paths, targets: Sequence[str], started: float) -> int:
    """Generate, unless the output is that of these very files."""
    if not (arguments.warn or arguments.strict):
        known = [output.unchanged(paths.for_target(target), target) for target in targets]
        counted = [each for each in known if each is not None]
        if len(counted) == len(known):
            _print_summary(paths, counted[0][0], 0, sum(count + 1 for _, count in counted), started)
            return _prove(arguments, paths, targets, output.rules(paths))
    return generate(arguments, paths, targets, started)


def generate(arguments: argparse.Namespace, paths: Paths, targets: Sequence[str], started: float) -> int:
    """Analyse the files, and write the output of the targets, or compare it with what is there."""
    # Imported here, so that a run that finds nothing to do is done before these are loaded.
    from codegen import pipeline
    from codegen.commands.diagnostics import as_values, print_diagnostics
    from codegen.targets.target import TargetError

    read = _read(arguments, paths)
    if read is None:
        return ERRORS
    result, plan, partial = read
    try:
        emitted = [(paths.for_target(target), pipeline.emit(paths, plan, target)) for target in targets]
    except TargetError as error:
        print_diagnostics(error.diagnostics, sys.stdout if arguments.json else sys.stderr, arguments.json)
        return ERRORS
    if arguments.check:
        return _check(emitted, result, paths, arguments)
    present = [
        each
        for target, (place, files) in zip(targets, emitted, strict=True)
        if target in FRAMEWORKS
        for each in output.in_the_way(files, place.output)
    ]
    if present:
        for each in present:
            file = paths.shown(each)
            print(
                f"error: {file} is not the generator's, and what a target writes would take its place", file=sys.stderr
            )
        print("nothing was written: move it away, or leave the target out", file=sys.stderr)
        return ERRORS
    # Python last: its manifest is what the runtime trusts.
    written = sum(output.write(files, place.output) for place, files in reversed(emitted))
    status = OK if partial is None or not partial.left_out else ERRORS
    if arguments.json:
        errors = [] if partial is None else as_values(partial.errors)
        print(json.dumps([*errors, *as_values(result.findings, "warning")], indent=2))
        return status
    shown = paths.library is None or arguments.warn
    if result.findings and shown:
        print_diagnostics(result.findings, sys.stderr, severity="warning")
    for notice in (notice for backend in plan.backends for notice in backend.notices):
        print(notice)
    _print_summary(paths, pipeline.summary(plan), written, sum(len(files) for _, files in emitted), started)
    if result.findings and not shown:
        print(f"{len(result.findings.items)} findings, no errors: 'report' instead of 'generate' shows them")
    proven = _prove(arguments, paths, targets, plan.rules or {})
    if partial is not None and partial.left_out:
        print("left out:", *(f"  {each}" for each in partial.left_out), sep="\n", file=sys.stderr)
    return status or proven


def _read(arguments: argparse.Namespace, paths: Paths) -> tuple[Result, Plan, PartialResult | None] | None:
    """What the files say, and, where the run keeps going, without which entries; None where errors stop it.

    Errors have been printed then, but for those of JSON that come with the warnings of what is right.
    """
    from codegen.commands.analysis import analyze
    from codegen.commands.diagnostics import print_diagnostics
    from codegen.commands.partial import analyze_partially
    from codegen.source import Diagnostics

    partial = analyze_partially(paths, arguments.strict) if arguments.keep_going else None
    result = analyze(paths, arguments.json) if partial is None else partial.result
    if result is None:
        return None
    errors = partial.errors if partial is not None else result.findings if arguments.strict else Diagnostics()
    stopped = result.plan is None or (arguments.strict and result.findings)
    if errors and (stopped or not arguments.json):
        print_diagnostics(errors, sys.stdout if arguments.json else sys.stderr, arguments.json)
    if stopped or result.plan is None:
        return None
    names = () if partial is None else tuple(each.name for each in partial.left_out)
    return result, replace(result.plan, left_out=names), partial


def _prove(arguments: argparse.Namespace, paths: Paths, targets: Sequence[str], rules: Mapping[str, str]) -> int:
    """Prove the rules of what was generated that are not proven as they are."""
    if "python" not in targets or not proofs.wanted(arguments.no_verify, paths):
        return OK
    names = list(proof_outcomes.unproven(rules, paths))
    if not names:
        return OK
    from codegen.commands.proving import prove_rules

    return OK if prove_rules(names, rules, paths) else ERRORS


def _print_summary(paths: Paths, summary: str, written: int, count: int, started: float) -> None:
    seconds = time.perf_counter() - started
    print(f"{summary}: {written} of {count} files written to {paths.shown(paths.output)} in {seconds:.2f} s")


def _check(
    emitted: Sequence[tuple[Paths, Mapping[str, str]]], result: Result, paths: Paths, arguments: argparse.Namespace
) -> int:
    from codegen.commands.diagnostics import print_diagnostics

    stale = [
        Path(os.path.relpath(place.output / name, paths.output)).as_posix()
        for place, files in emitted
        for name in output.differences(files, place.output)
    ]
    has_python = paths.output in (place.output for place, _ in emitted)
    unproven = proofs.wanted_findings(result, paths, arguments.no_verify) if not stale and has_python else None
    if arguments.json:
        print(json.dumps([*stale, *([output.PROOFS] if unproven else [])]))
    elif stale:
        words = [word for word in arguments.words if word != "--check"]
        print(f"{paths.shown(paths.output)} is not what the YAML gives: {', '.join(stale)}", file=sys.stderr)
        print(f"run: {shlex.join([*program(), *words])}", file=sys.stderr)
    elif unproven:
        print_diagnostics(unproven, sys.stderr)
    return ERRORS if stale or unproven else OK
