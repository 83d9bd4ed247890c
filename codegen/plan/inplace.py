"""In-place variants that write what the fast path of their operator computes."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.plan.steps import Asked, FastPathPlan, ResultKind


@dataclass(frozen=True, slots=True)
class InplacePlan:
    """A call that writes one of its arguments: the guards, conversions and kernel are those of the fast path.

    Attributes:
        function: the function of the variant.
        target: the argument that is written.
        others: the other Tensors among the arguments, which may be None.
        lists: lists of Tensors; a call that they require grad in is left to the general path.
        apart: whether the others may not lie in the memory of the target.
        keeps_target: whether derivatives read what the target was before.
        records: whether the fast path records the call by the operator's own Node.
    """

    function: str
    target: str
    others: tuple[str, ...]
    lists: tuple[str, ...]
    apart: bool
    keeps_target: bool
    records: bool

    def __post_init__(self) -> None:
        if self.target in (*self.others, *self.lists):
            raise ValueError(f"{self.function}: {self.target} is another argument than itself")
        if self.records and self.lists:
            raise ValueError(f"{self.function}: Nodes of lists are recorded by the general path")


def plan_inplace(
    fast_path: FastPathPlan, function: str, apart: bool, keeps_target: bool, records: bool
) -> InplacePlan | None:
    """The in-place variant of an operator; None where only the general path writes.

    Args:
        fast_path: the fast path of the operator.
        function: the function of the variant.
        apart: whether what is written may lie in the memory of no other argument.
        keeps_target: whether derivatives read what the target was.
        records: whether the variant has the operator's own Node.
    """
    if fast_path.results.kind is not ResultKind.ARRAY or fast_path.those(Asked.TENSORS):
        return None
    target = fast_path.arguments[0]
    if target.asked is not Asked.TENSOR:
        return None
    others = [name for name in fast_path.those(Asked.TENSOR, Asked.OPTIONAL_TENSOR) if name != target.name]
    lists = fast_path.those(Asked.OPTIONAL_TENSORS)
    return InplacePlan(function, target.name, tuple(others), lists, apart, keeps_target, records and not lists)
