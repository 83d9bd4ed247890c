"""One formula: its syntax tree in, its typed tree out.

Every name is bound to an argument, a result or a gradient, every call to one overload of an operator, one helper or one
intrinsic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from codegen.bind.call_targets import OperatorTable, Target, helper_target
from codegen.formula import syntax
from codegen.formula.intrinsics import list_intrinsic, scalar_intrinsic, tensor_intrinsic
from codegen.formula.typed import (
    BOOL,
    BOOL_LIST,
    DEVICE,
    DTYPE,
    FLOAT,
    GEOMETRY,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    OPTIONS,
    SCALAR,
    STR,
    TENSOR,
    Arithmetic,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    OperatorCall,
    TupleDisplay,
    TupleType,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
    conversion_cost,
    plain_type,
)
from codegen.read.model import NativeFunction
from codegen.schema.types import ListType, OptionalType
from codegen.source import Diagnostics, Text
from codegen.words import did_you_mean

_NUMBERS = (BOOL, INT, FLOAT, SCALAR)
_BINARY_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "remainder", "==": "eq", "!=": "ne", "<": "lt", "<=": "le",
    ">": "gt", ">=": "ge", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
}  # fmt: skip
_REFLECTED = {
    "add": "add",
    "mul": "mul",
    "sub": "rsub",
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
}
_UNARY_OPERATORS = {"-": "neg", "!": "logical_not", "~": "bitwise_not"}
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_NAMESPACES = ("at::", "torch::", "_ops::", "native::")
_NONE_NAMES = frozenset(("std::nullopt", "::std::nullopt", "c10::nullopt", "nullopt"))
_CONSTANTS: dict[str, tuple[ValueType, float | str]] = {
    "M_PI": (FLOAT, math.pi),
    "M_LN2": (FLOAT, math.log(2.0)),
    "M_LN10": (FLOAT, math.log(10.0)),
    "M_SQRT2": (FLOAT, math.sqrt(2.0)),
    "at::Reduction::None": (INT, 0),
    "at::Reduction::Mean": (INT, 1),
    "at::Reduction::Sum": (INT, 2),
    "c10::MemoryFormat::Contiguous": (MEMORY_FORMAT, "contiguous_format"),
    "c10::kStrided": (LAYOUT, "strided"),
    "c10::kJagged": (LAYOUT, "jagged"),
    "at::kBool": (DTYPE, "bool"),
    "at::kLong": (DTYPE, "int64"),
}
# Constructors that change nothing of a value, as far as formulas see it.
_CONVERSIONS = frozenset((
    "Scalar", "at::Scalar", "c10::Scalar", "IntArrayRef", "at::IntArrayRef", "SymIntArrayRef", "c10::SymInt",
    "at::OptionalArrayRef", "c10::OptionalArrayRef", "at::native::get_nested_tensor_impl",
))  # fmt: skip
_BOOLS = frozenset(("true", "false"))
_NUMBER_FUNCTIONS = frozenset(("sqrt", "exp", "log"))
_SYMBOLIC_SUFFIX = "_symint"
# Methods of C++ classes behind Tensors that an operator stands for.
_METHODS = {"get_nested_sizes": "_nested_tensor_size"}
# `original_self_p`: what the argument of an in-place operator was before the write.
_BEFORE_WRITE = "original_"
# The variable of formulas for lists of Tensors: `grads[i]`.
ELEMENT_INDEX = "i"
_MEANINGS = {
    VariableKind.INPUT: "an argument",
    VariableKind.OUTPUT: "a result",
    VariableKind.GRAD: "a gradient that comes in",
    VariableKind.GRADS: "the list of gradients that come in",
    VariableKind.MASK: "the mask of gradients that are asked for",
    VariableKind.RETAIN: "whether saved state is kept",
    VariableKind.TANGENT: "a tangent",
    VariableKind.PARAMETER: "the number of an element",
}


class Scope:
    """The names that the formulas of one operator may use, with what they stand for.

    `ambiguous` holds those that stand for two things, as `grad` does where an argument has that name: no formula may
    use them.
    """

    def __init__(
        self, function: NativeFunction, differentiable_outputs: Sequence[int], by_element: bool = False
    ) -> None:
        schema = function.schema
        self.by_element = by_element
        self.variables: dict[str, tuple[VariableKind, int, ValueType]] = {}
        self.ambiguous: dict[str, str] = {}
        arguments = {argument.name for argument in schema.arguments}
        for argument in schema.arguments:
            self._add(argument.name, VariableKind.INPUT, plain_type(argument.type))
        self.result_types = [plain_type(result.type) for result in schema.returns]
        for index, result in enumerate(schema.returns):
            self._add(
                "result" if len(schema.returns) == 1 else f"result{index}",
                VariableKind.OUTPUT, self.result_types[index], index,
            )  # fmt: skip
            if result.name is not None and result.name not in arguments:  # else it is the argument, as in PyTorch
                self._add(result.name, VariableKind.OUTPUT, self.result_types[index], index)
        if by_element:
            self._add(ELEMENT_INDEX, VariableKind.PARAMETER, INT)
        for name in (_CONSTANTS.keys() | _NONE_NAMES | _BOOLS) & self.variables.keys():
            self.ambiguous[name] = f"{_MEANINGS[self.variables[name][0]]} and a constant"
        self.differentiable_outputs = differentiable_outputs
        self.schema = schema

    def _add(self, name: str, kind: VariableKind, type: ValueType, index: int = 0) -> None:
        known = self.variables.setdefault(name, (kind, index, type))
        if known[:2] != (kind, index):
            self.ambiguous.setdefault(name, f"{_MEANINGS[known[0]]} and {_MEANINGS[kind]}")

    def backward(self) -> None:
        """Add the names of backward formulas: gradients and `grad_input_mask`."""
        outputs = self.differentiable_outputs
        if outputs:
            is_list = len(self.schema.returns) == 1 and self.result_types[outputs[0]] != TENSOR
            if not is_list:  # the results of Tensor[] have as many gradients as the run makes
                self._add("grad", VariableKind.GRAD, TENSOR)
            self._add("grads", VariableKind.GRADS, ListType(TENSOR))
        for position, index in enumerate(outputs):
            name = self.schema.returns[index].name
            if name is not None:
                self._add(f"grad_{name}", VariableKind.GRAD, TENSOR, position)
        self._add("grad_input_mask", VariableKind.MASK, BOOL_LIST)
        self._add("retain_variables", VariableKind.RETAIN, BOOL)

    def forward(self) -> None:
        """Add the names of forward formulas: primal values `x_p` and tangents `x_t`."""
        for argument in self.schema.arguments:
            type = plain_type(argument.type)
            base = type.elem if isinstance(type, OptionalType | ListType) else type
            if base == TENSOR:
                if f"{argument.name}_p" in self.variables:  # both are values of arguments, but of two
                    self.ambiguous[f"{argument.name}_p"] = f"an argument and the value of '{argument.name}'"
                self._add(f"{argument.name}_p", VariableKind.INPUT, type)
                self._add(f"{argument.name}_t", VariableKind.TANGENT, type)
        if self.schema.name.is_inplace:
            self._add(f"{_BEFORE_WRITE}self_p", VariableKind.INPUT, TENSOR)
            self._add(f"{_BEFORE_WRITE}self_t", VariableKind.TANGENT, TENSOR)


class FormulaResolver:
    """Resolves one formula.  Methods give None where something was reported."""

    def __init__(self, table: OperatorTable, scope: Scope, text: Text, diagnostics: Diagnostics) -> None:
        self.table = table
        self.scope = scope
        self.text = text
        self.diagnostics = diagnostics

    def error(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        self.diagnostics.error(self.text.span(start, end), message, hint)

    def resolve(self, node: syntax.Expr) -> TypedExpr | None:
        match node:
            case syntax.IntLiteral():
                return Literal(INT, node.start, node.end, node.value)
            case syntax.FloatLiteral():
                return Literal(FLOAT, node.start, node.end, node.value)
            case syntax.BoolLiteral():
                if self.is_ambiguous(str(node.value).lower(), node):
                    return None
                return Literal(BOOL, node.start, node.end, node.value)
            case syntax.StringLiteral():
                return Literal(STR, node.start, node.end, node.value)
            case syntax.Name():
                return self.name(node)
            case syntax.Call():
                return self.call(node)
            case syntax.MethodCall():
                return self.method(node)
            case syntax.Index():
                return self.index(node)
            case syntax.Unary():
                return self.unary(node)
            case syntax.Binary():
                return self.binary(node)
            case syntax.Conditional():
                return self.conditional(node)
            case syntax.BraceList():
                return self.brace_list(node)
            case syntax.Attribute():
                self.error(
                    node.name_start, node.end, f"'{node.name}' is not called", hint="attributes are methods here"
                )
                return None
            case syntax.Lambda():
                self.error(node.start, node.end, "a lambda can not be used as a value", hint="write a helper")
                return None

    def resolve_all(self, nodes: Sequence[syntax.Expr]) -> list[TypedExpr] | None:
        results = [self.resolve(node) for node in nodes]
        known = [result for result in results if result is not None]
        return known if len(known) == len(results) else None

    # -- names

    def name(self, node: syntax.Name) -> TypedExpr | None:
        if self.is_ambiguous(node.id, node):
            return None
        if node.id in _NONE_NAMES:
            return Literal(NONE, node.start, node.end, None)
        constant = _CONSTANTS.get(node.id)
        if constant is not None:
            return Literal(constant[0], node.start, node.end, constant[1])
        found = self.scope.variables.get(node.id)
        if found is None:
            hint = did_you_mean(node.id, self.scope.variables)
            if hint is None:
                hint = f"in scope: {', '.join(sorted(self.scope.variables))}"
            self.error(node.start, node.end, f"unknown name '{node.id}'", hint)
            return None
        kind, index, type = found
        name = node.id.removesuffix("_p") if kind is VariableKind.INPUT and self.is_primal(node.id) else node.id
        if kind is VariableKind.TANGENT:
            name = node.id.removesuffix("_t")
        if name != node.id:
            name = name.removeprefix(_BEFORE_WRITE)
        variable = Variable(type, node.start, node.end, kind, name, index)
        if name != node.id and self.scope.by_element and isinstance(type, ListType):
            # In a formula for lists element by element, `self_t` is the tangent of the element.
            element = Variable(INT, node.start, node.end, VariableKind.PARAMETER, ELEMENT_INDEX)
            return Element(type.elem, node.start, node.end, variable, element)
        return variable

    def is_ambiguous(self, name: str, node: syntax.Expr) -> bool:
        """Whether a name stands for two things, which is reported."""
        meanings = self.scope.ambiguous.get(name)
        if meanings is None:
            return False
        hint = "give the argument another name"
        if meanings.endswith(_MEANINGS[VariableKind.GRAD]):
            hint += ", or write 'grads[i]' for the gradient"
        self.error(node.start, node.end, f"'{name}' is {meanings}", hint)
        return True

    def is_primal(self, name: str) -> bool:
        return name.endswith("_p") and all(argument.name != name for argument in self.scope.schema.arguments)

    def index(self, node: syntax.Index) -> TypedExpr | None:
        receiver, index = self.resolve(node.receiver), self.resolve(node.index)
        if receiver is None or index is None:
            return None
        if index.type != INT:
            self.error(node.index.start, node.index.end, f"an index is an int, this is {index.type}")
            return None
        if isinstance(receiver, Variable) and receiver.kind is VariableKind.GRADS and isinstance(index, Literal):
            return self.gradient(node, receiver, index)
        if isinstance(receiver.type, ListType):
            return Element(receiver.type.elem, node.start, node.end, receiver, index)
        if isinstance(receiver.type, TupleType) and isinstance(index, Literal):
            position = index.value
            if isinstance(position, int) and position < len(receiver.type.elems):
                return Element(receiver.type.elems[position], node.start, node.end, receiver, index)
        self.error(node.start, node.end, f"{receiver.type} can not be indexed")
        return None

    def gradient(self, node: syntax.Index, grads: Variable, index: Literal) -> TypedExpr | None:
        if self.scope.result_types[0] != TENSOR:  # Tensor[]: only the run knows how many
            return Element(TENSOR, node.start, node.end, grads, index)
        count = len(self.scope.differentiable_outputs)
        position = index.value
        assert isinstance(position, int)
        if position >= count:
            outputs = "1 differentiable output" if count == 1 else f"{count} differentiable outputs"
            self.error(
                node.start, node.end, f"grads[{position}] is out of range: '{self.scope.schema.name}' has {outputs}",
                hint=f"the last one is grads[{count - 1}]",
            )  # fmt: skip
            return None
        return Variable(TENSOR, node.start, node.end, VariableKind.GRAD, f"grads[{position}]", position)

    # -- calls

    def call(self, node: syntax.Call) -> TypedExpr | None:
        if not isinstance(node.function, syntax.Name):
            self.error(node.start, node.end, "only operators and helpers can be called", hint="write a helper")
            return None
        name = node.function.id.removeprefix("::")
        if name == "fmap" and len(node.args) == 2 and isinstance(node.args[1], syntax.Lambda):
            return self.mapped(node, node.args[0], node.args[1])
        args = self.resolve_all(node.args)
        if args is None:
            return None
        if name == "wrap_opt_if" and len(args) == 2:
            none = Literal(NONE, node.start, node.end, None)
            return Conditional(OptionalType(TENSOR), node.start, node.end, args[1], args[0], none)
        own = self.cplusplus(node, name, args)
        if own is not None:
            return own
        base = name
        for namespace in _NAMESPACES:
            base = base.removeprefix(namespace)
        targets: list[Target] = []
        for spelling in (base, base.removesuffix(_SYMBOLIC_SUFFIX)):
            targets = list(self.table.targets(spelling))
            targets += [helper_target(h) for h in self.table.helpers.overloads(spelling, self.diagnostics)]
            if targets:
                return self.choose(spelling, targets, args, node.function.start, node.function.end, node)
        if base not in self.table.helpers:
            known = [*self.table.by_base, *self.table.helpers.names()]
            hint = did_you_mean(base, known) or f"a helper is a function of a module in {self.table.helpers.folder}"
            self.error(node.function.start, node.function.end, f"unknown function '{name}'", hint)
        return None

    def cplusplus(self, node: syntax.Call, name: str, args: list[TypedExpr]) -> TypedExpr | None:
        """What formulas say in C++ about values: constructors, `std::get`, functions on numbers."""
        start, end, count = node.start, node.end, len(args)
        if name == "std::get" and count == 1 and len(node.template) == 1 and isinstance(args[0].type, TupleType):
            position = node.template[0]
            if position.isdigit() and int(position) < len(args[0].type.elems):
                type = args[0].type.elems[int(position)]
                return Element(type, start, end, args[0], Literal(INT, start, end, int(position)))
        if name == "std::tuple" and not args:
            none = Literal(TENSOR, start, end, None)
            length = len(node.template)
            return TupleDisplay(TupleType((TENSOR,) * length), start, end, (none,) * length)
        if name == "std::vector" and count in (1, 2) and args[0].type == INT:
            elem = Literal(OptionalType(TENSOR), start, end, None) if count == 1 else args[1]
            if not isinstance(elem.type, TupleType):
                return Intrinsic(ListType(elem.type), start, end, "repeat", (elem, args[0]))
        if count == 1:
            (arg,) = args
            if name in _CONVERSIONS:
                return arg
            if name == "std::optional" and not isinstance(arg.type, OptionalType | TupleType):
                return replace(arg, type=OptionalType(arg.type))
            if name == "TensorGeometry" and arg.type == TENSOR:
                return Intrinsic(GEOMETRY, start, end, "geometry", args=(arg,))
            if arg.type == ListType(TENSOR) and (info := list_intrinsic(name)) is not None:
                return Intrinsic(info.result, start, end, info.name, (arg,), name)
            if name.removeprefix("std::") in _NUMBER_FUNCTIONS and arg.type in _NUMBERS and self.fraction(arg):
                return Intrinsic(FLOAT, start, end, name.removeprefix("std::"), (arg,))
        if not args and name in ("Tensor", "at::Tensor"):
            return Literal(NONE, start, end, None)
        if not args and name == "GradMode::is_enabled":
            return Intrinsic(BOOL, start, end, "grad_enabled", ())
        return None

    def mapped(self, node: syntax.Call, source: syntax.Expr, function: syntax.Lambda) -> TypedExpr | None:
        """`fmap(list, [](int i) { return -i; })`."""
        values = self.resolve(source)
        if values is None:
            return None
        if not isinstance(values.type, ListType) or len(function.parameters) != 1:
            self.error(node.start, node.end, f"fmap takes a list and a lambda of one parameter, this is {values.type}")
            return None
        parameter = function.parameters[0].name
        hidden = self.scope.variables.get(parameter)
        self.scope.variables[parameter] = (VariableKind.PARAMETER, 0, values.type.elem)
        body = self.resolve(function.body)
        if hidden is None:
            del self.scope.variables[parameter]
        else:
            self.scope.variables[parameter] = hidden
        if body is None or isinstance(body.type, TupleType):
            return None
        return Mapped(ListType(body.type), node.start, node.end, values, parameter, body)

    def method(self, node: syntax.MethodCall) -> TypedExpr | None:
        receiver, args = self.resolve(node.receiver), self.resolve_all(node.args)
        if receiver is None or args is None:
            return None
        name_end = node.name_start + len(node.name)
        type = receiver.type.elem if isinstance(receiver.type, OptionalType) else receiver.type
        own = self.own_method(node, receiver, type, args)
        if own is not None:
            return own
        if type == TENSOR:
            for spelling in (node.name, _METHODS.get(node.name) or node.name.removesuffix(_SYMBOLIC_SUFFIX)):
                targets = self.table.targets(spelling)
                methods = [target for target in targets if target.is_method]
                if methods:
                    return self.choose(spelling, methods, args, node.name_start, name_end, node, receiver)
                if targets:
                    self.error(node.name_start, name_end, f"'{node.name}' is not a method", f"call {node.name}(...)")
                    return None
        known = [
            base for base, functions in self.table.by_base.items() if any("method" in f.variants for f in functions)
        ]
        hint = did_you_mean(node.name, known) if type == TENSOR else None
        self.error(node.name_start, name_end, f"{type} has no method '{node.name}'", hint)
        return None

    def own_method(
        self, node: syntax.MethodCall, receiver: TypedExpr, type: ValueType, args: list[TypedExpr]
    ) -> TypedExpr | None:
        """Methods that are no operators: sizes, dtypes, optional and list access."""
        start, end = node.start, node.end
        if isinstance(receiver.type, OptionalType) and node.name in ("has_value", "value", "value_or"):
            if node.name == "has_value":
                return Intrinsic(BOOL, start, end, "defined", (receiver,))
            if node.name == "value":
                return replace(receiver, type=receiver.type.elem)
            if len(args) == 1:
                return Conditional(
                    receiver.type.elem,
                    start,
                    end,
                    Intrinsic(BOOL, start, end, "defined", (receiver,)),
                    receiver,
                    args[0],
                )
        if type == TENSOR:
            info = tensor_intrinsic(node.name)
            if info is not None and not args:
                return Intrinsic(info.result, start, end, info.name, (receiver,), node.name)
            if node.name in ("size", "sym_size", "stride", "sym_stride") and len(args) == 1 and args[0].type == INT:
                info = tensor_intrinsic("sizes" if node.name.endswith("size") else "strides")
                assert info is not None
                whole = Intrinsic(info.result, start, end, info.name, (receiver,), f"{node.name}s")
                return Element(INT, start, end, whole, args[0])
        if isinstance(type, ListType) and node.name in ("size", "empty") and not args:
            length = Intrinsic(INT, start, end, "length", (receiver,))
            if node.name == "size":
                return length
            return Arithmetic(BOOL, start, end, "==", (length, Literal(INT, start, end, 0)))
        if isinstance(type, ListType) and node.name in ("front", "back") and not args:
            position = Literal(INT, start, end, 0 if node.name == "front" else -1)
            return Element(type.elem, start, end, receiver, position)
        if type == DEVICE and node.name.startswith("is_") and not args:
            return Intrinsic(BOOL, start, end, "device_is", (receiver,), node.name.removeprefix("is_"))
        if type in _NUMBERS:
            info = scalar_intrinsic(node.name)
            if info is not None and not args:
                return Intrinsic(info.result, start, end, info.name, (receiver,))
        return None

    def choose(
        self, name: str, targets: Sequence[Target], args: list[TypedExpr],
        name_start: int, name_end: int, node: syntax.Expr, receiver: TypedExpr | None = None,
    ) -> TypedExpr | None:  # fmt: skip
        """The call of the one target that fits `args` best; `receiver` stands for `self`."""
        fitting: list[tuple[int, int, int]] = []
        for order, target in enumerate(targets):
            given = _with_receiver(target, args, receiver)
            if not target.required <= len(given) <= len(target.types):
                continue
            total = 0
            for arg, type in zip(given, target.types, strict=False):
                cost = conversion_cost(arg.type, type)
                if cost is None:
                    break
                total += cost
            else:
                fitting.append((total, len(target.types), order))
        if fitting:
            best = targets[min(fitting)[2]]
            return self.bind(best, _with_receiver(best, args, receiver), node.start, node.end)
        if len(targets) == 1:
            self.misfit(name, targets[0], _with_receiver(targets[0], args, receiver), name_start, name_end)
        else:
            values = args if receiver is None else [receiver, *args]
            choices = "; ".join(str(target) for target in targets)
            listed = ", ".join(str(arg.type) for arg in values)
            self.error(name_start, name_end, f"no overload of '{name}' fits ({listed})", f"there are: {choices}")
        return None

    def misfit(self, name: str, target: Target, args: list[TypedExpr], start: int, end: int) -> None:
        if not target.required <= len(args) <= len(target.types):
            least, most = target.required, len(target.types)
            wanted = f"{least}" if least == most else f"{least} to {most}"
            plural = "" if wanted == "1" else "s"
            self.error(start, end, f"'{name}' takes {wanted} argument{plural}, {len(args)} given", f"it is {target}")
            return
        for arg, type, parameter in zip(args, target.types, target.names, strict=False):
            if conversion_cost(arg.type, type) is None:
                self.error(
                    arg.start, arg.end, f"argument '{parameter}' of '{name}' is {type}, this is {arg.type}",
                    f"it is {target}",
                )  # fmt: skip

    def fraction(self, expr: TypedExpr) -> bool:
        """Whether a number that is about to be used as a fraction can be one: of `1 / 2` nothing is left."""
        if expr.type not in (INT, BOOL) or not isinstance(expr, Arithmetic | Conditional):
            return True
        if isinstance(expr, Arithmetic) and expr.op == "/" and not _is_exact(expr):
            self.error(
                expr.start, expr.end, "the quotient of two ints is an int: it drops the remainder",
                hint="make one of them a fraction, as in '1.0 / 2'",
            )  # fmt: skip
            return False
        parts = expr.operands if isinstance(expr, Arithmetic) else (expr.then, expr.orelse)
        return all(self.fraction(part) for part in parts)

    def bind(self, target: Target, args: list[TypedExpr], start: int, end: int) -> TypedExpr | None:
        pairs: list[tuple[str, TypedExpr]] = []
        for arg, type, name in zip(args, target.types, target.names, strict=False):
            if type == OPTIONS and target.function is not None:
                of = arg.args if isinstance(arg, Intrinsic) else (arg,)
                pairs.append(("dtype", Intrinsic(DTYPE, arg.start, arg.end, "scalar_type", of)))
                continue
            inner = type.elem if isinstance(type, OptionalType) else type
            if inner in (FLOAT, SCALAR) and not self.fraction(arg):
                return None
            if isinstance(inner, ListType) and arg.type == INT:
                arg = ListDisplay(inner, arg.start, arg.end, (arg,))
            pairs.append((name, arg))
        if target.function is not None:
            return OperatorCall(target.result, start, end, target.function.schema, tuple(pairs))
        assert target.helper is not None
        return HelperCall(target.result, start, end, target.helper, tuple(pairs))

    def operator(
        self, base: str, args: list[TypedExpr], node: syntax.Unary | syntax.Binary, at: int
    ) -> TypedExpr | None:
        """An operator sign applied to Tensors is a call of the operator it stands for."""
        targets = self.table.targets(base)
        if not targets:
            self.error(
                at, at + len(node.op), f"'{node.op}' on Tensors needs an operator '{base}', which is not declared"
            )
            return None
        return self.choose(base, targets, args, at, at + len(node.op), node)

    # -- operators

    def unary(self, node: syntax.Unary) -> TypedExpr | None:
        operand = self.resolve(node.operand)
        if operand is None:
            return None
        if (node.op == "*" and isinstance(operand.type, OptionalType)) or (node.op == "+" and operand.type in _NUMBERS):
            return operand
        if operand.type == TENSOR and node.op in _UNARY_OPERATORS:
            return self.operator(_UNARY_OPERATORS[node.op], [operand], node, node.start)
        if operand.type in _NUMBERS and node.op in "-!":
            return Arithmetic(BOOL if node.op == "!" else operand.type, node.start, node.end, node.op, (operand,))
        if node.op == "!" and isinstance(operand.type, OptionalType):
            defined = Intrinsic(BOOL, node.start, node.end, "defined", (operand,))
            return Arithmetic(BOOL, node.start, node.end, "!", (defined,))
        message = f"'{node.op}' does not apply to {operand.type}"
        if node.op == "*":
            message = f"'*' reads an optional value, this is {operand.type}"
        self.error(node.start, node.start + len(node.op), message)
        return None

    def binary(self, node: syntax.Binary) -> TypedExpr | None:
        left, right = self.resolve(node.left), self.resolve(node.right)
        if left is None or right is None:
            return None
        types = [t.elem if isinstance(t, OptionalType) and t.elem == TENSOR else t for t in (left.type, right.type)]
        base = _BINARY_OPERATORS.get(node.op)
        if base is not None and TENSOR in types:
            if types[0] == TENSOR:
                return self.operator(base, [left, right], node, node.op_start)
            if base == "div":
                inverse = self.operator("reciprocal", [right], node, node.op_start)
                return None if inverse is None else self.operator("mul", [inverse, left], node, node.op_start)
            if base in _REFLECTED:
                return self.operator(_REFLECTED[base], [right, left], node, node.op_start)
        if all(type in _NUMBERS for type in types):
            if not {FLOAT, SCALAR}.isdisjoint(types) and not (self.fraction(left) and self.fraction(right)):
                return None
            if node.op in ("&&", "||") or node.op in _COMPARISONS:
                result: ValueType = BOOL
            else:
                result = max((types[0], types[1], INT), key=_NUMBERS.index)
            number = Arithmetic(result, node.start, node.end, node.op, (left, right))
            written = isinstance(left, Literal) and isinstance(right, Literal)
            return number if not written or self.fraction(number) else None
        comparable = {STR, DTYPE, LAYOUT, DEVICE, MEMORY_FORMAT}
        if node.op in ("==", "!=") and (
            types[0] == types[1] and (types[0] in comparable or isinstance(types[0], ListType))
        ):
            return Arithmetic(BOOL, node.start, node.end, node.op, (left, right))
        self.error(
            node.op_start, node.op_start + len(node.op), f"'{node.op}' does not apply to {left.type} and {right.type}"
        )
        return None

    def conditional(self, node: syntax.Conditional) -> TypedExpr | None:
        test, then, orelse = self.resolve(node.test), self.resolve(node.then), self.resolve(node.orelse)
        if test is None or then is None or orelse is None:
            return None
        if test.type == TENSOR or test.type not in _NUMBERS:
            self.error(
                node.test.start, node.test.end, f"the condition of '?:' is a bool, this is {test.type}",
                hint="where(condition, a, b) chooses by element" if test.type == TENSOR else None,
            )  # fmt: skip
            return None
        type = _common_type(then.type, orelse.type)
        if type is None:
            self.error(node.then.start, node.orelse.end, f"the two sides of '?:' are {then.type} and {orelse.type}")
            return None
        if type in (FLOAT, SCALAR) and not (self.fraction(then) and self.fraction(orelse)):
            return None
        return Conditional(type, node.start, node.end, test, then, orelse)

    def brace_list(self, node: syntax.BraceList) -> TypedExpr | None:
        items = self.resolve_all(node.items)
        if items is None:
            return None
        if len(items) == 1 and isinstance(items[0], ListDisplay):
            return items[0]  # `{{0, 0}}`: the inner braces make the array
        elem: ValueType = NONE
        for item in items:
            common = item.type if elem == NONE else _common_type(elem, item.type)
            if common is None:
                self.error(item.start, item.end, f"a list of {elem} can not hold {item.type}")
                return None
            elem = common
        if isinstance(elem, TupleType):
            self.error(node.start, node.end, "a list can not hold tuples")
            return None
        return ListDisplay(ListType(elem), node.start, node.end, tuple(items))


def _is_exact(quotient: Arithmetic) -> bool:
    """Whether a quotient of ints is of two that are written there, and leaves no remainder."""
    match quotient.operands:
        case (Literal(value=int() as left), Literal(value=int() as right)):
            return right != 0 and left % right == 0
    return False


def _with_receiver(target: Target, args: list[TypedExpr], receiver: TypedExpr | None) -> list[TypedExpr]:
    """The arguments in the order of the parameters: a method's receiver is `self`, wherever that stands."""
    if receiver is None:
        return args
    at = target.names.index("self") if "self" in target.names else 0
    return [*args[:at], receiver, *args[at:]]


def _common_type(left: ValueType, right: ValueType) -> ValueType | None:
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if one == NONE and not isinstance(other, TupleType):
            return other if other == TENSOR or isinstance(other, OptionalType) else OptionalType(other)
        if isinstance(one, OptionalType) and one.elem == other:
            return other if other == TENSOR else one
        if isinstance(one, ListType) and isinstance(other, ListType) and one.elem == NONE:
            return other
        if one == ListType(TENSOR) and other == ListType(OptionalType(TENSOR)):
            return other
    if left in _NUMBERS and right in _NUMBERS:
        return max((left, right), key=_NUMBERS.index)
    return None
