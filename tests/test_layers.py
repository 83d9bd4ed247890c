"""The layers of the packages: imports lead down, and never round, those inside functions included.

For each package a table of layers, lowest first: a module imports from its own layer and from those below it. A name in
the table stands for a module, or for a package with all that is in it, in which the longest name counts.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from support.documents import ROOT

LAYERS: Mapping[str, Sequence[Sequence[str]]] = {
    "codegen": (
        ("codegen.module_names",),
        ("codegen.inputs", "codegen.writing", "codegen.extension", "codegen.version", "codegen.words", "codegen.codes"),
        ("codegen.ranks",),
        ("codegen.dispatch_keys",),
        ("codegen.tensor_methods",),
        ("codegen.pytorch_files",),
        ("codegen.paths",),
        ("codegen.source", "codegen.excerpt", "codegen.python_source", "codegen.python_syntax", "codegen.signs"),
        ("codegen.schema",),
        ("codegen.formula",),
        ("codegen.read",),
        ("codegen.on_top",),
        ("codegen.input_files", "codegen.editor_schemas"),
        ("codegen.bind",),
        ("codegen.derive",),
        ("codegen.rules", "codegen.foreign", "codegen.extending", "codegen.fingerprints", "codegen.sources"),
        ("codegen.plan",),
        ("codegen.targets",),
        ("codegen.targets.python", "codegen.targets.cpp", "codegen.targets.docs"),
        ("codegen.targets.rules",),
        ("codegen.targets.jax", "codegen.targets.torch", "codegen.targets.cuda"),
        (
            "codegen.output",
            "codegen.pipeline",
            "codegen.project",
            "codegen.proof_outcomes",
            "codegen.messages",
            "codegen.formatting",
        ),
        ("codegen.commands", "codegen.lsp"),
        ("codegen.__main__",),
    ),
    "runtime": (
        ("runtime.native", "runtime.ops", "runtime.operators.update_rules"),
        ("runtime.base",),
        ("runtime.random", "runtime.operators", "runtime.operators.kernels", "runtime.operators.array_api"),
        ("runtime.graph",),
        ("runtime.devices",),
        ("runtime.call",),
        ("runtime.operators.sparse",),
        ("runtime.operators.sparse_functions",),
        (
            "runtime.operators.composite",
            "runtime.operators.helpers",
            "runtime.operators.upstream",
            "runtime.operators.functional",
        ),
        ("runtime.operators.batching",),
        ("runtime.methods",),
        ("runtime.load",),
    ),
    "gradwright": (
        ("gradwright.names", "gradwright.publishing", "gradwright.missing", "gradwright.version", "gradwright.absent"),
        ("gradwright.torch_version", "gradwright.lowrank", "gradwright.native"),
        ("gradwright.anomaly", "gradwright.batches", "gradwright.mode_blocks"),
        ("gradwright.removed", "gradwright.storage_types", "gradwright.tensor_types"),
        ("gradwright.tensor_methods",),
        ("gradwright.backends", "gradwright.fft", "gradwright.linalg", "gradwright.special"),
        ("gradwright.autograd", "gradwright.func", "gradwright.library", "gradwright.files"),
        # Names that stand on little, and what is not there.
        ("gradwright.other_devices",),
        ("gradwright.settings", "gradwright.symbols", "gradwright.futures", "gradwright.conditional"),
        ("gradwright.amp", "gradwright.compiler", "gradwright.cpu", "gradwright.distributed", "gradwright.jit"),
        ("gradwright._C", "gradwright.__config__", "gradwright.cuda", "gradwright.types"),
        ("gradwright.accelerator", "gradwright.mps", "gradwright.mtia", "gradwright.xpu"),
        (
            "gradwright.nn",
            "gradwright.utils",
            "gradwright.return_types",
            "gradwright.profiler",
            "gradwright.signal",
            "gradwright.distributions",
            "gradwright.masked",
            "gradwright.serialization",
            "gradwright.storage",
        ),
        ("gradwright.optim", "gradwright.overrides", "gradwright.fx"),
        ("gradwright.distributed.optim",),
        ("gradwright.comparing", "gradwright.testing", "gradwright.examples"),
        ("gradwright.verify",),
        ("gradwright.as_torch", "gradwright.graph_command", "gradwright.__main__"),
    ),
}

# Imports inside functions of the runtime, of what not every program needs: by the module that imports, what it imports
# of ours, and what that is for. Other imports stand at the top.
LAZY: Mapping[str, tuple[frozenset[str], str]] = {
    "runtime.random": (frozenset(("runtime.base.mersenne",)), "NumPy's random numbers, with the first draw"),
    "gradwright.other_devices": (
        frozenset(("gradwright.library",)),
        "the definition of an operator, with its first call",
    ),
    "gradwright.verify.table": (
        frozenset(("gradwright.verify.frameworks.table",)),
        "the frameworks, whose operators are verified where a target is named",
    ),
    "runtime.ops": (frozenset(("runtime.call.overloads",)), "namespaces, when somebody looks for one"),
    "runtime.call.facts": (
        frozenset(("runtime.call.binding", "codegen.schema.facts", "codegen.schema.parser")),
        "binding, with the first general call, and schemas that were not generated",
    ),
    "runtime.call.overloads": (frozenset(("runtime.call.operator_schemas",)), "schemas of operators as objects"),
    "runtime.call.placing": (frozenset(("runtime.operators.sparse",)), "the layout sparse_coo"),
    "runtime.methods.written": (
        frozenset(("runtime.methods.printing", "runtime.devices.wrapper")),
        "the text of Tensors, and Tensors around others",
    ),
    "runtime.load.loading": (frozenset(("runtime.load.debugging",)), "GRADWRIGHT_DEBUG"),
    "runtime.load.packages": (frozenset(("runtime.load.debugging",)), "GRADWRIGHT_DEBUG"),
    "gradwright.batches": (frozenset(("gradwright.batches.vectorize",)), "vmap"),
    "gradwright.files": (
        frozenset(("gradwright.utils.dlpack", "gradwright.serialization")),
        "files and other libraries",
    ),
    "gradwright.tensor_methods": (frozenset(("gradwright.utils.dlpack",)), "other libraries"),
    "runtime.graph.backward": (
        frozenset(
            (
                "runtime.operators.batching.batched",
                "runtime.operators.batching.calls",
                "runtime.operators.batching.vmap_calls",
            )
        ),
        "is_grads_batched",
    ),
    "gradwright": (frozenset(("gradwright.as_torch",)), "the name torch"),
    "gradwright.__main__": (frozenset(("gradwright.graph_command",)), "drawings, which other commands do not need"),
    "gradwright.autograd.function": (frozenset(("gradwright.autograd.function_batches",)), "Functions under vmap"),
    "gradwright.autograd.gradcheck": (
        frozenset(f"gradwright.autograd.gradcheck.{part}" for part in ("checks", "compare", "problem")),
        "gradcheck",
    ),
}

# Packages of one layer that know nothing of each other.
APART: Sequence[Sequence[str]] = (("codegen.targets.python", "codegen.targets.cpp", "codegen.targets.docs"),)
# What targets print is decided before: what binds, derives and judges is no business of theirs, but for these.
BEFORE_THE_PLAN = ("codegen.bind", "codegen.derive", "codegen.rules")
TARGETS_THAT_PRINT: Mapping[str, frozenset[str]] = {
    # The statements and expressions of update rules, of which their plan is made.
    "codegen.targets.cpp": frozenset(("codegen.bind.update_rules",)),
}
# What `runtime` may import of the generator: the grammar of signatures with its places, and what tells whether the
# generated code is of these sources and this version.
FOR_THE_RUNTIME = (
    "codegen.schema", "codegen.source", "codegen.words", "codegen.dispatch_keys",
    "codegen.excerpt", "codegen.inputs", "codegen.extension",
    "codegen.version", "codegen.codes", "codegen.writing", "codegen.module_names",
)  # fmt: skip


@cache
def modules(package: str) -> Mapping[str, Path]:
    """The files of a package by the names of their modules."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(package: str) -> Mapping[str, frozenset[str]]:
    """For each module of a package those that it imports, of all packages that are here, but for lazy ones."""
    known = {name for each in LAYERS for name in modules(each)}
    found = {}
    for name, path in modules(package).items():
        lazy = LAZY[name][0] if name in LAZY else frozenset[str]()
        # What only type checkers see in the runtime may lead up: operators are handed to what lies below them.
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[name] = frozenset(_imported(_statements(tree, package == "codegen"), path, name, known) - {name} - lazy)
    return found


def _statements(tree: ast.AST, of_types: bool) -> Iterable[ast.AST]:
    """All parts of a module; those that only type checkers see on demand."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if of_types or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from _statements(child, of_types)
        else:
            for other in child.orelse:
                yield from _statements(other, of_types)


def _imported(statements: Iterable[ast.AST], path: Path, name: str, known: set[str]) -> set[str]:
    found = set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found.update(full if (full := f"{module}.{alias.name}") in known else module for alias in node.names)
    return found & known


def layer_of(module: str, package: str) -> int:
    """The number of a module's layer: that of the longest name in the table that it lies under.

    A package itself is above all that lies in it; below, where there is nothing in it.
    """
    if module == package:
        return len(LAYERS[package]) if imports(package)[package] else -1
    listed = [
        (len(name), number) for number, names in enumerate(LAYERS[package]) for name in names if is_in(module, name)
    ]
    assert listed, f"{module} is in no layer: add it to the table"
    return max(listed)[1]


def is_in(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of modules that reach each other.

    The method is R. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1, 1972.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            start = stack.index(name)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_lead_down(package: str) -> None:
    upward = [
        f"{name} imports {other}"
        for name, others in imports(package).items()
        for other in sorted(others)
        if is_in(other, package) and layer_of(other, package) > layer_of(name, package)
    ]
    assert not upward, "\n".join(upward)


@pytest.mark.parametrize("package", LAYERS)
def test_no_modules_import_each_other(package: str) -> None:
    assert circles(imports(package)) == []


@pytest.mark.parametrize("package", LAYERS)
def test_the_table_names_what_there_is(package: str) -> None:
    listed = [name for names in LAYERS[package] for name in names]
    assert [name for name in listed if not any(is_in(module, name) for module in modules(package))] == []


def test_late_imports_are_lazy_entry_points() -> None:
    known = {name for each in LAYERS for name in modules(each)}
    late: dict[str, set[str]] = {}
    for name, path in (*modules("runtime").items(), *modules("gradwright").items()):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                late.setdefault(name, set()).update(_imported(ast.walk(node), path, name, known))
    assert {name: found for name, found in late.items() if found} == {name: set(of) for name, (of, _) in LAZY.items()}


def test_packages_that_stand_apart_know_nothing_of_each_other() -> None:
    crossing = [
        f"{name} imports {other}"
        for names in APART
        for one in names
        for name, others in imports(one.partition(".")[0]).items()
        if is_in(name, one)
        for other in sorted(others)
        if any(is_in(other, another) for another in names if another != one)
    ]
    assert not crossing, "\n".join(crossing)


def test_targets_decide_nothing() -> None:
    deciding = [
        f"{name} imports {other}"
        for target, words in TARGETS_THAT_PRINT.items()
        for name, others in imports("codegen").items()
        if is_in(name, target)
        for other in sorted(others - words)
        if any(is_in(other, package) for package in BEFORE_THE_PLAN)
    ]
    assert not deciding, "\n".join(deciding)


@pytest.mark.parametrize("package", ["codegen", "runtime"])
def test_packages_import_nothing_of_those_above(package: str) -> None:
    above = list(LAYERS)[list(LAYERS).index(package) + 1 :]
    upward = [
        f"{name} imports {other}"
        for name, others in imports(package).items()
        for other in others
        if any(is_in(other, each) for each in above)
    ]
    assert not upward, "\n".join(upward)


def test_generated_code_loads_the_engine_alone() -> None:
    script = "import generated, sys; print(*(name for name in sys.modules if name.partition('.')[0] == 'gradwright'))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_the_runtime_imports_the_grammar_of_signatures_alone() -> None:
    other_parts = [
        f"{name} imports {other}"
        for name, others in imports("runtime").items()
        for other in sorted(others)
        if is_in(other, "codegen") and not any(is_in(other, allowed) for allowed in FOR_THE_RUNTIME)
    ]
    assert not other_parts, "\n".join(other_parts)
