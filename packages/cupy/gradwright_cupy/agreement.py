"""Every operator on the device against the CPU: values and gradients, on the samples of its YAML entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gradwright as torch
from gradwright.generated.registry import OPERATORS
from gradwright.testing import operator_function, sample_inputs

# Those that write to a leaf, those whose samples say on which device, and what is not determined.
APART = frozenset((
    "float_power_.Tensor", "float_power_.Scalar", "to.device", "empty.memory_format", "empty_like", "new_empty",
    "new_empty_strided", "empty_strided", "pin_memory", "_pin_memory", "is_pinned",
))  # fmt: skip
# Those that NumPy gives integers and bools in another dtype for.
OF_FLOATS = frozenset((
    "gradient.scalarint", "gradient.scalararray", "gradient.array", "gradient.scalarrayarray",
    "embedding_dense_backward", "_conj_physical",
))  # fmt: skip
# By the dtype, what results may differ by, relatively and absolutely: sums are added in another order on a GPU.
TOLERANCES = {"float64": (1e-6, 1e-9), "complex128": (1e-6, 1e-9), "float32": (1e-3, 1e-4)}
_REFUSALS = (RuntimeError, TypeError, IndexError, ValueError)


@dataclass(slots=True)
class Outcome:
    """What came of the samples of an operator in a dtype.

    `missing` has the first line of each message that says that there is no kernel, `wrong` one line for each sample
    that is not as on the CPU.
    """

    name: str
    dtype: str
    values: int = 0
    gradients: int = 0
    missing: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def operators() -> Iterator[Any]:
    """What is compared: those that are determined, and have samples."""
    for info in OPERATORS.values():
        if not info.random and info.name not in APART:
            yield info


def compare(info: Any, dtype: str, device: str = "cuda", order: int = 1) -> Outcome:
    """Run the samples of an operator in both places.

    Args:
        info: its entry in the registry.
        dtype: the name of the dtype of samples.
        device: the device that is compared with the CPU.
        order: up to which derivatives are compared.
    """
    outcome = Outcome(info.name, dtype)
    function = operator_function(info)
    if info.name in OF_FLOATS and dtype not in TOLERANCES:
        return outcome
    for sample in sample_inputs(info, dtype):
        if any(True for _ in _tensors((sample.args, sample.kwargs))):
            _compare_sample(outcome, function, sample, device, order)
    return outcome


def _compare_sample(outcome: Outcome, function: Callable[..., Any], sample: Any, device: str, order: int) -> None:
    args, kwargs = _mapped((sample.args, dict(sample.kwargs)), lambda each: _leaf(each, "cpu"))
    there, named = _mapped((sample.args, dict(sample.kwargs)), lambda each: _leaf(each, device))
    try:
        wanted: Any = function(*args, **kwargs)
    except (*_REFUSALS, NotImplementedError) as error:
        wanted = error
    try:
        found = function(*there, **named)
        if isinstance(wanted, Exception):
            return  # what is refused is said by the CPU
        _check_same(found, wanted, device, outcome.dtype)
        outcome.values += 1
        inputs, others = _leaves([there, named]), _leaves([args, kwargs])
        outcome.gradients += _check_gradients(found, wanted, inputs, others, device, outcome.dtype, order)
    except NotImplementedError as error:
        outcome.missing.add(str(error).splitlines()[0])
    except _REFUSALS as error:
        # The array API standard is strict with integers and bools, where NumPy converts them.
        if not isinstance(wanted, Exception) and outcome.dtype in TOLERANCES:
            outcome.wrong.append(f"{sample.text}: {type(error).__name__}: {str(error).splitlines()[0]}")
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        outcome.wrong.append(f"{sample.text}: {'; '.join(lines[:6])}")


def _mapped(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(item, function) for item in value])
    return {name: _mapped(item, function) for name, item in value.items()} if isinstance(value, dict) else value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _leaves(value: Any) -> list[torch.Tensor]:
    return [each for each in _tensors(value) if each.requires_grad]


def _leaf(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on a device that requires a gradient where it can have one."""
    floating = tensor.is_floating_point() or tensor.is_complex()
    return tensor.detach().clone().to(device).requires_grad_(floating)


def _check_same(found: Any, wanted: Any, device: str, dtype: str) -> None:
    """Raise an AssertionError unless results are those of the CPU, and lie on the device."""
    if isinstance(wanted, torch.Tensor):
        assert found.device.type == device, f"the result lies on {found.device}"
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), f"{found.shape} of {found.dtype}"
        assert found.requires_grad == wanted.requires_grad, f"requires_grad is {found.requires_grad}"
        relative, absolute = (0.0, 0.0)
        if wanted.is_floating_point() or wanted.is_complex():
            relative, absolute = TOLERANCES.get(dtype, TOLERANCES["float32"])
        np.testing.assert_allclose(found.numpy(force=True), wanted.numpy(force=True), relative, absolute)
    elif isinstance(wanted, (list, tuple)):
        for one, other in zip(found, wanted, strict=True):
            _check_same(one, other, device, dtype)
    else:
        assert found == wanted or found != found, f"{found} and not {wanted}"


def _check_gradients(
    found: Any,
    wanted: Any,
    inputs: list[torch.Tensor],
    others: list[torch.Tensor],
    device: str,
    dtype: str,
    order: int,
) -> int:
    """How many orders of gradients agree, up to one."""
    paired = zip(_tensors(found), _tensors(wanted), strict=True)
    pairs = [(one, other) for one, other in paired if other.requires_grad]
    if not pairs or not others or not order:
        return 0
    draw = np.random.default_rng(order)
    starts = [torch.tensor(draw.normal(size=tuple(other.shape))).to(other.dtype) for _, other in pairs]
    options: dict[str, Any] = {"create_graph": order > 1, "allow_unused": True}
    try:
        of_cpu = torch.autograd.grad([other for _, other in pairs], others, starts, **options)
    except RuntimeError:  # some results determine no gradient, and say so
        return 0
    there = [start.to(device) for start in starts]
    of_device = torch.autograd.grad([one for one, _ in pairs], inputs, there, **options)
    for one, other in zip(of_device, of_cpu, strict=True):
        assert (one is None) == (other is None), "a gradient is there in one place alone"
        if other is not None:
            _check_same(one, other, device, dtype)
    kept = [(one, other) for one, other in zip(of_device, of_cpu, strict=True) if other is not None]
    deeper: Iterable[Any] = zip(*kept, strict=True) if kept else ((), ())
    return 1 + _check_gradients(*map(list, deeper), inputs, others, device, dtype, order - 1)
