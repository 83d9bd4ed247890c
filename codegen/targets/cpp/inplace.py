"""In-place operators in C++: an entry for each that writes what the fast path of its operator computes."""

from __future__ import annotations

from codegen.plan.inplace import InplacePlan
from codegen.plan.loops import KernelLoop, LoopChoice
from codegen.plan.operator import OperatorPlan
from codegen.plan.steps import FastPathPlan
from codegen.read.kernel_table import WRITERS
from codegen.targets.cpp.entries import EntryView
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.nodes import NodeView
from codegen.targets.cpp.operators import KernelEntry
from codegen.targets.cpp.statements import Call
from codegen.targets.cpp.text import Library

_WRITE = "write_"  # what the names of templates begin with that write in place


def inplace_view(
    operator: OperatorPlan,
    written: InplacePlan,
    node: NodeView | None,
    library: Library,
    needs: Needs,
) -> EntryView:
    """The entry of the in-place variant; `node` is None where Python records."""
    assert operator.compute.fast_path is not None
    entry = _InplaceEntry(operator, operator.compute.fast_path, written, node, library, needs)
    return entry.view(f"{operator.python.inplace}, for {operator.schema}")


class _InplaceEntry(KernelEntry):
    """Writes the body of one entry."""

    def __init__(
        self,
        operator: OperatorPlan,
        fast_path: FastPathPlan,
        written: InplacePlan,
        node: NodeView | None,
        library: Library,
        needs: Needs,
    ) -> None:
        recorded = node if written.records else None
        super().__init__(operator, fast_path, written.function, recorded, library, needs)
        self.written = written
        self.target = cpp(written.target)

    def lines(self) -> list[str]:
        self._check()
        for conversion in self.fast_path.conversions:
            self._convert(conversion)
        self._require()
        self._prepare()
        self._write()
        self._record_write()
        self.out.add(f"return Ref::borrow({self.target});")
        return self.out.lines

    def _prepare(self) -> None:
        """Ask whether the write may be done here, and keep what its derivative needs."""
        node, others = self.operator.autograd.node, list(map(cpp, self.written.others))
        if self.written.apart:
            tests = [f"may_overlap(array_of({self.target}), array_of({name}))" for name in others]
            self.out.when(tests, self._fall_back(), "||")
        if self.node is None or node is None:
            lists = [f" || (grad_enabled && any_requires_grad({cpp(name)}))" for name in self.written.lists]
            self.out.assign("const bool recorded", f"{Call('is_recorded', [self.target, *others])}{''.join(lists)}")
            arguments = ", ".join((self.target, "false", *others))
            self.out.when(["recorded", f"!can_write({arguments})"], self._fall_back(), "||")
            return
        edges = [cpp(edge.name) for edge in node.edges]
        self.out.assign("const bool recorded", Call("is_recorded", edges))
        arguments = ", ".join((self.target, "recorded", *others))
        self.out.when([f"!can_write({arguments})"], self._fall_back())
        copied = str(self.written.keeps_target).lower()
        self.out.add(f"Ref before = recorded ? before_write({self.target}, {copied}) : Ref();")
        self.out.add("if (recorded && !before) return Ref();")

    def _write(self) -> None:
        writer = self._writer()
        if writer is None:
            self._overwrite()
        elif isinstance(writer, LoopChoice):
            self.out.add("bool written = false;")
            if self.operator.computes_other_dtypes:
                self.out.add("if (!known) {")
                with self.out.block():
                    self._choose("written", writer, _WRITE)
            else:
                self._choose("written", writer, _WRITE)
            self.out.add("if (!written) {")
            with self.out.block():
                self._overwrite()
        else:
            known = ["known"] if self.operator.computes_other_dtypes else []
            self.out.when([*known, f"!{writer}"], "{", "||")
            with self.out.block():
                self._overwrite()
        self.out.add(f"if (!count_write({self.target})) return Ref();")

    def _overwrite(self) -> None:
        """Run the kernel of the operator itself, and copy what it gives."""
        self._run_kernel()
        self.out.when(["!result", f"!overwrite({self.target}, result.get())"], self._fall_back(), "||")

    def _writer(self) -> Call | LoopChoice | None:
        """The call of what writes in place, or the choice of it, if there is something."""
        name, loop, arguments = self.native.writer, self.native.writing_loop, self.fast_path.kernel.arguments
        if name is None:
            return self._call_of(loop, _WRITE) if isinstance(loop, KernelLoop) else loop
        values = [cpp(argument.name) for argument in arguments]
        return Call(self.needs.native(self.native.kernels, WRITERS, name, len(arguments)), values)

    def _record_write(self) -> None:
        if self.node is None:
            return
        arguments = ["before.get()" if name == self.written.target else cpp(name) for name in self.node.arguments]
        self.out.add("if (recorded) {")
        with self.out.block():
            self.out.unless(Call(f"{self.node.class_name}::record", [self.target, *arguments]), "return Ref();")
