"""The bound entries of operators: those that are written, completed, and those that are derived when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from codegen.bind.call_targets import OperatorTable
from codegen.bind.composites import ResolvedComposite
from codegen.bind.elementwise import ElementwiseTable
from codegen.bind.entries import ResolvedEntry, resolve_entries
from codegen.derive.entries import Derivation
from codegen.derive.numbers import Numbers
from codegen.derive.transpose import Transposition
from codegen.source import Diagnostics


class KnownEntries(Mapping[str, ResolvedEntry]):
    """Entries by the names of operators.

    Args:
        written: those that are written.
        elementwise: the operators that are expressions.
        composites: the composite operators that are formulas, by name.
        table: of all operators.
        numbers: computes what formulas give.
        diagnostics: where what is wrong with a derived one is reported.
        completes: whether gradients that are left out follow from forward formulas: somebody else means what he
            leaves out.
    """

    def __init__(
        self,
        written: Mapping[str, ResolvedEntry],
        elementwise: ElementwiseTable,
        composites: Mapping[str, ResolvedComposite],
        table: OperatorTable,
        numbers: Numbers,
        diagnostics: Diagnostics,
        completes: bool,
    ) -> None:
        self._written = written
        self._elementwise = elementwise
        self._table = table
        self._diagnostics = diagnostics
        self.derivation = Derivation(self.get, table, numbers, diagnostics)
        self._transposition = Transposition(self.get, composites, table, diagnostics)
        self._completes = completes
        self._completed: dict[str, ResolvedEntry] = {}
        self._derived: dict[str, ResolvedEntry | None] = {}

    def __getitem__(self, name: str) -> ResolvedEntry:
        found = self.completed(name) if name in self._written else self.derived(name)
        if found is None:
            raise KeyError(name)
        return found

    def completed(self, name: str) -> ResolvedEntry:
        """The entry that is written for an operator, with the gradients that follow from what it says of tangents."""
        if name not in self._completed:
            self._completed[name] = self._written[name]  # what its own formulas may use
            if self._completes:
                self._completed[name] = self._transposition.completed(self._written[name])
        return self._completed[name]

    def derived(self, name: str) -> ResolvedEntry | None:
        """The derived entry of an operator; None where there is none, or something was reported."""
        if name not in self._derived:
            known = self._elementwise.find(name)
            entry = None if known is None else self.derivation.entry(known)
            bound = () if entry is None else resolve_entries([entry], self._table, self._diagnostics)
            self._derived[name] = bound[0] if bound else None
        return self._derived[name]

    def compare(self, names: Iterable[str]) -> None:
        """Compare the entries of operators that are written with those that would be derived.

        `names`: of operators that are expressions.
        """
        for name in names:
            known = self._elementwise.find(name) if name in self._written else None
            if known is not None:
                self.derivation.check(known, self.completed(name))

    def __contains__(self, name: object) -> bool:
        return name in self._written or (isinstance(name, str) and self.derived(name) is not None)

    def __iter__(self) -> Iterator[str]:
        yield from self._written
        yield from (name for name in self._elementwise if name not in self._written and name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
