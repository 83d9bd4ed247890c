"""Operators beside those of a base: a package has its own, and its formulas may call both.

The base was checked when it was generated. Its operators are names here, and its formulas are bound only where a rule
asks how one of its operators depends on an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from codegen.bind.call_targets import OperatorTable
from codegen.bind.composites import ResolvedComposite, resolve_composite
from codegen.bind.entries import ResolvedEntry, resolve_entries
from codegen.codes import Code
from codegen.python_source import FunctionIndex
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.source import Diagnostics


class Base:
    """The operators that there are already, and their derivative entries."""

    def __init__(self, functions: Sequence[NativeFunction], entries: Sequence[DerivativeEntry]) -> None:
        self.functions = functions
        self.entries = {str(entry.schema.name): entry for entry in entries}
        self.names = {name.base for f in functions for name in (f.name, *(made for made, _ in f.autogen))}


class WithBase(Mapping[str, ResolvedEntry]):
    """The entries of a package and of its base by the name of their operator; those of the base are bound when asked
    for.
    """

    def __init__(self, own: Mapping[str, ResolvedEntry], base: Base, table: OperatorTable) -> None:
        self._bound = dict(own)
        self._base = base
        self._table = table

    def __getitem__(self, name: str) -> ResolvedEntry:
        known = self._bound.get(name)
        if known is None:
            (known,) = resolve_entries([self._base.entries[name]], self._table, Diagnostics())
            self._bound[name] = known
        return known

    def __contains__(self, name: object) -> bool:
        return name in self._bound or name in self._base.entries

    def __iter__(self) -> Iterator[str]:
        return iter({**self._base.entries, **self._bound})

    def __len__(self) -> int:
        return len({**self._base.entries, **self._bound})


class CompositesWithBase(Mapping[str, ResolvedComposite]):
    """The same of the composite operators that are formulas."""

    def __init__(self, own: Mapping[str, ResolvedComposite], base: Base, table: OperatorTable) -> None:
        self._bound = dict(own)
        self._base = {str(function.name): function for function in base.functions if function.composite is not None}
        self._table = table

    def __getitem__(self, name: str) -> ResolvedComposite:
        known = self._bound.get(name)
        if known is None:
            known = resolve_composite(self._base[name], self._table, Diagnostics())
            if known is None:
                raise KeyError(name)
            self._bound[name] = known
        return known

    def __iter__(self) -> Iterator[str]:
        return iter({**self._base, **self._bound})

    def __len__(self) -> int:
        return len({**self._base, **self._bound})


def check_apart(
    functions: Sequence[NativeFunction],
    entries: Sequence[DerivativeEntry],
    base: Base,
    indexes: Iterable[FunctionIndex],
    diagnostics: Diagnostics,
) -> None:
    """No operator has the name of one of the base, no entry is of one of those, no function hides one of `indexes`."""
    own = {str(function.name) for function in functions}
    for function in functions:
        if function.name.base in base.names:
            diagnostics.error(
                Code.TAKEN,
                function.text.span(0, function.schema.name_end or 1),
                f"'{function.name.base}' is an operator of Gradwright",
                hint='formulas could not tell the two apart: choose another name, or write base = "none" in '
                "[tool.gradwright] and bring all operators",
            )
        for use in function.signs:
            diagnostics.error(
                Code.TAKEN,
                function.span,
                f"'{use.text}' calls an operator of Gradwright already",
                hint="remove 'python_operator'",
            )
    for entry in entries:
        name = str(entry.schema.name)
        if name not in own and name in base.entries:
            diagnostics.error(
                Code.TAKEN,
                entry.text.span(0, entry.schema.name_end or 1),
                f"'{name}' is an operator of Gradwright, and has its derivatives",
                hint="remove the entry",
            )
    for index in indexes:
        for name, hidden in index.hiding.items():
            if not name.startswith("_"):
                diagnostics.error(
                    Code.TAKEN,
                    index.functions[name].span,
                    f"'{name}' is a function of Gradwright already",
                    hint="its own formulas and operators mean that one: choose another name, or begin it with '_'",
                    notes=((hidden.span, "the other definition"),),
                )
