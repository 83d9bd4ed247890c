"""What a schema says about its operator: kind, views, the signature that variants share, names, defaults."""

from __future__ import annotations

import pytest

from codegen.schema.defaults import EnumDefault, default_value
from codegen.schema.parser import parse_schema
from codegen.schema.types import OperatorName, SchemaKind
from codegen.schema.variants import signature


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add(Tensor self, Tensor other) -> Tensor", SchemaKind.FUNCTIONAL),
        ("add_(Tensor(a!) self, Tensor other) -> Tensor(a!)", SchemaKind.INPLACE),
        ("__ior__(Tensor(a!) self, Tensor other) -> Tensor(a!)", SchemaKind.INPLACE),
        ("__or__(Tensor self, Tensor other) -> Tensor", SchemaKind.FUNCTIONAL),
        ("add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", SchemaKind.OUT),
        ("norm(Tensor x, Tensor(a!) running) -> Tensor", SchemaKind.MUTABLE),
    ],
)
def test_kind(text: str, kind: SchemaKind) -> None:
    assert parse_schema(text).kind is kind


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("t(Tensor(a) self) -> Tensor(a)", True),
        ("split(Tensor(a -> *) self, int n) -> Tensor(a)[]", True),
        ("t_(Tensor(a!) self) -> Tensor(a!)", False),
        ("t_copy(Tensor self) -> Tensor", False),
        ("keep(Tensor(a) self) -> Tensor", False),
    ],
)
def test_view(text: str, view: bool) -> None:
    assert parse_schema(text).is_view is view


def test_variants_share_a_signature() -> None:
    variants = [
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    ]
    signatures = {signature(parse_schema(text)) for text in variants}
    assert [str(each) for each in signatures] == ["add(Tensor self, Tensor other, *, Scalar alpha) -> Tensor"]


def test_signature_of_factories() -> None:
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    function = parse_schema(f"ones(int[] size, *, {options}) -> Tensor")
    out = parse_schema("ones.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)")
    assert signature(function) == signature(out)


def test_signature_gives_back_what_is_written() -> None:
    mutable = parse_schema("norm(Tensor x, Tensor(a!) mean) -> Tensor")
    functional = parse_schema("norm(Tensor x, Tensor mean) -> (Tensor, Tensor mean_out)")
    nothing = parse_schema("norm_(Tensor(a!)[] self) -> ()")
    assert signature(mutable) == signature(functional)
    assert str(signature(nothing)) == "norm(Tensor[] self) -> Tensor[]"


@pytest.mark.parametrize(
    ("functional", "inplace"), [("add", "add_"), ("__and__", "__iand__"), ("_f", "_f_"), ("__lshift__", "__ilshift__")]
)
def test_names(functional: str, inplace: str) -> None:
    plain, written = OperatorName(functional, "Tensor"), OperatorName(inplace, "Tensor")
    assert plain.inplace_name == written.inplace_name == written
    assert written.functional_name == plain.functional_name == plain
    assert written.is_inplace
    assert not plain.is_inplace
    assert str(written) == f"{inplace}.Tensor"


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("int x=-1", -1),
        ("float x=1", 1.0),
        ("float x=1e-05", 1e-05),
        ("bool x=True", True),
        ("Scalar x=1", 1),
        ("Scalar x=0.5", 0.5),
        ("Tensor? x=None", None),
        ("int[2] x=1", 1),
        ("int[] x=[0,1]", (0, 1)),
        ("int[2] x=[]", ()),
        ("str x='a\\'b'", "a'b"),
        ("str[] x=['a,b',\"]\"]", ("a,b", "]")),
        ('str x=""', ""),
        ("int x=Mean", EnumDefault("Mean")),
        ("ScalarType? x=long", EnumDefault("long")),
        ("MemoryFormat? x=contiguous_format", EnumDefault("contiguous_format")),
    ],
)
def test_default_value(declaration: str, value: object) -> None:
    result = default_value(parse_schema(f"f({declaration}) -> ()").positional[0])
    assert result == value
    assert type(result) is type(value)


def test_no_default() -> None:
    with pytest.raises(ValueError, match="has no default"):
        default_value(parse_schema("f(int x) -> ()").positional[0])
