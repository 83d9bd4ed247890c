"""`generate --keep-going`: what is right of files with errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.commands.partial import analyze_partially
from codegen.paths import Paths
from support.in_process import codegen

NATIVE = """\
# Operators.
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: one}
# About the next one.
- func: unread(Tensor self -> Tensor
  dispatch: {CPU: one}
- func: unclosed(Tensor self) -> Tensor
  dispatch: {CPU: [one
- func: neg(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: one}

# About the one that calls another.
- func: calls(Tensor self) -> Tensor
  dispatch: {CPU: one}
"""
FORMULAS = """\
- name: neg(Tensor self) -> Tensor
  self: neg(grad)
- name: unread(Tensor self) -> Tensor
  self: grad
- name: calls(Tensor self) -> Tensor
  self: unread(grad)
- name: unclosed(Tensor self) -> Tensor
  self: grad
"""


@pytest.fixture
def wrong(small_paths: Paths) -> Paths:
    small_paths.native_functions.write_text(NATIVE, encoding="utf-8")
    small_paths.derivatives.write_text(FORMULAS, encoding="utf-8")
    (small_paths.operators / "kernels" / "small.py").write_text("def one(self): return self\n", encoding="utf-8")
    return small_paths


def test_what_is_wrong_is_left_out_with_what_needs_it(wrong: Paths) -> None:
    partial = analyze_partially(wrong, strict=False)
    assert partial.result.plan is not None
    assert [str(each.name) for each in partial.result.plan.operators] == ["neg", "calls"]
    assert [node.operator for node in partial.result.plan.nodes] == ["neg"]
    assert [str(each) for each in partial.left_out] == [
        "derivatives.yaml:3: unread: it needs 'unread', which is left out",
        "derivatives.yaml:5: calls: it needs 'unread', which is left out",
        "derivatives.yaml:7: unclosed: it needs 'unclosed', which is left out",
        "native_functions.yaml:6: unread: unbalanced parenthesis: '(' is never closed",
        "native_functions.yaml:8: unclosed: invalid YAML: the list is never closed, or an element is not followed by "
        "',' or ']'",
        "native_functions.yaml:10: neg: duplicate entry for 'neg'",
    ]
    # What follows from them is no error of the files as they are.
    assert [str(item.span) for item in partial.errors.sorted()] == [
        "native_functions.yaml:6:15", "native_functions.yaml:9:19", "native_functions.yaml:10:9",
    ]  # fmt: skip


def test_places_behind_what_is_left_out_are_those_of_the_file(wrong: Paths) -> None:
    wrong.derivatives.write_text(FORMULAS + "- name: calls(Tensor self) -> Tensor\n  self: grda\n", encoding="utf-8")
    partial = analyze_partially(wrong, strict=False)
    assert "derivatives.yaml:9: calls: duplicate entry for 'calls'" in map(str, partial.left_out)


def test_without_errors_nothing_is_left_out(wrong: Paths) -> None:
    wrong.native_functions.write_text(NATIVE[: NATIVE.index("# About the next")], encoding="utf-8")
    wrong.derivatives.write_text("- name: neg(Tensor self) -> Tensor\n  self: neg(grad)\n", encoding="utf-8")
    partial = analyze_partially(wrong, strict=False)
    assert (partial.left_out, partial.errors.items) == ([], [])
    assert partial.result.plan is not None


def test_no_entry_need_be_right(wrong: Paths) -> None:
    wrong.derivatives.write_text("- name: neg(Tensor self) -> Tensor\n  self: gard\n", encoding="utf-8")
    partial = analyze_partially(wrong, strict=False)
    assert partial.result.plan is not None
    assert [node.operator for node in partial.result.plan.nodes] == []


def test_an_error_in_no_entry_stops(wrong: Paths) -> None:
    (wrong.operators / "kernels" / "small.py").write_text("def one(self: return self\n", encoding="utf-8")
    partial = analyze_partially(wrong, strict=False)
    assert partial.result.plan is None
    assert "small.py" in {item.span.file.path.rpartition("/")[2] for item in partial.errors.items}


def test_strict_leaves_out_what_findings_stand_in(wrong: Paths) -> None:
    native = "- func: two(Tensor self, Tensor other) -> Tensor\n  dispatch: {CPU: one}\n"
    theirs = wrong.root / "theirs.yaml"
    theirs.write_text(NATIVE[: NATIVE.index("# About the next")] + native, encoding="utf-8")
    wrong.native_functions.write_text(NATIVE[: NATIVE.index("# About the next")], encoding="utf-8")
    formulas = wrong.root / "formulas.yaml"
    formulas.write_text("- name: two(Tensor self, Tensor other) -> Tensor\n  self: grad\n", encoding="utf-8")
    wrong.derivatives.write_text("[]\n", encoding="utf-8")
    paths = replace(wrong.foreign(theirs, [wrong.native_functions]), helpers=(), derivatives=formulas)
    left_out = [[each.name for each in analyze_partially(paths, strict).left_out] for strict in (False, True)]
    assert left_out == [[], ["two"]]


def test_the_command_writes_the_rest_and_fails_again_and_again(tmp_path: Path) -> None:
    own = "- func: good(Tensor self) -> Tensor\n  dispatch: {CPU: none}\n"
    (tmp_path / "native.yaml").write_text(own + "- func: wrong(Tensr self) -> Tensor\n", encoding="utf-8")
    (tmp_path / "formulas.yaml").write_text("- name: good(Tensor self) -> Tensor\n  self: grad\n", encoding="utf-8")
    words = [
        "--native-functions",
        "native.yaml",
        "--derivatives",
        "formulas.yaml",
        "--out",
        "out",
        "--target",
        "python",
    ]
    for _ in range(2):
        done = codegen(*words, "--keep-going", folder=tmp_path)
        assert done.returncode == 1
        assert "native.yaml:3:15: error: unknown type 'Tensr'" in done.stderr
        assert done.stderr.endswith("left out:\n  native.yaml:3: wrong: unknown type 'Tensr'\n")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["left_out"], manifest["sources"]) == (["wrong"], "")
    assert "class GoodBackward0" in (tmp_path / "out" / "nodes.py").read_text(encoding="utf-8")
    assert codegen(*words, folder=tmp_path).returncode == 1  # what is there is not taken for all of it
    told = json.loads(codegen(*words, "--keep-going", "--json", folder=tmp_path).stdout)
    assert [item["message"] for item in told if item["severity"] == "error"] == ["unknown type 'Tensr'"]
    (tmp_path / "native.yaml").write_text(own, encoding="utf-8")
    done = codegen(*words, "--keep-going", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "left_out" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_a_check_does_not_keep_going(tmp_path: Path) -> None:
    done = codegen("--keep-going", "--check", folder=tmp_path)
    assert done.returncode == 2
    assert "--keep-going" in done.stderr
