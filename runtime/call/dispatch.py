"""Operators at run time: what is known of each, how it is called, and the kernels that are put in place of its own.

The fast path of generated code handles plain Tensors.  Everything else comes here: dtype promotion, Python numbers,
errors, views, in-place and out variants, forward mode, kernels registered later.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, MutableMapping
from functools import cached_property
from typing import Any

from codegen.dispatch_keys import COMPOSITE_IMPLICIT
from runtime.base.deferred import loaded
from runtime.call import failures, general, kernel_table, promote, returned
from runtime.call.facts import OperatorFacts
from runtime.call.inference import fast_path_copy
from runtime.call.inplace import check_fits, write_inplace
from runtime.call.kernel_stacks import Kernel, KernelTable
from runtime.call.out import write_out
from runtime.call.writing import call_writing
from runtime.native import core


class Operator(OperatorFacts):
    """One overload of an operator: its facts, and as methods the functions of this package that work by them."""

    _fast_path_kernel: Callable[..., Any] | None = None  # the kernel that the fast path calls while there is no table
    _registered = False  # whether `register` gave it other kernels than those the native core knows

    __call__ = general.call
    call_bound = general.call_bound
    call_below_autograd = general.call_below_autograd
    call_writing = call_writing
    choose = general.choose
    compute = general.compute
    undifferentiable = general.undifferentiable
    call_composite = kernel_table.call_composite
    inplace = write_inplace
    out = write_out
    check_fits = check_fits
    check_dtypes = promote.check_dtypes
    counted = returned.counted
    explained = failures.explained

    @cached_property
    def inference_copy(self) -> Callable[..., Any] | None:
        """The generated function as it runs in inference mode."""
        return fast_path_copy(self)

    def register(self, key: str, kernel: Callable[..., Any]) -> None:
        """Give the operator another built-in kernel for a dispatch key: on arrays for a backend, on Tensors for the
        composite keys.  The fast path stops being used.
        """
        self.built_in[key] = kernel
        self._registered = True
        self._fast_path_kernel = None
        self._refresh()
        self._decline()

    def add_backend(self, key: str, kernel: Callable[..., Any]) -> None:
        """Give the operator a built-in kernel on the arrays of another backend; calls on the CPU stay as they are."""
        self.built_in[key] = kernel
        self._refresh()

    def add_kernel(self, key: str, kernel: Kernel) -> None:
        """Put a kernel on Tensors in place of what there is for a dispatch key, until `remove_kernel`."""
        if self.table is None:
            self.table = KernelTable()
            self._fast_path_kernel = self.function.__globals__.get(f"{self.symbol}_kernel")
        self.table.add(key, kernel)
        self._refresh()
        if self._fast_path_kernel is not None:
            self._decline()
        elif core is not None:
            core.kernel_replaced(self.function)

    def remove_kernel(self, key: str, kernel: Kernel) -> None:
        """Take a kernel of `add_kernel` away; what it replaced comes back."""
        assert self.table is not None
        self.table.remove(key, kernel)
        if not self.table.keys():
            self.table = None
            if self._fast_path_kernel is not None:
                self.function.__globals__[f"{self.symbol}_kernel"] = loaded(self._fast_path_kernel)
                del self.inference_copy
            if core is not None and not self._registered:
                core.kernel_restored(self.function)
        self._refresh()

    def _refresh(self) -> None:
        """Bring what the fast paths look at in line with the table."""
        if self.table is None:
            self.kernels = self.built_in
            self.set_traced()
        else:
            replaced = self.table
            self.kernels = {key: kernel for key, kernel in self.built_in.items() if replaced.get(key) is None}
            self.traced = self.composite = self.__call__ if COMPOSITE_IMPLICIT in self.built_in else None

    def _decline(self) -> None:
        def decline(*args: object) -> object:
            raise LookupError("the kernel was replaced")

        self.function.__globals__[f"{self.symbol}_kernel"] = decline
        self.inference_copy = None
        if core is not None:
            core.kernel_replaced(self.function)


class LazyNodes:
    """Stands in the module of generated operators for that of their Nodes, until the first Node is made.

    A program that records nothing never loads them.

    Args:
        names: of the module of operators, where `nodes` becomes the module of Nodes itself.
    """

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(f"{self._names['__package__']}.nodes")
        self._names["nodes"] = module
        return getattr(module, name)


__all__ = ["LazyNodes", "Operator"]
