"""What is no error, and is seldom meant: what `lint` finds in the entries of one's own operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.bind.entries import ResolvedEntry
from codegen.codes import Code
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula.typed import formula_type, is_tensor_like
from codegen.read.implied import samples_of
from codegen.read.keys import FORMER_NAMES
from codegen.read.model import DispatchEntry, NativeFunction
from codegen.rules.checked import Checked
from codegen.rules.kernel_source import Elements, KernelSource, Seen
from codegen.schema.names import python
from codegen.schema.types import SchemaKind
from codegen.source import Diagnostics, Span
from codegen.words import Meant, PromotionKind

# Kinds of element types that have fractions.
_FRACTIONS = frozenset(("half", "float", "complex"))


def find_no_derivative(checked: Checked, diagnostics: Diagnostics) -> None:
    """An operator with a kernel and results of fractions says what its derivative is, or that it has none."""
    known = {entry.function.name for entry in checked.entries}
    for function in _own(checked):
        if function.schema.kind is SchemaKind.OUT:
            continue  # what it writes has no gradient
        if function.is_composite_implicit or function.name in known or not _tensors(function):
            continue
        if function.promotion is not None and function.promotion.kind is PromotionKind.ALWAYS_BOOL:
            continue
        count = len(function.schema.returns)
        if any(_may_be_fractions(source, count) for _, source in _kernels(function, checked)):
            diagnostics.error(
                Code.NO_DERIVATIVE, _name(function), f"'{function.name}' has a kernel and no entry in derivatives.yaml",
                hint="write its formulas, or say 'output_differentiability: "
                f"[{', '.join(['False'] * count)}]' in an entry without any",
            )  # fmt: skip


def find_no_samples(checked: Checked, diagnostics: Diagnostics) -> None:
    """Every operator has calls to be tested with."""
    for function in _own(checked):
        if not samples_of(function) and function.schema.kind is not SchemaKind.OUT:
            diagnostics.error(
                Code.NO_SAMPLES, _name(function), f"'{function.name}' has no samples: no test calls it",
                hint="write calls of it below 'samples:', such as '- T(3, 4)'",
            )  # fmt: skip


def find_not_pointwise(checked: Checked, diagnostics: Diagnostics) -> None:
    """The kernel of an operator that is tagged `pointwise` looks at one element at a time."""
    for function in _own(checked):
        if "pointwise" not in function.tags:
            continue
        for entry, source in _kernels(function, checked):
            place = source.reduction()
            if place is not None:
                diagnostics.error(
                    Code.NOT_POINTWISE, _name(function),
                    f"'{function.name}' is tagged 'pointwise', and its kernel '{entry.kernel}' looks at several "
                    "elements",
                    hint="remove the tag: samples, 'vmap' and 'auto_element_wise' go by it",
                    notes=((place, "here"),),
                )  # fmt: skip


def find_no_promotion(checked: Checked, diagnostics: Diagnostics) -> None:
    """Arguments of several dtypes, and integers where fractions come out, are brought together before the kernel."""
    for function in _own(checked):
        if function.promotion is not None:
            continue
        tensors = _tensors(function)
        for entry, source in _kernels(function, checked):
            if source.looks_at_dtypes():
                continue
            results = source.results(len(function.schema.returns))
            fractions = next((found for found in results if found is not None and found[0] is Elements.FLOAT), None)
            takes = None if function.dtypes is None else set(function.dtypes.kinds)
            if fractions is not None and (takes is None or not takes <= _FRACTIONS):
                diagnostics.error(
                    Code.NO_PROMOTION, _name(function),
                    f"'{function.name}' makes float64 of integers: its kernel '{entry.kernel}' gives fractions, and "
                    "nothing is promoted",
                    hint="write 'promotion: int_to_float'",
                    notes=((fractions[1], "here"),),
                )  # fmt: skip
            elif "pointwise" in function.tags and len(tensors) > 1 and takes is None:
                diagnostics.error(
                    Code.NO_PROMOTION, _name(function),
                    f"'{function.name}' takes {len(tensors)} Tensors, and nothing brings their dtypes together before "
                    f"its kernel '{entry.kernel}'",
                    hint=f"write 'promotion: {_kind(results).value}({', '.join(tensors)})'",
                )  # fmt: skip
            else:
                continue
            break


def find_kernel_writes(checked: Checked, diagnostics: Diagnostics) -> None:
    """A kernel writes to no argument, unless the signature says so."""
    for function in _own(checked):
        names = [
            python(argument.name)
            for argument in function.schema.arguments
            if argument.name in _tensors(function) and (argument.alias is None or not argument.alias.is_write)
        ]
        for entry, source in _kernels(function, checked):
            for name, place in source.writes(names):
                diagnostics.error(
                    Code.KERNEL_WRITES, entry.kernel.span(),
                    f"the kernel '{entry.kernel}' writes to '{name}', which the caller still has",
                    hint="work on a copy; what works in place follows by 'autogen', or says 'Tensor(a!)' in its schema",
                    notes=((place, "here"),),
                )  # fmt: skip


def find_differentiable_integers(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """A result whose elements are integers or bools counts as differentiable nowhere."""
    function = entry.function
    results = function.schema.returns
    for line, source in _kernels(function, checked):
        for index, seen in enumerate(source.results(len(results))):
            if seen is None or seen[0] is Elements.FLOAT or index not in entry.differentiable_outputs:
                continue
            name = results[index].name or ("the result" if len(results) == 1 else f"result {index}")
            items = ", ".join(
                str(each in entry.differentiable_outputs and each != index) for each in range(len(results))
            )
            diagnostics.error(
                Code.DIFFERENTIABLE_INTEGER, entry.entry.text.span(0, entry.entry.schema.name_end or 1),
                f"'{name}' of '{function.name}' counts as differentiable, and its kernel '{line.kernel}' gives "
                f"{seen[0].value}",
                hint=f"write 'output_differentiability: [{items}]'",
                notes=((seen[1], "here"),),
            )  # fmt: skip


def _own(checked: Checked) -> Iterator[NativeFunction]:
    return (each for each in checked.written if not each.late_bound and each.variant_of is None)


def _name(function: NativeFunction) -> Span:
    return function.text.span(0, function.schema.name_end or 1)


def _tensors(function: NativeFunction) -> list[str]:
    return [argument.name for argument in function.schema.arguments if is_tensor_like(formula_type(argument.type))]


def _kernels(function: NativeFunction, checked: Checked) -> Iterator[tuple[DispatchEntry, KernelSource]]:
    """The functions on arrays of an operator, with what is seen of them."""
    for entry in function.dispatch:
        source = checked.sources.get(str(entry.kernel)) if entry.key not in COMPOSITE_KEYS else None
        if source is not None:
            yield entry, source


def _kind(results: Sequence[Seen]) -> PromotionKind:
    """What an operator with these results needs most likely."""
    bools = all(found is not None and found[0] is Elements.BOOL for found in results)
    return PromotionKind.ALWAYS_BOOL if bools else PromotionKind.DEFAULT


def _may_be_fractions(source: KernelSource, count: int) -> bool:
    return any(found is None or found[0] is Elements.FLOAT for found in source.results(count))


def find_former_keys(checked: Checked, diagnostics: Diagnostics) -> None:
    """A key is written by the name that it has now: `fix` writes it. The former one is read for one release."""
    for function in _own(checked):
        for text in function.former_keys:
            name = FORMER_NAMES[text.value]
            diagnostics.error(
                Code.FORMER_WORD, text.span(), f"'{text}' is called '{name}' now", Meant(text.value, name)
            )
