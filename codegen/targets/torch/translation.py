"""Functions of Python as functions on Tensors of PyTorch: what they call of Gradwright becomes what PyTorch calls it.

Gradwright's Tensors have PyTorch's methods, so a function keeps its text but for names: operators that it calls through
`ops`, types, and functions of the runtime. Functions on arrays keep theirs and import NumPy.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence

from codegen.plan.operator import OperatorPlan
from codegen.python_source import PythonModule
from codegen.python_syntax import OPERATORS, chain_of
from codegen.targets.rules import library as rules_library
from codegen.targets.rules.library import STANDARD, Item
from codegen.targets.rules.sources import Origin, extent
from codegen.targets.rules.values import NotPortable
from codegen.targets.torch.library import Library
from codegen.targets.torch.names import ABSENT, entry_of, function_of
from codegen.words import BUILT_IN_NAMESPACE, SHORTENING_MODULES

_ROOTS = ("gradwright", "runtime", "generated", "codegen")
_ARRAY_LIBRARIES = ("numpy", "torch")  # what kernels may import besides the standard library
_DTYPES = frozenset((
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex32", "complex64", "complex128", "half", "float", "double", "int", "long", "short", "cfloat",
    "cdouble", "finfo", "iinfo", "promote_types", "result_type", "can_cast", "get_default_dtype",
))  # fmt: skip
_TYPES = {
    "Tensor": "Tensor", "Scalar": "Number", "Number": "Number", "DType": "torch.dtype", "Device": "torch.device",
    "Layout": "torch.layout", "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator",
    "contiguous_format": "torch.contiguous_format", "preserve_format": "torch.preserve_format",
}  # fmt: skip
# Functions of the runtime that the module of all packages has.
_SUPPORT: Mapping[tuple[str, str], str] = {
    ("runtime.base.conditions", "holds_anywhere"): "holds_anywhere",
    ("runtime.graph.forward", "active"): "forward_is_active",
    ("runtime.base.half", "in_float32"): "in_float32",
}
_PUBLIC = frozenset(("is_grad_enabled", "no_grad", "enable_grad", "dtype", "device", "Size", "nn", "autograd"))
_DROPPED = "linear_in"  # a declaration, which the generator has read
_BUILTINS = frozenset(dir(builtins))


def write_function(
    library: rules_library.Library, item: Item, module: PythonModule, definition: ast.FunctionDef, origin: Origin
) -> str:
    """The text of a function."""
    assert isinstance(library, Library)
    return Translator(library, item, module, origin).function(definition)


def write_definition(
    library: rules_library.Library, item: Item, module: PythonModule, statement: ast.stmt, origin: Origin
) -> str:
    """The text of a class or a constant."""
    assert isinstance(library, Library)
    return Translator(library, item, module, origin).definition(statement)


class Translator:
    """Translates one definition of a module.

    Args:
        library: what is written besides.
        item: the definition as it is written.
        module: in which it stands.
        origin: whether it is about Tensors or arrays.
    """

    def __init__(self, library: Library, item: Item, module: PythonModule, origin: Origin) -> None:
        self.library = library
        self.item = item
        self.module = module
        self.origin = origin
        self.locals: set[str] = set()
        self.edits: list[tuple[int, int, str]] = []
        self.in_annotation = False

    def function(self, definition: ast.FunctionDef) -> str:
        """The whole text, with its decorators."""
        self.locals = set(_locals(definition))
        decorators = [text for each in definition.decorator_list if (text := self._decorator(each)) is not None]
        self.edits = []
        arguments = definition.args
        self._visit(arguments)
        self._visit_annotation(definition.returns)
        for statement in definition.body:
            self._visit(statement)
        start = extent(self.module, definition)[0]
        head = start + len("def ")
        self.edits.append((head, head + len(definition.name), self.item.name))
        return "".join([*(f"@{text}\n" for text in decorators), self._edited(definition)])

    def definition(self, statement: ast.stmt) -> str:
        """The text of a class or an assignment."""
        inner = statement if isinstance(statement, ast.ClassDef) else getattr(statement, "value", statement)
        self.locals = set(_locals(inner))
        if isinstance(statement, ast.ClassDef):
            self._visit(statement)
            return self._edited(statement)
        assert isinstance(statement, ast.Assign | ast.AnnAssign)
        assert statement.value is not None
        value = self._text(statement.value)
        return f"{self.item.name} = {value}"

    def _decorator(self, node: ast.expr) -> str | None:
        name = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Name) and name.id == _DROPPED:
            return None
        return self._text(node)

    def _text(self, node: ast.expr) -> str:
        """An expression alone."""
        kept, self.edits = self.edits, []
        self._visit(node)
        text = self._edited(node)
        self.edits = kept
        return text

    def _edited(self, node: ast.AST) -> str:
        start, end = extent(self.module, node)
        pieces = []
        text = self.module.file.text
        for first, last, replacement in sorted(self.edits):
            pieces += [text[start:first], replacement]
            start = last
        return "".join([*pieces, text[start:end]])

    # -- names

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name):
                if name not in self.locals and not _is_stored(node):
                    self._replace(node, self._name(node, name, [])[0])
                return
            case ast.Attribute():
                chain = chain_of(node)
                if chain is not None and chain[0].id not in self.locals:
                    root, attributes = chain
                    text, used = self._name(root, root.id, [each.attr for each in attributes])
                    self._replace(root if not used else attributes[used - 1], text)
                    return
            case ast.Call(func=ast.Attribute() as function):
                operator = self._own_method(function)
                if operator is not None:
                    self._method_call(node, function, operator)
                    return
            case ast.Constant(value=str()):
                return
            case ast.arg():
                self._visit_annotation(node.annotation)
                return
            case ast.AnnAssign():
                self._visit_annotation(node.annotation)
                self._visit(node.target)
                if node.value is not None:
                    self._visit(node.value)
                return
            case ast.ImportFrom() | ast.Import():
                raise self._missing(node, "an import inside of a function")
        for child in ast.iter_child_nodes(node):
            self._visit(child)

    def _visit_annotation(self, node: ast.expr | None) -> None:
        """Visit a type; what is imported for type checkers alone is any type."""
        if node is not None:
            outer, self.in_annotation = self.in_annotation, True
            self._visit(node)
            self.in_annotation = outer

    def _replace(self, node: ast.AST, text: str | None) -> None:
        if text is not None:
            self.edits.append((*extent(self.module, node), text))

    def _missing(self, node: ast.expr | ast.stmt, reason: str) -> NotPortable:
        return NotPortable(reason, self.module.span(node))

    def _name(self, node: ast.Name, name: str, attributes: Sequence[str]) -> tuple[str | None, int]:
        """What a global name is here, and how many of the attributes after it are a part of that; None: the same."""
        try:
            origin = self.module.imports.get(name)
            if origin is not None:
                return self._imported(node, name, origin, attributes)
            if name in self.module.functions:
                return self.library.name(self.library.function(self.module.name, name), self.item), 0
            if name in self.module.definitions:
                return self.library.name(self.library.definition(self.module.name, name), self.item), 0
        except NotPortable as error:
            if error.place is None:
                error.place = self.module.span(node)
            raise
        if name not in _BUILTINS and self.in_annotation:
            return "Any", 0
        if name not in _BUILTINS and not name.startswith("__"):
            raise self._missing(node, f"'{name}' is defined nowhere")
        return None, 0

    def _imported(
        self, node: ast.Name, name: str, origin: tuple[str, str | None], attributes: Sequence[str]
    ) -> tuple[str | None, int]:
        module, original = origin
        top = module.partition(".")[0]
        if top in STANDARD or (top in _ARRAY_LIBRARIES and self._may_import(top)):
            line = f"import {module}" if original is None else f"from {module} import {original}"
            if name not in (original, module):
                line += f" as {name}"
            self.item.imports[line] = None
            return None, 0
        if (module, original) in OPERATORS:
            return self._operator(node, attributes)
        if original is None and top in _ROOTS:
            if top == "gradwright" and attributes and attributes[0] == "ops":
                text, used = self._operator(node, attributes[1:])
                return text, used + 1
            if attributes:
                text, used = self._of_module(node, module, attributes)
                return text, used
            raise self._missing(node, f"the module {module}")
        if original is not None and top in _ROOTS:
            whole = f"{module}.{original}"
            if whole in self.library.sources.modules or whole in _MODULES:
                if not attributes:
                    raise self._missing(node, f"the module {whole}")
                return self._of_module(node, whole, attributes)
            text, used = self._of_module(node, module, [original, *attributes])
            return text, used - 1
        modules = self.library.sources.modules
        if original is not None and f"{module}.{original}" in modules and attributes:  # a module of the package
            return self._of_module(node, f"{module}.{original}", attributes)
        if original is not None and module in modules:
            return self._of_module(node, module, [original])[0], 0
        raise self._missing(node, f"'{module}' is neither Python's nor NumPy's")

    def _may_import(self, top: str) -> bool:
        return self.origin is Origin.ARRAYS or top == "numpy"

    def _of_module(self, node: ast.Name, module: str, attributes: Sequence[str]) -> tuple[str, int]:
        """What `attributes[0]` of a module is here."""
        first = attributes[0]
        support = _SUPPORT.get((module, first))
        if support is not None:
            return support, 1
        known = self.library.sources.modules.get(module)
        if known is not None and first in known[0].functions:
            return self.library.name(self.library.function(module, first), self.item), 1
        if known is not None and first in known[0].definitions:
            return self.library.name(self.library.definition(module, first), self.item), 1
        if first == "Array" and module in ("runtime.base.arrays", "runtime.base.types"):
            self.item.imports |= {"import numpy as np": None, "from typing import Any": None}
            return "np.ndarray[Any, Any]", 1
        if (module, first) == ("runtime.base.modes", "grad_mode") and attributes[1:2] == ["enabled"]:
            return "torch.is_grad_enabled()", 2
        if module in ("runtime.base.tensor", "runtime.base.types", "runtime.random", "gradwright") and first in _TYPES:
            return _TYPES[first], 1
        if module in ("runtime.base.dtypes", "gradwright") and first in _DTYPES:
            return f"torch.{first}", 1
        if module == "gradwright":
            if first in SHORTENING_MODULES and len(attributes) > 1:
                return self._operator(node, attributes)
            if first in _PUBLIC:
                return f"torch.{first}", 1
            if first in self.library.by_base:
                return self._operator(node, attributes[:1])
        raise self._missing(node, f"'{first}' of {module}")

    # -- operators

    def _operator(self, node: ast.Name, attributes: Sequence[str]) -> tuple[str, int]:
        """The operator of `ops.base.overload`, `ops.linalg.base`, `ops.mylib.base`; how many names are used of it."""
        if not attributes:
            raise self._missing(node, "'ops' is passed as a value")
        library = self.library
        first, *rest = attributes
        if first == library.plan.namespace and rest:
            if rest[0] not in library.own_by_base:
                raise self._missing(node, f"no operator '{rest[0]}'")
            text, used = self._own(rest[0], rest[1:])
            return text, used + 1
        if library.plan.base is None:  # a whole set of operators; these are Gradwright's own, all of which PyTorch has
            return f"torch.ops.aten.{first}", 1
        if first in library.own_by_base:
            return self._own(first, rest)
        base, used = (first, 1)
        if first in SHORTENING_MODULES and first not in library.by_base and rest:
            base, used = f"{first}_{rest[0]}", 2
        candidates = library.by_base.get(base, [])
        if attributes[used:] and attributes[used] in {each.name.overload or "default" for each in candidates}:
            candidates = [each for each in candidates if (each.name.overload or "default") == attributes[used]]
            used += 1
            if candidates and str(candidates[0].name) not in ABSENT:
                return entry_of(candidates[0]), used
        candidates = [each for each in candidates if str(each.name) not in ABSENT]
        if not candidates:
            raise self._missing(node, f"PyTorch has no operator '{base}'")
        functions = {function_of(each) for each in candidates}
        function = functions.pop() if len(functions) == 1 else None
        return function or f"torch.ops.{BUILT_IN_NAMESPACE}.{base}", used

    def _own(self, base: str, rest: Sequence[str]) -> tuple[str, int]:
        candidates = self.library.own_by_base[base]
        if rest and rest[0] in {each.name.overload or "default" for each in candidates}:
            (operator,) = [each for each in candidates if (each.name.overload or "default") == rest[0]]
            return self.library.function_name(operator, self.item), 2
        if len(candidates) == 1:
            return self.library.function_name(candidates[0], self.item), 1
        return f"torch.ops.{self.library.plan.namespace}.{base}", 1

    def _own_method(self, function: ast.Attribute) -> OperatorPlan | None:
        """The package's operator that is called as a method: PyTorch's Tensors do not have it."""
        for operator in self.library.own_by_base.get(function.attr, ()):
            if "method" in operator.source.variants and self.origin is Origin.TENSORS:
                chain = chain_of(function)
                if chain is None or chain[0].id in self.locals:
                    return operator
        return None

    def _method_call(self, node: ast.Call, function: ast.Attribute, operator: OperatorPlan) -> None:
        text, _ = self._own(operator.name.base, ())
        first = extent(self.module, function.value)
        self.edits.append((first[0], first[0], f"{text}("))
        self._visit(function.value)
        opening = self.module.file.text.index("(", extent(self.module, function)[1])
        has_more = bool(node.args or node.keywords)
        self.edits.append((first[1], opening + 1, ", " if has_more else ""))
        for child in (*node.args, *node.keywords):
            self._visit(child)


_NAMING = (ast.FunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_MODULES = frozenset(("runtime.base.dtypes", "runtime.graph.forward", "runtime.base.conditions"))


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _locals(definition: ast.AST) -> Iterator[str]:
    """The names that a definition gives a meaning to, those of inner functions included."""
    for node in ast.walk(definition):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, _NAMING) and node is not definition and node.name:
            yield node.name
