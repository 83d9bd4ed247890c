"""The choice of an overload: of the operators and helpers of one name the one that fits what a formula gives."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.bind.call_targets import Target, helper_target
from codegen.codes import Code
from codegen.formula import syntax
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    NONE,
    OPTIONS,
    SCALAR,
    TENSOR,
    Arithmetic,
    Conditional,
    Helper,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    OperatorCall,
    TupleType,
    TypedExpr,
    conversion_cost,
)
from codegen.schema.types import ListType, OptionalType
from codegen.source import Diagnostics, Text
from codegen.words import Hint


class Overloads:
    """Chooses overloads for the calls of one formula. Methods give None where something was reported."""

    def __init__(self, text: Text, diagnostics: Diagnostics) -> None:
        self.text = text
        self.diagnostics = diagnostics

    def error(self, code: Code, start: int, end: int, message: str, hint: Hint = None) -> None:
        self.diagnostics.error(code, self.text.span(start, end), message, hint)

    def choose(
        self, name: str, targets: Sequence[Target], args: list[TypedExpr],
        name_start: int, name_end: int, node: syntax.Expr, receiver: TypedExpr | None = None,
    ) -> TypedExpr | None:  # fmt: skip
        """The call of the one target that fits `args` best; `receiver` stands for `self`."""
        fitting: list[tuple[int, int, int]] = []
        for order, target in enumerate(targets):
            matched = _with_receiver(target, args, receiver)
            if not target.required <= len(matched) <= len(target.types):
                continue
            total = 0
            for arg, type in zip(matched, target.types, strict=False):
                cost = conversion_cost(arg.type, type)
                if cost is None:
                    break
                total += cost
            else:
                fitting.append((total, len(target.types), order))
        if fitting:
            best = targets[min(fitting)[2]]
            return self.bind(best, _with_receiver(best, args, receiver), node.start, node.end)
        declared = [target.helper for target in targets if target.helper is not None and target.helper.declared]
        if len(declared) == len(targets):
            return self.by_call(name, declared, args, name_start, name_end, node)
        if len(targets) == 1:
            self.misfit(name, targets[0], _with_receiver(targets[0], args, receiver), name_start, name_end)
        else:
            values = args if receiver is None else [receiver, *args]
            choices = "; ".join(str(target) for target in targets)
            listed = ", ".join(str(arg.type) for arg in values)
            self.error(
                Code.ARGUMENTS,
                name_start,
                name_end,
                f"no overload of '{name}' fits ({listed})",
                f"there are: {choices}",
            )
        return None

    def by_call(
        self, name: str, declared: Sequence[Helper], args: list[TypedExpr],
        name_start: int, name_end: int, node: syntax.Expr,
    ) -> TypedExpr | None:  # fmt: skip
        """The call of a helper that no declaration fits: one that has the types of the call, and is bound late.

        Releases of somebody else's helpers differ, and what is declared may be of another one.
        """
        listed = ", ".join(str(arg.type) for arg in args)
        goes_on = self.diagnostics.doubt(
            Code.ARGUMENTS,
            self.text.span(name_start, name_end),
            f"this call of '{name}' has the arguments ({listed}), which no declaration of it takes",
            "'--helpers' takes a file with other declarations, such as a header of C++",
            tuple((each.declared, f"declared as {each}") for each in declared if each.declared is not None),
        )
        types = [arg.type for arg in args if not isinstance(arg.type, TupleType)]
        if not goes_on or len(types) < len(args):
            return None
        parameters = [(f"argument_{i}", OptionalType(TENSOR) if t == NONE else t) for i, t in enumerate(types)]
        helper = Helper(declared[0].name, tuple(parameters), len(args), declared[0].result, None)
        return self.bind(helper_target(helper), args, node.start, node.end)

    def misfit(self, name: str, target: Target, args: list[TypedExpr], start: int, end: int) -> None:
        if not target.required <= len(args) <= len(target.types):
            least, most = target.required, len(target.types)
            wanted = f"{least}" if least == most else f"{least} to {most}"
            plural = "" if wanted == "1" else "s"
            self.error(
                Code.ARGUMENTS,
                start,
                end,
                f"'{name}' takes {wanted} argument{plural}, {len(args)} given",
                f"it is {target}",
            )
            return
        for arg, type, parameter in zip(args, target.types, target.names, strict=False):
            if conversion_cost(arg.type, type) is None:
                self.error(
                    Code.ARGUMENTS,
                    arg.start, arg.end, f"argument '{parameter}' of '{name}' is {type}, this is {arg.type}",
                    f"it is {target}",
                )  # fmt: skip

    def fraction(self, expr: TypedExpr) -> bool:
        """Whether a number that is about to be used as a fraction can be one: of `1 / 2` nothing is left."""
        if expr.type not in (INT, BOOL) or not isinstance(expr, Arithmetic | Conditional):
            return True
        if isinstance(expr, Arithmetic) and expr.op == "/" and not _is_exact(expr):
            self.error(
                Code.TYPES,
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
            function = target.function
            return OperatorCall(target.result, start, end, function.schema, tuple(pairs), function.meaning)
        assert target.helper is not None
        return HelperCall(target.result, start, end, target.helper, tuple(pairs))


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
