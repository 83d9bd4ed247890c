"""In-place operators in C++: an entry for each that writes what the straight way of its operator computes."""

from __future__ import annotations

from codegen.names import cpp
from codegen.plan.operator import OperatorPlan
from codegen.targets.cpp.entries import EntryView
from codegen.targets.cpp.nodes import NodeView
from codegen.targets.cpp.operators import KernelEntry, NativeKernels, loop_template
from codegen.targets.cpp.text import Needs


def inplace_function(operator: OperatorPlan) -> str | None:
    """The name of the in-place variant of an operator with an entry, where C++ can take it; else None."""
    fast = operator.fast
    if operator.inplace is None or fast is None or operator.kind != "kernel" or operator.view is not None:
        return None
    if fast.lists or operator.returns_list or len(operator.schema.returns) != 1:
        return None
    return operator.inplace_function if operator.parameters[0].name in fast.tensors else None


def inplace_view(
    operator: OperatorPlan, function: str, node: NodeView | None, kernels: NativeKernels, needs: Needs
) -> EntryView:
    """The entry of the in-place variant; `node` is None where Python records."""
    return _InplaceEntry(operator, function, node, kernels, needs).view(f"{operator.inplace}, for {operator.schema}")


class _InplaceEntry(KernelEntry):
    """Writes the body of one entry."""

    def __init__(
        self, operator: OperatorPlan, function: str, node: NodeView | None, kernels: NativeKernels, needs: Needs
    ) -> None:
        super().__init__(operator, function, node if operator.inplace_node is None else None, kernels, needs)
        self.target = self.arguments[0]

    def lines(self) -> list[str]:
        self._check()
        self._convert_ints()
        self._prepare()
        self._write()
        self._record_write()
        self.out.add(f"return Ref::borrow({self.target});")
        return self.out.lines

    def _tensors(self) -> list[str]:
        """All Tensors among the arguments, in C++."""
        known = (*self.fast.tensors, *self.fast.optionals)
        return [cpp(p.name) for p in self.operator.parameters if p.name in known]

    def _prepare(self) -> None:
        """Ask whether the write may be done here, and keep what its derivative needs."""
        node, tensors = self.operator.node, self._tensors()
        lists = [cpp(name) for name in self.fast.optional_lists]
        others = [name for name in tensors if name != self.target]
        if self.operator.exclusive:
            tests = [f"may_overlap(array_of({self.target}), array_of({name}))" for name in others]
            self.out.when(" || ".join(tests), self._return_fall_back)
        if self.node is None or node is None or lists:
            tail = "".join(f" || (grad_enabled && any_requires_grad({name}))" for name in lists)
            self.out.assign("const bool recorded", "is_recorded(", tensors, f"){tail};")
            given = ", ".join((self.target, "false", *others))
            self.out.when(f"recorded || !can_write({given})", self._return_fall_back)
            return
        edges = [cpp(edge.name) for edge in node.edges]
        self.out.assign("const bool recorded", "is_recorded(", edges, ");")
        given = ", ".join((self.target, "recorded", *others))
        self.out.when(f"!can_write({given})", self._return_fall_back)
        copied = str(self.operator.saves_self).lower()
        self.out.add(f"Ref before = recorded ? before_write({self.target}, {copied}) : Ref();")
        self.out.add("if (recorded && !before) return Ref();")

    def _write(self) -> None:
        writer = self._writer()
        if writer is None:
            self._overwrite()
        else:
            self.out.add(f"if (!{writer}) {{")
            with self.out.block():
                self._overwrite()
        self.out.add(f"if (!count_write({self.target})) return Ref();")

    def _overwrite(self) -> None:
        """Run the kernel of the operator itself, and copy what it gives."""
        self._run_kernel()
        self.out.when(f"!result || !overwrite({self.target}, result.get())", self._return_fall_back)

    def _writer(self) -> str | None:
        """The call of a loop that writes in place, if there is one."""
        parameters = [p for p in self.operator.parameters if not p.is_placement]
        name = self.operator.implementation.name
        values = ", ".join(cpp(parameter.name) for parameter in parameters)
        if len(parameters) in self.kernels.writers.get(name, ()):
            return f"writers::{name}({values})"
        if self.kernels.functors.get(name) != len(parameters):
            return None
        loop = loop_template(self.fast, parameters)
        return None if loop is None else f"write_{loop.format(f'kernels::{name}')}({values})"

    def _record_write(self) -> None:
        if self.node is None:
            return
        own = self.operator.parameters[0].name
        given = ["before.get()" if name == own else cpp(name) for name in self.node.arguments]
        self.out.add("if (recorded) {")
        with self.out.block():
            self.out.unless(f"!{self.node.class_name}::record", [self.target, *given], "return Ref();")
