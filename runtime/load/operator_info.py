"""What is known of an operator after generation: the entries of `generated.registry`."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.module_names import GENERATED


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    """One overload.

    `dtypes` are the kinds of element types that it takes, `samples` calls to test it with, in the notation of
    `docs/yaml.md`. `package` is the generated package that it is in; `unproven` are
    properties that can not be proven of it, with the reasons; `convention` says why its formulas are not its
    derivatives, where they are meant to be others; `determined` names the results, and says in them what
    the arguments determine, where they are not the results themselves. `joint` are the arguments that have a backward
    formula together. `reference` names the function of another library that gives the same values, perhaps with its
    arguments.
    """

    name: str
    schema: str
    function: str
    differentiable: bool
    composite: bool
    node: str | None
    inplace: str | None
    out: str | None
    forward: bool
    pointwise: bool
    random: bool
    may_alias: bool
    dtypes: tuple[str, ...]
    samples: tuple[str, ...]
    package: str = GENERATED
    unproven: tuple[tuple[str, str], ...] = ()
    convention: str | None = None
    determined: tuple[tuple[str, ...], str] | None = None
    joint: tuple[tuple[str, ...], ...] = ()
    reference: str | None = None
