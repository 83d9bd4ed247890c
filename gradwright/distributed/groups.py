"""Groups of processes: that of all, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gradwright.distributed.backends import Backend, ProcessGroup

__all__ = [
    "GroupMember",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "group_in_use",
    "init_process_group",
    "is_initialized",
    "new_group",
]


class _NonMember:
    """What a process has in place of a group that it is not in."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class GroupMember:
    """What `new_group` returns to processes that are not in it."""

    NON_GROUP_MEMBER: ClassVar[Any] = _NonMember()


class group:
    """`group.WORLD` is the group of all processes, None before there is one."""

    WORLD: ClassVar[ProcessGroup | None] = None


_groups: list[tuple[ProcessGroup, str]] = []


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return group.WORLD is not None


def init_process_group(backend: str | None = None, *arguments: Any, **options: Any) -> None:
    """Make the group of all processes, which the launcher has started.

    Args:
        backend: "mpi", which is meant by None as well, or one that was registered.
        arguments, options: those of PyTorch (`init_method`, `world_size`, `timeout`, ...), which have no effect: the
            backend knows who takes part.

    Raises:
        ValueError: there is a group already.
        RuntimeError: there is no such backend.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    name = "mpi" if backend is None else backend.lower()
    group.WORLD = Backend.maker(name)(None)
    assert group.WORLD is not None
    _groups.append((group.WORLD, name))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group, or all of them."""
    if group is None or group is _WORLD():
        _set_world(None)
        _groups.clear()
    else:
        _groups[:] = [each for each in _groups if each[0] is not group]


def _WORLD() -> ProcessGroup | None:
    return group.WORLD


def _set_world(world: ProcessGroup | None) -> None:
    group.WORLD = world


def new_group(ranks: Sequence[int] | None = None, *arguments: Any, **options: Any) -> Any:
    """A group of some processes. All call this, also those that are not in it.

    Args:
        ranks: of its members; by default all.
        arguments, options: those of PyTorch, which have no effect.

    Returns:
        The group, or `GroupMember.NON_GROUP_MEMBER`.
    """
    name = get_backend()
    made = Backend.maker(name)(None if ranks is None else sorted(ranks))
    if made is None:
        return GroupMember.NON_GROUP_MEMBER
    _groups.append((made, name))
    return made


def group_in_use(group: Any = None) -> ProcessGroup | None:
    """That group, or that of all; None for a process that is not in it.

    Raises:
        ValueError: there is none yet.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    if group is not None:
        found: ProcessGroup = group
        return found
    world = _WORLD()
    if world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world


def get_rank(group: Any = None) -> int:
    """The number of this process in a group, from 0; -1 where it is not in it."""
    found = group_in_use(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes are in a group; -1 where this one is not in it."""
    found = group_in_use(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """The name of the backend of a group."""
    found = group_in_use(group)
    names = [name for each, name in _groups if each is found]
    if not names:
        raise ValueError("Invalid process group specified")
    return Backend(names[0])


def get_pg_count() -> int:
    """The number of groups."""
    return len(_groups)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The members of a group, by their ranks among all processes."""
    found = group_in_use(group)
    return [] if found is None else list(found.ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process, by its rank among all.

    Raises:
        ValueError: it is not in the group.
    """
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return list(group.ranks).index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all processes of a member of a group."""
    return group.ranks[group_rank]
