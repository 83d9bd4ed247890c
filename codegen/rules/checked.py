"""What rules look at: everything that was read and bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry
from codegen.python_source import FunctionIndex, PythonModule
from codegen.read.model import NativeFunction
from codegen.rules.kernel_source import KernelSources
from codegen.rules.linear.formulas import Linearity
from codegen.rules.linear.holomorphy import Holomorphy


@dataclass(frozen=True, slots=True)
class Checked:
    """`written` are the operators of the file itself, `functions` all that there are; `batching` the rules of
    vmap; `sources` what kernels show of themselves; `modules` those of functions on Tensors whose operators are in the
    table, and `namespace` where the project's own are.
    """

    written: Sequence[NativeFunction]
    functions: Sequence[NativeFunction]
    entries: Sequence[ResolvedEntry]
    kernels: FunctionIndex
    composites: FunctionIndex
    batching: FunctionIndex
    table: OperatorTable
    linear: Linearity
    holomorphy: Holomorphy
    sources: KernelSources
    modules: Sequence[PythonModule] = ()
    namespace: str = ""
