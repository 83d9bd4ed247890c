"""`python -m codegen`: generate, check, build, list, explain."""

from __future__ import annotations

import argparse
import gc
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from codegen import output
from codegen.commands import proofs
from codegen.commands.chosen import add_files, chosen_paths, named_files
from codegen.module_names import PREFIX
from codegen.paths import Paths
from codegen.version import VERSION
from codegen.words import BUILT_IN_NAMESPACE, CPP, INTERRUPTED, TARGETS

if TYPE_CHECKING:
    from codegen.pipeline import Result
    from codegen.plan.plan import Plan
    from codegen.source import Diagnostics

OK, ERRORS, USAGE = 0, 1, 2
# What a command needs a name of.
_NEEDED_NAMES = {
    "explain": "the name of an operator, such as mul.Tensor, or a code, such as GW012",
    "init": "the name of the new package",
    "new": "the signature of the new operator, such as 'mish2(Tensor self) -> Tensor'",
}
PIPE_CLOSED = 141  # as shells say it


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give the exit status: 0, 1 (errors in the YAML, stale output, no build), 2 (wrong usage).

    A reader that goes away (`list | head`) and Ctrl-C end it as they end other programs; a file that can not be
    written, or is where a folder should be, is wrong usage.
    """
    try:
        status = _main(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _print_no_more()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        if not place:  # only what is printed goes to no file that has a name
            _print_no_more()
        print(f"error: {error.strerror or error}{place}", file=sys.stderr)
        return USAGE
    except ValueError as error:
        if "null byte" not in str(error):
            raise  # it is not about a path
        print(f"error: {error}", file=sys.stderr)
        return USAGE


def _print_no_more() -> None:
    """What is still to be flushed when the process ends goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main(argv: Sequence[str] | None) -> int:
    started = time.perf_counter()
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["verify"]:  # its options are others
        from codegen.commands.verify import verify

        return verify(given[1:], _program())
    parser = _parser()
    arguments = parser.parse_args(argv)
    needed = _NEEDED_NAMES.get(arguments.command)
    if needed is None and arguments.name is not None:
        parser.error(f"'{arguments.command}' takes no name")
    if needed is not None and arguments.name is None:
        parser.error(f"{arguments.command} needs {needed}")
    if arguments.warn and arguments.strict:
        parser.error("--strict takes for errors what --warn warns of")
    if arguments.warn and (arguments.command not in ("generate", "build") or arguments.check or arguments.json):
        parser.error("only a run that generates takes --warn, without --check and --json")
    if arguments.command == "build" and (arguments.check or arguments.json or arguments.target):
        parser.error("build takes none of --check, --json and --target")
    if arguments.diff and arguments.command not in ("format", "fix"):
        parser.error("only format and fix take --diff")
    if arguments.command != "build" and (arguments.sanitize or arguments.optional):
        parser.error("only build takes --sanitize and --optional")
    if arguments.command != "explain" and (arguments.code or arguments.shapes is not None):
        parser.error("only explain takes --code and --shapes")
    if arguments.command != "coverage" and arguments.backend is not None:
        parser.error("only coverage takes --backend")
    if arguments.command == "init":
        from codegen.commands.init import init

        return init(arguments.name, Path.cwd())
    if arguments.command == "explain":
        from codegen.commands.codes import explain_code, is_code

        if is_code(arguments.name):
            return explain_code(arguments.name)
    paths = chosen_paths(arguments, parser)
    if paths is None:
        return ERRORS
    if arguments.command == "format":
        from codegen.commands.format import format_files

        files = named_files(arguments) or (paths.native_functions, paths.derivatives)
        return format_files(files, paths, arguments.check, arguments.diff)
    if arguments.command == "fix":
        from codegen.commands.fix import fix

        return fix(named_files(arguments) or paths.inputs, paths, arguments.diff)
    if arguments.command == "coverage" and arguments.backend is None:
        from codegen.commands.proven import proven

        return proven(paths, arguments.missing, arguments.json)
    if arguments.command == "new":
        from codegen.commands.new import new

        return new(arguments.name, paths)
    in_package = paths.namespace != BUILT_IN_NAMESPACE
    if in_package and arguments.sanitize:
        parser.error("--sanitize is for Gradwright's own operators")
    everything: Sequence[str] = TARGETS[:1] if in_package and arguments.command != "build" else TARGETS
    if arguments.command == "explain" and not arguments.code:
        everything = ()
    arguments.target = list(dict.fromkeys(arguments.target or everything))
    status = _carry_out(arguments, paths, given, started)
    if arguments.command != "build" or status != OK:
        return status
    if in_package:
        from codegen.commands.build_package import build_package

        return build_package(paths, arguments.optional, arguments.no_verify)
    from codegen.commands.build import build

    return build(paths, arguments.sanitize, arguments.optional)


def _carry_out(arguments: argparse.Namespace, paths: Paths, argv: Sequence[str], started: float) -> int:
    looks = arguments.check or arguments.json or arguments.warn or arguments.strict
    if arguments.command in ("generate", "build") and not looks:
        known = [output.unchanged(paths.for_target(target), target) for target in arguments.target]
        counted = [each for each in known if each is not None]
        if len(counted) == len(known):
            _done(paths, counted[0][0], 0, sum(count + 1 for _, count in counted), started)
            return _prove(arguments, paths, output.rules(paths))
    return _run(arguments, paths, argv, started)


def _run(arguments: argparse.Namespace, paths: Paths, argv: Sequence[str], started: float) -> int:
    # Imported here, so that a run that finds nothing to do is done before these are loaded.
    from codegen import pipeline
    from codegen.commands.diagnostics import print_diagnostics

    gc.disable()  # the trees of a whole YAML have no cycles, and live until the process ends
    checks = arguments.command not in ("explain", "list") or not output.is_of_sources(paths, "python")
    result = pipeline.analyze(paths, checks=checks)
    if result.plan is None:
        if arguments.json:
            print_diagnostics(result.diagnostics, sys.stdout, as_json=True)
        else:
            print_diagnostics(result.diagnostics, sys.stderr)
        return ERRORS
    if arguments.strict and result.findings and arguments.command in ("generate", "build"):
        print_diagnostics(result.findings, sys.stdout if arguments.json else sys.stderr, arguments.json)
        return ERRORS
    if arguments.command == "lint":
        return _lint(result, paths, arguments)
    if arguments.command == "list":
        if arguments.native:
            return _native(result.plan, paths)
        return _missing(result.plan) if arguments.missing else _list(result.plan, arguments.json)
    if arguments.command == "report":
        print(pipeline.judgement(paths, result), end="")
        return OK
    if arguments.command == "coverage":
        from codegen.commands.coverage import coverage

        return coverage(result, arguments.backend, arguments.missing, arguments.json)
    if arguments.command == "explain":
        from codegen.commands.explain import explain

        return explain(result.plan, paths, arguments.name, arguments.target, arguments.shapes)
    emitted = [(paths.for_target(target), pipeline.emit(paths, result.plan, target)) for target in arguments.target]
    if arguments.check:
        return _check(emitted, result, paths, argv, arguments)
    # Python last: its manifest is what the runtime trusts.
    touched = sum(output.write(files, place.output) for place, files in reversed(emitted))
    if arguments.json:
        print_diagnostics(result.findings, sys.stdout, as_json=True, severity="warning")
        return OK
    shown = paths.library is None or arguments.warn
    if result.findings and shown:
        print_diagnostics(result.findings, sys.stderr, severity="warning")
    for notice in (notice for backend in result.plan.backends for notice in backend.notices):
        print(notice)
    _done(paths, pipeline.summary(result.plan), touched, sum(len(files) for _, files in emitted), started)
    if result.findings and not shown:
        print(f"{len(result.findings.items)} findings, no errors: 'report' instead of 'generate' shows them")
    return _prove(arguments, paths, result.plan.rules or {})


def _prove(arguments: argparse.Namespace, paths: Paths, rules: Mapping[str, str]) -> int:
    """Prove the rules of what was generated that are not proven as they are."""
    if "python" not in arguments.target or not proofs.wanted(arguments.no_verify, paths):
        return OK
    names = list(proofs.unproven(rules, paths))
    if not names:
        return OK
    from codegen.commands.proving import prove_rules

    return OK if prove_rules(names, rules, paths) else ERRORS


def _done(paths: Paths, summary: str, touched: int, count: int, started: float) -> None:
    seconds = time.perf_counter() - started
    print(f"{summary}: {touched} of {count} files written to {paths.shown(paths.output)} in {seconds:.2f} s")


def _program() -> tuple[str, ...]:
    """The command as the user gave it."""
    return ("gradwright",) if PREFIX or Path(sys.argv[0]).name == "gradwright" else ("python", "-m", "codegen")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=" ".join(_program()),
        description="Makes a differentiable library out of native_functions.yaml and derivatives.yaml: those of the "
        "nearest project, whose pyproject.toml has a table [tool.gradwright], or Gradwright's own in its checkout.",
    )
    parser.add_argument(
        "command", nargs="?", default="generate",
        choices=(
            "generate", "build", "list", "explain", "report", "coverage", "verify", "lint", "fix", "format", "init",
            "new",
        ),
        help="generate (default) writes the output; build compiles the native core, too; list shows the operators; "
        "explain NAME shows all about one, or about the code of a message; report judges the formulas; "
        "verify proves the rules, and has options of its own (verify --help); "
        "lint fails where it finds what is seldom meant, or a rule that is not proven; "
        "fix writes the words that messages say were meant; "
        "format keeps the two YAML files in one style; coverage shows what is proven of each operator, with "
        "--backend what runs on a backend; "
        "init NAME makes a package of one's own; "
        "new SCHEMA adds an operator",
    )  # fmt: skip
    parser.add_argument(
        "name",
        nargs="?",
        help="an operator such as mul.Tensor or a code such as GW012, for explain; a package, for init; a signature",
    )
    parser.add_argument("--version", action="version", version=f"gradwright {VERSION}")
    add_files(parser)
    parser.add_argument(
        "--target",
        choices=TARGETS,
        action="append",
        help="what to emit, or explain to show; may be given again (default: everything; explain: no code)",
    )
    parser.add_argument("--code", action="store_true", help="with explain: the generated code, too")
    parser.add_argument(
        "--shapes", nargs="+", metavar="SHAPE",
        help="with explain: the memory that is kept for Tensors of these shapes: 64x128, (), 64x128:float64; 2x3,4x3 "
        "for a list",
    )  # fmt: skip
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if the output is missing or not what would be written, if a rule is not proven, or "
        "with format, if a file would change",
    )
    parser.add_argument(
        "--diff", action="store_true", help="with format or fix: write nothing, and show what would change"
    )
    parser.add_argument(
        "--missing", action="store_true",
        help="with list: only what is declared and not implemented; with coverage: only what lacks something, or where "
        "something is skipped",
    )  # fmt: skip
    parser.add_argument(
        "--no-verify", action="store_true", help="prove no rules; with --check and lint: do not ask whether they are"
    )
    parser.add_argument("--backend", metavar="KEY", help="with coverage: the dispatch key of a backend of the project")
    parser.add_argument("--native", action="store_true", help="with list: what is left to Python by C++, and why")
    parser.add_argument(
        "--sanitize",
        nargs="?",
        const="address",
        choices=("address", "thread"),
        help="with build: under AddressSanitizer, in build/sanitize; or ThreadSanitizer, in build/sanitize-thread",
    )
    parser.add_argument(
        "--optional", action="store_true", help="with build: a machine that has no compiler or CMake is no error"
    )
    parser.add_argument("--json", action="store_true", help="diagnostics, or the list, as JSON on standard output")
    return parser


def _check(
    emitted: Sequence[tuple[Paths, Mapping[str, str]]],
    result: Result,
    paths: Paths,
    argv: Sequence[str],
    arguments: argparse.Namespace,
) -> int:
    from codegen.commands.diagnostics import print_diagnostics

    stale = [
        (place.output / name).relative_to(paths.output).as_posix()
        for place, files in emitted
        for name in output.differences(files, place.output)
    ]
    unproven = _unproven(result, paths, arguments) if not stale and "python" in arguments.target else None
    if arguments.json:
        print(json.dumps([*stale, *([output.PROOFS] if unproven else [])]))
    elif stale:
        words = [word for word in argv if word != "--check"]
        command = shlex.join([*_program(), *words])
        print(f"{paths.shown(paths.output)} is not what the YAML gives: {', '.join(stale)}", file=sys.stderr)
        print(f"run: {command}", file=sys.stderr)
    elif unproven:
        print_diagnostics(unproven, sys.stderr)
    return ERRORS if stale or unproven else OK


def _lint(result: Result, paths: Paths, arguments: argparse.Namespace) -> int:
    from codegen.commands.diagnostics import as_values, print_diagnostics

    unproven = _unproven(result, paths, arguments)
    if arguments.json:
        print(json.dumps([*as_values(result.findings, "warning"), *as_values(unproven)], indent=2))
    elif result.findings or unproven:
        if result.findings:
            print_diagnostics(result.findings, sys.stderr, severity="warning")
        if unproven:
            print_diagnostics(unproven, sys.stderr)
    else:
        print("nothing found")
    return ERRORS if result.findings or unproven else OK


def _unproven(result: Result, paths: Paths, arguments: argparse.Namespace) -> Diagnostics:
    from codegen.source import Diagnostics

    return proofs.findings(result, paths) if proofs.wanted(arguments.no_verify, paths) else Diagnostics()


def _list(plan: Plan, as_json: bool) -> int:
    from rich.console import Console
    from rich.table import Table

    from codegen.commands.describe import operator_rows

    rows = operator_rows(plan)
    if as_json:
        print(json.dumps(rows, indent=1))
        return OK
    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(str(row[key]) for key in ("name", "kind", "node", "forward", "variants")))
        return OK
    table = Table("operator", "kind", "Node", "forward mode", "variants")
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("name", "kind", "node", "forward", "variants")))
    console.print(table)
    return OK


def _missing(plan: Plan) -> int:
    from codegen.plan.kinds import OperatorKind

    operators = [str(operator.name) for operator in plan.operators if operator.kind is OperatorKind.DECLARED]
    helpers = sorted({helper.name for helper in plan.helpers if helper.function is None})
    for kind, names, total in (("operator", operators, len(plan.operators)), ("helper", helpers, len(plan.helpers))):
        for name in names:
            print(f"{kind}\t{name}")
        print(f"{len(names)} of {total} {kind}s are bound late", file=sys.stderr)
    return OK


def _native(plan: Plan, paths: Paths) -> int:
    from codegen import pipeline
    from codegen.targets.cpp import target as cpp

    covered = cpp.coverage(pipeline.with_base(plan, paths, CPP), paths)
    for kind, reasons in (("operator", covered.operators), ("Node", covered.nodes)):
        for name, reason in reasons.items():
            if reason is not None:
                print(f"{kind}\t{name}\t{reason}")
    print(covered, file=sys.stderr)
    return OK
