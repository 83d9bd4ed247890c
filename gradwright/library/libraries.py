"""Libraries: registrations that belong together, and are taken back together."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from codegen.dispatch_keys import COMPOSITE_IMPLICIT
from codegen.excerpt import source_lines
from codegen.schema.facts import facts_of
from codegen.schema.parser import parse_schema
from codegen.schema.types import FunctionSchema, OperatorName, base_type
from codegen.source import ParseError, Text
from runtime.base.keys import check_key
from runtime.base.signature_facts import SignatureFacts
from runtime.base.tags import Tag, as_tags
from runtime.call import registered
from runtime.call.binding import exact_signature
from runtime.call.dispatch import Operator
from runtime.call.kernel_stacks import Kernel
from runtime.call.kernel_table import TensorKernel, fallbacks
from runtime.call.overloads import FallbackKernel, OpOverload

_KINDS = ("DEF", "IMPL", "FRAGMENT")
_RESERVED = ("prim",)


class Library:
    """Registers operators and kernels, for as long as it lives.

    Args:
        ns: the namespace, "aten" for the built-in operators.
        kind: "DEF" defines a namespace, of which there is one; "FRAGMENT" adds operators to any; "IMPL" adds kernels.
        dispatch_key: the key of kernels that are registered without one.

    Raises:
        ValueError: the kind is unknown, or the namespace reserved.
        RuntimeError: the namespace is defined already, or there is no such dispatch key.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if dispatch_key:
            check_key(dispatch_key)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._undo: list[Callable[[], object]] = []
        if kind == "DEF":
            frame = sys._getframe(1)
            self._claim(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        self._finalizer = weakref.finalize(self, _undo_all, self._undo)
        self._finalizer.atexit = False

    def _claim(self, place: str) -> None:
        before = registered.definers.get(self.ns)
        if before is not None:
            raise RuntimeError(
                f"Only a single library of kind DEF can be used to register the namespace {self.ns}; use FRAGMENT to "
                f"define operators of one namespace in several places, and IMPL for kernels. Previous registration at "
                f"{before}; latest registration at {place}"
            )
        registered.definers[self.ns] = place
        self._undo.append(partial(registered.definers.pop, self.ns))

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> str:
        """Define an operator.

        Args:
            schema: its signature, such as `f.overload(Tensor x, int n=2) -> Tensor`.
            alias_analysis: "", "FROM_SCHEMA" or "CONSERVATIVE"; schemas are taken at their word in any case.
            tags: marks to keep with the operator.

        Returns:
            The operator's name, without the overload's.

        Raises:
            RuntimeError: the schema does not parse (the message points at the place), the operator exists, or the
                library is only for kernels.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        if self.kind == "IMPL":
            raise RuntimeError(f'define("{schema}"): a library of kind IMPL only has kernels; use DEF or FRAGMENT')
        parsed = read_schema(schema)
        full_name = parsed.name.base
        base = self._local_name(full_name, "define")
        marks = as_tags(tags)
        check_tags(parsed, marks)
        parsed = replace(parsed, name=OperatorName(f"{self.ns}::{base}", parsed.name.overload), name_end=0)
        qualname = str(parsed.name)
        if registered.exists(qualname):
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. "
                "Each overload's schema should only be registered with a single call to define()."
            )
        registered.define(qualname, make_operator(parsed, self.ns, marks))
        self._undo.append(partial(registered.undefine, qualname))
        return full_name

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel, a function on Tensors, or `fallthrough_kernel`.

        Args:
            op_name: the operator's name, with that of the overload, or the overload itself.
            fn: called as the operator is, without the arguments that have their default values.
            dispatch_key: by default the library's, else CompositeImplicitAutograd.
            with_keyset: whether `fn` takes a DispatchKeySet first.
            allow_override: whether another kernel that was registered for this key may be replaced.

        Raises:
            TypeError: `fn` is not callable.
            RuntimeError: the key or name does not fit the library, or there is a kernel that must not be replaced.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = check_key(self._key(op_name, dispatch_key))
        qualname = self._qualname(op_name)
        if not allow_override and registered.has_kernel(qualname, key):
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{qualname.partition('::')[2]}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        operator = registered.find(qualname)
        if operator is not None:
            _check_meta(operator, key)
            _warn_override(operator, key)
        self._check_alive()
        self.add_kernel(qualname, key, TensorKernel(fn, key, with_keyset))

    def add_kernel(self, qualname: str, key: str, kernel: Kernel) -> None:
        """Register a kernel of any class, until the library is destroyed."""
        registered.add_kernel(qualname, key, kernel)
        self._undo.append(partial(registered.remove_kernel, qualname, key, kernel))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register a function for all operators that have no kernel for a backend; only in the namespace "_".

        Args:
            fn: called with the overload object and then as the operator is.
            dispatch_key: the backend's key; by default the library's.
            with_keyset: whether `fn` takes a DispatchKeySet before everything else.
        """
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        key = dispatch_key or self.dispatch_key
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        self._check_alive()
        kernel = FallbackKernel(fn, check_key(key), with_keyset)
        fallbacks.add(key, kernel)
        self._undo.append(partial(fallbacks.remove, key, kernel))

    def set_rule(self, operator: Operator, rule: str, function: Callable[..., Any]) -> None:
        """Set `vmap_rule` or `fake` of an operator, until the library is destroyed."""
        before = getattr(operator, rule)
        setattr(operator, rule, function)
        self._undo.append(partial(_restore_rule, operator, rule, function, before))

    def _destroy(self) -> None:
        """Take all registrations back; kernels that were replaced count again."""
        self._finalizer()

    def _check_alive(self) -> None:
        if not self._finalizer.alive:
            raise AssertionError("Library object has been destroyed")

    def _key(self, op_name: object, key: str) -> str:
        if key and self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided dispatch key ({key}) is inconsistent with the dispatch '
                f"key of the library ({self.dispatch_key})"
            )
        return key or self.dispatch_key or COMPOSITE_IMPLICIT

    def _qualname(self, op_name: str | OpOverload) -> str:
        if isinstance(op_name, OpOverload):
            op_name = op_name.name()
        elif not isinstance(op_name, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument, got "
                f"{type(op_name)}"
            )
        return registered.canonical(f"{self.ns}::{self._local_name(op_name, 'impl')}")

    def _local_name(self, name: str, what: str) -> str:
        """`name` without the library's namespace, which it may have."""
        space, colons, local = name.rpartition("::")
        if colons and space != self.ns:
            raise RuntimeError(
                f'{what}("{name}", ...): Explicitly provided namespace ({space}) does not match namespace of the '
                f"library ({self.ns})"
            )
        return local


@contextmanager
def scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library for the length of a `with` block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


# Libraries of registrations that were made without one: they stay.
_kept: list[Library] = []


def lasting_library(namespace: str) -> Library:
    """A library whose registrations stay until the process ends."""
    library = Library(namespace, "FRAGMENT")
    _kept.append(library)
    return library


def read_schema(text: str) -> FunctionSchema:
    """The schema that a user wrote.

    Raises:
        RuntimeError: it does not parse; the message shows where.
    """
    try:
        return parse_schema(text, free_form=True, conventional=False)
    except ParseError as error:
        span = Text.literal(text).span(error.start, error.end)
        hint = [f"hint: {error.hint}"] if error.hint else []
        raise RuntimeError("\n".join([f"{error.message}:", *source_lines(span), *hint])) from None


def check_tags(schema: FunctionSchema, tags: Sequence[Tag]) -> None:
    """Refuse a schema that is not what its tag says.

    Raises:
        ValueError: an `inplace` operator does not write and return its first argument, and nothing else; an `out`
            operator does not return the keyword-only Tensors that it writes, in their order.
    """
    if Tag.inplace in tags:
        first = schema.positional[0] if schema.positional else None
        rest = [argument for argument in schema.all_arguments if argument is not first and argument.is_write]
        if first is None or not first.is_write or str(first.type) != "Tensor":
            raise ValueError(f"An operator with Tag.inplace writes its first argument, a Tensor. Got: {schema}")
        if rest:
            raise ValueError(f"An operator with Tag.inplace writes its first argument only. Got: {schema}")
        if len(schema.returns) != 1 or not _is_same(first.alias, schema.returns[0].alias):
            raise ValueError(f"An operator with Tag.inplace returns its first argument. Got: {schema}")
    if Tag.out in tags:
        written = [argument for argument in schema.all_arguments if argument.is_write]
        if not written or any(argument in schema.positional for argument in written):
            raise ValueError(f"An operator with Tag.out writes keyword-only arguments. Got: {schema}")
        if any(str(argument.type) != "Tensor" for argument in written):
            raise ValueError(f"An operator with Tag.out writes Tensors. Got: {schema}")
        same = len(written) == len(schema.returns) and all(
            _is_same(argument.alias, value.alias) for argument, value in zip(written, schema.returns, strict=True)
        )
        if not same:
            raise ValueError(f"An operator with Tag.out returns what it writes, in the same order. Got: {schema}")


def _is_same(alias: Any, other: Any) -> bool:
    return alias is not None and bool(alias.same_memory(other))


def make_operator(schema: FunctionSchema, namespace: str, tags: Sequence[Tag]) -> Operator:
    """An operator with no kernels yet."""
    tensors = tuple(argument.name for argument in schema.all_arguments if str(base_type(argument.type)) == "Tensor")
    facts = SignatureFacts(**facts_of(schema, with_out=True))
    operator = Operator(str(schema), _placeholder, {}, namespace, differentiable=tensors, facts=facts)
    operator.is_generated = False
    operator.parsed_schema = schema
    operator.signature = exact_signature(operator.schema, facts)
    operator.tags = tuple(tags)
    return operator


def _placeholder() -> None:
    """Stands where generated operators have their fast path."""


def _check_meta(operator: Operator, key: str) -> None:
    if key == "Meta" and COMPOSITE_IMPLICIT in operator.built_in:
        raise RuntimeError(
            f"'{operator.qualified_name}' is traced through (CompositeImplicitAutograd), so its shapes follow from the "
            "operators that it is made of: register Meta kernels for those"
        )


def _warn_override(operator: Operator, key: str) -> None:
    there = operator.table is not None and operator.table.get(key) is not None
    if there or key in operator.built_in:
        warnings.warn(
            "Overriding a previously registered kernel for the same operator and the same dispatch key\n"
            f"  operator: {operator.schema}\n  dispatch key: {key}",
            UserWarning,
            stacklevel=3,
        )


def _restore_rule(operator: Operator, rule: str, function: Any, before: Any) -> None:
    if getattr(operator, rule) is function:
        setattr(operator, rule, before)


def _undo_all(undo: list[Callable[[], object]]) -> None:
    while undo:
        undo.pop()()
