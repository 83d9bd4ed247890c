"""Functions of the runtime as functions over the array API: calls of operators become calls of what is written here.

A function keeps its text but for those calls, the names of types, and what asks whether the computation is recorded:
the answer to that is yes, since whoever calls rules may differentiate them again.
"""

from __future__ import annotations

import ast
import builtins
import copy
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from codegen.bind.call_targets import annotation_type
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    INT_LIST,
    NONE,
    SCALAR,
    STR,
    TENSOR,
    TupleType,
    ValueType,
    conversion_cost,
)
from codegen.python_source import PythonModule
from codegen.python_syntax import OPERATORS, SIGNS, chain_of, defaults, names_set, parameters, positional_parameters
from codegen.schema.types import ListType, OptionalType
from codegen.source import SourceFile
from codegen.targets.python.code import call
from codegen.targets.rules.calls import chosen
from codegen.targets.rules.library import NOT_TRACED, File, Item, Library
from codegen.targets.rules.printer import decided
from codegen.targets.rules.sources import Origin, extent, segment
from codegen.targets.rules.values import BINDINGS, Binding, NotPortable, Value
from codegen.targets.rules.wrapping import dedented

_TYPES = {"Tensor": "Array", "Scalar": "Number", "DType": "DType", "Array": "Array", "Number": "Number",
          "Namespace": "Namespace", "Dims": "Sequence[int] | None"}  # fmt: skip
_DECORATORS = ("in_float32", "linear_in")  # half precision, and what is only declared
_METHODS: Mapping[str, tuple[str, ValueType]] = {
    "dim": ("{0}.ndim", INT),
    "numel": ("math.prod({0}.shape)", INT),
    "is_complex": ("is_complex(xp, {0})", BOOL),
    "is_floating_point": ('xp.isdtype({0}.dtype, "real floating")', BOOL),
    "element_size": ("{0}.element_size()", INT),
}
_ATTRIBUTES: Mapping[str, tuple[str, ValueType]] = {
    "shape": ("{0}.shape", INT_LIST),
    "ndim": ("{0}.ndim", INT),
    "dtype": ("{0}.dtype", DTYPE),
    "real": ("real(xp, {0})", TENSOR),
    "imag": ("imag(xp, {0})", TENSOR),
    "mT": ("{0}.mT", TENSOR),
    "T": ("{0}.T", TENSOR),
    "mH": ("conj(xp, {0}.mT)", TENSOR),
}
_NO_TENSORS = frozenset(("device", "layout"))
# Methods of lists, strings and numbers, which Tensors may have as well.
_OF_PYTHON = frozenset((
    "append", "extend", "index", "count", "insert", "pop", "items", "keys", "values", "get", "copy", "sort", "remove",
    "join", "format", "startswith", "endswith", "conjugate", "is_integer", "bit_length", "update", "add",
))  # fmt: skip
_KNOWN = frozenset(dir(builtins))
# What the runtime's own functions are here: text, and the type of the result.
_FUNCTIONS: Mapping[tuple[str, str], tuple[str, ValueType]] = {
    ("runtime.base.conditions", "holds_anywhere"): ("bool(xp.any({0}))", BOOL),
    ("runtime.base.dtypes", "finfo"): ("xp.finfo({0})", SCALAR),
    ("runtime.graph.forward", "active"): ("True", BOOL),
}
_GRAD_MODE = ("runtime.base.modes", "grad_mode")
_MATH_INTS = frozenset(("prod", "floor", "ceil", "gcd", "comb", "factorial"))


def _short(node: ast.AST) -> str:
    """The first line of code, as much as a message shows."""
    return textwrap.shorten(ast.unparse(node).split("\n")[0], 40, placeholder=" ...")


def write_function(
    library: Library, item: Item, module: PythonModule, definition: ast.FunctionDef, origin: Origin
) -> str:
    """The text of a function."""
    return Translator(library, item, module, origin).function(definition)


def write_definition(library: Library, item: Item, module: PythonModule, statement: ast.stmt, origin: Origin) -> str:
    """The text of a class or a constant."""
    translator = Translator(library, item, module, Origin.ARRAYS)
    if origin is Origin.TENSORS and isinstance(statement, ast.ClassDef):
        raise NotPortable(
            f"the class '{item.key[1]}' is used, and functions alone are translated", module.span(statement)
        )
    if isinstance(statement, ast.ClassDef):
        heads = [f"@{translator.expression(each).text}\n" for each in statement.decorator_list]
        return "".join(heads) + translator.statement(statement)
    return f"{item.name} = {translator.expression(_value_of(statement, item.key[1])).text}"


class Translator:
    """Translates one function of a module; the types of its variables are followed as far as they show."""

    def __init__(self, library: Library, item: Item, module: PythonModule, origin: Origin) -> None:
        self.library = library
        self.item = item
        self.module = module
        self.over_tensors = origin is Origin.TENSORS
        self.of_numpy = item.file is File.KERNELS  # NumPy's arrays, which may be written
        self.types: dict[str, ValueType | None] = {}

    def known(self, node: ast.AST, value: Value) -> None:
        """Refuse a Tensor whose values are asked for, where a framework traces functions without them."""
        if self.library.framework is not None and self.over_tensors and value.type == TENSOR:
            raise self.missing(node, f"values of a Tensor are asked for, which {NOT_TRACED}")

    def missing(self, node: ast.AST, reason: str) -> NotPortable:
        """The error of what can not be written."""
        assert isinstance(node, ast.expr | ast.stmt)
        return NotPortable(reason, self.module.span(node))

    def function(self, definition: ast.FunctionDef) -> str:
        """The whole text."""
        decorators = ""
        for decorator in definition.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(name, ast.Name) and name.id in _DECORATORS:
                continue
            if self.of_numpy:
                decorators += f"@{self.expression(decorator).text}\n"
            else:
                raise self.missing(decorator, f"'{definition.name}' has the decorator '{ast.unparse(decorator)}'")
        self._bind_locals(definition)
        head = self._head(definition)
        body = "".join(self._body(definition.body, "    "))
        return f"{decorators}{head}\n{body}".rstrip("\n")

    def _head(self, definition: ast.FunctionDef) -> str:
        arguments, optional = definition.args, defaults(definition)
        parts = ["xp: Namespace"] if self.over_tensors else []
        parts += [self._parameter(each, optional.get(each.arg)) for each in positional_parameters(definition)]
        if arguments.vararg is not None:
            parts.append(f"*{self._parameter(arguments.vararg, None)}")
        elif arguments.kwonlyargs:
            parts.append("*")
        parts += [self._parameter(each, optional.get(each.arg)) for each in arguments.kwonlyargs]
        if arguments.kwarg is not None:
            parts.append(f"**{self._parameter(arguments.kwarg, None)}")
        returns = "" if definition.returns is None else f" -> {self._annotation(definition.returns)}"
        return f"def {self.item.name}({', '.join(parts)}){returns}:"

    def _parameter(self, parameter: ast.arg, default: ast.expr | None) -> str:
        text = parameter.arg
        if parameter.annotation is not None:
            text += f": {self._annotation(parameter.annotation)}"
        if default is not None:
            text += f"{' = ' if parameter.annotation is not None else '='}{self.expression(default).text}"
        return text

    def _annotation(self, node: ast.expr) -> str:
        shown = _strings_out(node)
        for name in (part for part in ast.walk(shown) if isinstance(part, ast.Name)):
            name.id = self._type_name(name.id)
        return ast.unparse(shown)

    def _type_name(self, name: str) -> str:
        if name in _TYPES:
            return _TYPES[name]
        if name in _KNOWN:
            return name
        origin = self.module.imports.get(name)
        if origin is not None and self.library.may_import(origin[0], self.item):
            self.item.imports[_import_line(name, *origin)] = None
            return name
        if name in self.module.definitions:
            if name in self.module.functions or isinstance(self.module.definitions[name], ast.ClassDef):
                return self.library.name(self.library.definition(self.module.name, name), self.item)
            item = self.library.definition(self.module.name, name)
            return self.library.name(item, self.item)
        return "Any"

    def _bind_locals(self, definition: ast.FunctionDef) -> None:
        """Know what is a variable of the function, and the types of its parameters."""
        self.types |= dict.fromkeys(names_set(definition) - self.types.keys())
        for each in parameters(definition):
            self.types[each.arg] = None if each.annotation is None else annotation_type(ast.unparse(each.annotation))
        rest = definition.args.vararg
        if rest is not None:
            annotation = rest.annotation
            inner = None if annotation is None else annotation_type(ast.unparse(annotation))
            self.types[rest.arg] = None if inner is None or isinstance(inner, TupleType) else ListType(inner)

    # -- statements

    def _body(self, statements: Sequence[ast.stmt], indent: str) -> Iterator[str]:
        """The lines of statements with the comments between them."""
        text = self.module.file.text
        first, last = extent(self.module, statements[0])[0], extent(self.module, statements[-1])[1]
        first = text.rfind("\n", 0, first) + 1
        end = text.find("\n", last)
        pieces = []
        position = first
        for statement in statements:
            start, stop = extent(self.module, statement)
            if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
                raise self.missing(statement, "an inner function has a decorator")
            pieces += [text[position:start], self.statement(statement)]
            position = stop
        pieces.append(text[position : len(text) if end < 0 else end])
        yield "\n".join(line for line in _without_gaps("".join(pieces)))

    def statement(self, node: ast.stmt) -> str:
        """A statement, with those inside of it."""
        match node:
            case ast.If():
                return self._if(node)
            case ast.Assign(targets=[ast.Name() as target]):
                value = self.expression(node.value)
                self._assign(target, value.type)
                return self._spliced(node, {node.value: value.text, target: self._target(target)})
            case ast.Assign():
                value = self.expression(node.value)
                edits: dict[ast.AST, str] = {node.value: value.text}
                for each in node.targets:
                    edits[each] = self._target(each)
                    self._assign(each, value.type)
                return self._spliced(node, edits)
            case ast.AnnAssign():
                type = annotation_type(ast.unparse(node.annotation))
                self._assign(node.target, type)
                edits = {node.annotation: self._annotation(node.annotation), node.target: self._target(node.target)}
                if node.value is not None:
                    edits[node.value] = self.expression(node.value).text
                return self._spliced(node, edits)
            case ast.AugAssign(target=ast.Name() as target):
                value = self.expression(node.value)
                old = self.types.get(target.id)
                if old == TENSOR or value.type == TENSOR or (self.over_tensors and old is None and value.type is None):
                    # Arrays are never written.
                    sign = SIGNS[type_of(node.op)]
                    self.types[target.id] = TENSOR
                    return f"{target.id} = {target.id} {sign} {value.within(Binding(BINDINGS[sign] + 1))}"
                return self._spliced(node, {node.value: value.text})
            case ast.AugAssign() if not self.of_numpy:
                raise self.missing(node, "a Tensor is written in place")
            case ast.For():
                source = self.expression(node.iter)
                self._assign(node.target, _element(source.type))
                edits = {node.iter: source.text}
                edits |= {each: self.statement(each) for each in (*node.body, *node.orelse)}
                return self._spliced(node, edits)
            case ast.FunctionDef():
                return self._inner(node)
            case ast.Expr(value=ast.Constant(value=str())):
                return segment(self.module, node)
        edits = {}
        decorators = node.decorator_list if isinstance(node, ast.ClassDef) else []  # which stand before it
        for child in _children(node):
            if child in decorators:
                continue
            if isinstance(child, ast.withitem | ast.excepthandler | ast.match_case) and not self.of_numpy:
                raise self.missing(node, f"'{_short(node)}' is a statement that is not translated")
            if isinstance(child, ast.expr):
                edits[child] = self.expression(child).text
            elif isinstance(child, ast.stmt):
                edits[child] = self.statement(child)
        return self._spliced(node, edits)

    def _if(self, node: ast.If) -> str:
        test = self.expression(node.test)
        self.known(node.test, test)
        if test.constant is not None:
            kept = node.body if test.constant else node.orelse
            if not kept:
                return ""
            return self._dedented(kept, node)
        known = dict(self.types)
        edits: dict[ast.AST, str] = {node.test: test.text}
        narrowed = self._narrowed(node.test)
        self.types |= narrowed[0]
        edits |= {each: self.statement(each) for each in node.body}
        after = self.types
        self.types = known | narrowed[1]
        edits |= {each: self.statement(each) for each in node.orelse}
        leaves = isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue)
        if leaves:
            return self._spliced(node, edits)
        merged = {name: _joined(after.get(name), self.types.get(name)) for name in {*after, *self.types}}
        self.types = merged
        return self._spliced(node, edits)

    def _narrowed(self, test: ast.expr) -> tuple[dict[str, ValueType | None], dict[str, ValueType | None]]:
        """What is known of variables where a test holds, and where it does not."""
        match test:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return {name: NONE}, self._defined(name)
            case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return self._defined(name), {}
            case ast.BoolOp(op=ast.And()):
                holds: dict[str, ValueType | None] = {}
                for part in test.values:
                    holds |= self._narrowed(part)[0]
                return holds, {}
        return {}, {}

    def _defined(self, name: str) -> dict[str, ValueType | None]:
        type = self.types.get(name)
        return {name: type.elem} if isinstance(type, OptionalType) else {}

    def _dedented(self, body: Sequence[ast.stmt], node: ast.If) -> str:
        """The statements of a side that is always taken."""
        column = body[0].col_offset
        if isinstance(body[0], ast.If) and body[0].col_offset == node.col_offset:  # elif
            return self.statement(body[0])
        text = self.module.file.text
        pieces = []
        position = extent(self.module, body[0])[0]
        for each in body:
            start, stop = extent(self.module, each)
            pieces += [text[position:start], self.statement(each)]
            position = stop
        return dedented("".join(pieces), column - node.col_offset)

    def _inner(self, node: ast.FunctionDef) -> str:
        known = dict(self.types)
        for each in parameters(node):
            self.types[each.arg] = None if each.annotation is None else annotation_type(ast.unparse(each.annotation))
        edits: dict[ast.AST, str] = {}
        for parameter in parameters(node):
            if parameter.annotation is not None:
                edits[parameter.annotation] = self._annotation(parameter.annotation)
        for default in defaults(node).values():
            edits[default] = self.expression(default).text
        if node.returns is not None:
            edits[node.returns] = self._annotation(node.returns)
        edits |= {each: self.statement(each) for each in node.body}
        self.types = known
        self.types[node.name] = None
        return self._spliced(node, edits)

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Subscript) and self.over_tensors:
            receiver = self.expression(node.value)
            if receiver.type is None or conversion_cost(receiver.type, TENSOR) is not None:
                raise self.missing(node, "a Tensor is written in place")
            return f"{receiver.text}[{self._index(node.slice)}]"
        if isinstance(node, ast.Attribute) and not self.of_numpy:
            raise self.missing(node, "an attribute is written")
        return segment(self.module, node)

    def _assign(self, target: ast.expr, type: ValueType | None) -> None:
        match target:
            case ast.Name(id=name):
                self.types[name] = type
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                if isinstance(type, TupleType) and len(type.elems) == len(elts):
                    parts: Sequence[ValueType | None] = type.elems
                else:
                    parts = [_element(type)] * len(elts)
                for each, part in zip(elts, parts, strict=True):
                    self._assign(each, part)
            case ast.Starred(value=value):
                self._assign(value, None if type is None or isinstance(type, TupleType) else ListType(type))

    def _spliced(self, node: ast.AST, edits: Mapping[ast.AST, str]) -> str:
        """The text of a node with other texts for some of its parts."""
        start, end = extent(self.module, node)
        text = self.module.file.text
        pieces = []
        for part in sorted(edits, key=lambda each: extent(self.module, each)):
            first, last = extent(self.module, part)
            pieces += [text[start:first], edits[part]]
            start = last
        return "".join([*pieces, text[start:end]])

    # -- expressions

    def expression(self, node: ast.expr) -> Value:
        """An expression, with its type."""
        try:
            return self._expression(node)
        except NotPortable as error:
            if error.place is None:
                error.place = self.module.span(node)
            raise

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Constant(value=value):
                constant = value if isinstance(value, bool) else None
                return Value(segment(self.module, node), _type_of_constant(value), constant=constant)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                parts = []
                known = dict(self.types)
                for each in node.values:
                    parts.append(self.expression(each))
                    self.types |= self._narrowed(each)[0 if isinstance(node.op, ast.And) else 1]
                self.types = known
                if any(part.constant is not None for part in parts):
                    return decided(parts, isinstance(node.op, ast.And))
                binding = Binding.AND if isinstance(node.op, ast.And) else Binding.OR
                types = {part.type for part in parts}
                text = self._spliced(node, {n: v.within(binding) for n, v in zip(node.values, parts, strict=True)})
                return Value(text, types.pop() if len(types) == 1 else BOOL, binding)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self._display(node, elts)
            case ast.ListComp() | ast.GeneratorExp():
                known = dict(self.types)
                edits: dict[ast.AST, str] = {}
                for generator in node.generators:
                    source = self.expression(generator.iter)
                    edits[generator.iter] = source.text
                    self._assign(generator.target, _element(source.type))
                    edits |= {test: self.expression(test).text for test in generator.ifs}
                element = self.expression(node.elt)
                edits[node.elt] = element.text
                text = self._spliced(node, edits)
                self.types = known
                known_type = (
                    None if element.type is None or isinstance(element.type, TupleType) else ListType(element.type)
                )
                return Value(text, known_type)
            case ast.Starred():
                inner = self.expression(node.value)
                return Value(f"*{inner.within(Binding.BITS)}", None)
            case ast.JoinedStr():
                return self._text(node)
            case ast.Slice():
                return Value(self._index(node), None)
            case ast.Lambda():
                for parameter in node.args.args:
                    self.types[parameter.arg] = None
                body = self.expression(node.body)
                return Value(self._spliced(node, {node.body: body.text}), None, Binding.CHOICE)
            case ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp():
                edits = {}
                if isinstance(node, ast.Dict | ast.Set):
                    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                    edits = {child: self.expression(child).text for child in children}
                    return Value(self._spliced(node, edits), None)
        if self.of_numpy:
            edits = {child: self.expression(child).text for child in _children(node) if isinstance(child, ast.expr)}
            return Value(self._spliced(node, edits), None, Binding.CHOICE)
        raise self.missing(node, f"'{_short(node)}' is an expression that is not translated")

    def _text(self, node: ast.JoinedStr) -> Value:
        """A text with values in it, whose places not every Python knows: each is written as if it stood alone."""
        own = self.module
        changed = False
        node = copy.deepcopy(node)  # trees of modules are kept
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                written = ast.unparse(part.value)
                self.module = replace(own, file=SourceFile(own.file.path, written))
                try:
                    text = self._expression(ast.parse(written, mode="eval").body).text
                finally:
                    self.module = own
                changed = changed or text != written
                part.value = ast.parse(text, mode="eval").body
        return Value(ast.unparse(node) if changed else segment(own, node), STR)

    def _display(self, node: ast.expr, elts: Sequence[ast.expr]) -> Value:
        values = [self.expression(each) for each in elts]
        text = self._spliced(node, {each: value.text for each, value in zip(elts, values, strict=True)})
        types = {value.type for value in values if not value.text.startswith("*")}
        if isinstance(node, ast.Tuple) and len(values) > 1 and None not in types and len(types) > 1:
            return Value(text, TupleType(tuple(value.type for value in values if value.type is not None)))
        if not values:
            return Value(text, ListType(NONE))
        stars = [each for each in elts if isinstance(each, ast.Starred)]
        for star in stars:
            types.add(_element(self.expression(star.value).type))
        if len(types) > 1 and types <= {INT, BOOL, FLOAT, SCALAR}:
            types = {max(types, key=_rank)}
        if TENSOR in types and types <= {TENSOR, NONE, OptionalType(TENSOR)} and len(types) > 1:
            types = {OptionalType(TENSOR)}
        only = types.pop() if len(types) == 1 else None
        return Value(text, None if only is None or isinstance(only, TupleType) else ListType(only))

    def _name(self, node: ast.expr, name: str) -> Value:
        if name in self.types:
            return Value(name, self.types[name])
        if name in _TYPES and name in self.module.imports:
            return Value(_TYPES[name])
        if name in self.module.functions:
            item = self.library.function(self.module.name, name)
            if item.takes_namespace and self.over_tensors:
                raise self.missing(node, f"'{name}' is passed as a value")
            return Value(self.library.name(item, self.item))
        if name in self.module.definitions:
            item = self.library.definition(self.module.name, name)
            return Value(self.library.name(item, self.item), self._constant_type(self.module.definitions[name]))
        origin = self.module.imports.get(name)
        if origin is not None:
            return self._imported(node, name, origin)
        if name in _KNOWN or name == "__name__":
            return Value(name)
        return Value(name)  # a variable of an inner function

    @staticmethod
    def _constant_type(statement: ast.stmt) -> ValueType | None:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            return _type_of_constant(statement.value.value)
        return (
            FLOAT if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp | ast.Call) else None
        )

    def _imported(self, node: ast.expr, name: str, origin: tuple[str, str | None]) -> Value:
        module, original = origin
        if self.library.may_import(module, self.item):
            self.item.imports[_import_line(name, module, original)] = None
            return Value(name, FLOAT if module == "math" and original in ("inf", "pi", "nan") else None)
        if original is not None and module in self.library.sources.modules:
            other, _ = self.library.sources.modules[module]
            if original in other.functions:
                return Value(self.library.name(self.library.function(module, original), self.item))
            if original in other.definitions:
                return Value(self.library.name(self.library.definition(module, original), self.item))
        raise self.missing(node, f"'{module}.{name}' is used, which is not translated")

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.expression(node.left), self.expression(node.right)
        sign = SIGNS.get(type_of(node.op), "")
        if not sign and self.of_numpy:
            return Value(self._spliced(node, {node.left: left.text, node.right: right.text}), None, Binding.OR)
        if not sign:
            raise self.missing(node, "a shift of bits")
        binding = BINDINGS[sign]
        left_binding = Binding(binding + 1) if binding is Binding.POWER else binding
        right_binding = binding if binding is Binding.POWER else Binding(binding + 1)
        text = f"{left.within(left_binding)} {sign} {right.within(right_binding)}"
        return Value(text, _arithmetic(sign, left.type, right.type), binding)

    def _unary(self, node: ast.UnaryOp) -> Value:
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            constant = None if operand.constant is None else not operand.constant
            return Value(f"not {operand.within(Binding.NOT)}", BOOL, Binding.NOT, constant)
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type_of(node.op)]  # type: ignore[index]
        return Value(f"{sign}{operand.within(Binding.SIGN)}", operand.type, Binding.SIGN)

    def _compare(self, node: ast.Compare) -> Value:
        parts = [node.left, *node.comparators]
        values = [self.expression(part) for part in parts]
        texts = [value.within(Binding.BITS) for value in values]
        signs = [_COMPARISONS[type_of(op)] for op in node.ops]
        if any(value.type == DTYPE for value in values):  # which are equal, here, and not the same object
            signs = [{"is": "==", "is not": "!="}.get(sign, sign) for sign in signs]
        text = texts[0] + "".join(f" {sign} {each}" for sign, each in zip(signs, texts[1:], strict=True))
        of_tensors = any(value.type == TENSOR for value in values) and not {"is", "is not", "in", "not in"} & {*signs}
        return Value(text, TENSOR if of_tensors else BOOL, Binding.COMPARISON)

    def _choice(self, node: ast.IfExp) -> Value:
        test = self.expression(node.test)
        self.known(node.test, test)
        holds, fails = self._narrowed(node.test)
        known = dict(self.types)
        self.types = known | holds
        then = self.expression(node.body)
        self.types = known | fails
        orelse = self.expression(node.orelse)
        self.types = known
        if test.constant is not None:
            return then if test.constant else orelse
        text = f"{then.within(Binding.OR)} if {test.within(Binding.OR)} else {orelse.within(Binding.CHOICE)}"
        return Value(text, _joined(then.type, orelse.type), Binding.CHOICE)

    def _subscript(self, node: ast.Subscript) -> Value:
        receiver = self.expression(node.value)
        text = f"{receiver.within(Binding.CALL)}[{self._index(node.slice)}]"
        type = receiver.type
        if type == TENSOR:
            return Value(text, TENSOR)
        if isinstance(node.slice, ast.Slice):
            return Value(text, type)
        if isinstance(type, TupleType):
            match node.slice:
                case ast.Constant(value=int() as place) if place < len(type.elems):
                    return Value(text, type.elems[place])
            return Value(text, None)
        return Value(text, _element(type))

    def _index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice):
            parts = [node.lower, node.upper, node.step]
            return self._spliced(node, {part: self.expression(part).text for part in parts if part is not None})
        if isinstance(node, ast.Tuple):
            return self._spliced(node, {each: self._index(each) for each in node.elts})
        return self.expression(node).text

    def _attribute(self, node: ast.Attribute) -> Value:
        name = node.attr
        if isinstance(node.value, ast.Name) and node.value.id not in self.types:
            origin = self.module.imports.get(node.value.id)
            if origin is not None:
                full = origin[0] if origin[1] is None else f"{origin[0]}.{origin[1]}"
                if (origin[0], origin[1]) == _GRAD_MODE and name == "enabled":
                    return Value("True", BOOL, constant=True)
                if full == "runtime.base.dtypes":
                    return Value(f"xp.{name}", DTYPE)
                if self.library.may_import(full, self.item):
                    self.item.imports[_import_line(node.value.id, *origin)] = None
                    return Value(f"{node.value.id}.{name}", FLOAT if full == "math" else None)
                if full in self.library.sources.modules:
                    return self._of_module(node, full, name)
                raise self.missing(node, f"'{full}.{name}' is used, which is not translated")
        if isinstance(node.value, ast.Name) and node.value.id == "xp" and not self.over_tensors:
            return Value(f"xp.{name}")
        receiver = self.expression(node.value)
        if self.over_tensors and self._may_be_tensor(receiver):
            if name == "is_meta":
                return Value("False", BOOL, constant=False)
            if name == "requires_grad":
                return Value("True", BOOL, constant=True)
            known = _ATTRIBUTES.get(name)
            if known is not None and (receiver.type is not None or name in ("shape", "dtype", "ndim", "mT", "mH")):
                self._import(known[0])
                return Value(known[0].format(receiver.within(Binding.CALL)), known[1])
            if receiver.type is not None or name.startswith("_") or name in _NO_TENSORS:
                asked = name in _NO_TENSORS
                raise self.missing(
                    node,
                    f"the {name} of a Tensor is asked for, which is not known" if asked else f"arrays have no '{name}'",
                )
        return Value(f"{receiver.within(Binding.CALL)}.{name}", receiver.type if name in ("real", "imag") else None)

    def _of_module(self, node: ast.expr, module: str, name: str) -> Value:
        other, _ = self.library.sources.modules[module]
        if name in other.functions:
            return Value(self.library.name(self.library.function(module, name), self.item))
        if name in other.definitions:
            return Value(self.library.name(self.library.definition(module, name), self.item))
        raise self.missing(node, f"'{module}.{name}' is used, which is not translated")

    def _import(self, template: str) -> None:
        for name in ("conj", "real", "imag", "is_complex"):
            if f"{name}(" in template:
                self.item.imports[name] = None
        if "math." in template:
            self.item.imports["import math"] = None

    @staticmethod
    def _may_be_tensor(value: Value) -> bool:
        return value.type is None or value.type == TENSOR or value.type == OptionalType(TENSOR)

    # -- calls

    def _call(self, node: ast.Call) -> Value:
        function = node.func
        if not self.over_tensors:
            return self._plain_call(node)
        if isinstance(function, ast.Attribute):
            packet = self._operator_named(function)
            if packet is not None:
                return self._operator(node, *packet, None)
            return self._method(node, function)
        return self._plain_call(node)

    def _operator_named(self, function: ast.Attribute) -> tuple[str, str | None] | None:
        """The base name and perhaps the overload of `ops.base`, `ops.base.overload` and `ops.linalg.base`."""
        first, attributes = chain_of(function) or (None, [])
        if first is None or first.id in self.types or self.module.imports.get(first.id) not in OPERATORS:
            return None
        names = [attribute.attr for attribute in attributes]
        if len(names) > 1 and names[0] == self.library.plan.namespace:
            del names[0]
        if len(names) == 1:
            return names[0], None
        if names[0] in self.library.by_base:
            return names[0], names[1]
        return f"{names[0]}_{names[1]}", names[2] if len(names) > 2 else None

    def _arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self.missing(node, "an operator is called with arguments of a list, whose number is not known")
        args = [self.expression(each) for each in node.args]
        return args, {each.arg: self.expression(each.value) for each in node.keywords if each.arg is not None}

    def _operator(self, node: ast.Call, base: str, overload: str | None, receiver: Value | None) -> Value:
        candidates = self.library.by_base.get(base, [])
        if overload is not None:
            wanted = "" if overload == "default" else overload
            candidates = [each for each in candidates if each.name.overload == wanted]
        if not candidates:
            raise self.missing(node, f"the operator '{base}' can not be called")
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and receiver is not None:
            packed = self.expression(node.args[0].value)
            args = [packed]
            keywords: dict[str, Value] = {}
        else:
            args, keywords = self._arguments(node)
        keywords.pop("device", None)  # that of the arguments, in any case
        if receiver is not None:
            args = [receiver, *args]
        try:
            operator, values = chosen(base, candidates, args, keywords, receiver is not None)
            return self.library.call(operator, values, self.item)
        except NotPortable as error:
            if error.place is None:
                error.place = self.module.span(node)
            raise

    def _method(self, node: ast.Call, function: ast.Attribute) -> Value:
        name = function.attr
        if isinstance(function.value, ast.Name) and function.value.id not in self.types:
            origin = self.module.imports.get(function.value.id)
            if origin is not None and (origin[1] is None or f"{origin[0]}.{origin[1]}" in self._modules_known(origin)):
                return self._plain_call(node)
        receiver = self.expression(function.value)
        if not self._may_be_tensor(receiver):
            return self._rest(node, f"{receiver.within(Binding.CALL)}.{name}", None)
        if name in _METHODS and not node.args:
            template, type = _METHODS[name]
            self._import(template)
            return Value(template.format(receiver.within(Binding.CALL)), type)
        if name == "size":
            if not node.args:
                return Value(f"{receiver.within(Binding.CALL)}.shape", INT_LIST)
            place = self.expression(node.args[0]).text
            return Value(f"{receiver.within(Binding.CALL)}.shape[{place}]", INT)
        if name == "item":
            self.known(node, Value("", TENSOR))
            return Value(f"{receiver.within(Binding.CALL)}.item()", SCALAR)
        if name == "tolist":
            raise self.missing(node, "values are taken out of a Tensor")
        if name == "to" and len(node.args) == 1 and self.expression(node.args[0]).type == DTYPE:
            return self._operator_cast(node, receiver)
        if receiver.type is None and (name in _OF_PYTHON or name not in self.library.by_base):
            return self._rest(node, f"{receiver.within(Binding.CALL)}.{name}", None)
        if name.endswith("_") and not name.startswith("_"):
            raise self.missing(node, f"a Tensor is written in place by '{name}'")
        return self._operator(node, name, None, receiver)

    def _operator_cast(self, node: ast.Call, receiver: Value) -> Value:
        operator = self.library.operators["_to_copy"]
        values = {"self": receiver, "dtype": self.expression(node.args[0])}
        return self.library.call(operator, values, self.item)

    def _modules_known(self, origin: tuple[str, str | None]) -> Iterable[str]:
        full = f"{origin[0]}.{origin[1]}"
        known = full in self.library.sources.modules or full in ("runtime.base.dtypes", "runtime.graph.forward")
        return (full,) if known else ()

    def _plain_call(self, node: ast.Call) -> Value:
        """A call of a function of Python: of the module, of another one, of Python's own."""
        function = node.func
        key = self._function_called(function)
        if key is not None:
            known = _FUNCTIONS.get(key)
            if known is not None:
                args = [self.expression(each) for each in node.args]
                if "bool(" in known[0]:
                    self.known(node, args[0])
                text = known[0].format(*[arg.text for arg in args])
                return Value(text, known[1], constant=True if text == "True" else None)
            module, name = key
            if module in self.library.sources.modules and name in self.library.sources.modules[module][0].functions:
                item = self.library.function(module, name)
                definition = self.library.sources.modules[module][0].functions[name]
                returns = None if definition.returns is None else annotation_type(ast.unparse(definition.returns))
                called = self.library.name(item, self.item)
                own = self.library.sources.modules[module][1] is Origin.TENSORS
                if own and not self.over_tensors:
                    raise self.missing(node, f"'{name}' works on Tensors")
                return self._rest(node, called, returns, ["xp"] if own else [])
        called = self.expression(function).text
        return self._rest(node, called, self._type_of_call(node, called))

    def _function_called(self, function: ast.expr) -> tuple[str, str] | None:
        match function:
            case ast.Name(id=name) if name not in self.types:
                if name in self.module.functions:
                    return self.module.name, name
                origin = self.module.imports.get(name)
                return None if origin is None or origin[1] is None else (origin[0], origin[1])
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.types:
                origin = self.module.imports.get(name)
                if origin is not None:
                    return (origin[0] if origin[1] is None else f"{origin[0]}.{origin[1]}"), attr
        return None

    def _rest(self, node: ast.Call, function: str, type: ValueType | None, before: Sequence[str] = ()) -> Value:
        args = [self.expression(each).text for each in node.args]
        for keyword in node.keywords:
            text = self.expression(keyword.value).text
            args.append(f"**{text}" if keyword.arg is None else f"{keyword.arg}={text}")
        if len(node.args) == 1 and not node.keywords and not before and isinstance(node.args[0], ast.GeneratorExp):
            return Value(f"{function}{args[0]}" if args[0].startswith("(") else call(function, args), type)
        return Value(call(function, [*before, *args]), type)

    def _type_of_call(self, node: ast.Call, called: str) -> ValueType | None:
        first = self.expression(node.args[0]).type if node.args else None
        if called in ("bool", "int", "float", "complex") and first == TENSOR:
            self.known(node, Value("", first))
        if called in ("len", "int", "round") or called.removeprefix("math.") in _MATH_INTS:
            return INT
        if called in ("isinstance", "bool", "any", "all"):
            return BOOL
        if called == "float" or called.startswith(("math.", "cmath.")):
            return FLOAT
        if called in ("list", "tuple", "reversed", "sorted"):
            if isinstance(first, ListType):
                return first
            element = _element(first)
            return None if element is None or isinstance(element, TupleType) else ListType(element)
        if called == "range":
            return INT_LIST
        if called in ("max", "min", "sum", "abs"):
            return _element(first) if isinstance(first, ListType) else first
        if called == "cast" and len(node.args) == 2:
            return annotation_type(ast.unparse(_strings_out(node.args[0])))
        if called in ("zip", "enumerate"):
            parts = [_element(self.expression(each).type) for each in node.args]
            parts = [INT, *parts] if called == "enumerate" else parts
            known = [part for part in parts if part is not None]
            return None if len(known) < len(parts) else _Rows(tuple(known))
        return None


class _Rows(TupleType):
    """What `zip` and `enumerate` give: each of them is such a tuple."""

    __slots__ = ()


_RANK = [BOOL, INT, FLOAT, SCALAR]


def _rank(type: ValueType | None) -> int:
    """The place of a number among those of which one becomes the other."""
    return next((place for place, each in enumerate(_RANK) if each == type), 0)


_COMPARISONS: Mapping[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _value_of(statement: ast.stmt, name: str) -> ast.expr:
    """What a statement of a module gives a name."""
    assert isinstance(statement, ast.Assign | ast.AnnAssign)
    assert statement.value is not None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    match target, statement.value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values):
            return next(v for n, v in zip(names, values, strict=True) if isinstance(n, ast.Name) and n.id == name)
    return statement.value


def type_of(node: ast.AST) -> type[ast.AST]:
    """The class of a node."""
    return type(node)


def _type_of_constant(value: object) -> ValueType | None:
    if value is None:
        return NONE
    kinds = {bool: BOOL, int: INT, float: FLOAT, complex: SCALAR, str: STR}
    return kinds.get(type(value))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions and statements in a node, and between them what is neither: the parts of `with` and `try`."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, ast.withitem | ast.excepthandler | ast.match_case | ast.comprehension):
            yield from _children(child)


def _import_line(name: str, module: str, original: str | None) -> str:
    """The statement that gives a name its meaning."""
    line = f"import {module}" if original is None else f"from {module} import {original}"
    return line if name == (original or module) else f"{line} as {name}"


def _element(type: ValueType | None) -> ValueType | None:
    if isinstance(type, _Rows):
        return TupleType(type.elems)
    if isinstance(type, ListType):
        return type.elem
    if isinstance(type, TupleType) and len(set(type.elems)) == 1:
        return type.elems[0]
    return TENSOR if type == TENSOR else None


def _joined(first: ValueType | None, second: ValueType | None) -> ValueType | None:
    """The type of what is one or the other."""
    if first == second:
        return first
    for one, other in ((first, second), (second, first)):
        if one == NONE and other is not None and not isinstance(other, TupleType):
            return other if isinstance(other, OptionalType) else OptionalType(other)
        if isinstance(one, OptionalType) and one.elem == other:
            return one
        if isinstance(one, ListType) and one.elem == NONE and isinstance(other, ListType):
            return other
    if first in _RANK and second in _RANK:
        return max(first, second, key=_rank)
    return None


def _arithmetic(sign: str, left: ValueType | None, right: ValueType | None) -> ValueType | None:
    if left == TENSOR or right == TENSOR:
        return TENSOR
    if left == OptionalType(TENSOR) or right == OptionalType(TENSOR):
        return TENSOR
    if isinstance(left, ListType) and left.elem != NONE:
        return left
    if isinstance(right, ListType):
        return right
    if isinstance(left, ListType):
        return left
    if left in _RANK and right in _RANK:
        return FLOAT if sign == "/" and SCALAR not in (left, right) else max(left, right, INT, key=_rank)
    return None


def _strings_out(node: ast.expr) -> ast.expr:
    """An annotation without quotes around its parts; a copy."""
    return ast.parse(ast.unparse(node).replace("'", ""), mode="eval").body


def _without_gaps(text: str) -> Iterator[str]:
    """The lines, but for those of which nothing is left."""
    for line in text.split("\n"):
        if line.strip() or not line:
            yield line.rstrip()
