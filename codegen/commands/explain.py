"""Shows all that is known of an operator, or the page about the code of a message."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from codegen import pipeline
from codegen.commands.analysis import analyze
from codegen.commands.chosen import add_files, chosen_paths, refuse_frameworks
from codegen.commands.codes import is_code, print_page
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.process import ERRORS, OK, USAGE
from codegen.paths import Paths
from codegen.plan.memory import read_arrays
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.targets.target import TargetError
from codegen.words import ALL_TARGETS, BUILT_IN_NAMESPACE, CPP, TARGETS, did_you_mean


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an operator, such as mul.Tensor, or a code, such as GW012")
    add_files(parser)
    parser.add_argument("--code", action="store_true", help="show the generated code of all targets, too")
    parser.add_argument(
        "--target", choices=ALL_TARGETS, action="append", help="show the code of this target; may be given again"
    )
    parser.add_argument(
        "--shapes", nargs="+", metavar="SHAPE",
        help="the memory that is kept for Tensors of these shapes: 64x128, (), 64x128:float64; 2x3,4x3 for a list",
    )  # fmt: skip


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if is_code(arguments.name):
        return print_page(arguments.name)
    paths = chosen_paths(arguments, parser, about_ours=True)
    if paths is not None:
        refuse_frameworks(arguments.target or (), paths, parser)
    result = None if paths is None else analyze(paths, only_operators=True)
    if paths is None or result is None or result.plan is None:
        return ERRORS
    everything = TARGETS if paths.namespace == BUILT_IN_NAMESPACE else TARGETS[:1]
    targets = dict.fromkeys(arguments.target or (everything if arguments.code else ()))
    return _print_operators(result.plan, paths, arguments.name, tuple(targets), arguments.shapes)


def _print_operators(plan: Plan, paths: Paths, name: str, targets: Sequence[str], shapes: Sequence[str] | None) -> int:
    """Print what is known of the operators of a name, and what `targets` make of them.

    Args:
        plan: what was made of the YAML.
        paths: where things lie.
        name: of an operator with or without its overload, of a variant, or of a Node.
        targets: those whose code is shown.
        shapes: of the Tensors among the arguments, as `read_arrays` takes them.
    """
    operators = [operator for operator in plan.operators if name in _names(operator)]
    if not operators:
        hint = did_you_mean(name, {each: None for operator in plan.operators for each in _names(operator)})
        return _refuse(f"no operator '{name}'" + (f"\nhint: {hint}" if hint else ""))
    failure = None
    texts = []
    for operator in operators:
        try:
            arrays = None if shapes is None else [read_arrays(shape) for shape in shapes]
            text = pipeline.explain(operator, arrays)
        except ValueError as error:  # of several overloads some may not take these
            failure = error
            continue
        try:
            code = [(target, pipeline.explain_code(operator, plan, paths, target)) for target in targets]
        except TargetError as error:
            print_diagnostics(error.diagnostics, sys.stderr)
            return ERRORS
        texts.append((text, code))
    if not texts:
        return _refuse(str(failure))
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        _print_in_colour(texts)
    else:
        print("\n\n".join("\n\n".join((text, *(lines for _, lines in code))) for text, code in texts))
    return OK


def _refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return USAGE


def _names(operator: OperatorPlan) -> Iterator[str]:
    """What an operator is found by: its name with and without overload, those of its variants and of its Nodes."""
    for name in (operator.name, operator.python.inplace, operator.python.out):
        if name is not None:
            yield str(name)
            yield name.base
    for node in operator.autograd.nodes:
        yield node.class_name


def _print_in_colour(texts: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    # Lines are left as they are: a terminal wraps what is too long, and nothing is cut.
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    for number, (text, code) in enumerate(texts):
        if number:
            console.print()
        for at, line in enumerate(text.splitlines()):
            shown = Text(line)
            if at == 0 or (line and not line.startswith(" ")):
                shown.stylize("bold" if at else "bold cyan")
            else:
                shown.highlight_regex(r"^  [\w, ]+:(?= )", "cyan")
                shown.highlight_regex(r"\S+\.(?:yaml|py):\d+", "dim")
                shown.highlight_regex(r"  wins$", "green")
                shown.highlight_regex(r"[\d,]+ bytes", "magenta")
            console.print(shown)
        for target, lines in code:
            console.print()
            console.print(Syntax("", CPP if target == CPP else TARGETS[0], theme="ansi_dark").highlight(lines), end="")
