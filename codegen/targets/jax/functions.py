"""The functions of an operator: the one that is called, what computes it, and its derivative."""

from __future__ import annotations

import builtins
import keyword
import textwrap
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from codegen.dispatch_keys import CPU
from codegen.formula.typed import DTYPE, SCALAR, TENSOR, is_tensor_like
from codegen.plan.documentation import about
from codegen.plan.elementwise import RequirementPlan
from codegen.plan.node import shown_yaml
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.schema.types import ListType, OptionalType, SchemaKind, base_type, required
from codegen.source import Span
from codegen.targets.environment import docstring
from codegen.targets.jax.modes import Mode, is_of_numpy
from codegen.targets.jax.special import IMPORTS
from codegen.targets.literals import default_value, literal, tuple_of
from codegen.targets.python.code import Lines, call, function_head
from codegen.targets.rules.library import RESERVED, Item, Library, annotation
from codegen.targets.rules.printer import WORDS, TreePrinter, argument
from codegen.targets.rules.rule import RuleWriter, tuple_of_targets
from codegen.targets.rules.values import NotPortable, Value
from codegen.words import COMMON_KINDS, PromotionKind

_STATICS = frozenset(("int", "SymInt", "float", "bool", "SymBool", "str", "Scalar", "ScalarType"))
_IMPORTED = ("functools", "jax", "jnp")  # by the module of the functions, besides what is reserved
_IN_CALLED = frozenset(("jax", "isinstance", "int"))  # what the function that is called uses besides what is shared
_KIND_OF = {"SymInt": "int", "SymBool": "bool"}  # what `as_static` calls a type of schemas
_WIDTH = 110  # of the lines of a docstring
_KINDS = {PromotionKind.INT_TO_FLOAT: "int_to_float", PromotionKind.BOOL_TO_INT: "bool_to_int"}


def public_names(plan: Plan) -> Mapping[str, str]:
    """What the operators are called: by their base names where there is one of these, else with their overloads."""
    bases = [operator.name.base for operator in plan.operators]
    return {
        str(operator.name): operator.name.base
        if bases.count(operator.name.base) == 1
        else "_".join(filter(None, (operator.name.base, operator.name.overload)))
        for operator in plan.operators
    }


def names_in_module(public: Mapping[str, str], shared: AbstractSet[str]) -> Mapping[str, str]:
    """The same in the module of the functions, where the names of Python and of what is shared keep their meaning."""
    taken = {*RESERVED, *dir(builtins), *keyword.kwlist, *shared, *IMPORTS, *_IMPORTED}
    return {operator: f"{name}_" if name in taken else name for operator, name in public.items()}


def check_operator(operator: OperatorPlan, shared: AbstractSet[str]) -> None:
    """Refuse what JAX has nothing for.

    Args:
        operator: the operator.
        shared: names that its arguments may not have.

    Raises:
        NotPortable: the operator draws random numbers, writes its arguments, or has no kernel.
    """
    place = operator.source.text.span()
    schema = operator.schema
    if operator.source.is_random or any(str(base_type(a.type)) == "Generator" for a in schema.all_arguments):
        raise NotPortable("it draws random numbers without a key, which JAX has not", place)
    if schema.kind is not SchemaKind.FUNCTIONAL or any(a.is_write for a in schema.all_arguments):
        raise NotPortable("it writes an argument, and arrays of JAX are never written", place)
    if not operator.compute.implementations and operator.compute.composite is None:
        raise NotPortable("it has no kernel", place)
    if {"data_dependent_output", "dynamic_output_shape"} & set(operator.source.tags):
        raise NotPortable("the shape of its result follows from values, which are not known when it is traced", place)
    for result in schema.returns:
        if not is_tensor_like(result.type):
            raise NotPortable(f"it gives '{result.type}', which is no Tensor", place)
    for parameter in _parameters(operator):
        base = base_type(parameter.type)
        if base != TENSOR and str(base) not in _STATICS:
            raise NotPortable(f"its argument '{parameter.name}' is of the type '{base}'", place)
        if python(parameter.name) in (shared - WORDS) | _IN_CALLED:
            raise NotPortable(f"its argument '{parameter.name}' has the name of a function that it uses", place)


def write_body(library: Library, item: Item, operator: OperatorPlan) -> None:
    """What computes an operator: all that is asked to know what it calls."""
    _Writer(library, item, operator, Mode.TRACED).computation(Lines())


def write_functions(library: Library, item: Item, operator: OperatorPlan, mode: Mode) -> None:
    """The whole text of an operator.

    Raises:
        NotPortable: JAX lacks something.
    """
    item.text = _Writer(library, item, operator, mode).text()


def _parameters(operator: OperatorPlan) -> Sequence[ParameterPlan]:
    return [parameter for parameter in operator.python.parameters if not parameter.is_placement]


class _Writer:
    def __init__(self, library: Library, item: Item, operator: OperatorPlan, mode: Mode) -> None:
        self.library = library
        self.item = item
        self.operator = operator
        self.mode = mode
        self.parameters = _parameters(operator)
        self.tensors = [parameter for parameter in self.parameters if is_tensor_like(parameter.type)]
        self.statics = [parameter for parameter in self.parameters if not is_tensor_like(parameter.type)]
        base = item.name.strip("_")
        self.inner = self._free(f"_{base}")
        self.forward = self._free(f"_{base}_forward")
        self.backward = self._free(f"_{base}_backward")
        self.jvp = self._free(f"_{base}_tangent")

    def _free(self, name: str) -> str:
        return self.library.free(name, (f"{self.item.key[0]}.{name}", self.item.key[1]))

    def text(self) -> str:
        """The functions one after the other."""
        functions = [self._public(), self._inner()]
        if self.mode is Mode.TANGENT:
            functions.append(self._tangent())
        elif self.mode is Mode.GRADIENT:
            functions += self._gradient()
        return "\n\n\n".join(functions)

    # -- the function that is called

    def _public(self) -> str:
        operator = self.operator
        out = Lines()
        out.add(_documentation(operator))
        for parameter in self.parameters:
            self._checked(parameter, out)
        self._promoted(out)
        self._kinds(out)
        if self.mode is Mode.STOPPED:
            for parameter in self.tensors:
                out.add(f"{_name(parameter)} = jax.lax.stop_gradient({_name(parameter)})")
        for parameter, reason in self._refused():
            out.add(f"{_name(parameter)} = without_derivative({_name(parameter)}, {literal(reason)})")
        arguments = [_name(parameter) for parameter in self.parameters]
        if operator.compute.in_float32 and self.tensors:
            out.add(f"return {call('in_float32', [self.inner, *arguments])}")
        else:
            out.add(f"return {call(self.inner, arguments)}")
        parts = []
        starred = False
        for parameter in self.parameters:
            if parameter.keyword_only and not starred:
                parts.append("*")
                starred = True
            text = f"{_name(parameter)}: {_annotation(parameter.type)}"
            if parameter.default is not None:
                text += f" = {literal(default_value(parameter)).replace('dtypes.', 'jnp.')}"
            parts.append(text)
        return f"{function_head(self.item.name, parts, _returns(operator))}\n{out.text}"

    def _checked(self, parameter: ParameterPlan, out: Lines) -> None:
        name, type = _name(parameter), parameter.type
        if not is_tensor_like(type):
            if base_type(type) == DTYPE:
                out.add(f"{name} = {self._dtype(name)}")
                return
            kind = _KIND_OF.get(str(base_type(type)), str(base_type(type)))
            kind += "[]" if isinstance(required(type), ListType) else ""
            kind += "?" if isinstance(type, OptionalType) else ""
            size = [] if parameter.size is None else [str(parameter.size)]  # one number stands for all of them
            out.add(f"{name} = {call('as_static', [literal(name), name, literal(kind), *size])}")
            return
        if isinstance(required(type), ListType):
            function = "as_arrays"
            if isinstance(type, OptionalType):
                out.add(f"{name} = None if {name} is None else {call(function, [literal(name), name])}")
                return
        else:
            function = "as_optional_array" if isinstance(type, OptionalType) else "as_array"
        out.add(f"{name} = {call(function, [literal(name), name])}")

    def _dtype(self, name: str) -> str:
        """The element type that is asked for; of what is made of nothing there is always one."""
        if self.tensors:
            return call("as_dtype", [name])
        promotion = self.operator.compute.promotion
        if promotion is None:
            return call("default_dtype", [name])
        named = promotion.arguments
        numbers = [
            _name(each)
            for each in self.parameters
            if required(each.type) == SCALAR and (named is None or each.name in named)
        ]
        return call("default_dtype", [name, literal(_KINDS.get(promotion.kind, "default")), tuple_of(numbers)])

    def _promoted(self, out: Lines) -> None:
        promotion = self.operator.compute.promotion
        if promotion is None or promotion.kind.value == "none":
            return
        named = promotion.arguments
        taking = [each for each in self.parameters if named is None or each.name in named]
        arrays = [_name(each) for each in taking if is_tensor_like(each.type)]
        numbers = [_name(each) for each in taking if required(each.type) == SCALAR]
        if not arrays or (len(arrays) == 1 and not numbers and promotion.kind not in _KINDS):
            return
        kind = literal(_KINDS.get(promotion.kind, "default"))
        arguments = [kind, tuple_of(arrays), *([tuple_of(numbers)] if numbers else [])]
        out.add(f"{tuple_of_targets(arrays)} = {call('common', arguments)}")

    def _kinds(self, out: Lines) -> None:
        dtypes = self.operator.source.dtypes
        if dtypes is None or set(COMMON_KINDS) <= set(dtypes.kinds):
            return
        named = self.operator.compute.promotion.arguments if self.operator.compute.promotion else dtypes.arguments
        names = [_name(each) for each in self.tensors if named is None or each.name in named]
        if names and not any(base_type(each.type) == DTYPE for each in self.parameters):
            kinds = literal(tuple(dtypes.kinds))
            shown = literal(str(self.operator.name))
            out.add(call("check_kinds", [shown, kinds, tuple_of(names), dtypes.error]))

    def _refused(self) -> Sequence[tuple[ParameterPlan, str]]:
        """The arguments of which no derivative can be asked for, and why."""
        autograd = self.operator.autograd
        reasons = dict(autograd.unimplemented)
        shown = str(self.operator.name)
        if self.mode is Mode.REFUSED:
            return [
                (each, f"the derivative of '{reasons.get(each.name, shown)}' for '{each.name}' is not implemented")
                for each in self.tensors
                if not reasons or each.name in reasons
            ]
        if self.mode is not Mode.GRADIENT:
            return []
        return [
            (each, f"the derivative of '{reasons[each.name]}' for '{each.name}' is not implemented")
            for each in self.tensors
            if each.name in reasons
        ]

    # -- what computes it

    def _inner(self) -> str:
        out = Lines()
        self.computation(out)
        decorator = ""
        if self.mode in (Mode.TANGENT, Mode.GRADIENT):
            statics = self._places(self.statics)
            decorator = f"@{self.mode.value}\n"
            if statics:
                decorator = f"@functools.partial({self.mode.value}, nondiff_argnums={tuple_of(statics)})\n"
                self.item.imports["import functools"] = None
        parameters = [f"{argument(each.name)}: {annotation(each.type)}" for each in self.parameters]
        return f"{decorator}{function_head(self.inner, parameters, _returns(self.operator))}\n{out.text}"

    def _places(self, parameters: Sequence[ParameterPlan]) -> list[str]:
        return [str(self.parameters.index(each)) for each in parameters]

    def computation(self, out: Lines) -> None:
        """The statements of the function that computes it."""
        compute = self.operator.compute
        printer = TreePrinter(self.library, self.item)
        arguments = [argument(each.name) for each in self.parameters]
        if compute.elementwise is not None:
            out.comment(compute.elementwise.source)
            for requirement in compute.elementwise.requirements:
                with out.block(f"if not ({printer.value(requirement.condition).text}):"):
                    out.add(f"raise RuntimeError({_message(requirement, printer)})")
            out.add(f"return {printer.formula(compute.elementwise.tree, out)}")
            return
        if compute.composite is not None:
            if compute.composite.lists:
                raise NotPortable("it is for each element of lists", compute.composite.text.span())
            out.comment(compute.composite.source)
            out.add(f"return {printer.formula(compute.composite.tree, out)}")
            return
        key, function = compute.implementations[0]
        out.comment(_placed(function.span, function.name))
        twin = self._twin()
        if twin is not None:
            values = [Value(name, each.type) for name, each in zip(arguments, self.parameters, strict=True)]
            names = [parameter.name for parameter in twin.python.parameters]
            out.add(f"return {self.library.call(twin, dict(zip(names, values, strict=True)), self.item).text}")
            return
        if not is_of_numpy(self.operator, self.library):
            made = self.library.function(function.module, function.name)
            given = [
                f"{python(each.name)}={name}" if each.keyword_only else name
                for each, name in zip(self.parameters, arguments, strict=True)
            ]
            out.add(f"return {call(self.library.name(made, self.item), ['xp', *given])}")
            return
        if key != CPU and not key.startswith("Composite"):
            raise NotPortable(f"it has a kernel of '{key}' alone", self.operator.source.text.span())
        if function.parameters is None:
            made = self.library.definition(function.module, function.name)
        else:
            made = self.library.function(function.module, function.name)
        caller = "call_pointwise" if self._is_pointwise() else "call_kernel"
        out.add(f"return {call(caller, [self.library.name(made, self.item), *arguments])}")

    def _twin(self) -> OperatorPlan | None:
        """The operator whose kernel does it as it is, where that is one of Gradwright's own."""
        base = self.library.plan.base
        implementation = self.operator.compute.implementation
        if base is None or self.operator.source.elementwise is None:
            return None
        return next(
            (
                each
                for each in base.operators
                if each.compute.implementations
                and each.compute.implementation == implementation
                and len(each.python.parameters) == len(self.parameters)
            ),
            None,
        )

    def _is_pointwise(self) -> bool:
        one = all(each.type in (TENSOR, OptionalType(TENSOR)) for each in self.tensors)
        results = all(each.type == TENSOR for each in self.operator.schema.returns)
        return "pointwise" in self.operator.source.tags and one and results and bool(self.tensors)

    # -- derivatives

    def _heads(self) -> list[str]:
        return [f"{argument(each.name)}: {annotation(each.type)}" for each in self.statics]

    def _call(self) -> str:
        return call(self.inner, [argument(each.name) for each in self.parameters])

    def _tangent(self) -> str:
        node, forward = self.operator.autograd.node, self.operator.autograd.forward
        assert node is not None
        assert forward is not None
        writer = RuleWriter(self.operator, node, self.library, self.item, selects=False)
        out = Lines()
        count = len(self.operator.schema.returns)
        out.add(docstring(f"The result and its tangent{'' if count == 1 else 's'}."))
        names = [argument(each.name) for each in self.tensors]
        out.add(f"{tuple_of_targets(names)} = primals")
        targets = tuple_of_targets([f"{name}_t" for name in names])
        out.add(f"{targets} = map(tangent_of, tangents, primals)")
        out.add(f"out = {self._call()}")
        parts = writer.tangents(forward, out)
        parts = [f"as_tangent(xp, None, out[{place}])" if part == "None" else part for place, part in enumerate(parts)]
        out.add(f"return out, {parts[0] if count == 1 else tuple_of(parts)}")
        head = function_head(self.jvp, [*self._heads(), "primals: Any", "tangents: Any"], "tuple[Any, Any]")
        return f"@{self.inner}.defjvp\n{head}\n{out.text}"

    def _gradient(self) -> Sequence[str]:
        node, operator = self.operator.autograd.node, self.operator
        assert node is not None
        writer = RuleWriter(operator, node, self.library, self.item, selects=False)
        out = Lines()
        out.add(docstring("The result, and what the gradients need."))
        out.add(f"out = {self._call()}")
        out.add(f"return out, {writer.kept()}")
        parameters = [f"{argument(each.name)}: {annotation(each.type)}" for each in self.parameters]
        forward = f"{function_head(self.forward, parameters, 'tuple[Any, Saved]')}\n{out.text}"

        out = Lines()
        out.add(docstring(f"The gradient of {', '.join(edge.name for edge in node.edges)}."))
        given = "grad" if len(operator.schema.returns) == 1 and not node.dynamic else "grads"
        if given == "grad" or node.dynamic or len(node.outputs) == len(operator.schema.returns):
            out.add(f"{given} = from_cotangent({given})")
        elif node.single:
            out.add(f"grad = from_cotangent(grads[{node.outputs[0]}])")
        else:
            out.add(f"grads = from_cotangent({tuple_of([f'grads[{place}]' for place in node.outputs])})")
        gradients = dict(zip([edge.name for edge in node.edges], writer.gradients(out), strict=True))
        parts = [f"to_cotangent({gradients[p.name]})" if p.name in gradients else "None" for p in self.tensors]
        out.add(f"return {tuple_of(parts)}")
        head = function_head(self.backward, [*self._heads(), "saved: Saved", f"{given}: Any"], "Gradients")
        definition = f"{self.inner}.defvjp({self.forward}, {self.backward})"
        return forward, f"{head}\n{out.text}", definition


def _name(parameter: ParameterPlan) -> str:
    return python(parameter.name)


def _message(requirement: RequirementPlan, printer: TreePrinter) -> str:
    if not requirement.values:
        return literal("".join(requirement.words))
    template = "{}".join(word.replace("{", "{{").replace("}", "}}") for word in requirement.words)
    return call(f"{literal(template)}.format", [printer.value(value).text for value in requirement.values])


def _placed(span: Span, name: str) -> str:
    return f"{span.file.path}:{span.line}  {name}"


def _documentation(operator: OperatorPlan) -> str:
    text = operator.source.text
    place = f"Written in {shown_yaml(text)}:{text.span().line}."
    said = about(operator)
    parts = [str(operator.schema), *([said] if said else []), place]
    lines: list[str] = []
    for part in parts:
        lines += ["", *textwrap.wrap(part, _WIDTH, break_on_hyphens=False)]
    return docstring("\n".join([*(f"    {line}".rstrip() for line in lines[1:]), "    "]).strip(" ") + "    ")


def _annotation(type: object) -> str:
    """The annotation of a parameter of the function that is called."""
    return annotation(type).replace("Array", "ArrayLike")


def _returns(operator: OperatorPlan) -> str:
    returns = operator.schema.returns
    if len(returns) == 1:
        return "tuple[Array, ...]" if isinstance(returns[0].type, ListType) else "Array"
    return f"tuple[{', '.join(['Array'] * len(returns))}]"
