"""`gradcheck` and `gradgradcheck`: derivatives against finite differences.

Everything is compared as a table of real directions: each element of a real input is one direction, each element of a
complex input two, its real and its imaginary part. The gradient of a real function of a complex number is, as in
PyTorch, the derivative along the real part plus 1j times that along the imaginary part; a complex output counts as two
real ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.autograd import forward_ad
from runtime.autograd.backward import grad as autograd_grad
from runtime.autograd.grad_mode import enable_grad
from runtime.tensor import Tensor, wrap

Function = Callable[..., Any]

_UNDEFINED = (
    "Expected the backward function to handle undefined output grads: a gradient of None for an output must mean zeros"
)


class GradcheckError(RuntimeError):
    """A derivative is wrong; the message says which one and how."""


@dataclass(frozen=True, slots=True)
class _Tolerance:
    eps: float
    atol: float
    rtol: float
    nondet: float


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Check the gradients of `func` at `inputs` against central differences.

    Args:
        func: takes `inputs`, returns a Tensor or a tuple of them.
        inputs: those that require grad are checked; they should be float64 or complex128.
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise if a check fails; otherwise return False.
        nondet_tol: how much two runs of the same backward may differ.
        check_undefined_grad: check that a missing gradient of one of several outputs counts as zeros.
        check_grad_dtypes: check that gradients have the dtype of their inputs.
        check_forward_ad: check forward mode.
        check_backward_ad: check backward mode.
        fast_mode: compare along one random direction instead of element by element.

    Returns:
        Whether all checks passed.

    Raises:
        GradcheckError: a check failed and `raise_exception` is true.
        ValueError: there is nothing to check.
        RuntimeError: an input overlaps itself in memory.
    """
    if not check_forward_ad and not check_backward_ad:
        raise ValueError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    tolerance = _Tolerance(eps, atol, rtol, nondet_tol)
    try:
        with enable_grad():
            _check_inputs(arguments)
            check = _Check(func, arguments, tolerance)
            if check_backward_ad or not check.outputs:
                check.backward(fast_mode)
                check.determinism()
                if check_grad_dtypes:
                    check.dtypes()
                if check_undefined_grad:
                    check.undefined()
            if check_forward_ad:
                check.forward(fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Check the second derivatives of `func`: `gradcheck` of its gradient as a function of inputs and output gradients.

    Args:
        func: as for `gradcheck`.
        inputs: as for `gradcheck`.
        grad_outputs: gradients of the outputs; made up if left out.
        eps: as for `gradcheck`, and so all that follow, except:
        gen_non_contig_grad_outputs: make up gradients that are not contiguous.
        check_fwd_over_rev: check forward mode over backward.
        check_rev_over_rev: check backward mode over backward.

    Returns:
        Whether all checks passed.

    Raises:
        GradcheckError: a check failed and `raise_exception` is true.
    """
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise ValueError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with enable_grad():
        outputs = _differentiable(func(*arguments))
    if grad_outputs is None:
        random = np.random.default_rng(0)
        starts = tuple([_made_up(out, random, gen_non_contig_grad_outputs) for out in outputs])
    else:
        starts = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(starts)

    def gradient(*values: Any) -> tuple[Tensor, ...]:
        own, given = values[: len(values) - count], values[len(values) - count :]
        wanted = [value for value in own if isinstance(value, Tensor) and value.requires_grad]
        results = _differentiable(func(*own))
        found = autograd_grad(results, wanted, given, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradient,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _made_up(out: Tensor, random: np.random.Generator, non_contiguous: bool) -> Tensor:
    array = _random(out._array, random)
    if non_contiguous and array.ndim:
        wide = np.zeros((*array.shape, 2), array.dtype)
        wide[..., 0] = array
        array = wide[..., 0]
    return wrap(array).requires_grad_()


def _random(like: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Values between 0.1 and 1.1, in both parts of a complex number."""
    values = np.asarray(random.random(like.shape) + 0.1)
    if like.dtype.kind == "c":
        values = np.asarray(values + 1j * (random.random(like.shape) + 0.1))
    return values.astype(like.dtype)


def _check_inputs(inputs: Sequence[Any]) -> None:
    found = False
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor) or not tensor.requires_grad:
            continue
        found = True
        array = tensor._array
        if array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                stacklevel=3,
            )
        steps = zip(array.shape, array.strides, strict=True)
        if array.size and any(stride == 0 and size > 1 for size, stride in steps):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )


def _differentiable(result: Any) -> tuple[Tensor, ...]:
    outputs = (result,) if isinstance(result, Tensor) else tuple(result)
    return tuple([out for out in outputs if isinstance(out, Tensor) and out.requires_grad])


class _Check:
    """A function at its inputs, and the checks on it."""

    def __init__(self, function: Function, inputs: tuple[Any, ...], tolerance: _Tolerance) -> None:
        self.function = function
        self.inputs = inputs
        self.tolerance = tolerance
        self.positions = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.wanted: list[Tensor] = [inputs[i] for i in self.positions]
        self.outputs = _differentiable(function(*inputs))
        self._numerical: list[list[np.ndarray]] | None = None

    # -- finite differences

    def values(self, replaced: dict[int, np.ndarray]) -> list[np.ndarray]:
        """The outputs with other values in some inputs, given by position among the differentiable ones."""
        inputs = list(self.inputs)
        for number, position in enumerate(self.positions):
            array = replaced.get(number)
            array = self.wanted[number]._array.copy(order="K") if array is None else array
            inputs[position] = wrap(array).requires_grad_()
        found = _all_outputs(self.function(*inputs)) if not self.outputs else _differentiable(self.function(*inputs))
        return [out._array.copy() for out in found]

    def difference(self, number: int, direction: np.ndarray) -> list[np.ndarray]:
        """The derivatives of all outputs when one input moves along `direction`."""
        array, eps = self.wanted[number]._array, self.tolerance.eps
        ahead, behind = array.copy(order="K"), array.copy(order="K")
        ahead += (eps * direction).astype(array.dtype)
        behind -= (eps * direction).astype(array.dtype)
        after, before = self.values({number: ahead}), self.values({number: behind})
        return [np.asarray((a - b) / (2 * eps)) for a, b in zip(after, before, strict=True)]

    @property
    def numerical(self) -> list[list[np.ndarray]]:
        """For each input and output a table with a row for each direction and a column for each output element."""
        if self._numerical is None:
            self._numerical = [self._differences(number) for number in range(len(self.wanted))]
        return self._numerical

    def _differences(self, number: int) -> list[np.ndarray]:
        directions = _directions(self.wanted[number]._array)
        rows = [[part.reshape(-1) for part in self.difference(number, direction)] for direction in directions]
        if not rows:
            return [np.zeros((0, out._array.size), out._array.dtype) for out in self.outputs]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    # -- backward mode

    def gradients(self, index: int, start: np.ndarray) -> list[np.ndarray]:
        """The gradients of the inputs for one output; zeros for an input that it does not depend on."""
        out = self.outputs[index]
        found = autograd_grad([out], self.wanted, [wrap(start)], retain_graph=True, allow_unused=True)
        return [_values(g, x) for g, x in zip(found, self.wanted, strict=True)]

    def jacobians(self, index: int, unit: complex) -> list[np.ndarray]:
        """For each input the gradients of the elements of an output, one in each column."""
        out = self.outputs[index]._array
        tables = [np.zeros((x._array.size, out.size), x._array.dtype) for x in self.wanted]
        for column in range(out.size):
            start = np.zeros_like(out, order="C")
            start.reshape(-1)[column] = unit
            for table, gradient in zip(tables, self.gradients(index, start), strict=True):
                table[:, column] = gradient.reshape(-1)
        return tables

    def backward(self, fast: bool) -> None:
        """Gradients against differences."""
        if not self.outputs:
            for number in range(len(self.wanted)):
                if any(np.any(table != 0) for table in self._differences(number)):
                    raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for index, out in enumerate(self.outputs):
            for unit, part in _parts(out._array):
                if fast:
                    self._backward_fast(index, unit, part)
                    continue
                for number, analytical in enumerate(self.jacobians(index, unit)):
                    numerical = _as_gradient(self.numerical[number][index], unit, analytical.dtype)
                    self._compare(index, number, numerical, analytical, part)

    def _backward_fast(self, index: int, unit: complex, part: str) -> None:
        random = np.random.default_rng(index)
        out = self.outputs[index]._array
        weights = np.asarray(random.random(out.shape) + 0.1)
        weights = weights / max(float(np.linalg.norm(weights)), 1e-12)
        gradients = self.gradients(index, (weights * unit).astype(out.dtype))
        for number, gradient in enumerate(gradients):
            direction = _random(gradient, random)
            direction = direction / max(float(np.linalg.norm(direction)), 1e-12)
            change = self.difference(number, direction)[index]
            numerical = np.sum(weights * (change * np.conj(unit)).real)
            analytical = np.sum((gradient * np.conj(direction)).real)
            scale = float(np.sum(weights) * np.sum(np.abs(direction)))
            self._compare(index, number, numerical, analytical, part, max(scale, 1.0), fast=True)

    def determinism(self) -> None:
        """Two runs of the same backward give the same."""
        random = np.random.default_rng(0)
        for index, out in enumerate(self.outputs):
            start = _random(out._array, random)
            for first, second in zip(self.gradients(index, start), self.gradients(index, start), strict=True):
                if first.size and not np.max(np.abs(first - second)) <= self.tolerance.nondet:
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                        "times gives different values, although analytical gradient matches numerical gradient. "
                        f"The tolerance for nondeterminism was {self.tolerance.nondet}."
                    )

    def dtypes(self) -> None:
        """Gradients have the dtype and shape of their inputs."""
        for out in self.outputs:
            start = wrap(np.ones_like(out._array))
            found = autograd_grad([out], self.wanted, [start], retain_graph=True, allow_unused=True)
            for gradient, tensor in zip(found, self.wanted, strict=True):
                if gradient is not None and (gradient.dtype, gradient.shape) != (tensor.dtype, tensor.shape):
                    given = f"{gradient.dtype} for an input of {tensor.dtype}"
                    raise GradcheckError(f"Gradient has dtype mismatch: {given}")

    def undefined(self) -> None:
        """With several outputs, one gradient that is given and others that are missing: as if those were zeros."""
        if len(self.outputs) < 2:
            return
        random = np.random.default_rng(0)
        for index, out in enumerate(self.outputs):
            start = _random(out._array, random)
            starts = [wrap(start if i == index else np.zeros_like(o._array)) for i, o in enumerate(self.outputs)]
            try:
                missing = self.gradients(index, start)
            except Exception as error:
                raise GradcheckError(_UNDEFINED) from error
            found = autograd_grad(self.outputs, self.wanted, starts, retain_graph=True, allow_unused=True)
            for first, second, tensor in zip(missing, found, self.wanted, strict=True):
                if not np.allclose(first, _values(second, tensor), self.tolerance.rtol, self.tolerance.atol):
                    raise GradcheckError(_UNDEFINED)

    # -- forward mode

    def forward(self, fast: bool) -> None:
        """Tangents against differences."""
        random = np.random.default_rng(1)
        for number, tensor in enumerate(self.wanted):
            if fast:
                direction = _random(tensor._array, random)
                changes = self.difference(number, direction)
                for index, tangent in enumerate(self.tangents(number, direction)):
                    scale = float(np.sum(np.abs(direction)))
                    self._compare(index, number, changes[index], tangent, "", scale, fast=True)
                continue
            rows = [self.tangents(number, direction) for direction in _directions(tensor._array)]
            for index, out in enumerate(self.outputs):
                table = np.zeros((len(rows), out._array.size), out._array.dtype)
                for row, tangents in enumerate(rows):
                    table[row] = tangents[index].reshape(-1)
                self._compare(index, number, self.numerical[number][index], table, "computed with forward mode")

    def tangents(self, number: int, direction: np.ndarray) -> list[np.ndarray]:
        """The derivatives of all outputs when one input moves along `direction`, by forward mode."""
        inputs = list(self.inputs)
        with forward_ad.dual_level():
            tangent = wrap(direction.astype(self.wanted[number]._array.dtype))
            inputs[self.positions[number]] = forward_ad.make_dual(self.wanted[number], tangent)
            found = []
            for out in _differentiable(self.function(*inputs)):
                known = forward_ad.unpack_dual(out).tangent
                found.append(np.zeros_like(out._array) if known is None else known._array.copy())
        return found

    def _compare(
        self,
        index: int,
        number: int,
        numerical: np.ndarray,
        analytical: np.ndarray,
        part: str,
        scale: float = 1.0,
        fast: bool = False,
    ) -> None:
        if np.allclose(analytical, numerical, self.tolerance.rtol, self.tolerance.atol * scale):
            return
        head = f"While considering the {part} part of complex outputs only, " if part in ("real", "imaginary") else ""
        how = f" {part}" if part and not head else ""
        tail = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode, along "
            "one random direction. Run again with fast_mode=False to compare element by element.\n"
            if fast
            else ""
        )
        raise GradcheckError(
            f"{head}Jacobian{how} mismatch for output {index} with respect to input {self.positions[number]},\n"
            f"numerical:{wrap(np.asarray(numerical))!r}\nanalytical:{wrap(np.asarray(analytical))!r}\n{tail}"
        )


def _all_outputs(result: Any) -> tuple[Tensor, ...]:
    outputs = (result,) if isinstance(result, Tensor) else tuple(result)
    return tuple([out for out in outputs if isinstance(out, Tensor) and out._array.dtype.kind in "fc"])


def _values(gradient: Tensor | None, tensor: Tensor) -> np.ndarray:
    return np.zeros_like(tensor._array) if gradient is None else gradient._array


def _directions(array: np.ndarray) -> Iterator[np.ndarray]:
    """The unit directions of an input: for a complex one, first all real parts, then all imaginary ones."""
    for unit in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
        for position in range(array.size):
            direction = np.zeros(array.shape, complex if unit == 1j else float)
            direction.reshape(-1)[position] = unit
            yield direction


def _parts(out: np.ndarray) -> tuple[tuple[complex, str], ...]:
    """The real functions that an output is: the gradient to start each with, and its name."""
    return ((1, "real"), (1j, "imaginary")) if out.dtype.kind == "c" else ((1, ""),)


def _as_gradient(table: np.ndarray, unit: complex, dtype: np.dtype) -> np.ndarray:
    """From derivatives along directions to gradients as backward gives them, of one part of the output."""
    part = table.imag if unit == 1j else table.real
    if dtype.kind != "c":
        return part
    half = len(part) // 2
    return np.asarray(part[:half] + 1j * part[half:])
