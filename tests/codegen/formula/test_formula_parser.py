"""Formulas: what they parse to, and what is said of wrong ones."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.formula.parser import parse_formula
from codegen.formula.syntax import MAX_DEPTH, Expr, IntLiteral, Node, children, walk
from codegen.source import ParseError, Text


def show(expr: Expr) -> str:
    """The tree as nested lists of its fields, without places."""
    parts = [type(expr).__name__]
    for field in dataclasses.fields(expr):
        if not field.compare:
            continue
        value = getattr(expr, field.name)
        if isinstance(value, Node):
            parts.append(show(cast(Expr, value)))
        elif isinstance(value, tuple):
            items = [
                show(cast(Expr, item))
                if isinstance(item, Node)
                else f"{item.type} {item.name}"
                if hasattr(item, "type")
                else item
                for item in value
            ]
            parts.append(f"[{', '.join(items)}]")
        else:
            parts.append(str(value))
    return f"({' '.join(parts)})"


TREES = [
    ("a + b * c", "(Binary + (Name a) (Binary * (Name b) (Name c)))"),
    ("a - b - c", "(Binary - (Binary - (Name a) (Name b)) (Name c))"),
    ("-a.b()", "(Unary - (MethodCall (Name a) b False [] []))"),
    ("!a && b || c", "(Binary || (Binary && (Unary ! (Name a)) (Name b)) (Name c))"),
    ("a == b & c", "(Binary & (Binary == (Name a) (Name b)) (Name c))"),
    ("a ? b : c ? d : e", "(Conditional (Name a) (Name b) (Conditional (Name c) (Name d) (Name e)))"),
    ("a->b.c", "(Attribute (Attribute (Name a) b True) c False)"),
    ("grads[0][i]", "(Index (Index (Name grads) (IntLiteral 0)) (Name i))"),
    ("at::sum(x, {0, 1})", "(Call (Name at::sum) [] [(Name x), (BraceList None [(IntLiteral 0), (IntLiteral 1)])])"),
    ("c ? x : ::std::nullopt", "(Conditional (Name c) (Name x) (Name ::std::nullopt))"),
    ("std :: nullopt", "(Name std::nullopt)"),
    ("get<0>(x)", "(Call (Name get) [0] [(Name x)])"),
    ("a < b", "(Binary < (Name a) (Name b))"),
    ("a < 2 && b > (c)", "(Binary && (Binary < (Name a) (IntLiteral 2)) (Binary > (Name b) (Name c)))"),
    ("std::tuple<Tensor,Tensor>()", "(Call (Name std::tuple) [Tensor, Tensor] [])"),
    ("f<std::vector<const T&>>(x)", "(Call (Name f) [std::vector<const T&>] [(Name x)])"),
    ("a >> b > c", "(Binary > (Binary >> (Name a) (Name b)) (Name c))"),
    ("a < b >> (c)", "(Binary < (Name a) (Binary >> (Name b) (Name c)))"),
    ("lim<float>::max()", "(Call (Name lim<float>::max) [] [])"),
    ("x.item<double>()", "(MethodCall (Name x) item False [double] [])"),
    ("std::vector<int>{1}", "(BraceList std::vector<int> [(IntLiteral 1)])"),
    ("{{1}}", "(BraceList None [(BraceList None [(IntLiteral 1)])])"),
    ("2. * .5f + 1e-5", "(Binary + (Binary * (FloatLiteral 2.0 2.) (FloatLiteral 0.5 .5f)) (FloatLiteral 1e-05 1e-5))"),
    ("0x1F + 3L", "(Binary + (IntLiteral 31) (IntLiteral 3))"),
    ("true", "(BoolLiteral True)"),
    ('f("a\\"b", \'c\')', '(Call (Name f) [] [(StringLiteral a"b), (StringLiteral c)])'),
    ("*dtype + &x", "(Binary + (Unary * (Name dtype)) (Unary & (Name x)))"),
    ("a /* note */ + // end\n b", "(Binary + (Name a) (Name b))"),
    (
        "[&](const Tensor& x, int i) { return x + i; }",
        "(Lambda & [const Tensor& x, int i] (Binary + (Name x) (Name i)))",
    ),
    ("[]{return 1;}()", "(Call (Lambda  [] (IntLiteral 1)) [] [])"),
    ("(f)(x)", "(Call (Name f) [] [(Name x)])"),
]


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[case[0] for case in TREES])
def test_tree(text: str, tree: str) -> None:
    assert show(parse_formula(text)) == tree


def test_places() -> None:
    text = "(a + b) * x.sum(0)[1]"
    tree = parse_formula(Text.literal(text))
    assert [text[node.start : node.end] for node in walk(tree)] == [
        text,
        "a + b",
        "a",
        "b",
        "x.sum(0)[1]",
        "x.sum(0)",
        "x",
        "0",
        "1",
    ]
    assert len(children(tree)) == 2


BAD = [
    ("«»", "the formula is empty"),
    ("« »", "the formula is empty"),
    ("a «*»", "expected an expression after '*'"),
    ("a «*» ) b", "expected an expression after '*'"),
    ("«*»", "expected an expression after '*'"),
    ("«)»", "expected an expression before ')'"),
    ("f«(», a)", "expected an expression after '('"),
    ("f(a«,» )", "expected an expression after ','"),
    ("f«(»a, b", "unbalanced parenthesis: '(' is never closed"),
    ("f«(»", "unbalanced parenthesis: '(' is never closed"),
    ("«(»a + b", "unbalanced parenthesis: '(' is never closed"),
    ("a«[»1", "unbalanced bracket: '[' is never closed"),
    ("f(«{»1", "unbalanced brace: '{' is never closed"),
    ("f(a«]»", "unbalanced parenthesis: '(' is closed by ']'"),
    ("f(a)«)»", "unbalanced parenthesis: ')' closes nothing"),
    ("a «@» b", "unexpected character '@'"),
    ('a + «"b»', "this string is never closed"),
    ("a «/*» b", "this comment is never closed"),
    ('f("a«\\q»")', "unknown escape '\\q' in a string"),
    ("a «b»", "expected an operator before 'b'"),
    ("f(a «b»)", "expected ',' or ')' before 'b'"),
    ("a «and» b", "'and' is no operator"),
    ("«not» a", "'not' is no value"),
    ("a «=» b", "a formula assigns nothing"),
    ("a «++» b", "'++' would change its operand"),
    ("«--»a", "'--' would change its operand"),
    ("a «?» b", "'?' without ':'"),
    ("a«.1»", "expected an operator before '.1'"),
    ("a«.»", "expected a name after '.'"),
    ("a + std«::»", "expected a name after '::'"),
    ("f(x)«(»y)", "this can not be called"),
    ("«1x»", "'1x' is not a number"),
    ("«010»", "'010' would be an octal number"),
    ("«99999999999999999999»", "this number does not fit 64 bits"),
    ("«1e999»", "this number is larger than any double"),
    ("[«1», 2]", "expected the captures of a lambda"),
    ("[a, b«]»", "expected the body of a lambda"),
    ("[&] { «x»; }", "expected 'return'"),
    ("[&] { return x «}»", "expected ';' after the expression"),
    ("[&](«+») { return x; }", "expected the type of a parameter"),
    ("[&](Tensor«)» { return x; }", "expected the name of a parameter after 'Tensor'"),
]


@pytest.mark.parametrize(("marked", "message"), BAD, ids=[case[0] for case in BAD])
def test_errors(marked: str, message: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(ParseError) as caught:
        parse_formula(text)
    error = caught.value
    assert error.message == message
    assert f"{text[: error.start]}«{text[error.start : error.end]}»{text[error.end :]}" == marked


def test_long_lists_are_not_deep() -> None:
    tree = parse_formula(f"f({', '.join(['a < b'] * 1000)})")
    assert len(children(tree)) == 1001


def test_many_blanks() -> None:
    """A pattern that tries every way to cut the blanks would never end here."""
    with pytest.raises(ParseError, match="unexpected character"):
        parse_formula("a" + " \t" * 10_000 + "@")


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEEP,
        "(" * DEEP + "a" + ")" * DEEP,
        "-" + " -" * DEEP + "a",
        "a" + " + a" * DEEP,
        "a" + ".b()" * DEEP,
        "a" + ".b" * DEEP,
        "a" + "[0]" * DEEP,
        "f(" * DEEP,
        "{" * DEEP,
        "a ? " * DEEP,
        "a ? b : " * DEEP + "c",
        "[&] { return " * DEEP,
        "f<" * DEEP,
        "(" * 60 + "a" + ".b)" * 60 + ".c" * 60,
    ],
    ids=lambda text: text[:12],
)
def test_nested_too_deeply(text: str) -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        parse_formula(text)


def test_deepest_tree_leaves_room_to_recurse() -> None:
    tree = parse_formula("f(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1))
    assert tree == parse_formula("f(" * (MAX_DEPTH - 1) + " a" + ")" * (MAX_DEPTH - 1))
    assert hash(tree)


def test_literals_have_no_sign() -> None:
    with pytest.raises(ValueError, match="no sign"):
        IntLiteral(0, 1, -1)


_TOKENS = """a f self grad std :: < > >> << ( ) [ ] { } . -> , ; ? : + - * / % & && | || ^ ! ~ = == 1 2.5 1e5 0x
    " ' \\ /* */ // [&] return true const @ é <int>( and"""
_PIECES = st.sampled_from([*_TOKENS.split(), "\n"])


def error_of(text: str) -> ParseError | None:
    try:
        parse_formula(text)
    except ParseError as error:
        return error
    return None


def check_total(text: str) -> None:
    """`text` gives a tree or an error within the text, and nothing else."""
    error = error_of(text)
    if error is None:
        assert all(0 <= node.start < node.end <= len(text) for node in walk(parse_formula(text)))
    else:
        assert 0 <= error.start <= error.end <= len(text)
        assert error.message


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join), st.lists(_PIECES, max_size=40).map(" ".join)))
def test_any_text(text: str) -> None:
    check_total(text)


@given(st.sampled_from([case[0] for case in TREES]), st.data())
def test_damaged_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 3, len(text))))
    check_total(text[:start] + data.draw(_PIECES) + text[end:])
