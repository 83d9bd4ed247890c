"""Operators at run time: the table from dispatch key to kernel, and the general path of a call.

The straight way of generated code handles plain Tensors.  Everything else comes here: dtype promotion, Python numbers,
errors, views, in-place and out variants, forward mode, kernels registered later.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from runtime import ops
from runtime.base import composites, layouts, modes
from runtime.base.describe import describe
from runtime.base.dtypes import as_dtype, can_cast, from_numpy, get_default_dtype, promoted_dtype
from runtime.base.errors import translated
from runtime.base.half import FLOAT32, computable, is_half, rounded, shared_half
from runtime.base.half import in_float32 as computed_in_float32
from runtime.base.keys import COMPOSITE_IMPLICIT, COMPOSITES, CPU, ZERO
from runtime.base.modes import Variant, everywhere, grad_mode, interest, plain_types, tell_recorded
from runtime.base.sharing import shares
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType, MemoryFormat, named_result, preserve_format
from runtime.call import kernel_table
from runtime.call.guards import real_numbers
from runtime.call.inference import straight_copy, untrack
from runtime.call.kernel_table import ArrayKernel, Kernel, KernelTable, backend_of
from runtime.graph import forward, views, zero_tensors
from runtime.graph.linear import edge_of
from runtime.graph.node import Node, next_sequence_nr
from runtime.kernels._common import element
from runtime.native import core

if TYPE_CHECKING:
    from runtime.call.binding import Signature

no_names: Mapping[str, str] = {}

# Operators that write the same value to all elements, so that some of those may be one in memory.
_ONE_VALUE = frozenset(("fill", "zero"))
# Kinds of promotion whose dtype is that of the result.
_PROMOTED_RESULTS = frozenset(("default", "int_to_float", "bool_to_int"))


class Operator:
    """One overload of an operator.

    Args:
        schema: its text, as in native_functions.yaml.
        function: the generated callable, whose straight way declines into this object.
        kernels: functions by dispatch key: on arrays for a backend, on Tensors for the composite keys.
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
        numbers: the Scalars that become elements where the dtype is one of integers, and whether they wrap around.
        in_float32: half precision is computed in float32, and results are rounded once.
        batching: the rule by which vmap batches its calls, and the positions of Tensors and of dimensions.
        layout: how results of its kernels lie in memory (a function of `runtime.base.layouts`), the positions of the
            arguments by which they do, and the results that follow it; None where the kernel decides.
        exclusive: what is written may lie in the memory of no argument, not even in the same places.
        out_dtype: which dtypes `out=` may have: any that the result can be cast to, that of the result, or any, in
            which the operator computes then.

    Kernels that are registered at run time stand in `table`, which is None as long as there are none.
    """

    namespace = "aten"
    table: KernelTable | None = None
    _straight: Callable[..., Any] | None = None  # the kernel that the straight way calls while there is no table
    _registered = False  # whether `register` gave it other kernels than those the native core knows
    # What runtime.library keeps here: how the operator is called in a batch, what its results look like, its marks.
    vmap_rule: Callable[..., Any] | None = None
    fake: Callable[..., Any] | None = None
    tags: tuple[Any, ...] = ()

    def __init__(
        self,
        schema: str,
        function: Callable[..., Any],
        kernels: dict[str, Callable[..., Any]],
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
        numbers: tuple[tuple[str, bool], ...] = (),
        in_float32: bool = False,
        batching: tuple[str, tuple[int, ...], tuple[int, ...]] | None = None,
        layout: tuple[str, tuple[int, ...], tuple[int, ...]] | None = None,
        exclusive: bool = False,
        out_dtype: Literal["cast", "exact", "given"] = "exact",
    ) -> None:
        self.schema = schema
        self.function = function
        self._symbol = function.__name__
        if in_float32:
            kernels = {k: computed_in_float32(f) if k in COMPOSITES else f for k, f in kernels.items()}
        self.kernels = self.built_in = kernels
        self.promotion = promotion
        self.dtypes = dtypes
        self._recorder = record
        self._inplace_recorder = record_inplace or record
        self.differentiable = differentiable
        self.jvp = jvp
        self.unimplemented = unimplemented
        self.factors = factors
        self.view = view
        self.saves_self = saves_self
        self.never_differentiable = never_differentiable
        self.numbers = numbers
        self.in_float32 = in_float32
        self.batching = batching
        self.layout = layout
        self.exclusive = exclusive
        self.out_dtype = out_dtype
        self._set_traced()

    def _set_traced(self) -> None:
        self.traced = self._traced()
        # What generated code calls for an operator that is traced through; see `base.composites`.
        self.composite: Callable[..., Any] | None = None
        if self.traced is not None:
            composites.add(self)

    def _traced(self) -> Callable[..., Any] | None:
        """The CompositeImplicitAutograd function, where no kernel comes before it."""
        before = (CPU, *COMPOSITES[:-1])
        return None if any(key in self.kernels for key in before) else self.kernels.get(COMPOSITE_IMPLICIT)

    # -- what is loaded or worked out on first use

    @cached_property
    def record(self) -> Callable[..., None] | None:
        """Makes the Node of a call."""
        return self._record_function(self._recorder)

    @cached_property
    def record_inplace(self) -> Callable[..., None] | None:
        """Makes the Node of a call in place."""
        return self._record_function(self._inplace_recorder)

    def _record_function(self, name: str | None) -> Callable[..., None] | None:
        if name is None:
            return None
        found: Callable[..., None] = getattr(self.function.__globals__["nodes"], f"record_{name}")
        return found

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
        return self._recorder is not None or (self.namespace == "aten" and COMPOSITE_IMPLICIT not in self.built_in)

    @cached_property
    def signature(self) -> Signature:
        # Here and not above: what reads schemas takes long to import, and the straight way does not need it.
        from runtime.call.binding import signature_of

        return signature_of(self.schema)

    @cached_property
    def _names(self) -> list[str]:
        return [parameter.name for parameter in self.signature.parameters]

    @cached_property
    def _spelled(self) -> list[str]:
        """The names of the arguments as parameters of Python functions."""
        return [parameter.spelled for parameter in self.signature.parameters]

    @cached_property
    def _kernel_arguments(self) -> list[int]:
        """Positions of the arguments that kernels on arrays take."""
        return [i for i, argument in enumerate(self.signature.schema.arguments) if not argument.is_placement]

    @cached_property
    def _differentiable_positions(self) -> list[int]:
        return [i for i, name in enumerate(self._names) if name in self.differentiable]

    @cached_property
    def _tangent_positions(self) -> list[int]:
        """The arguments whose tangents matter: the differentiable ones; all, where their absence is a mistake."""
        if self.record is not None or self.jvp is not None or self.never_differentiable:
            return self._differentiable_positions
        return self._tensor_positions

    @cached_property
    def factor_positions(self) -> list[list[int]]:
        """`factors` as positions."""
        names = [argument.name for argument in self.signature.schema.arguments]
        return [[names.index(name) for name in group] for group in self.factors]

    @cached_property
    def _tensor_positions(self) -> list[int]:
        return [i for i, parameter in enumerate(self.signature.parameters) if parameter.type.startswith("Tensor")]

    @cached_property
    def _written_positions(self) -> Sequence[int]:
        """As `_differentiable_positions`, for the in-place variant: all, where it has formulas of its own, or none."""
        if self.record is None or self.record_inplace is not self.record:
            return range(len(self._names))
        return self._differentiable_positions

    @cached_property
    def _promoted(self) -> list[int]:
        """Positions of the Tensors and Scalars whose dtypes are brought together."""
        assert self.promotion is not None
        named = self.promotion[1]
        found = []
        for i, parameter in enumerate(self.signature.parameters):
            if named is not None and parameter.name not in named:
                continue
            if parameter.type.startswith(("Tensor", "Scalar")):
                found.append(i)
        return found

    @cached_property
    def _limited(self) -> list[int]:
        """Positions of the Tensors whose element types decide whether the call is taken."""
        assert self.dtypes is not None
        named = self.dtypes[1]
        return [i for i in self._tensor_positions if named is None or self._names[i].removesuffix("_") in named]

    @cached_property
    def _dtype_position(self) -> int | None:
        """The position of an argument `dtype`, to which Tensors are brought first."""
        return self._names.index("dtype") if "dtype" in self._names else None

    def check_dtypes(self, values: Sequence[Any]) -> None:
        """Refuse Tensors of element types that the operator does not take.

        Raises:
            RuntimeError: there is one; most operators raise NotImplementedError.
        """
        at = self._dtype_position
        if at is not None and values[at] is not None:
            self._check_dtype(as_dtype(values[at]))
            return
        for tensor in self._tensors(values, self._limited):
            self._check_dtype(from_numpy(tensor._array.dtype))

    def _check_dtype(self, found: DType) -> None:
        assert self.dtypes is not None
        kinds, _, error = self.dtypes
        if found.kind_name not in kinds:
            refused = RuntimeError if error == "RuntimeError" else NotImplementedError
            raise refused(f"\"{self.name}\" not implemented for '{found.scalar_name}'\n  schema: {self.schema}")

    @cached_property
    def _numbers(self) -> list[tuple[int, bool]]:
        return [(self._names.index(name), wraps) for name, wraps in self.numbers]

    @cached_property
    def _result_type(self) -> Callable[[Sequence[Any]], Any]:
        """Makes the result of several outputs: a tuple, with names where the schema names them."""
        names = [result.name for result in self.signature.schema.returns]
        known = [name for name in names if name is not None]
        return named_result(self.signature.name, tuple(known)) if known and len(known) == len(names) else tuple

    @cached_property
    def _factory_positions(self) -> tuple[int | None, int | None]:
        """Positions of `dtype` and of the Tensor it defaults to the dtype of, in a factory operator."""
        if not self.signature.schema.is_factory:
            return None, None
        first = self.signature.parameters[0].type == "Tensor"
        return self._names.index("dtype"), 0 if first else None

    def results(self, tensors: Sequence[Tensor | None]) -> Any:
        """Several outputs as callers get them."""
        return self._result_type(tensors)

    # -- calls

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with every rule applied.

        Raises:
            TypeError: the arguments do not fit the schema.
        """
        if grad_mode.inference and self._is_all_that_is_unusual() and (copy := self._inference_copy) is not None:
            try:
                out = copy(*args, **kwargs)
            except TypeError:  # arguments under other names, or wrong ones; the general path says so
                return self.call_bound(self.signature.bind(args, kwargs))
            if self.view is None:
                untrack(out)
            return out
        return self.call_bound(self.signature.bind(args, kwargs))

    def call_bound(self, values: list[Any]) -> Any:
        """Call the operator with the values that `signature.bind` gave."""
        return self._handled("call", values, self._call) if interest.around else self._call(values)

    def _is_all_that_is_unusual(self) -> bool:
        """Whether calls are on the general path only because this thread is in inference mode."""
        return self.table is None and self.traced is None and not interest.around and not forward.active()

    @cached_property
    def _inference_copy(self) -> Callable[..., Any] | None:
        return straight_copy(self)

    def _handled(self, variant: Variant, values: list[Any], perform: Callable[[list[Any]], Any]) -> Any:
        """`perform(values)` with the handlers of this thread around it."""
        *outer, last = interest.around
        proceed = perform
        for handler in outer:
            proceed = partial(handler, self, variant, proceed=proceed)
        return last(self, variant, values, proceed)

    def _call(self, values: list[Any]) -> Any:
        backend = backend_of(values)
        if backend == ZERO:
            return self._call_with_zeros(values)
        if self.table is not None:
            before = kernel_table.autograd_kernel(self, backend)
            if before is not None:
                if kernel_table.is_fallthrough(before):
                    before = self.choose(backend)[1]
                return before.run(self, values)
        return self.call_below_autograd(values, backend)

    def _call_with_zeros(self, values: list[Any]) -> Any:
        """A call that has zeros of forward mode among its arguments."""
        numbers = [zero_tensors.as_numbers(value) for value in values]
        key, kernel = self.choose(backend_of(numbers))
        if key == COMPOSITE_IMPLICIT:
            return kernel.run(self, list(values))
        if any(all(zero_tensors.is_zeros(values[i]) for i in group) for group in self.factor_positions):
            out = self.compute(kernel, numbers)
            return zero_tensors.like(out) if isinstance(out, Tensor) else type(out)([*map(zero_tensors.like, out)])
        return self._call(numbers)

    def call_below_autograd(self, values: list[Any], backend: str) -> Any:
        """The whole of a call that has no kernel for autograd: choose the kernel, compute, record, carry tangents."""
        key, kernel = self.choose(backend)
        if key == COMPOSITE_IMPLICIT:
            return kernel.run(self, values)
        if not self.has_derivative:
            out = kernel.run(self, values)
            if grad_mode.enabled:
                kernel_table.mark_underived(self, out, values)
            return out
        out = self.compute(kernel, values)
        if grad_mode.enabled:
            self._record(out, values)
        if forward.active():
            forward.apply(self, out, values)  # after recording: formulas use the results with their history
        return out

    def _call_composite(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        if self.dtypes is not None:
            self.check_dtypes(values)
        return self.counted(function(*values[: self.signature.positional], **self.keywords(values)))

    def keywords(self, values: Sequence[Any]) -> dict[str, Any]:
        """The values of keyword-only arguments, under their names in Python functions."""
        positional = self.signature.positional
        return dict(zip(self._spelled[positional:], values[positional:], strict=True))

    def choose(self, backend: str) -> tuple[str, Kernel]:
        """The kernel that calls with arguments of a backend take, and the key it stands under.

        Raises:
            NotImplementedError: there is none.
        """
        found = kernel_table.resolve(self, backend)
        if found is None:
            raise kernel_table.no_kernel(self, backend)
        return found

    def compute(self, kernel: Kernel, values: list[Any]) -> Any:
        """The results of a kernel, without history and tangents, in the form in which they can be given both."""
        if type(kernel) is ArrayKernel:
            out = kernel.run(self, values)
            if self.view is not None:
                return views.views_of(out, values[self._base_position], self.view)
            if grad_mode.inference:
                untrack(out)
            return out
        with forward.suspended():
            enabled, grad_mode.enabled = grad_mode.enabled, False
            try:
                out = kernel.run(self, values)
            finally:
                grad_mode.enabled = enabled
            return self._as_results(out, values)

    def _as_results(self, out: Any, values: Sequence[Any]) -> Any:
        """What a kernel on Tensors returned: views where the operator makes views, else no argument and no view."""
        if self.view is not None:
            base = values[self._base_position]
            tensors = kernel_table.flat_tensors([out])
            if any(_lies_in(tensor, base) for tensor in tensors):
                return views.views_of(out, base, self.view)
        declared = zip(self.signature.schema.all_arguments, values, strict=False)
        written = _identities([value for argument, value in declared if argument.is_write])
        read = _identities(values) - written
        return self._freed(out, written, read)

    def _freed(self, out: Any, written: set[int], read: set[int]) -> Any:
        """Results with new Tensors in place of arguments that were only read, and of views of what the kernel made."""
        if isinstance(out, Tensor):
            view = type(out) is Tensor and out._base is not None
            return out.detach() if id(out) not in written and (view or id(out) in read) else out
        if not isinstance(out, list | tuple):
            return out
        items = [self._freed(item, written, read) for item in out]
        if all(item is before for item, before in zip(items, out, strict=True)):
            return out
        return items if type(out) is list else tuple(items) if type(out) is tuple else self.results(items)

    @cached_property
    def _base_position(self) -> int:
        arguments = self.signature.schema.arguments
        return next(i for i, argument in enumerate(arguments) if argument.alias is not None)

    def run_kernel(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        """Unwrap, promote, run a kernel on arrays.  Gives what the kernel gives."""
        values = self._with_dtype(values)
        wanted = self._wanted(values)
        half = self._half(values, wanted) if self.in_float32 else None
        if half is not None:
            values, wanted = [computable(value) for value in values], FLOAT32 if wanted is not None else None
        if wanted is not None:
            values = self._promote(values, wanted)
        arrays = [_to_array(values[i]) for i in self._kernel_arguments]
        try:
            with np.errstate(all="ignore"):
                result = kernel(*arrays)
                return result if half is None or self._asks_dtype(values) else rounded(result, half)
        except Exception as error:
            raise self.explained(error, values) from None

    def _wanted(self, values: Sequence[Any]) -> np.dtype[Any] | None:
        """The dtype that the arguments are brought to, if the operator takes it; None where they stay as they are."""
        if self.promotion is None or self._factory_positions != (None, None):
            if self.dtypes is not None:
                self.check_dtypes(values)
            return None
        promoted = self._promoted_dtype(values)
        if self.dtypes is not None:
            at = self._dtype_position
            self._check_dtype(promoted if at is None or values[at] is None else values[at])
        return promoted.numpy

    def _promoted_dtype(self, values: Sequence[Any]) -> DType:
        assert self.promotion is not None
        return promoted_dtype(self.promotion[0], [values[i] for i in self._promoted if values[i] is not None])

    def _half(self, values: Sequence[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any] | None:
        """The half precision that results are rounded to after they were computed in float32."""
        if wanted is None:
            return shared_half([tensor._array for tensor in self._tensors(values, self._tensor_positions)])
        return wanted if is_half(wanted) else None

    def _asks_dtype(self, values: Sequence[Any]) -> bool:
        """Whether a dtype was asked for: the kernel gives its results in it."""
        return any(isinstance(value, DType) for value in values)

    def _with_dtype(self, values: list[Any]) -> list[Any]:
        """The values, with the dtype that a factory takes where none is asked for."""
        dtype_at, like_at = self._factory_positions
        if dtype_at is None or values[dtype_at] is not None:
            return values
        values = list(values)
        if like_at is not None:
            values[dtype_at] = from_numpy(values[like_at]._array.dtype)
        elif self.promotion is not None:
            values[dtype_at] = promoted_dtype(self.promotion[0], [values[i] for i in self._promoted])
        else:
            values[dtype_at] = self.signature.parameters[dtype_at].default or get_default_dtype()
        return values

    def _promote(self, values: list[Any], wanted: np.dtype[Any]) -> list[Any]:
        converted = list(values)
        for i in self._promoted:
            value = values[i]
            if isinstance(value, Tensor):
                if value._array.dtype is not wanted:
                    converted[i] = wrap(value._array.astype(wanted))
            elif value is not None and is_half(wanted):
                converted[i] = element(value, wanted, wraps=True)
        if wanted.kind in "iu":
            for i, wraps in self._numbers:
                if type(values[i]) is int:
                    converted[i] = element(values[i], wanted, wraps)
        return converted

    def counted(self, result: Any) -> Any:
        """What a kernel or a composite function returned, if it has as many results as the operator.

        Raises:
            RuntimeError: it has not; an array is no tuple of its rows.
        """
        count = self._result_count
        given = len(result) if isinstance(result, tuple | list) else None
        if count is None:
            fits, wanted = given is not None, "a list"
        else:
            fits, wanted = given == (None if count == 1 else count) or not count, _results(count)
        if fits:
            return result
        returned = f"a {type(result).__name__}" if given is None else _results(given)
        raise RuntimeError(
            f"{self.qualified_name}: expected {wanted}, but the kernel returned {returned}\n  schema: {self.schema}"
        )

    @cached_property
    def _result_count(self) -> int | None:
        """How many results there are; None for a list of them."""
        returns = self.signature.schema.returns
        listed = len(returns) == 1 and str(returns[0].type).startswith("Tensor") and "[" in str(returns[0].type)
        return None if listed else len(returns)

    def _laid_out(self, result: Any, values: Sequence[Any]) -> Any:
        """What a kernel gave, as it is to lie in memory."""
        if self.layout is None or not isinstance(result, np.ndarray | np.generic | tuple | list):
            return result
        kind, positions, results = self.layout
        memory_format = next((v for v in values if isinstance(v, MemoryFormat)), preserve_format)
        lay = getattr(layouts, kind)
        if memory_format is not preserve_format:
            lay, positions = getattr(layouts, memory_format.name), ()
        operands = [array for i in positions for array in _arrays(values[i])]
        if not isinstance(result, tuple | list):
            return lay(np.asarray(result), *operands)
        if len(results) != len(result):
            laid = [layouts.contiguous(array) if array is not None else None for array in result]
            laid[: len(results)] = [lay(array, *operands) for array in result[: len(results)]]
        else:
            laid = [lay(np.asarray(array), *operands) if array is not None else None for array in result]
        return type(result)(laid)

    def _wrap(self, result: Any) -> Any:
        self.counted(result)
        if isinstance(result, np.ndarray | np.generic):
            return wrap(np.asarray(result))
        if isinstance(result, tuple):
            return self.results([None if array is None else wrap(np.asarray(array)) for array in result])
        if isinstance(result, list):
            return tuple([wrap(array) for array in result])
        return result

    def _tensors(self, values: Sequence[Any], positions: Sequence[int]) -> list[Tensor]:
        found = []
        for i in positions:
            value = values[i]
            if isinstance(value, Tensor):
                found.append(value)
            elif isinstance(value, list):
                found += [item for item in value if isinstance(item, Tensor)]
        return found

    def _record(self, out: Any, values: Sequence[Any]) -> None:
        if self.record is not None:
            if any(tensor._edge is not None for tensor in self._tensors(values, self._differentiable_positions)):
                self.record(out, *values)
                if interest.recorded or everywhere.recorded:
                    _tell_recorded(out)
        elif not self.never_differentiable and any(
            tensor._edge is not None for tensor in self._tensors(values, self._tensor_positions)
        ):
            self.undifferentiable(out)

    def undifferentiable(self, out: Any) -> None:
        """Results of an operator with no derivative say so when a gradient reaches them."""
        if not grad_mode.enabled:
            return
        for tensor in out if isinstance(out, list | tuple) else (out,):
            if isinstance(tensor, Tensor) and tensor._array.dtype.kind in "fcV":
                tensor._edge = NotDifferentiable(self.name, tensor)

    # -- variants

    def inplace(self, *args: Any) -> Tensor:
        """`self` overwritten with the result, as `add_` does; a view operator such as `t_` makes `self` the view.

        Raises:
            RuntimeError: the result does not fit into `self` by shape or dtype, or `self` must not be written.
        """
        if not grad_mode.enabled and self._writes_plainly(args):
            return args[0]  # type: ignore[no-any-return]
        values = self.signature.bind(args[: self.signature.positional], self._keywords(args))
        perform = self._inplace if self.view is None else self._inplace_view
        return self._handled("inplace", values, perform) if interest.around else perform(values)

    def _inplace(self, values: list[Any]) -> Tensor:
        target: Tensor = values[0]
        zero_tensors.make_numbers(target)
        values = [target, *map(zero_tensors.as_numbers, values[1:])]
        # Composite operators do not say in which arguments they are differentiable: all Tensors may be.
        positions = range(len(values)) if self.traced is not None else self._written_positions
        needs_grad = (
            grad_mode.enabled
            and target._array.dtype.kind not in "biu"
            and any(t._edge is not None for t in self._tensors(values, positions))
        )
        views.check_inplace(target, needs_grad, self.signature.name in _ONE_VALUE)
        views.check_partial_overlap(target, self._tensors(values, range(1, len(values))), self.exclusive)
        if self.promotion is not None and self.promotion[0] in _PROMOTED_RESULTS:
            self._check_castable(self._promoted_dtype(values), target)
        if self.traced is not None:
            before = self._snapshot(target) if needs_grad else target
            result = self._call_composite(self.traced, [before, *values[1:]])
            self._check_fits(result._array, target)
            written = ops.copy_(target, result)
            if needs_grad and written._edge is None:
                views.rebase_history(target, Constant(written, [before, *self._tensors(values, range(1, len(values)))]))
            return written
        result = self.compute(self.choose(backend_of(values))[1], values)._array
        self._check_fits(result, target)
        carried = forward.active() and (forward.carried(self, values) or forward.any_tangent([target]))
        others = values[1:]
        before = written = target
        if needs_grad or carried:
            before = self._snapshot(target) if self.saves_self else _alias(target)
        if carried:
            if before._extra is None:
                forward.copy_tangents(target, before)
            others = [self._unshared(value, target) for value in others]
        np.copyto(target._array, result, casting="unsafe")
        views.bump_version(target)
        if needs_grad or carried:
            written = _alias(target)
            written._edge = None
        if needs_grad:
            self._record_write(target, written, before, values)
        if carried:
            forward.apply(self, written, [before, *others], self.record_inplace)
            forward.overwrite(target, written)
        return target

    def _inplace_view(self, values: list[Any]) -> Tensor:
        """Let `self` be the view of itself, over the same memory; that counts as a write."""
        target: Tensor = values[0]
        needs_grad = grad_mode.enabled and target._edge is not None and target._array.dtype.kind not in "biu"
        views.check_inplace(target, needs_grad, one_value=True)
        before = _alias(target)
        forward.share_tangents(target, before)
        out = self._call([before, *values[1:]])
        views.become(target, out, needs_grad)
        forward.share_tangents(out, target)
        return target

    def _record_write(self, target: Tensor, written: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """Give `target`, just written, its new history; `before` has the old one, and `written` gets the new Node."""
        tensors = self._tensors(values, range(1, len(values)))
        if self.record_inplace is not None:
            shared = target._writes
            assert shared is not None
            # Arguments over the memory that was just written are saved as they were before: using them must fail.
            overwritten = [tensor for tensor in tensors if tensor._writes is shared]
            for tensor in overwritten:
                tensor._writes = [shared[0] - 1]
            try:
                self.record_inplace(written, before, *values[1:])
            finally:
                for tensor in overwritten:
                    tensor._writes = shared
        elif self.never_differentiable:
            written._edge = Constant(written, [before, *tensors])
        else:
            written._edge = NotDifferentiable(self.name, written)
        node = written._edge
        if isinstance(node, Node):
            if interest.recorded or everywhere.recorded:
                _tell_recorded(written)
            views.rebase_history(target, node)

    def _writes_plainly(self, args: Sequence[Any]) -> bool:
        """The straight way of an in-place write that nobody records, such as an optimizer's: whether it was taken."""
        target = args[0]
        promoted = self.promotion is not None and self.promotion[0] == "default"
        plain = plain_types if grad_mode.inference and self._is_all_that_is_unusual() else modes.plain
        if not promoted or type(target) not in plain or CPU not in self.kernels:
            return False
        array = target._array
        dtype = array.dtype
        if dtype.kind != "f" or is_half(dtype) or target._base is not None or 0 in array.strides:
            return False
        if self.dtypes is not None and ("half" if dtype.itemsize == 2 else "float") not in self.dtypes[0]:
            return False
        if target._writes is UNTRACKED and not grad_mode.inference:
            return False
        values = [array]
        for value in args[1:]:
            if type(value) in plain:
                if value._array.dtype is not dtype or value._base is target:
                    return False
                values.append(value._array)
            elif type(value) in real_numbers:
                values.append(value)
            else:
                return False
        try:
            result = self.kernels[CPU](*values)
        except Exception:
            return False  # the general path says what is wrong
        if type(result) is not np.ndarray or result.dtype is not dtype or result.shape != array.shape:
            return False
        np.copyto(array, result)
        views.bump_version(target)
        return True

    def _snapshot(self, tensor: Tensor) -> Tensor:
        """`tensor` as it is now, for a derivative that needs the value that is about to be overwritten."""
        copy = wrap(tensor._array.copy())
        copy._edge = tensor._edge
        if forward.active():
            forward.copy_tangents(tensor, copy)
        return copy

    def _unshared(self, value: Any, target: Tensor) -> Any:
        """An argument for the forward formula: as it was, where `target` is about to overwrite it."""
        if isinstance(value, list):
            return [self._unshared(item, target) for item in value]
        if not isinstance(value, Tensor):
            return value
        return self._snapshot(value) if shares(value, target) else value

    def _check_fits(self, result: np.ndarray, target: Tensor) -> None:
        self._check_castable(from_numpy(result.dtype), target)
        if result.shape != target._array.shape:
            raise RuntimeError(
                f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result.shape)}"
                f"\n  schema: {self.schema}"
            )

    def _check_castable(self, result: DType, target: Tensor) -> None:
        wanted = target.dtype
        if result is not wanted and not can_cast(result, wanted):
            raise RuntimeError(
                f"result type {result.scalar_name} can't be cast to the desired output type {wanted.scalar_name}"
                f"\n  schema: {self.schema}"
            )

    def _keywords(self, args: Sequence[Any]) -> dict[str, Any]:
        positional = self.signature.positional
        return dict(zip(self._names[positional:], args[positional:], strict=False))

    def out(self, out: Any, *args: Any) -> Any:
        """The result written into the given Tensors.

        Raises:
            RuntimeError: a Tensor requires grad, or the result can not be cast.
        """
        values = self.signature.bind(args[: self.signature.positional], self._keywords(args))
        targets = list(out) if isinstance(out, list | tuple) else [out]
        for target in targets:
            if not isinstance(target, Tensor):
                raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not {describe(target)}")
        perform = self._out
        written = self._handled("out", [targets, *values], perform) if interest.around else perform([targets, *values])
        return out if written is targets else written

    def _out(self, all_values: list[Any]) -> Any:
        targets: list[Tensor]
        targets, *values = all_values
        tensors = [*self._tensors(values, range(len(values))), *targets]
        if grad_mode.enabled and any(tensor._edge is not None for tensor in tensors):
            raise RuntimeError(
                f"{self.signature.name}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        if forward.active() and forward.any_tangent(tensors):
            raise NotImplementedError(
                f"Trying to use forward AD with {self.signature.name}_out that does not support it because it is an "
                "out= function"
            )
        if self.out_dtype == "given":
            values = self._asked_for(targets[0].dtype, values)
        results = self(*values[: self.signature.positional], **self._keywords(values))
        results = list(results) if isinstance(results, list | tuple) else [results]
        if len(results) != len(targets):
            raise TypeError(f"{self.name}(): out has {len(targets)} Tensors, the result {len(results)}")
        # An output that a mask left out is None.
        pairs = [(target, out._array) for target, out in zip(targets, results, strict=True) if out is not None]
        inputs = self._tensors(values, range(len(values)))
        for target, array in pairs:
            views.check_tracked(target)
            self._check_out_dtype(array, target)
            if target._array.shape == array.shape:
                views.check_overlap(target, inputs, self.exclusive)
        for target, array in pairs:
            if target._array.shape != array.shape:
                _resize(target, array)
            np.copyto(target._array, array, casting="unsafe")
            views.bump_version(target)
        return targets

    def _asked_for(self, dtype: DType, values: Sequence[Any]) -> list[Any]:
        """The values, with the dtype of `out=` where none is given."""
        place = self._names.index("dtype")
        given = values[place]
        if given not in (None, dtype, self.signature.parameters[place].default):
            raise RuntimeError(
                f"{self.signature.name}(): dtype {given} does not match dtype of out parameter ({dtype})"
                f"\n  schema: {self.schema}"
            )
        return [*values[:place], dtype, *values[place + 1 :]]

    def _check_out_dtype(self, result: np.ndarray, target: Tensor) -> None:
        if self.out_dtype == "cast":
            self._check_castable(from_numpy(result.dtype), target)
        elif result.dtype is not target._array.dtype and result.dtype != target._array.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {from_numpy(result.dtype).name}, but got "
                f"{from_numpy(target._array.dtype).name} instead\n  schema: {self.schema}"
            )

    # -- registration and errors

    def register(self, key: str, kernel: Callable[..., Any]) -> None:
        """Give the operator another built-in kernel for a dispatch key: on arrays for a backend, on Tensors for the
        composite keys.  The straight way stops being used.
        """
        self.built_in[key] = kernel
        self._registered = True
        self._straight = None
        self._refresh()
        self._decline()

    def add_kernel(self, key: str, kernel: Kernel) -> None:
        """Put a kernel on Tensors in place of what there is for a dispatch key, until `remove_kernel`."""
        if self.table is None:
            self.table = KernelTable()
            self._straight = self.function.__globals__.get(f"{self._symbol}_kernel")
        self.table.add(key, kernel)
        self._refresh()
        if self._straight is not None:
            self._decline()
        elif core is not None:
            core.kernel_replaced(self._symbol)

    def remove_kernel(self, key: str, kernel: Kernel) -> None:
        """Take a kernel of `add_kernel` away; what it replaced comes back."""
        assert self.table is not None
        self.table.remove(key, kernel)
        if not self.table.keys():
            self.table = None
            if self._straight is not None:
                self.function.__globals__[f"{self._symbol}_kernel"] = self._straight
                del self._inference_copy
            if core is not None and not self._registered:
                core.kernel_restored(self._symbol)
        self._refresh()

    def _refresh(self) -> None:
        """Bring what the straight ways look at in line with the table."""
        if self.table is None:
            self.kernels = self.built_in
            self._set_traced()
        else:
            replaced = self.table
            self.kernels = {key: kernel for key, kernel in self.built_in.items() if replaced.get(key) is None}
            self.traced = self.composite = self.__call__ if COMPOSITE_IMPLICIT in self.built_in else None

    def _decline(self) -> None:
        def decline(*args: object) -> object:
            raise LookupError("the kernel was replaced")

        self.function.__globals__[f"{self._symbol}_kernel"] = decline
        self._inference_copy = None
        if core is not None:
            core.kernel_replaced(self._symbol)

    def explained(self, error: Exception, values: Sequence[Any]) -> Exception:
        """`error` as the caller should see it: the class PyTorch raises, with the schema and what was given."""
        if self.traced is not None:  # what a composite function made of wrong arguments is not what is wrong
            try:
                self.signature.bind(values[: self.signature.positional], self._keywords(values))
            except (TypeError, ValueError) as misfit:
                return misfit
        if getattr(error, "__notes__", None):
            return error
        tensors = self._tensors(values, range(len(values)))
        if type(error) is ValueError and "broadcast" in str(error):
            error = RuntimeError(_broadcast_error(tensors) or str(error))
        else:
            kinds = ", ".join(sorted({str(tensor.dtype) for tensor in tensors}))
            error = translated(error, self.name, kinds)
        given = ", ".join(f"{name}={_short(value)}" for name, value in zip(self._names, values, strict=False))
        error.add_note(f"in {self.schema}\ngiven {given}")
        return error

    def __repr__(self) -> str:
        return f"<Operator '{self.schema}'>"


class LaterNodes:
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


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"


class NotDifferentiable(Node):
    """Stands behind the result of an operator that has no derivative: raises when a gradient arrives."""

    __slots__ = ("operator",)
    num_outputs = 1

    def __init__(self, operator: str, tensor: Tensor) -> None:
        self.operator = operator
        self.edges = ()
        self.shape = tensor._array.shape
        self.dtype = tensor._array.dtype
        self.sequence_nr = next_sequence_nr()
        self._extra = None

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Raise: there is no derivative to apply."""
        raise NotImplementedError(
            f"the derivative of '{self.operator}' is not implemented: derivatives.yaml has no entry for it"
        )


def _tell_recorded(out: Any) -> None:
    for tensor in out if isinstance(out, list | tuple) else (out,):
        if isinstance(tensor, Tensor) and not tensor.is_leaf:
            tell_recorded(tensor._node_and_output()[0])
            return


class Constant(Node):
    """Stands behind a Tensor that an operator without derivatives has overwritten: all gradients are zero."""

    __slots__ = ("_shapes",)
    num_outputs = 1

    def __init__(self, written: Tensor, inputs: Sequence[Tensor]) -> None:
        inputs = [tensor for tensor in inputs if tensor._edge is not None]
        edges = tuple([edge_of(tensor) for tensor in inputs])
        super().__init__(edges, written._array.shape, written._array.dtype)
        self._shapes = [(tensor._array.shape, tensor._array.dtype) for tensor in inputs]

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Zeros for each input."""
        return tuple([wrap(np.zeros(shape, dtype)) for shape, dtype in self._shapes])


def _resize(target: Tensor, array: np.ndarray) -> None:
    """Give a Tensor that is about to be written memory of another shape."""
    if target._array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target._array.shape)}, which "
            f"does not match the required output shape {list(array.shape)}. This behavior is deprecated, and in a "
            "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by making it one of zero elements.",
            UserWarning,
            stacklevel=5,
        )
    target._array = np.empty_like(array, target._array.dtype)


def _alias(tensor: Tensor) -> Tensor:
    """Another Tensor over the same memory, version and history."""
    alias = wrap(tensor._array)
    alias._writes = tensor._writes
    alias._edge = tensor._edge
    return alias


def _identities(values: Sequence[Any]) -> set[int]:
    return {id(tensor) for tensor in kernel_table.flat_tensors(values)}


def _lies_in(tensor: Tensor, base: Tensor) -> bool:
    """Whether a Tensor can be a view of another one.  Where there are no elements none is elsewhere."""
    array = tensor._array
    return not array.size or shares(tensor, base) or np.may_share_memory(array, base._array)


def _arrays(value: Any) -> list[Any]:
    """The arrays of a Tensor, or of a list of them, with None for what is none."""
    return [_to_array(item) for item in value] if isinstance(value, list | tuple) else [_to_array(value)]


def _to_array(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, list):
        return [_to_array(item) for item in value]
    return getattr(value, "numpy", value)  # dtypes and generators carry what NumPy takes


def _short(value: object) -> str:
    if isinstance(value, Tensor):
        return f"Tensor{list(value._array.shape)} of {value.dtype}"
    if isinstance(value, list):
        return f"[{', '.join(_short(item) for item in value)}]"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _broadcast_error(tensors: Sequence[Tensor]) -> str | None:
    shapes = [tensor._array.shape for tensor in tensors]
    for i, left in enumerate(shapes):
        for right in shapes[i + 1 :]:
            for offset in range(1, min(len(left), len(right)) + 1):
                a, b = left[-offset], right[-offset]
                if a != b and 1 not in (a, b):
                    return (
                        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                        f"{max(len(left), len(right)) - offset}"
                    )
    return None


__all__ = [
    "LaterNodes",
    "Operator",
]
