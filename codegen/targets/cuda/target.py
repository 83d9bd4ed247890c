"""The target of CUDA: kernels for the operators of a package that are expressions over elements.

Where the package brings a back end whose file says `elementwise: fused`, which names its module with `Launcher`, those
of its base are printed as well; one that CUDA has no functions for goes by the kernel over the array API. The kernels
of other packages are launched by gradwright-cupy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.bind.backends import Backend
from codegen.paths import Paths
from codegen.plan.elementwise import ChoicePlan, RequirementPlan, Way
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.targets.cuda.kernels import Kernel, kernel_of
from codegen.targets.environment import environment
from codegen.targets.literals import literal
from codegen.targets.python.code import Lines, call, function_head
from codegen.targets.python.names import argument
from codegen.targets.python.text import PythonPrinter
from codegen.words import CUDA

name = CUDA
# Of the package that brings the device `cuda`: what launches kernels, and its arrays.
_LAUNCHER, _ARRAYS = "gradwright_cupy.fused", "gradwright_cupy.arrays"


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The kernels, and the functions in Python that launch them: path below the output folder, and text."""
    env = environment(paths.templates, name)
    backend = next((each for each in plan.backends if each.elementwise is not None), None)
    beneath = () if backend is None or plan.base is None else plan.base.operators
    operators = [each for each in (*plan.operators, *beneath) if each.source.elementwise is not None]
    writer = _Writer(plan, backend)
    functions = [writer.function(each) for each in operators]
    yield "__init__.py", env.get_template("init.py.j2").render()
    yield "elements.cuh", env.get_template("elements.cuh.j2").render()
    yield "kernels.cu", env.get_template("kernels.cu.j2").render(kernels=[each.text for each in writer.kernels])
    yield (
        "kernels.py",
        env.get_template("kernels.py.j2").render(
            launcher=_LAUNCHER if backend is None else backend.elementwise,
            arrays=_ARRAYS if backend is None else backend.arrays,
            imports=[f"import {module} as {_alias(module)}" for module in sorted(writer.modules)],
            table=[_row(kernel) for kernel in writer.kernels],
            functions=functions,
            operators=[(str(each.name), each.name.function_name) for each in operators],
        ),
    )


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The kernels of one operator."""
    writer = _Writer(plan, None)
    if operator.compute.elementwise is None:
        return f"// {operator.schema.name} is no expression over elements"
    writer.function(operator)
    texts = [kernel.text for kernel in writer.kernels]
    return "\n\n".join(texts) or f"// {operator.schema.name}: CUDA has no function for one of its steps"


def _row(kernel: Kernel) -> str:
    row = (len(kernel.tensors), len(kernel.numbers), kernel.gives_bools, kernel.takes_integers)
    return f"{literal(kernel.name)}: {literal(row)}"


def _alias(module: str) -> str:
    return f"_{module.replace('.', '_')}"


class _Writer:
    """Writes functions, and collects the kernels that they launch."""

    def __init__(self, plan: Plan, backend: Backend | None) -> None:
        self.printer = PythonPrinter(plan.functions, in_method=False)
        self.backend = backend
        self.kernels: list[Kernel] = []
        self.modules: set[str] = set()

    def function(self, operator: OperatorPlan) -> str:
        """The function that chooses between the kernels of an operator."""
        plan = operator.compute.elementwise
        out = Lines()
        if plan is None:  # it is another operator, which the kernels over the array API have
            self._launch(operator, None, out)
        else:
            out.comment(plan.source)
            for requirement in plan.requirements:
                with out.block(f"if not {self.printer.print(requirement.condition)}:"):
                    out.add(call("raise RuntimeError", [self._message(requirement)]))
            self._way(operator, plan.way, operator.name.function_name, out)
        parameters = [f"{argument(each.name)}: Any" for each in operator.python.parameters]
        return f"{function_head(operator.name.function_name, parameters, 'Any')}\n{out.text}"

    def _message(self, requirement: RequirementPlan) -> str:
        template = "{}".join(word.replace("{", "{{").replace("}", "}}") for word in requirement.words)
        return call(f"{literal(template)}.format", [self.printer.bare(value) for value in requirement.values])

    def _way(self, operator: OperatorPlan, way: Way, name: str, out: Lines) -> None:
        if isinstance(way, ChoicePlan):
            with out.block(f"if {self.printer.bare(way.test)}:"):
                self._way(operator, way.then, f"{name}_1", out)
            self._way(operator, way.orelse, f"{name}_2", out)
            return
        self._launch(operator, kernel_of(operator, way, name), out)

    def _launch(self, operator: OperatorPlan, kernel: Kernel | None, out: Lines) -> None:
        """The statement that launches a kernel, or where there is none what computes the operator otherwise."""
        tensors = numbers = "()"
        if kernel is not None:
            self.kernels.append(kernel)
            tensors = _tuple([argument(each) for each in kernel.tensors])
            numbers = _tuple([self.printer.bare(each) for each in kernel.numbers])
        names = [literal("" if kernel is None else kernel.name), literal(str(operator.name))]
        out.add(f"return {call('launch', [*names, tensors, numbers, self._otherwise(operator)])}")

    def _otherwise(self, operator: OperatorPlan) -> str:
        """What computes dtypes that the kernel is not for: the one over the array API; None where there is none."""
        generic = None if self.backend is None else self.backend.beneath.get(str(operator.name))
        if generic is None:
            return "None"
        self.modules.add(generic.module)
        arguments = ["namespace", *(argument(each.name) for each in operator.python.parameters)]
        return f"lambda: {call(f'{_alias(generic.module)}.{generic.name}', arguments)}"


def _tuple(values: Sequence[str]) -> str:
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"
