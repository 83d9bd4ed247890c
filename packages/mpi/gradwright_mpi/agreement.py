"""What ranks agree on before a call: that it is the same on all of them, and whether it has a derivative.

A derivative is a call of all ranks too. So where one rank asks for it, all take part: those whose Tensor has no graph,
or no tangent, get one, of which nothing comes.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

import numpy as np
from mpi4py import MPI

from gradwright import Tensor, is_grad_enabled, zeros_like
from gradwright.autograd import forward_ad
from gradwright_mpi.groups import Group, group_of
from gradwright_mpi.waiting import MachineError, place, wait

__all__ = ["agree", "agree_on_call", "agree_on_message", "checks"]

_LONGEST = 512


def agree(self: Tensor, call: str, root: int, group: str) -> Tensor:
    """The same Tensor, part of the derivative where it is so on any rank.

    Args:
        self: what the call is about to take.
        call: its name.
        root: the rank that it names, or -1.
        group: the name of the group, all of whose ranks call this.

    Raises:
        MachineError: the ranks call different things, or with other shapes, dtypes or roots.
        RuntimeError: `root` is no rank of the group.
    """
    of = group_of(group)
    if root >= of.size or root < -1 or (root < 0 and call.endswith(("_to", "_from"))):
        raise RuntimeError(f"{call}: root is {root}, and group '{group}' has ranks 0 to {of.size - 1}")
    if of.size == 1:
        return self
    shape = self.shape[1:] if call == "scatter_from" else self.shape
    rooted = f" rank {root}" if root >= 0 else ""
    shown = f"{call}{rooted} of {str(self.dtype).rpartition('.')[2]}{list(shape)}"
    wanted, moved = agree_on_call(shown, of, _asks(self), _tangent(self) is not None)
    return _joined(self, wanted, moved)


def checks() -> str:
    """Which calls are compared with those of the other ranks.

    "1" all that return when they are done; "all" also those that overlap with the program, such as the sums of
    gradients; "0" only those of which a derivative may be asked.
    """
    detail = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL"
    return os.environ.get("GRADWRIGHT_MPI_CHECK", "all" if detail else "1")


def agree_on_call(shown: str, group: Group, *flags: bool) -> Sequence[bool]:
    """Compare a call with those of the other ranks.

    Args:
        shown: the call in words, which are the same on all ranks.
        group: all of whose ranks call this.
        flags: of this rank.

    Returns:
        For each flag whether any rank has it.

    Raises:
        MachineError: another rank calls something else; it names both and their places.
    """
    if checks() == "0" and not is_grad_enabled():
        return flags
    number = zlib.crc32(shown.encode())
    mine = np.array([number, -number, *flags], np.int64)
    all_ = np.empty_like(mine)
    wait(group.agreements.Iallreduce(mine, all_, MPI.MAX), group, shown)
    if all_[0] != -all_[1]:
        raise MachineError(_difference(shown, group))
    return [bool(flag) for flag in all_[2:]]


def _difference(shown: str, group: Group) -> str:
    """What the ranks call, where that is not the same: all of them come here."""
    words = f"{shown} at {place()}".encode()[-_LONGEST:].ljust(_LONGEST)
    everywhere = np.empty((group.size, _LONGEST), np.uint8)
    wait(group.agreements.Iallgather(np.frombuffer(words, np.uint8), everywhere), group, shown)
    lines: dict[str, list[int]] = {}
    for rank, row in enumerate(everywhere):
        lines.setdefault(row.tobytes().decode(errors="replace").strip(), []).append(group.members[rank])
    calls = [
        f"{'ranks' if len(ranks) > 1 else 'rank'} {', '.join(map(str, ranks))}: {line}" for line, ranks in lines.items()
    ]
    return f"call {group.begun['all'] - 1} of group '{group.name}' is not the same everywhere: " + "; ".join(calls)


def agree_on_message(
    self: Tensor, like: Tensor, dest: int, source: int, tag: int, group: str
) -> tuple[Tensor, int, int, int, int]:
    """As `agree`, between a rank and those that it sends to and receives from.

    Returns:
        The Tensor; the ranks that a gradient goes to and comes from; those that a tangent goes to and comes from. -1
        stands for ranks that take no part in these derivatives.

    Raises:
        MachineError: what comes is not as `like`.
        RuntimeError: as `Group.check_message`.
    """
    of = group_of(group)
    of.check_message(dest, source, tag)
    sent, expected = _described(self), _described(like)
    asks, has_tangent = _asks(self), _tangent(self) is not None
    said = f"{int(asks)}{int(has_tangent)}{sent} at {place()}".encode()[:_LONGEST].ljust(_LONGEST)
    out = bytearray(_LONGEST)
    requests = [
        of.agreements.Irecv(out, MPI.PROC_NULL if source < 0 else source, tag),
        of.agreements.Isend(said, MPI.PROC_NULL if dest < 0 else dest, tag),
    ]
    wait(requests, of, "sendrecv", peers=(source, dest), tag=tag, shown=f" of {sent}")
    theirs = source_has_tangent = False
    if source >= 0:
        words = bytes(out).decode(errors="replace").strip()
        theirs, source_has_tangent, words = words[0] == "1", words[1] == "1", words[2:]
        if words.partition(" at ")[0] != expected:
            raise MachineError(
                f"sendrecv of group '{group}': rank {of.members[of.rank]} expects {expected} at {place()}, "
                f"rank {of.members[source]} sends {words}"
            )
    mine = _joined(self, theirs, has_tangent or source_has_tangent)
    back = source if theirs else -1, dest if asks else -1
    front = dest if has_tangent else -1, source if source_has_tangent else -1
    return mine, *back, *front


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}"


def _asks(tensor: Tensor) -> bool:
    return is_grad_enabled() and tensor.requires_grad


def _tangent(tensor: Tensor) -> Tensor | None:
    return forward_ad.unpack_dual(tensor).tangent


def _joined(self: Tensor, wanted: bool, moved: bool) -> Tensor:
    if wanted and not self.requires_grad and is_grad_enabled():
        self = self.detach().requires_grad_() if _tangent(self) is None else self + zeros_like(self).requires_grad_()
    if moved and _tangent(self) is None:
        self = forward_ad.make_dual(self, zeros_like(self))
    return self
