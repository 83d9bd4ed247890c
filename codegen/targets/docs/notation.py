"""How mathematics writes calls of operators: a sign, a bracket or a name for each that has one.

What is not in these tables is written as it is called.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from codegen.targets.docs.mathml import (
    MINUS,
    Binding,
    Term,
    accent,
    application,
    bracketed,
    choice,
    element,
    fraction,
    identifier,
    infix,
    negative,
    number,
    operator,
    power,
    root,
    row,
    subscript,
    words,
)

Arguments = Mapping[str, Term]
"""What a call gives, by the names of parameters; those that are left at their defaults are not among it."""

Notation = Callable[[Arguments], Term | None]
"""How a call is written; None where these arguments have no notation."""

ZERO, ONE, TWO = (Term(number(digit), is_number=True) for digit in "012")
E = Term(element("mi", "e"))


def product(*factors: Term) -> Term:
    """A product: its sign and numbers come first, a factor of one is left out, a factor times itself is a square."""
    signs = [factor for factor in factors if factor.negates is not None]
    if signs:
        without = product(*(factor if factor.negates is None else factor.negates for factor in factors))
        return negative(without) if len(signs) % 2 else without
    ordered = sorted((factor for factor in factors if factor != ONE), key=lambda factor: not factor.is_number)
    squared: list[Term] = []
    for factor in ordered:
        if squared and squared[-1] == factor and not factor.is_number:
            squared[-1] = power(factor, number("2"))
        else:
            squared.append(factor)
    if len(squared) < 2:
        return squared[0] if squared else ONE
    parts = [squared[0].at(Binding.PRODUCT)]
    for left, right in itertools.pairwise(squared):
        sign = "\u2062" if left.is_number and not right.is_number else "⋅"
        parts += [operator(sign), right.at(Binding.PREFIX)]
    return Term(row(*parts), Binding.PRODUCT)


def total(left: Term, right: Term, sign: str = "+") -> Term:
    """A sum, or a difference; of what has a minus sign the other one."""
    if right.negates is not None:
        return total(left, right.negates, MINUS if sign == "+" else "+")
    return infix(sign, left, right, Binding.SUM, groups=sign == "+")


def bars(term: Term, sign: str = "|") -> Term:
    return Term(bracketed(term.markup, left=sign, right=sign))


def starred(term: Term) -> Term:
    """The conjugate."""
    return power(term, operator("∗"))


def cases(condition: Term, value: Term, otherwise: Term) -> Term:
    return choice([(value.markup, condition.markup)], otherwise.markup)


def called(name: str, *arguments: Term) -> Term:
    return application(identifier(name), [argument.markup for argument in arguments])


def _named(name: str, *parameters: str) -> Notation:
    """A function by the name that mathematics has for it, of these arguments alone."""
    wanted = parameters or ("self",)

    def write(given: Arguments) -> Term | None:
        return called(name, *given.values()) if list(given) == list(wanted) else None

    return write


def _of_one(build: Callable[[Term], Term]) -> Notation:
    def write(given: Arguments) -> Term | None:
        return build(next(iter(given.values()))) if len(given) == 1 else None

    return write


def _of_two(build: Callable[[Term, Term], Term]) -> Notation:
    def write(given: Arguments) -> Term | None:
        return build(*given.values()) if len(given) == 2 else None

    return write


CONJUGATE = _of_one(starred)


def _relation(sign: str) -> Notation:
    return _of_two(lambda left, right: infix(sign, left, right, Binding.RELATION))


def _sum(sign: str, swapped: bool = False) -> Notation:
    """A sum or a difference, in which the second one of PyTorch's operands has a factor."""

    def write(given: Arguments) -> Term | None:
        first, second = given["self"], product(given.get("alpha", ONE), given["other"])
        if swapped:
            first, second = given["other"], product(given.get("alpha", ONE), given["self"])
        return total(first, second, sign)

    return write


def _quotient(given: Arguments) -> Term | None:
    return None if "rounding_mode" in given else fraction(given["self"], given["other"])


def _power(given: Arguments) -> Term | None:
    base, exponent = given.values()
    return power(base, exponent.markup)


def _gathered(sign: str) -> Notation:
    """A sum or a product over dims."""

    def write(given: Arguments) -> Term | None:
        if not set(given) <= {"self", "dim", "keepdim"}:
            return None
        large = operator(sign)
        if "dim" in given:
            large = element("munder", large, given["dim"].markup)
        return Term(row(large, given["self"].at(Binding.PREFIX)), Binding.PRODUCT)

    return write


def _mean(given: Arguments) -> Term | None:
    if not set(given) <= {"self", "dim", "keepdim"}:
        return None
    name = identifier("mean")
    return application(subscript(name, given["dim"].markup) if "dim" in given else name, [given["self"].markup])


def _matrices(given: Arguments) -> Term | None:
    """A product of matrices: one beside the other."""
    left, right = given.values()
    return Term(
        row(left.at(Binding.PRODUCT), element("mspace", width="0.2em"), right.at(Binding.PREFIX)), Binding.PRODUCT
    )


def transposed(term: Term) -> Term:
    return power(term, identifier("T"))


TRANSPOSED = _of_one(transposed)
"""Of one matrix."""


def _transpose(given: Arguments) -> Term | None:
    dims = {given[name].markup for name in ("dim0", "dim1") if name in given}
    last = {row(operator(MINUS), number("1")), row(operator(MINUS), number("2"))}
    of_batch = {number("1"), number("2")}  # of matrices, which is what has three dimensions
    return transposed(given["self"]) if dims in (last, of_batch) else None


def _between(given: Arguments) -> Term | None:
    """A value, no smaller than one and no larger than the other."""
    term = given["self"]
    if "min" in given:
        term = called("max", term, given["min"])
    return called("min", term, given["max"]) if "max" in given else term


def _masked(given: Arguments) -> Term | None:
    return cases(given["mask"], given["value"], given["self"])


def _where(given: Arguments) -> Term | None:
    if list(given) != ["condition", "self", "other"]:
        return None
    return cases(given["condition"], given["self"], given["other"])


def _plus(scaled: Callable[[Term, Term], Term], first: str, second: str) -> Notation:
    def write(given: Arguments) -> Term | None:
        return total(given["self"], product(given.get("value", ONE), scaled(given[first], given[second])))

    return write


def _lerp(given: Arguments) -> Term | None:
    start, end, weight = given["self"], given["end"], given["weight"]
    return total(start, product(weight, total(end, start, MINUS)))


def _polygamma(given: Arguments) -> Term | None:
    order, inside = given["n"], given["self"]
    return application(element("msup", identifier("ψ"), bracketed(order.markup)), [inside.markup])


def _outer(given: Arguments) -> Term | None:
    left, right = given.values()
    return _matrices({"self": left, "other": transposed(right)})


def _norm(given: Arguments) -> Term | None:
    if not set(given) <= {"self", "ord", "p", "dim", "keepdim"}:
        return None
    order = given.get("ord", given.get("p", TWO))
    below = row(order.markup, operator(","), given["dim"].markup) if "dim" in given else order.markup
    return Term(subscript(bars(given["self"], "‖").markup, below))


def _logarithm(base: str) -> Notation:
    return _of_one(lambda inside: application(subscript(identifier("log"), number(base)), [inside.markup]))


def _bracket(left: str, right: str) -> Notation:
    return _of_one(lambda inside: Term(bracketed(inside.markup, left=left, right=right)))


def _is(text: str) -> Notation:
    return _of_one(lambda inside: Term(row(inside.at(Binding.SUM), words(text)), Binding.RELATION))


def _constant(value: Term) -> Notation:
    return lambda given: value


def _itself(given: Arguments) -> Term | None:
    return next(iter(given.values()))


def _exponential(inside: Term) -> Term:
    return power(E, inside.markup)


def _and(sign: str, binding: Binding) -> Notation:
    return _of_two(lambda left, right: infix(sign, left, right, binding, groups=True))


def _not(given: Arguments) -> Term | None:
    return Term(row(operator("¬"), given["self"].at(Binding.ATOM)), Binding.PREFIX)


_SAME_NAME = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "sgn", "sign", "det", "erf", "erfc", "erfcx", "round", "trunc",
    "softplus", "sinc",
)  # fmt: skip

OPERATORS: Mapping[str, Notation] = {
    **{name: _named(name) for name in _SAME_NAME},
    **{f"a{name}{h}": _named(f"ar{'' if h else 'c'}{name}{h}") for name in ("sin", "cos", "tan") for h in ("", "h")},
    "abs": _of_one(bars),
    "add": _sum("+"),
    "addcdiv": _plus(fraction, "tensor1", "tensor2"),
    "addcmul": _plus(product, "tensor1", "tensor2"),
    "alias": _itself,
    "angle": _named("arg"),
    "bmm": _matrices,
    "ceil": _bracket("⌈", "⌉"),
    "clamp": _between,
    "clamp_max": _between,
    "clamp_min": _between,
    "clone": _itself,
    "conj": CONJUGATE,
    "conj_physical": CONJUGATE,
    "_conj_physical": CONJUGATE,
    "deg2rad": _of_one(lambda x: product(fraction(Term(identifier("π")), Term(number("180"))), x)),
    "digamma": _named("ψ"),
    "div": _quotient,
    "dot": lambda given: _matrices({"self": transposed(given["self"]), "other": given["tensor"]}),
    "eq": _relation("="),
    "exp": _of_one(_exponential),
    "exp2": _of_one(lambda x: power(TWO, x.markup)),
    "expm1": _of_one(lambda x: total(_exponential(x), ONE, MINUS)),
    "floor": _bracket("⌊", "⌋"),
    "frac": _of_one(lambda x: total(x, called("trunc", x), MINUS)),
    "ge": _relation("≥"),
    "gt": _relation(">"),
    "hypot": _of_two(lambda x, y: root(total(power(x, number("2")), power(y, number("2"))))),
    "imag": _named("Im"),
    "inverse": _of_one(lambda x: power(x, row(operator(MINUS), number("1")))),
    "isfinite": _is("\u00a0is finite"),
    "isinf": _is("\u00a0is infinite"),
    "isnan": _is("\u00a0is NaN"),
    "kron": _of_two(lambda x, y: infix("⊗", x, y, Binding.PRODUCT)),
    "le": _relation("≤"),
    "lerp": _lerp,
    "lgamma": _of_one(lambda x: called("ln", bars(called("Γ", x)))),
    "linalg_cross": lambda given: infix("×", given["self"], given["other"], Binding.PRODUCT),
    "linalg_det": _of_one(lambda x: called("det", x)),
    "linalg_inv": _of_one(lambda x: power(x, row(operator(MINUS), number("1")))),
    "linalg_vector_norm": _norm,
    "log": _named("ln"),
    "log10": _logarithm("10"),
    "log1p": _of_one(lambda x: called("ln", total(ONE, x))),
    "log2": _logarithm("2"),
    "logical_and": _and("∧", Binding.AND),
    "logical_not": _not,
    "logical_or": _and("∨", Binding.OR),
    "lt": _relation("<"),
    "masked_fill": _masked,
    "matmul": _matrices,
    "maximum": _of_two(lambda x, y: called("max", x, y)),
    "mean": _mean,
    "minimum": _of_two(lambda x, y: called("min", x, y)),
    "mm": _matrices,
    "mul": _of_two(product),
    "mv": _matrices,
    "ne": _relation("≠"),
    "neg": _of_one(negative),
    "norm": _norm,
    "ones_like": _constant(ONE),
    "outer": _outer,
    "polygamma": _polygamma,
    "positive": _itself,
    "pow": _power,
    "prod": _gathered("∏"),
    "rad2deg": _of_one(lambda x: product(fraction(Term(number("180")), Term(identifier("π"))), x)),
    "real": _named("Re"),
    "reciprocal": _of_one(lambda x: fraction(ONE, x)),
    "rsqrt": _of_one(lambda x: fraction(ONE, root(x))),
    "rsub": _sum(MINUS, swapped=True),
    "sigmoid": _named("σ"),
    "sqrt": _of_one(root),
    "square": _of_one(lambda x: power(x, number("2"))),
    "sub": _sum(MINUS),
    "sum": _gathered("∑"),
    "t": TRANSPOSED,
    "trace": _named("tr"),
    "transpose": _transpose,
    "vdot": lambda given: _matrices({"self": conjugate_transposed(given["self"]), "other": given["other"]}),
    "where": _where,
    "xlogy": _of_two(lambda x, y: product(x, called("ln", y))),
    "zeros_like": _constant(ZERO),
}  # fmt: skip
"""By the base names of operators."""


def conjugate_transposed(term: Term) -> Term:
    return power(term, identifier("H"))


HELPERS: Mapping[str, Notation] = {
    "scaled": _of_two(lambda tensor, factor: product(tensor, factor)),
}
"""By the names of helpers of formulas."""

INTRINSICS: Mapping[str, Notation] = {
    "abs": _of_one(bars),
    "conjugate": CONJUGATE,
    "defined": _is("\u00a0is given"),
    "dim": _named("dim"),
    "exp": _of_one(_exponential),
    "is_complex": _is("\u00a0is complex"),
    "is_floating_point": _is("\u00a0is real"),
    "log": _of_one(lambda x: called("ln", x)),
    "log1p": _of_one(lambda x: called("ln", total(ONE, x))),
    "number_is_complex": _is("\u00a0is complex"),
    "number_is_float": _is("\u00a0is real"),
    "scalar_type": _of_one(lambda x: called("dtype", x)),
    "sizes": _of_one(lambda x: called("shape", x)),
    "sqrt": _of_one(root),
    "to_complex": _itself,
    "to_float": _itself,
    "to_int": _itself,
    "zeros": _constant(ZERO),
}  # fmt: skip
"""By the names of what formulas ask of values."""

INFIX: Mapping[str, tuple[str, Binding]] = {
    "==": ("=", Binding.RELATION),
    "!=": ("≠", Binding.RELATION),
    "<": ("<", Binding.RELATION),
    "<=": ("≤", Binding.RELATION),
    ">": (">", Binding.RELATION),
    ">=": ("≥", Binding.RELATION),
    "&&": ("∧", Binding.AND),
    "||": ("∨", Binding.OR),
    "&": ("&", Binding.AND),
    "|": ("|", Binding.OR),
    "^": ("⊕", Binding.OR),
    "<<": ("≪", Binding.PRODUCT),
    ">>": ("≫", Binding.PRODUCT),
    "%": ("mod", Binding.PRODUCT),
}
"""Signs of the arithmetic of numbers, but for sums, products and quotients."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "lambd": "λ", "mu": "μ",
    "rho": "ρ", "sigma": "σ", "tau": "τ",
}  # fmt: skip

BAR, DOT = "‾", "˙"


def is_long(symbol: str) -> bool:
    """Whether it is a name of several letters."""
    return len(symbol) > len(identifier("x"))


def with_bar(symbol: str) -> str:
    """The gradient of what has this symbol."""
    return accent(symbol, BAR, is_long(symbol))


def with_dot(symbol: str) -> str:
    """The tangent of what has this symbol."""
    return accent(symbol, DOT)
