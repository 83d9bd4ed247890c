"""The target of rules: what is written of some operators, what is refused, and that it is asked for alone.

A file of `golden/rules` has the name of an operator and what is written of it; a new one is an empty file and
`pytest --update-goldens`. Lines of the YAML have no numbers there.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from codegen import pipeline
from codegen.output import stale_files
from codegen.paths import project_paths
from codegen.plan.plan import Plan
from codegen.targets.rules import target
from codegen.targets.rules.wrapping import WIDTH, wrapped
from codegen.targets.target import TargetError
from codegen.words import ALL_TARGETS, RULES, TARGETS
from support.in_process import codegen

GOLDEN = Path(__file__).parent / "golden" / "rules"
FILES = sorted(GOLDEN.glob("*.py"))
_LINE = re.compile(r"(derivatives|native_functions)\.yaml:\d+")


@cache
def plan() -> Plan:
    made = pipeline.analyze(project_paths(), checks=False).plan
    assert made is not None
    return made


@cache
def written() -> dict[str, str]:
    return dict(target.emit(plan(), project_paths()))


def explained(name: str) -> str:
    operator = next(operator for operator in plan().operators if str(operator.name) == name)
    return target.explain(operator, plan(), project_paths())


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.stem)
def test_functions(golden: Path, update_goldens: bool) -> None:
    text = _LINE.sub(r"\1.yaml", explained(golden.stem)) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_it_is_emitted_where_it_is_asked_for() -> None:
    assert RULES in ALL_TARGETS
    assert RULES not in TARGETS


def test_nothing_of_gradwright_is_imported() -> None:
    for name, text in written().items():
        for node in ast.walk(ast.parse(text, name)):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or str(node.module).partition(".")[0] in sys.stdlib_module_names, name
            elif isinstance(node, ast.Import):
                assert {each.name for each in node.names} <= sys.stdlib_module_names, name


def test_what_is_written_is_needed() -> None:
    files = written()
    used = {word for name in ("rules.py", "helpers.py", "operators.py") for word in re.findall(r"\w+", files[name])}
    for name in ("operators.py", "helpers.py"):
        functions = [node.name for node in ast.parse(files[name]).body if isinstance(node, ast.FunctionDef)]
        every = "".join(files.values())
        assert used >= set(functions)
        assert [each for each in functions if len(re.findall(rf"\b{each}\b", every)) < 2] == []


def test_each_function_has_its_formula_with_its_place() -> None:
    for name in ("mul.Tensor", "sgn", "prod"):
        text = explained(name)
        assert len(re.findall(r"# derivatives\.yaml:\d+  ", text)) >= 2


def test_an_operator_that_is_asked_for_and_lacks_something_is_an_error() -> None:
    with pytest.raises(TargetError) as caught:
        explained("lgamma")
    (item,) = caught.value.diagnostics.items
    assert item.message == "'lgamma' can not be written as rules: 'digamma' has no kernel over the array API"
    assert item.span.file.path == "derivatives.yaml"
    assert "digamma(self)" in item.span.file.line(item.span.line)


def test_the_command_explain_refuses_it_with_the_place() -> None:
    finished = codegen("explain", "lgamma", "--target", "rules")
    assert finished.returncode == 1
    assert re.search(r"derivatives\.yaml:\d+:\d+: error: 'lgamma' can not be written as rules", finished.stderr)


def test_coverage_lists_each_operator_with_the_reason() -> None:
    finished = codegen("coverage", "--target", "rules")
    rows = [line.split("\t") for line in finished.stdout.splitlines()]
    assert finished.returncode == 0
    assert len(rows) == sum(operator.autograd.node is not None for operator in plan().operators)
    assert {row[1] for row in rows} == {"emitted", "missing"}
    assert all((row[2] == "-") == (row[1] == "emitted") for row in rows)
    assert any(row[0] == "mul.Tensor" and row[1] == "emitted" for row in rows)
    # Reasons are words about what is written, and not about the parts of a syntax tree.
    assert not [row for row in rows if re.search(r"Yield|' of (numpy|runtime)|arrays have no 'device'", row[2])]


def test_python_leaves_the_folder_of_rules_alone(tmp_path: Path) -> None:
    finished = codegen("--target", "rules", "--out", str(tmp_path), "--no-verify")
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "rules" / "manifest.json").is_file()
    assert stale_files([], tmp_path) == []
    again = codegen("--target", "rules", "--out", str(tmp_path), "--no-verify")
    assert ": 0 of " in again.stdout


def test_long_lines_are_broken_at_their_brackets() -> None:
    line = "    result = f(" + ", ".join(f"argument_{number}" for number in range(12)) + ")"
    broken = wrapped(line).split("\n")
    assert broken[0] == "    result = f("
    assert broken[1] == "        argument_0,"
    assert broken[-1] == "    )"


def test_lines_are_not_too_long() -> None:
    """But for messages with values in them."""
    long = [line for text in written().values() for line in text.split("\n") if len(line) > WIDTH]
    assert [line for line in long if not line.lstrip().startswith(("raise RuntimeError(f", "f'"))] == []
    assert len(long) < 10


def test_a_long_comment_has_several_lines() -> None:
    broken = wrapped(f"    # {'word ' * 40}".rstrip()).split("\n")
    assert len(broken) == 2
    assert broken[1].startswith("    #    word")
    assert " ".join(line.strip(" #") for line in broken) == ("word " * 40).strip()


def test_a_long_choice_has_a_line_for_each_part() -> None:
    broken = wrapped(f"    return {'a' * 50}(x) if {'b' * 30}(x) else {'c' * 40}(x)").split("\n")
    assert [line.strip()[:4] for line in broken] == ["retu", "aaaa", "if b", "else", ")"]
    compile("def f():\n" + "\n".join(broken), "broken", "exec")


def test_a_long_text_is_several() -> None:
    broken = wrapped(f'f("{"word " * 40}", 1)')
    assert max(map(len, broken.split("\n"))) <= WIDTH
    assert eval(broken, {"f": lambda text, _: text}) == "word " * 40
