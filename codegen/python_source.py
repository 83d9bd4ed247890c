"""Python functions that the YAML names: kernels, composite operators and formula helpers.

They are read from source with `ast`, never imported: a runtime that does not load can not stop a generation.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.codes import Code
from codegen.module_names import short_name
from codegen.paths import PythonPart, Texts
from codegen.python_syntax import defaults, parameters
from codegen.source import CONFLICT_HINT, Diagnostics, SourceFile, Span, find_conflict

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a Python function; `annotation` is its source text ('' if it has none)."""

    name: str
    annotation: str
    has_default: bool
    keyword_only: bool


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function as its source declares it.

    `parameters` is None for an alias of the NumPy function `alias`, whose parameters have no names.  `about` is the
    first paragraph of its docstring, on one line. `linear` are the groups of parameters in which it is declared to be
    linear, each with its place. `takes_rest` and `takes_options` say whether it has parameters `*rest` and `**options`.
    """

    name: str
    module: str
    parameters: tuple[Parameter, ...] | None
    returns: str
    span: Span
    alias: str = ""
    about: str = ""
    linear: tuple[tuple[frozenset[str], Span], ...] = ()
    takes_rest: bool = False
    takes_options: bool = False

    def fits(self, by_position: Sequence[str], by_name: Sequence[str]) -> bool:
        """Whether it takes just these arguments, in this order: `*` the last by position, `**` the last by name."""
        own = [parameter.name for parameter in self.parameters or () if not parameter.keyword_only]
        if self.takes_rest:
            by_position = by_position[: len(own)]
        count = len(by_position)
        named = [*own[count:], *(parameter.name for parameter in self.parameters or () if parameter.keyword_only)]
        if self.takes_options:
            by_name = by_name[: len(named)]
        return own[:count] == list(by_position) and named == list(by_name)

    @property
    def signature(self) -> str:
        """Its name and the names of its parameters."""
        own = [parameter.name for parameter in self.parameters or () if not parameter.keyword_only]
        keywords = [parameter.name for parameter in self.parameters or () if parameter.keyword_only]
        star = ["*"] if self.takes_rest or keywords else []
        return f"{self.name}({', '.join([*own, *star, *keywords, *['**'] * self.takes_options])})"

    @property
    def arity(self) -> int | None:
        """The number of arrays that an alias takes; None if it is no ufunc."""
        ufunc = self._ufunc()
        return None if ufunc is None else ufunc.nin

    @property
    def gives_bools(self) -> bool:
        """Whether it is an alias of a ufunc that gives bools for numbers of double precision."""
        ufunc = self._ufunc()
        return ufunc is not None and f"{'d' * ufunc.nin}->?" in ufunc.types

    def _ufunc(self) -> np.ufunc | None:
        import numpy as np  # here, because it is large, and most runs need not know

        ufunc = getattr(np, self.alias, None)
        return ufunc if isinstance(ufunc, np.ufunc) else None

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@functools.cache
def numpy_function(name: str) -> PythonFunction:
    """A function of NumPy, by its name there."""
    return PythonFunction(name, "numpy", None, "", Span(SourceFile("numpy", ""), 0, 0), name)


@dataclass(frozen=True, slots=True)
class PythonModule:
    """The source of a module: its functions with those that are private, and the names that it imports.

    `imports` gives for a name the module that it comes from and its name there, which is None for the module itself.
    `definitions` are all names that it gives a meaning to: functions, classes and values.
    """

    name: str
    file: SourceFile
    functions: Mapping[str, ast.FunctionDef]
    imports: Mapping[str, tuple[str, str | None]]
    definitions: Mapping[str, ast.stmt]

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The place of a node, as far as its first line goes."""
        start = self.file.line_starts[node.lineno - 1] + node.col_offset
        length = (node.end_col_offset or 0) - node.col_offset
        if node.end_lineno != node.lineno:
            length = len(self.file.line(node.lineno)) - node.col_offset
        return Span(self.file, start, start + max(length, 1))


class SourcePart:
    """The modules of one part, and their functions by name."""

    def __init__(self, part: PythonPart, diagnostics: Diagnostics, texts: Texts | None = None) -> None:
        self.shown = part.shown
        self.complete = True  # whether all of its modules could be read
        self.modules: dict[str, PythonModule] = {}
        self.functions: dict[str, PythonFunction] = {}
        for path, name, shown in part.files():
            instead = None if texts is None else texts.get(path)
            file = SourceFile(shown, path.read_text(encoding="utf-8-sig") if instead is None else instead)
            read = _read(file, name, diagnostics)
            if read is None:
                self.complete = False
                continue
            self.modules[name], functions = read
            for function in functions:
                other = self.functions.setdefault(function.name, function)
                if other is not function and not function.name.startswith("_"):
                    diagnostics.error(
                        Code.PYTHON_SOURCE,
                        function.span,
                        f"'{function.name}' is defined in two modules",
                        hint="names are unique over a folder, so that the YAML needs no module names",
                        notes=((other.span, "the other definition"),),
                    )


class FunctionIndex:
    """The public functions of some parts, by name; of a name that two parts have, the first one's counts."""

    def __init__(self, parts: Iterable[SourcePart]) -> None:
        read = tuple(parts)
        self.folder = " or ".join(part.shown for part in reversed(read))
        self.complete = all(part.complete for part in read)  # else what is missing may be in a module with errors
        self.functions: dict[str, PythonFunction] = {}
        self.modules: dict[str, PythonModule] = {}
        self.hiding: dict[str, PythonFunction] = {}  # what an earlier part has a function of the same name for
        for part in read:
            self.modules |= part.modules
            for name, function in part.functions.items():
                if self.functions.setdefault(name, function) is not function:
                    self.hiding[name] = function

    def get(self, name: str) -> PythonFunction | None:
        return self.functions.get(name)

    def __iter__(self) -> Iterator[PythonFunction]:
        return iter(self.functions.values())


def _read(
    file: SourceFile, name: str, diagnostics: Diagnostics
) -> tuple[PythonModule, tuple[PythonFunction, ...]] | None:
    try:
        return _read_module(file, name)
    except SyntaxError as error:
        conflict = find_conflict(file)
        if conflict is not None:
            diagnostics.error(Code.PYTHON_SOURCE, conflict, "a merge conflict: both sides stand here", CONFLICT_HINT)
            return None
        line = min(error.lineno or 1, len(file.line_starts))
        start = file.line_starts[line - 1] + max((error.offset or 1) - 1, 0)
        diagnostics.error(
            Code.PYTHON_SOURCE, Span(file, start, start + 1), f"this Python file does not parse: {error.msg}"
        )
        return None


@functools.lru_cache(maxsize=1024)
def _read_module(file: SourceFile, name: str) -> tuple[PythonModule, tuple[PythonFunction, ...]]:
    """A module and its functions; a process that analyzes several times parses a file once for each of its texts."""
    tree = ast.parse(file.text)
    return _module(name, file, tree), tuple(_functions(tree, file, name))


def _module(name: str, file: SourceFile, tree: ast.Module) -> PythonModule:
    functions = {statement.name: statement for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    imports: dict[str, tuple[str, str | None]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            imports |= {
                item.asname or item.name.partition(".")[0]: (short_name(item.name), None) for item in statement.names
            }
        elif isinstance(statement, ast.ImportFrom):
            origin = short_name(statement.module or "")
            imports |= {item.asname or item.name: (origin, item.name) for item in statement.names}
    return PythonModule(name, file, functions, imports, dict(_definitions(tree)))


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            yield from ((name, statement) for name in names)


def _functions(tree: ast.Module, file: SourceFile, module: str) -> Iterator[PythonFunction]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield _from_definition(statement, file, module)
        elif (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(statement.value, ast.Attribute)
            and isinstance(statement.value.value, ast.Name)
            and statement.value.value.id == "np"
        ):
            name = statement.targets[0]
            yield PythonFunction(name.id, module, None, "", _span(file, name), statement.value.attr)


def _from_definition(definition: ast.FunctionDef, file: SourceFile, module: str) -> PythonFunction:
    arguments, optional = definition.args, defaults(definition)
    known = [
        Parameter(each.arg, _text(each.annotation), each.arg in optional, each in arguments.kwonlyargs)
        for each in parameters(definition)
    ]
    start = file.line_starts[definition.lineno - 1] + definition.col_offset + len("def ")
    span = Span(file, start, start + len(definition.name))
    about = " ".join((ast.get_docstring(definition) or "").partition("\n\n")[0].split())
    linear = tuple((linear_names(each), _span(file, each)) for each in linear_groups(definition))
    returns = _text(definition.returns)
    return PythonFunction(
        definition.name, module, tuple(known), returns, span, about=about, linear=linear,
        takes_rest=arguments.vararg is not None, takes_options=arguments.kwarg is not None,
    )  # fmt: skip


@functools.cache
def parts_of(tree: ast.AST) -> Sequence[ast.AST]:
    """What `ast.walk` goes through, in its order: several times faster."""
    found = [tree]
    for node in found:  # grows meanwhile
        found += children_of(node)
    return found


def children_of(node: ast.AST) -> Sequence[ast.AST]:
    """What `ast.iter_child_nodes` gives."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def linear_groups(definition: ast.FunctionDef) -> Sequence[ast.Call]:
    """The declarations above a function, `@linear_in("grad")`, of what it is linear in."""
    calls = [node for node in definition.decorator_list if isinstance(node, ast.Call)]
    return [call for call in calls if _last_name(call.func) == "linear_in"]


def linear_names(declaration: ast.Call) -> frozenset[str]:
    """The arguments that a declaration names."""
    values = (argument.value for argument in declaration.args if isinstance(argument, ast.Constant))
    return frozenset(value for value in values if isinstance(value, str))


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return "" if node is None else ast.unparse(node)


def _span(file: SourceFile, node: ast.expr) -> Span:
    start = file.line_starts[node.lineno - 1] + node.col_offset
    return Span(file, start, start + (node.end_col_offset or node.col_offset + 1) - node.col_offset)
