"""No text whatever makes reading raise: what is wrong is a diagnostic, and every diagnostic can be printed."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.commands.diagnostics import print_diagnostics
from codegen.read.files import read_derivatives, read_native_functions, read_tags
from codegen.source import Diagnostics, SourceFile

FUNCTIONS = """\
- func: foo.Tensor(Tensor(a!) self, int[2]? dim=None, *, Scalar alpha=1) -> (Tensor(a!), Tensor x)
  variants: function, method
  dispatch:
    CPU, Meta: foo  # kernel
    CompositeExplicitAutograd: 'bar'
  autogen: foo_.Tensor, foo.out
  tags: [core, pointwise]
  promotion: default(self)
  samples:
  - T(3, 4), alpha=2
  - "[T(1)], dtype('x')"
  dtypes: real, complex(self) else RuntimeError
  domain: [-1, 2.5]
- func: >
    bar(Tensor self,
        Tensor[] other=[]) -> ()
  structured_delegate: bar.out
  cpp_no_default_args: &x ['other']
"""
DERIVATIVES = """\
- name: foo(Tensor self, Tensor other) -> Tensor
  self, other: "grad.defined() ? f(grad * self, {1, -2}, \\"sum\\") : Tensor()"
  result: auto_linear
  output_differentiability: [True, '!self']
- name: bar(Tensor self) -> (Tensor a, Tensor b)
  dispatch:
    Default:
      self: not_implemented("bar")
    AutogradCUDA:
      self: >
        grads[0] +
          grads[1]
  a: |
    [](auto x) { return x; }(self)
"""
KEYS = (
    "func", "name", "variants", "dispatch", "autogen", "tags", "promotion", "dtypes", "samples", "domain", "batching",
    "half", "numbers",
    "structured", "structured_delegate", "python_module", "precomputed", "ufunc_inner_loop", "cpp_no_default_args",
    "device_check", "self", "result", "output_differentiability", "tag", "desc", "<<", "x,y",
)  # fmt: skip
WORDS = (
    "", "~", "0", "-1.5", "true", "False", "function", "method,", "CPU", "Default",
    "foo(Tensor self) -> Tensor", "grad * self",
    "default(self, )", "T(3), I(2", "not_implemented(", "[", "{", "}", "*x", "&x", "!!int 1",
    "|", "> ", "'", '"', "\t", "é漢", ", ,",
)  # fmt: skip
PIECES = (
    "- ", "\n", "\n  ", "\n    ", ": ", ",", "#", "---\n", "\r\n", "\x85", "\u2028", "\ufeff", "\x00", "\ud800",
    *KEYS, *WORDS,
)  # fmt: skip


def read_everything(text: str) -> None:
    for read in (read_native_functions, read_derivatives, read_tags):
        diagnostics = Diagnostics()
        read(SourceFile("fuzz.yaml", text), diagnostics)
        for item in diagnostics.items:
            assert 0 <= item.span.start <= len(text)
        stream = io.StringIO()
        print_diagnostics(diagnostics, stream)
        print_diagnostics(diagnostics, stream, as_json=True)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text(text: str) -> None:
    read_everything(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_pieces_of_yaml(text: str) -> None:
    read_everything(text)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.sampled_from((FUNCTIONS, DERIVATIVES)),
    st.lists(
        st.tuples(st.integers(0, 700), st.integers(0, 6), st.sampled_from((*PIECES, *"()[]{}'\",:*&!|>%@`-+?#"))),
        max_size=4,
    ),
)
def test_mutated_yaml(text: str, edits: list[tuple[int, int, str]]) -> None:
    for place, removed, added in edits:
        place %= len(text) + 1
        text = text[:place] + added + text[place + removed :]
    read_everything(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_VALUES = st.recursive(
    st.sampled_from(WORDS).map(_quoted) | st.sampled_from(("", "0", "1.5", "true", "null", "grad", "CPU", "function")),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(item or 'x' for item in items)}]")
        | st.lists(st.tuples(st.sampled_from(KEYS).map(_quoted), inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=5,
)
_HEADS = st.sampled_from(("func: foo(Tensor self) -> Tensor", "name: foo(Tensor self) -> Tensor", "tag: foo"))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(_HEADS, st.lists(st.tuples(st.sampled_from(KEYS), _VALUES), max_size=5)), max_size=3))
def test_well_formed_nonsense(entries: list[tuple[str, list[tuple[str, str]]]]) -> None:
    lines: list[str] = []
    for head, pairs in entries:
        lines.append(f"- {head}")
        lines.extend(f"  {key}: {value}" for key, value in pairs)
    read_everything("\n".join(lines))
