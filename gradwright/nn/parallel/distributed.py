"""Modules that several processes train together, each on its part of the data."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradwright.autograd import is_grad_enabled, no_grad
from gradwright.distributed.backends import Array, Pending, ProcessGroup, ReduceOp
from gradwright.distributed.collectives import array_of, write
from gradwright.distributed.groups import group_in_use
from gradwright.nn.module import Module
from runtime.base.creation import from_numpy
from runtime.base.tensor import Tensor

__all__ = ["DistributedDataParallel"]

_FIRST_BUCKET = 1 << 20  # bytes: small, so that sums begin early


class _Bucket:
    """Parameters whose gradients are summed in one call."""

    def __init__(self, parameters: Sequence[int]) -> None:
        self.parameters = parameters  # their numbers
        self.waits_for: set[int] = set()
        self.pending: Pending | None = None


class DistributedDataParallel(Module):
    """A Module whose gradients are the means over all processes.

    Each process calls it with its part of a batch and calls `backward`. The gradients are summed in buckets, from the
    last parameters to the first, while the rest of the backward pass still runs; it ends when all sums have come. If
    the parts are as large as each other, and losses are means, gradients are those of the whole batch.

    Args:
        module: the Module. Its parameters and buffers become those of the first process.
        device_ids, output_device, dim: of devices, which there are none of.
        broadcast_buffers: whether buffers become those of the first process at each call.
        init_sync: whether shapes are compared and parameters are sent when this is made.
        process_group: the processes; by default all.
        bucket_cap_mb: how large buckets are; by default 25 megabytes.
        find_unused_parameters: whether each call looks which parameters its result depends on; the others count as zero
            on this process. Without it each process has to use all parameters.
        others: accepted; they have no effect.

    Raises:
        ValueError: there is no group of processes yet.
        RuntimeError: no parameter requires grad, or processes have other parameters.
    """

    def __init__(
        self,
        module: Any,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        **others: Any,
    ) -> None:
        super().__init__()
        found = group_in_use(process_group)
        if found is None:
            raise RuntimeError("DistributedDataParallel: this process is not in the group")
        self.module = module
        self.process_group: ProcessGroup = found
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        named = [(name, each) for name, each in module.named_parameters() if each.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        self._names = [name for name, _ in named]
        self._trained: list[Tensor] = [each for _, each in named]
        if init_sync:
            self._compare()
            self._send([*module.parameters(), *module.buffers()])
        cap = (25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20)
        self._buckets = self._divide(cap)
        self._bucket_of = {number: each for each in self._buckets for number in each.parameters}
        self._running = self._fired = False  # whether gradients are expected, and have begun to come
        self._used: Array = np.zeros(0, np.int32)
        self._use: Pending | None = None
        self._begun = 0
        for number, parameter in enumerate(self._trained):
            parameter.register_post_accumulate_grad_hook(functools.partial(self._arrived, number))

    # What is the same in all processes.

    def _compare(self) -> None:
        """Raise where a process has other parameters than this one.

        Raises:
            RuntimeError: it names the first that differs, and the process.
        """
        shown = [
            f"{name} {each.dtype}{list(each.shape)}" for name, each in zip(self._names, self._trained, strict=True)
        ]
        counts = self._everywhere(np.array([len(shown)], np.int64))
        if len(set(counts[:, 0].tolist())) > 1:
            raise RuntimeError(
                f"DistributedDataParallel: the processes have {', '.join(map(str, counts[:, 0]))} parameters"
            )
        words = self._everywhere(np.array([zlib.crc32(each.encode()) for each in shown], np.int64))
        for rank, row in enumerate(words):
            for number, (mine, theirs) in enumerate(zip(words[self.process_group.rank()], row, strict=True)):
                if mine != theirs:
                    raise RuntimeError(
                        f"DistributedDataParallel: parameter {number} of process {self.process_group.ranks[rank]} is "
                        f"not '{shown[number]}', as it is here, in process "
                        f"{self.process_group.ranks[self.process_group.rank()]}"
                    )

    def _everywhere(self, array: Array) -> Array:
        rows = self.process_group.all_gather(array).wait()
        assert rows is not None
        return rows

    def _send(self, tensors: Sequence[Tensor]) -> None:
        """Make Tensors those of the first process: in one call for each dtype."""
        by_dtype: dict[Any, list[Tensor]] = {}
        for tensor in tensors:
            by_dtype.setdefault(tensor.dtype, []).append(tensor)
        for some in by_dtype.values():
            flat = self.process_group.broadcast(np.concatenate([array_of(each).reshape(-1) for each in some]), 0).wait()
            assert flat is not None
            if self.process_group.rank() == 0:
                continue
            start = 0
            for tensor in some:
                write(tensor, flat[start : start + tensor.numel()])
                start += tensor.numel()

    def _divide(self, cap: float) -> list[_Bucket]:
        """Parameters from the last to the first, as backward reaches them, in buckets of one dtype."""
        buckets: list[_Bucket] = []
        filling: dict[Any, list[int]] = {}
        sizes: dict[Any, int] = {}
        for number in reversed(range(len(self._trained))):
            parameter = self._trained[number]
            some = filling.setdefault(parameter.dtype, [])
            some.append(number)
            size = sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel() * parameter.element_size()
            if size >= (cap if buckets else min(cap, _FIRST_BUCKET)):
                buckets.append(_Bucket(filling.pop(parameter.dtype)))
                del sizes[parameter.dtype]
        return [*buckets, *(_Bucket(some) for some in filling.values())]

    # Training.

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the Module gives.

        Raises:
            RuntimeError: the last backward pass did not reach all parameters.
        """
        if self._running and self._fired:
            missing = [self._names[number] for number in sorted({n for each in self._buckets for n in each.waits_for})]
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. No gradient "
                f"came for {', '.join(missing)}. With `find_unused_parameters=True` processes may leave parameters out"
            )
        recorded = is_grad_enabled() and self.require_backward_grad_sync
        if recorded and self.broadcast_buffers:
            buffers = list(self.module.buffers())
            if buffers:
                self._send(buffers)
        result = self.module(*inputs, **kwargs)
        if recorded:
            self._prepare(result)
        return result

    def _prepare(self, result: Any) -> None:
        """Expect gradients of the parameters, or of those that the result depends on."""
        everything = set(range(len(self._trained)))
        used = _reached(result, self._trained) if self.find_unused_parameters else everything
        self._used = np.array([number in used for number in range(len(self._trained))], np.int32)
        self._running, self._fired = True, False
        self._begun = 0
        self._use = None
        for bucket in self._buckets:
            bucket.waits_for = set(bucket.parameters) & used
            bucket.pending = None

    def _arrived(self, number: int, parameter: Tensor) -> None:
        """Begin the sums of the buckets that are complete, in their order; with the last one wait for all."""
        if not self._running or not self.require_backward_grad_sync:
            return
        self._fired = True
        self._bucket_of[number].waits_for.discard(number)
        if self.find_unused_parameters and self._use is None:
            self._use = self.process_group.all_reduce(self._used, ReduceOp.SUM, True)
        while self._begun < len(self._buckets) and not self._buckets[self._begun].waits_for:
            bucket = self._buckets[self._begun]
            grads = [self._gradient(each) for each in bucket.parameters]
            bucket.pending = self.process_group.all_reduce(np.concatenate(grads), ReduceOp.AVG, True)
            self._begun += 1
        for bucket in self._buckets[: self._begun]:  # MPI goes on when it is asked
            if bucket.pending is not None:
                bucket.pending.is_completed()
        if self._begun == len(self._buckets):
            self._finish()

    def _gradient(self, number: int) -> Array:
        parameter = self._trained[number]
        if parameter.grad is None:
            return np.zeros(parameter.numel(), parameter.detach()._array.dtype)
        return array_of(parameter.grad).reshape(-1)

    def _finish(self) -> None:
        self._running = False
        used = self._used if self._use is None else self._use.wait()
        assert used is not None
        for bucket in self._buckets:
            assert bucket.pending is not None
            flat = bucket.pending.wait()
            bucket.pending = None
            assert flat is not None
            start = 0
            for number in bucket.parameters:
                parameter = self._trained[number]
                part = flat[start : start + parameter.numel()]
                start += parameter.numel()
                if not used[number]:
                    continue  # by no process: its gradient stays what it was
                if parameter.grad is None:
                    with no_grad():
                        parameter.grad = from_numpy(part.reshape(parameter.shape).copy())
                else:
                    write(parameter.grad, part)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients add up on each process alone; the next backward pass outside sums all of them."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


def _reached(result: Any, parameters: Sequence[Tensor]) -> set[int]:
    """The numbers of the parameters that Tensors in a result depend on."""
    numbers = {id(parameter): number for number, parameter in enumerate(parameters)}
    nodes = [tensor.grad_fn for tensor in _tensors(result) if tensor.grad_fn is not None]
    seen = set(map(id, nodes))
    reached = {numbers[id(tensor)] for tensor in _tensors(result) if id(tensor) in numbers}
    kept = list(nodes)  # so that no id is used twice
    while nodes:
        node = nodes.pop()
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) in numbers:
            reached.add(numbers[id(variable)])
        for other, _ in node.next_functions:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                nodes.append(other)
                kept.append(other)
    return reached


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
