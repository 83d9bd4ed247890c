"""What is known of an operator: the facts that were generated, and what follows from them and the schema.

How a call runs is not here: `general.py` has the general path, `inplace.py` and `out.py` the variants, `promote.py` and
`results.py` what is done to arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from codegen.dispatch_keys import COMPOSITE_IMPLICIT, COMPOSITES, CPU
from runtime.base import composites
from runtime.base.deferred import DeferredFunction
from runtime.base.half import in_float32 as in_float32_whole
from runtime.base.lazy import when_loaded
from runtime.base.signature_facts import SignatureFacts
from runtime.base.tensor import Tensor
from runtime.base.types import named_result
from runtime.call.kernel_stacks import KernelTable

if TYPE_CHECKING:
    from codegen.schema.types import FunctionSchema
    from runtime.call.binding import Signature
    from runtime.call.other_dtypes import Conversion

no_names: Mapping[str, str] = {}
# Kinds of element types that are computed with; those of fewer bits are taken by operators that say so.
COMPUTED_KINDS = ("bool", "integer", "half", "float", "complex")
# Under which a module of generated operators keeps the names that its copies for inference mode see.
INFERENCE_NAMES = "inference_names"
BUILT_IN = "aten"  # the namespace of the operators that Gradwright brings


class OperatorFacts:
    """One overload of an operator.

    Args:
        schema: its text, as in native_functions.yaml.
        function: the generated callable, whose fast path declines into this object.
        kernels: functions by dispatch key: on arrays for a backend, on Tensors for the composite keys.
        namespace: in which its name is.
        dtypes: the kinds of element types that the operator takes, the arguments that are looked at where no promotion
            decides (None: all Tensors), and the class of the error for others; None where it takes all.
        promotion: how dtypes are brought together, and the arguments that take part (None: all Tensors).
        record: what follows `record_` in the name of the function that makes the Node of a call; None where there is
            no derivative.
        record_inplace: the same for a call in place, where that has formulas of its own.
        differentiable: names of the arguments that have a derivative.
        jvp: the forward-mode rule.
        unimplemented: the arguments whose derivative is not implemented, and what it would be of.
        factors: groups of arguments that make the result zero where they are.
        view: "single" or "multi" where results share memory with the first aliased argument.
        saves_self: whether the derivative needs `self`, so that an in-place variant keeps a copy.
        never_differentiable: results have no gradient, and that is no mistake.
        numbers: the Scalars that become elements where the dtype is one of integers, and how: "wrap", "fit" or "cut".
        in_float32: half precision is computed in float32, and results are rounded once.
        batching: the rule by which vmap batches its calls, and the positions of Tensors and of dimensions.
        layout: how results of its kernels lie in memory (a function of `runtime.base.layouts`), the positions of the
            arguments by which they do, and the results that follow it; None where the kernel decides.
        exclusive: what is written may lie in the memory of no argument, not even in the same places.
        one_value: in place it writes the same value to all elements, so that some of those may be one in memory.
        old_orders: orders of arguments that PyTorch still takes.
        numbers_as_tensors: whether numbers may stand for all of its Tensors.
        of_tensors: the name of the overload of two Tensors that PyTorch calls in the place of this one, of a Tensor and
            a number.
        out_dtype: which dtypes `out=` may have: any that the result can be cast to, that of the result, or any, in
            which the operator computes then.
        inplace_formula: what the in-place variant of another name for an operator calls: `acos_` that of `arccos`.
        facts: what the schema says; None for it to be read.

    Kernels that are registered at run time stand in `table`, which is None as long as there are none.
    """

    is_generated = True
    table: KernelTable | None = None
    # What gradwright.library keeps here: how the operator is called in a batch, what its results look like, its marks.
    vmap_rule: Callable[..., Any] | None = None
    fake: Callable[..., Any] | None = None
    tags: tuple[Any, ...] = ()

    def __init__(
        self,
        schema: str,
        function: Callable[..., Any],
        kernels: dict[str, Callable[..., Any]],
        namespace: str = BUILT_IN,
        promotion: tuple[str, tuple[str, ...] | None] | None = None,
        dtypes: tuple[tuple[str, ...], tuple[str, ...] | None, str] | None = None,
        record: str | None = None,
        record_inplace: str | None = None,
        differentiable: tuple[str, ...] = (),
        jvp: Callable[..., Any] | None = None,
        unimplemented: Mapping[str, str] = no_names,
        factors: tuple[tuple[str, ...], ...] = (),
        view: Literal["single", "multi"] | None = None,
        saves_self: bool = False,
        never_differentiable: bool = False,
        numbers: tuple[tuple[str, str], ...] = (),
        in_float32: bool = False,
        batching: tuple[str, tuple[int, ...], tuple[int, ...]] | None = None,
        layout: tuple[str, tuple[int, ...], tuple[int, ...]] | None = None,
        exclusive: bool = False,
        one_value: bool = False,
        old_orders: tuple[tuple[str, ...], ...] = (),
        numbers_as_tensors: bool = False,
        of_tensors: str | None = None,
        out_dtype: Literal["cast", "exact", "given"] = "exact",
        inplace_formula: Callable[..., Any] | None = None,
        facts: SignatureFacts | None = None,
    ) -> None:
        self.schema = schema
        if facts is not None:
            self.facts = facts
        self.is_writing = "!)" in schema  # told without the parser
        self.inplace_formula = inplace_formula
        self.namespace = namespace
        self.function = function
        self.symbol = function.__name__
        self.kernels = self.built_in = kernels
        self.promotion = promotion
        if dtypes is None and in_float32 and COMPOSITE_IMPLICIT not in kernels:
            dtypes = (COMPUTED_KINDS, None, "NotImplementedError")
        self.dtypes = dtypes
        self.recorder = record
        self.inplace_recorder = record_inplace or record
        self.differentiable = differentiable
        self.jvp = jvp
        self.unimplemented = unimplemented
        self.factors = factors
        self.view = view
        self.saves_self = saves_self
        self.never_differentiable = never_differentiable
        self.numbers = numbers
        self.in_float32 = in_float32
        waiting = {key: kernel for key, kernel in kernels.items() if isinstance(kernel, DeferredFunction)}
        for key, kernel in kernels.items():
            kernels[key] = self._as_built_in(key, kernel)
        self._waiting = waiting
        self.batching = batching
        self.layout = layout
        self.exclusive = exclusive
        self.one_value = one_value
        self.old_orders = old_orders
        self.numbers_as_tensors = numbers_as_tensors
        self.of_tensors = of_tensors
        self.out_dtype = out_dtype
        self.set_traced()
        for key, kernel in tuple(waiting.items()):  # last: it may be loaded by now
            when_loaded(kernel.module, partial(self._take_loaded, key, kernel, kernels[key]))

    def _as_built_in(self, key: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        return in_float32_whole(kernel) if self.in_float32 and key in COMPOSITES else kernel

    def _take_loaded(self, key: str, kernel: DeferredFunction, placed: Callable[..., Any]) -> None:
        """Put a function in the place of what stood for it, wherever calls find it."""
        function = kernel.load()
        del self._waiting[key]
        if self.built_in.get(key) is placed:  # nobody has put another one there
            self.built_in[key] = self._as_built_in(key, function)
            if self.kernels is self.built_in:
                self.set_traced()
        names = self.function.__globals__
        for table in (names, names.get(INFERENCE_NAMES, {})):
            if isinstance(table.get(f"{self.symbol}_kernel"), DeferredFunction):
                table[f"{self.symbol}_kernel"] = function

    def loaded_kernel(self, key: str) -> Callable[..., Any] | None:
        """The built-in kernel for a dispatch key, of a module that is loaded."""
        if key in self._waiting:
            self._waiting[key].load()
        return self.built_in.get(key)

    def set_traced(self) -> None:
        """Work out whether the operator is traced through, with the kernels that it has now."""
        self.traced = self._traced()
        # What generated code calls for an operator that is traced through; see `base.composites`.
        self.composite: Callable[..., Any] | None = None
        if self.traced is not None:
            composites.add(self)

    def _traced(self) -> Callable[..., Any] | None:
        """The CompositeImplicitAutograd function, where no kernel comes before it."""
        before = (CPU, *COMPOSITES[:-1])
        return None if any(key in self.kernels for key in before) else self.kernels.get(COMPOSITE_IMPLICIT)

    @cached_property
    def record(self) -> Callable[..., None] | None:
        """Makes the Node of a call."""
        return self._record_function(self.recorder)

    @cached_property
    def record_inplace(self) -> Callable[..., None] | None:
        """Makes the Node of a call in place."""
        return self._record_function(self.inplace_recorder)

    @property
    def entry(self) -> Callable[..., Any]:
        """What a call of the generated function runs: the native core's in its place, where there is one."""
        entry: Callable[..., Any] = self.function.__globals__.get(self.symbol, self.function)
        return entry

    def _record_function(self, name: str | None) -> Callable[..., None] | None:
        if name is None:
            return None
        function: Callable[..., None] = getattr(self.function.__globals__["nodes"], f"record_{name}")
        return function

    @cached_property
    def name(self) -> str:
        """`add.Tensor`."""
        return self.schema.partition("(")[0]

    @cached_property
    def qualified_name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.namespace}::{self.name.removeprefix(f'{self.namespace}::')}"

    @property
    def has_derivative(self) -> bool:
        """Whether calls are recorded here, and not by the operators that kernels are made of."""
        return self.recorder is not None or (self.is_generated and COMPOSITE_IMPLICIT not in self.built_in)

    @cached_property
    def parsed_schema(self) -> FunctionSchema:
        """The schema, taken apart: for what asks what it says, and not for calls."""
        from codegen.schema.parser import parse_schema

        return parse_schema(self.schema)

    @cached_property
    def facts(self) -> SignatureFacts:
        """What calls need to know of the schema."""
        from codegen.schema.facts import facts_of

        return SignatureFacts(**facts_of(self.parsed_schema))

    @cached_property
    def signature(self) -> Signature:
        """The arguments, ready for binding."""
        # Here and not above: the fast path does not need it.
        from runtime.call.binding import signature_of

        return signature_of(self.schema, self.facts)

    @cached_property
    def names(self) -> list[str]:
        """The names of the arguments in the schema."""
        return [argument[0] for argument in self.facts.arguments]

    @cached_property
    def types(self) -> list[str]:
        """The types of the arguments in the schema."""
        return [argument[1] for argument in self.facts.arguments]

    @cached_property
    def spelled(self) -> list[str]:
        """The names of the arguments as parameters of Python functions."""
        return [parameter.spelled for parameter in self.signature.parameters]

    @cached_property
    def kernel_positions(self) -> list[int]:
        """Positions of the arguments that kernels on arrays take."""
        return [i for i in range(len(self.names)) if i not in self.facts.placements]

    @cached_property
    def differentiable_positions(self) -> list[int]:
        """Positions of the arguments that have a derivative."""
        return [i for i, name in enumerate(self.names) if name in self.differentiable]

    @cached_property
    def tangent_positions(self) -> list[int]:
        """The arguments whose tangents matter: the differentiable ones; all, where their absence is a mistake."""
        if self.record is not None or self.jvp is not None or self.never_differentiable:
            return self.differentiable_positions
        return self.tensor_positions

    @cached_property
    def factor_positions(self) -> list[list[int]]:
        """`factors` as positions."""
        return [[self.names.index(name) for name in group] for group in self.factors]

    @cached_property
    def tensor_positions(self) -> list[int]:
        """Positions of the Tensors and of the lists of them."""
        return [i for i, type in enumerate(self.types) if type.startswith("Tensor")]

    @cached_property
    def written_positions(self) -> Sequence[int]:
        """As `differentiable_positions`, for the in-place variant: all, where it has formulas of its own, or none."""
        if self.record is None or self.record_inplace is not self.record:
            return range(len(self.names))
        return self.differentiable_positions

    @cached_property
    def targets(self) -> list[int]:
        """Positions of the arguments that a call writes."""
        return list(self.facts.writes)

    @cached_property
    def given_back(self) -> int | None:
        """The position of the argument that is written and is the result; None where results are new ones."""
        only = self.facts.returned[0] if len(self.facts.returned) == 1 else None
        return None if only == -1 else only

    @cached_property
    def promoted_positions(self) -> list[int]:
        """Positions of the Tensors and Scalars whose dtypes are brought together."""
        assert self.promotion is not None
        named = self.promotion[1]
        positions = []
        for i, type in enumerate(self.types):
            if named is not None and self.names[i] not in named:
                continue
            if type.startswith(("Tensor", "Scalar")) and not type.startswith("ScalarType"):
                positions.append(i)
        return positions

    @cached_property
    def limited_positions(self) -> list[int]:
        """Positions of the Tensors whose element types decide whether the call is taken."""
        assert self.dtypes is not None
        named = self.dtypes[1]
        return [i for i in self.tensor_positions if named is None or self.names[i].removesuffix("_") in named]

    @cached_property
    def dtype_position(self) -> int | None:
        """The position of an argument `dtype`, to which Tensors are brought first."""
        at = self.names.index("dtype") if "dtype" in self.names else None
        return at if at is not None and self.types[at].startswith("ScalarType") else None

    @cached_property
    def device_position(self) -> int | None:
        """The position of the argument that says on which device results are to lie."""
        return next((i for i, type in enumerate(self.types) if type.startswith("Device")), None)

    @cached_property
    def layout_position(self) -> int | None:
        """The position of the argument that says which layout results are to have."""
        return self.names.index("layout") if "layout" in self.names else None

    @cached_property
    def memory_format_position(self) -> int | None:
        """The position of the argument that says how a result lies in memory."""
        return self.names.index("memory_format") if "memory_format" in self.names else None

    @cached_property
    def number_positions(self) -> list[tuple[int, str]]:
        """`numbers` as positions."""
        return [(self.names.index(name), kind) for name, kind in self.numbers]

    @cached_property
    def result_type(self) -> Callable[[Sequence[Any]], Any]:
        """Makes the result of several outputs: a tuple, with names where the schema names them."""
        names = self.facts.result_names
        return named_result(self.signature.name, names) if names else tuple

    @cached_property
    def factory_positions(self) -> tuple[int | None, int | None]:
        """Positions of `dtype` and of the Tensor it defaults to the dtype of, in a factory operator."""
        if not self.facts.is_factory:
            return None, None
        first = self.types[0] == "Tensor"
        return self.names.index("dtype"), 0 if first else None

    @cached_property
    def widens(self) -> bool:
        """Whether kernels get complex numbers of two float16 in complex64: not of views, and no new or drawn ones."""
        draws = any(type.startswith("Generator") for type in self.types)
        return self.view is None and not draws and not self.facts.is_factory

    @property
    def base_position(self) -> int:
        """The position of what results of a view operator are views of."""
        assert self.facts.base is not None, "a view shares memory with an argument"
        return self.facts.base

    @cached_property
    def converts(self) -> bool:
        """Whether a built-in kernel makes one new result of converted arguments: `other_dtypes.computed` calls it."""
        return (
            (self.in_float32 or self.promotion is not None)
            and self.view is None
            and isinstance(self.loaded_kernel(CPU), (FunctionType, np.ufunc))
            and self.built_in.keys().isdisjoint(COMPOSITES)
            and self.result_count == 1
            and not self.facts.is_factory
            and self.device_position is self.layout_position is self.memory_format_position is None
            and not self.is_writing
        )

    @cached_property
    def conversions(self) -> dict[tuple[Any, ...], Conversion | None]:
        """By the types of arguments, what `other_dtypes.computed` does with them."""
        return {}

    @cached_property
    def result_count(self) -> int | None:
        """How many results there are; None for a list of them."""
        results = self.facts.results
        listed = len(results) == 1 and results[0].startswith("Tensor") and "[" in results[0]
        return None if listed else len(results)

    if TYPE_CHECKING:  # `Operator` can be called

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

    def results(self, tensors: Sequence[Tensor | None]) -> Any:
        """Several outputs as callers get them."""
        return self.result_type(tensors)

    def keywords(self, values: Sequence[Any]) -> dict[str, Any]:
        """The values of keyword-only arguments, under their names in Python functions."""
        positional = self.signature.positional
        return dict(zip(self.spelled[positional:], values[positional:], strict=True))

    def by_name(self, args: Sequence[Any]) -> dict[str, Any]:
        """The values of keyword-only arguments, under the schema's names; those at the end may be missing."""
        positional = self.signature.positional
        return dict(zip(self.names[positional:], args[positional:], strict=False))

    def __repr__(self) -> str:
        return f"<Operator '{self.schema}'>"


def tensors_at(values: Sequence[Any], positions: Sequence[int]) -> list[Tensor]:
    """The Tensors at some positions, and in lists that stand there."""
    tensors = []
    for i in positions:
        value = values[i]
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, list):
            tensors += [item for item in value if isinstance(item, Tensor)]
    return tensors


def any_has_history(values: Sequence[Any], positions: Sequence[int]) -> bool:
    """Whether one of these Tensors requires grad: a leaf, or what was recorded."""
    for i in positions:
        value = values[i]
        if isinstance(value, Tensor):
            if value._edge is not None:
                return True
        elif isinstance(value, list) and any_has_history(value, range(len(value))):
            return True
    return False


def flat_tensors(values: Sequence[Any]) -> list[Tensor]:
    """The Tensors among values and in lists among them."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += flat_tensors(value)
    return tensors
