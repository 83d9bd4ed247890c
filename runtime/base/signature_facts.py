"""What calls need to know of a signature, as plain values.

The generator writes it down for each operator, so that no schema is read when operators run. Of a signature that a user
writes, `codegen.schema.facts` works it out when it is first needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SignatureFacts(NamedTuple):
    """The arguments and results of an operator. Positions are those of arguments.

    Attributes:
        arguments: the name and type of each, and behind them the default value, where there is one. A dtype is its
            name, a number of a list of fixed size stands for every element.
        positional: how many of the arguments may be given by position.
        results: the types of the results.
        result_names: their names, where there are several and all have one.
        placements: the arguments that say where and how a result lies in memory, which no kernel on arrays takes.
        writes: the arguments that a call writes.
        returned: for each result the argument that it is; None for a new one, -1 for one that shares memory otherwise.
            Empty where all are new.
        base: the first argument whose memory is written or shared by a result.
        is_factory: whether it makes a Tensor of the dtype, and in the place, that its arguments say.
        masks_outputs: whether an argument says which results are wanted; the others are None.
    """

    arguments: tuple[tuple[Any, ...], ...]
    positional: int
    results: tuple[str, ...] = ("Tensor",)
    result_names: tuple[str, ...] = ()
    placements: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    returned: tuple[int | None, ...] = ()
    base: int | None = None
    is_factory: bool = False
    masks_outputs: bool = False
