"""Optimizers whose state is shared out among processes."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwright.distributed.backends import Array, Pending, ProcessGroup
from gradwright.distributed.collectives import array_of, write
from gradwright.distributed.groups import group_in_use
from gradwright.optim.lbfgs import LBFGS
from gradwright.optim.optimizer import Optimizer, Parameters
from gradwright.serialization import load, save
from runtime.base.tensor import Tensor

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of which each process keeps the state of its own part of the parameters.

    Each process changes the parameters that are assigned to it, with an optimizer of `optimizer_class`, and sends them
    to the others. Parameters are what one optimizer of all of them computes, to the last bit. A parameter is assigned
    whole, the largest first, to the process that has the fewest elements. All processes make the same calls.

    Args:
        params: as of any optimizer; the same in all processes.
        optimizer_class: the class of the optimizer that each process has, `optim`.
        process_group: the processes; by default all.
        parameters_as_bucket_view: accepted; parameters of one process are sent together in any case.
        overlap_with_ddp: whether steps run during the backward pass, which is not supported.
        defaults: options for `optimizer_class`.

    Attributes:
        optim: the optimizer of this process's part, in as many groups.
        rank, world_size: of the process in the group.

    Raises:
        ValueError: there is no group of processes yet, or the optimizer computes with all parameters at once (`LBFGS`).
        RuntimeError: this process is not in the group.
        NotImplementedError: `overlap_with_ddp`.
    """

    def __init__(
        self,
        params: Parameters,
        optimizer_class: type[Optimizer],
        process_group: Any | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp needs hooks for communication")
        if issubclass(optimizer_class, LBFGS):
            raise ValueError(
                f"ZeroRedundancyOptimizer: {optimizer_class.__name__} computes with all parameters at once, and a "
                "process has a part of them"
            )
        group = group_in_use(process_group)
        if group is None:
            raise RuntimeError("ZeroRedundancyOptimizer: this process is not in the group")
        self.process_group: ProcessGroup = group
        self.rank, self.world_size = group.rank(), group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._owners: dict[Tensor, int] = {}
        self._elements = [0] * self.world_size
        self._is_consolidated = False
        super().__init__(params, defaults)
        constructor: Callable[..., Optimizer] = optimizer_class  # which has other options than its base class
        self.optim = constructor([self._own_part(each) for each in self.param_groups], **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)

    # -- parts

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, as `Optimizer.add_param_group`, on all processes."""
        super().add_param_group(param_group)
        added = self.param_groups[-1]
        for parameter in sorted(dict.fromkeys(added["params"]), key=lambda each: each.numel(), reverse=True):
            owner = self._elements.index(min(self._elements))
            self._owners[parameter] = owner
            self._elements[owner] += parameter.numel() if parameter.requires_grad else 0
        if "optim" in self.__dict__:
            self.optim.add_param_group(self._own_part(added))
            _copy_options(self.optim.param_groups, self.param_groups)

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in group.items() if name != "param_names"}
        return {**own, "params": [each for each in group["params"] if self._owners[each] == self.rank]}

    def _of_rank(self, rank: int) -> Sequence[Tensor]:
        """The parameters of a process, in the order in which its optimizer has them."""
        return [each for each in self._all_parameters() if self._owners[each] == rank]

    # -- steps

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Change all parameters by their gradients; see `Optimizer.step`. All processes call it together."""
        _copy_options(self.param_groups, self.optim.param_groups)  # a schedule has changed those of this optimizer
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        self._send_parameters()
        _copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def _send_parameters(self) -> None:
        """Make the parameters of each process those that it has changed."""
        begun: list[tuple[int, list[Tensor], list[int], Pending]] = []
        for rank in range(self.world_size):
            parameters = [each for each in self._of_rank(rank) if each.requires_grad]
            sizes = [each.numel() * each.element_size() for each in parameters]
            if not any(sizes):
                continue
            if rank == self.rank:
                flat = np.concatenate([_bytes_of(array_of(each)) for each in parameters])
            else:
                flat = np.empty(sum(sizes), np.uint8)
            # The first is compared with those of the other processes; the others run together.
            begun.append((rank, parameters, sizes, self.process_group.broadcast(flat, rank, overlaps=bool(begun))))
        for rank, parameters, sizes, pending in begun:
            flat_ = pending.wait()
            assert flat_ is not None
            if rank == self.rank:
                continue
            start = 0
            for parameter, size in zip(parameters, sizes, strict=True):
                part = flat_[start : start + size].copy()  # at an address that numbers of its dtype can have
                write(parameter, part.view(array_of(parameter).dtype))
                start += size

    # -- state

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes on one of them, whose `state_dict` has it then. All processes call it.

        Args:
            to: the rank of that process in the group.
        """
        file = io.BytesIO()
        save(self.optim.state_dict()["state"], file)
        mine = np.frombuffer(file.getvalue(), np.uint8)
        sizes = self.process_group.all_gather(np.array([mine.size], np.int64)).wait()
        assert sizes is not None
        rows = self.process_group.gather(np.pad(mine, (0, int(sizes.max()) - mine.size)), to).wait()
        self.state = defaultdict(dict)
        self._is_consolidated = rows is not None
        if rows is None:
            return
        parts: list[tuple[dict[Tensor, int], dict[int, Any]]] = []
        for rank, row in enumerate(rows):
            numbers = {parameter: number for number, parameter in enumerate(self._of_rank(rank))}
            parts.append((numbers, load(io.BytesIO(row[: int(sizes[rank, 0])].tobytes()), weights_only=True)))
        for parameter in self._all_parameters():
            numbers, states = parts[self._owners[parameter]]
            if numbers[parameter] in states:
                self.state[parameter] = states[numbers[parameter]]

    def state_dict(self) -> dict[str, Any]:
        """What one optimizer of all parameters has, as `consolidate_state_dict` has last collected it.

        Raises:
            RuntimeError: it was not collected on this process.
        """
        if not self._is_consolidated:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict("
                f"to={self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` returned on any number of processes, or what one optimizer has of all parameters.

        Each process keeps its part.

        Raises:
            ValueError: as `Optimizer.load_state_dict`.
        """
        super().load_state_dict(state_dict)
        own = {key: each for key, each in self.state.items() if self._owners.get(key, self.rank) == self.rank}
        self.state = defaultdict(dict)
        self._is_consolidated = False
        _copy_options(self.param_groups, self.optim.param_groups)
        self.optim.__setstate__({"state": defaultdict(dict, own)})


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _copy_options(source: Sequence[dict[str, Any]], target: Sequence[dict[str, Any]]) -> None:
    for ours, theirs in zip(source, target, strict=True):
        theirs.update({name: value for name, value in ours.items() if name not in ("params", "param_names")})
