"""Printing formulas: as few parentheses as precedence allows, and parsing gives the tree back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.formula.operators import BINARY, UNARY
from codegen.formula.parser import parse_formula
from codegen.formula.printer import print_formula
from codegen.formula.syntax import (
    Attribute,
    Binary,
    BoolLiteral,
    BraceList,
    Call,
    Conditional,
    Expr,
    FloatLiteral,
    Index,
    IntLiteral,
    Lambda,
    MethodCall,
    Name,
    Parameter,
    StringLiteral,
    Unary,
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((a)) + (b * c)", "a + b * c"),
        ("(a + b) * c", "(a + b) * c"),
        ("a - (b - c)", "a - (b - c)"),
        ("(-a).b()", "(-a).b()"),
        ("-(a.b())", "-a.b()"),
        ("- -a", "-(-a)"),
        ("*(*a)", "*(*a)"),
        ("a - -b", "a - -b"),
        ("(2).b()", "(2).b()"),
        ("a ? (b ? c : d) : (e ? f : g)", "a ? b ? c : d : e ? f : g"),
        ("(a ? b : c) ? d : e", "(a ? b : c) ? d : e"),
        ("f((a < b), c > (d == e))", "f((a < b), c > (d == e))"),
        ("f((a < b), c)", "f(a < b, c)"),
        ("(a < b) > (c == d)", "(a < b) > (c == d)"),
        ("f<a,std::b<c> >( x )", "f<a, std::b<c>>(x)"),
        ("[ & ](const T &x){return x;}", "[&](const T& x) { return x; }"),
        ("[&]{return x;}()", "[&] { return x; }()"),
        ("f( { 1,2 }, IntArrayRef{} )", "f({1, 2}, IntArrayRef{})"),
        ("'a\"b\\n'", '"a\\"b\\n"'),
        ("a /* why */ -> b", "a->b"),
    ],
)
def test_prints(text: str, printed: str) -> None:
    assert print_formula(parse_formula(text)) == printed
    assert print_formula(parse_formula(printed)) == printed


# Trees that the parser can give, with no places.
_NAMES = st.sampled_from(["a", "grad", "self", "at::sum", "::std::nullopt", "lim<float>::max", "x1", "_"])
_MEMBERS = st.sampled_from(["sum", "sizes", "b"])
_TEMPLATES = st.sampled_from([(), (), ("0",), ("Tensor", "const T&"), ("std::vector<c10::SymInt>",), ("bool", "2")])
_TYPES = st.sampled_from([None, None, "IntArrayRef", "std::vector<c10::SymInt>"])
_CAPTURES = st.sampled_from(["", "&", "=", "&, a", "&a, b"])
_PARAMETERS = st.lists(
    st.builds(Parameter, st.sampled_from(["Tensor", "const Tensor&", "std::vector<int>"]), st.sampled_from(["x", "y"])),
    max_size=2,
).map(tuple)
_FLOATS = st.sampled_from(["2.", ".5", "1e-5", "2.5f", "1.0"])


def _lambda(bodies: st.SearchStrategy[Expr]) -> st.SearchStrategy[Lambda]:
    return st.builds(Lambda, st.just(0), st.just(0), _CAPTURES, _PARAMETERS, bodies)


def _inner(trees: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    at = st.just(0)
    lists = st.lists(trees, max_size=3).map(tuple)
    named = st.builds(Name, at, at, _NAMES)
    return st.one_of(
        st.builds(Call, at, at, named, _TEMPLATES, lists),
        st.builds(Call, at, at, _lambda(trees), st.just(()), lists),
        st.builds(MethodCall, at, at, trees, _MEMBERS, at, st.booleans(), _TEMPLATES, lists),
        st.builds(Attribute, at, at, trees, _MEMBERS, at, st.booleans()),
        st.builds(Index, at, at, trees, trees),
        st.builds(Unary, at, at, st.sampled_from(sorted(UNARY)), trees),
        st.builds(Binary, at, at, st.sampled_from(sorted(BINARY)), at, trees, trees),
        st.builds(Conditional, at, at, trees, trees, trees),
        st.builds(BraceList, at, at, _TYPES, lists),
        _lambda(trees),
    )


_LEAVES: st.SearchStrategy[Expr] = st.one_of(
    st.builds(Name, st.just(0), st.just(0), _NAMES),
    st.builds(IntLiteral, st.just(0), st.just(0), st.integers(0, 2**64 - 1)),
    _FLOATS.map(lambda text: FloatLiteral(0, 0, float(text.rstrip("f")), text)),
    st.builds(StringLiteral, st.just(0), st.just(0), st.text()),
    st.builds(BoolLiteral, st.just(0), st.just(0), st.booleans()),
)


@given(st.recursive(_LEAVES, _inner, max_leaves=20))
def test_parsing_gives_the_tree_back(tree: Expr) -> None:
    assert parse_formula(print_formula(tree)) == tree
