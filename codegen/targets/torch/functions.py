"""The `autograd.Function` of an operator: what it saves, its gradients, its tangents, its batches."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from codegen.formula.typed import SCALAR, Conditional, TypedExpr, Variable, VariableKind, is_tensor_like, walk
from codegen.plan.forward import TangentPlan
from codegen.plan.kinds import SavedKind
from codegen.plan.node import EdgePlan, GradientPlan
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.saved import SavedVariable
from codegen.plan.sharing import shared_parts
from codegen.schema.types import ListType, OptionalType, base_type
from codegen.source import Span
from codegen.targets.environment import docstring
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import STEP, Lines, any_of, call, choice, function_head
from codegen.targets.rules.library import Item
from codegen.targets.rules.printer import gradient_variable
from codegen.targets.rules.values import NotPortable
from codegen.targets.rules.wrapping import WIDTH
from codegen.targets.torch.library import Library
from codegen.targets.torch.printer import (
    ONE_OR_ALL,
    TreePrinter,
    annotation,
    argument,
    arguments_of_entry,
    by_position,
    parameters_of,
)


class Names:
    """The names of what stands in a section.

    Attributes:
        function: what users call.
        entry: the variable with the overload of `torch.ops`.
        kernel: the function below autograd.
        fake: the function that gives empty results.
        expression: the function on Tensors that the kernel calls.
        operation: what is done before and after the kernel's function.
        out: the function that writes its results.
        entry_out: the variable with the overload of `torch.ops` that writes results.
        record: what applies the class to the elements of lists.
        applied: what applies the class where no transform is active.
        cls: the class, which `grad_fn` shows with `Backward` behind it.
    """

    def __init__(self, operator: OperatorPlan, library: Library) -> None:
        self.function = library.own_name(operator)
        self.entry = library.private_name(operator, f"_{self.function}")
        self.kernel = library.private_name(operator, f"{self.function}_kernel")
        self.fake = library.private_name(operator, f"{self.function}_fake")
        self.expression = library.private_name(operator, f"_{self.function}_expression")
        self.operation = library.private_name(operator, f"_{self.function}_operation")
        self.out = library.private_name(operator, f"{self.function}_out")
        self.entry_out = library.private_name(operator, f"{self.entry}_out")
        self.applied = library.private_name(operator, f"_apply_{self.function}")
        self.record = library.private_name(operator, f"_record_{self.function}")
        node = operator.autograd.node
        if node is not None:
            self.cls = node.class_name.replace("Backward", "", 1).removesuffix("0") or node.class_name
        else:
            self.cls = "".join(part.title() for part in self.function.split("_"))
        self.cls = library.private_name(operator, self.cls)


def list_parameters(operator: OperatorPlan) -> list[ParameterPlan]:
    """The parameters that are lists of Tensors, whose elements are inputs of the class one by one."""
    return [each for each in operator.python.parameters if is_list(each)]


def is_list(parameter: ParameterPlan) -> bool:
    """Whether it takes lists of Tensors."""
    type = parameter.type.elem if isinstance(parameter.type, OptionalType) else parameter.type
    return isinstance(type, ListType) and is_tensor_like(type)


def is_tensor(parameter: ParameterPlan) -> bool:
    """Whether it takes a Tensor."""
    return is_tensor_like(parameter.type) and not is_list(parameter)


def comment(text: str, out: Lines) -> None:
    """A comment, over several lines where it is long."""
    lines = textwrap.wrap(text, WIDTH - len(out.indent) - 4, break_long_words=False, break_on_hyphens=False)
    out.add(f"# {lines[0]}", *(f"#     {line}" for line in lines[1:]))


class FunctionWriter:
    """Writes the class of one operator.

    Args:
        operator: with the plan of its Node, if it has one.
        library: what formulas may call.
        item: the section in which the class stands.
    """

    def __init__(self, operator: OperatorPlan, library: Library, item: Item) -> None:
        self.operator = operator
        self.node = operator.autograd.node
        self.library = library
        self.item = item
        self.names = Names(operator, library)
        self.lists = list_parameters(operator)
        self.parameters = operator.python.parameters
        # The inputs of the class: what is no list, the lengths of the lists, and their elements.
        self.fixed = [argument(each.name) for each in self.parameters if not is_list(each)]
        self.counts = [f"{argument(each.name)}_count" for each in self.lists]
        self.several = len(operator.schema.returns) > 1 or operator.returns_list
        self.may_be_complex = operator.source.takes_complex

    def text(self) -> str:
        """The whole class."""
        parts = [self._forward(), self._setup(), self._backward(), self._jvp(), self._vmap()]
        about = docstring(f"Derivatives of {self.operator.name}.")
        body = "\n\n".join(f"{STEP}@staticmethod\n{part}" for part in parts)
        return f"class {self.names.cls}(Function):\n{STEP}{about}\n\n{body}"

    def _method(self, name: str, parameters: Sequence[str], returns: str, out: Lines) -> str:
        return f"{STEP}{function_head(name, parameters, returns)}\n{out.text}"

    # -- inputs

    def _input_parameters(self) -> list[str]:
        if not self.lists and by_position(self.operator):
            return parameters_of(self.operator, keywords=False)
        names = {argument(each.name): annotation(each.type) for each in self.parameters}
        parts = [f"{name}: {names[name]}" for name in self.fixed]
        parts += [f"{name}: int" for name in self.counts]
        return [*parts, "*elements: Tensor | None"] if self.lists else parts

    def _take_lists(self, out: Lines) -> None:
        """Put the lists together again."""
        start = ""
        for parameter, count in zip(self.lists, self.counts, strict=True):
            stop = count if not start else f"{start} + {count}"
            out.add(f"{argument(parameter.name)} = list(elements[{start}:{stop}])")
            start = stop

    def _names_of_inputs(self) -> str:
        names = [*self.fixed, *self.counts, *(["*elements"] if self.lists else [])]
        return f"({names[0]},)" if len(names) == 1 else ", ".join(names)

    def _place(self, edge: EdgePlan) -> str:
        """The place of an edge among the inputs: an index, or a slice."""
        name = argument(edge.name)
        if not edge.is_list:
            return str(self.fixed.index(name))
        at = [argument(each.name) for each in self.lists].index(name)
        start = " + ".join([str(len(self.fixed) + len(self.counts)), *(f"ctx.{c}" for c in self.counts[:at])])
        return f"{start} : {start} + ctx.{self.counts[at]}"

    def _needs(self, edge: EdgePlan) -> str:
        text = f"ctx.needs_input_grad[{self._place(edge)}]"
        return f"any({text})" if edge.is_list else text

    # -- forward

    def _forward(self) -> str:
        operator = self.operator
        out = Lines(2)
        self._take_lists(out)
        result = call(self.names.entry, arguments_of_entry(operator))
        with out.block("with below_autograd():"):
            out.add(f"return tuple({result})" if operator.returns_list else f"return {result}")
        return self._method("forward", self._input_parameters(), "Any", out)

    # -- what is kept

    def _setup(self) -> str:
        operator, node = self.operator, self.node
        body = Lines(2)
        if node is None or not operator.autograd.differentiable:
            if operator.autograd.never_differentiable:
                out = "*output" if self.several else "output"
                body.add(f"ctx.mark_non_differentiable({out})")
            else:
                body.add("pass")
            return self._method("setup_context", ["ctx: Any", "inputs: tuple[Any, ...]", "output: Any"], "None", body)
        for count in self.counts:
            body.add(f"ctx.{count} = {count}")
        body.add("ctx.set_materialize_grads(False)")
        skipped = [index for index in range(len(operator.schema.returns)) if index not in node.outputs]
        if skipped and not node.dynamic:
            body.add(f"ctx.mark_non_differentiable({', '.join(f'output[{index}]' for index in skipped)})")
        kept, lengths = [], []
        for saved in node.saved:
            if saved.kind is SavedKind.VALUE:
                continue
            text = self._kept(saved)
            if saved.kind is SavedKind.LIST:
                lengths.append(saved)
                text = f"*{text}" if not node.edges_needing(saved) else f"*({text})"
            kept.append(text)
        if kept:
            body.add(f"ctx.save_for_backward({', '.join(kept)})")
        for saved in node.saved:
            if saved.kind is SavedKind.VALUE:
                body.add(f"ctx.{argument(saved.name)} = {self._kept(saved)}")
        if self.may_be_complex:
            for edge in node.edges:
                name = argument(edge.name)
                if edge.is_list:
                    body.add(f"ctx.{name}_are_complex = [is_complex(each) for each in {name}]")
                else:
                    body.add(f"ctx.{name}_is_complex = is_complex({name})")
        for index in self._materialized():
            body.add(f"ctx.info_{index} = info_of({self._result(node.outputs[index])})")
        forward = operator.autograd.forward
        if forward is not None:
            with body.block("if forward_is_active():"):
                values = [*self._forward_tensors(), *self._results()]
                body.add(f"ctx.save_for_forward({', '.join(values)})")
                numbers = self._forward_numbers()
                if numbers:
                    body.add(f"ctx.numbers = {tuple_of(numbers)}")
        head = Lines(2)
        used = set(words(body.text))
        if used & {*self.fixed, *self.counts, *(argument(each.name) for each in self.lists)}:
            head.add(f"{self._names_of_inputs()} = inputs")
            self._take_lists(head)
        head.lines += body.lines
        return self._method("setup_context", ["ctx: Any", "inputs: tuple[Any, ...]", "output: Any"], "None", head)

    def _materialized(self) -> list[int]:
        assert self.node is not None
        return sorted({index for gradient in self.node.gradients for index in gradient.materialize})

    def _result(self, index: int) -> str:
        return f"output[{index}]" if len(self.operator.schema.returns) > 1 else "output"

    def _results(self) -> list[str]:
        return ["*output"] if self.several else ["output"]

    def _kept(self, saved: SavedVariable) -> str:
        """What is kept under a name: None where no gradient that is asked for needs it."""
        assert self.node is not None
        if saved.kind is SavedKind.RESULT:
            text = self._result(saved.result_index)
        else:
            text = self._value(saved.expr)
        needing = self.node.edges_needing(saved)
        if not needing:
            return text
        if saved.kind is SavedKind.LIST:
            return choice(text, any_of([self._needs(edge) for edge in needing]), f"[None] * len({text})")
        return choice(text, any_of([self._needs(edge) for edge in needing]), "None")

    def _value(self, expr: TypedExpr) -> str:
        def named(part: Variable) -> str:
            return self._result(part.index) if part.kind is VariableKind.OUTPUT else argument(part.name)

        return TreePrinter(self.library, self.item, named).value(expr).text

    # -- gradients

    def _backward(self) -> str:
        operator, node = self.operator, self.node
        out = Lines(2)
        if node is None or not operator.autograd.differentiable:
            reason = f"derivative for {operator.name} is not implemented"
            out.add(f"raise RuntimeError({literal(reason)})")
            return self._method("backward", ["ctx: Any", "*grads: Any"], "Any", out)
        grads = [
            f"grad_{node.outputs.index(i)}" if i in node.outputs else "_" for i in range(len(operator.schema.returns))
        ]
        gradients = [_gradient(edge) for edge in node.edges]
        returned = self._returned(gradients)
        if node.single:
            with out.block("if grad is None:"):
                out.add(f"return {self._returned(['None' if not e.is_list else self._nones(e) for e in node.edges])}")
        elif not node.dynamic:
            out.assign(grads, "grads") if len(grads) > 1 else out.add(f"({grads[0]},) = grads")
        self._unpack(out)
        conditional = len(node.edges) > 1 or not node.single
        if conditional:
            for edge in node.edges:
                out.add(f"{_gradient(edge)}: Any = {self._nones(edge) if edge.is_list else 'None'}")
        for gradient in node.gradients:
            self._one_gradient(gradient, out)
        out.add(f"return {returned}")
        if node.single:
            at = node.outputs[0]
            parameters = [*(f"_{i}: Any" for i in range(at)), "grad: Tensor | None"]
            if at < len(grads) - 1:
                parameters.append("*_: Any")
        else:
            parameters = ["*grads: Any"]
        return self._method("backward", ["ctx: Any", *parameters], "Any", out)

    def _nones(self, edge: EdgePlan) -> str:
        at = [argument(each.name) for each in self.lists].index(argument(edge.name))
        return f"[None] * ctx.{self.counts[at]}"

    def _returned(self, gradients: Sequence[str]) -> str:
        """The gradients of all inputs; None for those that have none."""
        assert self.node is not None
        by_name = {argument(edge.name): text for edge, text in zip(self.node.edges, gradients, strict=True)}
        parts = [by_name.get(name, "None") for name in self.fixed] + ["None"] * len(self.counts)
        for parameter, count in zip(self.lists, self.counts, strict=True):
            text = by_name.get(argument(parameter.name), f"[None] * ctx.{count}")
            parts.append(f"*{text}" if " " not in text else f"*({text})")
        return parts[0] if len(parts) == 1 and not self.lists else tuple_of(parts)

    def _unpack(self, out: Lines) -> None:
        """Take what was saved."""
        assert self.node is not None
        names, lists = [], []
        for saved in self.node.saved:
            if saved.kind is SavedKind.VALUE:
                continue
            if saved.kind is SavedKind.LIST:
                lists.append(saved)
            else:
                names.append(argument(saved.name))
        tensors = [saved for saved in self.node.saved if saved.kind is not SavedKind.VALUE]
        if lists:
            out.add("saved = list(ctx.saved_tensors)")
            for saved in tensors:
                if saved.kind is SavedKind.LIST:
                    count = f"ctx.{argument(saved.name)}_count"
                    out.add(f"{argument(saved.name)}, saved = saved[:{count}], saved[{count}:]")
                else:
                    out.add(f"{argument(saved.name)} = saved.pop(0)")
        elif names:
            out.add(f"{f'({names[0]},)' if len(names) == 1 else ', '.join(names)} = ctx.saved_tensors")
        for saved in self.node.saved:
            if saved.kind is SavedKind.VALUE:
                out.add(f"{argument(saved.name)} = ctx.{argument(saved.name)}")

    def _one_gradient(self, gradient: GradientPlan, out: Lines) -> None:
        node = self.node
        assert node is not None
        conditions = []
        if len(node.edges) > len(gradient.edges):
            conditions.append(any_of([self._needs(node.edges[index]) for index in gradient.edges]))
        if gradient.reads and not node.single and not node.dynamic:
            conditions.append(any_of([f"grad_{index} is not None" for index in gradient.reads]))
        with out.when(conditions):
            comment(gradient.source, out)
            if gradient.tree is None:
                text = f"derivative for '{gradient.reason}' with respect to '{gradient.names[0]}' is not implemented"
                out.add(f"raise NotImplementedError({literal(text)})")
                return
            for index in gradient.materialize:
                out.add(f"defined_{index} = zeros(ctx.info_{index}) if grad_{index} is None else grad_{index}")
            uses = {part.kind for part in walk(gradient.tree) if isinstance(part, Variable)}
            if VariableKind.MASK in uses:
                several = len(gradient.edges) > 1
                wanted = [self._needs(node.edges[index]) if several else "True" for index in gradient.edges]
                out.add(f"mask = {tuple_of(wanted)}")
            edges = [node.edges[index] for index in gradient.edges]
            self._formula(gradient, ", ".join(map(_gradient, edges)), out)
            for edge in edges if self.may_be_complex else ():
                self._take_real_part(edge, out)

    def _take_real_part(self, edge: EdgePlan, out: Lines) -> None:
        """The gradient of a real Tensor is real, which PyTorch leaves to the function."""
        name, gradient = argument(edge.name), _gradient(edge)
        if edge.is_list:
            out.add(f"{gradient} = reals_unless(ctx.{name}_are_complex, {gradient})")
        else:
            out.add(f"{gradient} = real_unless(ctx.{name}_is_complex, {gradient})")

    def _formula(self, gradient: GradientPlan, targets: str, out: Lines) -> None:
        """Assign what a formula gives."""
        node = self.node
        assert node is not None
        assert gradient.tree is not None
        named = gradient_variable(node, "defined", argument)
        printer = TreePrinter(self.library, self.item, named)
        printer.device = "grad.device" if node.single else "device_of(grads)"
        tree = gradient.tree
        try:
            text = printer.formula(tree, out)
            if (
                isinstance(tree, Conditional)
                and len(f"{out.indent}{targets} = {text}") > WIDTH
                and not shared_parts(tree)
            ):
                with out.block(f"if {printer.value(tree.test).text}:"):
                    out.add(f"{targets} = {printer.value(tree.then).text}")
                with out.block("else:"):
                    out.add(f"{targets} = {printer.value(tree.orelse).text}")
            else:
                out.add(f"{targets} = {text}")
        except NotPortable as error:
            place = gradient.text.span() if gradient.text is not None else error.place
            raise NotPortable(error.reason, place) from error

    # -- tangents

    def _forward_variables(self) -> Iterator[Variable]:
        forward = self.operator.autograd.forward
        for formula in forward.formulas if forward is not None else ():
            for part in walk(formula.tree):
                if isinstance(part, Variable):
                    yield part

    def _forward_inputs(self) -> list[str]:
        """The Tensors among the inputs that formulas of tangents read, or of whose tangents zeros are made."""
        read = {part.name for part in self._forward_variables() if part.kind is VariableKind.INPUT}
        read |= {part.name for part in self._forward_variables() if part.kind is VariableKind.TANGENT}
        return [argument(each.name) for each in self.parameters if is_tensor(each) and each.name in read]

    def _forward_lists(self) -> list[str]:
        read = {part.name for part in self._forward_variables()}
        return [argument(each.name) for each in self.lists if each.name in read]

    def _forward_tensors(self) -> list[str]:
        return [*self._forward_inputs(), *(f"*{name}" for name in self._forward_lists())]

    def _forward_numbers(self) -> list[str]:
        read = {part.name for part in self._forward_variables() if part.kind is VariableKind.INPUT}
        return [argument(each.name) for each in self.parameters if not is_tensor_like(each.type) and each.name in read]

    def _jvp(self) -> str:
        operator = self.operator
        forward = operator.autograd.forward
        out = Lines(2)
        if operator.autograd.never_differentiable:
            nones = tuple_of(["None"] * len(operator.schema.returns)) if len(operator.schema.returns) > 1 else "None"
            out.add(f"return {nones}")
            return self._method("jvp", ["ctx: Any", "*tangents: Any"], "Any", out)
        if forward is None:
            out.add(f"raise no_tangents({literal(str(operator.name))})")
            return self._method("jvp", ["ctx: Any", "*tangents: Any"], "Any", out)
        with out.block("with outer_tangents():"):
            self._tangents(forward.formulas, {edge.name for edge in forward.tangents}, out)
        return self._method("jvp", ["ctx: Any", "*tangents: Any"], "Any", out)

    def _tangents(self, formulas: Sequence[TangentPlan], edges: set[str], out: Lines) -> None:
        operator = self.operator
        inputs, lists = self._forward_inputs(), self._forward_lists()
        count = len(operator.schema.returns)
        outputs = [f"output_{index}" for index in range(count)]
        if lists:
            out.add("values = list(values_of(ctx))")
            for name in inputs:
                out.add(f"{name} = values.pop(0)")
            for name in lists:
                out.add(f"{name}, values = values[: ctx.{name}_count], values[ctx.{name}_count :]")
            out.add("outputs = values" if operator.returns_list else f"{', '.join(outputs)}, *_ = values")
        elif operator.returns_list:
            out.add(f"{', '.join([*inputs, '*outputs'])} = values_of(ctx)")
        else:
            targets = [*inputs, *outputs]
            out.add(f"{f'({targets[0]},)' if len(targets) == 1 else ', '.join(targets)} = values_of(ctx)")
        numbers = self._forward_numbers()
        if numbers:
            out.add(f"{f'({numbers[0]},)' if len(numbers) == 1 else ', '.join(numbers)} = ctx.numbers")
        read = {part.name for part in self._forward_variables() if part.kind is VariableKind.TANGENT}
        offset = str(len(self.fixed) + len(self.counts))
        for parameter in self.parameters:
            name = argument(parameter.name)
            if is_list(parameter):
                stop = f"{offset} + ctx.{name}_count"
                if parameter.name in read:
                    out.add(f"{name}_t = [tangent_of(t, each) for t, each in zip(tangents[{offset} : {stop}], {name})]")
                offset = stop
            elif parameter.name in read:
                out.add(f"{name}_t = tangent_of(tangents[{self.fixed.index(name)}], {name})")
        renamed = {part.name: part.index for part in self._forward_variables() if part.kind is VariableKind.OUTPUT}
        for name, index in renamed.items():
            out.add(f"{argument(name)} = {'outputs' if operator.returns_list else outputs[index]}")
        parts = ["None"] * count
        for formula in formulas:
            comment(formula.source, out)
            try:
                printer = TreePrinter(self.library, self.item)
                printer.device = "device_of(outputs)" if operator.returns_list else "output_0.device"
                text = printer.formula(formula.tree, out)
            except NotPortable as error:
                raise NotPortable(error.reason, self._tangent_place(formula) or error.place) from error
            if operator.returns_list:
                parts = [f"tuple(fitted_tangent(t, each) for t, each in zip({text}, outputs))"]
            elif len(formula.outputs) == 1:
                (index,) = formula.outputs
                parts[index] = f"fitted_tangent({text}, {outputs[index]})"
                if count > 1:
                    out.add(f"tangent_{index} = {parts[index]}")
                    parts[index] = f"tangent_{index}"
            else:
                out.add(f"{', '.join(f'tangent_{index}' for index in formula.outputs)} = {text}")
                for index in formula.outputs:
                    parts[index] = f"fitted_tangent(tangent_{index}, {outputs[index]})"
        out.add(f"return {parts[0] if count == 1 else tuple_of(parts)}")

    def _tangent_place(self, formula: TangentPlan) -> Span | None:
        for text, _ in self.operator.autograd.formulas:
            if formula.source.endswith(" ".join(text.value.split())):
                return text.span()
        return None

    # -- batches

    def _vmap(self) -> str:
        operator = self.operator
        out = Lines(2)
        batching = operator.compute.batching
        called = self.names.entry
        if self.lists or any(each.keyword_only for each in self.parameters):
            called = f"{self.names.cls}.again"
        if batching is not None and batching.rule == "pointwise":
            promoted = self._promoted()
            parts = [called, "in_dims", "args", *([] if promoted is None else [promoted])]
            out.add(f"return {call('batch_pointwise', parts)}")
        else:
            random = ", is_random=True" if operator.source.is_random else ""
            out.add(f"return batch_loop({called}, info, in_dims, args{random})")
        text = self._method("vmap", ["info: Any", "in_dims: Any", "*args: Any"], "Any", out)
        return f"{text}\n\n{self._again()}" if called.endswith(".again") else text

    def _promoted(self) -> str | None:
        """The places of the inputs of the class whose dtypes are brought together; None where one Tensor takes part."""
        promotion = self.operator.compute.promotion
        if promotion is None:
            return None
        promoted = [
            each
            for each in self.parameters
            if (is_tensor_like(each.type) or base_type(each.type) == SCALAR)
            and (promotion.arguments is None or each.name in promotion.arguments)
        ]
        places = [str(self.fixed.index(argument(each.name))) for each in promoted if not is_list(each)]
        if any(is_list(each) for each in promoted):
            places.append(f"*range({len(self.fixed) + len(self.counts)}, len(args))")
        elif len([each for each in promoted if is_tensor(each)]) < 2:
            return None
        return tuple_of(places)

    def _again(self) -> str:
        """The operator with the inputs of the class."""
        out = Lines(2)
        self._take_lists(out)
        result = call(self.names.entry, arguments_of_entry(self.operator))
        out.add(f"return tuple({result})" if self.operator.returns_list else f"return {result}")
        return f"{STEP}@staticmethod\n{self._method('again', self._input_parameters(), 'Any', out)}"


def record_of(operator: OperatorPlan, names: Names) -> str:
    """The function that applies the class to arguments as the operator has them, where the class takes others."""
    out = Lines()
    lists = [argument(each.name) for each in list_parameters(operator)]
    inputs = [argument(each.name) for each in operator.python.parameters if not is_list(each)]
    parts = [*inputs, *(f"len({name} or ())" for name in lists), *(f"*({name} or ())" for name in lists)]
    applied = call(names.applied, parts)
    out.add(f"return list({applied})" if operator.returns_list else f"return {applied}")
    head = function_head(names.record, parameters_of(operator, sized=ONE_OR_ALL), "Any")
    return f"{head}\n{out.text}"


def tensors_of(operator: OperatorPlan) -> list[str]:
    """The Tensors among the parameters as arguments of a call; those of lists with a star."""
    parts = []
    for each in operator.python.parameters:
        name = argument(each.name)
        if is_list(each):
            parts.append(f"*({name} or ())" if isinstance(each.type, OptionalType) else f"*{name}")
        elif is_tensor(each):
            parts.append(name)
    return parts


def words(text: str) -> Iterator[str]:
    """The names in a text."""
    yield from re.findall(r"\w+", text)


def _gradient(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_gradient"
