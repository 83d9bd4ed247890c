"""Proves the rules of derivatives, and shows what is refuted as errors at its place in the YAML.

The proofs run in a process of their own (`gradwright/verify`): the generator imports nothing of the runtime.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from codegen import input_files, inputs, output, proof_outcomes
from codegen.codes import Code
from codegen.commands.chosen import add_files, chosen_paths, named_files
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.others import generated
from codegen.commands.process import ERRORS, OK, program
from codegen.commands.proofs_page import write_page
from codegen.commands.proven import LEDGER, ledger_file
from codegen.commands.since import touched
from codegen.dispatch_keys import CPU
from codegen.inputs import OUTPUT_VARIABLE, import_folder, root_folder
from codegen.module_names import name_here
from codegen.paths import BASE, PROJECT_FILE, Paths
from codegen.ranks import Ranks, processors, ranks, without_launcher
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.source import Diagnostic, Diagnostics, Span
from codegen.words import FRAMEWORK_PROPERTIES, FRAMEWORKS, INTERRUPTED
from codegen.writing import as_item, text_of, write_text

# What is found where nothing is looked at.
_NOTHING: Mapping[str, Any] = {"seconds": 0.0, "summary": "no operators", "properties": [], "cells": []}
# What each property says something about; the others are about gradients.
_CODES: Mapping[str, Code] = {
    **dict.fromkeys(("forward", "forward_complex", "transposed"), Code.WRONG_TANGENT),
    **dict.fromkeys(("second", "second_complex", "modes"), Code.WRONG_SECOND),
    **dict.fromkeys(
        ("returns", "saved", "layouts", "inplace", "out", "inputs", "batching", "native", "compiled", "registered"),
        Code.UNPROVEN,
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="such as mul.Tensor, or mul; default: all")
    parser.add_argument(
        "--property",
        action="append",
        choices=FRAMEWORK_PROPERTIES,
        metavar="NAME",
        help="only this one; may be given again",
    )
    parser.add_argument(
        "--since", metavar="REV",
        help="only operators whose rules (formulas, helpers, kernels, samples) are not those of this revision of the "
        "git repository",
    )  # fmt: skip
    parser.add_argument(
        "--unproven", action="store_true",
        help="only operators whose rules are not proven as they are, by what earlier proofs have left",
    )  # fmt: skip
    parser.add_argument(
        "--target", choices=FRAMEWORKS, help="the operators that this target has made for its framework, in its modes"
    )
    parser.add_argument(
        "--deep", action="store_true",
        help="search as well, for minutes an operator, for calls beside the samples that refute a rule",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="of a deep search (default: another one each time)")
    parser.add_argument("--seconds", type=float, metavar="N", help="of a deep search, for each operator (default: 120)")
    parser.add_argument("--jobs", type=int, help="how many processes (default: all processors)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found; - is standard output")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write it as a page for a browser, of one file")
    parser.add_argument("--skipped", action="store_true", help="say what was skipped, and why")
    parser.add_argument("--ledger", action="store_true", help=f"fail where less is proven than {LEDGER} says")
    parser.add_argument("--update-ledger", action="store_true", help=f"write to {LEDGER} what is proven")
    add_files(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if ranks().rank == 0:
        return _run(arguments, parser)
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        return _run(arguments, parser)  # the first process says it


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    others = named_files(arguments)
    selection = next((each for each in ("since", "unproven") if getattr(arguments, each)), None)
    if selection is not None and (arguments.operators or others or (arguments.since and arguments.unproven)):
        parser.error(f"--{selection} says which operators, and of which files")
    of_the_ledger = arguments.ledger or arguments.update_ledger
    if others and of_the_ledger:
        parser.error("the ledger is of the project's own operators")
    if arguments.target is not None and (others or of_the_ledger or arguments.unproven):
        parser.error("--target is for the operators of a package, as they are")
    if arguments.deep and (of_the_ledger or arguments.target is not None):
        parser.error("a deep search is of the runtime's operators, and what it finds is in no ledger")
    if not arguments.deep and (arguments.seed is not None or arguments.seconds is not None):
        parser.error("--seed and --seconds are of a --deep search")
    paths = chosen_paths(arguments, parser, about_ours=bool(arguments.operators) and not of_the_ledger)
    if paths is None:
        return ERRORS
    if others:
        with generated(paths, arguments.out) as made:
            if made is None:
                return ERRORS
            try:
                chosen = made.chosen(arguments.operators)
            except ValueError as error:
                parser.error(str(error))
            return _carry_out(arguments, made.paths, chosen, of_others=True)
    is_current = output.unchanged(paths, "python") is not None
    if not is_current and (arguments.unproven or arguments.update_ledger):
        return _stale(paths)
    if arguments.target is not None and not _has_target(arguments.target, paths):
        return ERRORS
    rules = output.rules(paths) if is_current and arguments.target is None else {}
    names: Sequence[str] = arguments.operators
    if arguments.since is not None:
        status, names = touched(arguments.since, paths)
        if status != OK:
            return status
    elif arguments.unproven:
        names = list(proof_outcomes.unproven(rules, paths))
        if not names:
            print("every rule is proven", file=sys.stderr)
    if selection is not None and not names:
        _keep(_NOTHING, arguments, paths)
        return OK
    if not (paths.output / "registry.py").is_file() or not (is_current or _is_of_yaml(paths)):
        return _stale(paths)
    return _carry_out(arguments, paths, names, of_others=False, rules=rules)


def _is_of_yaml(paths: Paths) -> bool:
    """Whether the output was made from the YAML as it is; else the runtime does not load it."""
    try:
        return inputs.is_current(inputs.manifest_text(str(paths.output)), paths.inputs)
    except OSError:
        return False


def _stale(paths: Paths) -> int:
    """Say that the output is older than the YAML; the exit status."""
    print(f"error: {paths.shown(paths.output)} is not what the YAML gives", file=sys.stderr)
    print(f"run: {shlex.join(program())}", file=sys.stderr)
    return ERRORS


def _has_target(target: str, paths: Paths) -> bool:
    """Whether what the target makes is there, and is what the YAML gives; else it is said what is not."""
    if target not in paths.targets:
        print(
            f"error: the table [tool.gradwright] of {paths.shown(paths.root / PROJECT_FILE)} has not "
            f"{target!r} in 'targets'",
            file=sys.stderr,
        )
    elif output.unchanged(paths.for_target(target), target) is None:
        _stale(paths.for_target(target))
    elif importlib.util.find_spec(target) is None:
        print(f"error: {target} is not installed", file=sys.stderr)
    else:
        return True
    return False


def _carry_out(
    arguments: argparse.Namespace,
    paths: Paths,
    names: Sequence[str],
    of_others: bool,
    rules: Mapping[str, str] | None = None,
) -> int:
    chosen = of_others or arguments.since or arguments.unproven
    options = [*names, *(["--exact"] if chosen else [])]
    for name in arguments.property or ():
        options += ["--property", name]
    if arguments.target is not None:
        options += ["--target", arguments.target]
    if of_others:
        options += ["--incomplete", "--without", "native"]  # the core is built of other formulas
    proving = ["--deep"] if arguments.deep else []
    for option in ("jobs", "seed", "seconds"):
        if getattr(arguments, option) is not None:
            proving += [f"--{option}", str(getattr(arguments, option))]
    reporting = ["--skipped"] if arguments.skipped else []
    for option in ("ledger", "update_ledger"):
        if getattr(arguments, option):
            reporting += [f"--{option.replace('_', '-')}", str(ledger_file(paths))]
    as_json = str(arguments.json) == "-"
    if as_json:
        reporting.append("--quiet")
    together = ranks()
    try:
        if together.size == 1:
            status, found = prove(paths, [*options, *proving, *reporting])
        else:
            if arguments.jobs is None:
                proving += ["--jobs", str(max(1, processors() // together.here))]
            if arguments.deep and arguments.seed is None:
                proving += ["--seed", str(together.share(secrets.randbelow(10**6)))]
            parts = _prove_parts(together, paths, [*options, *proving])
            if parts is None:
                return OK
            status, found = _merge(parts, paths, [*options, *reporting])
    except NoProofError as error:
        return error.status
    if rules and not arguments.deep:  # what is found by chance says nothing of the next run
        proof_outcomes.keep(found["cells"], rules, paths, whole=not arguments.property)
    if of_others and arguments.out is None:
        for failure in (each for cell in found["cells"] for each in cell.get("failures", ())):
            failure["again"] = ""  # what was generated is gone by then
    _keep(found, arguments, paths)
    wrong = refuted(found["cells"], paths)
    if wrong and not as_json:
        print_diagnostics(wrong, sys.stderr)
    return status


def _prove_parts(together: Ranks, paths: Paths, options: Sequence[str]) -> Sequence[Mapping[str, Any]] | None:
    """What each process has found of its part of the operators; None on all but the first one.

    Raises:
        NoProofError: on one of them they could not be run; why has been printed.
    """
    options = [*options, "--quiet", "--part", f"{together.rank + 1}/{together.size}"]
    found: Mapping[str, Any] | None = None
    status, said = OK, ""
    try:
        status, found = prove(paths, options, silent=together.rank > 0)
    except NoProofError as error:
        status, said = error.status, error.said
    parts = together.collect((found, status, said))
    if parts is None:
        return None
    for found, status, said in parts:
        if found is None:
            print(said, end="", file=sys.stderr)
            raise NoProofError(status, said)
    return [found for found, _, _ in parts]


def _merge(parts: Sequence[Mapping[str, Any]], paths: Paths, options: Sequence[str]) -> tuple[int, Mapping[str, Any]]:
    """What several processes have found, reported as if one had."""
    with tempfile.TemporaryDirectory() as folder:
        options = list(options)
        for number, part in enumerate(parts):
            file = Path(folder) / f"{number}.json"
            write_text(file, json.dumps(part))
            options += ["--found", str(file)]
        return prove(paths, options)


def _keep(found: Mapping[str, Any], arguments: argparse.Namespace, paths: Paths) -> None:
    """Write what was found to the files that were asked for."""
    text = json.dumps(found, indent=1) + "\n"
    if str(arguments.json) == "-":
        print(text, end="")
    elif arguments.json is not None:
        write_text(arguments.json, text)
    if arguments.html is not None:
        write_page(arguments.html, paths.templates, found, paths.package)


# As `python -m gradwright.verify`, and without a word where it is interrupted before it has begun.
_PROOFS = f"""\
import sys
try:
    from gradwright.verify.__main__ import main
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit({INTERRUPTED})
"""


class NoProofError(Exception):
    """The proofs did not come to an end.

    Attributes:
        status: the exit status of their process.
        reason: the last line that it printed, or the signal that ended it.
        said: all that it printed and nobody was shown.
    """

    def __init__(self, status: int, said: str) -> None:
        lines = said.strip().splitlines()
        ended = signal.Signals(-status).name if status < 0 else f"status {status}"
        self.reason = lines[-1] if lines and status >= 0 else f"the proofs ended with {ended}"
        self.status = status if status > 0 else 1
        self.said = said
        super().__init__(self.reason)


def prove(
    paths: Paths, options: Sequence[str], plain: bool = False, silent: bool = False
) -> tuple[int, Mapping[str, Any]]:
    """Run the proofs: the exit status, and what `gradwright.verify --json` writes.

    Args:
        paths: of the project whose operators are proven.
        options: for `gradwright.verify`.
        plain: whether it is done in Python alone, silently.
        silent: whether what it says besides is dropped.

    Raises:
        NoProofError: they could not be run; why has been printed, unless they are silent.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        command = [sys.executable, "-c", _PROOFS, "--places"]
        command += ["--package", name_here(paths.package), "--json", str(file)]
        environment = {**_environment(paths), **({"GRADWRIGHT_NATIVE": "0"} if plain else {})}
        dropped = subprocess.PIPE if plain or silent else None
        with subprocess.Popen([*command, *options], env=environment, stderr=dropped, text=True) as process:
            try:
                _, said = process.communicate()
            except KeyboardInterrupt:
                if process.poll() is None:  # it was meant for this process alone
                    process.send_signal(signal.SIGINT)
                raise
        text = text_of(file)
    if text is None:
        raise NoProofError(process.returncode, said or "")
    return process.returncode, json.loads(text)


def _environment(paths: Paths) -> Mapping[str, str]:
    """That of this process, in which the project's package can be imported."""
    folders = [import_folder()]
    if paths.package != BASE:
        folders.insert(0, str(paths.output.parents[len(paths.package.split(".")) - 1]))
    known = os.environ.get("PYTHONPATH")
    found = {**without_launcher(os.environ), "PYTHONPATH": os.pathsep.join([*folders, *([known] if known else [])])}
    if paths.package == BASE and paths.output.resolve() != Path(root_folder(), BASE).resolve():
        found[OUTPUT_VARIABLE] = str(paths.output)
    return found


def refuted(cells: Iterable[Mapping[str, Any]], paths: Paths) -> Diagnostics:
    """What was refuted, at its places: of each argument the first property, with the others in a hint."""
    diagnostics = Diagnostics()
    wrong: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    cells = list(cells)
    # Where C++ differs from Python, what else is wrong may be wrong in C++ alone: no formula is to blame.
    in_cpp = {cell["operator"] for cell in cells if cell["property"] == "native" and cell.get("failures")}
    for cell in cells:
        if cell["operator"] in in_cpp and cell["property"] != "native":
            continue
        for failure in cell.get("failures", ())[:1]:
            wrong.setdefault((cell["operator"], failure["argument"]), []).append(cell)
    if not wrong:
        return diagnostics
    functions, entries = input_files.read_operators(paths.native_functions, paths.derivatives, paths, Diagnostics())
    formulas = {str(entry.schema.name): entry for entry in entries or ()}
    declared = {str(function.name): function for function in functions or ()}
    told: set[str] = set()
    # Gradients first: where one is wrong, what else is wrong may follow from that.
    ordered = sorted(wrong.items(), key=lambda item: FRAMEWORK_PROPERTIES.index(item[1][0]["property"]))
    for (operator, argument), group in ordered:
        cell = group[0]
        code = _CODES.get(cell["property"], Code.WRONG_GRADIENT)
        if code is Code.WRONG_GRADIENT and argument == "result":
            code = Code.WRONG_TANGENT
        if operator in told and (argument is None or code is not Code.WRONG_GRADIENT):
            continue  # it follows from a wrong gradient
        told.add(operator)
        failure = cell["failures"][0]
        function = declared.get(operator)
        span = _place(code, argument, function, formulas.get(operator))
        if cell["property"] == "returns" and function is not None:
            span = _kernel_place(function) or span
        elif cell["property"] == "native" and function is not None:
            span = _native_place(function, paths) or span
        if span is None:
            continue  # an operator of another file
        place = f"sample {failure['number']}" if failure["number"] else "beside the samples"
        at = f" ({place}: {operator}({failure['sample']}) in {failure['dtype']})" if failure["dtype"] else ""
        others = sorted({each["property"] for each in group[1:]}, key=FRAMEWORK_PROPERTIES.index)
        hint = f"refuted are {', '.join([cell['property'], *others])}" if others else f"refuted is {cell['property']}"
        if failure["dtype"] and failure["again"]:
            hint += f"; again: {failure['again']}"
        if failure["dtype"] and not failure["number"]:
            hint += f"; as a sample: {as_item(failure['sample'])}"
        diagnostics.items.append(Diagnostic(code, span, f"{failure['message']}{at}", hint))
    return diagnostics


def _kernel_place(function: NativeFunction) -> Span | None:
    """Where an entry names its kernel for the CPU."""
    return next((line.kernel.span() for line in function.dispatch if line.key == CPU), None)


def _place(
    code: Code, argument: str | None, function: NativeFunction | None, entry: DerivativeEntry | None
) -> Span | None:
    """The formula that is to blame, or the entry of the operator."""
    if entry is not None and code is not Code.UNPROVEN:
        outputs = {result.name or "result" for result in entry.schema.returns} | {"result"}
        for formula in entry.formulas:
            names = {str(name) for name in formula.names}
            forward = bool(names & outputs) or any(name.startswith("result") for name in names)
            if argument in names or (forward and argument == "result" and code is Code.WRONG_TANGENT):
                return formula.text.span()
        return entry.text.span()
    if function is not None and function.composite is not None and code is not Code.UNPROVEN:
        return function.composite.text.span()
    return None if function is None else function.text.span()


def _native_place(function: NativeFunction, paths: Paths) -> Span | None:
    """The kernel of an operator in C++, where a package or the core has one that is written by hand."""
    from codegen.read.kernel_table import KERNELS, cpp_file, read_rows

    names = {str(line.kernel) for line in function.dispatch}
    files = (cpp_file(path, paths.shown(path)) for path in (*paths.own_kernels, *paths.native_kernels))
    rows = (row for file in files for row in read_rows(file, Diagnostics()))
    return next((row.span for row in rows if row.namespace == KERNELS and row.name in names), None)
