"""No change to the project's own YAML makes the generator raise: it gives diagnostics, or code that compiles."""

from __future__ import annotations

import io
import re
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import Paths
from codegen.pipeline import analyze, emit
from support.documents import ROOT

TOKEN = re.compile(r"\w+|\s+|.")
FUNCTIONS = re.split(r"(?m)^(?=- func:)", (ROOT / "native_functions.yaml").read_text(encoding="utf-8"))[1:]
FORMULAS = re.split(r"(?m)^(?=- name:)", (ROOT / "derivatives.yaml").read_text(encoding="utf-8"))[1:]
OTHERS = (
    "grad",
    "grads[1]",
    "self",
    "result",
    " * ",
    "{",
    "}",
    "(",
    ")",
    ", ",
    "?",
    "-1",
    '"x"',
    "::",
    "not_implemented",
)

EDITS = st.lists(
    st.tuples(
        st.booleans(),  # which of the files
        st.sampled_from(("delete", "insert", "replace", "double")),
        st.integers(0, 10_000),
        st.integers(0, 10_000) | st.sampled_from(OTHERS),
    ),
    max_size=5,
)


def edited(text: str, kind: str, place: int, what: int | str) -> str:
    tokens = TOKEN.findall(text)
    place %= len(tokens)
    new = what if isinstance(what, str) else tokens[what % len(tokens)]
    match kind:
        case "delete":
            del tokens[place]
        case "insert":
            tokens.insert(place, new)
        case "replace":
            tokens[place] = new
        case _:
            tokens.insert(place, tokens[place])
    return "".join(tokens)


def signature_of(entry: str) -> str:
    return re.sub("^- (name|func): ", "", entry).partition("(")[0]


def generate(paths: Paths) -> None:
    result = analyze(paths)
    print_diagnostics(result.diagnostics, io.StringIO())
    for item in result.diagnostics.items:
        assert item.span.file.path in ("native_functions.yaml", "derivatives.yaml")
        assert 0 <= item.span.start <= len(item.span.file.text)
    assert (result.plan is None) == bool(result.diagnostics)
    if result.plan is not None:
        for name, text in emit(paths, result.plan).items():
            if name.endswith((".py", ".pyi")):
                compile(text, name, "exec", dont_inherit=True)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=5, unique=True), st.integers(0, 10_000), EDITS)
def test_edited_yaml(
    small_paths: Paths, formulas: list[str], start: int, edits: list[tuple[bool, str, int, int | str]]
) -> None:
    wanted = {signature_of(formula) for formula in formulas}
    start %= len(FUNCTIONS)
    functions = [f for i, f in enumerate(FUNCTIONS)
                 if signature_of(f) in wanted or start <= i < start + 15]  # fmt: skip
    texts = ["".join(functions), "".join(formulas)]
    for second, kind, place, what in edits:
        texts[second] = edited(texts[second], kind, place, what)
    small_paths.native_functions.write_text(texts[0], encoding="utf-8")
    small_paths.derivatives.write_text(texts[1], encoding="utf-8")
    generate(replace(small_paths, runtime=ROOT / "runtime"))


def test_operators_without_methods(small_paths: Paths) -> None:
    """None of them is a method or has a sign."""
    (function,) = (each for each in FUNCTIONS if signature_of(each) == "complex")
    small_paths.native_functions.write_text(function, encoding="utf-8")
    small_paths.derivatives.write_text("[]\n", encoding="utf-8")
    generate(replace(small_paths, runtime=ROOT / "runtime"))
