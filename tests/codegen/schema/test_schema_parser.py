"""Signatures: what they parse to, that they print back, and what is said of wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.schema.parser import parse_operator_name, parse_schema, parse_type
from codegen.schema.types import (
    TENSOR,
    Alias,
    Argument,
    BaseType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaError,
)
from codegen.source import ParseError, Text

GOOD = [
    "f() -> ()",
    "f(Tensor self) -> Tensor",
    "f.over_load1(Tensor self, *, Scalar alpha=1) -> Tensor",
    "space::f(Tensor? x) -> (Tensor, Tensor)",
    "f_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "f_(Tensor(a!)[] self) -> ()",
    "__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "f.out(Tensor self, *, int? n=None, Tensor(a!) out) -> Tensor(a!)",
    "f.out(Tensor self, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!) first, Tensor(b!) second)",
    "f.out(Tensor self, *, Tensor(a!)[] out) -> ()",
    "f.out(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_space) -> Tensor(a!)",
    "f(Tensor(a) self, int dim=-1) -> Tensor(a)",
    "f(Tensor(a -> *) self) -> Tensor(a)[]",
    "f(Tensor(a! -> a|b) self) -> ()",
    "f(Tensor(a|b) x) -> Tensor(a|b)",
    "f(Tensor(a)[]? x) -> ()",
    "f(Tensor?[] indices, bool[3] mask, SymInt[2]? size=None) -> ()",
    "f(int[2] stride=1, int[] dim=[0,1], int[1] pad=[], float eps=1e-05, Scalar s=-0.5, bool b=True) -> ()",
    "f(str a=\"\\\"'\\\\\", str b='none', int reduction=Mean, ScalarType? dtype=long) -> str",
    "f(MemoryFormat? m=contiguous_format, Layout l=strided, float x=inf) -> (int count, Tensor[])",
    "f(__torch__.torch.classes.space.Thing x) -> ()",
]


@pytest.mark.parametrize("text", GOOD)
def test_prints_back(text: str) -> None:
    assert str(parse_schema(text)) == text


def test_parts() -> None:
    text = "f.x(Tensor(a) self, int[2]? n=None, *, Tensor(b!) out) -> Tensor(b!) r"
    schema = parse_schema(Text.literal(text))
    assert schema == FunctionSchema(
        OperatorName("f", "x"),
        (
            Argument("self", TENSOR, alias=Alias(("a",), False)),
            Argument("n", OptionalType(ListType(BaseType("int"), 2)), "None"),
        ),
        (),
        (Argument("out", TENSOR, alias=Alias(("b",), True)),),
        (Return("r", TENSOR, Alias(("b",), True)),),
    )
    assert [text[a.start : a.end] for a in schema.all_arguments] == [
        "Tensor(a) self",
        "int[2]? n=None",
        "Tensor(b!) out",
    ]
    assert text[schema.returns[0].start : schema.returns[0].end] == "Tensor(b!) r"
    assert text[: schema.name_end] == "f.x"


BAD = [
    # text, with the place between « and »; message; hint
    ("«»", "the signature is empty", "write 'name(Tensor self) -> Tensor'"),
    ("f«(»Tensor self, Tensor other -> Tensor", "unbalanced parenthesis: '(' is never closed", None),
    ("f«(»Tensor self", "unbalanced parenthesis: '(' is never closed", None),
    ("f«(»", "unbalanced parenthesis: '(' is never closed", None),
    ("f(Tensor self)«)» -> Tensor", "unbalanced parenthesis: ')' closes nothing", None),
    ("f(Tensor self) -> «(»Tensor, Tensor", "unbalanced parenthesis: '(' is never closed", None),
    ("f(int[«)» -> ()", "expected a size or ']', found ')'", None),
    ("f(Tensor self) «Tensor»", "expected '->' and what is returned", "write '-> Tensor', or '-> ()' for nothing"),
    ("f(Tensor self«)»", "expected '->' and what is returned", "write '-> Tensor', or '-> ()' for nothing"),
    ("f(Tensor self) -«>»", "expected what is returned after '->'", None),
    ("f(«Tenser» self) -> Tensor", "unknown type 'Tenser'", "did you mean 'Tensor'?"),
    ("f(«double» x) -> Tensor", "unknown type 'double'", "did you mean 'float'?"),
    ("f(«x», int y) -> Tensor", "argument 'x' without a type", "write 'Tensor x'"),
    ("f(«Tensor(a!)», int y) -> Tensor", "argument without a name", "write 'Tensor(a!) name'"),
    ("f(Tensor x, «int x») -> Tensor", "two arguments are named 'x'", "rename one of them"),
    ("f(Tensor x«,») -> Tensor", "expected an argument after ','", None),
    ("f(Tensor x, «*») -> Tensor", "no argument stands after '*'", None),
    ("f(*, int x, «*», int y) -> Tensor", "a second '*'", "one '*' makes all arguments after it keyword-only"),
    (
        "f(int x=1, «int y») -> Tensor",
        "'y' has no default, but 'x' before it has one",
        "give 'y' a default, or put '*' before it",
    ),
    ("f(int x=«foo») -> Tensor", "'foo' is no default for 'int'", "such as 0"),
    ('f(float x=«"a"») -> Tensor', "'\"a\"' is no default for 'float'", "such as 0.5"),
    ("f(int x=«1.5») -> Tensor", "'1.5' is no default for 'int'", "such as 0"),
    ("f(bool x=«true») -> Tensor", "'true' is no default for 'bool'", "write 'True'"),
    ("f(int x=«None») -> Tensor", "'None' is no default for 'int'", "write 'int?' if it may be left out"),
    ("f(int[] x=«1») -> Tensor", "'1' is no default for 'int[]'", "write '[1]', or a list of fixed size"),
    (
        "f(Tensor x=«1») -> Tensor",
        "an argument of type 'Tensor' can not have the default '1'",
        "write 'Tensor? x=None'",
    ),
    ("f(int x=«99999999999999999999») -> Tensor", "this number does not fit 64 bits", None),
    ("f(int x«=») -> Tensor", "expected the default of 'x' after '='", None),
    ("f(int[] x=«[1,,2]») -> ()", "'' is no default for 'int'", "such as 0"),
    ("f(str[] x=«[,]») -> ()", "'' is no default for 'str'", 'such as "text"'),
    ('f(str[] x=[«"a) -> ()»', "this string is never closed", None),
    ('f(str x=«"a) -> Tensor»', "this string is never closed", None),
    ("f(Tensor?«?» x) -> Tensor", "'Tensor?' is optional already", "one '?' is enough"),
    ("f(Tensor[]«(»a) x) -> Tensor", "an alias annotation stands right after 'Tensor'", "as in 'Tensor(a!)[]'"),
    ("f(Tensor(«A») x) -> Tensor", "expected a letter that names an alias set, found 'A'", "as in 'Tensor(a!) self'"),
    ("f(Tensor«(a|b!)» x) -> Tensor", "'(a|b!)' writes two sets at once", "what is written belongs to one set: '(a!)'"),
    (
        "f(«int(a) x») -> Tensor",
        "'(a)' says which memory a Tensor shares, but the type is 'int'",
        "only Tensors alias",
    ),
    (
        "f_(«Tensor self») -> Tensor(a!)",
        "in-place operator 'f_' does not say that it writes 'self'",
        "write 'Tensor(a!) self'",
    ),
    ("f_(Tensor(a!) self) -> «Tensor»", "in-place operator 'f_' has to return 'self'", "write '-> Tensor(a!)'"),
    ("f_(Tensor(a!)[] self) -> «Tensor»", "in-place operator 'f_' on 'Tensor[]' returns nothing", "write '-> ()'"),
    (
        "«f_»(Tensor(a!) x) -> Tensor(a!)",
        "'f_' is named as an in-place operator, but has no argument 'self'",
        "an in-place operator writes 'Tensor(a!) self'",
    ),
    (
        "f_.out(Tensor self, *, «Tensor(a!) out») -> Tensor(a!)",
        "'f_.out' is named as an in-place operator, but has out arguments",
        "the out= variant of 'f' is named 'f.out'",
    ),
    (
        "f(Tensor self) -> «Tensor(a)»",
        "the result aliases 'a', but no argument does",
        "mark the argument that it shares memory with, as in 'Tensor(a) self'",
    ),
    (
        "f(Tensor(a) self) -> «Tensor(a!)»",
        "the result is marked '(a!)', but 'self', which it aliases, '(a)'",
        "write 'Tensor(a)'",
    ),
    (
        "f(Tensor(a!) x, «Tensor(a!) y») -> ()",
        "'y' and 'x' share the alias set 'a', and one of them is written",
        "use another letter than 'a'",
    ),
    (
        "f.out(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> («Tensor(b!)», Tensor(a!))",
        "out argument 'u' is not returned in its place",
        "write '-> (Tensor(a!), Tensor(b!))'",
    ),
    (
        "f.out(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> «Tensor(a!)»",
        "2 out arguments, but 1 result",
        "write '-> (Tensor(a!), Tensor(b!))'",
    ),
    (
        "f.out(Tensor x, *, Tensor(a!) out, «int n») -> Tensor(a!)",
        "'n' is not written, but stands after out argument 'out'",
        "out arguments come last",
    ),
    (
        "f.out(Tensor x, *, Tensor(a!)[] out) -> «Tensor[]»",
        "an operator with a list of out tensors returns nothing",
        "write '-> ()'",
    ),
    ("f(Tensor x) -> Tensor y «z w»", "text after the end of the signature", None),
    ("f(Tensor « »x) -> Tensor", "a blank too many", "write 'f(Tensor x) -> Tensor'"),
    ("f(Tensor x,«i»nt y) -> Tensor", "a blank is missing", "write 'f(Tensor x, int y) -> Tensor'"),
    ("f(Tensor x) « »-> Tensor", "a blank too many", "write 'f(Tensor x) -> Tensor'"),
    ("f.«(»Tensor x) -> Tensor", "expected the overload's name after '.'", None),
    ("«(»Tensor x) -> Tensor", "expected the operator's name", None),
    ("f(Tensor x «@» y) -> Tensor", "expected ',' or ')', found '@'", None),
]


@pytest.mark.parametrize(("marked", "message", "hint"), BAD, ids=[case[0] for case in BAD])
def test_errors(marked: str, message: str, hint: str | None) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(ParseError) as caught:
        parse_schema(text)
    error = caught.value
    assert (error.message, error.hint and str(error.hint)) == (message, hint)
    assert f"{text[: error.start]}«{text[error.start : error.end]}»{text[error.end :]}" == marked


def test_free_form() -> None:
    schema = parse_schema(" f( Tensor  x,int y = 1 )->Tensor ", free_form=True)
    assert str(schema) == "f(Tensor x, int y=1) -> Tensor"


@pytest.mark.parametrize("text", ["int", "Tensor?[]", "int[2]?", "SymInt[]"])
def test_type(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize("text", ["", "int x", "int[", "int[0]", "int[99999999999]", "Tensor(a)", "int" + "[]" * 50])
def test_wrong_type(text: str) -> None:
    with pytest.raises(ParseError):
        parse_type(text)


def test_operator_name() -> None:
    assert parse_operator_name("add_.Tensor") == OperatorName("add_", "Tensor")
    with pytest.raises(ParseError, match="text after the end"):
        parse_operator_name("add_.Tensor out")


_TOKENS = """f f_ ( ) [ ] ? ! | * , . = -> : :: Tensor int str self out x a b (a!) (a) =1 None " ' [0,1] 2 -1 @ é"""
_PIECES = st.sampled_from([*_TOKENS.split(), " "])


def check_total(text: str, *, free_form: bool = False) -> None:
    """`text` gives a schema or an error within the text, and nothing else."""
    error = error_of(text, free_form)
    if error is not None:
        assert 0 <= error.start <= error.end <= len(text)
        assert error.message
    else:
        schema = parse_schema(text, free_form=free_form)
        assert free_form or str(schema) == text
        assert parse_schema(str(schema)) == schema


def error_of(text: str, free_form: bool) -> ParseError | None:
    try:
        parse_schema(text, free_form=free_form)
    except ParseError as error:
        return error
    return None


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=30).map("".join), st.lists(_PIECES, max_size=30).map(" ".join)))
def test_any_text(text: str) -> None:
    check_total(text)
    check_total(text, free_form=True)


@given(st.sampled_from(GOOD), st.data())
def test_damaged_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 3, len(text))))
    check_total(text[:start] + data.draw(_PIECES) + text[end:])


def test_constructors_refuse() -> None:
    with pytest.raises(SchemaError, match="optional already"):
        OptionalType(OptionalType(TENSOR))
    with pytest.raises(SchemaError, match="at least one set"):
        Alias((), False)
    with pytest.raises(SchemaError, match="is not written"):
        FunctionSchema(OperatorName("f"), (), (), (Argument("out", TENSOR),), ())
    with pytest.raises(SchemaError, match="it is an out argument"):
        FunctionSchema(OperatorName("f"), (), (Argument("out", TENSOR, alias=Alias(("a",), True)),), (), ())
