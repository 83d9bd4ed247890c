"""What stands for an argument that a call leaves out, where None and all else may be given."""

from __future__ import annotations

from typing import Final


class Absent:
    """The type of `absent`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


absent: Final = Absent()
