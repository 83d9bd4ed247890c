"""Walking a Module and the Modules in it: what there is, under which names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar, cast

from gradwright.nn.members import Members, ModuleT
from gradwright.nn.parameter import Parameter
from runtime.base.tensor import Tensor

Member = TypeVar("Member")


class ModuleTree(Members[ModuleT]):
    """Base of Module: iterators over members, and access to them by dotted names."""

    # -- iterators

    def named_modules(
        self, memo: set[ModuleT] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, ModuleT]]:
        """This Module and all below it with their dotted names, parents first.

        Args:
            memo: Modules to pass over; those that were yielded are added.
            prefix: the name of this Module, put before all others.
            remove_duplicate: whether a Module that is found in several places is yielded for the first only.
        """
        memo = set() if memo is None else memo
        module = cast("ModuleT", self)
        if module in memo:
            return
        if remove_duplicate:
            memo.add(module)
        yield prefix, module
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, _joined(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[ModuleT]:
        """This Module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, ModuleT]]:
        """The Modules directly in this one with their names, each once."""
        seen: set[ModuleT] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[ModuleT]:
        """The Modules directly in this one, each once."""
        for _, child in self.named_children():
            yield child

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names.

        Args:
            prefix: put before all names.
            recurse: whether those of the Modules below this one are included.
            remove_duplicate: whether one that is found in several places is yielded for the first only.
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names; arguments as of `named_parameters`."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self,
        get_members_fn: Callable[[ModuleT], Iterable[tuple[str, Member | None]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Member]]:
        """Members of one kind of this Module and those below; `get_members_fn` gives the ones of a single Module."""
        seen: set[int] = set()
        here = [(prefix, cast("ModuleT", self))]
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else here:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield _joined(path, name), member

    def apply(self, fn: Callable[[ModuleT], object]) -> Self:
        """Call `fn` with every Module below this one, children first, and at last with this one."""
        for child in self.children():
            child.apply(fn)
        fn(cast("ModuleT", self))
        return self

    # -- access by name

    def get_submodule(self, target: str) -> ModuleT:
        """The Module at a dotted name; this one for an empty name.

        Raises:
            AttributeError: there is no such attribute, or it is no Module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name)
            if not isinstance(module, ModuleTree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return cast("ModuleT", module)

    def set_submodule(self, target: str, module: ModuleT, strict: bool = False) -> None:
        """Put `module` at a dotted name.

        Args:
            target: where to; all but the last part must exist.
            module: what to put there.
            strict: whether there must be a Module at that place already.

        Raises:
            ValueError: `target` is empty, or `module` is no Module.
            AttributeError: the place does not exist, or holds something that is no Module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleTree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleTree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name.

        Raises:
            AttributeError: there is no such attribute, or it is no parameter.
        """
        path, _, name = target.rpartition(".")
        parameter = _attribute(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name.

        Raises:
            AttributeError: there is no such attribute, or it is no buffer.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return cast("Tensor", buffer)


def _attribute(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
