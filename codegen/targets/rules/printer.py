"""Typed trees of formulas as expressions over the array API."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    INT,
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
    TypedExpr,
    Variable,
    VariableKind,
)
from codegen.plan.node import NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.sharing import is_shareable, shared_parts
from codegen.schema.names import python
from codegen.targets.literals import default_value, literal, tuple_of
from codegen.targets.python.code import Lines, call, comprehension, function_head
from codegen.targets.rules.library import Item, Library, annotation, result_annotation
from codegen.targets.rules.values import Binding, NotPortable, Value, infix

# Names of the functions that are written, which no argument has.
WORDS = frozenset((
    "xp", "ops", "helpers", "math", "saved", "needs", "grad", "grads", "mask", "each", "out", "conj", "real", "imag",
    "is_complex", "zeros", "spec_of", "as_gradient", "as_tangent", "namespace", "tuple", "len", "bool", "float", "int",
    "complex", "abs", "enumerate", "isinstance", "any", "functions", "kernels", "jax", "jnp", "np", "primals",
    "tangents", "special", "linalg", "lax",
))  # fmt: skip

_INTRINSICS = {
    "sizes": "{0}.shape",
    "optional_sizes": "(None if {0} is None else {0}.shape)",
    "dim": "{0}.ndim",
    "numel": "math.prod({0}.shape)",
    "scalar_type": "{0}.dtype",
    "options": "{0}.dtype",
    "is_complex": "is_complex(xp, {0})",
    "is_floating_point": 'xp.isdtype({0}.dtype, "real floating")',
    "defined": "({0} is not None)",
    "length": "len({0})",
    "to_float": "float({0})",
    "to_int": "int({0})",
    "number_is_complex": "isinstance({0}, complex)",
    "number_is_float": "isinstance({0}, float)",
    "conjugate": "{0}.conjugate()",
    "to_complex": "complex({0})",
    "layout": "None",
    "blocksize": "None",
    "memory_format": "None",
    "info": "spec_of({0})",
    "zeros": "zeros(xp, {0})",
    "list_sizes": "[each.shape for each in {0}]",
    "list_dtypes": "[each.dtype for each in {0}]",
    "repeat": "(({0},) * {1})",
    "grad_enabled": "True",
    "is_contiguous": "True",
    "sqrt": "math.sqrt({0})",
    "exp": "math.exp({0})",
    "log": "math.log({0})",
    "log1p": "math.log1p({0})",
    "abs": "abs({0})",
}
_IMPORTED = ("spec_of", "zeros", "is_complex")  # of the module of arrays
_WORDS = {"&&": "and", "||": "or"}


def argument(name: str) -> str:
    """An argument or a result as a variable."""
    spelled = python(name)
    return (
        f"{spelled}_"
        if spelled in WORDS or (spelled.startswith(("grad_", "shared_")) and spelled[-1].isdigit())
        else spelled
    )


def parameters_of(operator: OperatorPlan, only: Sequence[str] | None = None) -> list[str]:
    """The parameters of an operator's function, with their types and defaults."""
    parts = []
    starred = False
    for parameter in operator.python.parameters:
        if only is not None and parameter.name not in only:
            continue
        if parameter.keyword_only and not starred:
            parts.append("*")
            starred = True
        text = f"{argument(parameter.name)}: {annotation(parameter.type)}"
        if parameter.default is not None:
            value = literal(default_value(parameter))
            text += f" = {'None' if value.startswith('dtypes.') else value}"
        parts.append(text)
    return parts


class TreePrinter:
    """Prints typed trees in one function.

    Args:
        library: what is called.
        item: the function in which the trees are.
        named: gives the name of a variable; None: arguments, results and tangents have their own.
    """

    argument = staticmethod(argument)
    list_of = "tuple"  # what a comprehension is made into; "" for a list

    def __init__(self, library: Library, item: Item, named: Callable[[Variable], str] | None = None) -> None:
        self.library = library
        self.item = item
        self._variable = named or self.variable
        self._named: dict[Hashable, str] = {}

    def variable(self, expr: Variable) -> str:
        """The name of an argument, a result or a tangent."""
        match expr.kind:
            case VariableKind.TANGENT:
                return f"{self.argument(expr.name)}_t"
            case VariableKind.RETAIN:
                return "True"
        return self.argument(expr.name)

    def formula(self, tree: TypedExpr, out: Lines) -> str:
        """A whole value; what stands in it several times gets a statement of its own before it."""
        for number, part in enumerate(shared_parts(tree)):
            name = f"shared_{number}"
            out.add(f"{name} = {self.value(part).text}")
            self._named[structure(part)] = name
        text = self.value(tree).text
        self._named.clear()
        return text

    def value(self, expr: TypedExpr) -> Value:
        """An expression."""
        if self._named and is_shareable(expr) and (known := self._named.get(structure(expr))) is not None:
            return Value(known, expr.type)
        match expr:
            case Variable():
                return Value(self._variable(expr), expr.type)
            case Literal():
                text = f"xp.{expr.value}" if expr.type == DTYPE else literal(expr.value)
                binding = Binding.SIGN if text.startswith("-") else Binding.CALL
                return Value(text, expr.type, binding, expr.value if isinstance(expr.value, bool) else None)
            case OperatorCall():
                operator = self.library.operators.get(str(expr.schema.name))
                if operator is None:
                    raise NotPortable(f"'{expr.schema.name}' is no operator that can be called")
                return self.library.call(operator, {name: self.value(each) for name, each in expr.args}, self.item)
            case HelperCall():
                return self._helper(expr)
            case Intrinsic():
                return self._intrinsic(expr)
            case Arithmetic():
                return self._arithmetic(expr)
            case Conditional():
                test = self.value(expr.test)
                if test.constant is not None:
                    return self.value(expr.then if test.constant else expr.orelse)
                then, orelse = self.value(expr.then), self.value(expr.orelse)
                text = f"{then.within(Binding.OR)} if {test.within(Binding.OR)} else {orelse.within(Binding.OR)}"
                return Value(text, expr.type, Binding.CHOICE)
            case ListDisplay() | TupleDisplay():
                return Value(tuple_of([self.value(item).text for item in expr.items]), expr.type)
            case Mapped():
                return self._mapped(expr)
            case Element():
                return Value(
                    f"{self.value(expr.receiver).within(Binding.CALL)}[{self.value(expr.index).text}]", expr.type
                )

    def _helper(self, expr: HelperCall) -> Value:
        function = expr.helper.function
        if function is None:
            raise NotPortable(f"the helper '{expr.helper.name}' is only declared")
        item = self.library.function(function.module, function.name)
        args = [self.value(value).text for _, value in expr.args]
        name = self.library.name(item, self.item)
        return Value(call(name, ["xp", *args] if item.takes_namespace else args), expr.type)

    def _intrinsic(self, expr: Intrinsic) -> Value:
        template = _INTRINSICS.get(expr.name)
        if template is None:
            raise NotPortable(f"arrays of the array API have no {_WITHOUT.get(expr.name, expr.name)}")
        parts = [self.value(arg) for arg in expr.args]
        self.item.imports |= {name: None for name in _IMPORTED if f"{name}(" in template}
        if "math." in template:
            self.item.imports["import math"] = None
        text = template.format(*[part.within(Binding.CALL) for part in parts])
        return Value(text, expr.type, constant=True if text == "True" else None)

    def _arithmetic(self, expr: Arithmetic) -> Value:
        parts = [self.value(operand) for operand in expr.operands]
        if len(parts) == 1:
            if expr.op == "!":
                constant = None if parts[0].constant is None else not parts[0].constant
                return Value(f"not {parts[0].within(Binding.NOT)}", expr.type, Binding.NOT, constant)
            return Value(f"{expr.op}{parts[0].within(Binding.SIGN)}", expr.type, Binding.SIGN)
        sign = _WORDS.get(expr.op, expr.op)
        if sign == "/" and all(operand.type in (INT, BOOL) for operand in expr.operands):
            sign = "//"
        if sign in ("and", "or") and any(part.constant is not None for part in parts):
            return decided(parts, sign == "and")
        return infix(sign, parts[0], parts[1], expr.type)

    def _mapped(self, expr: Mapped) -> Value:
        source, body = self.value(expr.source).within(Binding.OR), self.value(expr.body)
        parameter = self.argument(expr.parameter)
        if not expr.by_index:
            made = comprehension(body.text, parameter, source)
            return Value(call(self.list_of, (made,)) if self.list_of else made, expr.type)
        element = f"None if each is None else {body.within(Binding.OR)}"
        return Value(comprehension(element, f"{parameter}, each", call("enumerate", (source,))), expr.type)


def gradient_variable(node: NodePlan, defined: str, argument: Callable[[str], str]) -> Callable[[Variable], str]:
    """The names of variables in the formulas of gradients.

    Args:
        node: whose gradients they are.
        defined: the start of the name of an output gradient in whose place zeros stand where it is undefined.
        argument: gives the name of what was saved.
    """

    def named(part: Variable) -> str:
        match part.kind:
            case VariableKind.GRAD:
                if node.dynamic:
                    return f"grads[{part.index}]"
                return "grad" if node.single else f"grad_{part.index}"
            case VariableKind.GRAD_OR_ZEROS:
                return f"{defined}_{part.index}"
            case VariableKind.GRADS:
                return "grads"
            case VariableKind.MASK:
                return "mask"
            case VariableKind.RETAIN:
                return "True"
        return argument(part.name)

    return named


def decided(parts: Sequence[Value], is_all: bool) -> Value:
    """`and` and `or` of truths of which some are known."""
    if any(part.constant is (not is_all) for part in parts):
        return Value(str(not is_all), BOOL, constant=not is_all)
    left = [part for part in parts if part.constant is None]
    if not left:
        return Value(str(is_all), BOOL, constant=is_all)
    binding = Binding.AND if is_all else Binding.OR
    if len(left) == 1:
        return left[0]
    return Value(f" {'and' if is_all else 'or'} ".join(part.within(binding) for part in left), BOOL, binding)


_WITHOUT = {
    "strides": "strides", "storage_offset": "places in memory", "geometry": "strides",
    "requires_grad": "flag that says whether they are differentiated", "device_is": "kinds of devices",
}  # fmt: skip


def write_operator(library: Library, item: Item, operator: OperatorPlan) -> None:
    """The function of an operator that is an expression over elements, or a formula over others."""
    item.takes_namespace = True
    out = Lines()
    printer = TreePrinter(library, item)
    if operator.compute.elementwise is not None:
        out.comment(operator.compute.elementwise.source)
        tree = operator.compute.elementwise.tree
    else:
        assert operator.compute.composite is not None
        if operator.compute.composite.lists:
            raise NotPortable(f"'{operator.name}' is for each element of lists")
        out.comment(operator.compute.composite.source)
        tree = operator.compute.composite.tree
    out.add(f"return {printer.formula(tree, out)}")
    head = function_head(item.name, ["xp: Namespace", *parameters_of(operator)], result_annotation(operator))
    item.text = f"{head}\n{out.text}"
