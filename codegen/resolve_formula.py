"""One formula: its syntax tree in, its typed tree out.

Every name is bound to an argument, a result or a gradient, every call to one overload of an operator, one helper or one
intrinsic.
"""

from __future__ import annotations

from collections.abc import Sequence

from codegen.callables import PythonFunction
from codegen.callees import OperatorTable, Target, annotation_type, operator_target, takes_options
from codegen.formula import syntax
from codegen.formula.typed import (
    BOOL,
    BOOL_LIST,
    DTYPE,
    FLOAT,
    INT,
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
    OperatorCall,
    TupleType,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
    conversion_cost,
    plain_type,
)
from codegen.intrinsics import scalar_intrinsic, tensor_intrinsic
from codegen.model import NativeFunction
from codegen.schema.types import ListType, OptionalType, Type
from codegen.source import Diagnostics, Text
from codegen.vocabulary import did_you_mean

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
_NAMESPACES = ("at::", "torch::", "::at::", "at::_ops::", "native::", "at::native::")
_NONE_NAMES = frozenset(("std::nullopt", "::std::nullopt", "c10::nullopt", "nullopt"))


class Scope:
    """The names that the formulas of one operator may use, with what they stand for."""

    def __init__(self, function: NativeFunction, differentiable_outputs: Sequence[int]) -> None:
        schema = function.schema
        self.variables: dict[str, tuple[VariableKind, int, ValueType]] = {}
        for argument in schema.arguments:
            self.variables[argument.name] = (VariableKind.INPUT, 0, plain_type(argument.type))
        self.result_types = [plain_type(result.type) for result in schema.returns]
        for index, result in enumerate(schema.returns):
            name = result.name or ("result" if len(schema.returns) == 1 else f"result{index}")
            self.variables.setdefault(name, (VariableKind.OUTPUT, index, self.result_types[index]))
            if len(schema.returns) > 1:
                self.variables.setdefault(f"result{index}", (VariableKind.OUTPUT, index, self.result_types[index]))
        if len(schema.returns) == 1:
            self.variables.setdefault("result", (VariableKind.OUTPUT, 0, self.result_types[0]))
        self.differentiable_outputs = differentiable_outputs
        self.schema = schema

    def backward(self) -> None:
        """Add the names of backward formulas: gradients and `grad_input_mask`."""
        outputs = self.differentiable_outputs
        if outputs:
            is_list = len(self.schema.returns) == 1 and self.result_types[outputs[0]] != TENSOR
            if not is_list:  # the results of Tensor[] have as many gradients as the run makes
                self.variables["grad"] = (VariableKind.GRAD, 0, TENSOR)
            self.variables["grads"] = (VariableKind.GRADS, 0, ListType(TENSOR))
        for position, index in enumerate(outputs):
            name = self.schema.returns[index].name
            if name is not None:
                self.variables[f"grad_{name}"] = (VariableKind.GRAD, position, TENSOR)
        self.variables["grad_input_mask"] = (VariableKind.MASK, 0, BOOL_LIST)
        self.variables["retain_variables"] = (VariableKind.RETAIN, 0, BOOL)

    def forward(self) -> None:
        """Add the names of forward formulas: primal values `x_p` and tangents `x_t`."""
        for argument in self.schema.arguments:
            type = plain_type(argument.type)
            base = type.elem if isinstance(type, OptionalType | ListType) else type
            if base == TENSOR:
                self.variables[f"{argument.name}_p"] = (VariableKind.INPUT, 0, type)
                self.variables[f"{argument.name}_t"] = (VariableKind.TANGENT, 0, type)


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
        if node.id in _NONE_NAMES:
            return Literal(NONE, node.start, node.end, None)
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
        return Variable(type, node.start, node.end, kind, name, index)

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
        name = node.function.id
        if name in ("Scalar", "at::Scalar", "c10::Scalar") and len(node.args) == 1:
            return self.resolve(node.args[0])
        if name in ("Tensor", "at::Tensor") and not node.args:
            return Literal(NONE, node.start, node.end, None)
        if name == "wrap_opt_if" and len(node.args) == 2:
            args = self.resolve_all(node.args)
            if args is None:
                return None
            return Conditional(
                OptionalType(TENSOR), node.start, node.end, args[1], args[0], Literal(NONE, node.start, node.end, None)
            )
        args = self.resolve_all(node.args)
        if args is None:
            return None
        base = name
        for namespace in _NAMESPACES:
            if base.startswith(namespace):
                base = base.removeprefix(namespace)
        targets = [operator_target(function.schema) for function in self.table.overloads(base)]
        targets += [operator_target(f.schema, options=True) for f in self.table.overloads(base) if takes_options(f)]
        helper = self.table.helpers.get(base)
        if helper is not None:
            target = self.helper_target(helper, node)
            if target is None:
                return None
            targets.append(target)
        if not targets:
            known = [*self.table.by_base, *(function.name for function in self.table.helpers)]
            hint = did_you_mean(base, known) or f"a helper is a function of a module in {self.table.helpers.folder}"
            self.error(node.function.start, node.function.end, f"unknown function '{name}'", hint)
            return None
        return self.choose(base, targets, args, node.function.start, node.function.end, node.start, node.end)

    def helper_target(self, helper: PythonFunction, node: syntax.Call) -> Target | None:
        names: list[str] = []
        types: list[Type] = []
        for parameter in helper.parameters or ():
            type = annotation_type(parameter.annotation)
            if type is None or isinstance(type, TupleType):
                self.diagnostics.error(
                    helper.span,
                    f"parameter '{parameter.name}' of helper '{helper.name}' has no type that formulas know"
                    + (f": '{parameter.annotation}'" if parameter.annotation else ""),
                    hint="Tensor, int, float, bool, str, Scalar, DType, 'X | None', 'Sequence[X]'",
                )
                return None
            names.append(parameter.name)
            types.append(type)
        result = annotation_type(helper.returns)
        if result is None:
            self.diagnostics.error(
                helper.span, f"helper '{helper.name}' has no result type that formulas know: '{helper.returns}'"
            )
            return None
        required = sum(not parameter.has_default for parameter in helper.parameters or ())
        return Target(None, helper, tuple(names), tuple(types), required, result)

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
            targets = [operator_target(f.schema) for f in self.table.overloads(node.name) if "method" in f.variants]
            targets += [
                operator_target(f.schema, options=True)
                for f in self.table.overloads(node.name)
                if "method" in f.variants and takes_options(f)
            ]
            if targets:
                return self.choose(
                    node.name, targets, [receiver, *args], node.name_start, name_end, node.start, node.end
                )
            if self.table.overloads(node.name):
                self.error(node.name_start, name_end, f"'{node.name}' is not a method", f"call {node.name}(...)")
                return None
        methods = [
            base for base, functions in self.table.by_base.items() if any("method" in f.variants for f in functions)
        ]
        hint = did_you_mean(node.name, methods) if type == TENSOR else None
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
                return receiver
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
                return Intrinsic(info.result, start, end, info.name, (receiver,))
            if node.name in ("size", "sym_size", "stride", "sym_stride") and len(args) == 1 and args[0].type == INT:
                info = tensor_intrinsic("sizes" if node.name.endswith("size") else "strides")
                assert info is not None
                whole = Intrinsic(info.result, start, end, info.name, (receiver,))
                return Element(INT, start, end, whole, args[0])
        if isinstance(type, ListType) and node.name in ("size", "empty") and not args:
            length = Intrinsic(INT, start, end, "length", (receiver,))
            if node.name == "size":
                return length
            return Arithmetic(BOOL, start, end, "==", (length, Literal(INT, start, end, 0)))
        if type in _NUMBERS:
            info = scalar_intrinsic(node.name)
            if info is not None and not args:
                return Intrinsic(info.result, start, end, info.name, (receiver,))
        return None

    def choose(
        self, name: str, targets: list[Target], args: list[TypedExpr],
        name_start: int, name_end: int, start: int, end: int,
    ) -> TypedExpr | None:  # fmt: skip
        """The call of the one target that fits `args` best."""
        fitting: list[tuple[int, int, int, Target]] = []
        for order, target in enumerate(targets):
            if not target.required <= len(args) <= len(target.types):
                continue
            costs = [conversion_cost(arg.type, type) for arg, type in zip(args, target.types, strict=False)]
            known = [cost for cost in costs if cost is not None]
            if len(known) == len(costs):
                fitting.append((sum(known), len(target.types), order, target))
        if fitting:
            return self.bind(min(fitting, key=lambda fit: fit[:3])[3], args, start, end)
        if len(targets) == 1:
            self.misfit(name, targets[0], args, name_start, name_end)
        else:
            given = ", ".join(str(arg.type) for arg in args)
            choices = "; ".join(str(target) for target in targets)
            self.error(name_start, name_end, f"no overload of '{name}' fits ({given})", f"there are: {choices}")
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

    def bind(self, target: Target, args: list[TypedExpr], start: int, end: int) -> TypedExpr:
        pairs: list[tuple[str, TypedExpr]] = []
        for arg, type, name in zip(args, target.types, target.names, strict=False):
            if type == OPTIONS:
                of = arg.args if isinstance(arg, Intrinsic) else (arg,)
                pairs.append(("dtype", Intrinsic(DTYPE, arg.start, arg.end, "scalar_type", of)))
                continue
            inner = type.elem if isinstance(type, OptionalType) else type
            if isinstance(inner, ListType) and arg.type == INT:
                arg = ListDisplay(inner, arg.start, arg.end, (arg,))
            pairs.append((name, arg))
        if target.schema is not None:
            return OperatorCall(target.result, start, end, target.schema, tuple(pairs))
        assert target.helper is not None
        return HelperCall(target.result, start, end, target.helper, tuple(pairs))

    def operator(
        self, base: str, args: list[TypedExpr], node: syntax.Unary | syntax.Binary, at: int
    ) -> TypedExpr | None:
        """An operator sign applied to Tensors is a call of the operator it stands for."""
        targets = [operator_target(function.schema) for function in self.table.overloads(base)]
        if not targets:
            self.error(
                at, at + len(node.op), f"'{node.op}' on Tensors needs an operator '{base}', which is not declared"
            )
            return None
        return self.choose(base, targets, args, at, at + len(node.op), node.start, node.end)

    # -- operators

    def unary(self, node: syntax.Unary) -> TypedExpr | None:
        operand = self.resolve(node.operand)
        if operand is None:
            return None
        if node.op in "+*&" and (operand.type in _NUMBERS or node.op != "+"):
            return operand
        if operand.type == TENSOR and node.op in _UNARY_OPERATORS:
            return self.operator(_UNARY_OPERATORS[node.op], [operand], node, node.start)
        if operand.type in _NUMBERS and node.op in "-!":
            return Arithmetic(BOOL if node.op == "!" else operand.type, node.start, node.end, node.op, (operand,))
        if node.op == "!" and isinstance(operand.type, OptionalType):
            defined = Intrinsic(BOOL, node.start, node.end, "defined", (operand,))
            return Arithmetic(BOOL, node.start, node.end, "!", (defined,))
        self.error(node.start, node.start + len(node.op), f"'{node.op}' does not apply to {operand.type}")
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
            if node.op in ("&&", "||") or node.op in _COMPARISONS:
                result: ValueType = BOOL
            else:
                result = max((types[0], types[1], INT), key=_NUMBERS.index)
            return Arithmetic(result, node.start, node.end, node.op, (left, right))
        comparable = {STR, DTYPE}
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
        return Conditional(type, node.start, node.end, test, then, orelse)

    def brace_list(self, node: syntax.BraceList) -> TypedExpr | None:
        items = self.resolve_all(node.items)
        if items is None:
            return None
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
    if left in _NUMBERS and right in _NUMBERS:
        return max((left, right), key=_NUMBERS.index)
    return None
