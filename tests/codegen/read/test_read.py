"""Reading the YAML files: values, and the place of every character of them."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path

import pytest
import yaml

from codegen.codes import Code
from codegen.commands.diagnostics import print_diagnostics
from codegen.excerpt import MAX_WIDTH
from codegen.read.files import load, read_derivatives, read_native_functions, read_tags
from codegen.read.model import DerivativeEntry, FormulaKind, NativeFunction
from codegen.read.yaml_text import ENTRY_START, YamlFile, entry_around
from codegen.source import Diagnostics, SourceFile, Span, Text
from codegen.words import Meant, PromotionKind
from support.documents import ROOT


def functions(text: str) -> tuple[NativeFunction, ...]:
    diagnostics = Diagnostics()
    found = read_native_functions(SourceFile("native_functions.yaml", text), diagnostics)
    assert diagnostics.items == []
    return found


def derivatives(text: str) -> tuple[DerivativeEntry, ...]:
    diagnostics = Diagnostics()
    found = read_derivatives(SourceFile("derivatives.yaml", text), diagnostics)
    assert diagnostics.items == []
    return found


def scalar(source: str) -> Text:
    """The text of the value in `- key: value`."""
    diagnostics = Diagnostics()
    file = YamlFile(SourceFile("test.yaml", source), diagnostics)
    fields = file.mapping(file.entries()[0], "an entry")
    assert fields is not None
    text = file.scalar(fields["key"][1], "the value")
    assert text is not None
    assert diagnostics.items == []
    return text


def characters(text: Text) -> str:
    """What stands in the file at the place of each character of `text`."""
    return "".join(text.file.text[text.offsets[index]] for index in range(len(text.value)))


@pytest.mark.parametrize(
    ("source", "value", "found"),
    [
        pytest.param("- key: grad * self\n", "grad * self", "grad * self", id="plain"),
        pytest.param("- key: grad * self   # why\n", "grad * self", "grad * self", id="comment"),
        pytest.param("- key: 'a b'\n", "a b", "a b", id="single quotes"),
        pytest.param('- key: "a b"\n', "a b", "a b", id="double quotes"),
        pytest.param("- key: 'it''s'\n", "it's", "it's", id="quote in quotes"),
        pytest.param('- key: "a\\tb\\u00e9\\x41c"\n', "a\tbéAc", "a\\b\\\\c", id="escapes"),
        pytest.param("- key: a\n    b\n", "a b", "a\nb", id="plain of two lines"),
        pytest.param("- key: a\n\n    b\n", "a\nb", "a\nb", id="plain with an empty line"),
        pytest.param("- key: 'a\n\n\n    b  c'\n", "a\n\nb  c", "a\n\nb  c", id="quoted with empty lines"),
        pytest.param('- key: "a \\\n    b"\n', "a b", "a b", id="escaped line break"),
        pytest.param("- key: >\n    a\n    b\n", "a b\n", "a\nb\n", id="folded"),
        pytest.param("- key: >-\n    a\n\n    b\n\n", "a\nb", "a\nb", id="folded with an empty line"),
        pytest.param("- key: >-\n    a\n      b\n    c\n", "a\n  b\nc", "a\n  b\nc", id="folded, indented deeper"),
        pytest.param("- key: |\n    a\n      b\n", "a\n  b\n", "a\n  b\n", id="literal"),
        pytest.param("- key: |+\n    a\n\n\n", "a\n\n\n", "a\n\n\n", id="literal, kept end"),
        pytest.param("- key: |2 # why\n      a\n     b\n", "  a\n b\n", "  a\n b\n", id="literal, given indentation"),
        pytest.param("- key: &x\n    a b\n", "a b", "a b", id="anchor"),
        pytest.param("- key: &x 'a b'\n", "a b", "a b", id="anchor before quotes"),
        pytest.param("# \U0001f600é漢\n- key: aé漢b\n", "aé漢b", "aé漢b", id="wide characters"),
        pytest.param("- key: a\r\n    b\r\n", "a b", "a\rb", id="plain, CRLF"),
        pytest.param("- key: |\r\n    a\r\n    b\r\n", "a\nb\n", "a\rb\r", id="literal, CRLF"),
        pytest.param("\ufeff- key: a b\n", "a b", "a b", id="byte order mark"),
        pytest.param("- key: ''\n", "", "", id="nothing"),
    ],
)
def test_each_character_has_its_place(source: str, value: str, found: str) -> None:
    text = scalar(source)
    assert text.value == value
    assert characters(text) == found
    assert len(text.offsets) == len(value) + 1


def test_one_line_text_is_a_range() -> None:
    assert isinstance(scalar("- key: grad * self\n").offsets, range)
    assert isinstance(scalar("- key: 'grad'\n").offsets, range)


def test_caret_in_a_folded_formula() -> None:
    (entry,) = derivatives("- name: f(Tensor self) -> Tensor\n  self: >\n    grad *\n      self\n")
    text = entry.formulas[0].text
    assert str(text.span(text.value.index("self"))) == "derivatives.yaml:4:7"


def test_native_function() -> None:
    (function,) = functions(
        "- func: foo.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
        "  variants: function, method\n"
        "  dispatch:\n"
        "    CPU, Meta: foo_kernel\n"
        "    PrivateUse1: mine\n"
        "  autogen: foo_.Tensor, foo.out\n"
        "  tags: [core, pointwise]\n"
        "  promotion: int_to_float(self, other)\n"
        "  samples:\n"
        "  - T(3, 4), T(4), alpha=2\n"
        "  - ''\n"
        "  dtypes: floating, complex else RuntimeError\n"
        "  domain: [-1, 2.5]\n"
    )
    assert str(function.name) == "foo.Tensor"
    assert function.variants == {"function", "method"}
    assert [(entry.key, str(entry.kernel), str(entry.key_span)) for entry in function.dispatch] == [
        ("CPU", "foo_kernel", "native_functions.yaml:4:5"),
        ("Meta", "foo_kernel", "native_functions.yaml:4:10"),
        ("PrivateUse1", "mine", "native_functions.yaml:5:5"),
    ]
    assert [(str(name), span.column) for name, span in function.autogen] == [("foo_.Tensor", 12), ("foo.out", 25)]
    assert function.tags == ("core", "pointwise")
    assert function.promotion is not None
    assert (function.promotion.kind, function.promotion.arguments) == (PromotionKind.INT_TO_FLOAT, ("self", "other"))
    assert [str(sample) for sample in function.samples] == ["T(3, 4), T(4), alpha=2", ""]
    assert function.dtypes is not None
    assert function.dtypes.kinds == ("half", "float", "complex")
    assert function.dtypes.arguments is None
    assert function.dtypes.error == "RuntimeError"
    assert function.domain == (-1.0, 2.5)


def test_defaults_of_a_native_function() -> None:
    (function,) = functions("- func: foo(Tensor self) -> Tensor\n")
    assert function.variants == {"function"}
    assert function.dispatch == ()
    assert function.tags == ()
    assert function.dtypes is None
    assert function.domain is None


IMPLYING = "- implied: foreach, python_module, tags, variants, autogen\n"


@pytest.mark.parametrize(
    ("entry", "module", "variants", "made"),
    [
        ("mul.Scalar(Tensor self, Scalar other) -> Tensor\n  dispatch: CPU\n  tags: pointwise", None,
         "function, method", "mul_.Scalar, mul.Scalar_out"),
        ("mul(Tensor self) -> Tensor\n  elementwise: self * 2", None, "function, method", "mul_, mul.out"),
        ("mul(Tensor self) -> Tensor\n  elementwise: self * 2\n  autogen: none", None, "function, method", ""),
        ("mul(Tensor self) -> Tensor\n  elementwise: self * 2\n  variants: function", None, "function", "mul.out"),
        ("mul(Tensor self) -> Tensor\n  composite: self * 2", None, "function, method", "mul.out"),
        ("_mul(Tensor self) -> Tensor\n  composite: self * 2", None, "function", ""),
        ("mul(Tensor self) -> Tensor", None, "function, method", ""),
        ("mul_backward(Tensor self) -> Tensor\n  dispatch: CPU", None, "function", "mul_backward.out"),
        ("linalg_mul(Tensor self) -> Tensor", "linalg", "function", "linalg_mul.out"),
        ("linalg(Tensor self) -> Tensor", None, "function, method", ""),
        ("mul.Tensor(Tensor self) -> Tensor\n  dispatch: CPU\n  numbers_as_tensors: True", None, "function, method",
         "mul.out"),
        ("mul_copy.int(Tensor self) -> Tensor\n  dispatch: CPU", None, "function", "mul_copy.int_out"),
        ("mul(Tensor input, Tensor out) -> Tensor\n  dispatch: CPU", None, "function", ""),
        ("mul(Tensor(a) self) -> Tensor(a)\n  dispatch: CPU", None, "function, method", ""),
        ("mul(Tensor[] self) -> Tensor[]\n  dispatch: CPU", None, "function", ""),
        ("mul_(Tensor(a!) self) -> Tensor(a!)\n  dispatch: CPU", None, "function", ""),
    ],
)  # fmt: skip
def test_what_follows_where_the_file_says_so(entry: str, module: str | None, variants: str, made: str) -> None:
    (function,) = functions(f"{IMPLYING}- func: {entry}\n")
    assert function.python_module == module
    assert ", ".join(sorted(function.variants)) == variants
    assert ", ".join(str(name) for name, _ in function.autogen) == made
    (plain,) = functions(f"- func: {entry}\n")
    assert plain.python_module is None  # as PyTorch reads it
    assert plain.variants == {"function"}
    assert plain.autogen == ()


def test_variants_with_entries_of_their_own_do_not_follow() -> None:
    entries = (
        "- func: mul(Tensor self) -> Tensor\n  elementwise: self * 2\n- func: mul_(Tensor(a!) self) -> Tensor(a!)\n"
    )
    function, _ = functions(IMPLYING + entries)
    assert [str(name) for name, _ in function.autogen] == ["mul.out"]


def test_the_operator_of_a_gradient_lies_where_the_other_one_lies() -> None:
    bodies = ("  python_module: nn\n", "", "  python_module: none\n")
    names = ("elu", "elu_backward", "elu_backward.out")
    entries = [f"- func: {name}(Tensor self) -> Tensor\n{body}" for name, body in zip(names, bodies, strict=True)]
    assert [each.python_module for each in functions(IMPLYING + "".join(entries))] == ["nn", "nn", None]


def test_tags_follow_from_a_generator_and_from_a_view() -> None:
    text = (
        "- func: draw(Tensor self, *, Generator? generator=None) -> Tensor\n"
        "- func: part(Tensor(a) self) -> Tensor(a)\n- func: part_copy(Tensor self) -> Tensor\n"
        "- func: whole_copy(Tensor self) -> Tensor\n"
    )
    assert [each.tags for each in functions(IMPLYING + text)] == [("nondeterministic_seeded",), (), ("view_copy",), ()]
    assert not any(each.tags for each in functions(text))


def test_what_a_formula_computes_is_said_beside_it() -> None:
    entry = "- func: foo(Tensor self) -> Tensor\n  composite: self * 2\n  about: Twice\n    as much.\n"
    (function,) = functions(entry)
    assert function.about == "Twice as much."


def test_one_former_order_of_arguments_needs_no_list() -> None:
    text = "- func: foo(Tensor self, Tensor other) -> Tensor\n  legacy_argument_orders: "
    for written in ("other, self", '["other, self"]'):
        (function,) = functions(f"{text}{written}\n")
        assert function.legacy_argument_orders == (("other", "self"),)


def test_an_entry_that_is_read_alone_is_read_by_the_first_one() -> None:
    text = f"# Operators\n\n{IMPLYING}\n- func: linalg_mul(Tensor self) -> Tensor\n"
    file = SourceFile("native_functions.yaml", text)
    (function,) = read_native_functions(file, Diagnostics(), part=entry_around(text, text.index("func")))
    assert function.python_module == "linalg"
    assert read_native_functions(file, Diagnostics(), part=entry_around(text, text.index("implied"))) == ()


def test_the_projects_own_file_writes_nothing_that_follows() -> None:
    text = (ROOT / "native_functions.yaml").read_text(encoding="utf-8")
    assert text.startswith(IMPLYING)
    read = functions(text)
    again = []
    gradients = re.compile(r"^- func: \w+_backward\(.*\n(?:  .*\n)*", re.MULTILINE)
    for key, value in itertools.product(("variants", "python_module", "tags", "autogen"), ("none", "(?!none$).*")):
        line = re.compile(rf"^  {key}: {value}\n", re.MULTILINE)
        # Gradients lie where their operators lie, which have to say it then.
        of_gradients = gradients.sub(lambda entry, line=line: line.sub("", entry[0]), text)
        shorter = of_gradients if (key, value) == ("python_module", "(?!none$).*") else line.sub("", text)
        short = {each.name: each for each in functions(line.sub("", text))}
        short |= {each.name: each for each in functions(shorter) if each.name.base.endswith("_backward")}
        entries = list(ENTRY_START.finditer(text))
        for entry, following in itertools.pairwise([*(match.start() for match in entries), len(text)]):
            written = [each for each in read if entry <= each.text.offsets[0] < following]
            same = all(said(getattr(each, key)) == said(getattr(short[each.name], key)) for each in written)
            if same and written and line.search(text, entry, following):
                again.append(f"{written[0].name}: {key}")
    assert again == []


def said(value: object) -> object:
    """What a field says, without its place."""
    return [each if isinstance(each, str) else each[0] for each in value] if isinstance(value, tuple) else value


def test_a_list_of_signatures_is_of_operators_that_say_the_same() -> None:
    first, second = functions(
        "- func:\n  - foo(Tensor self) -> Tensor\n  - 'bar.out(Tensor self) -> Tensor'\n"
        "  dispatch: CPU\n  tags: pointwise\n"
    )
    assert [str(each.name) for each in (first, second)] == ["foo", "bar.out"]
    assert [str(each.text.span()) for each in (first, second)] == [
        "native_functions.yaml:2:5",
        "native_functions.yaml:3:6",
    ]
    assert [line.kernel.value for each in (first, second) for line in each.dispatch] == ["foo", "bar_out"]
    assert first.tags == second.tags == ("pointwise",)


def test_an_operator_on_lists_follows_from_its_name() -> None:
    add, inplace, other = functions(
        f"{IMPLYING}- func:\n  - _foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]\n"
        "  - _foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()\n"
        "- func: _foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]\n  dispatch: CompositeImplicitAutograd\n"
    )
    for each in (add, inplace):
        assert each.composite is not None
        assert each.composite.text.value == "add(self, other, alpha)"
        assert each.composite.of_elements
        assert each.composite.text.span().line == each.text.span().line
    assert other.composite is None


def test_all_keys_are_accepted() -> None:
    functions(
        "- func: foo.out(Tensor self, int dim=0, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  structured: True\n"
        "  structured_inherits: Base\n"
        "  precomputed:\n"
        "  - dim -> int dim\n"
        "  ufunc_inner_loop:\n"
        "    Generic: foo (AllAndComplex, Half)\n"
        "  dispatch: {}\n"
        "  python_module: linalg\n"
        "  category_override: factory\n"
        "  cpp_no_default_args: ['dim']\n"
        "  device_check: NoCheck\n"
        "  device_guard: yes\n"
        "  manual_cpp_binding: true\n"
        "  manual_kernel_registration: False\n"
        "  use_const_ref_for_mutable_tensors: False\n"
        "  tags: core\n"
    )


def test_derivative_entry() -> None:
    (entry,) = derivatives(
        "- name: foo(Tensor self, Tensor other, Tensor x) -> (Tensor a, Tensor b)\n"
        "  self, other: foo_backward(grad)\n"
        '  x: not_implemented("foo x")\n'
        "  a: auto_linear\n"
        "  b: 0\n"
        "  output_differentiability: [True, 'x > 0']\n"
    )
    assert [[str(name) for name in formula.names] for formula in entry.formulas] == [
        ["self", "other"],
        ["x"],
        ["a"],
        ["b"],
    ]
    assert [formula.kind for formula in entry.formulas] == [
        FormulaKind.EXPRESSION,
        FormulaKind.NOT_IMPLEMENTED,
        FormulaKind.AUTO_LINEAR,
        FormulaKind.EXPRESSION,
    ]
    assert entry.formulas[1].reason == "foo x"
    assert entry.formulas[3].text.value == "0"
    assert entry.output_differentiability is not None
    first, second = entry.output_differentiability
    assert first is True
    assert str(second) == "x > 0"
    assert [name.span().column for name in entry.formulas[0].names] == [3, 9]


def test_dispatch_blocks() -> None:
    (entry,) = derivatives(
        "- name: foo(Tensor self) -> Tensor\n"
        "  dispatch:\n"
        "    Default:\n"
        "      self: grad\n"
        "    AutogradNestedTensor:\n"
        "      self: non_differentiable\n"
    )
    assert entry.formulas == ()
    assert [(str(key), formulas[0].kind) for key, formulas in entry.dispatch] == [
        ("Default", FormulaKind.EXPRESSION),
        ("AutogradNestedTensor", FormulaKind.NON_DIFFERENTIABLE),
    ]


def test_anchors_and_aliases() -> None:
    first, second = functions(
        "- func: foo(Tensor self) -> Tensor\n  tags: &tags [core]\n- func: bar(Tensor self) -> Tensor\n  tags: *tags\n"
    )
    assert first.tags == second.tags == ("core",)


def test_a_broken_entry_hides_no_other() -> None:
    diagnostics = Diagnostics()
    text = "- func: foo(Tensor self) -> Tensor\n- func: [bar\n- func: baz(Tensor self) -> Tensor\n"
    found = read_native_functions(SourceFile("native_functions.yaml", text), diagnostics)
    assert [(str(function.name), str(function.text.span())) for function in found] == [
        ("foo", "native_functions.yaml:1:9"),
        ("baz", "native_functions.yaml:3:9"),
    ]
    assert [item.span.line for item in diagnostics.items] == [2]


def test_hostile_nesting_does_not_overflow() -> None:
    for text in ("[" * 300_000, "- " * 300_000 + "x", "- a: " + "{a: " * 300_000):
        diagnostics = Diagnostics()
        read_native_functions(SourceFile("native_functions.yaml", text), diagnostics)
        assert "levels deep" in diagnostics.items[0].message


def test_tags() -> None:
    diagnostics = Diagnostics()
    assert read_tags(SourceFile("tags.yaml", "- tag: core\n  desc: |\n    words\n- tag: other\n"), diagnostics) == {
        "core",
        "other",
    }
    assert not diagnostics
    read_tags(SourceFile("tags.yaml", "- tag: core\n- tag: core\n- name: x\n"), diagnostics)
    assert [item.message for item in diagnostics.items] == [
        "duplicate tag 'core'",
        "unknown key 'name'",
        "the entry has no 'tag'",
    ]


def test_load(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    (tmp_path / "good").write_bytes("\ufeffé\r\n".encode())
    file = load(tmp_path / "good", "good", diagnostics)
    assert file == SourceFile("good", "é\n")
    assert not diagnostics
    (tmp_path / "bad").write_bytes(b"a\n\xc3\xa9\xff")
    for name in ("bad", "missing", ".", "nul\0"):
        assert load(tmp_path / name, name, diagnostics) is None
    messages = [f"{item.span}: {item.message}" for item in diagnostics.items]
    assert messages[0] == "bad:2:2: the file is not valid UTF-8: byte 0xff"
    assert messages[1] == "missing:1:1: cannot read the file: No such file or directory"
    assert messages[2] == ".:1:1: cannot read the file: Is a directory"
    assert messages[3].startswith("nul\0:1:1: cannot read the file: ")


def printed(diagnostics: Diagnostics, as_json: bool = False) -> str:
    stream = io.StringIO()
    print_diagnostics(diagnostics, stream, as_json)
    return stream.getvalue()


def test_report_is_plain_text() -> None:
    file = SourceFile("native_functions.yaml", "\n" * 11 + "  dispach:\n")
    diagnostics = Diagnostics()
    diagnostics.error(
        Code.UNKNOWN_KEY, Span(file, 13, 20), "unknown key 'dispach'", Meant("dispach", "dispatch"),
        ((Span(file, 0, 1), "see"),),
    )  # fmt: skip
    assert printed(diagnostics) == (
        "native_functions.yaml:12:3: error: unknown key 'dispach' [GW004]\n"
        "  dispach:\n"
        "  ^~~~~~~\n"
        "note: native_functions.yaml:1:1: see\n"
        "hint: did you mean 'dispatch'?\n"
        "1 error\n"
    )


@pytest.mark.parametrize(
    ("line", "start", "end", "caret"),
    [
        ("\tab\tcd", 4, 6, "\t  \t^~"),
        ("漢字 x", 3, 4, "     ^"),
        ("漢字", 0, 2, "^~~~"),
        ("e\u0301x", 2, 3, " ^"),
        ("abc", 3, 3, "   ^"),
        ("abc", 1, 100, " ^~"),
    ],
)
def test_caret_stands_under_its_character(line: str, start: int, end: int, caret: str) -> None:
    diagnostics = Diagnostics()
    diagnostics.error(Code.UNREADABLE, Span(SourceFile("f", line + "\nmore\n"), start, end), "here")
    assert printed(diagnostics).splitlines()[2] == caret


@pytest.mark.parametrize("start", [0, 100, 155, 200, 470, 499])
@pytest.mark.parametrize("letter", ["x", "漢"])
def test_long_lines_are_cut_around_the_caret(start: int, letter: str) -> None:
    text = letter * start + "!" + letter * (499 - start)
    diagnostics = Diagnostics()
    diagnostics.error(Code.UNREADABLE, Span(SourceFile("f", text), start, start + 1), "here")
    _, line, caret, _ = printed(diagnostics).splitlines()
    width = {"x": 1, "漢": 2}[letter]
    before = line[: line.index("!")]
    assert len(caret) - 1 == len(before) + (width - 1) * before.count(letter)
    assert len(line) + (width - 1) * line.count(letter) <= MAX_WIDTH


def test_report_to_a_narrow_encoding() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    diagnostics = Diagnostics()
    diagnostics.error(Code.UNREADABLE, Span(SourceFile("f", "é\x1b[0m"), 0, 1), "bad 'é'")
    print_diagnostics(diagnostics, stream)
    stream.flush()
    assert stream.buffer.getvalue() == b"f:1:1: error: bad '?' [GW001]\n??[0m\n^\n1 error\n"


def test_report_in_colour() -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    stream = Terminal()
    diagnostics = Diagnostics()
    diagnostics.error(Code.UNREADABLE, Span(SourceFile("f", "a [b] c"), 2, 5), "no [b]")
    print_diagnostics(diagnostics, stream)
    assert "a [b] c" in stream.getvalue()
    assert "no [b]" in stream.getvalue()


def test_report_as_json() -> None:
    file = SourceFile("f", "a\nb c\n")
    diagnostics = Diagnostics()
    diagnostics.error(Code.UNREADABLE, Span(file, 4, 5), "text", "hint", ((Span(file, 0, 1), "note"),))
    assert json.loads(printed(diagnostics, as_json=True)) == [
        {
            "file": "f", "line": 2, "column": 3, "end_line": 2, "end_column": 4, "severity": "error", "code": "GW001",
            "message": "text", "hint": "hint", "replacement": None,
            "notes": [{"file": "f", "line": 1, "column": 1, "end_line": 1, "end_column": 2, "message": "note"}],
        }
    ]  # fmt: skip
    assert printed(Diagnostics(), as_json=True) == "[]\n"


def test_the_python_loader_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    import codegen.read.yaml_text

    source = "\ufeff- key: 'é\n    b'\n"
    with monkeypatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader", raising=False)
        importlib.reload(codegen.read.yaml_text)
        file = codegen.read.yaml_text.YamlFile(SourceFile("test.yaml", source), Diagnostics())
        fields = file.mapping(file.entries()[0], "an entry")
        assert fields is not None
        text = file.scalar(fields["key"][1], "the value")
    importlib.reload(codegen.read.yaml_text)
    assert text is not None
    assert (text.value, characters(text)) == ("é b", "é\nb")
