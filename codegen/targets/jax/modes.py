"""How JAX differentiates each function: by the formula of its tangents, of its gradients, or through what it calls."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from codegen.formula.typed import HelperCall, OperatorCall, Variable, VariableKind, walk
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.targets.rules.library import OWN, Key, Library
from codegen.targets.rules.sources import Origin
from codegen.targets.rules.values import NotPortable


class Mode(enum.Enum):
    """What a function is wrapped in."""

    TANGENT = "jax.custom_jvp"  # JAX transposes the formula for reverse mode
    GRADIENT = "jax.custom_vjp"  # reverse mode alone
    TRACED = ""  # through the operators that it is made of
    STOPPED = "stop_gradient"  # its results have no derivative, and that is right
    REFUSED = "refused"  # there is a derivative, but no formula


def modes(plan: Plan, library: Library) -> Mapping[str, Mode]:
    """The mode of each operator of a package.

    A formula of tangents is transposed by JAX, so whatever takes a tangent there has to consist of JAX's own functions.
    A call of a NumPy kernel is none of these, and neither is one whose gradients are given: operators whose formulas
    hand such a function a tangent have gradients alone.

    Args:
        plan: of the package.
        library: in which functions are written to see what they call; nothing else is made of it.
    """
    known = {str(operator.name): _first(operator) for operator in plan.operators}
    calls = {name: tuple(_called_by(operator, library)) for name, operator in _by_name(plan).items()}
    opaque = {name for name, operator in _by_name(plan).items() if is_of_numpy(operator, library)}
    tangents = {name: set(_taking_tangents(operator, library)) for name, operator in _by_name(plan).items()}
    changed = True
    while changed:
        before = len(opaque)
        for name, mode in known.items():
            if mode is Mode.TANGENT and tangents[name] & opaque:
                mode = known[name] = Mode.GRADIENT
            if mode is Mode.GRADIENT or opaque.intersection(calls[name]):
                opaque.add(name)
        changed = len(opaque) > before
    return known


def _by_name(plan: Plan) -> dict[str, OperatorPlan]:
    return {str(operator.name): operator for operator in plan.operators}


def _first(operator: OperatorPlan) -> Mode:
    """The mode of an operator, if whatever its formulas call can be transposed."""
    autograd = operator.autograd
    if autograd.node is None:
        if autograd.never_differentiable:
            return Mode.STOPPED
        return Mode.REFUSED if operator.kind is OperatorKind.KERNEL else Mode.TRACED
    forward = autograd.forward
    if forward is not None and {each for f in forward.formulas for each in f.outputs} >= set(autograd.node.outputs):
        return Mode.TANGENT
    return Mode.GRADIENT if autograd.differentiable else Mode.REFUSED


def is_of_numpy(operator: OperatorPlan, library: Library) -> bool:
    """Whether a kernel on arrays of NumPy computes it."""
    compute = operator.compute
    if compute.elementwise is not None or compute.composite is not None or not compute.implementations:
        return False
    module = compute.implementation.module
    return module not in library.sources.modules or library.sources.modules[module][1] is Origin.ARRAYS


def _called_by(operator: OperatorPlan, library: Library) -> Iterator[str]:
    """The operators of the package that it is made of."""
    try:
        yield from _reached(library.own(operator).needs, library)
    except NotPortable:  # which is reported where it is written
        return


def _taking_tangents(operator: OperatorPlan, library: Library) -> Iterator[str]:
    """The operators of the package that a forward formula may hand a tangent to, by itself or through helpers."""
    forward = operator.autograd.forward
    for formula in forward.formulas if forward is not None else ():
        for call in walk(formula.tree):
            if not isinstance(call, OperatorCall | HelperCall):
                continue
            if not any(isinstance(part, Variable) and part.kind is VariableKind.TANGENT for part in walk(call)):
                continue
            yield from _operators_of(call, library)


def _operators_of(call: OperatorCall | HelperCall, library: Library) -> Iterator[str]:
    if isinstance(call, OperatorCall):
        yield str(call.schema.name)
        return
    function = call.helper.function
    if function is None:
        return
    try:
        yield from _reached({library.function(function.module, function.name).key: None}, library)
    except NotPortable:
        return


def _reached(needs: Mapping[Key, None], library: Library) -> Iterator[str]:
    pending, seen = list(needs), set(needs)
    while pending:
        key = pending.pop()
        if key[0] == OWN:
            yield key[1]
        elif key in library.items:
            new = [each for each in library.items[key].needs if each not in seen]
            seen.update(new)
            pending += new
