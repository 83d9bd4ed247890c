"""The C++ target: entries of operators, backward Nodes, and the tables that the native core finds them by.

Operators are spread over files by a hash of their base name, so that an edited entry changes one file. The loops of
functors, and the tables of formulas that run as one loop, stand in as many files beside these: they are compiled with
other options, and each loop once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jinja2 import Environment

from codegen.paths import BASE, PLACES, Paths
from codegen.plan.fusion import MOST_SLOTS, MOST_STEPS, MOST_TEMPORARIES
from codegen.plan.kinds import OperatorKind
from codegen.plan.loops import KernelLoop
from codegen.plan.native import MOST_EDGES, NativePlan
from codegen.plan.native_kernels import Native, Takes
from codegen.plan.node import shown_yaml
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.read.kernel_table import KERNELS, WRITERS
from codegen.targets.cpp.backward import first_line
from codegen.targets.cpp.entries import EntryView
from codegen.targets.cpp.functors import functor_lines, is_functor_of
from codegen.targets.cpp.inplace import inplace_view
from codegen.targets.cpp.loops import FORMULAS, LoopTable
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.nodes import NodeView, node_view
from codegen.targets.cpp.operators import entry_view
from codegen.targets.cpp.optimizers import optimizer_view
from codegen.targets.cpp.packets import number_slots, packet_rows, sign_rows
from codegen.targets.cpp.statements import function_head, row
from codegen.targets.cpp.text import Library, UnprintableError, node_place
from codegen.targets.cpp.writer import Writer
from codegen.targets.environment import environment, quoted
from codegen.words import BUILT_IN_NAMESPACE

name = "cpp"

SHARDS = 48
# A package with no more operators than this is one file.
FEW = 24
FOLDER = "generated/cpp"
# Constants of the core that the generator counts with.
_BOUNDS = {
    "kMostEdges": MOST_EDGES,
    "detail::kMostSteps": MOST_STEPS,
    "detail::kMostSlots": MOST_SLOTS,
    "detail::kMostTemporaries": MOST_TEMPORARIES,
}


@dataclass
class Shard:
    """The contents of one file."""

    needs: Needs = field(default_factory=Needs)
    nodes: dict[str, NodeView] = field(default_factory=dict)  # by the operator's function
    entries: list[EntryView] = field(default_factory=list)
    left_to_python: list[tuple[str, str]] = field(default_factory=list)  # operators and Node classes, with reasons

    def tables(self) -> Iterator[LoopTable]:
        """The formulas that are one loop."""
        for node in self.nodes.values():
            yield from node.fused
        for entry in self.entries:
            yield from entry.fused


@dataclass
class LoopFile:
    """The loops of functors and the tables of formulas in one file, and the functors whose loops it calls of others."""

    needs: Needs = field(default_factory=Needs)
    functors: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    tables: list[LoopTable] = field(default_factory=list)


@dataclass
class Coverage:
    """What is native, and why the rest is not: reasons by the names of operators and Node classes."""

    operators: dict[str, str | None] = field(default_factory=dict)
    nodes: dict[str, str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        def count(reasons: Mapping[str, str | None]) -> str:
            return f"{sum(reason is None for reason in reasons.values())} of {len(reasons)}"

        return f"{count(self.operators)} operators and {count(self.nodes)} Nodes are native"


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The generated files: path below the output folder of this target, and text."""
    env = environment(paths.templates, name)
    shards, _ = _write_shards(plan, paths.package)
    kernels = _native(plan).kernels
    extends = paths.package != BASE
    common = {
        "extends": extends,
        "command": "gradwright" if extends else "python -m codegen",
        "folder": paths.for_target(name).output.relative_to(paths.root).as_posix() if extends else FOLDER,
    }
    for number, shard in enumerate(shards):
        yield f"shard_{number:02}.cpp", _shard_text(shard, kernels, f"{number:02}", env, common)
    for number, loops in enumerate(_loop_files(shards, paths.package)):
        values = {**_loop_values(loops, kernels), **common}
        yield f"loops_{number:02}.cpp", env.get_template("loops.cpp.j2").render(values)
    native = {entry.function for shard in shards for entry in shard.entries}
    yield (
        "packets.cpp",
        env.get_template("packets.cpp.j2").render(
            packets=list(packet_rows(plan.packets, native)),
            signs=list(sign_rows(plan.signs, native)),
            number_slots=number_slots(plan.signs),
            **common,
        ),
    )
    numbers = [f"{number:02}" for number in range(len(shards))]
    yield (
        "shards.cpp",
        env.get_template("shards.cpp.j2").render(
            numbers=numbers,
            bounds=_BOUNDS,
            package=quoted(paths.package),
            namespace=quoted("" if plan.namespace == BUILT_IN_NAMESPACE else f"{plan.namespace}::"),
            **common,
        ),
    )
    if not extends:
        optimizers = list(map(optimizer_view, plan.optimizers))
        yield "optimizers.cpp", env.get_template("optimizers.cpp.j2").render(optimizers=optimizers, **common)
    yield PLACES, _places(plan)


def _places(plan: Plan) -> str:
    places = {}
    for node in plan.nodes:
        texts = [gradient.text for gradient in node.gradients if gradient.text is not None]
        if texts:
            places[node_place(node.class_name, texts[0])] = [shown_yaml(texts[0]), first_line(node)]
    return json.dumps(places, indent=0, sort_keys=True) + "\n"


def coverage(plan: Plan, paths: Paths) -> Coverage:
    """What of a plan is native."""
    return _write_shards(plan, paths.package)[1]


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The C++ of one operator: its Node and its entry; why there is none where there is none."""
    shards, coverage = _write_shards(plan, paths.package)
    shard = shards[shard_of(operator, len(shards))]
    writer = Writer(environment(paths.templates, name))
    for node in operator.autograd.nodes:
        reason = coverage.nodes[node.class_name]
        if reason is not None:
            writer.after_blank().add(f"// {node.class_name} is in Python: {reason}\n")
    if operator.python.function in shard.nodes:
        writer.after_blank().node(shard.nodes[operator.python.function])
    reason = coverage.operators[str(operator.name)]
    if reason is not None:
        writer.after_blank().add(f"// {operator.name} has no entry: {reason}\n")
    functions = {operator.python.function} | (
        {operator.compute.written.function} if operator.compute.written is not None else set()
    )
    for entry in shard.entries:
        if entry.function in functions:
            writer.after_blank().entry(entry)
    return str(writer)


def shard_of(operator: OperatorPlan, count: int = SHARDS) -> int:
    """The number of the file that an operator goes to."""
    return zlib.crc32(operator.name.base.encode()) % count


def _native(plan: Plan) -> NativePlan:
    assert plan.native is not None, "the plan says what is native"
    return plan.native


def _write_shards(plan: Plan, package: str) -> tuple[Sequence[Shard], Coverage]:
    native = _native(plan)
    coverage = Coverage()
    count = 1 if package != BASE and len(plan.operators) <= FEW else SHARDS
    shards = [Shard(Needs(package)) for _ in range(count)]
    library = Library(plan.functions, native, frozenset(_entries(native)))
    library = replace(library, entries=library.entries.union(_formulas(native, library)))
    for operator in plan.operators:
        shard = shards[shard_of(operator, count)]
        for node in operator.autograd.nodes:
            reason = native.nodes[node.class_name].reason
            if reason is None:
                try:
                    shard.nodes[operator.python.function] = node_view(operator, node, library, shard.needs)
                except UnprintableError as error:
                    reason = str(error)
            coverage.nodes[node.class_name] = reason
            if reason is not None:
                shard.left_to_python.append((node.class_name, reason))
        if operator.python.function in library.entries:
            recorded = shard.nodes.get(operator.python.function)
            shard.entries.append(entry_view(operator, recorded, library, shard.needs))
            if operator.compute.written is not None:
                shard.entries.append(inplace_view(operator, operator.compute.written, recorded, library, shard.needs))
        reason = coverage.operators[str(operator.name)] = _why_no_entry(operator, library)
        if reason is not None:
            shard.left_to_python.append((str(operator.name), reason))
    return shards, coverage


def _loop_files(shards: Sequence[Shard], package: str) -> Sequence[LoopFile]:
    """The files of loops. That of a functor is found by its name, that of a formula stands beside its Node or entry."""
    files = [LoopFile(Needs(package)) for _ in shards]
    for file, shard in zip(files, shards, strict=True):
        file.tables = list(shard.tables())
        file.called = set(shard.needs.parts)
        for definition in shard.needs.parts.values():
            file.needs.update(definition)
        for functor, definition in (*shard.needs.loops.items(), *shard.needs.parts.items()):
            owner = files[zlib.crc32(functor.encode()) % len(files)]
            owner.functors.add(functor)
            owner.needs.update(definition)
    for file in files:
        file.called -= file.functors
    return files


def _entries(native: NativePlan) -> Iterator[str]:
    """The operators with a fast path, or a composite function in C++."""
    for name, operator in native.operators.items():
        if operator.compute.fast_path is not None or native.computed[name].is_composite:
            yield operator.python.function


def _formulas(native: NativePlan, library: Library) -> Iterator[str]:
    """The operators that are formulas, where C++ can say them."""
    for operator in native.operators.values():
        if operator.compute.composite is not None and not operator.compute.composite.lists and operator.compute.guards:
            try:
                entry_view(operator, None, library, Needs())
            except UnprintableError:
                continue
            yield operator.python.function


def _why_no_entry(operator: OperatorPlan, library: Library) -> str | None:
    if operator.python.function in library.entries:
        return None
    if operator.kind is not OperatorKind.KERNEL:
        return {OperatorKind.IMPLICIT: "traced through", OperatorKind.EXPLICIT: "made of operators"}.get(
            operator.kind, "bound late"
        )
    return "its arguments take the general path"


def _shard_text(shard: Shard, kernels: Native, number: str, env: Environment, common: Mapping[str, object]) -> str:
    writer = Writer(env, f"{common['folder']}/shard_{number}.cpp")
    values = {"number": number, **_values(shard, kernels), **common}
    writer.template("shard_start.cpp.j2", values)
    for node in shard.nodes.values():
        writer.after_blank().node(node)
    writer.template("shard_end.cpp.j2", values)
    return str(writer)


def _values(shard: Shard, kernels: Native) -> Mapping[str, object]:
    names = sorted(shard.needs.names.items())
    return {
        "nodes": shard.nodes,
        "entries": shard.entries,
        "left_to_python": [(quoted(name), quoted(reason)) for name, reason in shard.left_to_python],
        "headers": sorted(shard.needs.headers | _HEADERS),
        "declared": _declared(shard.needs, kernels, _elsewhere(shard, kernels)),
        "loops": sorted(shard.needs.loops),
        "called": _called(shard),
        "names": [
            (name, row(quoted(module), quoted(attribute), f"&py::{name}")) for name, (module, attribute) in names
        ],
        "recorders": [
            (name, row(quoted(f"{shard.needs.package}.nodes"), quoted(function)))
            for name, function in sorted(shard.needs.recorders.items())
        ],
        "constants": [(name, quoted(text)) for name, text in sorted(shard.needs.constants.items())],
    }


def _loop_values(file: LoopFile, kernels: Native) -> Mapping[str, object]:
    return {
        "headers": sorted({*file.needs.headers, "formulas.hpp"}),
        "declared": _declared(file.needs, kernels),
        "called": sorted(file.called),
        "functors": sorted(file.functors),
        "formulas": FORMULAS,
        "tables": [table.definition for table in file.tables],
    }


# What generated code is written in; the others hold kernels, and are there where one of these is called.
_WORDS = ("formulas", "other_dtypes", "inplace", "intrinsics", "kernels", "layouts", "registry", "saved_state", "views")
_HEADERS = frozenset(f"{name}.hpp" for name in _WORDS)


def _elsewhere(shard: Shard, kernels: Native) -> dict[str, list[list[str]]]:
    """What the files of loops define: functors, by names alone, and tables."""
    written: dict[str, KernelLoop] = {}
    names: set[str] = set()
    for definition in shard.needs.loops.values():
        written |= definition.written
        names |= definition.numpy.keys()
    start = f"struct {KERNELS}::"
    names |= {functor.removeprefix(start) for functor in shard.needs.loops if functor.startswith(start)}
    names |= {name for name, loop in written.items() if is_functor_of(name, loop)}
    aliases = sorted(written.keys() - names)
    return {
        KERNELS: [
            *([f"struct {name};"] for name in sorted(names)),
            *(functor_lines(name, written[name], kernels) for name in aliases),
        ],
        FORMULAS: [[f"extern const FormulaTable {table.name};"] for table in shard.tables()],
    }


_TAKES = {Takes.ALL: "kAll", Takes.NUMBERS: "kNumbers", Takes.INEXACT: "kFloatsAndComplex"}


def _declared(
    needs: Needs, kernels: Native, found: dict[str, list[list[str]]] | None = None
) -> list[tuple[str, list[list[str]]]]:
    """What stands in no header, by its namespace: functors of NumPy's functions, and functions."""
    found = {} if found is None else found
    for name, kernel in sorted(needs.numpy.items()):
        parts = f"{quoted(kernel.ufunc)}, {kernel.operands}, takes::{_TAKES[kernel.takes]}"
        lines = [f"struct {name} {{", f"  static inline Ufunc ufunc{{{parts}}};", "};"]
        found.setdefault(KERNELS, []).append(lines)
    functors = (functor_lines(name, loop, kernels) for name, loop in sorted(needs.written.items()))
    found.setdefault(KERNELS, []).extend(functors)
    for (namespace, function), count in sorted(needs.declared.items()):
        result = "bool" if namespace == WRITERS else "Ref"
        found.setdefault(namespace, []).append([_declaration(function, count, result)])
    return sorted((namespace, each) for namespace, each in found.items() if each)


def _called(shard: Shard) -> list[str]:
    """The entries of this file and those that it calls, declared: an operator that is added changes no other file."""
    own = {entry.symbol: f"{entry.head};" for entry in shard.entries}
    others = {name: _declaration(name, count) for name, count in shard.needs.entries.items()}
    return [declaration for _, declaration in sorted({**others, **own}.items())]


def _declaration(function: str, count: int, result: str = "Ref") -> str:
    return f"{function_head(result, function, ['PyObject*'] * count)};"
